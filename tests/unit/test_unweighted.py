import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.judge.estimators.unweighted import blocking, complete_case, ground_truth, imputation
from frugal.judge.intervals import estimate

OUTCOME = np.array([[1.0, 0.0], [3.0, 1.0], [8.0, 1.0]])


@pytest.mark.parametrize("build", [ground_truth, blocking, imputation])
def test_plain_means(build):
    np.testing.assert_allclose(estimate(build(OUTCOME)), [4.0, 2 / 3])


def test_complete_case_averages_complete_rows():
    terms = complete_case(OUTCOME, np.array([True, False, True]))
    np.testing.assert_allclose(estimate(terms), [4.5, 0.5])
    np.testing.assert_array_equal(terms.weight, [1.0, 0.0, 1.0])


def test_a_mean_over_draws_is_the_pooled_estimate():
    draws = np.random.default_rng(0).random((5, 20, 2))
    pooled = np.mean([estimate(imputation(d)) for d in draws], axis=0)
    np.testing.assert_allclose(estimate(imputation(draws.mean(axis=0))), pooled, rtol=1e-12)


def test_unknown_outcomes_are_refused():
    with pytest.raises(DataError, match="row 1 and 0 other rows"):
        ground_truth(np.array([[1.0], [np.inf]]))
