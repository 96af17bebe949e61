"""Scores of beliefs equal those of scikit-learn; groups of a reliability table are counted."""

import numpy as np
import pytest
from frugal.studies.diagnosis.beliefs import belief_scores, reliability
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss


def believed(rng: np.random.Generator, n: int, slope: float) -> tuple[np.ndarray, np.ndarray]:
    """Labels, and beliefs whose log-odds are the true ones divided by a slope."""
    odds = rng.normal(-1, 1.5, n)
    return (rng.random(n) < expit(odds)).astype(int), expit(odds / slope)


def test_log_loss_and_slope_equal_those_of_scikit_learn():
    rng = np.random.default_rng(5)
    label, belief = believed(rng, 4_000, 0.5)
    two = np.stack([belief, np.sqrt(belief)])
    found = belief_scores(label, two)
    for k, one in enumerate(two):
        assert found["log_loss"][k] == pytest.approx(log_loss(label, one), rel=1e-8)
        line = LogisticRegression(C=1e12, solver="newton-cholesky", tol=1e-12).fit(
            logit(one)[:, None], label
        )
        assert found["calibration_slope"][k] == pytest.approx(line.coef_[0, 0], rel=1e-5)
    assert abs(found["calibration_slope"][0] - 0.5) < 3 * found["calibration_slope_se"][0]
    rate = np.full(len(label), label.mean())
    assert found["base_log_loss"] == pytest.approx(log_loss(label, rate), rel=1e-12, abs=0)


def test_errors_are_those_of_repeated_draws():
    rng = np.random.default_rng(6)
    draws = [believed(rng, 500, 1.0) for _ in range(300)]
    found = [belief_scores(label, belief[None]) for label, belief in draws]
    for name in ("log_loss", "calibration_slope"):
        seen = np.std([one[name][0] for one in found], ddof=1)
        told = np.mean([one[f"{name}_se"][0] for one in found])
        assert told == pytest.approx(seen, rel=0.12)


@pytest.mark.parametrize(
    ("label", "belief"),
    [
        ([0, 0, 0, 0], [0.1, 0.2, 0.3, 0.4]),
        ([0, 0, 1, 1], [0.3, 0.3, 0.3, 0.3]),
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]),
        ([0, 1, 0, 1], [np.nan, 0.2, 0.8, 0.9]),
    ],
    ids=["one class", "one belief", "no error", "no belief"],
)
def test_a_slope_that_no_data_state_is_empty(label, belief):
    found = belief_scores(np.array(label), np.array([belief]))
    assert np.isnan(found["calibration_slope"][0])


def test_certain_and_wrong_is_a_finite_loss():
    assert belief_scores(np.array([0, 1]), np.array([[1.0, 1.0]]))["log_loss"][0] < 11


def test_groups_have_as_many_units_and_equal_beliefs_share_one():
    rng = np.random.default_rng(7)
    label, belief = believed(rng, 1_000, 1.0)
    table = reliability(label, belief, bins=10, level=0.95)
    assert table["n"].tolist() == [100] * 10
    assert (np.diff(table["belief"]) > 0).all()
    order = np.argsort(belief)
    assert table["rate"].tolist() == pytest.approx(label[order].reshape(10, 100).mean(axis=1))
    assert ((table["rate_low"] <= table["rate"]) & (table["rate"] <= table["rate_high"])).all()
    lumps = reliability(label, np.round(belief), bins=10, level=0.95)
    assert len(lumps) == 2
    assert lumps["n"].sum() == 1_000
