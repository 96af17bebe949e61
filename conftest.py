"""What all tests begin with, and the number of times that they started Snakemake."""

import gc
import os
import re
import sys
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, settings

from tests import shapes

# No test depends on the clock: how long an example takes, or to draw one, is not judged
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("without_clock", deadline=None, suppress_health_check=SLOW)
settings.load_profile("without_clock")
shapes.install()
gc.disable()  # what collecting imports lives as long as the process
STARTS: Counter[str] = Counter()  # file of tests → starts of Snakemake


def _count_starts(event: str, values: tuple[Any, ...]) -> None:
    """A process that starts, or a fork of a warm one (tests/workflow/warm.py)."""
    if event == "subprocess.Popen":
        words = [values[1]] if isinstance(values[1], str | bytes) else values[1]
        line = " ".join(map(os.fsdecode, words))
        if not re.search(r"(^|[/\s])snakemake\s", line):
            return
    elif event != "tests.snakemake":
        return
    STARTS[os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]] += 1


sys.addaudithook(_count_starts)


def pytest_collection_finish() -> None:
    """The garbage collector looks at what tests make, not at a million imported objects."""
    gc.freeze()
    gc.enable()


def pytest_sessionfinish(session: Any) -> None:
    """A worker of pytest-xdist hands its counts to the process that prints."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["starts"] = dict(STARTS)


class _FromWorkers:
    """A hook of pytest-xdist, which may be switched off."""

    def pytest_testnodedown(self, node: Any) -> None:
        STARTS.update(getattr(node, "workeroutput", {}).get("starts", {}))


def pytest_configure(config: Any) -> None:
    """Where tests are spread over workers, collect what they counted."""
    if config.pluginmanager.hasplugin("dsession"):
        config.pluginmanager.register(_FromWorkers())


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Snakemake is started at most 60 times in a whole run: a start costs seconds."""
    if STARTS:
        files = ", ".join(f"{name} {count}" for name, count in STARTS.most_common())
        terminalreporter.write_line(f"Snakemake was started {STARTS.total()} times: {files}")
