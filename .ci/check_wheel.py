#!/usr/bin/env python3
"""Builds the wheel from the tracked files and installs it without extras, as `pip install .` does.

For each of Python 3.11, 3.12 and 3.13 that this machine has, in an environment that has nothing
else: the first Python of the README runs in an empty folder, and leaves no file; the packages have
at most 431 MiB without compiled modules; what needs an extra ends in one sentence that names it.
CPU seconds are printed and not judged. With the words `lowest`: every dependency as old as
pyproject.toml allows.
With --short: the newest of these Pythons.
Usage: .ci/check_wheel.py [--short] FOLDER [lowest]   (an empty folder; a minute for each Python)
"""

import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import environment
from environment import BIN, ROOT, require

if __name__ == "__main__":
    OPTIONS = environment.begin(__doc__, 1)

PYTHONS = ("3.11", "3.12", "3.13")
MOST_MIB = 431  # the goal is 450 MB, 429 MiB: docs/notes/size.md
NO_INDEX = r"(?i)failed to fetch|error sending request|dns error|no versions of numpy"
TERMINAL = "import sys\n\nsys.stderr.isatty = lambda: True  # there, bars of progress are shown\n"
SENTENCE = "agent 'dqn' needs torch, which is not installed; run pip install 'frugal[networks]'"
NETWORKS = """
import frugal

masks = frugal.missingness(frugal.load("docs/examples/clinic.yaml"))
try:
    frugal.train(masks, {"kind": "dqn"})
except ValueError as error:
    print(error)
"""


def interpreter(version: str) -> str | None:
    """A Python of this version that starts, of PATH or of pyenv; None if there is none."""
    of_pyenv = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    for path in (shutil.which(f"python{version}"), *map(str, of_pyenv)):
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            return path
    return None


def run(*words: object, folder: Path) -> subprocess.CompletedProcess:
    """A program in a folder, with no variable of this one but PATH; stdout and stderr together."""
    temporary = folder.with_name(f"{folder.name}.tmp")
    temporary.mkdir(exist_ok=True)
    own = {"PATH": os.environ["PATH"], "HOME": str(temporary), "TMPDIR": str(temporary)}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=own | {"OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    left = sorted(str(path) for place in (folder, temporary) for path in place.rglob("*"))
    require(
        not left, f"no file is left by {Path(words[0]).name} {str(words[-1])[:40]!r}", str(left)
    )
    return done


def uv(*words: object) -> None:
    """Run uv; ends here with a sentence where packages cannot be had, or with what it printed."""
    done = subprocess.run(
        [BIN / "uv", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode and re.search(NO_INDEX, done.stdout):
        environment.cannot_run("no index of packages can be reached")
    require(done.returncode == 0, f"uv {words[0]} {words[1]}", done.stdout)


def built() -> Path:
    """The wheel of a copy of the tracked files."""
    source = OPTIONS.folder / "source"
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target, follow_symlinks=False)
    wheels = OPTIONS.folder / "wheel"
    uv(
        "build",
        "--wheel",
        "--no-build-isolation",
        "--python",
        BIN / "python",
        "--out-dir",
        wheels,
        source,
    )
    return next(wheels.glob("*.whl"))


def check(python: str, version: str, wheel: Path, lines: str) -> None:
    """Install the wheel for one Python; its bytes, the README's lines, the sentence."""
    place = OPTIONS.folder / version
    uv("venv", "--python", python, place)
    install = ["pip", "install", "--compile-bytecode", "--python", place / "bin/python"]
    if OPTIONS.rest:
        declared = OPTIONS.folder / "source/pyproject.toml"
        uv(*install, "--resolution", "lowest-direct", "--requirements", declared)
    uv(*install, wheel)
    packages = next(place.glob("lib/python*/site-packages"))
    for absent in ("torch", "numba", "snakemake", "matplotlib", "networkx"):
        require(not (packages / absent).exists(), f"{version}: {absent} is not installed")
    files = [p for p in packages.rglob("*") if p.is_file() and p.parent.name != "__pycache__"]
    mib = sum(path.stat().st_size for path in files) / 2**20
    require(mib <= MOST_MIB, f"{version}: the packages have {mib:.0f} MiB, of {MOST_MIB}")
    empty = OPTIONS.folder / f"{version}.empty"
    empty.mkdir()
    lines = TERMINAL + lines
    for what, code in (("import frugal", "import frugal"), ("the README's lines", lines)):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = run(place / "bin/python", "-c", code, folder=empty)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        ends = done.returncode == 0 and ("Use " in done.stdout or code != lines)
        require(ends, f"{version}: {what}: {seconds:.2f} CPU seconds", done.stdout)
    print(re.findall("Use .*", done.stdout)[0])
    output = run(place / "bin/python", "-c", NETWORKS, folder=empty).stdout.strip()
    require(
        output == SENTENCE, f"{version}: an agent that is a network is refused: {SENTENCE}", output
    )
    done = run(place / "bin/frugal", "compile", folder=empty)
    sentence = "frugal compile: this command needs numba, which is not installed; run pip install "
    refused = done.returncode == 2 and done.stdout.startswith(sentence)
    require(refused, f"{version}: the program frugal refuses in the same words", done.stdout)


def main() -> None:
    """Build, then check each Python that this machine has."""
    lines = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[0]
    pythons = {version: python for version in PYTHONS if (python := interpreter(version))}
    for version in PYTHONS:
        if version not in pythons:
            print(f"{environment.name()}: there is no python{version} here")
    if not pythons:
        environment.cannot_run(f"there is none of Python {', '.join(PYTHONS)}")
    wheel = built()
    for version in list(pythons)[-1:] if OPTIONS.short else pythons:
        check(pythons[version], version, wheel, lines)


if __name__ == "__main__":
    sys.exit(main())
