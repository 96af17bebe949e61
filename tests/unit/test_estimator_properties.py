"""What holds for all estimators whatever the data: reductions, invariance to scale and order."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from frugal.judge.estimator import Terms
from frugal.judge.estimators.afais import afais, afais_s, stabilised_afais, stabilised_afais_s
from frugal.judge.estimators.doubly_robust import doubly_robust, doubly_robust_afais
from frugal.judge.estimators.inverse_probability import ipw, stabilised_ipw
from frugal.judge.estimators.off_policy import off_policy, stabilised_off_policy
from frugal.judge.estimators.unweighted import blocking, complete_case, ground_truth, imputation
from frugal.judge.intervals import estimate, standard_error
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.estimator_cases import Rows, draw_rows, rows_strategy

ROUNDING = 1e-9  # relative to outcomes of order 1..100 with weights up to 20: float64 sums

Estimator = Callable[[Rows], Terms]

NORMALISED: dict[str, Estimator] = {
    "ground_truth": lambda r: ground_truth(r.outcome),
    "blocking": lambda r: blocking(r.outcome),
    "imputation": lambda r: imputation(r.outcome),
    "complete_case": lambda r: complete_case(r.outcome, r.complete),
    "stabilised_ipw": lambda r: stabilised_ipw(r.outcome, r.complete, r.propensity),
    "stabilised_afais_s": lambda r: stabilised_afais_s(
        r.outcome, r.s_observed, r.propensity, r.afa_propensity
    ),
    "stabilised_off_policy": lambda r: stabilised_off_policy(
        r.outcome, np.where(r.complete, r.afa_propensity, 0.0), r.propensity
    ),
}
PLAIN: dict[str, Estimator] = {
    "ipw": lambda r: ipw(r.outcome, r.complete, r.propensity),
    "afais_s": lambda r: afais_s(r.outcome, r.s_observed, r.propensity, r.afa_propensity),
    "off_policy": lambda r: off_policy(
        r.outcome, np.where(r.complete, r.afa_propensity, 0.0), r.propensity
    ),
    "doubly_robust": lambda r: doubly_robust(
        r.outcome, r.complete, r.propensity, r.outcome_mean, r.s_observed, r.s_propensity
    ),
    "doubly_robust_afais": lambda r: doubly_robust_afais(
        r.outcome, r.propensity, r.afa_propensity, r.outcome_mean, r.s_observed, r.s_propensity
    ),
}
ALL = NORMALISED | PLAIN


def close(actual: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(actual, expected, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("name", ALL)
@given(rows=rows_strategy, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_row_order_does_not_matter(name, rows, seed):
    shuffled = rows.take(np.random.default_rng(seed).permutation(len(rows.complete)))
    close(estimate(ALL[name](shuffled)), estimate(ALL[name](rows)))


@pytest.mark.parametrize("name", ALL)
@given(rows=rows_strategy, scale=st.floats(0.01, 100))
@settings(max_examples=15)
def test_the_unit_of_cost_scales_estimate_and_error(name, rows, scale):
    scaled = replace(rows, outcome=scale * rows.outcome, outcome_mean=scale * rows.outcome_mean)
    before, after = ALL[name](rows), ALL[name](scaled)
    np.testing.assert_allclose(estimate(after), scale * estimate(before), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        standard_error(after), scale * standard_error(before), rtol=1e-7, atol=1e-7
    )


@pytest.mark.parametrize("name", NORMALISED)
@given(rows=rows_strategy, shift=st.floats(-100, 100))
@settings(max_examples=15)
def test_a_fixed_fee_shifts_normalised_estimates_and_keeps_their_error(name, rows, shift):
    before = NORMALISED[name](rows)
    after = NORMALISED[name](replace(rows, outcome=rows.outcome + shift))
    close(estimate(after), estimate(before) + shift)
    np.testing.assert_allclose(standard_error(after), standard_error(before), rtol=1e-6, atol=1e-6)


@given(rows=rows_strategy, shift=st.floats(-100, 100))
@settings(max_examples=15)
def test_a_fixed_fee_shifts_the_augmented_estimate_when_s_is_empty(rows, shift):
    whole = np.ones(len(rows.complete), dtype=bool)
    known = replace(
        rows,
        s_observed=whole,
        s_propensity=whole.astype(float),
        outcome_mean=np.nan_to_num(rows.outcome_mean),
    )
    fee = replace(known, outcome=known.outcome + shift, outcome_mean=known.outcome_mean + shift)
    close(estimate(PLAIN["doubly_robust"](fee)), estimate(PLAIN["doubly_robust"](known)) + shift)


@pytest.mark.parametrize("name", NORMALISED)
@given(rows=rows_strategy)
@settings(max_examples=15)
def test_normalised_estimates_stay_between_the_outcomes(name, rows):
    value = estimate(NORMALISED[name](rows))
    assert (value >= rows.outcome.min(axis=0) - ROUNDING).all()
    assert (value <= rows.outcome.max(axis=0) + ROUNDING).all()


@given(rows=rows_strategy)
@settings(max_examples=30)
def test_afais_with_all_panels_in_s_is_ipw_exactly(rows):
    ones = np.where(rows.complete, 1.0, np.nan)  # p(R = 1 | ..., R = 1)
    for general, reduced in ((afais_s, ipw), (stabilised_afais_s, stabilised_ipw)):
        left = general(rows.outcome, rows.complete, rows.propensity, ones)
        right = reduced(rows.outcome, rows.complete, rows.propensity)
        np.testing.assert_array_equal(left.numerator, right.numerator)
        np.testing.assert_array_equal(left.denominator, right.denominator)
        np.testing.assert_array_equal(left.weight, right.weight)


@given(rows=rows_strategy)
@settings(max_examples=30)
def test_afais_of_an_always_acquiring_policy_is_ipw(rows):
    propensity = np.nan_to_num(rows.propensity, nan=0.5)
    acquired_all = rows.complete.astype(float)  # R̂ = R, so h = 1{R = 1}
    left = afais(rows.outcome, propensity, acquired_all)
    right = ipw(rows.outcome, rows.complete, propensity)
    np.testing.assert_array_equal(left.numerator, right.numerator)


def test_without_missingness_all_estimators_agree():
    drawn = draw_rows(500, 3, 1)
    one, every = np.ones(500), np.ones(500, dtype=bool)
    rows = replace(
        drawn,
        complete=every,
        s_observed=every,
        propensity=one,
        afa_propensity=one,
        s_propensity=one,
        outcome_mean=np.nan_to_num(drawn.outcome_mean, nan=7.0),  # any model will do
    )
    expected = rows.outcome.mean(axis=0)
    values = {name: estimate(build(rows)) for name, build in ALL.items()}
    values["afais"] = estimate(afais(rows.outcome, one, one))
    values["stabilised_afais"] = estimate(stabilised_afais(rows.outcome, one, one))
    for name, value in values.items():
        np.testing.assert_allclose(value, expected, rtol=1e-12, err_msg=name)


@given(rows=rows_strategy)
@settings(max_examples=15)
def test_a_zero_outcome_model_reduces_doubly_robust_to_its_weights(rows):
    zero = np.zeros_like(rows.outcome_mean)
    left = PLAIN["doubly_robust"](replace(rows, outcome_mean=zero))
    np.testing.assert_array_equal(left.numerator, PLAIN["ipw"](rows).numerator)
    left = PLAIN["doubly_robust_afais"](replace(rows, outcome_mean=zero))
    np.testing.assert_array_equal(left.numerator, PLAIN["afais_s"](rows).numerator)
