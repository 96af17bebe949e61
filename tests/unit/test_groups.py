"""Classes told apart by texts or ranges; the descriptions that do; columns that name people."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import DataError
from frugal.core.schema_check import read_yaml
from frugal.data.description import Format, classes_from, load_description
from frugal.data.encoding import class_index, encode
from frugal.data.parsing import raw_from_frame
from frugal.data.prepare import prepare
from frugal.data.records import parse_text
from frugal.data.tables import sensitive_from_frames, table_to_frames

DATASETS = Path(__file__).parents[2] / "config" / "datasets"
POOR = {
    "column": "income",
    "by": "rural",
    "classes": [
        {"name": "not poor", "from": {"0": 20, "1": 10}},
        {"name": "poor", "below": {"0": 20, "1": 10}},
    ],
}


def test_ranges_may_differ_by_the_text_of_another_column():
    frame = pd.DataFrame({"income": [15.0, 15.0, 20.0, 9.99], "rural": ["0", "1", "0", "1"]})
    raw = raw_from_frame(frame, source="x")
    rule = classes_from(POOR, key="classes")
    found = class_index(raw, np.arange(4), rule, (), key="label.classes")
    assert found.tolist() == [1, 0, 0, 1]


def test_a_number_in_no_range_is_refused_with_its_place():
    raw = raw_from_frame(pd.DataFrame({"income": [5.0], "rural": ["2"]}), source="survey")
    with pytest.raises(DataError, match=r"survey, line 1: label 'income' holds .*not poor, poor"):
        class_index(raw, np.arange(1), classes_from(POOR, key="classes"), (), key="label.classes")


def test_values_mean_groups():
    rule = classes_from(
        {
            "column": "sex",
            "groups": [{"name": "f", "values": ["F", 2]}, {"name": "m", "values": ["M"]}],
        },
        key="groups",
    )
    assert rule.index_of_text(np.array(["M", "2", "?"], dtype=object)).tolist() == [1, 0, -1]


def document(**changes):
    return read_yaml(DATASETS / "enigh2016.yaml") | changes


def test_an_absent_column_of_groups_is_named_with_its_key():
    described = load_description(DATASETS / "synthetic_loans.yaml")
    assert described.groups is not None
    groups = replace(described.groups, column="grup")
    with pytest.raises(
        DataError, match=r"no column 'grup', which 'sensitive.column' names.*'group'"
    ):
        prepare(replace(described, groups=groups), {}, 0)


def test_synthetic_loans_have_groups_next_to_their_features():
    described = load_description(DATASETS / "synthetic_loans.yaml")
    prepared = prepare(described, {}, 0)
    assert len(prepared.table) == 100_000
    assert [p.name for p in prepared.table.panels] == [
        "fair X1",
        "fair X2",
        "fair X3",
        "unfair X5",
        "unfair X6",
        "unfair X7",
        "X9",
        "X10",
    ]
    frame, catalogue = table_to_frames(
        prepared.table, prepared.split, sensitive=prepared.sensitive, groups=prepared.groups
    )
    sensitive, groups = sensitive_from_frames(frame, catalogue)
    assert groups == ("group 0", "group 1")
    x5 = prepared.table.values[:, prepared.table.columns.index("X5")]
    assert x5[sensitive == 1].mean() - x5[sensitive == 0].mean() == pytest.approx(1, abs=0.04)


def test_columns_that_name_people_are_gone_once_a_line_is_read():
    form = Format("csv", ("",), ",", None, None, True, "utf-8", personal=("name", "dob"))
    cells, _ = parse_text("id,name,dob,age\n1,Ann Lee,1970-01-01,50\n", form, source="x.csv")
    assert cells.columns == ["id", "age"]
    assert "Ann" not in cells.frame().to_csv()
    with pytest.raises(DataError, match=r"'source\.format\.personal' names"):
        parse_text("id,age\n1,50\n", form, source="x.csv")


def test_compas_drops_names_and_birth_dates_on_reading():
    described = load_description(DATASETS / "compas.yaml")
    form = described.format
    assert form is not None
    assert form.header is not None
    assert {"id", "name", "first", "last", "dob"} <= set(form.personal)
    cells = [f"<{name}>" for name in form.header]
    text = "id,name,first,last\n" + ",".join(cells) + "\n"
    cells, _ = parse_text(text, form, source="compas.csv")
    for name in form.personal:
        assert f"<{name}>" not in cells.frame().to_csv()
    assert len(cells) == 1


@pytest.mark.parametrize("name", ["adult_fair", "german_fair", "enigh2016", "costa_rica", "compas"])
def test_descriptions_of_the_fair_tables_withhold_nothing_by_themselves(name):
    """The column that tells the group is a feature, so that config.yaml may withhold its panel."""
    described = load_description(DATASETS / f"{name}.yaml")
    assert described.groups is not None
    columns = {c.raw_name for c in described.columns}
    assert described.groups.column in columns
    assert described.label.column not in columns


def test_encoding_reports_the_share_of_each_group():
    described = load_description(DATASETS / "synthetic_loans.yaml")
    frame = pd.DataFrame(
        {c.raw_name: [0.1, -0.2, 0.3] for c in described.columns}
        | {"X9": ["0", "1", "2"], "group": ["0", "0", "1"], "repaid": ["0", "1", "1"]}
    )
    report = encode(raw_from_frame(frame, source="x"), described).report
    assert report["group_share"] == pytest.approx({"group 0": 2 / 3, "group 1": 1 / 3})
