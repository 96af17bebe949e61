"""`frugal search` and `frugal.search`: from a YAML, or a table of trials, to a folder."""

import shutil

import frugal
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.core.declarations import PROJECT

COLUMNS = ["--unit", "episode", "--step", "day", "--treatment", "drug", "--outcome", "result"]
COLUMNS += ["--outcomes", "worse,same,well", "--belongs-to", "patient"]
KINDS = ["--covariates", "age=65", "--confounders", "ward=general/intensive"]


@pytest.fixture
def searches(tmp_path, monkeypatch):
    for name in ("searches.yaml", "searches.csv"):
        shutil.copy(PROJECT / "docs/examples" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_yaml_table_and_call_give_the_same_and_the_folder_advises(searches, capsys):
    assert main(["search", "searches.yaml"]) == 0
    shown = capsys.readouterr().out
    words = ["searches.csv", *COLUMNS, *KINDS, "--delta", "0.2,0,0.1,0.4", "--into", "second"]
    assert main(["search", *words]) == 0
    second = capsys.readouterr().out
    assert second.replace("second", "searches_answer") == shown
    answer = frugal.search("second/searches.yaml")  # the YAML repeats it
    assert shown.startswith(answer.summary())
    assert sorted(path.name for path in (searches / "second").iterdir()) == [
        "answer.html",
        "answer.json",
        "policy",
        "searches.yaml",
        "verdict.txt",
    ]
    assert main(["advise", "second", "searches.csv"]) == 0
    first = answer.advise("searches.csv").iloc[0]
    assert capsys.readouterr().out.startswith(f"{first['unit']} (so far {first['history']}): ")
    assert isinstance(answer.steps, pd.DataFrame)
    assert frugal.load_answer("second").document["policy"] == answer.name


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["searches.csv"], "--unit, --step, --treatment, --outcome, --outcomes are missing; the"),
        (["searches.csv", *COLUMNS[:-2], "--unit", "episod"], "has no column 'episod'"),
        (["searches.yaml", "--unit", "episode"], "--unit: searches.yaml states this itself"),
        (["search.yaml"], "there is no file search.yaml"),
    ],
)
def test_a_refusal_leaves_nothing(words, sentence, searches, capsys):
    before = sorted(path.name for path in searches.iterdir())
    assert main(["search", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert sorted(path.name for path in searches.iterdir()) == before
