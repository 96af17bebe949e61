"""Panels of a data set and their costs, as its YAML has them."""

import math
from collections.abc import Iterator
from statistics import NormalDist
from typing import Annotated, Literal

from annotated_types import Gt, Le, Len

from frugal.config.blocks import (
    Block,
    Filled,
    Maybe,
    NonNegative,
    Positive,
    Text,
    Whole,
    duplicated,
    maybe,
    required,
    setting,
)

NORMAL_95 = NormalDist().inv_cdf(0.975)


class UncertainCost(Block):
    """A cost that is not known exactly: between two ends, or lognormal.

    Policies learn with the mean; the answer looks at the range.
    """

    low: Maybe[NonNegative] = maybe(
        "least cost, in `cost_unit`; every cost up to `to` is as likely", name="from"
    )
    high: Maybe[NonNegative] = maybe("largest cost, in `cost_unit`", name="to")
    median: Maybe[Positive] = maybe("of a lognormal cost, in `cost_unit`")
    sigma: Maybe[Annotated[float, Gt(0), Le(4)]] = maybe(
        "of a lognormal cost: standard deviation of its logarithm; at 4 the mean is 3,000 medians"
    )

    def _refusals(self) -> Iterator[str]:
        written = {
            key for key in ("low", "high", "median", "sigma") if getattr(self, key) is not None
        }
        if written not in ({"low", "high"}, {"median", "sigma"}):
            yield " must have either 'from' and 'to', or 'median' and 'sigma'"
        elif self.low is not None and self.high is not None and self.low > self.high:
            yield f" has 'from' {self.low:g} above 'to' {self.high:g}"

    @property
    def mean(self) -> float:
        """Expected cost."""
        if self.low is not None and self.high is not None:
            return (self.low + self.high) / 2
        assert self.median is not None
        assert self.sigma is not None
        return self.median * math.exp(self.sigma**2 / 2)

    @property
    def ends(self) -> tuple[float, float]:
        """Least and largest cost; of a lognormal one those that hold 95 % of its probability."""
        if self.low is not None and self.high is not None:
            return self.low, self.high
        assert self.median is not None
        assert self.sigma is not None
        factor = math.exp(NORMAL_95 * self.sigma)
        return self.median / factor, self.median * factor


class CostOfCase(Block):
    """A cost that differs from case to case and is known at the start."""

    column: Text = required("numeric column of a free panel that has it for each case")


class SetUpEntry(Block):
    """A cost that several panels share: the first of them pays for it."""

    panels: Annotated[Filled[str], Len(2)] = required("names of the panels that share it")
    cost: NonNegative = required("paid once, in `cost_unit`")


def mean_cost(cost: float | UncertainCost) -> float:
    """The cost itself, or the mean of an uncertain one."""
    return cost.mean if isinstance(cost, UncertainCost) else cost


class CostDraw(Block):
    """Law of the panel costs that are drawn, one draw per panel in their order."""

    distribution: Literal["uniform"] = required("name of the law")
    low: NonNegative = required("lowest cost, in `cost_unit`")
    high: NonNegative = required("highest cost, in `cost_unit`")
    seed: Whole = required("of the draw")

    def _refusals(self) -> Iterator[str]:
        if self.low > self.high:
            yield f".low is {self.low:g}, above `high`, {self.high:g}"


class PanelEntry(Block):
    """Features acquired together: either free, or with a cost."""

    name: Text = required("unique")
    columns: Filled[str] = required("that the panel reveals")
    free: bool = setting(False, "true: known for every unit before the first decision, at no cost")
    price: Maybe[NonNegative | Literal["drawn"] | UncertainCost | CostOfCase] = maybe(
        "of one acquisition in `cost_unit`: a number; uncertain `{from: 20, to: 35}` or "
        "`{median: 20, sigma: 0.3}`; of each case `{column: fee}`; or drawn (see `cost_draw`)",
        name="cost",
    )
    delay: NonNegative = setting(
        0, "time until the result is there; `waiting_cost` is the cost of one unit of it"
    )

    def _refusals(self) -> Iterator[str]:
        yield from duplicated(self.columns, ".columns", "column name")
        if self.free == (self.price is not None):
            yield f" ({self.name!r}) must be either 'free: true' or have a 'cost', not both"
        if self.free and self.delay:
            yield f" ({self.name!r}) is free, known at the start; 'delay' is {self.delay:g}, not 0"

    @property
    def cost(self) -> float | None:
        """Of one acquisition; None where it is drawn or of each case, 0 where the panel is free."""
        if self.price == "drawn" or isinstance(self.price, CostOfCase):
            return None
        return mean_cost(self.price or 0.0)

    @property
    def fee(self) -> str | None:
        """Column with the cost of each case; None where it does not differ."""
        return self.price.column if isinstance(self.price, CostOfCase) else None
