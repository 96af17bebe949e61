"""How each check begins: its words, the pinned environment, and one sentence where something lacks.

A check is typed under any Python 3. Without `.venv` it is made (`make env`), and the check goes on
under it, so a check imports nothing but the standard library before `begin`.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
CANNOT_RUN = 77  # the exit status of a check that this machine cannot run; .ci/run goes on after it


class Words(NamedTuple):
    """What was asked for: an empty folder, the short form or not, the words after the folder."""

    folder: Path
    short: bool
    rest: list  # of str


def begin(usage: str, most: float = 0) -> Words:
    """The words of the command line, read under the pinned environment, which is made if need be.

    `most`: how many words may follow the folder. Ends here with `usage` for `--help`, and with a
    sentence for words that it does not know or a folder that is not empty.
    """
    given = sys.argv[1:]
    if not given or {"-h", "--help"} & {*given}:
        print(usage)
        sys.exit(0 if given else 2)
    words = [word for word in given if word != "--short"]
    if not words or words[0].startswith("-") or len(words) > 1 + most:
        sys.exit(f"{name()}: cannot read {' '.join(given)!r}; {usage[usage.index('Usage:') :]}")
    folder = Path(words[0]).resolve()
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        sys.exit(f"{name()}: {folder} is there and not an empty folder; give one that is")
    go_on_in_environment()
    sys.excepthook = say_in_a_sentence
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(f"{name()}: stopped"))  # `finally` is run
    sys.path.insert(0, str(ROOT))
    return Words(folder, "--short" in given, words[1:])


def name() -> str:
    """The name of the running check."""
    return Path(sys.argv[0]).name


def go_on_in_environment() -> None:
    """Returns under the Python of `.venv`; under any other, the same command begins again there."""
    if not (ROOT / ".venv" / ".ready").exists():
        print(f"{name()}: there is no .venv yet; make env", file=sys.stderr, flush=True)
        try:
            made = subprocess.run(["make", "env"], cwd=ROOT, stdout=sys.stderr).returncode == 0
        except FileNotFoundError:
            sys.exit(f"{name()}: make is not installed, and .venv is made by it")
        if not made:
            sys.exit(f"{name()}: the environment could not be made (make env), as said above")
    if Path(sys.prefix).resolve() != (ROOT / ".venv").resolve():
        python = str(BIN / "python")
        os.execv(python, [python, *sys.argv])


def variables() -> dict:
    """The environment variables under which the checks start the workflow."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    own = {
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(ROOT / "workflow"),
        "FRUGAL_TERMINAL": "snakemake",
    }
    return kept | own


def require(holds: bool, what: str, output: str = "") -> None:
    """Say that a check holds, or end here with what was said instead."""
    if not holds:
        sys.exit(f"NOT SO: {what}\n{output[-6000:]}")
    print(f"ok: {what}", flush=True)


def cannot_run(why: str) -> None:
    """End here, in a sentence, for this machine lacks what the check needs."""
    print(f"{name()} cannot run here: {why}", file=sys.stderr, flush=True)
    sys.exit(CANNOT_RUN)


def say_in_a_sentence(kind: type, error: BaseException, trace: object) -> None:
    """A program that is not there or fails, a folder that cannot be made: said without a traceback.

    Set as `sys.excepthook`, after which Python ends with status 1.
    """
    if issubclass(kind, subprocess.CalledProcessError):
        words = error.cmd if isinstance(error.cmd, (list, tuple)) else [error.cmd]
        command = " ".join(str(word) for word in words)
        output = error.stderr or error.stdout or ""
        print(f"{name()}: this failed with status {error.returncode}: {command}", file=sys.stderr)
        print(output[-3000:], end="", file=sys.stderr)
    elif issubclass(kind, (OSError, KeyboardInterrupt)):
        print(f"{name()}: {str(error) or 'stopped'}", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)
