import numpy as np
import pytest
from frugal.learn.weighted_logistic import logistic_mode
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

pytestmark = pytest.mark.trains


def with_intercept(numbers: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones((len(numbers), 1)), numbers], axis=1)


def bayesian_mode(x, target, start):
    precision = np.array([1e-6, *[0.16] * (x.shape[1] - 1)])
    ones = np.ones(len(x))
    return logistic_mode(x, target, ones, precision=precision, start=start, decrement=1e-6)


def test_logistic_mode_is_that_of_scikit_learn():
    rng = np.random.default_rng(3)
    x = with_intercept(rng.normal(size=(300, 4)))
    target = (rng.random(300) < expit(x @ [-1, 2, 0, -1, 0.5])).astype(float)
    mode, factor = bayesian_mode(x, target, np.zeros(5))
    theirs = LogisticRegression(C=2.5**2, tol=1e-10, max_iter=1000).fit(x[:, 1:], target)
    # The decrement bound of 1e-6 leaves at most 1e-3 posterior deviations, here 0.2 each.
    np.testing.assert_allclose(mode[1:], theirs.coef_[0], atol=1e-3)
    assert mode[0] == pytest.approx(theirs.intercept_[0], abs=1e-3)
    share = expit(x @ mode)
    precision = (x.T * (share * (1 - share))) @ x + np.diag([1e-6, *[0.16] * 4])
    np.testing.assert_allclose(factor @ factor.T, precision, rtol=1e-3, atol=1e-2)


def test_logistic_mode_survives_separation_and_bad_starts():
    x = with_intercept(np.linspace(-1, 1, 40)[:, None])
    target = (x[:, 1] > 0).astype(float)
    cold, _ = bayesian_mode(x, target, np.zeros(2))
    far, _ = bayesian_mode(x, target, np.array([30.0, -80.0]))
    assert np.isfinite(cold).all()
    np.testing.assert_allclose(far, cold, atol=0.01)
