#!/usr/bin/env python3
"""The container recipe without a container engine: its steps in a root folder of Debian's.

Containerfile is read, and what it copies is copied, but for what .dockerignore leaves out. As root,
debootstrap makes the base (Debian's Python 3.11 stands in for that of the image which the recipe
names), and every RUN is run in it by chroot. Then a user who owns nothing there runs the study of
ten lines in the folder of the jobs: the same bytes as on this machine.
Not shown: the base image itself, layers, a registry, an engine, a limit of memory.
With --short: what is copied is enough for `make env`; nothing runs.
Usage: .ci/check_container.py [--short] FOLDER     (an empty folder; 15 minutes, 4 GB; short none)
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

import environment
from environment import BIN, ROOT, cannot_run, require

if __name__ == "__main__":
    OPTIONS = environment.begin(__doc__)
STUDY = ["afape", "--configfile", "/frugal/docs/examples/ten_lines_config.yaml"]
PYTHON = ("python3.11", "python3.11-venv")  # of Debian, in place of the image's own
# What lets this machine reach the package index is copied, so that the recipe reaches it, too
PASSED_ON = re.compile(r"(PIP|UV)_(?!CACHE)\w+|SSL_CERT_\w+|REQUESTS_\w+|\w+_PROXY", re.IGNORECASE)
NEEDED = ("Snakefile", "config.yaml", "workflow/frugal", "config", "envs", "docs/examples")
PLACES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf", "/etc/resolv.conf")


class Step(NamedTuple):
    """An instruction, its words, and what was set before: the folder and the variables."""

    kind: str
    words: str
    folder: str
    variables: dict[str, str]


def recipe(text: str) -> Iterator[Step]:
    """The instructions of a recipe, in order."""
    folder, variables = "/", {"PATH": "/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin"}
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in filter(None, "\n".join(lines).replace("\\\n", " ").split("\n")):
        kind, _, words = line.partition(" ")
        if kind == "WORKDIR":
            folder = words
        elif kind == "ENV":
            for name, value in (word.split("=", 1) for word in shlex.split(words)):
                variables[name] = value.replace("$PATH", variables["PATH"])
        yield Step(kind, words, folder, dict(variables))


def copied(patterns: list[str]) -> Iterator[str]:
    """What `COPY . .` copies of a clean clone; the last pattern that a path fits counts."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(listed, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in filter(None, names.split("\0")):
        parts = name.split("/")
        heads = ["/".join(parts[:k]) for k in range(1, len(parts) + 1)]
        out = False
        for pattern in patterns:
            bare = pattern.removeprefix("!")
            fits = any(fnmatch(h, bare) or fnmatch(h, bare.removeprefix("**/")) for h in heads)
            out = not pattern.startswith("!") if fits else out
        if not out and os.path.lexists(ROOT / name):
            yield name


