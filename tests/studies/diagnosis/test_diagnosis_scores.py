"""Scores of diagnoses equal raw counts; their errors equal what resampling shows."""

import numpy as np
import pytest
from frugal.core.errors import ConfigError, DataError
from frugal.studies.diagnosis.scores import SCORES, auroc, diagnosis_scores, score_intervals
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.diagnosis_counts import counted_scores


def random_verdicts(label: np.ndarray, rng: np.random.Generator, learners: int = 3):
    """Diagnosis, probability (with ties) and cost of a few methods that know something."""
    score = 0.3 * label + 0.7 * rng.random((learners, len(label)))
    probability = np.round(np.clip(score, 0, 1), 1)
    return (probability > 0.5).astype(int), probability, rng.integers(0, 90, score.shape) * 1.0


@given(st.integers(0, 2**32 - 1), st.integers(4, 60))
@settings(max_examples=60)
def test_every_score_equals_the_count_of_units(seed, n):
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, n)
    label[:2] = [0, 1]
    diagnosis, probability, cost = random_verdicts(label, rng)
    diagnosis[:, :2] = [0, 1]  # no score is undefined
    frame = diagnosis_scores(label, diagnosis, probability, cost)
    for k in range(len(diagnosis)):
        row = frame.iloc[k]
        truth = counted_scores(label.tolist(), diagnosis[k].tolist(), probability[k].tolist())
        for name, value in truth.items():
            assert row[name] == pytest.approx(value, abs=1e-12), name
        assert row["cost"] == pytest.approx(cost[k].mean())
        tp, tn = row["true_positive"] / n, row["true_negative"] / n
        assert row["f1"] == pytest.approx(2 * tp / (1 + tp - tn))  # the paper's form


def test_errors_agree_with_those_of_resampling():
    rng = np.random.default_rng(0)
    label = (rng.random(1500) < 0.15).astype(int)
    diagnosis, probability, cost = random_verdicts(label, rng, learners=1)
    frame = diagnosis_scores(label, diagnosis, probability, cost).iloc[0]
    intervals = score_intervals(
        label,
        diagnosis[0],
        probability[0],
        cost[0],
        resamples=2000,
        level=0.95,
        rng=np.random.default_rng(1),
    ).set_index("score")
    assert tuple(intervals.index) == SCORES
    for name in SCORES:
        low, high = intervals.loc[name].to_numpy(dtype=float)
        assert low < frame[name] < high
        # The width of an interval from 2,000 draws varies by 4 %: ± 12 % is 3 standard errors.
        assert (high - low) / (2 * 1.96 * frame[f"{name}_se"]) == pytest.approx(1, abs=0.12), name


def test_no_error_among_few_units_is_no_certainty():
    """57 test units, all diagnosed rightly: every score is 1, and none is certain."""
    label = np.repeat([1, 0], [12, 45])
    found = score_intervals(
        label,
        label,
        label * 1.0,
        np.full(57, 7.0),
        resamples=50,
        level=0.95,
        rng=np.random.default_rng(0),
    ).set_index("score")
    assert (found["high"].drop("cost") == 1).all()
    exact = {"sensitivity": 0.025 ** (1 / 12), "specificity": 0.025 ** (1 / 45)}
    exact |= {"precision": exact["sensitivity"], "auroc": exact["sensitivity"]}
    exact["f1"] = 2 * exact["sensitivity"] / (1 + exact["sensitivity"])
    apart = [(1 - exact[name]) / 2 for name in ("sensitivity", "specificity")]
    exact["am"] = 1 - np.hypot(*apart)
    for name, low in exact.items():
        assert found.loc[name, "low"] == pytest.approx(low), name
    assert tuple(found.loc["cost"]) == (7, 7)


def test_what_is_not_defined_has_no_interval():
    none = np.zeros(5, dtype=int)
    found = score_intervals(
        none, none, none * 1.0, none * 1.0, resamples=20, level=0.95, rng=np.random.default_rng(0)
    ).set_index("score")
    assert found.loc[["f1", "am", "sensitivity", "precision", "auroc"]].isna().all(axis=None)
    assert found.loc["specificity", "high"] == 1


def test_what_is_not_defined_is_not_a_number():
    label, none = np.array([1, 0, 0]), np.zeros((1, 3), dtype=int)
    row = diagnosis_scores(label, none, np.full((1, 3), 0.2), np.zeros((1, 3))).iloc[0]
    assert row["f1"] == 0
    assert row["auroc"] == 0.5
    assert np.isnan(row["precision"])
    healthy = diagnosis_scores(np.zeros(3, int), none, np.full((1, 3), 0.2), np.zeros((1, 3)))
    assert healthy[["f1", "am", "sensitivity", "auroc"]].isna().all(axis=None)
    assert np.isnan(auroc(np.ones(2, int), np.full((1, 2), 0.5)))[0]


def test_order_of_units_does_not_matter():
    rng = np.random.default_rng(2)
    label = np.r_[1, 0, rng.integers(0, 2, 40)]
    diagnosis, probability, cost = random_verdicts(label, rng)
    order = rng.permutation(len(label))
    one = diagnosis_scores(label, diagnosis, probability, cost)
    other = diagnosis_scores(
        label[order], diagnosis[:, order], probability[:, order], cost[:, order]
    )
    np.testing.assert_allclose(one.to_numpy(float), other.to_numpy(float), rtol=1e-12)


def test_refusals():
    one = np.ones((1, 2))
    with pytest.raises(DataError, match="at least one unit"):
        diagnosis_scores(np.array([], int), np.ones((1, 0), int), np.ones((1, 0)), np.ones((1, 0)))
    with pytest.raises(DataError, match="a label is 2"):
        diagnosis_scores(np.array([2, 0]), one.astype(int), one, one)
    with pytest.raises(DataError, match="outside 0…1"):
        diagnosis_scores(np.array([1, 0]), one.astype(int), 2 * one, one)
    with pytest.raises(ConfigError, match="at least 2"):
        score_intervals(
            np.array([1, 0]),
            np.array([1, 0]),
            one[0],
            one[0],
            resamples=1,
            level=0.95,
            rng=np.random.default_rng(0),
        )
