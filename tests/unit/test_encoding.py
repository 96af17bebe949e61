"""From text to a table: levels, codes, gaps, dropped rows, drawn costs."""

import dataclasses

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.data.encoding import drawn_costs
from frugal.data.prepare import _dropped
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.slow_encoding import encode_slowly
from tests.unit.dataset_documents import CSV, document, encoded, load

COLUMNS = [
    ("age", "numeric", ()),
    ("smoker", "categorical", ("no", "yes")),
    ("marker", "numeric", ("-9", "-8")),
    ("scan", "numeric", ()),
]


def _records(csv: str) -> list[dict[str, str]]:
    header, *lines = [line.split(",") for line in csv.strip().split("\n")]
    return [dict(zip(header, line, strict=True)) for line in lines]


def test_small_table_by_hand(tmp_path):
    result = encoded(tmp_path, document())
    table = result.table
    assert table.columns == (
        "age",
        "smoker=no",
        "smoker=yes",
        "marker",
        "marker=-9",
        "marker=-8",
        "scan",
    )
    assert table.onehot == ((1, 2),)
    assert table.label.tolist() == [1, 0, 0, 1, 0, 0]
    assert table.row_id.tolist() == [0, 1, 2, 3, 4, 5]
    assert table.panels[1].columns == ("marker", "marker=-9", "marker=-8")
    assert table.action_cost.tolist() == [30.0, 900.0]
    # codes become the median of the regular values 0.9, 1.4, 0.6
    expected = [[0.9, 0, 0], [0.9, 1, 0], [np.nan] * 3, [1.4, 0, 0], [0.6, 0, 0], [0.9, 0, 1]]
    np.testing.assert_array_equal(table.values[:, 3:6], expected)
    assert result.units["marker"] == "ng/mL"
    assert result.units["marker=-9"] == "1"
    assert result.report["special_values"] == {"marker": {"-9": 1, "-8": 1}}
    assert result.report["panel_missing_share"] == {"blood": 1 / 6, "scan": 2 / 6}
    assert result.report["class_share"] == {"healthy": 4 / 6, "ill": 2 / 6}


rows = st.lists(
    st.tuples(
        st.integers(0, 99).map(str),
        st.sampled_from(["no", "yes"]),
        st.sampled_from(["-9", "-8", "", "0.5", "2.25", "3"]),
        st.sampled_from(["", "0", "1.5", "-2"]),
    ),
    min_size=2,
    max_size=12,
)


@settings(max_examples=50)
@given(rows)
def test_encoding_is_that_of_the_oracle(tmp_path, drawn):
    lines = [",".join([*cells, str(i % 2)]) for i, cells in enumerate(drawn)]
    csv = "age,smoker,marker,scan,ill\n50,no,1,1,0\n" + "\n".join(lines) + "\n"
    table = encoded(tmp_path, document(), csv).table
    names, expected = encode_slowly(_records(csv), COLUMNS)
    assert list(table.columns) == names
    np.testing.assert_array_equal(table.values, expected)


def test_levels_are_the_sorted_ones_seen_unless_listed(tmp_path):
    content = document()
    del content["columns"][1]["levels"]
    csv = CSV.replace("54,yes", "54,often")
    assert encoded(tmp_path, content, csv).table.columns[1:4] == (
        "smoker=no",
        "smoker=often",
        "smoker=yes",
    )


def test_missing_level_takes_the_gaps(tmp_path):
    content = document()
    content["columns"][1] |= {"levels": ["no", "yes", "unknown"], "missing_level": "unknown"}
    table = encoded(tmp_path, content, CSV.replace("54,yes", "54,")).table
    assert table.columns[3] == "smoker=unknown"
    assert table.values[:, 3].tolist() == [1, 0, 0, 0, 0, 0]


def test_missing_category_is_missing_in_all_its_columns(tmp_path):
    content = document()
    content["panels"][0] = {"name": "interview", "columns": ["age", "smoker"], "cost": 1}
    table = encoded(tmp_path, content, CSV.replace("54,yes", "54,")).table
    assert np.isnan(table.values[0, 1:3]).all()
    assert not np.isnan(table.values[1:, 1:3]).any()


def test_drop_rules_are_applied_and_counted(tmp_path):
    content = document()
    content["columns"] = [c for c in content["columns"] if c["name"] in ("age", "scan")]
    content["panels"] = [
        {"name": "age", "columns": ["age"], "cost": 1},
        {"name": "scan", "columns": ["scan"], "cost": 1},
    ]
    content["drop_rows"] = [
        {"rule": "label_missing", "reason": "a"},
        {"rule": "all_features_equal", "value": -9, "reason": "b"},
        {"rule": "any_feature_missing", "reason": "c"},
    ]
    csv = CSV + "-9,no,1,-9,0\n-9,no,1,-9,\n50,no,1,2,\n-9,no,1,3,1\n"
    result = encoded(tmp_path, content, csv)
    assert [d["rows"] for d in result.report["rows_dropped"]] == [2, 1, 2]
    assert result.table.row_id.tolist() == [0, 1, 3, 4, 9]
    assert result.retained.sum() == 5
    assert result.report["rows_read"] == 10
    assert result.report["columns_left_out"] == ["smoker", "marker"]


