"""Intervals of shares, of what is made of shares, and of an AUC: never a point, never outside."""

import numpy as np
import pytest
from frugal.judge.fairness import auc_interval, bootstrap_disparity, fold_interval
from frugal.judge.intervals import (
    FEW,
    combined_interval,
    cut_interval,
    perfect_area_interval,
    share_interval,
)
from frugal.studies.dadi.fair_scores import over_folds
from hypothesis import given
from hypothesis import strategies as st
from pandas import DataFrame
from scipy.stats import binom, binomtest

LEVEL = 0.95


def coverage(n: int, shares: np.ndarray) -> np.ndarray:
    """How often the interval of n units holds each share: the sum over all counts, exact."""
    hits = np.arange(n + 1)
    low, high = np.array([share_interval(int(k), n, level=LEVEL) for k in hits]).T
    held = (low[None] <= shares[:, None]) & (shares[:, None] <= high[None])
    return (binom.pmf(hits[None], n, shares[:, None]) * held).sum(axis=1)


@pytest.mark.parametrize("n", [5, 20, 57, 89, 400])
def test_an_interval_of_a_share_covers_it_also_near_1(n):
    """Enumerated, no draws: Wilson's alone falls to 84 % there, ± 1.96 standard errors to 0."""
    shares = np.r_[np.linspace(0.5, 0.999, 400), 1 - np.logspace(-5, -2, 150)]
    assert coverage(n, shares).min() >= 0.93
    assert coverage(n, 1 - shares).min() >= 0.93


@pytest.mark.parametrize(("hits", "n"), [(0, 12), (12, 12), (3, 12), (56, 57), (700, 1000)])
def test_an_interval_of_a_share_is_scipys(hits, n):
    few = min(hits, n - hits) <= FEW
    oracle = binomtest(hits, n).proportion_ci(method="exact" if few else "wilson")
    found = share_interval(hits, n, level=LEVEL)
    np.testing.assert_allclose(found, (oracle.low, oracle.high), atol=1e-9)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_an_interval_of_a_share_is_no_point_holds_it_and_stays_inside(counted):
    hits, n = counted
    low, high = share_interval(hits, n, level=LEVEL)
    assert 0 <= low <= hits / n <= high <= 1
    assert low < high
    if hits < n:  # more hits, no lower interval, also where the rule changes
        after = share_interval(hits + 1, n, level=LEVEL)
        assert low <= after[0] + 0.01
        assert high <= after[1] + 0.01


def test_no_unit_says_nothing_of_a_share():
    assert np.isnan(share_interval(0, 0, level=LEVEL)).all()


def test_a_difference_of_two_shares_is_newcombes():
    """56 of 70 against 48 of 80: the first example of Newcombe's paper, method 10."""
    parts = [(k / n, *share_interval(k, n, level=LEVEL)) for k, n in ((56, 70), (48, 80))]
    found = combined_interval(parts, weights=(1.0, -1.0))
    np.testing.assert_allclose(found, (0.0524, 0.3339), atol=5e-5)


def test_one_perfect_class_is_no_certain_disparity():
    """All rows of both groups decided alike: a disparity of 0, but of few rows."""
    counts = np.zeros((2, 2, 2), dtype=int)
    counts[:, :, 1] = [[20, 20], [10, 10]]
    found = bootstrap_disparity(counts, resamples=50, level=LEVEL, rng=np.random.default_rng(0))
    assert (found.value, found.low) == (0, 0)
    assert 0.05 < found.high < 0.2
    counts[0, :, :] = [[40, 0], [0, 0]]  # one group all 0, the other all 1
    found = bootstrap_disparity(counts, resamples=50, level=LEVEL, rng=np.random.default_rng(0))
    assert found.value == found.high == 1
    assert 0.7 < found.low < 0.95


def test_a_perfect_auc_of_few_rows_is_not_certain():
    outcome = np.repeat([0, 1], [40, 12])
    found = auc_interval(outcome, outcome.astype(float), level=LEVEL)
    assert (found.value, found.high) == (1, 1)
    assert found.low == pytest.approx(0.025 ** (1 / 12))
    against = auc_interval(outcome, 1.0 - outcome, level=LEVEL)
    assert (against.value, against.low) == (0, 0)
    assert against.high == pytest.approx(1 - found.low)
    assert perfect_area_interval(12, 40, level=LEVEL) == found.low


def test_a_mean_over_folds_stays_where_shares_are():
    folds = np.array([0.99, 0.7])
    free = fold_interval(folds, level=LEVEL)
    assert free.low < 0
    assert free.high > 1
    kept = fold_interval(folds, level=LEVEL, least=0.0, most=1.0)
    assert (kept.value, kept.low, kept.high) == (free.value, 0, 1)
    rows = DataFrame(
        {
            "key": "a",
            "auc": folds,
            "frequency": [0.0, 0.1],
            "cost": [1.0, 50.0],
            "coin_cut": [-0.5, 0.5],
        }
    )
    measures = ["auc", "frequency", "cost", "coin_cut"]
    row = over_folds(rows, ["key"], measures, level=LEVEL).iloc[0]
    assert (row["auc_low"], row["auc_high"]) == (0, 1)
    assert (row["frequency_low"], row["frequency_high"]) == (0, pytest.approx(0.685, abs=1e-3))
    assert row["cost_low"] == 0
    assert row["cost_high"] > 50
    assert (row["coin_cut_low"], row["coin_cut_high"]) == (-1, 1)


@given(*[st.floats(-5, 5) for _ in range(2)], st.floats(0, 5), st.floats(0, 1))
def test_a_cut_interval_holds_what_could_be_true_before(centre, shift, half, truth):
    low, high = centre - half, centre + half + abs(shift)
    after = cut_interval(centre, low, high, least=0.0, most=1.0)
    assert 0 <= after[0] <= after[1] <= 1
    if low <= truth <= high:
        assert after[0] - 1e-12 <= truth <= after[1] + 1e-12
    if low >= 0 and high <= 1:
        assert after == (low, high)


def test_a_cut_interval_without_ends_is_the_whole_range_and_nan_stays():
    assert cut_interval(0.3, -np.inf, np.inf, least=0.0, most=7.0) == (0, 7)
    assert np.isnan(cut_interval(np.nan, np.nan, np.nan, least=0.0, most=1.0)).all()
