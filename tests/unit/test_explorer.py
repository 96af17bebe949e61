"""The report's parts: tables as JSON and back, budgets, units step by step, the page of all."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from frugal.answer.stages.reports import write_report
from frugal.core.context import Context
from frugal.core.streams import Streams
from frugal.core.table import Panel, Table
from frugal.draw import style
from frugal.draw.explorer import assembly, charts
from frugal.draw.explorer.patients import Course, patients, spread_units
from frugal.draw.explorer.sections import (
    best_within,
    figures,
    packed_column,
    packed_table,
    unpacked_column,
)
from hypothesis import given
from hypothesis import strategies as st

NUMBERS = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.just(np.nan))
# what a page may hold that begins with these is an address that a browser would ask for
REQUEST = re.compile(
    r"""(?:\b(?:src|href|action|poster|srcset)\s*=\s*["']?|url\(\s*["']?|@import\s+["']?)"""
    r"""\s*(?:https?:)?//""",
    re.IGNORECASE,
)


@given(st.lists(NUMBERS, min_size=1))
def test_numbers_come_back_to_the_last_digit(values):
    text = json.dumps(packed_column(pd.Series(values)), allow_nan=False)
    back = unpacked_column(json.loads(text))
    wanted = [None if np.isnan(value) else value for value in values]
    assert back == wanted


@given(st.lists(st.one_of(st.none(), st.text()), min_size=1))
def test_texts_come_back(values):
    packed = json.loads(json.dumps(packed_column(pd.Series(values, dtype=object))))
    assert unpacked_column(packed) == values


@pytest.mark.parametrize("values", [[1, -3], [True, False]])
def test_whole_numbers_and_truths_stay_what_they_are(values):
    back = unpacked_column(json.loads(json.dumps(packed_column(pd.Series(values)))))
    assert back == values
    assert [type(one) for one in back] == [type(one) for one in values]


def test_a_table_names_only_columns_that_it_has():
    table = pd.DataFrame({"a": [1.5], "b": ["x"]})
    packed = packed_table(table, title="t", source="s", shown=("b", "gone"), keys=("gone", "a"))
    assert (packed["shown"], packed["keys"], packed["rows"]) == (["b"], ["a"], 1)


@given(
    st.lists(
        st.tuples(st.floats(0, 9), st.one_of(st.just(np.nan), st.floats(-9, 9))),
        min_size=1,
        max_size=12,
    ),
    st.booleans(),
    st.floats(0, 10),
)
def test_a_budget_leads_to_the_best_row_that_fits(pairs, most, budget):
    rows = pd.DataFrame(pairs, columns=["cost", "score"])
    reached = [
        row
        for least, row in best_within(rows, cost="cost", score="score", most=most)
        if least <= budget
    ]
    able = rows[(rows["cost"] <= budget) & rows["score"].notna()]
    assert bool(reached) == bool(len(able))
    if reached:
        best = able["score"].max() if most else able["score"].min()
        assert rows["score"][reached[-1]] == best


def test_names_differ_in_colour_or_shape():
    found = charts.looks_of(f"name {k}" for k in range(64))
    assert len({(look["colour"], look["shape"]) for look in found.values()}) == 64


def test_the_page_has_the_colours_of_the_figures():
    assert {colour.lower() for colour in charts.COLOURS} == {
        colour.lower() for colour in style.COLOURS.values()
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.12345, "0.123"), (12345.6, "12,346"), (float("nan"), "unknown"), (0.0, "0")],
)
def test_numbers_in_words(value, text):
    assert figures(value) == text


def table_of_units() -> Table:
    """Three units, one free column and two panels; the second unit has no blood value."""
    return Table(
        row_id=np.array([5, 7, 9]),
        values=np.array([[1.0, 0.1, 3.0], [2.0, np.nan, 4.0], [3.0, 0.3, 5.0]]),
        columns=("age", "blood", "scan"),
        onehot=(),
        label=np.array([0, 1, 1]),
        classes=("healthy", "ill"),
        panels=(
            Panel("visit", ("age",), 0.0, True),
            Panel("blood test", ("blood",), 2.0, False),
            Panel("scan", ("scan",), 30.5, False),
        ),
        misclassification_cost=np.array([[0.0, 1.0], [1.0, 0.0]]),
    )


