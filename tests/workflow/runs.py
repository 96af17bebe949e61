"""Runs of the real `snakemake` and `python -m frugal`, as a user starts them, nothing activated."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from tests.workflow import warm, warm_jobs

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
Finished = subprocess.CompletedProcess[str]
KERNELS = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "OPENBLAS_CORETYPE")
TINY = ROOT / ".test" / "config.yaml"
TEN_LINES = ROOT / "docs" / "examples" / "ten_lines_config.yaml"


def plain_environment() -> dict[str, str]:
    """A shell in which nothing was activated, so that `python` is not the project's.

    The package is the one of this checkout, wherever the environment's own was installed from;
    the arithmetic is that which `.ci/check_cpus.py` asks for. Snakemake speaks its own words.
    """
    kept = {k: v for k, v in os.environ.items() if k in {"HOME", "TMPDIR", "LANG", *KERNELS}}
    own = {"PYTHONPATH": str(ROOT / "workflow"), "FRUGAL_TERMINAL": "snakemake"}
    return kept | own | {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def terse_environment() -> dict[str, str]:
    """The same, where the terminal shows a line a step, as it does for a user."""
    return {k: v for k, v in plain_environment().items() if k != "FRUGAL_TERMINAL"}


def run(
    words: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    *,
    fresh: bool = False,
) -> Finished:
    """Run a command in a folder; stdout and stderr together, as a terminal shows them.

    `snakemake` and its jobs are started warm (`warm.py`, `warm_jobs.py`), unless it is to be
    `fresh`.
    """
    given = plain_environment() if environment is None else dict(environment)
    if words[0] == str(BIN / "snakemake") and not fresh:
        jobs = {} if "-n" in words else warm_jobs.variables()
        return Finished(words, *warm.start(list(words), folder, given | jobs))
    return subprocess.run(
        words,
        cwd=folder,
        env=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def snakemake(
    folder: Path,
    *words: str,
    configs: Sequence[Path] = (TINY,),
    environment: Mapping[str, str] | None = None,
    fresh: bool = False,
) -> Finished:
    """`snakemake` from the project's folder, working in another."""
    command = [str(BIN / "snakemake"), *words]
    if not {"--cores", "-n"} & {*words}:
        command += ["--cores", "1"]
    files = [str(path) for path in configs]
    if files:
        command += ["--configfile", *files]
    return run([*command, "--directory", str(folder)], ROOT, environment, fresh=fresh)


def frugal(folder: Path, *words: str) -> Finished:
    """`python -m frugal` in a folder with results."""
    return run([str(BIN / "python"), "-m", "frugal", *words], folder)


def frugal_here(folder: Path, *words: str) -> Finished:
    """The same in this process, which has imported what the command needs."""
    from frugal.__main__ import main

    with chdir(folder), StringIO() as out, redirect_stdout(out), redirect_stderr(out):
        status = main([*words])
        return Finished(words, status, out.getvalue())


def jobs(output: str) -> dict[str, int]:
    """Rule → number of jobs, from the table that a (dry) run prints first."""
    table = re.search(r"^job +count\n[- ]+\n(.*?)^total", output, flags=re.DOTALL | re.MULTILINE)
    rows = table[1].split("\n") if table else []
    return {name: int(count) for name, count in (row.split() for row in rows if row)}


def printed_command(output: str, start: str, *parts: str) -> str:
    """The one printed shell command with that start; several are told apart by words in them."""
    (found,) = [
        line.removeprefix("Shell command: ")
        for line in output.splitlines()
        if line.startswith(f"Shell command: {start} ")
        and all(part in shlex.split(line) for part in parts)
    ]
    return found


def payloads(folder: Path) -> dict[str, bytes]:
    """Every file under results/ with its bytes; not Snakemake's report, which tells the time."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted((folder / "results").rglob("*"))
        if path.is_file()
        and not any(word in path.name for word in ("snakemake_report", "keep_report"))
    }


def unmatched(folder: Path) -> set[Path]:
    """Files under results/ that no manifest names, or that are named and not there."""
    steps = folder / "results" / "steps"
    files = {p for p in (folder / "results").rglob("*") if p.is_file() and steps not in p.parents}
    manifests = [json.loads(path.read_bytes()) for path in steps.rglob("*.json")]
    return files ^ {folder / o["path"] for m in manifests for o in m["outputs"].values()}
