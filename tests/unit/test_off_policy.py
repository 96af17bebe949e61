import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.estimators.off_policy import stabilised_off_policy
from frugal.judge.intervals import estimate

OUTCOME = np.array([[1.0], [3.0], [5.0]])


def test_by_hand_and_a_record_that_the_policy_never_makes_needs_no_probability():
    terms = stabilised_off_policy(OUTCOME, np.array([0.5, 0.1, 0.0]), np.array([0.25, 0.4, np.nan]))
    np.testing.assert_allclose(terms.weight, [2.0, 0.25, 0.0])
    assert estimate(terms)[0] == pytest.approx(2.75 / 2.25)


def test_unknown_probabilities_are_refused():
    with pytest.raises(DataError, match=r"policy's probability .* is nan in row 2"):
        stabilised_off_policy(OUTCOME, np.array([0.5, 0.1, np.nan]), np.array([0.25, 0.4, 0.5]))
    with pytest.raises(DataError, match=r"probability p\(.* is 0.0 in row 1"):
        stabilised_off_policy(OUTCOME, np.array([0.5, 0.1, 0.2]), np.array([0.25, 0.0, 0.5]))
