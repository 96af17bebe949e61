"""New cases in each form that Python has, and what an answer holds."""

import frugal
import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import ConfigError, DataError

from tests.defaults import ROOT

CASE = {"age": 70, "sex": "f", "temperature": 38.5}


@pytest.fixture(scope="module")
def answer():
    return frugal.decide(ROOT / "docs/examples/clinic.yaml", agents=["never", "always"])


@pytest.fixture(scope="module")
def every(answer):
    """A policy that orders all panels."""
    return answer.policy("always")


@pytest.mark.parametrize(
    "form", [dict, pd.Series, lambda case: np.array([*case.values(), *[None] * 4])]
)
def test_one_case_has_one_next_panel(every, form):
    assert every.next(form(CASE)) == "crp"
    assert every.next(form({**CASE})) == every.next(pd.DataFrame([CASE])).item()


def test_columns_that_nobody_has_acquired_may_lack(every):
    frame = pd.DataFrame([CASE, CASE], index=["a", "b"])
    assert every.next(frame).to_dict() == {"a": "crp", "b": "crp"}
    frame["crp"] = [90.0, np.nan]
    assert every.next(frame).tolist() == ["lactate", "crp"]
    frame.insert(0, "who", ["x", "y"])
    assert every.advise(frame, id_column="who")["next"].tolist() == ["lactate", "crp"]


@pytest.mark.parametrize(
    ("cases", "sentence"),
    [
        ({}, "."),
        (pd.DataFrame(), "."),
        ({"age": 3}, "lacks the column 'sex'"),
        ({"crp2": 4, **CASE}, "lacks the column 'crp'; .* did you mean 'crp2'"),
        ({**CASE, "crp2": 4}, "has the column 'crp2', .* did you mean 'crp'"),
    ],
)
def test_a_misspelt_column_is_not_taken_for_one_that_lacks(every, cases, sentence):
    with pytest.raises(DataError, match=sentence):
        every.next(cases)


@pytest.mark.parametrize("cases", [5, None, [CASE], np.zeros(3), np.zeros((2, 2, 7))])
def test_other_forms_are_refused(every, cases):
    with pytest.raises(ConfigError, match=r"allowed (is|are)"):
        every.next(cases)


def test_an_answer_prints_what_it_holds(answer, capsys):
    answer.help()
    printed = capsys.readouterr().out
    assert printed.startswith("Answer('clinic', ")
    assert "├── best  The policy to use, for new cases." in printed
    assert "│   ├── next(…)  The panel to acquire next for each case" in printed
    assert answer.best.name == answer.document["policy"]
