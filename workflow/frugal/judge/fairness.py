"""Accuracy and fairness of predictions: AUC, differences between two groups, and their intervals.

Serves `dadi`. All differences follow from one table of counts n[b, y, ŷ] (sensitive group, label,
decision). Must not know who made the predictions, nor which features they saw.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import stdtrit

from frugal.core.errors import DataError
from frugal.core.scaling import average_ranks
from frugal.judge.fronts import non_dominated
from frugal.judge.intervals import (
    combined_interval,
    cut_interval,
    normal_interval,
    perfect_area_interval,
    share_interval,
)

LEVEL = 0.95  # of every interval; part of the meaning of the columns' names


@dataclass(frozen=True)
class IntervalEstimate:
    """A number with a two-sided interval, in the number's own unit; NaN where it is not defined."""

    value: float
    low: float
    high: float


def contingency(
    label: Int[np.ndarray, " n"], sensitive: Int[np.ndarray, " n"], decision: Bool[np.ndarray, " n"]
) -> Int[np.ndarray, "2 2 2"]:
    """Number of rows with each sensitive group b, label y and decision ŷ, as counts[b, y, ŷ].

    Raises:
        DataError: a label or a group is neither 0 nor 1.
    """
    for name, values in (("label", label), ("sensitive attribute", sensitive)):
        if not np.isin(values, (0, 1)).all():
            raise DataError(
                f"the {name} holds {np.unique(values)[:5].tolist()}; gaps between groups need "
                "two values, 0 and 1"
            )
    cell = 4 * sensitive + 2 * label + decision
    return np.bincount(cell, minlength=8).reshape(2, 2, 2)


def parity_difference(counts: Int[np.ndarray, "*b 2 2 2"]) -> Float[np.ndarray, "*b"]:
    """P(ŷ = 1 | b = 0) − P(ŷ = 1 | b = 1); NaN where a group has no row."""
    by_decision = counts.sum(axis=-2)
    return _signed_gap(by_decision)


def demographic_disparity(counts: Int[np.ndarray, "*b 2 2 2"]) -> Float[np.ndarray, "*b"]:
    """Difference between the shares of positive decisions; NaN where a group has no row.

    |P(ŷ = 1 | b = 0) − P(ŷ = 1 | b = 1)|                                    [dadi, sec. 4]
    """
    return np.asarray(np.abs(parity_difference(counts)))


def equal_opportunity_gap(counts: Int[np.ndarray, "*b 2 2 2"]) -> Float[np.ndarray, "*b"]:
    """|P(ŷ = 1 | y = 1, b = 0) − P(ŷ = 1 | y = 1, b = 1)|; NaN without positive rows."""
    return np.asarray(np.abs(_signed_gap(counts[..., 1, :])))


def equalised_odds_gap(counts: Int[np.ndarray, "*b 2 2 2"]) -> Float[np.ndarray, "*b"]:
    """The larger difference in P(ŷ = 1 | y, b) over y = 0 and y = 1; NaN if undefined."""
    differences = [np.abs(_signed_gap(counts[..., label, :])) for label in (0, 1)]
    return np.asarray(np.maximum(*differences))


def _signed_gap(counts: Int[np.ndarray, "*b 2 2"]) -> Float[np.ndarray, "*b"]:
    """Share of decisions 1 in group 0, less that in group 1, from counts[b, ŷ]."""
    rows = counts.sum(axis=-1)
    share = np.divide(
        counts[..., 1], rows, out=np.full(rows.shape, np.nan), where=rows > 0, dtype=np.float64
    )
    return np.asarray(share[..., 0] - share[..., 1])


def bootstrap_disparity(
    counts: Int[np.ndarray, "2 2 2"], *, resamples: int, level: float, rng: np.random.Generator
) -> IntervalEstimate:
    """Demographic disparity with a percentile interval over resamples of the rows.

    Drawing rows with replacement is drawing the eight counts from a multinomial law, so no row is
    touched. The interval is that of the *signed* difference, folded at zero: of an absolute value
    alone, no resample is below zero, and a fair decision would never be covered. Where all rows of
    a group get the same decision every resample repeats that, as if it were certain: the interval
    is then the one of two shares' difference (`combined_interval`). None (NaN) where a group has a
    single row.

    Args:
        counts: of one set of decisions. (2, 2, 2)
        resamples: number of draws.
        level: of the interval, for example 0.95.
        rng: draws the resamples.
    """
    value = float(demographic_disparity(counts))
    if counts.sum(axis=(1, 2)).min() < 2:
        return IntervalEstimate(value, np.nan, np.nan)
    total = int(counts.sum())
    drawn = rng.multinomial(total, counts.ravel() / total, size=resamples).reshape(-1, 2, 2, 2)
    signed = parity_difference(drawn)
    tails = [(1 - level) / 2, (1 + level) / 2]
    by_decision = counts.sum(axis=1)
    if (by_decision == 0).any():
        low, high = _difference_interval(by_decision, level=level)
    else:
        low, high = (float(q) for q in np.nanquantile(signed, tails))
    farthest = max(abs(low), abs(high))
    nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    return IntervalEstimate(value, nearest, farthest)


def _difference_interval(
    by_decision: Int[np.ndarray, "2 2"], *, level: float
) -> tuple[float, float]:
    """Ends of the share of decisions 1 in group 0 less that in group 1, from counts[b, ŷ]."""
    shares = []
    for row in by_decision:
        hits, n = int(row[1]), int(row.sum())
        shares.append((hits / n, *share_interval(hits, n, level=level)))
    return combined_interval(shares, weights=(1.0, -1.0))


