"""Runs test files in forks of a process that has the libraries, but nothing of Frugal.

A line of JSON asks (`files`, `seconds`, `fresh`), a line of JSON answers: `code` of pytest,
negative where the fork was killed, and its CPU `seconds`. So a mutant costs its tests, not torch.
"""

import importlib
import json
import os
import resource
import signal
import sys
import tempfile

LIBRARIES = (
    "duckdb",
    "hypothesis",
    "jaxtyping",
    "jsonschema",
    "lightgbm",
    "matplotlib.pyplot",
    "networkx",
    "numba",
    "pandas",
    "pyarrow.parquet",
    "pytest",
    "scipy.optimize",
    "scipy.stats",
    "seaborn",
    "sklearn.ensemble",
    "sklearn.linear_model",
    "stable_baselines3",
    "torch",
)
MEMORY = 6 * 2**30  # bytes; a mutant that asks for more is caught


def fork(files: list[str], seconds: float, fresh: str | None) -> int:
    """Pytest's code of these files; never returns where a limit kills the process."""
    import numba
    import pytest

    os.setsid()
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    signal.alarm(20 * int(seconds) + 60)  # for a mutant that waits, on a machine that is shared
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    if fresh is not None:
        os.environ["NUMBA_CACHE_DIR"] = numba.config.CACHE_DIR = fresh  # type: ignore[attr-defined]
    return pytest.main(["-x", "-q", "-p", "no:cacheprovider", *files])


def ask(files: list[str], seconds: float, fresh: bool) -> dict[str, float]:
    """What became of a fork; `fresh` compiles anew what numba compiles."""
    with tempfile.TemporaryDirectory() as folder:
        process = os.fork()
        if not process:
            os._exit(fork(files, seconds, folder if fresh else None))
        _, status, used = os.wait4(process, 0)
    code = os.waitstatus_to_exitcode(status)
    return {"code": code, "seconds": used.ru_utime + used.ru_stime}


if __name__ == "__main__":
    for library in LIBRARIES:
        importlib.import_module(library)
    for line in sys.stdin:
        print(json.dumps(ask(**json.loads(line))), flush=True)