def test_units_are_stated_as_the_log_has_them():
    decisions = pd.DataFrame(
        {
            "row_id": [7, 7, 5],
            "step": [1, 0, 0],
            "action": [9, 1, 2],
            "cost": [0.0, 30.5, 0.0],
            "probability": [0.25, 1.0, 1.0],
            "belief": [0.75, np.nan, 0.5],
        }
    )
    outcomes = pd.DataFrame({"row_id": [5, 7], "verdict": [0, 1], "probability": [0.125, 0.875]})
    course = Course("careful", "It goes by age.", decisions, outcomes, "log")
    told = patients(table_of_units(), {"age": "years"}, [course], [7, 9])
    assert told["values"] == [[2.0, 3.0], [None, 0.3], [4.0, 5.0]]
    assert told["panels"] == [
        {"name": "blood test", "cost": 2.0, "columns": [1]},
        {"name": "scan", "cost": 30.5, "columns": [2]},
    ]
    assert (told["free"], told["units"], told["label"]) == ([0], ["years", "", ""], [1, 1])
    first, second = told["policies"][0]["units"]
    assert second is None  # the policy was not run on unit 9
    assert first == {
        "actions": [1, 2],  # the scan, then the end, whatever number the log gives it
        "costs": [30.5, 0.0],
        "probabilities": [1.0, 0.25],
        "beliefs": [None, 0.75],
        "verdict": 1,
        "belief": 0.875,
    }


@given(st.lists(st.integers(0, 2), min_size=1, max_size=40), st.integers(1, 20))
def test_every_class_is_among_the_units_that_are_shown(label, count):
    row_id = np.arange(len(label)) * 3
    chosen = spread_units(row_id, np.array(label), count)
    assert len(set(chosen)) == len(chosen) <= max(count, len(set(label)))
    assert set(chosen) <= set(row_id.tolist())
    assert {label[one // 3] for one in chosen} == set(label)


def part_of(name: str) -> dict:
    """A part that holds a name wherever a name may stand."""
    return {
        "kind": "section",
        "study": "afape",
        "question": name,
        "answers": [],
        "charts": [],
        "scope": {"columns": ["dataset"], "values": [[name]]},
        "sliders": [],
        "tables": {
            "t": packed_table(
                pd.DataFrame({"dataset": [name]}),
                title=name,
                source="t",
                shown=["dataset"],
                keys=["dataset"],
            )
        },
    }


def report_of(part: dict) -> str:
    """The page of one part, whose table is of one file."""
    told = {"name": "dataset", "unit": "", "meaning": "name of the data set"}
    made = {"sha256": "a" * 64, "bytes": 3, "stage": "made_by"}
    raw = {"name": "raw", "path": "raw.csv", "sha256": "b" * 64}
    table = made | {"inputs": [raw], "columns": [told]}
    read = {"name": "t", "path": "results/t.parquet", "sha256": "a" * 64}
    section = made | {"inputs": [read]}
    origins = {
        "inputs": {"part": ["results/s.json"]},
        "files": {"results/s.json": section, "results/t.parquet": table},
    }
    streams = Streams(0, "write_report", {})
    found = write_report(origins=origins, context=Context({}, streams), part=part)
    return found["report"].decode()


def test_no_name_ends_a_script_of_the_page():
    name = "</script><script>alert(1)</script><!-- <img src=x>"
    page = report_of(part_of(name))
    assert page.count("<script") == page.count("</script>") == 3
    data = page.split('id="data">')[1].split("</script>")[0]
    assert json.loads(data)["parts"][0]["question"] == name
    assert "alert(1)" not in page.replace(data, "")


def test_the_page_requests_nobody_and_its_own_rule_forbids_it():
    page = report_of(part_of("clinic"))
    assert not REQUEST.search(page)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert not [rule for rule in rules.values() if re.search(r"https?:|\*|//", rule)]


def test_a_file_is_stated_with_what_is_behind_it():
    page = report_of(part_of("clinic"))
    document = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert document["parts"][0]["sources"]["t"] == {
        "paths": ["results/t.parquet"],
        "columns": {"dataset": ["", "name of the data set"]},
    }
    section, table = document["files"]
    assert section["inputs"] == [1]
    assert table["outside"] == [["raw.csv", "b" * 64]]


def test_the_page_without_results_is_small_and_its_own_code_is_readable():
    assert len(report_of(part_of("clinic"))) < 1_200_000  # most of it is Vega
    for path in assembly._PARTS.iterdir():
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= 400, path.name
        assert max(map(len, lines)) <= 240, path.name


def test_an_edit_of_a_script_shows_in_the_digest(tmp_path, monkeypatch):
    for path in assembly._PARTS.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    before = assembly.template_digest()
    monkeypatch.setattr(assembly, "_PARTS", tmp_path)
    assert assembly.template_digest() == before
    (tmp_path / "tables.js").write_text("// another")
    assert assembly.template_digest() != before
