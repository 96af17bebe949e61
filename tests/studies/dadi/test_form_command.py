"""`frugal form`: from a table with two groups to a folder with the answer."""

import functools
import shutil

import frugal
import pytest
from frugal.__main__ import main
from frugal.core.declarations import PROJECT
from frugal.core.schema_check import read_yaml

TERMS = ["form.csv", "--label", "repaid", "--errors", "missed=10,false_alarm=50", "--prices"]
TERMS += ["income=2,savings=3,years_employed=2,district=1,arrears=4"]
SMALL = {
    "folds": {"run": [0]},
    "training": {
        "pretraining_iterations": 5,
        "iterations": 10,
        "exploration_iterations": 5,
        "evaluate_every": 5,
    },
    "networks": {"memory_width": 8, "encoding_width": 8, "head_width": 8},
    "baselines": dict.fromkeys(
        ["boosting", "lasso_4", "lasso_fair_4", "forward_4", "forward_fair_4", "reduction_2"]
    ),
}


@pytest.fixture
def applicants(tmp_path, monkeypatch):
    shutil.copy(PROJECT / "docs/examples/form.csv", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_becomes_a_folder_that_advises(applicants, monkeypatch, capsys):
    fair_form = frugal.fair_form
    small = functools.wraps(fair_form)(lambda table, **more: fair_form(table, **SMALL, **more))
    monkeypatch.setattr(frugal, "fair_form", small, raising=False)
    assert main(["form", *TERMS, "--sensitive", "group", "--gammas", "0.5,1"]) == 0
    shown = capsys.readouterr().out
    assert "left out: group: as --leave-out names it" in shown
    assert "advise form_answer cases.csv" in shown
    folder = applicants / "form_answer"
    kept = ["answer.html", "answer.json", "form.yaml", "policy", "verdict.txt"]
    assert sorted(path.name for path in folder.iterdir()) == kept
    groups = [{"name": "a", "values": ["a"]}, {"name": "b", "values": ["b"]}]
    assert read_yaml(folder / "form.yaml")["sensitive"] == {"column": "group", "groups": groups}
    assert shown.split("rows)")[-1].count("γ = ") >= 2
    assert main(["advise", "form_answer", "form.csv"]) == 0
    assert "price (EUR)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (TERMS, "--sensitive names the column of two groups"),
        ([*TERMS, "--sensitive", "grp"], "--sensitive is 'grp'; the columns are group, income"),
        ([*TERMS, "--sensitive", "arrears"], "different texts; a form has two groups"),
        ([*TERMS[:3], "--sensitive", "group"], "--prices lacks 'income', 'savings'"),
        (["form.yaml", "--label", "repaid"], "--label describes a table's file"),
    ],
)
def test_a_refusal_leaves_nothing(words, sentence, applicants, capsys):
    assert main(["form", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert [path.name for path in applicants.iterdir()] == ["form.csv"]
