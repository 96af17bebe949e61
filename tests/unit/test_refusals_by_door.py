"""A mistake is refused in the words of the door: arguments, flags, or keys of a YAML."""

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import frugal
import pandas as pd
import pytest
from frugal.__main__ import main
from frugal.core.declarations import PROJECT
from frugal.core.errors import FrugalError
from frugal.core.schema_check import read_yaml
from frugal.run.config_files import laid_over
from frugal.run.own_table import decision

PRICES = {"crp": 4, "procalcitonin": 20, "lactate": 6, "xray": 45}
TERMS: dict[str, Any] = {
    "label": "pneumonia",
    "free": ["age", "sex", "temperature", "ward"],
    "prices": PRICES,
    "errors": {"missed": 600, "false_alarm": 150},
}
CRP = "columns: [crp], cost: 4}"
# mistake: arguments of Python; the same as flags where they differ; sentences of Python and of the
# command; in a YAML a text and its replacement, or keys of a config; the sentence there
MISTAKES: dict[str, tuple[dict, dict, str, str, Any, str]] = {
    "an unknown label": (
        {"label": "pneumona"},
        {},
        "there is no column 'pneumona' to predict; .*did you mean 'pneumonia'",
        "there is no column 'pneumona' to predict; .*did you mean 'pneumonia'",
        ("column: pneumonia", "column: pneumona"),
        "no column 'pneumona', which 'label.column' names; .*did you mean 'pneumonia'",
    ),
    "a label of one class": (
        {"label": "site"},
        {},
        "column 'site' holds 'a' alone; a label needs two classes",
        "visits.csv: the column 'site' holds 'a' alone",
        None,
        "",
    ),
    "a price that lacks": (
        {"prices": {"crp": 4, "lactate": 6, "xray": 45}},
        {},
        "^prices lacks 'procalcitonin'; allowed is a number .* go under free, .* under leave_out$",
        "--prices lacks 'procalcitonin'; .* go under --free, .* under --leave-out$",
        (CRP, "columns: [crp], cost: null}"),
        "cost of crp .*'panels.1..cost'",
    ),
    "a price below zero": (
        {"prices": {**PRICES, "crp": -4}},
        {},
        r"^prices\['crp'\] has -4; allowed are numbers from 0 on",
        "--prices: 'crp' has '-4'; allowed are numbers from 0 on",
        (CRP, "columns: [crp], cost: -4}"),
        r"'panels\[1\].cost' is -4; allowed are values from 0 on",
    ),
    "a price of a key that is none": (
        {"prices": {**PRICES, "crp": {"colum": "age"}}},
        {"prices": "crp=cheap"},
        r"^unknown key 'colum' under prices\['crp'\]; .*did you mean 'column'",
        "--prices: 'crp' has 'cheap'",
        (CRP, "columns: [crp], cost: {colum: age}}"),
        r"unknown key 'colum' under 'panels\[1\].cost'",
    ),
    "a price of a line of a file": (
        {"prices": {**PRICES, "crp": {"from": 3, "to": 1}}},
        {"prices": "prices.csv"},
        r"^prices\['crp'\] has 'from' 3 above 'to' 1",
        "--prices prices.csv, line 3: 'crp' has '4,5.6'",
        (CRP, "columns: [crp], cost: {from: 3, to: 1}}"),
        r"panels\[1\].cost has 'from' 3 above 'to' 1",
    ),
    "a price of no panel": (
        {"prices": {**PRICES, "crpp": 1}},
        {},
        "^prices names 'crpp'; .*did you mean 'crp'",
        "--prices names 'crpp'; .*did you mean 'crp'",
        ("columns: [crp]", "columns: [crpp]"),
        r"panels\[1\] .*'crpp'.*did you mean 'crp'",
    ),
    "an error of another name": (
        {"errors": {"mised": 600, "false_alarm": 150}},
        {},
        "^errors names 'mised'; .*did you mean 'missed'",
        "--errors names 'mised'; .*did you mean 'missed'",
        ("misclassification_cost:", "misclassification_costs:"),
        "unknown key 'misclassification_costs'.*did you mean 'misclassification_cost'",
    ),
    "an error that lacks": (
        {"errors": {"missed": 600}},
        {},
        "^errors lacks 'false alarm' .'yes' is the positive class.; allowed is a number from 0 on",
        "--errors lacks 'false alarm' .'yes' is the positive class.; allowed is a number from 0 on",
        ("[0, 150]", "[0, null]"),
        "cost of each error .'misclassification_cost'.",
    ),
    "a free column that is none": (
        {"free": ["age", "sexx", "temperature", "ward"]},
        {},
        "^free names 'sexx'; .*did you mean 'sex'",
        "--free names 'sexx'; .*did you mean 'sex'",
        ("columns: [age, sex, temp", "columns: [age, sexx, temp"),
        r"panels\[0\] .*'sexx'.*did you mean 'sex'",
    ),
    "a column in two panels": (
        {"panels": {"a": ["crp"], "b": ["crp"]}},
        {"panel": ["a=crp", "b=crp"]},
        "^panels: 'crp' is in two panels",
        "--panel: 'crp' is in two panels",
        None,
        "",
    ),
    "a table that is not there": (
        {"table": "visit.csv"},
        {},
        "there is no file visit.csv",
        "there is no file visit.csv",
        {"table": "visit.csv"},
        "config: 'table' is 'visit.csv', and there is no such file",
    ),
    "a budget below zero": (
        {"budget": -3.0},
        {},
        "^budget is -3.0; allowed are values from 0 on",
        "argument --budget: '-3.0' is not allowed; allowed are numbers from 0 on",
        {"budget": -3},
        "^config: 'budget' is -3; allowed are values from 0 on",
    ),
    "an objective that is none": (
        {"objective": "f2"},
        {},
        "^objective is 'f2'; allowed are cost, f1",
        "argument --objective: invalid choice: 'f2'",
        {"objective": "f2"},
        "^config: 'objective' is 'f2'; allowed are cost, f1",
    ),
    "groups of a column that is none": (
        {"sensitive": "gender"},
        {},
        "^the data frame has no column 'gender', which sensitive names",
        "decide: \\S*visits.csv has no column 'gender', which --sensitive names",
        None,
        "",
    ),
    "groups of the label": (
        {"sensitive": "pneumonia"},
        {},
        "^sensitive is 'pneumonia', the label",
        "--sensitive is 'pneumonia', the label",
        {"sensitive": "pneumonia"},
        "^config: 'sensitive' is 'pneumonia', the label",
    ),
    "a share beyond one": (
        {"most_missed": 2.0},
        {},
        "^most_missed is 2; allowed is a share",
        "--most-missed is 2; allowed is a share",
        {"most_missed": 2},
        "^config: 'most_missed' is 2; allowed is a share",
    ),
    "a file of causes that is not there": (
        {"causes": "no.yaml"},
        {},
        "^causes is 'no.yaml', and there is no such file",
        "--causes is 'no.yaml', and there is no such file",
        {"causes": "no.yaml"},
        "^config: 'causes' is 'no.yaml', and there is no such file",
    ),
    "a key that needs another": (
        {"refer_risk": 3.0},
        {},
        "^refer_risk is stated and refer is not",
        "--refer-risk is stated and --refer is not",
        {"refer_risk": 3},
        "^config: 'refer_risk' is stated and 'refer' is not",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("visits")
    visits = pd.read_csv(PROJECT / "docs/examples/clinic.csv").drop(columns="patient").head(200)
    visits.assign(site="a").to_csv(place / "visits.csv", index=False)
    shutil.copy(PROJECT / "docs/examples/clinic.csv", place)
    (place / "prices.csv").write_text('test,price\nlactate,6\ncrp,"4,5.6"\n')
    return place


def _words(stated: Mapping[str, Any]) -> list[str]:
    """Flags of the same arguments."""
    words = [str(stated.get("table", "visits.csv"))]
    for name, value in stated.items():
        texts = [value]
        if isinstance(value, Mapping):
            texts = [",".join(f"{key}={cell}" for key, cell in value.items())]
        elif isinstance(value, list):
            texts = value if name == "panel" else [",".join(value)]
        words += [f"--{name.replace('_', '-')}={text}" for text in texts if name != "table"]
    return words


def _python(stated: dict[str, Any]) -> None:
    frugal.load(stated.pop("table", pd.read_csv("visits.csv")), **stated)


def _of_yaml(change: Any) -> None:
    old, new = change if isinstance(change, tuple) else ("", "")
    text = (PROJECT / "docs/examples/clinic.yaml").read_text(encoding="utf-8")
    assert old in text
    Path("clinic.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    config: Mapping[str, Any] = {}
    for name in ("config.yaml", "config/decide.yaml"):
        config = laid_over(config, read_yaml(PROJECT / name))
    over = {} if isinstance(change, tuple) else change
    decision(laid_over(config, {"table": "clinic.yaml", **over}), PROJECT, Path.cwd())
    frugal.load("clinic.yaml")


def _refused(door: Callable[[Any], None], stated: Any) -> str:
    with pytest.raises(FrugalError) as refusal:
        door(stated)
    return str(refusal.value)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_refused_in_the_words_of_its_door(mistake, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    arguments, flags, of_python, of_command, change, of_yaml = MISTAKES[mistake]
    before = sorted(path.name for path in folder.iterdir())
    sentence = _refused(_python, {**TERMS, **arguments})
    assert re.search(of_python, sentence), sentence
    assert not re.search(r"--\w|/table\.yaml|config: |panels\[\d|misclassification", sentence)
    stated = {**TERMS, **({} if flags else arguments), **flags}
    try:
        status: Any = main(["decide", *_words(stated)])
    except SystemExit as stop:
        status = stop.code
    sentence = capsys.readouterr().err.strip().split("\n")[-1]
    assert (status, bool(re.search(of_command, sentence))) == (2, True), sentence
    assert not re.search(r"config: |panels\[\d|misclassification|/\.\w", sentence)
    assert sorted(path.name for path in folder.iterdir()) == before
    if change is not None:
        sentence = _refused(_of_yaml, change)
        assert re.search(of_yaml, sentence), sentence
        (folder / "clinic.yaml").unlink(missing_ok=True)
