"""Unit costs that are known within ranges only: regret of policies, and where each is cheapest.

Costs are linear in unit costs, so the worst case over a box of them is exact. Policies stay
as they are; only their cost changes. Knows outcomes of policies, and no file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.table import SharedCosts, Table

SMALLEST = 1e-12
LOG2_POINTS = 12  # Sobol points by which shares of the box are counted


@dataclass(frozen=True, eq=False)
class ExtraCosts:
    """Costs of panels beyond a price for everyone: set-ups, and prices that differ by case.

    Attributes:
        shared: g set-ups.
        panel: those whose price differs by case, by index. (f,)
        fee: their prices by case, as shares of the largest one. (n, f)
        unit: cost of each of the e = g + f outcomes. (e,)
        names: of the outcomes.
    """

    shared: SharedCosts
    panel: Int[np.ndarray, " f"]
    fee: Float[np.ndarray, "n f"]
    unit: Float[np.ndarray, " e"]
    names: tuple[str, ...]

    @classmethod
    def of(cls, table: Table) -> "ExtraCosts":
        """Those of a table; none where every panel has one price."""
        panel = np.flatnonzero([action.name in table.fees for action in table.actions])
        fee = table.fee[:, panel]
        most = np.maximum(fee.max(axis=0, initial=0.0), SMALLEST)
        names = [f"set-up of {' + '.join(set_up.panels)}" for set_up in table.set_ups]
        names += [f"{table.actions[j].name}, by case" for j in panel]
        unit = np.append(table.shared_costs.cost, most)
        return cls(table.shared_costs, panel, fee / most, unit, tuple(names))

    def outcomes(self, acquired: Bool[np.ndarray, "n a"]) -> Float[np.ndarray, "n e"]:
        """Set-ups used and shares of fees paid by each case, between 0 and 1. (n, e)"""
        return np.hstack([self.shared.used(acquired), self.fee * acquired[:, self.panel]])

    def flat(self, price: Float[np.ndarray, " a"]) -> Float[np.ndarray, " a"]:
        """Prices without the fees in `outcomes`: a mean fee leaves the price of waiting. (a,)"""
        left = price.copy()
        fees = len(self.panel)
        mean = (self.fee * self.unit[len(self.unit) - fees :]).mean(axis=0)
        left[self.panel] = np.maximum(left[self.panel] - mean, 0.0)
        return left


@dataclass(frozen=True, eq=False)
class PriceBox:
    """Unit costs that lie between two ends. m outcomes.

    Attributes:
        usual: the unit costs that policies learned with. (m,)
        low: least of each. (m,)
        high: largest of each; equal to `low` where the cost is known. (m,)
    """

    usual: Float[np.ndarray, " m"]
    low: Float[np.ndarray, " m"]
    high: Float[np.ndarray, " m"]

    @classmethod
    def of(
        cls,
        usual: Float[np.ndarray, " m"],
        labels: Sequence[str],
        ranges: Mapping[str, Sequence[float]],
    ) -> "PriceBox":
        """The box of those costs that have a range by name; the others are known.

        Args:
            usual: every unit cost. (m,)
            labels: names of the m outcomes.
            ranges: name → least and largest cost.
        """
        ends = [ranges.get(name, (cost, cost)) for name, cost in zip(labels, usual, strict=True)]
        low, high = np.array(ends, dtype=np.float64).T
        return cls(usual, low, high)

    @property
    def uncertain(self) -> Bool[np.ndarray, " m"]:
        """Costs that are not known. (m,)"""
        return self.high > self.low

    def worst_regret(self, mean: Float[np.ndarray, "c m"]) -> Float[np.ndarray, " c"]:
        """Largest excess over the cheapest policy anywhere in the box, exact. (c,)

        Regret of policy i is max over j and prices p of p·(mean_i − mean_j)  [minimax regret;
        Savage, JASA 46, 1951]. The maximum over p is attained at a corner for each pair.

        Args:
            mean: outcomes of c policies. (c, m)
        """
        difference = mean[:, None] - mean[None]
        corner = np.where(difference > 0, self.high, self.low)
        return (difference * corner).sum(axis=2).max(axis=1)

    def share_cheapest(self, mean: Float[np.ndarray, "c m"]) -> Float[np.ndarray, " c"]:
        """Share of the box in which each policy is the cheapest, by Sobol points. (c,)

        Ties go to the first policy.
        """
        from scipy.stats import qmc  # takes a second to load; ranges are rare

        wide = self.uncertain
        unit = qmc.Sobol(int(wide.sum()), scramble=False).random_base2(LOG2_POINTS)
        points = np.tile(self.usual, (len(unit), 1))
        points[:, wide] = self.low[wide] + (self.high - self.low)[wide] * unit
        cheapest = (points @ mean.T).argmin(axis=1)
        return np.bincount(cheapest, minlength=len(mean)) / len(unit)

    def cheapest_between(
        self, mean: Float[np.ndarray, "c m"], at: int
    ) -> list[tuple[float, float] | None]:
        """Range of one unit cost in which each policy is cheapest, the others as usual; exact.

        Args:
            mean: outcomes of c policies. (c, m)
            at: which unit cost changes.

        Returns:
            For each policy the two ends, within the box; None where it is nowhere cheapest.
        """
        slope = mean[:, at]
        rest = mean @ self.usual - slope * self.usual[at]
        ranges: list[tuple[float, float] | None] = []
        for k in range(len(mean)):
            low, high = float(self.low[at]), float(self.high[at])
            steeper, apart = slope[k] - slope, rest - rest[k]  # cheaper where steeper · t ≤ apart
            if (apart[steeper == 0] < 0).any():
                ranges.append(None)
                continue
            high = min(high, *(apart[steeper > 0] / steeper[steeper > 0]), np.inf)
            low = max(low, *(apart[steeper < 0] / steeper[steeper < 0]), -np.inf)
            ranges.append((float(low), float(high)) if low < high else None)
        return ranges
