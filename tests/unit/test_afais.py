import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.estimators.afais import afais, afais_s, stabilised_afais, stabilised_afais_s
from frugal.judge.intervals import estimate

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
