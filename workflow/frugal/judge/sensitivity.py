"""The range of a weighted estimate where hidden causes shift the probabilities of recording.

The marginal sensitivity model (Tan, J. Am. Stat. Assoc. 101, 2006): a row carries weight because
its record holds a *set* of panels, all that the policy acquires there and s. Hidden causes change
the odds that the record holds this set by a factor between 1/Γ and Γ, for each row its own. Γ
bounds the odds of each set, not of each panel: two panels whose odds change by 2 each may change
those of the set by 4. A randomised policy may end with a set on some records more likely than
on others: then e is the chance that a record lets it, as a share of the largest, and Γ bounds the
odds of the records that let it at least so much, for any amount, from which those of e follow
(Jensen).

With e the fitted probability of the set, the weight w = w e + w (1 − e) represents the row itself
and for rows like it that lack the set. The odds touch the second part alone, which becomes
z w (1 − e) with z in [1/Γ, Γ]. Knows no policy and no estimator.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import DataError
from frugal.judge.estimator import Terms, require
from frugal.judge.intervals import cluster_sums, influence, spread_of


@dataclass(frozen=True, eq=False)
class Weighted:
    """A self-normalised estimate, Σ w C / Σ w, and how far its weights can be trusted; n rows.

    Attributes:
        cost: C, unit of the data set; 0 where the weight is zero. (n,)
        sure: part of the weight that represents the row itself, w e. (n,)
        doubtful: part that represents rows without the set, w (1 − e). (n,)
        cluster: of each row, numbered from 0 on, which count as one in errors; None where each
            is its own cluster. (n,)
    """

    cost: Float[np.ndarray, " n"]
    sure: Float[np.ndarray, " n"]
    doubtful: Float[np.ndarray, " n"]
    cluster: Int[np.ndarray, " n"] | None = None

    @classmethod
    def of(
        cls,
        cost: Float[np.ndarray, " n"],
        weight: Float[np.ndarray, " n"],
        chance: Float[np.ndarray, " n"],
        cluster: Int[np.ndarray, " n"] | None = None,
    ) -> "Weighted":
        """From costs, weights, e and clusters; costs and e are read where the weight is not zero.

        Raises:
            DataError: e is outside (0, 1] or a cost is not finite in a row with weight.
        """
        used = weight > 0
        require(used & ~np.isfinite(cost), cost, "cost", "finite numbers")
        require(used & ~((chance > 0) & (chance <= 1)), chance, "probability of a set", "(0, 1]")
        probability = np.where(used, chance, 1.0)
        return cls(
            np.where(used, cost, 0.0), weight * probability, weight * (1 - probability), cluster
        )

    @property
    def weight(self) -> Float[np.ndarray, " n"]:
        """W. (n,)"""
        return self.sure + self.doubtful

    @property
    def estimate(self) -> float:
        """Σ w C / Σ w."""
        return float(self.weight @ self.cost / self.weight.sum())

    def mirrored(self) -> "Weighted":
        """The same of −C, whose largest value is minus the smallest of C."""
        return Weighted(-self.cost, self.sure, self.doubtful, self.cluster)

    def error(self, psi: Float[np.ndarray, " n"]) -> float:
        """Standard error by influence terms; infinite where fewer than two clusters have weight."""
        weight = self.weight
        if self.cluster is not None:
            count = int(self.cluster.max()) + 1
            weight, summed = (cluster_sums(values, self.cluster, count) for values in (weight, psi))
            psi = summed * (count / len(psi))
        return float(spread_of(psi[:, None], weight)[0])


@dataclass(frozen=True, eq=False)
class Range:
    """Range of an estimate, for each of g bounds Γ, unit of the data set.

    Attributes:
        low, high: ends of the range. (g,)
        low_error, high_error: their standard errors by influence terms at the worst weights, the
            nuisances taken as known. (g,)
    """

    low: Float[np.ndarray, " g"]
    low_error: Float[np.ndarray, " g"]
    high: Float[np.ndarray, " g"]
    high_error: Float[np.ndarray, " g"]


def plain_range(weighted: Weighted, gammas: Float[np.ndarray, " g"]) -> Range:
    """Range of Σ C (w e + z w (1 − e)) / Σ (w e + z w (1 − e)), each z in [1/Γ, Γ].

    Nothing is assumed of the weights but these bounds. The largest value λ has z = Γ where C > λ
    and 1/Γ elsewhere: rows are sorted by cost once, and λ is found by cumulative sums.
    [Zhao, Small & Bhattacharya, J. R. Stat. Soc. B 81, 2019]

    Args:
        weighted: of the estimate; at least one row with weight.
        gammas: Γ, each 1 or more. (g,)
    """
    _check(weighted, gammas)
    high, high_error = _plain_highest(weighted, gammas)
    low, low_error = _plain_highest(weighted.mirrored(), gammas)
    return Range(-low, low_error, high, high_error)


def _plain_highest(
    weighted: Weighted, gammas: Float[np.ndarray, " g"]
) -> tuple[Float[np.ndarray, " g"], Float[np.ndarray, " g"]]:
    """Upper ends and their standard errors. (g,) each"""
    used = np.flatnonzero(weighted.weight > 0)
    used = used[np.argsort(-weighted.cost[used], kind="stable")]
    centre = weighted.estimate
    cost = weighted.cost[used] - centre
    sure, doubtful = weighted.sure[used], weighted.doubtful[used]
    mass = np.concatenate([[0.0], np.cumsum(doubtful)])
    burden = np.concatenate([[0.0], np.cumsum(doubtful * cost)])

    def ratio(count: Int[np.ndarray, " g"]) -> tuple[np.ndarray, np.ndarray]:
        """Value and sum of weights where the `count` most expensive rows have z = Γ."""
        top = (sure @ cost) + gammas * burden[count] + (burden[-1] - burden[count]) / gammas
        bottom = sure.sum() + gammas * mass[count] + (mass[-1] - mass[count]) / gammas
        return top / bottom, bottom

    count = np.zeros(len(gammas), dtype=np.int64)
    value, total = ratio(count + int((cost > 0).sum()))
    while True:  # λ rises until the rows above it are those that it is made of
        above = np.searchsorted(-cost, -value, side="left")
        if (above == count).all():
            break
        count = above
        value, total = ratio(count)
    error = np.empty(len(gammas))
    n = len(weighted.cost)
    for g, gamma in enumerate(gammas):
        worst = sure + np.where(np.arange(len(used)) < count[g], gamma, 1 / gamma) * doubtful
        psi = np.zeros(n)
        psi[used] = n / total[g] * worst * (cost - value[g])
        error[g] = weighted.error(psi)
    return centre + value, error


@dataclass(frozen=True, eq=False)
class CostQuantiles:
    """Quantiles of the cost given fully observed variables, by cell, learned on other rows.

    Attributes:
        cell: of each row. (n,)
        low: the 1/(1 + Γ) quantile of each cell. (c, g)
        high: the Γ/(1 + Γ) quantile of each cell. (c, g)
    """

    cell: Int[np.ndarray, " n"]
    low: Float[np.ndarray, "c g"]
    high: Float[np.ndarray, "c g"]


def sharp_range(
    weighted: Weighted, gammas: Float[np.ndarray, " g"], quantiles: CostQuantiles
) -> Range:
    """The part of the plain range consistent with the fully observed variables x.

    True weights average one for every x, so for any function Q of x

        J ≤ mean(Q) + Σ [w (C − Q) + h(w (1 − e) (C − Q))] / n,   h(v) = (Γ − 1) v⁺ + (1 − 1/Γ) v⁻

    with v⁻ ≥ 0, and least if Q is the Γ/(1 + Γ) quantile of C given x.
    [Dorn & Guo, J. Am. Stat. Assoc. 118, 2023; Dorn, Guo & Kallus 2024, with ρ = Q]

    The fitted weights average one only about, and where hidden causes act need not. So the end is
    taken from the estimate or, if that is further out, from mean(Q) + Σ w (C − Q) / n, which are
    the same by the graph: then the fitted weights themselves are among those allowed, the estimate
    lies in its range, and at Γ = 1 is all of it. Never wider than the plain range. An end that
    holds for a larger Γ holds for a smaller one: each is the nearest of those of its Γ or more, so
    that ranges are nested for any error of the quantiles. A tail regression ρ of its own is not
    used: it would need fitted weights that average one given x.

    Args:
        weighted: of the estimate; at least one row with weight.
        gammas: Γ, each 1 or more. (g,)
        quantiles: of rows and Γ; only the width depends on them being right.
    """
    _check(weighted, gammas)
    unrestricted = plain_range(weighted, gammas)
    high = _sharp_highest(weighted, gammas, quantiles.cell, quantiles.high)
    mirrored = _sharp_highest(weighted.mirrored(), gammas, quantiles.cell, -quantiles.low)
    high, high_error = _nested(*_nearer((unrestricted.high, unrestricted.high_error), high), gammas)
    low, low_error = _nested(
        *_nearer((-unrestricted.low, unrestricted.low_error), mirrored), gammas
    )
    return Range(-low, low_error, high, high_error)


def _sharp_highest(
    weighted: Weighted,
    gammas: Float[np.ndarray, " g"],
    cell: Int[np.ndarray, " n"],
    quantile: Float[np.ndarray, "c g"],
) -> tuple[Float[np.ndarray, " g"], Float[np.ndarray, " g"]]:
    """Upper ends and their standard errors. (g,) each"""
    weight, centre = weighted.weight, weighted.estimate
    ends, errors = np.empty(len(gammas)), np.empty(len(gammas))
    psi = influence(Terms((weight * weighted.cost)[:, None], weight, weight))[:, 0]
    for g, gamma in enumerate(gammas):
        predicted = quantile[cell, g]
        rest = weighted.cost - predicted
        shift = h(weighted.doubtful * rest, float(gamma))
        balanced = predicted + weight * rest
        from_balanced = balanced.mean() > centre
        ends[g] = max(float(balanced.mean()), centre) + shift.mean()
        per_row = shift + (balanced if from_balanced else psi)
        errors[g] = weighted.error(per_row - per_row.mean())
    return ends, errors


def h(value: Float[np.ndarray, " n"], gamma: float) -> Float[np.ndarray, " n"]:
    """The most that (z − 1) v can be with z in [1/Γ, Γ]. (n,)"""
    return np.maximum((gamma - 1) * value, (1 / gamma - 1) * value)


def _nearer(
    first: tuple[np.ndarray, np.ndarray], second: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The smaller of two ends, with its standard error."""
    smaller = first[0] <= second[0]
    return np.where(smaller, first[0], second[0]), np.where(smaller, first[1], second[1])


