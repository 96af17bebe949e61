"""Rubin's rules: one estimate and one variance from several completed tables [afape, sec. A.4].

It must not know how the tables were completed, nor what was estimated from them.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from frugal.core.errors import DataError


@dataclass(frozen=True, eq=False)
class PooledEstimate:
    """Estimates pooled over multiple imputations. Shape: o outcomes.

    Attributes:
        estimate: mean over the completed tables. (o,)
        variance: total variance of that mean. (o,)
        degrees_of_freedom: of the t law; infinite where the tables agree exactly. (o,)
    """

    estimate: Float[np.ndarray, " o"]
    variance: Float[np.ndarray, " o"]
    degrees_of_freedom: Float[np.ndarray, " o"]

    def interval(self, *, level: float) -> tuple[Float[np.ndarray, " o"], Float[np.ndarray, " o"]]:
        """Two-sided t interval with the given coverage, for example 0.95: lower, upper. (o,)"""
        half = stdtrit(self.degrees_of_freedom, (1 + level) / 2) * np.sqrt(self.variance)
        return self.estimate - half, self.estimate + half


def rubin(
    estimates: Float[np.ndarray, "m o"], variances: Float[np.ndarray, "m o"]
) -> PooledEstimate:
    """Pool m estimates and their squared standard errors.

        Q̄ = mean Q,   W = mean U,   B = var Q (divisor m − 1)
        T = W + (1 + 1/m) B,   ν = (m − 1) (1 + W / ((1 + 1/m) B))²      [afape, sec. A.4]

    Args:
        estimates: Q, one row per completed table. (m, o)
        variances: U, squared standard error of each. (m, o)

    Raises:
        DataError: fewer than two tables, a variance below zero, or a value that is not finite.
    """
    m = len(estimates)
    if m < 2:
        raise DataError(f"{m} completed table was given; Rubin's rules need at least two")
    if not (np.isfinite(estimates).all() and np.isfinite(variances).all()):
        raise DataError("an estimate or variance of a completed table is not a finite number")
    if (variances < 0).any():
        raise DataError(f"a variance is {variances.min()}; a variance is never below zero")
    within = variances.mean(axis=0)
    between = (1 + 1 / m) * estimates.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(between > 0, within / between, np.inf)
    return PooledEstimate(
        estimates.mean(axis=0).astype(np.float64),
        (within + between).astype(np.float64),
        (m - 1) * (1 + ratio) ** 2,
    )
