"""Weighted set covers of the recourse study: instance, proven solutions, and labelled units.

Knows no solver, no generator of data and no network.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int, Integer

from frugal.core.errors import DataError

COST_DECIMALS = 6  # costs are exact multiples of 10⁻⁶, so that two equal costs are a tie
MOST_COST = 8.5e9  # of all actions together: below 2³³ a double is one multiple of 10⁻⁶ at most


def in_millionths(price: Float[np.ndarray, "*s"]) -> Int[np.ndarray, "*s"]:
    """Prices as whole multiples of 10⁻⁶, exact up to `MOST_COST`.

    Args:
        price: from 0; any shape.

    Raises:
        DataError: a price has more than `COST_DECIMALS` decimals, beyond its own rounding error.
    """
    scale = 10**COST_DECIMALS
    near = np.rint(price * scale)
    for step in (-1, 1):  # the product may be rounded to a neighbour
        closer = np.abs((near + step) / scale - price) < np.abs(near / scale - price)
        near = np.where(closer, near + step, near)
    uneven = np.abs(near / scale - price) > np.maximum(1e-9, np.spacing(price))
    if uneven.any():
        raise DataError(
            f"a price is {float(price[uneven].flat[0])!r}; at most {COST_DECIMALS} decimals are "
            "allowed, for exact ties"
        )
    return near.astype(np.int64)


def check_total(price: Float[np.ndarray, " a"], subject: str) -> None:
    """Refuses prices whose sum is too large to be exact."""
    with np.errstate(over="ignore"):
        total = float(price.sum())
    if total > MOST_COST:
        raise DataError(
            f"{subject} sum to {total:.3g}; at most {MOST_COST:.3g} can be compared exactly; use a "
            "larger unit"
        )


def price_text(price: float, unit: str = "") -> str:
    """A price with all its decimals, and no more."""
    return f"{price:.{COST_DECIMALS}f}".rstrip("0").rstrip(".") + (f" {unit}" if unit else "")


@dataclass(frozen=True, eq=False)
class CoverInstance:
    """Actions that raise features to thresholds. Shapes: a actions, d features, g groups of units.

    A set of actions turns a unit with features x positive if x_j + Σᵢ provides_ij ≥ threshold_j for
    every feature j. With yes/no features, thresholds 0 or 1 and `provides` boolean, this is a
    weighted set cover whose rows are the features that the unit lacks.

    Attributes:
        cost: of each action, unit of the catalogue; never below zero, at most six decimals. (a,)
        provides: amount that an action adds to a feature: yes/no, or whole numbers from 0. (a, d)
        thresholds: value that a feature needs for a positive decision. (d,)
        access: True where units of a group may take an action. (g, a)
    """

    cost: Float[np.ndarray, " a"]
    provides: Bool[np.ndarray, "a d"] | Integer[np.ndarray, "a d"]
    thresholds: Integer[np.ndarray, " d"]
    access: Bool[np.ndarray, "g a"]

    def __post_init__(self) -> None:
        wrong = ~(np.isfinite(self.cost) & (self.cost >= 0))
        if wrong.any():
            i = int(np.argmax(wrong))
            raise DataError(f"action {i} costs {self.cost[i]}; a cost is a number from 0")
        check_total(self.cost, "the costs")
        in_millionths(self.cost)
        if self.provides.dtype != bool and (self.provides < 0).any():
            i, j = (int(v) for v in np.argwhere(self.provides < 0)[0])
            raise DataError(
                f"action {i} adds {int(self.provides[i, j])} to feature {j}; an action never makes "
                "a feature worse"
            )

    @cached_property
    def gain(self) -> Int[np.ndarray, "a d"]:
        """Amount that an action adds to a feature, as whole numbers. (a, d)"""
        return self.provides.astype(np.int64)

    @cached_property
    def cost_units(self) -> Int[np.ndarray, " a"]:
        """Costs as whole multiples of 10⁻⁶ of the catalogue's unit. (a,)"""
        return in_millionths(self.cost)

    def cost_of(self, chosen: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, " n"]:
        """Cost of each set of actions, free of rounding. (n,)"""
        return chosen.astype(np.int64) @ self.cost_units / 10**COST_DECIMALS

    def deficit(self, features: np.ndarray) -> Int[np.ndarray, "n d"]:
        """How much each feature of each unit lacks to its threshold; 0 where it is met. (n, d)"""
        return np.maximum(self.thresholds.astype(np.int64) - features.astype(np.int64), 0)


