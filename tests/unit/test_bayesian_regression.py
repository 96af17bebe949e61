import numpy as np
import pytest
from frugal.models.bayesian_regression import draw_classes, draw_linear
from frugal.models.weighted_logistic import logistic_mode
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from tests.oracles.linear_posterior import predictive_moments

pytestmark = pytest.mark.trains


def with_intercept(numbers: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones((len(numbers), 1)), numbers], axis=1)


def test_linear_draws_follow_the_exact_predictive_law():
    rng = np.random.default_rng(0)
    x = with_intercept(rng.normal(size=(25, 2)))
    wanted = with_intercept(np.array([[0.0, 0.0], [2.0, -1.0], [-3.0, 3.0]]))
    target = 5 + 3 * x[:, 1] - x[:, 2] + 1.5 * rng.normal(size=25)
    draws = np.array([draw_linear(x, target, wanted, rng=rng) for _ in range(4000)])
    y = (target - target.mean()) / target.std()
    mean, variance = predictive_moments(
        x, y, wanted, np.array([1e-6, 1.0, 1.0]), np.exp(np.linspace(-5, 3, 400))
    )
    # Four standard errors of a mean and of a variance of 4,000 draws, for six comparisons.
    spread = target.std() * np.sqrt(variance)
    centre = target.mean() + target.std() * mean
    assert np.abs((draws.mean(axis=0) - centre) / spread).max() < 4 / np.sqrt(4000)
    assert np.abs(draws.var(axis=0) / spread**2 - 1).max() < 5 * np.sqrt(2 / 4000)


def test_linear_draws_share_their_parameters():
    rng = np.random.default_rng(1)
    x = with_intercept(rng.normal(size=(8, 1)))
    target = rng.normal(size=8)
    wanted = with_intercept(np.full((2000, 1), 6.0))
    centres = [draw_linear(x, target, wanted, rng=rng).mean() for _ in range(20)]
    # With own parameters per row, these means would differ by 3 % of a row's spread only.
    assert np.std(centres) > 0.5 * target.std()


def test_exact_and_collinear_relations_are_harmless():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 1))
    twice = with_intercept(np.concatenate([x, x, np.zeros((200, 1))], axis=1))
    drawn = draw_linear(twice[:150], 4 * x[:150, 0] + 1, twice[150:], rng=rng)
    # the least noise has a standard deviation of 1e-4 of the target's, here 4: five of them
    np.testing.assert_allclose(drawn, 4 * x[150:, 0] + 1, atol=2e-3)
    np.testing.assert_array_equal(draw_linear(twice[:9], np.full(9, 0.3), twice, rng=rng), 0.3)


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


def test_classes_are_drawn_with_the_true_probabilities():
    rng = np.random.default_rng(4)
    m = 6000
    x = with_intercept(rng.normal(size=(m + 300, 1)))
    odds = np.exp(x @ [[0.0, 0.8, -0.5], [1.0, 0.0, -1.0]])
    truth = odds / odds.sum(axis=1, keepdims=True)
    target = (rng.random((m, 1)) > truth[:m].cumsum(axis=1)).sum(axis=1)
    modes, total = None, np.zeros((300, 3))
    for _ in range(200):
        drawn, modes = draw_classes(x[:m], target, x[m:], rng=rng, start=modes)
        total += np.eye(3)[drawn]
    error = total / 200 - truth[m:]
    # Per entry: 200 draws (≤ 0.035), and fit and parameter draws from 6,000 rows (≈ 0.015).
    assert np.sqrt((error**2).mean()) < 0.04
    assert np.abs(error).max() < 5 * 0.04


def test_classes_that_never_occur_are_never_drawn():
    rng = np.random.default_rng(5)
    x = with_intercept(rng.normal(size=(60, 2)))
    target = np.where(x[:, 1] > 0, 7, 3)
    target[0] = 5
    drawn, modes = draw_classes(x, target, x, rng=rng, start=None)
    assert set(drawn.tolist()) <= {3, 5, 7}
    assert modes.shape == (2, 3)
    only, none = draw_classes(x, np.full(60, 4), x, rng=rng, start=None)
    assert (only == 4).all()
    assert none.shape == (0, 3)


def test_a_warm_start_changes_the_time_only():
    rng = np.random.default_rng(6)
    x = with_intercept(rng.normal(size=(500, 3)))
    target = rng.integers(0, 4, 500)
    _, modes = draw_classes(x, target, x[:5], rng=rng, start=None)
    _, again = draw_classes(x, target, x[:5], rng=rng, start=modes)
    np.testing.assert_allclose(again, modes, atol=1e-3)


def test_an_exact_function_of_collinear_indicators_is_drawn_without_breaking_down():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 16, 16_000)
    onehot = np.eye(16)[level]  # the intercept is their sum, as in a full one-hot code
    predictors = np.column_stack([np.ones(len(level)), onehot])
    target = level.astype(np.float64)
    drawn = draw_linear(predictors, target, predictors[:500], rng=rng)
    assert np.abs(drawn - target[:500]).max() < 0.05
