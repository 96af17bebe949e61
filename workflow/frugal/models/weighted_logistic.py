"""Logistic regressions with row weights: by Newton's method, and with an L1 penalty per column.

Serves the baselines and the audit of `dadi`. Knows columns, not panels, and no file.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

NEWTON_STEPS = 100
CONVERGED = 1e-8  # largest change of a coefficient in a step, once there is nothing left to do


@dataclass(frozen=True, eq=False)
class Logistic:
    """P(target = 1 | x) = σ(intercept + xᵀ slope).

    Attributes:
        intercept: log-odds where every input is zero.
        slope: change of the log-odds per unit of each input. (w,)
    """

    intercept: float
    slope: Float[np.ndarray, " w"]

    def log_odds(self, inputs: Float[np.ndarray, "n w"]) -> Float[np.ndarray, " n"]:
        """Log-odds of each row. (n,)"""
        return inputs @ self.slope + self.intercept

    def probability(self, inputs: Float[np.ndarray, "n w"]) -> Float[np.ndarray, " n"]:
        """P(target = 1) of each row. (n,)"""
        return expit(self.log_odds(inputs))


def equal_group_weights(sensitive: Int[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Weights with mean 1 that make every group that occurs weigh the same. (n,)

    The group normalisation of the losses [dadi, app. C].
    """
    count = np.bincount(sensitive)
    present = int((count > 0).sum())
    return len(sensitive) / (present * count[sensitive])


def log_loss(
    target: Int[np.ndarray, " n"],
    log_odds: Float[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
) -> float:
    """Weighted mean cross-entropy, in nats."""
    loss = np.logaddexp(0.0, log_odds) - target * log_odds
    return float(weight @ loss / weight.sum())


def fit_logistic(
    inputs: Float[np.ndarray, "n w"],
    target: Int[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    *,
    ridge: float,
) -> Logistic:
    """Minimiser of the weighted mean cross-entropy plus ridge/2 · |slope|².

    Newton's method with halved steps; a ridge above zero makes the minimum unique, whatever the
    inputs (full one-hot codes beside an intercept, separable classes).
    """
    design = np.column_stack([np.ones(len(inputs)), inputs])
    share = weight / weight.sum()
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = 0.0
    beta = np.zeros(design.shape[1])

    def objective(at: np.ndarray) -> float:
        return log_loss(target, design @ at, weight) + 0.5 * float(penalty @ at**2)

    value = objective(beta)
    for _ in range(NEWTON_STEPS):
        chance = expit(design @ beta)
        gradient = design.T @ (share * (chance - target)) + penalty * beta
        curvature = (design * (share * chance * (1 - chance))[:, None]).T @ design
        step = np.linalg.solve(curvature + np.diag(penalty + 1e-12), gradient)
        size = 1.0
        while size > 1e-6 and objective(beta - size * step) > value:
            size /= 2
        beta = beta - size * step
        value = objective(beta)
        if np.abs(size * step).max() < CONVERGED:
            break
    return Logistic(float(beta[0]), beta[1:])


def fit_sparse_logistic(
    inputs: Float[np.ndarray, "n w"],
    target: Int[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    *,
    l1: Float[np.ndarray, " w"],
    steps: int,
    start: Logistic | None,
) -> Logistic:
    """Minimiser of the weighted mean cross-entropy plus Σⱼ l1ⱼ |slopeⱼ|.

    Accelerated proximal gradient with restarts, from `start` or from zero.

    Args:
        inputs: on comparable scales. (n, w)
        target: 0 or 1. (n,)
        weight: of the rows. (n,)
        l1: penalty of each slope. (w,)
        steps: most steps.
        start: where to begin; the path from a stronger penalty makes this short.
    """
    share = weight / weight.sum()
    design = np.column_stack([np.ones(len(inputs)), inputs])
    rate = 4 / float(np.linalg.eigvalsh((design * share[:, None]).T @ design)[-1])
    beta = np.zeros(design.shape[1]) if start is None else np.r_[start.intercept, start.slope]
    ahead, momentum = beta, 1.0
    for _ in range(steps):
        gradient = design.T @ (share * (expit(design @ ahead) - target))
        moved = ahead - rate * gradient
        moved[1:] = np.sign(moved[1:]) * np.maximum(np.abs(moved[1:]) - rate * l1, 0.0)
        change = moved - beta
        if (ahead - moved) @ change > 0:  # the momentum overshoots: begin it anew
            momentum = 1.0
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead, momentum, beta = moved + (momentum - 1) / grown * change, grown, moved
        if np.abs(change).max() < CONVERGED:
            break
    return Logistic(float(beta[0]), beta[1:])
