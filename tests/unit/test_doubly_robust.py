import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.estimators.doubly_robust import doubly_robust, doubly_robust_afais
from frugal.judge.intervals import estimate

C = np.array([[4.0], [2.0], [9.0], [np.nan]])
M = np.array([[3.0], [1.0], [2.0], [np.nan]])
COMPLETE = np.array([True, False, False, False])
S = np.array([True, True, True, False])
PS = np.array([0.5, 1.0, 0.5, np.nan])
E = np.array([0.25, 0.5, 0.5, np.nan])
H = np.array([0.5, 0.25, 0.0, np.nan])


def test_doubly_robust_by_hand():
    # direct 6 + 1 + 4, residual (4 − 3) / 0.25, over four rows
    assert estimate(doubly_robust(C, COMPLETE, E, M, S, PS))[0] == 15 / 4


def test_doubly_robust_afais_by_hand():
    # direct 11, residuals 2 · 1 + 0.5 · 1 + 0 · 7, over four rows
    terms = doubly_robust_afais(C, E, H, M, S, PS)
    assert estimate(terms)[0] == 13.5 / 4
    np.testing.assert_array_equal(terms.weight, [2.0, 0.5, 0.0, 0.0])


def test_the_outcome_mean_must_be_known_where_s_is_observed():
    unknown = M.copy()
    unknown[2] = np.nan
    with pytest.raises(DataError, match="outcome mean is not finite in row 2"):
        doubly_robust(C, COMPLETE, E, unknown, S, PS)


def test_the_propensity_of_s_must_be_a_probability():
    with pytest.raises(DataError, match=r"p\(R_s=1\|X_adj\) is 0.0 in row 1"):
        doubly_robust(C, COMPLETE, E, M, S, np.array([0.5, 0.0, 0.5, np.nan]))
