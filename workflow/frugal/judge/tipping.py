"""How strong hidden causes must be for another policy to be better than the one that is named.

The difference of two policies is bounded as one: where both need the same set of a row, hidden
causes shift its odds for both alike. Knows no policy and no estimator by name.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from frugal.judge.sensitivity import Weighted, h

CUTS = 60  # planes under the bound of a difference, at most
CLOSE = 1e-9  # to the least bound, of the range of costs
STEPS = 40  # halvings of an interval of Γ
NARROW = 1e-4  # relative, of the tipping Γ


@dataclass(frozen=True, eq=False)
class Rival:
    """Another policy on the same rows.

    Attributes:
        weighted: its estimate.
        same: rows in which it needs the same set as the policy that is named. (n,)
    """

    weighted: Weighted
    same: Bool[np.ndarray, " n"]


def tipping_gamma(named: Weighted, rivals: Iterable[Rival], most: float) -> tuple[float, int]:
    """The smallest Γ at which the policy named could be worse than a rival, and which rival.

    Of the estimates, without their chance: 1 where a rival's estimate is no higher. Infinite, with
    −1, where Γ = `most` changes nothing.
    """
    tip, which = float("inf"), -1
    for k, rival in enumerate(rivals):
        top = min(most, tip)
        if not could_be_worse(named, rival, top):
            continue
        low, high = 1.0, top
        if could_be_worse(named, rival, 1.0):
            high = 1.0
        for _ in range(STEPS):
            if high / low - 1 <= NARROW:
                break
            middle = float(np.sqrt(low * high))
            low, high = (low, middle) if could_be_worse(named, rival, middle) else (middle, high)
        if which < 0 or high < tip:
            tip, which = high, k
    return tip, which


def could_be_worse(named: Weighted, rival: Rival, gamma: float) -> bool:
    """Whether the largest difference, named less rival, reaches zero."""
    return largest_difference(named, rival, gamma, only_sign=True) >= 0


def largest_difference(
    named: Weighted, rival: Rival, gamma: float, *, only_sign: bool = False
) -> float:
    """The most that the cost of the policy named can exceed that of a rival.

    True weights of either policy average one, so that for all numbers a and b

        J − J' ≤ a − b + Σ [w (C − a) − w' (C' − b)] / n + Σ h(k (C − a) − k' (C' − b)) / n

    with k = w (1 − e) the doubtful weights and h of `sensitivity.h`, where both need the same set;
    in other rows h of each part by itself. As in `sharp_range` the terms before the last sum count
    as no less than the difference of the estimates. The whole is convex in (a, b), and the least is
    returned: by planes that touch it from below.

    Args:
        named: of the policy named.
        rival: of another.
        gamma: Γ.
        only_sign: stop as soon as the sign is known; then some number of the same sign.
    """
    from scipy.optimize import linprog  # a quarter of a second to import

    limits = np.array([_limits(named), _limits(rival.weighted)])
    least, unit = limits.min(), float(np.ptp(limits)) or 1.0  # a solver's tolerances are absolute
    named, other = (_in_unit(one, least, unit) for one in (named, rival.weighted))
    function = _Bound(named, Rival(other, rival.same), gamma)
    cuts, values = [], []
    at = np.array([named.estimate, other.estimate])
    best, bounds = np.inf, [*((limits - least) / unit), (None, None)]
    for _ in range(CUTS):
        value, slope = function(at)
        best = min(best, value)
        cuts.append([*slope, -1.0])
        values.append(slope @ at - value)
        lowest = linprog([0, 0, 1], A_ub=cuts, b_ub=values, bounds=bounds)
        at, floor = lowest.x[:2], float(lowest.fun)
        if best - floor <= CLOSE or (only_sign and (best < 0 or floor >= 0)):
            break
    return best * unit


def _limits(given: Weighted) -> tuple[float, float]:
    cost = given.cost[given.weight > 0]
    return float(cost.min()), float(cost.max())


def _in_unit(given: Weighted, least: float, unit: float) -> Weighted:
    """The same with costs from `least` on, in another unit, where a row carries weight."""
    cost = np.where(given.weight > 0, (given.cost - least) / unit, 0.0)
    return Weighted(cost, given.sure, given.doubtful, given.cluster)


class _Bound:
    """The bound of a difference as a function of (a, b), with a slope."""

    def __init__(self, named: Weighted, rival: Rival, gamma: float) -> None:
        other, n = rival.weighted, len(named.cost)
        self.gamma = gamma
        self.estimates = named.estimate - other.estimate
        self.means = float(
            (named.weight * named.cost).sum() / n - (other.weight * other.cost).sum() / n
        )
        self.room = np.array([1 - named.weight.sum() / n, other.weight.sum() / n - 1])
        first, second = named.doubtful / n, other.doubtful / n
        same = rival.same & (first > 0) & (second > 0)
        self.parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = [
            _part(first, named.cost, second, other.cost, same),
            _part(first, named.cost, 0 * second, other.cost, ~same & (first > 0)),
            _part(0 * first, named.cost, second, other.cost, ~same & (second > 0)),
        ]

    def __call__(self, at: Float[np.ndarray, " 2"]) -> tuple[float, Float[np.ndarray, " 2"]]:
        straight = self.means + float(self.room @ at)
        value, slope = self.estimates, np.zeros(2)
        if straight > value:
            value, slope = straight, self.room.copy()
        for start, first, second in self.parts:
            v = start - first * at[0] + second * at[1]
            value += float(h(v, self.gamma).sum())
            steep = np.where(v > 0, self.gamma - 1, 1 / self.gamma - 1)
            slope += np.array([-(steep @ first), steep @ second])
        return value, slope


def _part(
    first: np.ndarray, cost: np.ndarray, second: np.ndarray, other: np.ndarray, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of some rows: first · C − second · C', first and second."""
    first, second = first[rows], second[rows]
    return first * cost[rows] - second * other[rows], first, second
