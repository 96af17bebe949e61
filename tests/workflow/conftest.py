"""Finished runs for all tests of the workflow, made once for all workers of pytest."""

import os
from pathlib import Path

import pytest

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
