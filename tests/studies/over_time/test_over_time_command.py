"""`frugal over_time`: from a YAML, or two files, to a folder with the answer."""

import shutil

import frugal
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.core.declarations import PROJECT
from frugal.results.files import read_payload

KEPT = ["answer.html", "answer.json", "policy", "verdict.txt", "wards.yaml"]
FILES = ["wards.csv", "--units", "wards_units.csv", "--label", "died"]
QUICK = ["--method", "linear", "--fold-draws", "1", "--no-learned"]
TERMS = ["--prices", "creatinine=5,lactate=15", "--errors", "missed=2000,false_alarm=500"]


@pytest.fixture
def wards(tmp_path, monkeypatch):
    for name in ("wards.yaml", "wards.csv", "wards_units.csv"):
        shutil.copy(PROJECT / "docs/examples" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_and_the_call_give_the_same_and_the_folder_advises(wards, capsys):
    assert main(["over_time", "wards.yaml", *QUICK]) == 0
    shown = capsys.readouterr().out
    data = frugal.load_over_time("wards.yaml")
    answer = frugal.over_time(data, method="linear", fold_draws=1, learned=False)
    assert shown.startswith(answer.summary())
    assert sorted(path.name for path in (wards / "wards_answer").iterdir()) == KEPT
    again = frugal.over_time(frugal.load_over_time(wards / "wards_answer" / "wards.yaml"))
    pd.testing.assert_frame_equal(again.outcomes, answer.outcomes)
    words = ["wards_answer", "wards.csv", "--units", "wards_units.csv", "--hours", "9"]
    assert main(["advise", *words]) == 0
    assert capsys.readouterr().out.startswith("s000, 8 to 16 h: ")
    assert main(["report", "wards_answer"]) == 0
    assert capsys.readouterr().out.startswith(answer.summary())
    document = read_payload(wards / "wards_answer" / "answer.json")
    assert (
        document["policy"] == answer.named == frugal.load_answer("wards_answer").document["policy"]
    )
    assert main(["over_time", "wards.yaml"]) == 2
    assert "wards_answer is there already" in capsys.readouterr().err


def test_two_files_need_no_yaml(wards, capsys):
    assert main(["over_time", *FILES, *TERMS, *QUICK]) == 0
    shown = capsys.readouterr().out
    assert "measurements: unit is stay" in shown
    assert "Next step of new cases: " in shown
    assert sorted(path.name for path in (wards / "wards_answer").iterdir()) == KEPT


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["wards.csv"], "--units and --label lack; records over time are a file with a row"),
        (FILES, "--prices lacks 'creatinine', 'lactate'; --errors lacks 'missed', 'false_alarm'"),
        (["wards.yaml", "--label", "died"], "--label describes a table's file; wards.yaml states"),
        (["wards.yaml", "--folds", "1"], "'folds' is 1; allowed are values from 2 on"),
        (["ward.yaml"], "there is no file ward.yaml"),
    ],
)
def test_a_refusal_leaves_nothing(words, sentence, wards, capsys):
    before = sorted(path.name for path in wards.iterdir())
    assert main(["over_time", *words]) == 2
    assert sentence in capsys.readouterr().err
    assert sorted(path.name for path in wards.iterdir()) == before
