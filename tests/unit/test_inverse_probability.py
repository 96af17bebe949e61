import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.estimators.inverse_probability import ipw, stabilised_ipw
from frugal.judge.intervals import estimate

from tests.oracles.self_normalised import self_normalised_value
from tests.unit.estimator_cases import draw_rows


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
