"""Expected value of further records of a kind: the saving a case by the policy chosen then.

Given the present records, costs θ of k policies are normal with the mean m and covariance C. Of
what further records add, the later mean of θ is normal, too, about m with the covariance

    P = C − (C⁻¹ + J)⁻¹,   J = Σ_then⁻¹ − Σ_now⁻¹

where Σ are the variances of estimates with and without the further records (Raiffa and Schlaifer
1961). Where the policy of least expected cost is followed, a case then costs less by

    EVSI = min m − E[min N(m, P)],   and by EVPI = min m − E[min N(m, C)] if costs were known

Of two policies E[min] is in closed form: with d the difference, s its standard deviation and
u = |d| / s it is min m − s · (φ(u) − u Φ(−u)), the unit normal loss. Of more it is a mean over
Sobol points, the same for every covariance. Policies stay as they are: that they learn from the
further records, too, is left out, and so are policies that cannot be judged yet. Knows arrays only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri
from scipy.stats.qmc import Sobol

LOG2_POINTS = 13  # Sobol points
SMALLEST = 1e-12  # share of the largest variance that is none
PER_DECADE, CLOSE = 4, 0.01  # numbers of records tried first; logs between which the search ends


def least_expected(mean: Float[np.ndarray, " k"], covariance: Float[np.ndarray, "k k"]) -> float:
    """Mean of the least of k normal costs."""
    best = int(mean.argmin())
    others = np.arange(len(mean)) != best
    above = (mean - mean[best])[others]
    part = covariance - covariance[best]
    spread = (part - part[:, [best]])[np.ix_(others, others)]  # of differences to the best
    if not others.any():
        return float(mean[best])
    if len(above) == 1:
        return float(mean[best]) - _loss(float(above[0]), np.sqrt(max(float(spread[0, 0]), 0.0)))
    values, axes = np.linalg.eigh(spread)
    drawn = above + _normal(len(above)) @ (axes * np.sqrt(np.maximum(values, 0.0))).T
    return float(mean[best] + np.minimum(drawn.min(axis=1), 0.0).mean())


def _loss(distance: float, spread: float) -> float:
    """E[max(−X, 0)] of X ~ N(distance, spread²)."""
    if spread <= 0:
        return 0.0
    u = distance / spread
    return float(spread * (np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi) - u * ndtr(-u)))


@cache
def _normal(dimensions: int) -> Float[np.ndarray, "b d"]:
    """Quasi-random standard normal points. (b, d)"""
    return ndtri(Sobol(dimensions, rng=0).random_base2(LOG2_POINTS))


@dataclass(frozen=True, eq=False)
class Belief:
    """Costs of k policies as the present records leave them: one of s normal laws.

    Which law holds is taken as known when a policy is chosen: values are means over the laws.

    Attributes:
        weight: probability of each law. (s,)
        mean: of the costs; a constant for all does not matter. (s, k)
        covariance: of the costs. (s, k, k)
        now: of their estimates from the present records, as sampled. (k, k)
    """

    weight: Float[np.ndarray, " s"]
    mean: Float[np.ndarray, "s k"]
    covariance: Float[np.ndarray, "s k k"]
    now: Float[np.ndarray, "k k"]

    @property
    def perfect(self) -> float:
        """EVPI a case."""
        return self._mean_saving(self.covariance)

    def sample(self, then: Float[np.ndarray, "k k"]) -> float:
        """EVSI a case, by the covariance of the estimates with the further records."""
        return self._mean_saving([_of_later_mean(each, self.now, then) for each in self.covariance])

    def _mean_saving(self, spread: Sequence[np.ndarray] | np.ndarray) -> float:
        savings = [_saving(m, p) for m, p in zip(self.mean, spread, strict=True)]
        return float(self.weight @ np.array(savings))


def _saving(mean: np.ndarray, covariance: np.ndarray) -> float:
    return max(float(mean.min()) - least_expected(mean, covariance), 0.0)


def _of_later_mean(covariance: np.ndarray, now: np.ndarray, then: np.ndarray) -> np.ndarray:
    """P; nothing along directions in which estimates do not vary. (k, k)"""
    values, axes = np.linalg.eigh(now)
    varies = values > SMALLEST * max(float(values.max()), 0.0)
    root, axes = np.sqrt(values[varies]), axes[:, varies]
    white, back = axes / root, axes * root
    left, turn = np.linalg.eigh(white.T @ then @ white)
    left = np.clip(left, SMALLEST, 1.0)  # predicted variances of pairs need not fit together
    added = (turn * (1 / left - 1)) @ turn.T
    projected = white.T @ covariance @ white
    posterior = np.linalg.solve(np.eye(len(projected)) + projected @ added, projected)
    gained = projected - (posterior + posterior.T) / 2
    return back @ gained @ back.T


@dataclass(frozen=True, eq=False)
class Kind:
    """Further records of a kind.

    Attributes:
        price: of a record.
        most: number that there can be.
        then: number of records → covariance of the estimates with them.
    """

    price: float
    most: int | float
    then: Callable[[int | float], Float[np.ndarray, "k k"]]


class Worth(NamedTuple):
    """Value and cost of records of a kind.

    Attributes:
        records: their number.
        value: EVSI a case.
        cost: of all these records, with the set-up.
        net: expected net benefit: the value for all cases, less the cost.
        best: number of the largest net benefit; 0 where none pays.
        best_net: that.
    """

    records: int
    value: float
    cost: float
    net: float
    best: int
    best_net: float


def worth(belief: Belief, kind: Kind, records: int, cases: float, set_up: float = 0.0) -> Worth:
    """Of at most so many records, and the number that is best.

    Args:
        belief: costs as the present records leave them.
        kind: of records.
        records: number; all that there can be where it is more.
        cases: that are decided in all, and cost less by the value.
        set_up: price of recording any.
    """

    def net(number: int | float) -> float:
        return cases * belief.sample(kind.then(number)) - set_up - kind.price * number

    number = int(min(records, kind.most))
    cost = set_up + kind.price * number
    left = max(cases * belief.perfect - set_up, 0.0)  # certainty pays for no more records
    able = min(kind.most, left / kind.price) if kind.price > 0 else kind.most
    best = _best_number(net, able) if left > 0 else 0
    value = belief.sample(kind.then(number))
    return Worth(number, value, cost, cases * value - cost, best, net(best) if best else 0.0)


def _best_number(net: Callable[[int | float], float], most: int | float) -> int:
    """Number of records of the largest net benefit; 0 where none pays.

    Several numbers are tried, as the value of few records may be convex (nothing, until there are
    enough to change the choice); the search between the neighbours of the best narrows by golden
    sections, or faster where it can (Brent).
    """
    if most < 1:
        return 0
    grid = np.linspace(0.0, np.log(most), 2 + int(PER_DECADE * np.log10(most)))
    at = int(np.argmax([net(float(np.exp(x))) for x in grid]))
    ends = (grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)])
    optimum = minimize_scalar(
        lambda x: -net(float(np.exp(x))), bounds=ends, method="bounded", options={"xatol": CLOSE}
    )
    tried = {int(np.exp(grid[at]) + 1e-9), round(float(np.exp(optimum.x)))}
    number = max(sorted(tried), key=net)
    return number if net(number) > 0 else 0
