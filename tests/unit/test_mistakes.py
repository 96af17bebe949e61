"""The mistakes that are most likely in a table of one's own: a sentence, or a warning that is read.

docs/how-to/mistakes.md lists them with what is said, in this order.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from frugal.core.errors import FrugalError

from tests.unit.test_own_table import ROOT, folder, remarks  # noqa: F401  # a fixture

PAGE = ROOT / "docs" / "how-to" / "mistakes.md"
Change = Callable[[Path], Any]


def keys(**changed: Any) -> Change:
    """Keys of the YAML, replaced."""

    def change(place: Path) -> None:
        path = place / "clinic.yaml"
        path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | changed))

    return change


def text(*pairs: tuple[str, str]) -> Change:
    """Texts of the YAML, replaced."""

    def change(place: Path) -> None:
        path = place / "clinic.yaml"
        found = path.read_text()
        for before, after in pairs:
            assert before in found
            found = found.replace(before, after)
        path.write_text(found)

    return change


def table(changed: Callable[[pd.DataFrame], pd.DataFrame]) -> Change:
    """The CSV, changed."""

    def change(place: Path) -> None:
        path = place / "clinic.csv"
        found = pd.read_csv(path, dtype=str, keep_default_na=False)
        changed(found).to_csv(path, index=False)

    return change


def cell(column: str, value: str) -> Change:
    """One cell, on line 5."""
    return table(lambda t: t.assign(**{column: t[column].where(t.index != 3, value)}))


def both(*changes: Change) -> Change:
    return lambda place: [change(place) for change in changes]


def feature(name: str, kind: str) -> Change:
    """A further column, among those that are known at the start."""
    return text(
        ("  - {name: age,", f"  - {{name: {name}, type: {kind}}}\n  - {{name: age,"),
        ("columns: [age,", f"columns: [{name}, age,"),
    )


def gaps_that_alternate(found: pd.DataFrame) -> pd.DataFrame:
    odd = found.index % 2 == 1
    return found.assign(crp=found["crp"].mask(odd, ""), lactate=found["lactate"].mask(~odd, ""))


SPLIT = {"scheme": "fractions", "seed": 0, "parts": {"train": 0.4, "agent": 0.3, "test": 0.4}}
MISTAKES: dict[str, tuple[Change, str]] = {
    "the label's column misspelt": (
        text(("column: pneumonia", "column: pneumonai")),
        "did you mean 'pneumonia'?",
    ),
    "a text in a number": (cell("crp", "high"), "clinic.csv, line 5: column 'crp' holds 'high'"),
    "a decimal comma": (cell("temperature", "37,8"), "line 5: column 'temperature' holds '37,8'"),
    "a panel priced twice": (
        text(("cost: 4}", "cost: 4, cost: 5}")),
        "line 30, column 42: key 'cost' is written twice",
    ),
    "two panels of one name": (
        text(("name: lactate, columns", "name: crp, columns")),
        "panel name 'crp' twice",
    ),
    "a level misspelt": (text(("shadow]", "shadwo]")), "line 2: column 'xray' holds 'shadow'"),
    "a class misspelt": (text(('["yes"]', '["Yes"]')), "'label.classes' knows no, Yes"),
    "yes and no without quotes": (
        text(('["yes"]', "[yes]"), ('["no"]', "[no]")),
        "write the text in quotes",
    ),
    "the label among the features": (
        text(("  - {name: xray,", "  - {name: pneumonia, type: categorical}\n  - {name: xray,")),
        "columns[6] ('pneumonia') is the label; a feature must not reveal the answer",
    ),
    "a price left open": (text(("cost: 45", "cost: null")), "fill in the cost of chest film"),
    "a price below zero": (text(("cost: 45", "cost: -45")), "is -45; allowed are values from 0 on"),
    "a price with its unit": (text(("cost: 45", "cost: 45 EUR")), "'panels[4].cost' is '45 EUR'"),
    "error costs of another number of classes": (
        keys(misclassification_cost=[[0, 1, 2], [1, 0, 2], [1, 2, 0]]),
        "2 classes need 2 rows",
    ),
    "error costs of zero": (
        keys(misclassification_cost=[[0, 0], [0, 0]]),
        "is zero everywhere, so no acquisition",
    ),
    "error costs left open": (
        keys(misclassification_cost=[[0, None], [600, 0]]),
        "the cost of each error",
    ),
    "a file that is not there": (text(("clinic.csv", "clinics.csv")), "no file 'clinics.csv'"),
    "another separator": (text(('","', '";"')), "clinic.csv has no column 'age'"),
    "a column that the file lacks": (
        text(("name: lactate, type", "name: lactat, type")),
        "did you mean 'lactat'?",
    ),
    "a column in no panel": (text(("[lactate]", "[crp]")), "'lactate', which belongs to no panel"),
    "a panel of an unknown column": (text(("[lactate]", "[laktate]")), "it is 'laktate'"),
    "a gap in what is known at the start": (
        cell("age", ""),
        "line 5: column 'age' has no value, but it is in a free panel",
    ),
    "a gap in a text known at the start": (
        cell("sex", ""),
        "give the panel a cost, make a 'missing_level' of it, drop such rows",
    ),
    "a row without a label": (cell("pneumonia", ""), "line 5: label 'pneumonia' holds no value"),
    "one class alone": (table(lambda t: t.assign(pneumonia="no")), "has one class only"),
    "too few rows": (table(lambda t: t.head(3)), "class 'pneumonia' has 1 rows"),
    "a date as a number": (
        both(table(lambda t: t.assign(seen="2026-01-02")), feature("seen", "numeric, unit: day")),
        "column 'seen' holds '2026-01-02', which is not a number",
    ),
    "a number without a unit": (text((", unit: mg/L", "")), "'crp') is numeric and lacks 'unit'"),
    "a tab in the YAML": (text(("  - {name: age", "\t- {name: age")), "line 21, column 1: not val"),
    "an empty file": (lambda place: (place / "clinic.csv").write_text(""), "is empty"),
    "another encoding": (
        lambda place: (place / "clinic.csv").write_bytes(
            (place / "clinic.csv").read_text().replace("east", "öst").encode("latin-1")
        ),
        "clinic.csv is not utf-8 text at byte 125",
    ),
    "parts that sum to more than one": (keys(split=SPLIT), "split.parts sum to 1.1"),
    "a name as a feature": (feature("patient", "categorical"), "has 800 levels in 800 rows, as a"),
    "a column that equals the label": (
        both(table(lambda t: t.assign(outcome=t["pneumonia"])), feature("outcome", "categorical")),
        "column 'outcome' predicts the label in every row",
    ),
    "a column of one value": (
        table(lambda t: t.assign(temperature=37.0)),
        "column 'temperature' has one value in these rows",
    ),
    "units that stand twice": (
        table(lambda t: pd.concat([t, t])),
        "rows are copies of others; if of the same",
    ),
    "no complete row": (table(gaps_that_alternate), "no row has every panel"),
    "three hospitals that are to be kept whole": (
        both(table(lambda t: t.assign(site=t.index % 3)), keys(cluster="site")),
        "3 values of 'site' ('cluster') for 5 parts",
    ),
    "four cases of a disease": (
        table(lambda t: t.assign(pneumonia=np.where(t.index < 4, "yes", "no"))),
        "class 'pneumonia' has 4 rows, and there is none in 'fold_",
    ),
    "a test that one record has": (
        table(lambda t: t.assign(lactate=np.where(t.index == 4, "2.1", ""))),
        "panel 'lactate' is recorded in 1 of 800 rows, all in one of 5 folds",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_ends_in_a_sentence_or_a_warning(folder, name):  # noqa: F811
    change, words = MISTAKES[name]
    change(folder)
    try:
        said = [one for one in remarks(folder) if one.startswith("Look: ")]
    except FrugalError as error:
        said = [str(error)]
    assert any(words in one for one in said), said
    assert all("\n" not in one for one in said)


def test_the_page_lists_them():
    listed = re.findall(r"^\| ([^|]+?) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [name for name in listed if name not in ("mistake", "---")] == list(MISTAKES)
