"""Labels made of several raw columns, and rows dropped by a raw column."""

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.data.encoding import event_within, risen
from frugal.data.tables import StoredTable, table_from_frames, table_to_frames

from tests.unit.dataset_documents import document, encoded, load

EVENTS = """age,smoker,marker,scan,cause,months
54,yes,0.9,2,heart,12
61,no,1,0,,80
47,no,2,1,,60
72,yes,1.4,3,cancer,90
66,no,0.6,1,,59.5
39,yes,3,2,heart,60
"""
RISES = """age,smoker,marker,scan,before,after
54,yes,0.9,2,1.1,1.4
61,no,1,0,0.9,1.2
47,no,2,1,0.4,0.6
72,yes,1.4,3,1.0,1.29
66,no,0.6,1,,2
39,yes,3,2,2,1
"""


def _with_rule(rule, dropped=True):
    content = document()
    content["label"] = {
        "column": "bad",
        "rule": rule,
        "classes": [{"name": "no", "values": [0]}, {"name": "yes", "values": [1]}],
    }
    if dropped:
        content["drop_rows"] = [{"rule": "label_missing", "reason": "nobody knows"}]
    return content


EVENT = {"kind": "event_within", "event": "cause", "time": "months", "horizon": 60}
RISE = {"kind": "rise", "before": "before", "after": "after", "difference": 0.3, "ratio": 1.5}


def test_event_within_a_horizon_leaves_out_the_censored(tmp_path):
    table = encoded(tmp_path, _with_rule(EVENT), EVENTS)
    assert table.table.row_id.tolist() == [0, 1, 2, 3, 5]
    assert table.table.label.tolist() == [1, 0, 0, 0, 1]
    assert table.report["rows_dropped"][0]["rows"] == 1
    assert table.report["columns_left_out"] == []


def test_rise_by_a_difference_or_a_ratio_in_decimals(tmp_path):
    table = encoded(tmp_path, _with_rule(RISE), RISES)
    assert table.table.row_id.tolist() == [0, 1, 2, 3, 5]
    # 1.4 − 1.1 and 1.2 − 0.9 are 0.3, though not in binary; 0.6 is half more than 0.4
    assert table.table.label.tolist() == [1, 1, 1, 0, 0]


def test_formulas_on_arrays():
    yes, known = event_within(
        np.array([True, True, False, False]), np.array([5.0, 70, 60, 59]), horizon=60.0
    )
    assert yes.tolist() == [True, False, False, False]
    assert known.tolist() == [True, True, True, False]
    rose = risen(np.array([1.0, 1, 4]), np.array([1.3, 1.2, 4.4]), difference=0.3, ratio=1.5)
    assert rose.tolist() == [True, False, True]


def test_no_label_without_a_drop_rule_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"small\.csv, line 6: label 'bad' holds no value"):
        encoded(tmp_path, _with_rule(EVENT, dropped=False), EVENTS)


def test_absent_column_and_text_where_a_number_is_needed(tmp_path):
    with pytest.raises(DataError, match=r"no column 'month', which 'label\.rule' names.*'months'"):
        encoded(tmp_path, _with_rule(EVENT | {"time": "month"}), EVENTS)
    with pytest.raises(DataError, match=r"line 2: column 'months' holds 'one year'"):
        encoded(tmp_path, _with_rule(EVENT), EVENTS.replace(",12\n", ",one year\n"))


def test_label_of_a_rule_needs_a_name_of_its_own(tmp_path):
    content = _with_rule(EVENT)
    content["label"]["column"] = "months"
    with pytest.raises(ConfigError, match=r"'months', a column of small\.csv"):
        encoded(tmp_path, content, EVENTS)


@pytest.mark.parametrize("name", ["cause", "months"])
def test_what_makes_the_label_is_no_feature(tmp_path, name):
    content = _with_rule(EVENT)
    content["columns"][3] = {"name": "scan", "from": name, "type": "numeric", "unit": "1"}
    with pytest.raises(ConfigError, match="must not reveal the answer"):
        load(tmp_path, content)


def test_rows_below_and_above_a_value_of_any_raw_column(tmp_path):
    content = _with_rule(EVENT)
    content["drop_rows"] = [
        {"rule": "below", "column": "months", "value": 60, "reason": "short"},
        {"rule": "above", "column": "age", "value": 71, "reason": "old"},
    ]
    csv = EVENTS
    for line, other in (("1,0,,80", "1,0,heart,60"), (",,59.5", ",,"), ("39,yes", "74,yes")):
        csv = csv.replace(line, other)
    table = encoded(tmp_path, content, csv)
    assert [d["rows"] for d in table.report["rows_dropped"]] == [2, 2]  # a gap is below, too
    assert table.table.row_id.tolist() == [1, 2]


def test_rows_without_a_label_are_kept_for_decide_alone(tmp_path):
    content = _with_rule(EVENT, dropped=False)
    content["label"]["unlabelled"] = "weigh"
    table = encoded(tmp_path, content, EVENTS)
    assert table.table.label.tolist() == [1, 0, 0, 0, -1, 1]
    assert table.table.labelled.tolist() == [True] * 4 + [False, True]
    assert table.report["rows_without_label"] == 1
    assert sum(table.report["class_share"].values()) == 1
    part = np.repeat(["train", "test"], 3)
    frames = table_to_frames(table.table, part)
    assert StoredTable(*frames, unlabelled=True).at(np.arange(6)).label[4] == -1
    for read in (StoredTable, table_from_frames):
        with pytest.raises(DataError, match=r"1 of 6 rows have no label, .* 'drop_rows'"):
            read(*frames)
    content["label"]["unlabelled"] = "refuse"
    with pytest.raises(DataError, match="'bad' holds no value"):
        encoded(tmp_path, content, EVENTS)
