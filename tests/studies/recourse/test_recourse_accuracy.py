"""The tables of the recourse study are what counting by hand gives."""

import numpy as np
import pandas as pd
import pytest
from frugal.core.errors import DataError
from frugal.judge.intervals import share_interval
from frugal.studies.recourse.accuracy import (
    accuracy_rows,
    confidence_rows,
    frequency_rows,
    group_rows,
    judge_answers,
    training_frequency,
    unseen_explanations,
)
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits

INSTANCE = CoverInstance(
    cost=np.array([1.0, 2.0, 4.0]),
    provides=np.array([[1, 0], [0, 1], [1, 1]], dtype=bool),
    thresholds=np.array([1, 1]),
    access=np.array([[True, True, True], [True, True, False]]),
)
TEST = LabelledUnits(
    features=np.array([[0, 0], [0, 1], [1, 0], [0, 0]], dtype=bool),
    action_set=np.array([[0, 1], [0, -1], [1, -1], [0, 1]]),
    cost=np.array([3.0, 1.0, 2.0, 3.0]),
    optima=np.ones(4, dtype=np.int64),
    group=np.array([0, 0, 1, 1]),
    instance=INSTANCE,
)
ANSWERS = np.array([[2, -1], [0, -1], [0, -1], [2, -1]])  # dearer, right, idle, not open
TRAIN = np.array([[0, -1], [0, -1], [0, 1], [2, -1]])


@pytest.fixture(scope="module")
def outcomes():
    confidence = np.array([0.5, 1.0, 0.2, 0.9])
    return judge_answers(TEST, ANSWERS, confidence, TRAIN, max_nodes=1000)


def test_each_answer_is_judged_and_repaired(outcomes):
    np.testing.assert_array_equal(outcomes.correct, [False, True, False, False])
    np.testing.assert_array_equal(outcomes.feasible, [True, True, False, False])
    np.testing.assert_array_equal(outcomes.repaired_set, [[2, -1], [0, -1], [1, -1], [0, 1]])
    np.testing.assert_array_equal(outcomes.repaired_cost, [4, 1, 2, 3])
    np.testing.assert_array_equal(outcomes.repaired_correct, [False, True, True, True])
    assert outcomes.repaired_feasible.all()
    assert not outcomes.empty.any()
    silent = judge_answers(TEST, np.full((4, 1), -1), np.zeros(4), TRAIN, max_nodes=1000)
    assert silent.empty.all()
    assert silent.repaired_correct.all()  # the repair of nothing is the solver's own answer
    assert accuracy_rows(silent.frame())["empty_share"].tolist() == [1, 1, 1]
    np.testing.assert_array_equal(outcomes.train_frequency, [1, 2, 0, 1])


def test_summary_by_number_of_actions(outcomes):
    rows = accuracy_rows(outcomes.frame()).set_index("actions")
    assert list(rows.index) == ["all", "1", "2"]
    whole = rows.loc["all"].to_dict()
    assert (whole["n"], whole["mistakes"], whole["unseen"]) == (4, 3, 1)
    assert whole["accuracy"] == 0.25
    assert whole["accuracy_se"] == pytest.approx(np.sqrt(0.25 * 0.75 / 4))
    assert whole["half_width"] == pytest.approx(1.959964 * whole["accuracy_se"], rel=1e-6)
    assert whole["feasible_share_of_mistakes"] == pytest.approx(1 / 3)
    assert whole["cost_gap"] == pytest.approx(1 / 3)  # 4 against 3
    assert whole["infeasible_cost_gap"] == pytest.approx(((1 - 2) / 2 + (4 - 3) / 3) / 2)
    assert whole["repair_cost_gap"] == 0
    assert whole["repaired_accuracy"] == 0.75
    assert rows.loc["1", "n"] == 2
    assert np.isnan(accuracy_rows(outcomes.frame().iloc[[1]])["cost_gap"].iloc[0])


def test_every_accuracy_has_the_interval_of_a_share(outcomes):
    rows = accuracy_rows(outcomes.frame()).set_index("actions")
    assert tuple(rows.loc["all", ["accuracy_low", "accuracy_high"]]) == share_interval(
        1, 4, level=0.95
    )
    parts = (
        rows,
        group_rows(outcomes.frame()),
        confidence_rows(outcomes.frame(), bins=2),
        frequency_rows(outcomes.frame(), edges=(0, 1)),
    )
    for part in parts:
        low, high = (part[name].to_numpy(dtype=float) for name in ("accuracy_low", "accuracy_high"))
        assert ((low >= 0) & (low < high) & (high <= 1)).all()


def test_groups_and_mistakes(outcomes):
    rows = outcomes.frame()
    assert list(group_rows(rows)["accuracy"]) == [0.5, 0.0]
    mistakes = rows[~rows["correct"]]
    assert list(mistakes["answer_cost"]) == [4, 1, 4]
    assert list(mistakes["feasible"]) == [True, False, False]


def test_bins_of_confidence(outcomes):
    rows = confidence_rows(outcomes.frame(), bins=2).set_index("bin")
    assert list(rows["n"]) == [1, 3]
    assert list(rows["wrong"]) == [1, 2]
    assert rows.loc[1, "mean_confidence"] == pytest.approx(0.8)
    with pytest.raises(DataError, match="outside"):
        confidence_rows(outcomes.frame().assign(confidence=1.5), bins=2)


def test_classes_of_frequency(outcomes):
    rows = frequency_rows(outcomes.frame(), edges=(0, 1, 2, 5))
    assert list(rows["at_least"]) == [0, 1, 2]
    assert list(rows["at_most"]) == [0, 1, 4]
    assert list(rows["n"]) == [1, 2, 1]
    with pytest.raises(DataError, match="begin at 0"):
        frequency_rows(outcomes.frame(), edges=(1, 2))


def test_frequency_counts_equal_sets_of_other_width():
    found = training_frequency(np.array([[1], [2]]), np.array([[1, -1], [1, 2], [1, -1]]))
    np.testing.assert_array_equal(found, [2, 0])


def test_unseen_explanations_are_counted_once():
    tested = np.array([[1, 2], [1, 2], [0, -1], [3, -1], [2, -1]])
    found = unseen_explanations(tested, np.array([[0], [2], [0]]))
    expected = {"test_units": 5, "unseen_units": 3}
    assert found == expected | {"test_explanations": 4, "unseen_explanations": 2}


def test_outcomes_as_a_table_have_one_row_per_unit(outcomes):
    frame = outcomes.frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == 4
    assert "repaired_set" not in frame
