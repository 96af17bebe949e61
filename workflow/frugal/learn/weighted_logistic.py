"""Logistic regressions with row weights: by Newton's method, and with an L1 penalty per column.

The one logistic fit: of the baselines and the audit of `dadi`, of nuisances, and of classifiers on
full tables. Knows columns, not panels, and no file.
"""

from dataclasses import dataclass
from math import isfinite

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import LinAlgError, get_lapack_funcs
from scipy.special import expit

# LAPACK's own: scipy's checks of its inputs take half of a small solution
factorise, solve = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)
NEWTON_STEPS, HALVINGS = 100, 30  # at most
NEWTON_DONE = 1e-22  # squared decrement of a mean loss: coefficients are right to some 1e-10
LEAST_PRECISION = 1e-12  # of the intercept, which is free, where predictions are certain
CONVERGED = 1e-8  # largest change of a coefficient in a proximal step, when there is nothing to do


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


def logistic_mode(
    design: Float[np.ndarray, "n p"],
    target: Float[np.ndarray, " n"] | Int[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    *,
    precision: Float[np.ndarray, " p"],
    start: Float[np.ndarray, " p"],
    decrement: float,
    towards: Float[np.ndarray, " p"] | None = None,
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
    """Coefficients of least penalised loss, by Newton's method with halved steps.

        Σᵢ wᵢ (log(1 + exp(xᵢβ)) − yᵢ xᵢβ) + ½ Σⱼ λⱼ (βⱼ − cⱼ)²

    With weights 1 it is the mode of the posterior under normal priors. Precisions above zero make
    it unique for any inputs (full one-hot codes with an intercept, separable classes).

    Args:
        design: inputs, the intercept among them. (n, p)
        target: 0 or 1. (n,)
        weight: w of the rows. (n,)
        precision: λ of each coefficient. (p,)
        start: where to begin. (p,)
        decrement: steps end where the squared Newton decrement, about twice the remaining
            loss, is smaller.
        towards: c, means of the priors; None: zeros. (p,)

    Returns:
        Coefficients, and the lower Cholesky factor of the curvature there. (p,), (p, p)
    """
    centre = np.zeros(len(precision)) if towards is None else towards

    def loss(coefficients: np.ndarray, log_odds: np.ndarray) -> float:
        of_rows = weight * (np.logaddexp(0.0, log_odds) - target * log_odds)
        away = coefficients - centre
        return float(of_rows.sum() + 0.5 * (precision * away) @ away)

    mode, log_odds, prior = start, design @ start, np.diag(precision)
    value, factor = loss(mode, log_odds), prior
    for _ in range(NEWTON_STEPS):
        chance = expit(log_odds)
        spread = design * np.sqrt(weight * chance * (1 - chance))[:, None]
        factor, unsolved = factorise(spread.T @ spread + prior, lower=True, clean=True)
        gradient = design.T @ (weight * (chance - target)) + precision * (mode - centre)
        step, _ = solve(factor, gradient, lower=True)
        gain = gradient @ step
        if unsolved or not isfinite(gain):
            raise LinAlgError("the curvature of a logistic loss is not positive definite")
        if gain < decrement:
            break
        for halving in range(HALVINGS):
            tried = mode - 0.5**halving * step
            log_odds = design @ tried
            now = loss(tried, log_odds)
            if now <= value:
                mode, value = tried, now
                break
        else:
            break  # nothing is gained but rounding
    return mode, factor


def fit_logistic(
    inputs: Float[np.ndarray, "n w"],
    target: Int[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    *,
    ridge: float,
) -> Logistic:
    """Minimiser of the weighted mean cross-entropy plus ridge/2 · |slope|²; ridge above zero."""
    design = np.column_stack([np.ones(len(inputs)), inputs])
    precision = np.full(design.shape[1], ridge + LEAST_PRECISION)
    precision[0] = LEAST_PRECISION
    mode, _ = logistic_mode(
        design,
        target,
        weight / weight.sum(),
        precision=precision,
        start=np.zeros(design.shape[1]),
        decrement=NEWTON_DONE,
    )
    return Logistic(float(mode[0]), mode[1:])


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
