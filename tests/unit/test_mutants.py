"""What `make mutants` takes for a mutant, which tests it asks, and its list of equivalent ones."""

import tomllib
from pathlib import Path

import pytest

from tests.mutation import run
from tests.mutation.run import difference, plain

CODE = """
SHOWN = declare(place=3, look=("blue", (4, 1, 0)))

def area(side: int | float, *, times: float = 2.0) -> float:
    assert side >= 0, "bug: a side is negative"
    return times * side * side
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int | float", "int & float"),
        ("-> float", "-> int"),
        ("=3", "=4"),
        ("(4, 1", "(4, 2"),
        ("side >=", "side >"),
    ],
)
def test_types_looks_and_assertions_are_no_mutants(old, new):
    assert plain(CODE) == plain(CODE.replace(old, new))


def test_operators_and_constants_are_and_stars_of_signatures_are_told_apart():
    before = plain(CODE)
    assert before is not None
    for old, new in (("2.0", "3.0"), ("times * side", "times + side")):
        after = plain(CODE.replace(old, new))
        assert after is not None
        assert after[0] != before[0]
        assert after[1] == before[1]
    after = plain(CODE.replace("*,", "/,"))
    assert after is not None
    assert after[1] != before[1]
    assert plain("x = = 1") is None


def test_the_first_line_that_differs_is_told():
    assert difference(CODE, CODE.replace("* side * side", "* side")) == (
        6,
        "return times * side * side",
        "return times * side",
    )


@pytest.mark.parametrize(
    ("folder", "left_out"),
    [("", {"results", ".venv"}), ("workflow/frugal", set()), ("docs", set())],
)
def test_a_copy_leaves_out_results_and_not_a_package_of_that_name(folder, left_out):
    assert run.made(str(run.ROOT / folder), ["results", "tests", ".venv"]) == left_out


def test_a_module_is_judged_by_tests_that_import_it_or_come_nearest():
    found = run.files_for(Path("frugal/data/splits.py"), run.ROOT)
    names = ["candidates", "folds", "graph_check", "splits", "malformed"]
    assert found == [f"tests/unit/test_{name}.py" for name in names]
    found = run.files_for(Path("frugal/search/planners/cg.py"), run.ROOT)
    assert "tests/unit/test_treatment_figures.py" in found


def test_every_module_has_tests_that_judge_it():
    assert [str(module) for module in run.modules() if not run.files_for(module, run.ROOT)] == []


def test_each_equivalent_mutant_is_of_a_line_that_still_stands():
    for one in tomllib.loads(run.EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]:
        lines = (run.ROOT / "workflow" / one["module"]).read_text(encoding="utf-8").splitlines()
        assert one["before"] in {line.strip() for line in lines}, (
            f"{one['module']}: {one['before']}"
        )
        assert one["why"].endswith("."), one