def copy_project(folder: Path) -> None:
    """The build's context, where the recipe puts it."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    patterns = [line for line in lines if line and not line.startswith("#")]
    for name in copied(patterns):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)


def check_words(steps: list[Step], project: Path) -> None:
    """The recipe agrees with the project, as far as reading tells."""
    base = next(step.words for step in steps if step.kind == "FROM")
    (version,) = re.findall(r"python:(\d+\.\d+)-slim", base)
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    require(f">={version}" in wanted, f"the base {base} has the Python {version} of pyproject.toml")
    kinds = {step.kind for step in steps}
    known = {"FROM", "RUN", "WORKDIR", "COPY", "ENV"}
    require(kinds <= known, f"its instructions are {', '.join(sorted(kinds))}", str(kinds - known))
    copies = [step.words for step in steps if step.kind == "COPY"]
    require(copies == [". ."], "it copies the project as a whole", str(copies))
    lacking = {name for name in NEEDED if not (project / name).exists()}
    require(not lacking, "what a run reads of the project is copied", str(lacking))
    made = subprocess.run(
        ["make", "--dry-run", "env"], cwd=project, capture_output=True, text=True, check=False
    )
    found = "--require-hashes --no-deps" in made.stdout and made.returncode == 0
    require(found, "make env finds its files there, and installs by hash", made.stderr)


class Root:
    """A root folder of Debian's, in which commands are run by chroot."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        """The base, with the Python that the image would bring."""
        base = ["debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm"]
        if subprocess.run([*base, self.folder], stdout=sys.stderr).returncode != 0:
            cannot_run("debootstrap cannot reach a mirror of Debian's, as said above")
        self.copy_settings()
        (first,) = recipe("FROM debian")
        install = f"apt-get install --yes --no-install-recommends {' '.join(PYTHON)}"
        self.run(f"apt-get update && {install}", "/", first.variables)

    def copy_settings(self) -> None:
        """What names the package index and vouches for it; no folder of this machine is shared."""
        (self.folder / "dev/shm").mkdir(exist_ok=True)
        (self.folder / "dev/shm").chmod(0o1777)
        variables = {k: v for k, v in os.environ.items() if PASSED_ON.fullmatch(k)}
        wheels = [Path(v) for k, v in variables.items() if k.endswith("FIND_LINKS")]
        for path in {*map(Path, [*PLACES, *variables.values()])}:
            target = self.folder / path.relative_to("/") if path.is_absolute() else None
            if target is not None and path.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.unlink(missing_ok=True)
                shutil.copyfile(path, target)
        for path in (path for path in wheels if path.is_dir()):
            shutil.copytree(path, self.folder / path.relative_to("/"))

    def run(self, command: str, folder: str, variables: dict[str, str], user: str = "0") -> str:
        """What a line of the shell says there; ends here if it fails."""
        passed = {k: v for k, v in os.environ.items() if PASSED_ON.fullmatch(k)}
        words = [f"{k}={v}" for k, v in {"HOME": "/root", **passed, **variables}.items()]
        inside = ["chroot", f"--userspec={user}:{user}", str(self.folder), "env", "-i", *words]
        line = shlex.join([*inside, "sh", "-c", f"cd {shlex.quote(folder)} && {command}"])
        # of its own mounts only the list of processes, which ends with the command
        mount = f"mount -t proc proc {shlex.quote(str(self.folder / 'proc'))}"
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-ec", f"{mount}; exec {line}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        require(done.returncode == 0, f"RUN {command[:70]}", done.stdout)
        return done.stdout


def require_tools() -> None:
    """End here, in a sentence, where no root folder can be made."""
    if os.geteuid() != 0:
        cannot_run("a root folder is made by root; start the check as root, or with --short")
    absent = [name for name in ("debootstrap", "unshare", "chroot") if shutil.which(name) is None]
    if absent:
        cannot_run(f"{', '.join(absent)} not found; apt-get install debootstrap (Debian)")
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode != 0:
        cannot_run("this root may mount nothing (unshare --mount); start the check on a machine")


def results(folder: Path) -> dict[str, bytes]:
    """Every file under results/ by its path."""
    found = (path for path in (folder / "results").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def check_study(root: Root, last: Step, plain: Path) -> None:
    """The study of ten lines by a user of no rights, and on this machine."""
    (root.folder / last.folder.lstrip("/")).chmod(0o1777)
    words = ["snakemake", "--snakefile", "/frugal/Snakefile", "--cores", "2"]
    root.run(shlex.join([*words, *STUDY]), last.folder, last.variables, user="12345")
    plain.mkdir()
    here = [word.replace("/frugal/", f"{ROOT}/") for word in STUDY]
    words = [BIN / "snakemake", "--cores", "2", "--directory", plain, *here]
    subprocess.run(words, cwd=ROOT, env=environment.variables(), check=True, capture_output=True)
    mine, its = results(plain), results(root.folder / last.folder.lstrip("/"))
    differing = sorted(name for name in {*mine, *its} if mine.get(name) != its.get(name))
    require(not differing, f"its {len(its)} files have the bytes of this machine", str(differing))


def main(folder: Path, short: bool) -> None:
    """Read the recipe, and run it."""
    steps = list(recipe((ROOT / "Containerfile").read_text()))
    if short:
        copy_project(folder / "project")
        check_words(steps, folder / "project")
        return
    require_tools()
    root = Root(folder / "root")
    root.make()
    for step in steps:
        (root.folder / step.folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
        if step.kind == "COPY":
            copy_project(root.folder / step.folder.lstrip("/"))
            check_words(steps, root.folder / step.folder.lstrip("/"))
        elif step.kind == "RUN":
            root.run(step.words, step.folder, step.variables)
    check_study(root, steps[-1], folder / "plain")


if __name__ == "__main__":
    main(OPTIONS.folder, OPTIONS.short)
