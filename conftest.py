"""What all tests begin with, and the number of times that they started Snakemake."""

import gc
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from threadpoolctl import threadpool_limits

from tests import shapes

# No test depends on the clock: how long an example takes, or to draw one, is not judged
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("without_clock", deadline=None, suppress_health_check=SLOW)
settings.load_profile("without_clock")
os.environ["OMP_NUM_THREADS"] = "1"  # several threads wait for each other on a busy machine
# As the Makefile: else every worker compiles all tests, which takes 25 CPU seconds.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
threadpool_limits(1)  # of numpy, which pytest's plugins have imported
shapes.install()
gc.disable()  # what collecting imports lives as long as the process
STARTS = "FRUGAL_TEST_STARTS"  # names a file with a line for each start, of all workers
ENGINE = re.compile(r"(^|[/\s])snakemake(\s|\.cli)|frugal\.run\.engine(\s|$)")


def _note_start(event: str, values: tuple[Any, ...]) -> None:
    """A process that starts, or a fork of a warm process (tests/workflow/warm.py)."""
    if event == "subprocess.Popen":
        words = [values[1]] if isinstance(values[1], str | bytes) else values[1]
        if not ENGINE.search(" ".join(map(os.fsdecode, words))):
            return
    elif event != "tests.snakemake":
        return
    with open(os.environ[STARTS], "a", encoding="utf-8") as stream:
        stream.write(os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0] + "\n")


def pytest_configure(config: Any) -> None:
    """Count in this process and in those that it forks."""
    if not hasattr(config, "workerinput"):
        with tempfile.NamedTemporaryFile(prefix="starts", delete=False) as stream:
            os.environ[STARTS] = stream.name
    sys.addaudithook(_note_start)


def pytest_collection_finish() -> None:
    """The garbage collector looks at what tests make, not at a million imported objects."""
    gc.freeze()
    gc.enable()


def pytest_runtest_setup() -> None:
    """Each test checks shapes anew."""
    shapes.begin_test()


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """The goal is 60 starts in a whole run: each costs seconds."""
    if hasattr(config, "workerinput"):
        return  # what the workers noted is read where they were started
    path = Path(os.environ[STARTS])
    starts = Counter(path.read_text(encoding="utf-8").splitlines())
    path.unlink()
    if starts:
        files = ", ".join(f"{name} {count}" for name, count in starts.most_common())
        terminalreporter.write_line(f"Snakemake was started {starts.total()} times: {files}")
