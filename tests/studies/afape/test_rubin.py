import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.studies.afape.resampling import rubin


def test_pooling_by_hand():
    # Q = 1, 2, 3: mean 2, B = 1; U = 2, 3, 4: W = 3; T = 3 + 4/3; ν = 2 (1 + 9/4)² = 21.125
    pooled = rubin(np.array([[1.0], [2.0], [3.0]]), np.array([[2.0], [3.0], [4.0]]))
    assert pooled.estimate[0] == pytest.approx(2.0, abs=1e-14)
    assert pooled.variance[0] == pytest.approx(13 / 3, abs=1e-14)
    assert pooled.degrees_of_freedom[0] == pytest.approx(21.125, abs=1e-12)
    # t quantile 0.975 at 21.125 degrees of freedom lies between the printed 2.0796 (21) and
    # 2.0739 (22)
    low, high = pooled.interval(level=0.95)
    half = (high[0] - low[0]) / 2 / np.sqrt(13 / 3)
    assert 2.0739 < half < 2.0797


def test_tables_that_agree_leave_the_normal_interval():
    pooled = rubin(np.full((4, 2), 5.0), np.full((4, 2), 0.25))
    low, high = pooled.interval(level=0.95)
    np.testing.assert_array_equal(pooled.degrees_of_freedom, [np.inf, np.inf])
    np.testing.assert_allclose(low, 5 - 1.959963984540054 * 0.5, rtol=1e-10)
    np.testing.assert_allclose(high, 5 + 1.959963984540054 * 0.5, rtol=1e-10)


def test_no_variance_at_all_is_a_point():
    pooled = rubin(np.full((3, 1), 5.0), np.zeros((3, 1)))
    low, high = pooled.interval(level=0.95)
    assert (low[0], high[0]) == (5.0, 5.0)


@pytest.mark.parametrize(
    ("estimates", "variances", "sentence"),
    [
        (np.ones((1, 1)), np.ones((1, 1)), "at least two"),
        (np.array([[1.0], [np.nan]]), np.ones((2, 1)), "not a finite number"),
        (np.ones((2, 1)), np.array([[1.0], [-1.0]]), "never below zero"),
    ],
)
def test_refusals(estimates, variances, sentence):
    with pytest.raises(DataError, match=sentence):
        rubin(estimates, variances)
