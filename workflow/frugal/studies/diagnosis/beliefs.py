"""Calibration of predicted probabilities: log-loss, slope of calibration, reliability.

From the probabilities of K methods for the same n units. Must not know the methods, or
files.
"""

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import expit, xlogy

from frugal.judge.intervals import share_interval

CLOSEST = 1e-9  # probabilities nearer to 0 or 1 count as this far from it
MOST_STEPS, CLOSE_ENOUGH = 100, 1e-10
_STEEPEST = 50.0  # a fit that passes this slope has none: classes are separated without error


def belief_scores(
    label: Int[np.ndarray, " n"], probability: Float[np.ndarray, "K n"]
) -> dict[str, Float[np.ndarray, " K"]]:
    """Log-loss and slope of calibration of each of K methods.

    Args:
        label: 1 for a positive unit, 0 for a negative one. (n,)
        probability: probability of class 1; NaN where a method has none. (K, n)

    Returns:
        log_loss: mean of −log of the true class's predicted probability, in nats, with
            log_loss_se; base_log_loss: of one who believes the share of these units.
        calibration_slope: of the label's log-odds on those of the belief, by logistic regression
            with an intercept; 1 if probabilities are as extreme as they should be, less if they are
            too extreme (Cox, Biometrika 45, 1958); calibration_slope_se from the information. NaN
            where a class is missing, all are equal, or classes are separated without error.
    """
    ill = np.clip(probability, CLOSEST, 1 - CLOSEST)
    loss = -np.where(label == 1, np.log(ill), np.log1p(-ill))
    rate = label.mean()
    spread = loss.std(axis=1, ddof=1) if loss.shape[1] > 1 else np.full(len(loss), np.nan)
    fits = [_slope(label, np.log(row) - np.log1p(-row)) for row in ill]
    return {
        "log_loss": loss.mean(axis=1),
        "log_loss_se": spread / np.sqrt(loss.shape[1]),
        "base_log_loss": np.full(len(loss), -xlogy(rate, rate) - xlogy(1 - rate, 1 - rate)),
        "calibration_slope": np.array([slope for slope, _ in fits]),
        "calibration_slope_se": np.array([error for _, error in fits]),
    }


def _slope(label: np.ndarray, odds: np.ndarray) -> tuple[float, float]:
    """Newton's method from a slope of one; slope and standard error."""
    if np.isnan(odds).any() or label.min() == label.max() or np.ptp(odds) == 0:
        return np.nan, np.nan
    design = np.column_stack([np.ones(len(odds)), odds])
    line = np.array([0.0, 1.0])
    for _ in range(MOST_STEPS):
        expected = expit(design @ line)
        information = (design * (expected * (1 - expected))[:, None]).T @ design
        gradient = design.T @ (label - expected)
        if np.linalg.cond(information) > 1 / np.finfo(float).eps or abs(line[1]) > _STEEPEST:
            return np.nan, np.nan
        step = np.linalg.solve(information, gradient)
        line = line + _shortened(step, line, design, label)
        if np.abs(step).max() < CLOSE_ENOUGH:
            break
    return float(line[1]), float(np.sqrt(np.linalg.inv(information)[1, 1]))


def _shortened(step: np.ndarray, line: np.ndarray, design: np.ndarray, label: np.ndarray):
    """Half of the step, as often as the likelihood falls by the whole."""

    def fits(at: np.ndarray) -> float:
        along = design @ at
        return float(label @ along - np.logaddexp(0, along).sum())

    current = fits(line)
    for _ in range(30):
        if fits(line + step) >= current - 1e-9 * abs(current):
            break
        step = step / 2
    return step


def reliability(
    label: Int[np.ndarray, " n"], probability: Float[np.ndarray, " n"], *, bins: int, level: float
) -> pd.DataFrame:
    """Predicted against observed rates, in groups of about equal size, by predicted probability.

    Units of the same probability stay together, so there may be fewer groups.

    Args:
        label: 1 for a positive unit, 0 for a negative one. (n,)
        probability: probability of class 1. (n,)
        bins: groups, at most.
        level: of the intervals.

    Returns:
        Columns bin (0 is the lowest), belief (its mean), rate (share of units of class 1) with the
        ends `rate_low` and `rate_high` of its interval, n (units).
    """
    ends = np.unique(np.quantile(probability, np.linspace(0, 1, bins + 1)[1:-1], method="lower"))
    number = np.searchsorted(ends, probability, side="left")
    rows = []
    for k, bin_number in enumerate(np.unique(number)):
        mine = number == bin_number
        hits, n = int(label[mine].sum()), int(mine.sum())
        low, high = share_interval(hits, n, level=level)
        rows.append((k, float(probability[mine].mean()), hits / n, low, high, n))
    return pd.DataFrame(rows, columns=["bin", "belief", "rate", "rate_low", "rate_high", "n"])
