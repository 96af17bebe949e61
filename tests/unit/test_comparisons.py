"""Differences between policies on the same rows, and which of them may be the best."""

import numpy as np
import pytest
from frugal.core.rows import ScratchFile
from frugal.judge.comparisons import compare, covariance_of
from frugal.judge.estimator import Terms
from frugal.judge.intervals import estimate, influence, standard_error


def _mean(values: np.ndarray) -> Terms:
    return Terms(values[:, None], np.ones(len(values)), np.ones(len(values)))


def _compared(costs: np.ndarray, seed: int = 0):
    """Policies whose costs stand in columns, compared by their plain means."""
    terms = [_mean(column) for column in costs.T]
    psi = np.stack([influence(one)[:, 0] for one in terms])
    means = np.array([estimate(one)[0] for one in terms])
    return compare(means, covariance_of([psi[:, :30], psi[:, 30:]]), np.random.default_rng(seed))


def test_the_error_of_a_difference_of_means_is_that_of_paired_rows():
    rng = np.random.default_rng(1)
    shared = rng.normal(size=(200, 1)) * 5
    costs = shared + rng.normal(size=(200, 3))
    found = _compared(costs)
    for a in range(3):
        for b in range(3):
            gap = costs[:, a] - costs[:, b]
            assert found.difference[a, b] == pytest.approx(gap.mean(), abs=1e-12)
            expected = gap.std(ddof=1) / np.sqrt(200)
            assert found.std_error[a, b] == pytest.approx(expected, abs=1e-12)
    psi = np.stack([influence(_mean(c))[:, 0] for c in costs.T])
    alone = np.sqrt(np.diag(covariance_of([psi])))
    assert alone == pytest.approx([standard_error(_mean(c))[0] for c in costs.T])
    assert found.std_error[0, 1] < alone[0] / 3  # what the rows share is gone


def test_a_ratio_is_paired_by_its_influence():
    rng = np.random.default_rng(2)
    weight = rng.exponential(size=300) * (rng.random(300) < 0.5)
    costs = rng.normal(size=(300, 2)) + 3
    terms = [Terms(weight[:, None] * costs[:, [k]], weight, weight) for k in (0, 1)]
    psi = np.stack([influence(one)[:, 0] for one in terms])
    means = np.array([estimate(one)[0] for one in terms])
    found = compare(means, covariance_of([psi[:, :30], psi[:, 30:]]), np.random.default_rng(0))
    gap = Terms(weight[:, None] * (costs[:, [0]] - costs[:, [1]]), weight, weight)
    assert found.std_error[0, 1] == pytest.approx(standard_error(gap)[0], rel=1e-12)


def test_draws_of_completed_tables_widen_what_they_do_not_agree_on():
    psi = np.random.default_rng(3).normal(size=(2, 100))
    drawn = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    more = covariance_of([psi], drawn) - covariance_of([psi[:, :30], psi[:, 30:]])
    assert more == pytest.approx(np.full((2, 2), 4 / 3))  # the difference keeps its own error


def test_policies_that_do_the_same_differ_by_nothing():
    rng = np.random.default_rng(4)
    one, other = rng.normal(size=50), rng.normal(size=50) + 9
    found = _compared(np.stack([one, one, other], axis=1))
    assert found.std_error[0, 1] == found.half_width[0, 1] == found.difference[0, 1] == 0
    assert list(found.not_worse) == [True, True, False]


def test_where_nothing_varies_the_lower_cost_is_the_best():
    found = compare(np.array([1.0, 2.0]), np.zeros((2, 2)), np.random.default_rng(0))
    assert list(found.not_worse) == [True, False]
    assert (found.half_width == 0).all()


def test_the_best_is_kept_and_all_intervals_hold_at_once():
    """Four policies, two of them equal: 400 draws; at 95 % some 380 hold, ± 2.3 standard errors."""
    rng = np.random.default_rng(5)
    truth = np.array([1.0, 1.0, 1.15, 1.6])
    mixing = np.array([[1.0, 0.6, 0.6, 0.2], [0, 0.8, 0.1, 0], [0, 0, 0.8, 0], [0, 0, 0, 1.5]])
    kept = pairs = picked = 0
    for seed in range(400):
        costs = truth + rng.normal(size=(60, 4)) @ mixing
        found = _compared(costs, seed)
        means = costs.mean(axis=0)
        kept += found.not_worse[:2].all()  # either is the best
        wrong = found.difference - (truth[:, None] - truth)
        pairs += (np.abs(wrong) <= found.half_width + 1e-12).all()
        best = means.argmin()
        picked += abs(means[best] - truth[best]) <= found.simultaneous[best]
    assert kept / 400 >= 0.90  # both of two best at once; one of them is kept more often
    assert 0.92 <= pairs / 400 <= 0.985
    assert picked / 400 >= 0.92


def test_the_store_gives_back_what_it_was_given():
    with ScratchFile() as kept:
        kept.put((0, "a"), np.arange(3.0))
        kept.put((0, "b"), np.arange(3.0) + 7)
        assert (0, "a") in kept
        assert (1, "a") not in kept
        np.testing.assert_array_equal(kept.stack([(0, "b"), (0, "a")]), [[7, 8, 9], [0, 1, 2]])


def test_an_estimate_without_spread_but_for_rounding_widens_no_interval():
    rng = np.random.default_rng(8)
    psi = rng.normal(size=(3, 400))
    psi[2] = rng.normal(size=400) * 1e-16  # what is left of nothing
    found = compare(np.array([1.0, 1.1, 5.0]), covariance_of([psi[:, :30], psi[:, 30:]]), rng)
    two = compare(np.array([1.0, 1.1]), covariance_of([psi[:2]]), rng)
    assert found.simultaneous[:2] == pytest.approx(two.simultaneous, rel=0.02)
    assert found.half_width[0, 1] < 2 * two.half_width[0, 1]