def test_rows_without_the_number_of_a_rule_are_counted_apart(tmp_path):
    content = document()
    content["drop_rows"] = [{"rule": "below", "column": "age", "value": 45, "reason": "adults"}]
    report = encoded(tmp_path, content, CSV.replace("54,", ",").replace("61,", ",")).report
    assert report["rows_dropped"] == [
        {"rule": "below", "reason": "adults", "rows": 3, "rows_without_value": 2}
    ]
    (said,) = _dropped(report["rows_dropped"])
    assert said.startswith("Look: of 3 rows that are left out for 'adults', 2 have no value")


def test_a_value_outside_valid_in_a_free_panel_is_stated(tmp_path):
    content = document()
    content["missing_values"] = "own"
    content["columns"][0]["valid"] = [0, 80]
    words = r"line 2: column 'age' holds 999\.0, outside its 'valid' \[0, 80\], but it is in a free"
    with pytest.raises(DataError, match=words):
        encoded(tmp_path, content, CSV.replace("54,", "999,"))


def test_numbers_are_read_in_the_marks_unit_and_texts_that_are_described(tmp_path):
    content = document()
    content["source"]["format"] |= {"separator": ";", "decimal": ",", "thousands": "."}
    content["columns"][2] |= {"unit": "ng/mL", "recode": {"<0,1": 0.05}}
    rows = ["54;yes;1.234,5;2;1", "61;no;-9;0;0", "47;no;<0,1;;0", "72;yes;1,5 ng/mL;3;1"]
    csv = "\n".join([CSV.partition("\n")[0].replace(",", ";"), *rows, ""])
    table = encoded(tmp_path, content, csv).table
    np.testing.assert_array_equal(table.values[[0, 2, 3], 3], [1234.5, 0.05, 1.5])
    with pytest.raises(DataError, match=r"'marker' holds '1\.23', which is not a number"):
        encoded(tmp_path, content, csv.replace("1,5 ng/mL", "1.23"))


def _price(content: dict, panel: int, cost: float | str) -> None:
    content["panels"][panel] |= {"cost": cost}


def test_drawn_costs_are_uniform_and_the_data_sets_own(tmp_path):
    content = document()
    content["cost_draw"] = {"distribution": "uniform", "low": 0.5, "high": 1.0, "seed": 5}
    _price(content, 2, "drawn")
    result = encoded(tmp_path, content)
    expected = np.random.default_rng(5).uniform(0.5, 1.0)
    assert result.table.action_cost.tolist() == [30.0, expected]
    assert result.report["costs_drawn"] == {"scan": expected}
    _price(content, 1, "drawn")
    description = load(tmp_path, content)
    assert description.cost_draw is not None
    costs = []
    for seed in range(250):
        draw = description.cost_draw.changed(seed=seed)
        costs += drawn_costs(dataclasses.replace(description, cost_draw=draw)).values()
    # mean of 500 draws of U(0.5, 1): standard error 0.144/√500 = 0.0065; fixed seeds
    assert abs(np.mean(costs) - 0.75) < 4 * 0.0065
    assert 0.5 <= min(costs) < 0.52
    assert 0.98 < max(costs) <= 1.0


def test_gap_where_missingness_is_to_be_induced(tmp_path):
    with pytest.raises(DataError, match=r"line 4: column 'marker' has no value.*'missing_values'"):
        encoded(tmp_path, document() | {"missing_values": "induced"})


def test_no_row_left(tmp_path):
    content = document()
    content["drop_rows"] = [{"rule": "any_feature_missing", "reason": "c"}]
    with pytest.raises(DataError, match="leave no row of 2"):
        encoded(tmp_path, content, "age,smoker,marker,scan,ill\n1,no,,1,0\n1,no,,1,1\n")


GAPS = CSV.replace("47,no,,,0", ",no,,,0").replace("66,no,0.6", "66,,0.6")


def test_gaps_in_free_columns_are_all_named_with_the_rule_that_drops_them(tmp_path):
    with pytest.raises(DataError) as caught:
        encoded(tmp_path, document(), GAPS)
    assert "line 4: column 'age' has no value, and elsewhere 'smoker', but they are in free" in str(
        caught.value
    )
    rule = "{rule: feature_missing, columns: [age, smoker], reason: …} under 'drop_rows' drops 2 of"
    assert rule in str(caught.value)


def test_rows_that_lack_a_named_feature_are_dropped_and_counted(tmp_path):
    content = document()
    rule = {"rule": "feature_missing", "columns": ["age", "smoker"], "reason": "not asked"}
    content["drop_rows"] = [rule]
    result = encoded(tmp_path, content, GAPS)
    assert result.table.row_id.tolist() == [0, 1, 3, 5]
    assert result.report["rows_dropped"] == [
        {"rule": "feature_missing", "reason": "not asked", "rows": 2}
    ]