@dataclass(frozen=True, eq=False)
class Covers:
    """Cheapest action sets with their certificates. Shapes: n units, m actions at most.

    Attributes:
        action_set: indices of the chosen actions, ascending, padded with −1. (n, m)
        cost: of the set; ∞ where no set of actions the unit may take is enough. (n,)
        lower_bound: no set is cheaper than this; equal to `cost` where optimality is proven. (n,)
        optima: number of irredundant sets of that cost, of those seen where the search did not
            finish; 0 if uncoverable. (n,)
        unique: True where it is proven that no other set has that cost: one irredundant optimum,
            and no action of cost zero that could be added to it. False where the search stopped
            before that was settled; `tied` is then False, too. (n,)
        finished: True where every set that could be as cheap was looked at. (n,)
        addable: True where some action of cost zero is not in the set: it is not unique. (n,)
        nodes: branches that the search opened; 0 where listing sets by cost was enough. (n,)
    """

    action_set: Int[np.ndarray, "n m"]
    cost: Float[np.ndarray, " n"]
    lower_bound: Float[np.ndarray, " n"]
    optima: Int[np.ndarray, " n"]
    unique: Bool[np.ndarray, " n"]
    finished: Bool[np.ndarray, " n"]
    addable: Bool[np.ndarray, " n"]
    nodes: Int[np.ndarray, " n"]

    @property
    def coverable(self) -> Bool[np.ndarray, " n"]:
        """True where some set of actions is enough. (n,)"""
        return np.isfinite(self.cost)

    @property
    def proven(self) -> Bool[np.ndarray, " n"]:
        """True where the lower bound meets the cost, uncoverable units included. (n,)"""
        return self.lower_bound >= self.cost

    @property
    def tied(self) -> Bool[np.ndarray, " n"]:
        """True where another set is known to cost the same. (n,)"""
        return self.settled & self.coverable & ~self.unique

    @property
    def settled(self) -> Bool[np.ndarray, " n"]:
        """True where it is known whether the cheapest set is the only one. (n,)"""
        return self.finished | (self.proven & (self.addable | (self.optima > 1)))


@dataclass(frozen=True, eq=False)
class LabelledUnits:
    """Units that need recourse, each with its one cheapest action set. Shapes: n units, d features.

    Attributes:
        features: the unit's state x. (n, d)
        action_set: indices of the cheapest actions, ascending, padded with −1. (n, m)
        cost: of that set, unit of the catalogue. (n,)
        optima: number of irredundant sets of that cost. (n,)
        group: row of `instance.access` that holds for the unit. (n,)
        instance: actions, costs, thresholds and access that the labels were proven with.
    """

    features: Bool[np.ndarray, "n d"]
    action_set: Int[np.ndarray, "n m"]
    cost: Float[np.ndarray, " n"]
    optima: Int[np.ndarray, " n"]
    group: Int[np.ndarray, " n"]
    instance: CoverInstance

    def __len__(self) -> int:
        return len(self.features)

    @property
    def size(self) -> Int[np.ndarray, " n"]:
        """Number of actions in each set. (n,)"""
        return (self.action_set >= 0).sum(axis=1)

    def take(self, rows: np.ndarray) -> "LabelledUnits":
        """The same labels restricted to rows (indices or a boolean mask)."""
        return LabelledUnits(
            self.features[rows],
            self.action_set[rows],
            self.cost[rows],
            self.optima[rows],
            self.group[rows],
            self.instance,
        )
