"""`frugal init LONG --units UNITS`: the YAML of records over time, by guesses that are printed."""

import frugal
import pandas as pd
import pytest
import yaml
from frugal.core.errors import DataError
from frugal.run.init_command import init_command

from tests.workflow.runs import ROOT

EXAMPLES = ROOT / "docs" / "examples"
STATED = ["--prices", "creatinine=10,lactate=15", "--errors", "missed=2000,false_alarm=500"]


def init(folder, *words):
    command = [str(folder / "wards.csv"), "--units", str(folder / "wards_units.csv")]
    assert init_command([*command, "--label", "died", *words]) == 0
    return yaml.safe_load((folder / "wards.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path):
    for name in ("wards.csv", "wards_units.csv"):
        (tmp_path / name).write_bytes((EXAMPLES / name).read_bytes())
    return tmp_path


@pytest.mark.parametrize(
    ("words", "refusal"),
    [(["--hours", "nan"], "--hours is nan"), (["--columns", "stay"], "--columns names 'stay'")],
)
def test_an_invalid_option_is_refused(folder, words, refusal):
    with pytest.raises(DataError, match=refusal):
        init(folder, *words)


def test_the_example_is_read_as_it_is_described(folder, capsys):
    document = init(folder, *STATED)
    example = yaml.safe_load((EXAMPLES / "wards.yaml").read_text(encoding="utf-8"))
    for key in ("cost_unit", "measurements", "units", "windows", "errors"):
        assert document[key] == example[key]
    assert {name: panel["price"] for name, panel in document["panels"].items()} == {
        "creatinine": 10,
        "lactate": 15,
    }
    assert "unit is stay, item is item" in capsys.readouterr().out
    assert frugal.load_over_time(folder / "wards.yaml")


def test_dates_other_names_and_panels_are_recognised(folder):
    long, units = (pd.read_csv(folder / name) for name in ("wards.csv", "wards_units.csv"))
    start = pd.Timestamp("2024-03-30 22:00") + pd.to_timedelta(range(len(units)), unit="h")
    units["admitted"] = start.strftime("%Y-%m-%d %H:%M")
    begins = long["stay"].map(dict(zip(units["stay"], start, strict=True)))
    long["charttime"] = (begins + pd.to_timedelta(long["ordered"], unit="h")).astype(str)
    extra = long[long["item"] == "lactate"].assign(item="ph", value=7.4)
    long = pd.concat([long, extra]).assign(unit="mmol/l")
    names = {"stay": "patient", "item": "test", "value": "valuenum"}
    long.drop(columns=["ordered", "result"]).rename(columns=names).to_csv(
        folder / "wards.csv", index=False
    )
    units.rename(columns={"stay": "id"}).to_csv(folder / "wards_units.csv", index=False)
    document = init(folder, "--hours", "12", "--positive", "no")
    assert document["measurements"] == {
        "file": "wards.csv",
        "unit": "patient",
        "item": "test",
        "value": "valuenum",
        "ordered": "charttime",
    }
    assert document["units"]["start"] == "admitted"
    assert document["units"]["label"]["positive"] == "no"
    assert document["windows"] == {"hours": 12, "number": 2}
    assert document["panels"]["lactate+ph"] == {"columns": ["lactate", "ph"], "price": None}


def test_dates_that_a_run_would_refuse_are_not_proposed(folder):
    """`03/30/2024` is a date in one country alone."""
    long = pd.read_csv(folder / "wards.csv").drop(columns="result")
    long["ordered"] = "03/30/2024 08:00"
    long.to_csv(folder / "wards.csv", index=False)
    with pytest.raises(DataError, match="which column holds the ordered is open"):
        init(folder)


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        (["--columns", "value=valeu"], "wards.csv has no column 'valeu'.*did you mean 'value'"),
        (["--columns", "worth=value"], "--columns names 'worth'; allowed are unit, item"),
        (["--positive", "dead"], "column 'died' holds 'no', 'yes'; a label"),
    ],
)
def test_what_is_no_role_or_class_is_refused(folder, words, refusal):
    with pytest.raises(DataError, match=refusal):
        init(folder, *words)


def test_a_role_that_is_open_is_refused_with_the_remedy(folder):
    long = pd.read_csv(folder / "wards.csv").rename(columns={"value": "a", "result": "b"})
    long.to_csv(folder / "wards.csv", index=False)
    with pytest.raises(DataError, match="which column holds the value is open"):
        init(folder)


@pytest.mark.parametrize(
    ("errors", "sentence"),
    [
        ("missed=1,false alarm=2,false_alarm=3", "'false_alarm' with a second number; allowed"),
        ("missd=1", "--errors names 'missd'; allowed are missed and false_alarm"),
    ],
)
def test_an_error_is_stated_once_and_by_its_name(folder, errors, sentence):
    with pytest.raises(DataError, match=sentence):
        init(folder, "--errors", errors)


def test_semicolons_and_decimal_commas_give_the_same_description(folder):
    plain = init(folder, *STATED)
    (folder / "wards.yaml").unlink()
    for name in ("wards.csv", "wards_units.csv"):
        text = (folder / name).read_text().replace(",", ";").replace(".", ",")
        (folder / name).write_text(text)
    assert init(folder, *STATED) == plain
    frugal.load_over_time(folder / "wards.yaml")


def test_times_that_are_neither_dates_nor_hours_are_refused(folder):
    long = pd.read_csv(folder / "wards.csv")
    long.assign(ordered="17.05.2024 05:56").to_csv(folder / "wards.csv", index=False)
    with pytest.raises(DataError, match=r"holds '17\.05\.2024 05:56', which is neither a number"):
        init(folder, *STATED, "--columns", "ordered=ordered")
