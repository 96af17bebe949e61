"""Cross-fitted boosted trees for sets of panels: what each set tells of a unit, and what it costs.

The material of the agents that are made of trees. One model serves all sets that show the same
columns. Where a unit cannot have a panel of a set, the trees see what is left. Knows worlds; no
rule that orders panels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.config.learners import BoostingSettings
from frugal.core.world import World
from frugal.learn.cross_fitted_trees import CrossFitted, fit_cross_fitted, folds_of, log_odds_of
from frugal.learn.linear_parts import LinearPart, averaged
from frugal.learn.trees import join_trees, lightgbm_tree

PanelSet = frozenset[int]
EDGES = 32  # of each of two gradings of the beliefs of a set
DIGITS = 9  # of a belief


@dataclass(frozen=True)
class Folds:
    """Folds, and nothing else.

    Attributes:
        folds: of a repeat.
        repeats: divisions.
    """

    folds: int
    repeats: int = 1


@dataclass(frozen=True, eq=False)
class FoldedRows:
    """Units that something learns from, and units that only judge. Shapes: n units, a panels.

    Attributes:
        world: all of them.
        learns: True for those that are learnt from; the others are told by all models. (n,)
        settings: how they are folded.
        rng: of folds and of the models' draws.
    """

    world: World
    learns: Bool[np.ndarray, " n"]
    settings: BoostingSettings | Folds
    rng: np.random.Generator

    @cached_property
    def fold(self) -> Int[np.ndarray, "repeats n"]:
        """Fold of each unit in each repeat, −1 for those that only judge."""
        return folds_of(
            self.world.label, self.learns,
            folds=self.settings.folds, repeats=self.settings.repeats, rng=self.rng,
        )  # fmt: skip

    @cached_property
    def seed(self) -> int:
        """Of the trees' draws."""
        return int(self.rng.integers(2**30))

    @cached_property
    def adds(self) -> Bool[np.ndarray, "a d"]:
        """Columns that each panel adds to the free ones."""
        return self.world.provides & ~self.world.free_columns

    @cached_property
    def base(self) -> PanelSet:
        """Panels without a price, none of them inside another: everyone has them at once."""
        return self.reduced(np.flatnonzero(self.world.action_cost == 0).tolist())

    def reduced(self, panels: Iterable[int]) -> PanelSet:
        """The panels without those that add no column to the others, the dearest dropped first."""
        kept = set(panels)
        for panel in sorted(kept, key=lambda p: (-self.world.action_cost[p], -p)):
            if not (self.adds[panel] & ~self.columns(kept - {panel})).any():
                kept.remove(panel)
        return frozenset(kept)

    def columns(self, panels: Iterable[int]) -> Bool[np.ndarray, " d"]:
        """Columns that a set adds to the free ones."""
        return np.any(self.adds[sorted(panels)], axis=0)

    def grows(self, panels: PanelSet, panel: int) -> bool:
        """Whether a panel adds a column to a set."""
        return bool((self.adds[panel] & ~self.columns(panels)).any())

    def bits(self, panels: Iterable[int]) -> Bool[np.ndarray, " a"]:
        """The set, one entry for each panel."""
        return np.isin(np.arange(self.world.panels), sorted(panels))

    def price(self, panels: Iterable[int]) -> Float[np.ndarray, " n"]:
        """What the set costs each unit, panels that it cannot have left out."""
        return self.world.available @ np.where(self.bits(panels), self.world.action_cost, 0.0)

    def visible(self, panels: Iterable[int]) -> Float[np.ndarray, "n d"]:
        """Values that each unit shows once it has what it can have of the set."""
        acquired = self.world.available & self.bits(panels)
        return self.world.visible(np.arange(len(self.world)), acquired)


@dataclass(frozen=True, eq=False)
class TreeRows(FoldedRows):
    """Rows that boosted trees learn from.

    Attributes:
        settings: of the trees.
    """

    settings: BoostingSettings
    _beliefs: dict[tuple[int, bool], "SetBeliefs"] = field(default_factory=dict)

    def beliefs(self, repeats: int, *, linear: bool) -> "SetBeliefs":
        """Trees of so many repeats; the same ones for all that ask."""
        asked = (repeats, linear)
        return self._beliefs.setdefault(asked, SetBeliefs(self, repeats, linear))


