"""Starts of Snakemake that need not import it: each is a fork of a process that has done so.

Importing Snakemake takes half of a dry start. The process has imported what comes with Snakemake
and its plugins, and nothing of the project, which every start reads anew, as it reads its words,
folder and environment. Runs that many tests begin with are started as a user starts them.
"""

import atexit
import contextlib
import gc
import json
import os
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile

BIN = Path(sys.executable).parent
ENGINE = "frugal.run.engine"
PLUGINS = (
    "executor_plugin_slurm",
    "executor_plugin_cluster_generic",
    "storage_plugin_fs",
    "storage_plugin_s3",
)
LATER = ("jsonschema", "snakemake.report.html_reporter", "yte", "numpy", "jaxtyping", "pydantic")


def start(
    words: list[str], folder: Path, environment: dict[str, str], request: str | None = None
) -> tuple[int, str]:
    """`snakemake` with these words: its exit status, and stdout and stderr together.

    With a request the words are those of `frugal.run.engine`, which reads it from stdin and
    answers on stdout; stderr stays that of the tests.
    """
    sys.audit("tests.snakemake")  # conftest.py counts it
    server = _server()
    assert server.stdin is not None
    assert server.stdout is not None
    with TemporaryFile() as read, TemporaryFile() as said:
        read.write((request or "").encode())
        read.flush()
        streams = [f"/proc/{os.getpid()}/fd/{one.fileno()}" for one in (read, said)]
        streams += streams[1:] if request is None else []
        asked = {"words": words, "folder": str(folder), "environment": environment}
        server.stdin.write(json.dumps(asked | {"streams": streams}).encode() + b"\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        said.seek(0)
        return os.waitstatus_to_exitcode(status), said.read().decode()


@cache
def _server() -> subprocess.Popen[bytes]:
    """The process that has imported Snakemake; it ends with this one."""
    kept = {k: v for k, v in os.environ.items() if k in {"HOME", "TMPDIR", "LANG"}}
    server = subprocess.Popen(
        [sys.executable, __file__],
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=kept | {"PATH": "/usr/local/bin:/usr/bin:/bin", "OMP_NUM_THREADS": "1"},
    )

    def end() -> None:
        with contextlib.suppress(OSError):
            server.communicate()

    atexit.register(end)
    return server


def _serve() -> None:
    """Fork for every line of stdin, and answer with the status that its child ended with."""
    import importlib

    importlib.import_module("snakemake.cli")
    for name in (*(f"snakemake_{plugin}" for plugin in PLUGINS), *LATER):
        importlib.import_module(name)
    gc.freeze()  # a child collects what is its own
    assert not any(name.startswith("frugal") for name in sys.modules)
    answers = os.fdopen(os.dup(1), "wb")
    for line in sys.stdin.buffer:
        child = os.fork()
        if child == 0:
            answers.close()
            _begin(**json.loads(line))
        _, status = os.waitpid(child, 0)
        answers.write(b"%d\n" % status)
        answers.flush()


def _begin(words: list[str], folder: str, environment: dict[str, str], streams: list[str]) -> None:
    """In the child: what a new Python does before `snakemake` begins, then `snakemake`."""
    for number, path in enumerate(streams):
        os.dup2(os.open(path, os.O_WRONLY | os.O_APPEND if number else os.O_RDONLY), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    paths = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = [str(BIN), *paths]
    sys.argv[:] = words
    if words == [ENGINE]:
        runpy.run_module(ENGINE, run_name="__main__", alter_sys=True)
    from snakemake.cli import main

    sys.exit(main())


if __name__ == "__main__":
    _serve()
