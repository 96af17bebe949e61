"""Finished runs for all tests of the workflow, made once for all workers of pytest."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from frugal.run import engine

from tests.workflow import warm, warm_jobs
from tests.workflow.runs import Finished
from tests.workflow.shared import Run, finished, folder_of_runs


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> Path:
    """The folder of finished runs; that of a worker lies in the folder of the session."""
    base = tmp_path_factory.getbasetemp()
    return folder_of_runs(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base)


@pytest.fixture(scope="session")
def tiny_run(runs) -> Run:
    """The tiny study with both reports, on one core. Not to be changed: copy it."""
    return finished("tiny", runs)


@pytest.fixture
def warm_engine(monkeypatch) -> None:
    """Runs that the library starts in a folder are forks, and their jobs, too (`warm.py`)."""

    def run(words: list[str], *, input: str, env: dict[str, str], **_: object) -> Finished:
        own = env | warm_jobs.variables()
        return Finished(words, *warm.start(words[-1:], Path.cwd(), own, input))

    plain = SimpleNamespace(run=run, PIPE=subprocess.PIPE)
    monkeypatch.setattr(engine, "subprocess", plain)
