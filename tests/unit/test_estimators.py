"""Estimators are declared once: names, words, tags and obstacles are read from the declarations."""

import ast
import re
from dataclasses import replace
from pathlib import Path

import frugal
import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from frugal.config.blocks import schema_of
from frugal.config.root import Config
from frugal.judge.estimator import Estimator, Need, weighted_terms
from frugal.judge.registry import ESTIMATORS
from frugal.studies.afape.figures.style import estimator_style

from tests.unit.test_docs import ROWS
from tests.unit.test_estimator_obstacles import KNOWN, healthy_case, obstacle

ROOT = Path(__file__).parents[2]
PACKAGE = Path(frugal.__file__).parent
PAGE = ROOT / "docs/reference/afape.md"
UNIDENTIFIED = KNOWN | {"propensity_identified": False, "reasons": ["It is not identified: X1."]}


def called(name: str) -> list[str]:
    """Modules of the package that call something by a name."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if name in text else ():
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == name:
                found.append(path.relative_to(PACKAGE).as_posix())
    return found


def test_shapes_are_checked_as_a_function_is_called():
    """By `tests/shapes.py`, in all tests."""
    with pytest.raises(BeartypeCallHintViolation, match="dimension n is 4"):
        weighted_terms(np.zeros((3, 2)), np.zeros(4), normalised=True)


def test_a_case_is_built_in_one_place():
    assert called("Case") == ["judge/case.py"]
    assert called("build_case") == ["studies/afape/stored.py"]


def test_no_module_but_the_declarations_states_weighted_estimators_by_name():
    """The declarations, looks of figures and views of the problem, which bear the same words."""
    for path in [*(PACKAGE / "judge").glob("*.py"), *PACKAGE.glob("studies/*/stages/*.py")]:
        named = re.findall(r'"((?:stabilised_|doubly_)\w+)"', path.read_text(encoding="utf-8"))
        assert not named, path


def test_the_config_takes_every_estimator_and_no_other_word():
    assert set(schema_of(Config)["$defs"]["Estimator"]["enum"]) == set(ESTIMATORS)


@pytest.mark.parametrize("one", ESTIMATORS.values(), ids=lambda one: one.name)
def test_figures_show_the_declared_words(one: Estimator):
    assert estimator_style(one.name).label == one.label


@pytest.mark.parametrize("one", ESTIMATORS.values(), ids=lambda one: one.name)
def test_the_formula_of_an_estimator_is_listed_with_its_tag(one: Estimator):
    """`test_docs.py` shows that the listed functions bear the tags."""
    tags = {tag for _, tag, name in ROWS if name.startswith("frugal.judge.estimators.")}
    assert one.equation in tags | {"none"}


def test_names_and_labels_are_distinct():
    assert len({one.label for one in ESTIMATORS.values()}) == len(ESTIMATORS)
    assert list(ESTIMATORS) == [one.name for one in ESTIMATORS.values()]


def made_up(*needs: Need) -> Estimator:
    return replace(ESTIMATORS["blocking"], name="mine", needs=needs)


@pytest.mark.parametrize(
    ("needs", "changes", "status", "words"),
    [
        ((Need.FULL_TABLE,), {"full": None}, "not_available", "the truth is unknown"),
        ((Need.IMPUTED,), {"imputed": {}}, "not_available", "leaves this imputation out"),
        ((Need.PROPENSITY,), {"identification": UNIDENTIFIED}, "not_identified", "X1"),
        (
            (Need.EVERY_ROW, Need.PROPENSITY),
            {"identification": KNOWN | {"s": ["P2"]}},
            "not_available",
            "asks for s = P2",
        ),
    ],
)
def test_obstacles_of_a_new_estimator_follow_from_what_it_needs(needs, changes, status, words):
    case = replace(healthy_case(), **changes)
    assert obstacle(made_up(), case) is None
    found = obstacle(made_up(*needs), case)
    assert found is not None
    assert found[0] == status
    assert words in found[1]


def test_what_an_estimator_divides_by_and_averages_follows_from_what_it_needs():
    assert made_up(Need.COMPLETE_CASES).propensity is None
    assert made_up(Need.COMPLETE_CASES, Need.PROPENSITY).propensity is Need.PROPENSITY
    assert made_up(Need.IMPUTED_WITH_LABEL).imputation == "multiple_label"
    assert ESTIMATORS["off_policy_set"].propensity is Need.PATTERN_PROPENSITY
