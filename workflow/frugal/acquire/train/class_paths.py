"""Paths of sets of panels for a label of more than two classes, at the least cost.

Each class has its own models of every set, which predict it against all others; probabilities are
scaled to sum to 1. Sets are searched by their cost out of fold; the next set of a path is bought
within a window of the expected cost of the best decision, which takes the place of the probability
of illness in `train.cascade`. Knows no files and no policy interface.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.kinds import Ground
from frugal.acquire.train.cascade import ERRORS, Sets, Walk, best_paths, weighted_mean
from frugal.acquire.train.payoff import SMALLEST
from frugal.acquire.train.tree_sets import (
    DIGITS,
    LEAST_ROWS,
    ConstantBeliefs,
    PanelSet,
    SetBeliefs,
    TreeRows,
    belief_edges,
    boosting_of,
    weighs,
)


@dataclass(frozen=True, eq=False)
class ClassSets:
    """Sets of panels with their cost, out of fold. n units, k classes.

    Attributes:
        beliefs: of each class against all others.
        label: class of each unit. (n,)
        errors: cost of predicting a class (column) for a unit of a class (row). (k, k)
    """

    beliefs: Sequence[SetBeliefs]
    label: Int[np.ndarray, " n"]
    errors: Float[np.ndarray, "k k"]
    _probability: dict[PanelSet, np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, ground: Ground, settings: Mapping[str, Any]) -> "ClassSets":
        """Of the records, with trees as the settings of an agent have them."""
        table, world = ground.table, ground.world(terminals=1)
        rng, boosting = ground.streams.generator("trees"), boosting_of(settings)
        every = np.ones(len(world), dtype=bool)
        rows = [
            TreeRows(
                replace(world, label=(table.label == c).astype(np.int64), classes=2),
                every,
                boosting,
                rng,
                weighs(settings),
                **ground.shared,
            )
            for c in range(len(table.classes))
        ]
        beliefs = [part.beliefs(boosting.repeats, linear=settings["linear"]) for part in rows]
        return cls(beliefs, table.label, table.misclassification_cost)

    def constant(self) -> "ClassSets":
        """The same units, of which no set shows anything but the shares of the classes."""
        beliefs = [ConstantBeliefs(part.rows, 1) for part in self.beliefs]
        return ClassSets(beliefs, self.label, self.errors)

    @property
    def rows(self) -> TreeRows:
        """The units."""
        return self.beliefs[0].rows

    @property
    def every(self) -> PanelSet:
        """All panels."""
        return self.rows.every

    def probability(self, panels: PanelSet) -> Float[np.ndarray, "n k"]:
        """Class probabilities given the set, by trees that did not see the unit. (n, k)"""
        if panels not in self._probability:
            each = np.column_stack([model.belief(panels) for model in self.beliefs])
            self._probability[panels] = scaled_to_one(each)
        return self._probability[panels]

    def least(self, panels: PanelSet) -> Float[np.ndarray, " n"]:
        """Expected cost of the best decision, as a share of the most expensive error. (n,)"""
        relative = self.errors / max(float(self.errors.max()), SMALLEST)
        return np.round((self.probability(panels) @ relative).min(axis=1), DIGITS)

    def loss(self, panels: PanelSet) -> Float[np.ndarray, " n"]:
        """Cost of the error of the best decision for each unit. (n,)"""
        decided = (self.probability(panels) @ self.errors).argmin(axis=1)
        return self.errors[self.label, decided]

    def able(self, panels: PanelSet) -> Bool[np.ndarray, " n"]:
        """Units that can have all of a set."""
        return np.all(self.rows.world.available[:, sorted(panels)], axis=1)

    def cost(self, panels: PanelSet) -> float:
        """Mean price and cost of errors, of units that can have all of it unless they are few.

        With weights it is that of no panel, and the weighted mean of the change.
        """
        able, cost = self.able(panels), self.loss(panels) + self.rows.price(panels)
        if self.rows.weights is not None and panels != self.rows.base:
            at_base = self.loss(self.rows.base) + self.rows.price(self.rows.base)
            mean, error = weighted_mean((cost - at_base)[None], self.rows.weight(panels)[None])
            return float(at_base.mean()) + mean + ERRORS * error
        return float((cost[able] if able.sum() >= LEAST_ROWS else cost).mean())

    def searched(self, most: int) -> dict[PanelSet, float]:
        """Sets and their cost: no panel, all, and a forward search; at most so many."""
        rows, chosen = self.rows, self.rows.base
        tried = {panels: self.cost(panels) for panels in (chosen, self.every) if rows.held(panels)}
        while len(tried) < most:
            grown = [chosen | {p} for p in rows.offered if rows.grows(chosen, p)]
            grown = [g for g in grown if g not in tried and self.able(g).sum() >= LEAST_ROWS]
            grown = grown[: most - len(tried)]
            tried |= {panels: self.cost(panels) for panels in grown}
            best = min([chosen, *grown], key=lambda panels: (tried[panels], sorted(panels)))
            if best == chosen:
                break
            chosen = best
        return tried

    def cheapest(self, most: int) -> PanelSet:
        """The set of least cost of a search."""
        tried = self.searched(most)
        return min(tried, key=lambda panels: (tried[panels], sorted(panels)))

    def alone(self, panels: PanelSet) -> "ClassWindows":
        """One set for every unit."""
        return ClassWindows(
            self, (panels,), (), (), self.cost(panels), self.rows.mean_price(panels)
        )

    def as_sets(self, panels: Sequence[PanelSet]) -> Sets:
        """Several sets, with the expected cost of the best decision in place of a belief."""
        least = np.stack([self.least(of_set) for of_set in panels])
        price = np.stack([self.rows.price(of_set) for of_set in panels])
        edges = [belief_edges(row) for row in least]
        return Sets(panels, self.rows, least, price, edges)

    def judged(
        self, path: Sequence[PanelSet], low: Sequence[float], high: Sequence[float]
    ) -> "ClassWindows":
        """A path with its windows, evaluated on all units."""
        walk = Walk.along(self.as_sets(path), range(len(path)))
        price, _ = walk.expected(walk.price, low, high)
        cost, error = walk.expected(self._losses(path) + walk.price, low, high)
        return ClassWindows(
            self, tuple(path), tuple(low), tuple(high), cost + ERRORS * error, price
        )

    def _losses(self, path: Sequence[PanelSet]) -> Float[np.ndarray, "s n"]:
        """Errors at each set of a path; where a set offers a unit nothing new, those before."""
        losses, available = [self.loss(path[0])], self.rows.world.available
        for before, after in pairwise(path):
            new = (available & self.rows.bits(after - before)).any(axis=1)
            losses.append(np.where(new, self.loss(after), losses[-1]))
        return np.stack(losses)


@dataclass(frozen=True, eq=False)
class ClassWindows:
    """Sets that contain each other, and when the next one is bought.

    Attributes:
        of: the models.
        sets: the first one is bought by everyone.
        low: expected cost of the best decision, as a share of the most expensive error, from which
            the next set is bought. (s − 1,)
        high: below which it is.
        cost: mean, out of fold.
        price: mean, on the same units.
    """

    of: ClassSets
    sets: tuple[PanelSet, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    cost: float
    price: float


LearnsClasses = Callable[[ClassSets, Mapping[str, Any]], ClassWindows]


def scaled_to_one(probability: Float[np.ndarray, "m k"]) -> Float[np.ndarray, "m k"]:
    """Probabilities of each class against all others, scaled to sum to 1. (m, k)"""
    return probability / probability.sum(axis=1, keepdims=True)


def cheapest_path(sets: ClassSets, settings: Mapping[str, Any]) -> ClassWindows:
    """The path of least cost out of fold, of at most so many gates.

    Settings: `gates`, `sets`; see `acquire.policies.cascade`.
    """
    searched = sorted(sets.searched(settings["sets"]), key=lambda s: (len(s), sorted(s)))
    every = sets.as_sets(searched)
    value = -np.stack([sets.loss(panels) for panels in searched]) - every.price
    tried = []
    for path in best_paths(every, value, settings["gates"]):
        of_path = [searched[k] for k in path]
        walk = Walk.along(every, path)
        low, high = walk.windows(-sets._losses(of_path) - walk.price)
        tried.append(sets.judged(of_path, low, high))
    return min(tried, key=lambda path: (path.cost, len(path.sets)))
