"""What holds for all estimators, whatever the data: reductions, invariance, values by hand."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.estimator import Terms, require
from frugal.judge.estimators.afais import afais, afais_s, stabilised_afais, stabilised_afais_s
from frugal.judge.estimators.doubly_robust import doubly_robust, doubly_robust_afais
from frugal.judge.estimators.inverse_probability import ipw, stabilised_ipw
from frugal.judge.estimators.off_policy import stabilised_off_policy
from frugal.judge.estimators.unweighted import blocking, complete_case, ground_truth, imputation
from frugal.judge.intervals import estimate, influence, skewed_interval, standard_error
from frugal.judge.sums import Spread, WeightSums
from frugal.studies.afape.positivity import PropensitySums
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.self_normalised import self_normalised_value
from tests.unit.estimator_cases import Rows, draw_rows, rows_strategy
from tests.unit.in_blocks import summarise

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


OUTCOME = np.array([[1.0, 0.0], [2.0, 1.0], [4.0, 1.0], [8.0, 0.0]])
E = np.array([0.5, 0.25, 0.5, np.nan])
H = np.array([0.25, 0.5, 0.0, np.nan])
S = np.array([True, True, True, False])


def test_afais_s_by_hand_divides_by_all_rows():
    terms = afais_s(OUTCOME, S, E, H)
    np.testing.assert_array_equal(terms.weight, [0.5, 2.0, 0.0, 0.0])
    np.testing.assert_allclose(estimate(terms), [4.5 / 4, 2.0 / 4])
    np.testing.assert_allclose(estimate(stabilised_afais_s(OUTCOME, S, E, H)), [1.8, 0.8])


def test_an_empty_s_uses_every_row():
    e, h = E[:3], H[:3]
    np.testing.assert_allclose(estimate(afais(OUTCOME[:3], e, h)), [1.5, 2 / 3])
    np.testing.assert_allclose(estimate(stabilised_afais(OUTCOME[:3], e, h)), [1.8, 0.8])


@pytest.mark.parametrize(("e", "h"), [(np.nan, 0.5), (0.5, np.nan), (0.5, 1.1), (0.0, 0.5)])
def test_both_propensities_must_be_known_where_s_is_observed(e, h):
    with pytest.raises(DataError, match="in row 0"):
        afais_s(OUTCOME[:1], np.array([True]), np.array([e]), np.array([h]))


C = np.array([[4.0], [2.0], [9.0], [np.nan]])
M = np.array([[3.0], [1.0], [2.0], [np.nan]])
COMPLETE = np.array([True, False, False, False])
PS = np.array([0.5, 1.0, 0.5, np.nan])
DR_PROPENSITY = np.array([0.25, 0.5, 0.5, np.nan])
DR_POLICY = np.array([0.5, 0.25, 0.0, np.nan])


def test_doubly_robust_by_hand():
    # direct 6 + 1 + 4, residual (4 − 3) / 0.25, over four rows
    assert estimate(doubly_robust(C, COMPLETE, DR_PROPENSITY, M, S, PS))[0] == 15 / 4


def test_doubly_robust_afais_by_hand():
    # direct 11, residuals 2 · 1 + 0.5 · 1 + 0 · 7, over four rows
    terms = doubly_robust_afais(C, DR_PROPENSITY, DR_POLICY, M, S, PS)
    assert estimate(terms)[0] == 13.5 / 4
    np.testing.assert_array_equal(terms.weight, [2.0, 0.5, 0.0, 0.0])


def test_the_outcome_mean_must_be_known_where_s_is_observed():
    unknown = M.copy()
    unknown[2] = np.nan
    with pytest.raises(DataError, match="outcome mean is not finite in row 2"):
        doubly_robust(C, COMPLETE, DR_PROPENSITY, unknown, S, PS)


def test_the_propensity_of_s_must_be_a_probability():
    with pytest.raises(DataError, match=r"p\(R_s=1\|X_adj\) is 0.0 in row 1"):
        doubly_robust(C, COMPLETE, DR_PROPENSITY, M, S, np.array([0.5, 0.0, 0.5, np.nan]))


@pytest.mark.parametrize("seed", range(5))
def test_stabilised_ipw_is_the_self_normalised_inverse_propensity_estimate(seed):
    rows = draw_rows(3000, 2, seed)
    value = estimate(stabilised_ipw(rows.outcome, rows.complete, rows.propensity))
    for j in range(2):
        expected = self_normalised_value(
            rows.outcome[:, j].tolist(), rows.complete.tolist(), rows.propensity.tolist()
        )
        assert value[j] == pytest.approx(expected, abs=1e-10)


def test_ipw_by_hand():
    outcome = np.array([[2.0], [np.nan], [6.0], [np.nan]])
    complete = np.array([True, False, True, False])
    propensity = np.array([0.5, np.nan, 0.25, np.nan])
    terms = ipw(outcome, complete, propensity)
    np.testing.assert_array_equal(terms.numerator[:, 0], [4.0, 0.0, 24.0, 0.0])
    assert estimate(terms)[0] == 7.0  # 28 / 4 rows
    assert estimate(stabilised_ipw(outcome, complete, propensity))[0] == pytest.approx(28 / 6)


@pytest.mark.parametrize("bad", [np.nan, 0.0, -0.1, 1.5])
def test_a_propensity_that_cannot_be_one_is_refused_on_complete_rows_only(bad):
    outcome = np.ones((3, 1))
    propensity = np.array([0.5, bad, 0.5])
    ipw(outcome, np.array([True, False, True]), propensity)
    with pytest.raises(DataError, match=r"propensity p\(R=1\|X_adj\) is .* in row 1"):
        ipw(outcome, np.array([True, True, True]), propensity)


def test_an_unknown_outcome_is_refused_on_a_row_with_weight():
    outcome = np.array([[1.0], [np.nan]])
    with pytest.raises(DataError, match="outcome is not finite in row 1"):
        ipw(outcome, np.array([True, True]), np.array([0.5, 0.5]))


PLAIN_COSTS = np.array([[1.0, 0.0], [3.0, 1.0], [8.0, 1.0]])


@pytest.mark.parametrize("build", [ground_truth, blocking, imputation])
def test_plain_means(build):
    np.testing.assert_allclose(estimate(build(PLAIN_COSTS)), [4.0, 2 / 3])


def test_complete_case_averages_complete_rows():
    terms = complete_case(PLAIN_COSTS, np.array([True, False, True]))
    np.testing.assert_allclose(estimate(terms), [4.5, 0.5])
    np.testing.assert_array_equal(terms.weight, [1.0, 0.0, 1.0])


def test_a_mean_over_draws_is_the_pooled_estimate():
    draws = np.random.default_rng(0).random((5, 20, 2))
    pooled = np.mean([estimate(imputation(d)) for d in draws], axis=0)
    np.testing.assert_allclose(estimate(imputation(draws.mean(axis=0))), pooled, rtol=1e-12)


def test_unknown_outcomes_are_refused():
    with pytest.raises(DataError, match="row 1 and 0 other rows"):
        ground_truth(np.array([[1.0], [np.inf]]))


def test_a_refusal_counts_the_other_rows_that_are_out_of_range():
    value = np.array([0.5, -1.0, 2.0, 3.0])
    sentence = r"p is -1.0 in row 1 and out of range in 2 other rows that .* in \[0, 1\]"
    with pytest.raises(DataError, match=sentence):
        require((value < 0) | (value > 1), value, "p", "[0, 1]")


@pytest.mark.parametrize("blocks", [1, 3])
def test_all_figures_of_one_row_of_results(blocks):
    rows = draw_rows(2000, 2, 0)
    terms = stabilised_ipw(rows.outcome, rows.complete, rows.propensity)
    found = summarise(terms, blocks=blocks)
    assert found.status == "ok"
    assert found.reason == ""
    assert found.n == 2000
    assert found.usable_rows == rows.complete.sum()
    weight = 1 / rows.propensity[rows.complete]
    assert found.ess == pytest.approx(weight.sum() ** 2 / (weight**2).sum())
    assert found.largest_weight_share == pytest.approx(weight.max() / weight.sum())
    spread, weights = Spread.of(influence(terms)), WeightSums.of(terms.weight)
    low, high = skewed_interval(found.estimate, spread, weights, level=0.95)
    np.testing.assert_allclose([found.ci_low[0], found.ci_high[0]], [low[0], high[0]], rtol=1e-12)
    assert found.findings == ()


@pytest.mark.parametrize("build", [ipw, stabilised_ipw])
def test_no_complete_case_is_a_status_with_a_reason(build):
    complete, e = np.zeros(8, dtype=bool), np.full(8, 0.5)
    terms = build(np.ones((8, 3)), complete, e)
    found = summarise(terms, findings=PropensitySums.of(complete, e).findings())
    assert found.status == "no_support"
    assert "None of 8 rows has every panel observed" in found.reason
    assert [f.name for f in found.findings] == ["no_complete_case", "no_usable_row"]
    assert np.isnan(found.estimate).tolist() == [True] * 3
    for value in (found.std_error, found.ci_low, found.ci_high):
        assert np.isnan(value).tolist() == [True]
    assert (found.usable_rows, found.ess, found.largest_weight_share) == (0, 0.0, 0.0)
