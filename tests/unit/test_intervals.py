import numpy as np
import pytest
from frugal.core.errors import NoSupportError
from frugal.judge.estimator import Terms
from frugal.judge.estimators.inverse_probability import stabilised_ipw
from frugal.judge.estimators.unweighted import ground_truth
from frugal.judge.intervals import (
    effective_sample_size,
    estimate,
    influence,
    largest_weight_share,
    normal_interval,
    standard_error,
    usable_rows,
)
from hypothesis import given, settings

from tests.unit.estimator_cases import rows_strategy


def test_standard_error_of_a_plain_mean_is_the_usual_one():
    outcome = np.random.default_rng(0).normal(size=(50, 3))
    expected = outcome.std(axis=0, ddof=1) / np.sqrt(50)
    np.testing.assert_allclose(standard_error(ground_truth(outcome)), expected, rtol=1e-12)


@given(rows=rows_strategy)
@settings(max_examples=30)
def test_influence_sums_to_zero_and_is_the_derivative_of_the_estimate(rows):
    terms = stabilised_ipw(rows.outcome, rows.complete, rows.propensity)
    psi = influence(terms)
    n = len(psi)
    np.testing.assert_allclose(psi.mean(axis=0), 0, atol=1e-9)
    # weigh row 0 by 1 + t: d estimate / dt at 0 is ψ₀ / n; central difference, error O(step²)
    step = 1e-5
    change = []
    for t in (step, -step):
        bump = np.ones(n)
        bump[0] += t
        heavier = Terms(
            terms.numerator * bump[:, None], terms.denominator * bump, terms.weight * bump
        )
        change.append(estimate(heavier))
    np.testing.assert_allclose((change[0] - change[1]) / (2 * step), psi[0] / n, atol=1e-6)


def test_one_usable_row_has_no_finite_error():
    rows = np.array([True, False, False])
    terms = stabilised_ipw(np.ones((3, 1)), rows, np.full(3, 0.5))
    assert estimate(terms)[0] == 1.0
    assert standard_error(terms)[0] == np.inf


def test_no_weight_is_refused_even_where_the_denominator_is_one():
    nothing = Terms(np.zeros((4, 1)), np.ones(4), np.zeros(4))
    for quantity in (estimate, influence, standard_error):
        with pytest.raises(NoSupportError, match="none of 4 rows carries weight"):
            quantity(nothing)


def test_normal_interval_by_hand():
    low, high = normal_interval(np.array([10.0]), np.array([2.0]), level=0.95)
    assert low[0] == pytest.approx(10 - 2 * 1.959963984540054)
    assert high[0] == pytest.approx(10 + 2 * 1.959963984540054)


def test_effective_sample_size():
    assert effective_sample_size(np.array([2.0, 2.0, 0.0, 2.0])) == pytest.approx(3.0)
    assert effective_sample_size(np.array([1.0, 3.0])) == pytest.approx(16 / 10)
    assert effective_sample_size(np.array([1e200, 1e200])) == pytest.approx(2.0)
    assert effective_sample_size(np.zeros(3)) == 0.0


def test_largest_share_and_usable_rows():
    weight = np.array([0.0, 1.0, 3.0])
    assert largest_weight_share(weight) == pytest.approx(0.75)
    assert usable_rows(weight) == 2
    assert largest_weight_share(np.zeros(3)) == 0.0
