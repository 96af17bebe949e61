"""Intervals of a cost per case within the possible costs, with room for unseen errors.

Two things are known of a policy's cost before any weight is: it lies between that of the cheapest
and that of the most expensive case [afape, eq. 1], and n cases without an error leave room for
errors. It must not know how an estimator weighs, nor the names of estimators.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from frugal.core.table import Table
from frugal.judge.estimator import Terms
from frugal.judge.intervals import cut_interval
from frugal.judge.sums import Tally, WeightSums
from frugal.studies.afape.positivity import Finding

UNSEEN_CASES = 3.0  # of n without one, that a 95 % interval leaves room for: −log 0.05, rounded up
ROUNDING = 1e-9  # of the range of a cost


@dataclass(frozen=True)
class CostRange:
    """Bounds on the cost of a case, unit of the data set.

    Attributes:
        least: of the cheapest set of panels and the cheapest decision.
        most: of the most expensive set and decision.
        least_error: the cheapest decision alone; 0 where right ones are free.
        most_error: the most expensive decision alone.
    """

    least: float
    most: float
    least_error: float
    most_error: float


@dataclass(frozen=True)
class UnseenErrors:
    """How far costs of decisions that no row shows may move a mean, unit of the data set.

    Attributes:
        below: to be taken off the lower end of an interval.
        above: to be added to its upper end.
        findings: the warning, or none.
    """

    below: float
    above: float
    findings: tuple[Finding, ...]


def cost_range(table: Table) -> CostRange:
    """Bounds on the cost of a case: sets of panels from none to all, and any decision."""
    panels, decisions = table.action_cost, table.misclassification_cost
    least, most = float(decisions.min()), float(decisions.max())
    if table.numeric is not None:
        least, most = 0.0, float(table.numeric.largest_costs.max())
    return CostRange(
        least=float(np.minimum(panels, 0).sum()) + least,
        most=float(np.maximum(panels, 0).sum()) + most,
        least_error=least,
        most_error=most,
    )


def unseen_errors(costs: "ErrorCosts", weight: WeightSums, within: CostRange) -> UnseenErrors:
    """Interval from a sample in which all decisions cost the same, c: the rule of three.

        below = 3/n · (c − least_error),   above = 3/n · (most_error − c),   3/n at most 1

    with n Kish's effective sample size. If more than 3/n of all cases had another cost, n cases
    without one had a probability below (1 − 3/n)ⁿ < 5 %; Hanley & Lippman-Hand (J. Am. Med. Assoc.
    249, 1983). Where costs vary among the rows with weight, nothing is added.

    Args:
        costs: of decisions, by the terms of an estimator; at least one row with weight.
        weight: of the same rows.
        within: possible costs of decisions.
    """
    cost = costs.only(within)
    if cost is None or within.most_error == within.least_error:
        return UnseenErrors(0.0, 0.0, ())
    n = weight.effective
    share = min(1.0, UNSEEN_CASES / n)
    below, above = share * (cost - within.least_error), share * (within.most_error - cost)
    finding = Finding(
        "error_cost_without_spread",
        f"Every row with weight has the same misclassification cost, {cost:.4g}, of which the "
        f"standard error makes a certainty; an effective sample size of {n:.1f} leaves room for "
        f"{share:.1%} of cases with another one (3/n), by which the interval is longer.",
    )
    return UnseenErrors(max(below, 0.0), max(above, 0.0), (finding,))


def cost_interval(
    centre: float, low: float, high: float, unseen: UnseenErrors, within: CostRange
) -> tuple[float, float]:
    """An interval of a cost with room for unseen errors, cut to the possible costs of a case; see
    `cut_interval`. NaN stays NaN.
    """
    low, high = low - unseen.below, high + unseen.above
    return cut_interval(centre, low, high, least=within.least, most=within.most)


@dataclass(frozen=True, eq=False)
class CostInterval:
    """Intervals of one estimated cost, at any level: the higher it is, the longer they are.

    Attributes:
        value: estimated cost per case.
        around: level → ends of the interval of the estimator alone.
        unseen: room for errors that no row shows.
        within: possible costs of a case.
    """

    value: float
    around: Callable[[float], tuple[float, float]]
    unseen: UnseenErrors
    within: CostRange

    def at(self, level: float) -> tuple[float, float]:
        """Lower and upper end, see `cost_interval`."""
        return cost_interval(self.value, *self.around(level), self.unseen, self.within)


def range_findings(value: float, within: CostRange) -> tuple[Finding, ...]:
    """`outside_range`: an estimate that no policy's cost can be.

    Args:
        value: estimated cost per case.
        within: possible costs of a case.
    """
    slack = ROUNDING * (within.most - within.least)
    if within.least - slack <= value <= within.most + slack:
        return ()
    return (
        Finding(
            "outside_range",
            f"The estimate is {value:.4g}, but a case costs {within.least:.4g} to "
            f"{within.most:.4g}: the weights do not average to 1, or some are negative in effect; "
            f"the interval is that around the nearest cost that can be.",
        ),
    )


@dataclass(frozen=True, eq=False)
class ErrorCosts:
    """Statistics of the costs of decisions: whether they are the same in all rows.

    Attributes:
        tally: of the misclassification cost alone.
        least, most: of a row with weight; infinite, and minus it, without one.
        first: of the first row with weight; NaN without one.
        added: a row without weight adds to the numerator.
        farthest: largest influence of a row, about the ratio of the first block.
    """

    tally: Tally
    least: float
    most: float
    first: float
    added: bool
    farthest: float

    @classmethod
    def of(cls, terms: Terms, outcome: int, before: "ErrorCosts | None" = None) -> "ErrorCosts":
        """Of some rows, which come after others.

        Args:
            terms: of an estimator.
            outcome: column of the misclassification cost.
            before: of the first block, if this is not the first.
        """
        part = Terms(terms.numerator[:, [outcome]], terms.denominator, terms.weight)
        used, numerator = terms.weight > 0, part.numerator[:, 0]
        tally = Tally.of(part, 0, None if before is None else before.tally.centre)
        costs: Float[np.ndarray, " u"] = numerator[used] / terms.weight[used]
        (centre, mean) = tally.centre
        far = np.abs((part.numerator - part.denominator[:, None] * centre) / mean)
        return cls(
            tally,
            float(costs.min(initial=np.inf)),
            float(costs.max(initial=-np.inf)),
            float(costs[0]) if len(costs) else np.nan,
            bool(numerator[~used].any()),
            float(far.max(initial=0.0)),
        )

    def __add__(self, other: "ErrorCosts") -> "ErrorCosts":
        return ErrorCosts(
            self.tally + other.tally,
            min(self.least, other.least),
            max(self.most, other.most),
            other.first if np.isnan(self.first) else self.first,
            self.added or other.added,
            max(self.farthest, other.farthest),
        )

    def only(self, within: CostRange) -> float | None:
        """The one cost of a decision that all rows with weight have; None where they differ.

        Either each row's numerator is its weight times that cost, or no row moves the estimate.
        """
        slack = ROUNDING * (within.most_error - within.least_error)
        if self.most - self.least <= slack and not self.added:
            return self.first
        if self.farthest <= slack:
            return float(self.tally.estimate[0])
        return None