def auc_interval(
    outcome: Int[np.ndarray, " n"], score: Float[np.ndarray, " n"], *, level: float
) -> IntervalEstimate:
    """Area under the receiver operating characteristic curve, with DeLong's interval.

    The probability that a random row with outcome 1 scores above one with outcome 0, ties counting
    one half [dadi, sec. 4]; the variance is that of its two placement averages. An area of 0 or 1
    has none, and the interval of `perfect_area_interval`. NaN if one outcome is absent, and without
    an interval if it has a single row.

    Args:
        outcome: 0 or 1. (n,)
        score: higher speaks for 1. (n,)
        level: of the interval, for example 0.95.
    """
    positive = outcome == 1
    m, n = int(positive.sum()), int((~positive).sum())
    if not m or not n:
        return IntervalEstimate(np.nan, np.nan, np.nan)
    rank = average_ranks(score)
    above = (rank[positive] - average_ranks(score[positive])) / n  # share of negatives below each
    below = 1 - (rank[~positive] - average_ranks(score[~positive])) / m
    area = float(above.mean())
    if min(m, n) < 2:
        return IntervalEstimate(area, np.nan, np.nan)
    if area in (0.0, 1.0):
        least = perfect_area_interval(m, n, level=level)
        return (
            IntervalEstimate(area, least, 1.0) if area else IntervalEstimate(area, 0.0, 1 - least)
        )
    variance = sum(float(x.var(ddof=1)) / len(x) for x in (above, below))
    low, high = normal_interval(np.array([area]), np.array([np.sqrt(variance)]), level=level)
    return IntervalEstimate(area, max(float(low[0]), 0.0), min(float(high[0]), 1.0))


def stated_rows(objective: str, label: Int[np.ndarray, " n"]) -> list[Bool[np.ndarray, " n"]]:
    """Rows among which an adversary predicts the group; of several, the best AUC counts.

    All of them for demographic parity, those with y = 1 for equal opportunity, and those of each
    label by itself for equalised odds. Masks. (n,) each
    """
    return {
        "demographic_parity": [np.ones(len(label), dtype=bool)],
        "equal_opportunity": [label == 1],
        "equalised_odds": [label == 0, label == 1],
    }[objective]


def adversary_auc(
    objective: str,
    label: Int[np.ndarray, " n"],
    sensitive: Int[np.ndarray, " n"],
    score: Float[np.ndarray, " n"],
    *,
    level: float,
) -> IntervalEstimate:
    """AUC for the group of an adversary of this aim, the largest where it is computed twice.

    Args:
        objective: aim of the agent.
        label: y. (n,)
        sensitive: b. (n,)
        score: of b = 1. (n,)
        level: of the interval.
    """
    aucs = [
        auc_interval(sensitive[rows], score[rows], level=level)
        for rows in stated_rows(objective, label)
    ]
    return max(aucs, key=lambda auc: np.nan_to_num(auc.value, nan=-1.0))


def fold_interval(
    values: Float[np.ndarray, " k"], *, level: float, least: float = -np.inf, most: float = np.inf
) -> IntervalEstimate:
    """Mean over folds with Student's interval; the ends are NaN for a single fold.

    Folds share training rows, so their spread is a little too small: the interval is that of
    the paper's figures, not a test. It is cut to the possible means, as that of a cost is
    (`cut_interval`): coverage does not fall.

    Args:
        values: one for each fold. (k,)
        level: of the interval, for example 0.95.
        least: the mean cannot be below this, for example 0 for a share.
        most: nor above this, for example 1.
    """
    k = len(values)
    mean = float(values.mean())
    if k < 2:
        return IntervalEstimate(mean, np.nan, np.nan)
    half = float(stdtrit(k - 1, (1 + level) / 2)) * float(values.std(ddof=1)) / np.sqrt(k)
    return IntervalEstimate(
        mean, *cut_interval(mean, mean - half, mean + half, least=least, most=most)
    )


def least_disparity(
    auc: Float[np.ndarray, " n"], disparity: Float[np.ndarray, " n"], *, least_auc: float
) -> int | None:
    """Position of the lowest disparity among points with at least this AUC; None if none has it.

    Of equal disparities the highest AUC, then the first; a point without a disparity is none.
    """
    enough = np.flatnonzero((auc >= least_auc) & ~np.isnan(disparity))
    if not len(enough):
        return None
    return int(enough[np.lexsort((-auc[enough], disparity[enough]))[0]])


def coin_at(
    auc: Float[np.ndarray, " n"], disparity: Float[np.ndarray, " n"], *, auc_wanted: float
) -> tuple[int, int, float] | None:
    """The mixture of two solutions that has the AUC wanted, on the straight line between theirs.

    Of the solutions that no other beats in both: the last below the AUC wanted and the first that
    reaches it; others may lie on a lower line, but the nearer two solutions are, the nearer is the
    mixture's AUC to the line. A unit is served by the second with probability `share`, by the first
    otherwise. The mixture's disparity is at most the line's, since each group's share of decisions
    1 lies on the line; its AUC lies near the line, not on it.

    Returns:
        Positions of the two and the share of the second; None if there is none on either side.
    """
    defined = np.flatnonzero(~np.isnan(disparity))
    front = defined[non_dominated(disparity[defined], auc[defined])]
    below, above = front[auc[front] < auc_wanted], front[auc[front] >= auc_wanted]
    if not len(below) or not len(above):
        return None
    first, second = int(below[auc[below].argmax()]), int(above[auc[above].argmin()])
    share = (auc_wanted - auc[first]) / (auc[second] - auc[first])
    return first, second, float(share)