@dataclass(eq=False)
class SetBeliefs:
    """Trees of the sets that were asked for; each is fitted once.

    Attributes:
        rows: what they learn from.
        repeats: how many divisions into folds are averaged.
        linear: whether a regression is averaged with the trees of each set.
    """

    rows: TreeRows
    repeats: int
    linear: bool = False
    _fitted: dict[tuple[int, ...], CrossFitted] = field(default_factory=dict)
    _parts: dict[tuple[int, ...], LinearPart] = field(default_factory=dict)

    def of(self, panels: PanelSet) -> CrossFitted:
        """Trees that see what the set shows, and the regression averaged with them."""
        shown = self._shown(panels)
        if shown not in self._fitted:
            values, fold = self.rows.visible(panels), self.rows.fold[: self.repeats]
            label = self.rows.world.label
            fitted = fit_cross_fitted(
                values, label, fold, settings=self.rows.settings, seed=self.rows.seed
            )
            if self.linear:
                fitted, self._parts[shown] = averaged(fitted, values, label, fold[0])
            self._fitted[shown] = fitted
        return self._fitted[shown]

    def part(self, panels: PanelSet) -> LinearPart | None:
        """The regression of a set; None without."""
        self.of(panels)
        return self._parts.get(self._shown(panels))

    def _shown(self, panels: PanelSet) -> tuple[int, ...]:
        return tuple(np.flatnonzero(self.rows.columns(panels)).tolist())

    def belief(self, panels: PanelSet) -> Float[np.ndarray, " n"]:
        """Probability of illness given the set, by trees that did not see the unit.

        Rounded, so that no cut lies between two that differ by the order of a sum alone.
        """
        return np.round(1 / (1 + np.exp(-self.of(panels).log_odds)), DIGITS)


class ConstantBeliefs(SetBeliefs):
    """The share of class 1 among the units learnt from, whatever a set shows."""

    def of(self, panels: PanelSet) -> CrossFitted:
        """The same log-odds for all units; the ensemble is one leaf."""
        del panels
        label = self.rows.world.label
        share = np.full(len(label), label[self.rows.learns].mean())
        every = log_odds_of(share)
        leaf = lightgbm_tree({"leaf_value": float(every[0])}, 1, 2)
        columns = self.rows.adds.shape[1]
        ensemble = join_trees([leaf], link="softmax", columns=columns)
        return self._fitted.setdefault((), CrossFitted(every, ensemble, every))


def log_loss(log_odds: Float[np.ndarray, " n"], label: Int[np.ndarray, " n"]) -> float:
    """Mean loss in nats."""
    return float(np.logaddexp(0.0, np.where(label == 1, -log_odds, log_odds)).mean())


def belief_edges(belief: Float[np.ndarray, " n"]) -> Float[np.ndarray, " e"]:
    """Beliefs between which rules may be cut: at even shares of the units, and of what is open.

    What is open of a unit is the variance of its label. The second grading is finer where few
    units lie and much is at stake.
    """
    at = np.arange(1, EDGES) / EDGES
    order = np.sort(belief)
    open_share = np.cumsum(order * (1 - order))
    weighted = order[np.searchsorted(open_share, at * open_share[-1]).clip(max=len(order) - 1)]
    values, wanted = np.unique(belief), np.concatenate([np.quantile(belief, at), weighted])
    above = np.unique(np.searchsorted(values, wanted).clip(1, len(values) - 1))
    return (values[above - 1] + values[above]) / 2 if len(values) > 1 else np.zeros(0)


def folded_rows(
    world: World,
    learns: Bool[np.ndarray, " n"],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> FoldedRows:
    """Rows as the block of an agent says: for trees, or in so many `folds`."""
    if "boosting" in settings:
        return TreeRows(world, learns, boosting_of(settings), rng)
    return FoldedRows(world, learns, Folds(settings["folds"]), rng)


def boosting_of(settings: Mapping[str, Any]) -> BoostingSettings:
    """The trees of a block of settings."""
    return BoostingSettings.of(settings["boosting"])


def hull(loss: Mapping[PanelSet, float], price: Mapping[PanelSet, float]) -> list[PanelSet]:
    """Sets that no mixture of two others beats in price and loss, from the cheapest on."""
    hull: list[PanelSet] = []
    for one in sorted(loss, key=lambda s: (price[s], loss[s], sorted(s))):
        if hull and loss[one] >= loss[hull[-1]]:
            continue
        while len(hull) > 1 and _above(hull[-2], hull[-1], one, loss, price):
            hull.pop()
        hull.append(one)
    return hull


def _above(
    a: PanelSet,
    b: PanelSet,
    c: PanelSet,
    loss: Mapping[PanelSet, float],
    price: Mapping[PanelSet, float],
) -> bool:
    """Whether b lies on or above the line from a to c."""
    slope = (loss[c] - loss[a]) * (price[b] - price[a])
    return (loss[b] - loss[a]) * (price[c] - price[a]) >= slope
