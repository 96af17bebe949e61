"""`python -m frugal`: one stage, or a command on results; a refusal is a sentence, exit status 2.

Apart from `frugal.run.stage_command`, so an edit of the audit makes no result out of date.
"""

import atexit
import gc
import io
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

# Python looks for modules in the working folder first: a folder of data or results could hold a
# `numpy.py`. (What Python itself loads before this line, `python -P -m frugal` keeps out, too.)
if __name__ == "__main__" and sys.path[:1] == [os.getcwd()] and not sys.flags.safe_path:
    del sys.path[0]

_STATUS: list[int] = []  # of a command that has ended


@atexit.register  # before any other, so the last to run: all others have cleaned up
def _leave() -> None:
    """End the process with its command's status.

    While Python takes itself down, a thread of Arrow that lets go of one of its objects asks for
    the interpreter's lock, is ended within code that may not be, and aborts the process (134).
    """
    if _STATUS:
        os._exit(_STATUS[-1])


# One thread a process, whatever the caller has set, and before numpy is loaded: with two threads
# sums are rounded in another order, and a job run by hand would not give the workflow's bytes.
# Parallelism is the engine's.
for _library in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
    os.environ[f"{_library}_NUM_THREADS"] = "1"
os.environ["VECLIB_MAXIMUM_THREADS"] = "1"
gc.set_threshold(50_000)  # what is imported stays: to look through it again and again takes 0.3 s

from frugal.core.arithmetic import PORTABLE, begin_pinned, is_pinned  # noqa: E402
from frugal.core.errors import (  # noqa: E402
    PRIVATE,
    ConfigError,
    DataError,
    FrugalError,
    extras_named,
    say,
    sentences,
)
from frugal.run.memory import accounted  # noqa: E402
from frugal.run.stage_command import COMMANDS, read_command, run_job  # noqa: E402

if TYPE_CHECKING:
    from frugal.results.manifests import Job

_NUMBA = ".numba_config.yaml"


def main(words: list[str]) -> int:
    """Entry of the command line.

    Returns:
        The exit status: 0 done, 1 differs, 2 refused, 130 interrupted.
    """
    if "--private" in words:
        os.environ[PRIVATE] = "1"  # the jobs of a command inherit it
        words = [word for word in words if word != "--private"]
    try:
        with extras_named("this command"), sentences():
            return _run(words)
    except FrugalError as error:
        return _refuse(words, *map(str, error.args))
    except KeyboardInterrupt:
        say("", file=sys.stderr)  # below the ^C of a terminal
        _refuse(words, "interrupted")
        return 130


def _run(words: list[str]) -> int:
    if os.path.lexists(_NUMBA):
        raise DataError(
            f"this folder holds {_NUMBA}, by which numba would take compiled programs from "
            "elsewhere; remove it"
        )
    name = words[0] if words else ""
    if not words or name in ("--help", "-h", "help", "--version"):
        from frugal import __version__
        from frugal.run.overview import overview, start

        texts = {"": start, "--version": lambda: f"frugal {__version__}"}
        say(*texts.get(name, overview)().split("\n"))
        return 0
    if name in COMMANDS:
        command = getattr(import_module(f"frugal.{COMMANDS[name]}"), f"{name}_command")
        return command(words[1:], *([_run_as_recorded] if name == "audit" else []))
    job, used_path = read_command(words)
    if job.arithmetic == PORTABLE and not is_pinned():
        raise ConfigError(
            "arithmetic is pinned before Python starts; write --arithmetic portable in full, or "
            "set the variables of core/arithmetic.py"
        )
    with accounted(used_path):
        run_job(job)
    return 0


def _run_as_recorded(job: "Job") -> None:
    """Run a job with the arithmetic of its manifest: portable in a Python that begins with it."""
    if job.arithmetic == PORTABLE and not is_pinned():
        from frugal.run.own_python import job_words, run_in_own_python

        run_in_own_python(job.stage, job_words(job), Path())
    else:
        run_job(job)


def _refuse(words: list[str], sentence: str, *more: str) -> int:
    say(f"frugal {words[0][:50] if words else ''}: {sentence}", *more, file=sys.stderr)
    return 2


def command() -> int:
    """Entry of `frugal` and `python -m frugal`; returns the exit status of `main`."""
    status = _ended(sys.argv[1:])
    _STATUS.append(status)
    return status


def _ended(words: list[str]) -> int:
    """The exit status, once all output is written."""
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a letter shows its number
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        begin_pinned(words)
    except FrugalError as error:
        return _refuse(words, *map(str, error.args))
    status = 0
    try:
        try:
            status = main(words)
        except SystemExit as stop:  # of argparse
            status = int(stop.code or 0)
        sys.stdout.flush()
    except BrokenPipeError:  # nobody reads on, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:  # where the output is a file of a full disk
        return status or _refuse(words, f"the standard output: {error.strerror}")
    return status


if __name__ == "__main__":
    sys.exit(command())
