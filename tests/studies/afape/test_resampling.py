import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.estimator import Terms
from frugal.judge.intervals import estimate
from frugal.studies.afape.resampling import (
    full_sample_interval,
    prefix_estimates,
    sample_subsets,
    stack_terms,
)

from tests.oracles.subsamples import all_subset_ratios, linearised_sd
from tests.unit.in_blocks import cut, resample, rows_of


def heavy_terms(n: int, e: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights with a heavy tail, as inverse propensities have, and outcomes far from zero."""
    rng = np.random.default_rng(seed)
    weight = np.exp(rng.normal(0, 1.5, (n, e))) * (rng.random((n, e)) < 0.3)
    return weight * (1000 + rng.random((n, e))), weight


@pytest.mark.parametrize("share", [0.7, 0.3])
def test_matrix_product_equals_float64_sums_over_the_same_rows(share):
    numerators, denominators = heavy_terms(20_000, 4, 0)
    values = resample(
        numerators, denominators, resamples=40, share=share, rng=np.random.default_rng(1)
    )
    rng = np.random.default_rng(1)
    size = round(share * 20_000)
    chosen = sample_subsets(20_000, np.full(40, size), rng)
    for b, rows in enumerate(chosen):
        exact = numerators[rows].sum(axis=0) / denominators[rows].sum(axis=0)
        # promised: 1e-6 of the value; the spread itself (about 1e-5 of it here) must also be right
        np.testing.assert_allclose(values[b], exact, rtol=1e-9)


def test_float32_is_good_enough_where_a_handful_of_rows_carry_all_weight():
    rng = np.random.default_rng(0)
    denominators = np.exp(rng.normal(0, 5, (20_000, 4)))
    numerators = denominators * (0.1 + 5 * rng.random((20_000, 4)))
    ess = denominators.sum(axis=0) ** 2 / (denominators**2).sum(axis=0)
    assert ess.max() < 30
    values = resample(
        numerators, denominators, resamples=25, share=0.7, rng=np.random.default_rng(1)
    )
    chosen = sample_subsets(20_000, np.full(25, 14_000), np.random.default_rng(1))
    exact = np.array([numerators[c].sum(axis=0) / denominators[c].sum(axis=0) for c in chosen])
    np.testing.assert_allclose(values, exact, rtol=1e-7)


def test_subsets_have_the_right_size_and_every_row_is_equally_likely():
    chosen = sample_subsets(10, np.full(4000, 7), np.random.default_rng(0))
    assert (chosen.sum(axis=1) == 7).all()
    # binomial standard error √(0.7·0.3/4000) = 0.0072; 4.5 of them over 10 rows: false alarm 7e-5
    np.testing.assert_allclose(chosen.mean(axis=0), 0.7, atol=4.5 * 0.0072)


@pytest.mark.parametrize("blocks", [1, 2])
def test_law_of_the_resamples_is_that_of_all_subsets(blocks):
    rng = np.random.default_rng(3)
    denominators = rng.exponential(size=(9, 1))
    numerators = denominators * rng.random((9, 1))
    every = np.sort(all_subset_ratios(numerators[:, 0].tolist(), denominators[:, 0].tolist(), 6))
    values = resample(
        numerators,
        denominators,
        resamples=8000,
        share=2 / 3,
        rng=np.random.default_rng(0),
        blocks=blocks,
    )[:, 0]
    nearest = np.abs(values[:, None] - every).argmin(axis=1)
    np.testing.assert_allclose(values, every[nearest], rtol=1e-6)
    counts = np.bincount(nearest, minlength=len(every))
    expected = 8000 / len(every)  # 84 subsets, all distinct
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < 83 + 5 * np.sqrt(2 * 83)  # χ² with 83 degrees: false alarm below 1e-5


@pytest.mark.parametrize("blocks", [1, 3])
def test_spread_matches_the_closed_form(blocks):
    n, resamples = 5000, 2000
    rng = np.random.default_rng(5)
    denominators = rng.exponential(size=(n, 3))
    numerators = denominators * rng.random((n, 3))
    values = resample(
        numerators, denominators, resamples=resamples, share=0.7, rng=rng, blocks=blocks
    )
    for j in range(3):
        closed = linearised_sd(numerators[:, j].tolist(), denominators[:, j].tolist(), 3500)
        # a standard deviation of 2,000 normal draws has relative error 1/√4000 = 1.6 %;
        # 4 of them over 3 columns: false alarm 2e-4
        assert values[:, j].std(ddof=1) == pytest.approx(closed, rel=4 * 0.0158)


def test_a_subsample_without_weight_is_nan_and_nothing_else_is():
    denominators = np.zeros((5000, 2))
    denominators[17, 0] = 3.0
    denominators[:, 1] = 1.0
    numerators = 2.0 * denominators
    values = resample(
        numerators, denominators, resamples=200, share=0.7, rng=np.random.default_rng(0)
    )
    rng = np.random.default_rng(0)
    inside = sample_subsets(5000, np.full(200, 3500), rng)[:, 17]
    np.testing.assert_array_equal(np.isnan(values[:, 0]), ~inside)
    np.testing.assert_allclose(values[inside, 0], 2.0, rtol=1e-12)
    np.testing.assert_allclose(values[:, 1], 2.0, rtol=1e-12)


def test_same_stream_same_bytes():
    numerators, denominators = heavy_terms(1000, 3, 0)
    one, two = (
        resample(numerators, denominators, resamples=60, share=0.7, rng=np.random.default_rng(9))
        for _ in range(2)
    )
    assert one.tobytes() == two.tobytes()


def test_full_sample_interval_stretches_the_subsample_spread():
    values = np.random.default_rng(0).normal(10, 1, (4000, 1))
    low, high = full_sample_interval(np.array([10.0]), values, share=0.7, level=0.95)
    factor = np.sqrt(0.7 / 0.3)
    raw = np.quantile(values[:, 0], [0.025, 0.975])
    np.testing.assert_allclose([low[0], high[0]], 10 + factor * (raw - 10), rtol=1e-12)
    assert factor == pytest.approx(1.5275, abs=1e-4)


def test_rescaled_spread_is_the_standard_error_of_the_mean():
    outcome = np.random.default_rng(2).normal(size=(4000, 1))
    values = resample(
        outcome, np.ones_like(outcome), resamples=2000, share=0.7, rng=np.random.default_rng(3)
    )
    low, high = full_sample_interval(outcome.mean(axis=0), values, share=0.7, level=0.95)
    expected = 2 * 1.96 * outcome.std(ddof=1) / np.sqrt(4000)
    # a 95 % range of 2,000 normal draws has a relative error of about 2.2 %; 4 of them
    assert (high - low)[0] == pytest.approx(expected, rel=0.09)


def test_stacked_terms_keep_their_order():
    one = Terms(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 1.0]), np.ones(2))
    two = Terms(np.array([[5.0], [6.0]]), np.array([0.5, 2.0]), np.ones(2))
    numerators, denominators = stack_terms([one, two])
    np.testing.assert_array_equal(numerators, [[1, 2, 5], [3, 4, 6]])
    np.testing.assert_array_equal(denominators, [[1, 1, 0.5], [1, 1, 2]])
    with pytest.raises(DataError, match="one n is allowed"):
        stack_terms([one, Terms(np.ones((3, 1)), np.ones(3), np.ones(3))])


def test_refusals():
    good = np.ones((10, 2))
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="one row must be in"):
        resample(good, good, resamples=5, share=1.0, rng=rng)
    with pytest.raises(DataError, match="never below zero"):
        resample(good, -good, resamples=5, share=0.7, rng=rng)
    with pytest.raises(DataError, match="not a finite number"):
        resample(good * np.nan, good, resamples=5, share=0.7, rng=rng)


def _weighted(n: int) -> Terms:
    rng = np.random.default_rng(0)
    weight = rng.exponential(size=n) * (rng.random(n) < 0.4)
    return Terms((weight * rng.random(n))[:, None], weight, weight)


def _prefixes(terms: Terms, cuts: list[int], *, blocks: int = 1) -> np.ndarray:
    slices = cut(len(terms.weight), blocks)
    return prefix_estimates(
        [[rows_of(terms, rows)] for rows in slices],
        [rows.stop - rows.start for rows in slices],
        cuts,
        lambda k: np.random.default_rng([3, k]),
    )[:, 0]


def test_each_prefix_is_the_estimate_on_the_first_rows_of_a_random_order():
    terms, cuts = _weighted(500), [1, 3, 50, 51, 499, 500]
    order = np.random.default_rng([3, 0]).permutation(500)
    shuffled = Terms(terms.numerator[order], terms.denominator[order], terms.weight[order])
    for value, n in zip(_prefixes(terms, cuts), cuts, strict=True):
        part = rows_of(shuffled, slice(0, n))
        expected = estimate(part)[0] if part.weight.any() else np.nan
        np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(_prefixes(terms, [500], blocks=3), estimate(terms), rtol=1e-12)


def test_growing_subsets_of_blocks_hold_as_many_rows_as_they_should():
    each, cuts = np.arange(100.0), [10, 60, 100]
    counted = Terms(np.ones((100, 1)), (each == 0) * 1.0, np.ones(100))
    with np.errstate(divide="ignore"):
        rows = _prefixes(counted, cuts, blocks=3)  # rows, over whether the first row is among them
    assert set(rows) <= {np.inf, *map(float, cuts)}
    assert rows[-1] == 100


@pytest.mark.parametrize("plain", [True, False])
def test_a_prefix_without_weight_is_nan_not_zero(plain):
    order = np.random.default_rng([3, 0]).permutation(4)
    weight = np.zeros(4)
    weight[order[2]] = 2.0
    terms = Terms(weight[:, None], np.ones(4) if plain else weight, weight)
    found = _prefixes(terms, [1, 2, 3, 4])
    assert np.isnan(found).tolist() == [True, True, False, False]
    assert found[2] == pytest.approx(2 / 3 if plain else 1)
