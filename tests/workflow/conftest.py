"""One run of the tiny study for all tests of the workflow."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.workflow.runs import snakemake


@dataclass(frozen=True)
class Run:
    """A finished run: its folder and all that it printed."""

    folder: Path
    said: str


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory) -> Run:
    """The tiny study with both reports, on one core. Not to be changed: copy it."""
    folder = tmp_path_factory.mktemp("tiny")
    done = snakemake(folder, "afape", "report", "snakemake_report")
    assert done.returncode == 0, done.stdout[-5000:]
    return Run(folder, done.stdout)
