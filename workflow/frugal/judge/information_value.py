"""Expected value of further records of a kind: what the policy that is chosen then saves a case.

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

from collections.abc import Callable
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


def of_knowing(mean: Float[np.ndarray, " k"], covariance: Float[np.ndarray, "k k"]) -> float:
    """EVPI a case."""
    return max(float(mean.min()) - least_expected(mean, covariance), 0.0)


def of_records(
    mean: Float[np.ndarray, " k"],
    covariance: Float[np.ndarray, "k k"],
    now: Float[np.ndarray, "k k"],
    then: Float[np.ndarray, "k k"],
) -> float:
    """EVSI a case.

    Args:
        mean: of the costs, given the present records. (k,)
        covariance: of them. (k, k)
        now: of the estimates from the present records. (k, k)
        then: the same once the further ones are there. (k, k)
    """
    return of_knowing(mean, _of_later_mean(covariance, now, then))


def _of_later_mean(covariance: np.ndarray, now: np.ndarray, then: np.ndarray) -> np.ndarray:
    """P; nothing along directions in which estimates do not vary. (k, k)"""
    values, axes = np.linalg.eigh(now)
    varies = values > SMALLEST * max(float(values.max()), 0.0)
    root, axes = np.sqrt(values[varies]), axes[:, varies]
    white, back = axes / root, axes * root
    left, turn = np.linalg.eigh(white.T @ then @ white)
    left = np.clip(left, SMALLEST, 1.0)  # predicted variances of pairs need not fit together
    added = (turn * (1 / left - 1)) @ turn.T
    own = white.T @ covariance @ white
    posterior = np.linalg.solve(np.eye(len(own)) + own @ added, own)
    gained = own - (posterior + posterior.T) / 2
    return back @ gained @ back.T


class Prices(NamedTuple):
    """What a saving is worth, and what records cost.

    Attributes:
        cases: that are decided in all.
        record: price of a further record.
        set_up: price of recording any.
    """

    cases: float
    record: float
    set_up: float

    def net(self, value: float, records: float) -> float:
        """Expected net benefit of records: value · cases − set-up − price · records."""
        return self.cases * value - self.set_up - self.record * records

    def most(self, value: float) -> float:
        """Records beyond which even certainty, worth `value` a case, does not pay."""
        left = max(self.net(value, 0.0), 0.0)
        return left / self.record if self.record > 0 else np.inf


def best_number(net: Callable[[float], float], most: float) -> int:
    """Number of records of the largest net benefit, at most `most`; 0 where none pays.

    Several numbers are tried, as the value of few records may be convex (nothing, until there are
    enough to change the choice); between the neighbours of the best the search is by Brent's
    method, golden sections included.
    """
    if most < 1:
        return 0
    grid = np.linspace(0.0, np.log(most), 1 + int(np.ceil(PER_DECADE * np.log10(most))) or 1)
    values = [net(float(np.exp(x))) for x in grid]
    at = int(np.argmax(values))
    low, high = grid[max(at - 1, 0)], grid[min(at + 1, len(grid) - 1)]
    tried = [float(np.exp(grid[at]))]
    if high > low:
        found = minimize_scalar(
            lambda x: -net(float(np.exp(x))),
            bounds=(low, high),
            method="bounded",
            options={"xatol": CLOSE},
        )
        tried.append(float(np.exp(found.x)))
    number = round(max(tried, key=net))
    return number if net(number) > 0 else 0