def _nested(
    end: Float[np.ndarray, " g"], error: Float[np.ndarray, " g"], gammas: Float[np.ndarray, " g"]
) -> tuple[Float[np.ndarray, " g"], Float[np.ndarray, " g"]]:
    """The least end of each Γ or more, with its standard error."""
    least = [np.where(gammas >= gamma, end, np.inf).argmin() for gamma in gammas]
    return end[least], error[least]


def _check(weighted: Weighted, gammas: Float[np.ndarray, " g"]) -> None:
    require(~(gammas >= 1), gammas, "bound Γ", "[1, ∞)")
    if not (weighted.weight > 0).any():
        raise DataError("no row carries weight; at least one is needed for a range")


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

    True weights of either policy average one, so for all numbers a and b

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
    named, other = (_in_unit(part, least, unit) for part in (named, rival.weighted))
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


def _limits(weighted: Weighted) -> tuple[float, float]:
    cost = weighted.cost[weighted.weight > 0]
    return float(cost.min()), float(cost.max())


def _in_unit(weighted: Weighted, least: float, unit: float) -> Weighted:
    """The same with costs from `least` on, in another unit, where a row carries weight."""
    cost = np.where(weighted.weight > 0, (weighted.cost - least) / unit, 0.0)
    return Weighted(cost, weighted.sure, weighted.doubtful, weighted.cluster)


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
