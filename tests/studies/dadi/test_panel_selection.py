"""Weighted logistic regressions by optimality conditions; panels where the answer is known."""

import numpy as np
import pytest
from frugal.learn.weighted_logistic import (
    equal_group_weights,
    fit_logistic,
    fit_sparse_logistic,
    log_loss,
)
from frugal.studies.dadi.fair_baselines import forward_panels, lasso_panels, reduced_probability
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

pytestmark = pytest.mark.trains

N = 4000


@pytest.fixture(scope="module")
def world():
    """x0, x1 fair and telling; x2 telling but group-dependent; x3 noise; three panels and noise."""
    rng = np.random.default_rng(8)
    group = rng.integers(0, 2, N)
    x = rng.standard_normal((N, 4))
    x[:, 2] += 2 * group - 1
    label = (rng.random(N) < expit(1.2 * x[:, 0] - 0.8 * x[:, 1] + 0.7 * x[:, 2])).astype(np.int64)
    return x, label, group, equal_group_weights(group)


def test_groups_weigh_the_same():
    weight = equal_group_weights(np.array([0, 0, 0, 1]))
    assert weight.mean() == pytest.approx(1)
    assert weight[3] == pytest.approx(weight[:3].sum())


def test_newton_agrees_with_scikit_learn(world):
    x, label, _, weight = world
    ours = fit_logistic(x, label, weight, ridge=1e-3)
    other = LogisticRegression(C=1 / (1e-3 * weight.sum()), tol=1e-10).fit(
        x, label, sample_weight=weight
    )
    assert ours.slope == pytest.approx(other.coef_[0], abs=1e-5)
    assert ours.intercept == pytest.approx(other.intercept_[0], abs=1e-5)


def test_newton_meets_the_conditions_of_its_optimum(world):
    x, label, _, weight = world
    fitted = fit_logistic(x, label, weight, ridge=1e-3)
    gap = weight / weight.sum() * (fitted.probability(x) - label)
    assert gap.sum() == pytest.approx(0, abs=1e-11)
    assert x.T @ gap + 1e-3 * fitted.slope == pytest.approx(np.zeros(4), abs=1e-11)


def test_separable_classes_have_a_finite_fit():
    x = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    fitted = fit_logistic(x, np.array([0, 0, 1, 1]), np.ones(4), ridge=1e-4)
    assert np.isfinite(fitted.slope).all()
    assert (fitted.probability(x) > 0.5).tolist() == [False, False, True, True]


def test_sparse_fit_meets_the_conditions_of_its_optimum(world):
    x, label, _, weight = world
    l1 = np.array([0.03, 0.02, 0.05, 0.03])
    fitted = fit_sparse_logistic(x, label, weight, l1=l1, steps=5000, start=None)
    share = weight / weight.sum()
    gap = share * (expit(fitted.log_odds(x)) - label)
    slope = x.T @ gap
    assert gap.sum() == pytest.approx(0, abs=1e-6)  # the intercept is free
    kept = fitted.slope != 0
    assert slope[kept] == pytest.approx(-l1[kept] * np.sign(fitted.slope[kept]), abs=1e-6)
    assert (np.abs(slope[~kept]) <= l1[~kept] + 1e-9).all()
    assert kept.tolist() == [True, True, True, False]


def test_lasso_takes_telling_panels_and_the_parity_term_leaves_the_unfair_one(world):
    x, label, group, weight = world
    provides = np.eye(4, dtype=bool)
    plain = lasso_panels(x, label, group, weight, provides, most=3, parity=0.0)
    fair = lasso_panels(x, label, group, weight, provides, most=2, parity=20.0)
    assert plain.tolist() == [True, True, True, False]
    assert fair.tolist() == [True, True, False, False]


def test_forward_selection_takes_or_leaves_the_unfair_panel_by_gamma(world):
    x, label, group, weight = world
    learns = np.arange(N) < 2 * N // 3
    train = (x[learns], label[learns], group[learns])
    held = (x[~learns], label[~learns], group[~learns])
    weights = (weight[learns], weight[~learns])

    def chosen(gamma):
        return forward_panels(
            train, held, weights, np.eye(4, dtype=bool), most=3, gamma=gamma, ridge=1e-6
        ).tolist()

    assert chosen(1.0) == [True, True, True, False]
    assert not chosen(0.5)[2]
    assert not chosen(0.0)[2]  # hiding the group is all that counts
    assert chosen(0.5)[:2] == [True, True]


def test_no_panel_is_added_that_does_not_help():
    rng = np.random.default_rng(2)
    x, label = rng.standard_normal((600, 2)), rng.integers(0, 2, 600)
    group = rng.integers(0, 2, 600)
    ones = np.ones(300)
    found = forward_panels(
        (x[:300], label[:300], group[:300]),
        (x[300:], label[300:], group[300:]),
        (ones, ones),
        np.eye(2, dtype=bool),
        most=2,
        gamma=1.0,
        ridge=1e-6,
    )
    base = fit_logistic(x[:300, :0], label[:300], ones, ridge=1e-6)
    fitted = fit_logistic(x[:300][:, found], label[:300], ones, ridge=1e-6)
    after = log_loss(label[300:], fitted.log_odds(x[300:][:, found]), ones)
    assert after <= log_loss(label[300:], base.log_odds(x[300:, :0]), ones)


@pytest.mark.filterwarnings("ignore")  # fairlearn writes to Series as pandas 4 no longer allows
def test_reductions_meet_their_bound(world):
    x, label, group, _ = world
    x, label, group = x[:2000], label[:2000], group[:2000]
    free = LogisticRegression().fit(x, label).predict(x)
    gap = abs(free[group == 1].mean() - free[group == 0].mean())
    assert gap > 0.2
    fewer = (group == 0) | (np.arange(2000) % 8 == 0)  # about one in nine
    for rows in (np.ones(2000, dtype=bool), fewer):
        part = x[rows], label[rows], group[rows]
        fair = reduced_probability(*part, x[rows], bound=0.1, rounds=15)
        found = abs(fair[part[2] == 1].mean() - fair[part[2] == 0].mean())
        assert found == pytest.approx(0.1, abs=0.01)  # met, and used up


def test_lasso_goes_down_to_the_weakest_penalty_of_its_path():
    """Beside the first feature, the second's slope is 1.125e-3 of the first's at the start."""
    x = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]] * 2, dtype=np.float64)
    label = np.array([1, 1, 0, 0, 0, 0, 1, 1])
    agrees = np.where((x[:, 1] > 0) == (label == 1), 1, -1)
    weight = np.repeat([3.0, 1.0], 4) * (1 + 0.00075 * agrees)
    slope = np.abs(x.T @ (weight * (label - 0.5)))
    np.testing.assert_allclose(slope[1] / slope[0], 0.0015, rtol=1e-9)
    group = np.array([0, 1] * 4)
    found = lasso_panels(x, label, group, weight, np.eye(2, dtype=bool), most=2, parity=0.0)
    assert found.tolist() == [True, True]


def test_lasso_halves_a_step_that_would_choose_too_many_panels_at_once():
    """Eight features of nearly the same use enter within one step of the path."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((4000, 8))
    use = np.linspace(1.0, 1.15, 8)
    label = (rng.random(4000) < expit(x @ use)).astype(np.int64)
    ones, group = np.ones(4000), rng.integers(0, 2, 4000)
    for most in range(1, 8):
        found = lasso_panels(x, label, group, ones, np.eye(8, dtype=bool), most=most, parity=0.0)
        assert most - 1 <= found.sum() <= most
