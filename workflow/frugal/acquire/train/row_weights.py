"""Weights of rows that have a set of panels, to count for rows that lack some of it.

A row that has all of a set S counts 1 / p(R_S = 1 | known columns, label), by the law of the answer
(`learn.record_law`), cross-fitted. Knows worlds; no trees, no networks and no rule.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.episodes import RowPanels
from frugal.core.world import World
from frugal.learn.record_law import Causes, RecordLaw

ENOUGH = 50.0  # effective units that hold a set, at which they count for half of a gain
LEAST_WEIGHTED = 100  # that have all of a set, for it to be tried


@dataclass(frozen=True, eq=False)
class RowWeights:
    """Of the units of a world. Shapes: n units, a panels.

    Attributes:
        world: the units.
        fold: of each; its probabilities come from the other folds. (n,)
    """

    world: World
    fold: Int[np.ndarray, " n"]

    @cached_property
    def law(self) -> RecordLaw:
        """Law of the missing panels, given all columns that no unit lacks, and the label."""
        world = self.world
        values = world.visible(np.arange(len(world)), world.available)
        columns = np.flatnonzero(np.isfinite(values).all(axis=0) & (np.ptp(values, axis=0) > 0))
        causes = [Causes(tuple(columns.tolist()), label=True)] * world.panels
        return RecordLaw(world.available, values, world.label, self.fold, causes, world.provides)

    def having(self, panels: Bool[np.ndarray, " a"]) -> Float[np.ndarray, " n"]:
        """1 / p(R_S = 1 | known columns, label) where a unit has all of a set, 0 elsewhere. (n,)"""
        has = np.asarray(self.world.available[:, panels].all(axis=1))
        return np.where(has, 1 / self.law.probability(panels), 0.0)

    def of(self, panels: Bool[np.ndarray, " a"]) -> Float[np.ndarray, " n"]:
        """The same, scaled to a mean of 1. (n,)

        All 0 where fewer than `LEAST_WEIGHTED` units have all of the set, which then is without
        support.
        """
        weight = self.having(panels)
        if np.count_nonzero(weight) < LEAST_WEIGHTED:
            return np.zeros(len(weight))
        return weight / weight.mean()

    def step(
        self, before: Bool[np.ndarray, " a"], after: Bool[np.ndarray, " a"]
    ) -> Float[np.ndarray, " n"]:
        """Weights of units for the gain of going on from one set to a larger one. (n,)

        The more units hold the larger set, by effective number, the more their weights count; the
        rest is that of the units that hold the panels that are new, with their values of others.
        """
        of_all, of_new = self.of(after), self.of(after & ~before)
        square = float(np.square(of_all).sum())
        effective = float(of_all.sum()) ** 2 / square if square else 0.0
        share = effective / (effective + ENOUGH)
        return share * of_all + (1 - share) * of_new

    def at(self, unit: Int[np.ndarray, " m"], acquired: RowPanels) -> Float[np.ndarray, " m"]:
        """Weight of each unit for the set at which it ends, which it may lack in part. (m,)"""
        sets, place = np.unique(acquired, axis=0, return_inverse=True)
        weight = np.zeros(len(unit))
        for number, panels in enumerate(sets):
            of_set = place.reshape(-1) == number
            weight[of_set] = self.having(panels)[unit[of_set]]
        return weight
