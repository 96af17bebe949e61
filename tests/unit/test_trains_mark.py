"""Tests that fit anything bear the mark `trains`, so that `.ci/check_cpus.py` runs them."""

import ast
import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FITS = re.compile(r"fit_\w+|train_(agent|baselines|dadi|encoder|front|selection)|JointTraining")
CHAINS = {
    "tests.studies.dadi.dadi_cases",
    "tests.studies.diagnosis.diagnosis_chain",
    "tests.unit.afape_chain",
}
FITS_NOTHING = {"test_sources.py"}  # asks for a stage's source alone
FILES = sorted(path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))


def fits(source: str) -> bool:
    """Whether a test file imports from the package what fits, or a chain of stages that does."""
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    names = [a.name for node in imports for a in node.names if "frugal" in (node.module or "")]
    return any(map(FITS.fullmatch, names)) or bool(CHAINS & {node.module for node in imports})


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_fits_bears_the_mark(file):
    source = (TESTS / file).read_text(encoding="utf-8")
    if fits(source) and Path(file).name not in FITS_NOTHING:
        assert "pytest.mark.trains" in source, f"{file} fits a model: pytestmark = …trains"


def test_what_fits_is_recognised():
    assert fits("from frugal.learn.trees import fit_forest")
    assert fits("from tests.studies.dadi.dadi_cases import fit")
    assert not fits("from frugal.studies.recourse.learned.training import train_rows")
