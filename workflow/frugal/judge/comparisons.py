"""Differences between policies that were judged on the same rows, and which of them may be best.

Errors of two estimates on the same rows have much in common, which a difference leaves out: its
standard error follows from the paired influence terms. Knows no policy and no estimator by name.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtr

from frugal.core.blocks import tree_sum

DRAWS = 10_000  # of the Gaussian law of all estimates, for simultaneous quantiles
LEVEL = 0.95
NOTHING = 1e-12  # of the largest variance; what is below it is rounding


def covariance_of(
    blocks: Iterable[Float[np.ndarray, "k _"]], draws: Float[np.ndarray, "k m"] | None = None
) -> Float[np.ndarray, "k k"]:
    """Covariance of k estimates on the same n rows. (k, k)

        C_ab = Σᵢ ψ_ai ψ_bi / (n (n − 1)),   and (1 + 1/m) Cov(Q_a, Q_b) for m completed tables

    Its diagonal is the squared standard error of `intervals.standard_error`. With completed tables
    ψ is of their mean, so the spread within one of them counts for a little less than by
    Rubin's rules; verdicts read no such estimate.

    Args:
        blocks: influence terms of the rows of each block, see `intervals.influence`. (k, n) each
        draws: estimates on each of m ≥ 2 completed tables; None where nothing was completed. (k, m)
    """
    covariance, n = tree_sum(
        ((psi @ psi.T, psi.shape[1]) for psi in blocks), lambda a, b: (a[0] + b[0], a[1] + b[1])
    )
    covariance = covariance / (n * (n - 1))
    if draws is None:
        return covariance
    return covariance + (1 + 1 / draws.shape[1]) * np.atleast_2d(np.cov(draws, ddof=1))


@dataclass(frozen=True, eq=False)
class Comparison:
    """K policies by one estimator on the same rows.

    Attributes:
        difference: estimate of the row's policy minus that of the column's. (k, k)
        std_error: of the difference. (k, k)
        half_width: half of the interval of a difference; all pairs at once hold theirs with the
            probability `LEVEL`. (k, k)
        not_worse: policies that may be the best: the best is among them with the
            probability `LEVEL`. (k,)
        simultaneous: half of the normal interval of each estimate; all at once, so it also
            holds for the one that is picked. (k,)
        level: of an interval of one estimate that makes those of all hold at once with `LEVEL`.
        most: upper bound of the column's policy's savings against the row's, of all that are
            `not_worse` at once with `LEVEL`. (k, k)
        worth: expected value of perfect information: the mean saving if all costs were known,
            relative to the policy of least estimate.
    """

    difference: Float[np.ndarray, "k k"]
    std_error: Float[np.ndarray, "k k"]
    half_width: Float[np.ndarray, "k k"]
    not_worse: Bool[np.ndarray, " k"]
    simultaneous: Float[np.ndarray, " k"]
    level: float
    most: Float[np.ndarray, "k k"]
    worth: float

    @property
    def bound(self) -> Float[np.ndarray, " k"]:
        """Upper bound on the saving of another policy against each, at once with `LEVEL`. (k,)"""
        return np.maximum(np.where(self.not_worse, self.most, 0.0).max(axis=1), 0.0)


def compare(
    estimates: Float[np.ndarray, " k"],
    covariance: Float[np.ndarray, "k k"],
    rng: np.random.Generator,
) -> Comparison:
    """Every pair of policies, and comparisons with the best.

        d_ab = μ̂_a − μ̂_b,   s²_ab = C_aa + C_bb − 2 C_ab
        half width: the quantile of max over pairs |Z_a − Z_b| / s_ab, times s_ab, Z ~ N(0, C)
        a is not worse, unless some d_ab > q_a s_ab, q_a the quantile of max_b (Z_a − Z_b) / s_ab
        μ_a − min μ ≤ max over b that are not worse of d_ab + q_b s_ab
                                                              [Hsu, Ann. Stat. 9, 1981; 1984]

    Two policies that did the same in every row differ by nothing, for certain.

    Args:
        estimates: costs, the lower the better. (k,)
        covariance: of them, see `covariance_of`. (k, k)
        rng: of the draws of Z.
    """
    k = len(estimates)
    variance = np.diag(covariance)
    squared = variance[:, None] + variance[None] - 2 * covariance
    nothing = NOTHING * max(float(variance.max()), 1e-300)
    same = squared <= nothing
    error = np.sqrt(np.where(same, 0.0, squared))
    difference = estimates[:, None] - estimates[None]
    drawn = gaussian(covariance, rng)
    scale = np.where(same, np.inf, error)
    tops, widest = np.empty(k), np.zeros(len(drawn))
    for a in range(k):
        scaled = (drawn[:, a, None] - drawn) / scale[a]
        tops[a] = np.quantile(scaled.max(axis=1), LEVEL)
        widest = np.maximum(widest, np.abs(scaled).max(axis=1))
    not_worse = np.all(difference <= tops[:, None] * error, axis=1, keepdims=True)[:, 0]
    error_alone = np.where(variance > nothing, np.sqrt(variance), np.inf)
    picked = float(np.quantile(np.abs(drawn / error_alone).max(axis=1), LEVEL))
    return Comparison(
        difference,
        error,
        float(np.quantile(widest, LEVEL)) * error,
        not_worse,
        picked * np.sqrt(variance),
        max(LEVEL, float(2 * ndtr(picked) - 1)),  # of one policy it is LEVEL but for the draws
        difference + tops * error,
        float(estimates.min() - (estimates + drawn).min(axis=1).mean()),
    )


def worth_of_knowing(
    estimates: Float[np.ndarray, " k"],
    std_error: Float[np.ndarray, "k k"],
    rng: np.random.Generator,
) -> float:
    """Expected value of perfect information, as `Comparison.worth`, of some policies.

    Args:
        estimates: costs. (k,)
        std_error: of their differences. (k, k)
        rng: of the draws.
    """
    squared = std_error**2
    drawn = gaussian((squared[:, [0]] + squared[[0]] - squared) / 2, rng)  # less the first's
    return max(float(estimates.min() - (estimates + drawn).min(axis=1).mean()), 0.0)


def savings_quantile(
    covariance: Float[np.ndarray, "k k"], rng: np.random.Generator
) -> tuple[Float[np.ndarray, " k"], float]:
    """Standard errors of all differences to the first, and a quantile for all of them at once.

    μ̂₀ − μ̂_a − q s_a is below μ₀ − μ_a for every a with the probability `LEVEL`. (k,)

    Args:
        covariance: of the estimates. (k, k)
        rng: of the draws.
    """
    variance = np.diag(covariance)
    squared = variance + variance[0] - 2 * covariance[0]
    error = np.sqrt(np.maximum(squared, 0.0))
    scale = np.where(squared > NOTHING * max(float(variance.max()), 1e-300), error, np.inf)
    drawn = gaussian(covariance, rng)
    highest = ((drawn[:, [0]] - drawn) / scale).max(axis=1)
    return error, float(np.quantile(highest, LEVEL))


def gaussian(
    covariance: Float[np.ndarray, "k k"], rng: np.random.Generator
) -> Float[np.ndarray, "b k"]:
    """Draws with this covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return rng.standard_normal((DRAWS, len(covariance))) @ root.T
