"""AUC, gaps between groups, intervals, against contingency tables and brute force."""

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.fairness import (
    auc_interval,
    bootstrap_disparity,
    coin_at,
    contingency,
    demographic_disparity,
    equal_opportunity_gap,
    equalised_odds_gap,
    fold_interval,
    least_disparity,
)
from hypothesis import given
from hypothesis import strategies as st

# b = 0: 60 rows with y = 0 (15 decided 1), 40 with y = 1 (30); b = 1: 50 (5) and 50 (20)
COUNTS = np.array([[[45, 15], [10, 30]], [[45, 5], [30, 20]]])


def rows_of(counts):
    """Label, group and decision of each row of a table of counts."""
    cells = np.repeat(np.arange(8), counts.ravel())
    return cells // 2 % 2, cells // 4, cells % 2 == 1


def test_gaps_from_a_contingency_table():
    assert demographic_disparity(COUNTS) == pytest.approx(45 / 100 - 25 / 100)
    assert equal_opportunity_gap(COUNTS) == pytest.approx(30 / 40 - 20 / 50)
    assert equalised_odds_gap(COUNTS) == pytest.approx(max(30 / 40 - 20 / 50, 15 / 60 - 5 / 50))


def test_counts_of_rows_are_the_table():
    label, sensitive, decision = rows_of(COUNTS)
    order = np.random.default_rng(0).permutation(len(label))
    assert np.array_equal(contingency(label[order], sensitive[order], decision[order]), COUNTS)


def test_a_third_group_is_refused():
    with pytest.raises(DataError, match="two values"):
        contingency(np.array([0, 1]), np.array([0, 2]), np.array([True, False]))


def test_a_group_without_rows_has_no_gap():
    counts = COUNTS.copy()
    counts[1] = 0
    assert np.isnan(demographic_disparity(counts))
    assert np.isnan(
        bootstrap_disparity(counts, resamples=10, level=0.95, rng=np.random.default_rng(0)).low
    )


def test_a_single_row_has_no_interval():
    """Neither a class of one row, nor a group of one; the values themselves stand."""
    outcome, score = np.array([1, *[0] * 50]), np.linspace(1, 0, 51)
    alone = auc_interval(outcome, score, level=0.95)
    assert alone.value == 1.0
    counts = COUNTS.copy()
    counts[1] = [[0, 0], [0, 1]]
    gap = bootstrap_disparity(counts, resamples=10, level=0.95, rng=np.random.default_rng(0))
    assert gap.value == pytest.approx(demographic_disparity(counts))
    assert np.isnan([alone.low, alone.high, gap.low, gap.high]).all()


def test_swapping_groups_changes_no_gap():
    for gap in (demographic_disparity, equal_opportunity_gap, equalised_odds_gap):
        assert gap(COUNTS[::-1]) == pytest.approx(gap(COUNTS))


def test_bootstrap_interval_has_the_normal_width_and_covers_zero_when_fair():
    found = bootstrap_disparity(COUNTS, resamples=20_000, level=0.95, rng=np.random.default_rng(1))
    se = np.sqrt(0.45 * 0.55 / 100 + 0.25 * 0.75 / 100)
    assert found.value == pytest.approx(0.2)
    assert found.high - found.low == pytest.approx(2 * 1.96 * se, rel=0.05)  # quantiles of 20,000
    fair = np.full((2, 2, 2), 25)
    assert (
        bootstrap_disparity(fair, resamples=500, level=0.95, rng=np.random.default_rng(1)).low == 0
    )


def brute_auc(outcome, score):
    """Share of pairs in order, ties one half."""
    gap = score[outcome == 1][:, None] - score[outcome == 0][None]
    return ((gap > 0) + 0.5 * (gap == 0)).mean()


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5)), min_size=2, max_size=40))
def test_auc_counts_pairs(pairs):
    outcome = np.array([y for y, _ in pairs])
    score = np.array([float(s) for _, s in pairs])
    found = auc_interval(outcome, score, level=0.95)
    if len(np.unique(outcome)) < 2:
        assert np.isnan(found.value)
    else:
        assert found.value == pytest.approx(brute_auc(outcome, score))
    if np.bincount(outcome, minlength=2).min() > 1:
        assert 0 <= found.low <= found.value + 1e-12
        assert found.value - 1e-12 <= found.high <= 1


def test_auc_interval_has_the_width_of_its_sampling_law():
    rng = np.random.default_rng(3)
    values = []
    for _ in range(400):
        outcome = rng.integers(0, 2, 150)
        values.append(auc_interval(outcome, rng.normal(outcome * 1.0), level=0.95))
    spread = np.std([v.value for v in values])
    half = np.mean([(v.high - v.low) / 2 for v in values])
    assert half == pytest.approx(1.96 * spread, rel=0.15)  # 4 standard errors of a spread of 400


def test_fold_interval_is_students():
    found = fold_interval(np.array([1.0, 2.0, 3.0]), level=0.95)
    assert found.value == 2
    assert found.high - 2 == pytest.approx(4.302653 / np.sqrt(3), rel=1e-6)
    assert np.isnan(fold_interval(np.array([0.5]), level=0.95).low)


def test_least_disparity_at_an_auc():
    auc, gap = np.array([0.6, 0.7, 0.8]), np.array([0.0, 0.1, 0.3])
    assert least_disparity(auc, gap, least_auc=0.7) == 1
    assert least_disparity(auc, gap, least_auc=0.9) is None
    assert least_disparity(auc, np.array([0.0, np.nan, 0.3]), least_auc=0.7) == 2
    assert least_disparity(auc, np.array([0.2, 0.1, 0.1]), least_auc=0.5) == 2


def test_a_coin_between_two_solutions_has_the_auc_wanted():
    """By hand: 0.705 lies halfway from 0.7 to 0.71; 0.72 a fifth of the way from 0.7 to 0.8."""
    auc, gap = np.array([0.8, 0.7, 0.71, 0.6]), np.array([0.3, 0.1, 0.2, 0.0])
    assert coin_at(auc, gap, auc_wanted=0.705) == (1, 2, pytest.approx(0.5))
    gap[2] = 0.4  # more than the 0.3 at 0.8: no coin uses it
    assert coin_at(auc, gap, auc_wanted=0.72) == (1, 0, pytest.approx(0.2))
    assert coin_at(auc, gap, auc_wanted=0.7) == (3, 1, 1.0)
    assert coin_at(auc, gap, auc_wanted=0.81) is None
    assert coin_at(auc, gap, auc_wanted=0.6) is None
    gap[1] = np.nan
    assert coin_at(auc, gap, auc_wanted=0.7) == (3, 0, pytest.approx(0.5))


def test_a_coins_disparity_is_at_most_its_sides_weighted_mean():
    rng = np.random.default_rng(5)
    sensitive, one, other = rng.integers(0, 2, (3, 4000))
    label = rng.integers(0, 2, 4000)
    one, other = one | sensitive, other & (1 - sensitive)
    share = 0.3
    tossed = np.stack(
        [
            demographic_disparity(
                contingency(label, sensitive, np.where(rng.random(4000) < share, one, other) == 1)
            )
            for _ in range(200)
        ]
    )
    sides = [demographic_disparity(contingency(label, sensitive, d == 1)) for d in (one, other)]
    signed = share * sides[0] - (1 - share) * sides[1]  # one favours group 1, the other group 0
    error = 4 * tossed.std(ddof=1) / 200**0.5
    assert tossed.mean() == pytest.approx(abs(signed), abs=error)
    assert tossed.mean() + error < share * sides[0] + (1 - share) * sides[1]
