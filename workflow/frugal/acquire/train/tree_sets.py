"""Beliefs of agents made of trees, set by set of panels: cross-fitted boosted trees and networks.

One model serves all sets that show the same columns (`SetBeliefs`). Where a unit cannot have a
panel of a set, the trees see the rest. Or one model serves all sets (`MaskedBeliefs`): its
trees learn from rows with panels hidden, and bits of the panels follow the values, so a
value that the table lacks and one that was not bought are distinguished. A masked network may be
in addition to the trees of sets, their log-odds weighed by out-of-fold predictions: trees see
thresholds and networks sums, and on every real table that was tried the two together lose less than
either. Knows worlds; no rule that orders panels.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.train.row_weights import RowWeights
from frugal.config.learners import BoostingSettings, MaskedNetworkSettings
from frugal.core.episodes import RowPanels, RowValues
from frugal.core.stored import Array, Stored, part_of, under
from frugal.core.table import LARGEST
from frugal.core.world import World
from frugal.learn.cross_fitted_trees import (
    MOST_LOG_ODDS,
    CrossFitted,
    FoldedTrees,
    fit_cross_fitted,
    fit_folded,
    folds_of,
    log_odds_of,
)
from frugal.learn.linear_parts import LinearPart, averaged
from frugal.learn.masked_networks import MaskedNetworks, NormalScores, fit_masked_networks
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.trees import TreeEnsemble, constant_tree
from frugal.learn.weighted_logistic import fit_logistic

PanelSet = frozenset[int]
EDGES = 32  # of each of two gradings of the beliefs of a set
DIGITS = 9  # of a belief
NOTHING = 0.25  # share of the copies in which nothing is bought
DRAWN = 4  # sets by which weights are fitted, beside no panel and all
RIDGE = 1e-6
LEAST_ROWS = 40  # that have all of a set, for it to be tried
NETWORK = "network."  # prefix of its arrays


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
    """Units that something learns from, and units for evaluation only. Shapes: n units, a panels.

    Attributes:
        world: all of them.
        learns: True for those that are learnt from; the others are predicted by all models. (n,)
        settings: how they are folded.
        rng: of folds and of the models' draws.
        weighted: whether a unit that has all of a set also counts for those that lack some of it.
        withheld: panels that no set may hold.
    """

    world: World
    learns: Bool[np.ndarray, " n"]
    settings: BoostingSettings | Folds
    rng: np.random.Generator
    weighted: bool = False
    withheld: PanelSet = frozenset()

    @cached_property
    def fold(self) -> Int[np.ndarray, "repeats n"]:
        """Fold of each unit in each repeat, −1 for those for evaluation only."""
        return folds_of(
            self.world.label,
            self.learns,
            folds=self.settings.folds,
            repeats=self.settings.repeats,
            rng=self.rng,
        )

    @cached_property
    def seed(self) -> int:
        """Of the trees' draws."""
        return int(self.rng.integers(2**30))

    @cached_property
    def weights(self) -> RowWeights | None:
        """In the folds of the first repeat; None where nothing is weighted or missing."""
        if not self.weighted or self.world.available.all():
            return None
        return RowWeights(self.world, self.fold[0])

    def weight(self, panels: Iterable[int]) -> Float[np.ndarray, " n"]:
        """Weights of units that have all of a set, see `RowWeights.of`. (n,)"""
        assert self.weights is not None, "bug: nothing is weighted"
        return self.weights.of(self.bits(panels))

    def step_weight(self, before: PanelSet, after: PanelSet) -> Float[np.ndarray, " n"]:
        """Weights of units from a set to a larger one, see `RowWeights.step`. (n,)"""
        assert self.weights is not None, "bug: nothing is weighted"
        return self.weights.step(self.bits(before), self.bits(after))

    def mean_price(self, panels: Iterable[int]) -> float:
        """Mean cost of a set: of all of it where units are weighted, else of their panels."""
        if self.weights is None:
            return float(self.price(panels).mean())
        return float(self.world.price(self.bits(panels)[None])[0])

    @cached_property
    def adds(self) -> Bool[np.ndarray, "a d"]:
        """Columns that each panel adds to the free ones."""
        return self.world.provides & ~self.world.free_columns

    @cached_property
    def base(self) -> PanelSet:
        """Panels without a price, none of them inside another: everyone has them at once."""
        return self.reduced(p for p in self.offered if self.world.action_cost[p] == 0)

    @cached_property
    def offered(self) -> list[int]:
        """Panels that a set may hold."""
        return [p for p in range(self.world.panels) if p not in self.withheld]

    @cached_property
    def every(self) -> PanelSet:
        """All of them, but for those that add no column to the others."""
        return self.reduced(self.offered) | self.base

    def reduced(self, panels: Iterable[int]) -> PanelSet:
        """The panels without those that add no column to the others, expensive ones first."""
        retained = set(panels)
        for panel in sorted(retained, key=lambda p: (-self.world.action_cost[p], -p)):
            if not (self.adds[panel] & ~self.columns(retained - {panel})).any():
                retained.remove(panel)
        return frozenset(retained)

    def columns(self, panels: Iterable[int]) -> Bool[np.ndarray, " d"]:
        """Columns that a set adds to the free ones."""
        return np.any(self.adds[sorted(panels)], axis=0)

    def grows(self, panels: PanelSet, panel: int) -> bool:
        """Whether a panel adds a column to a set."""
        return bool((self.adds[panel] & ~self.columns(panels)).any())

    def held(self, panels: Iterable[int]) -> bool:
        """Whether some unit can have all of a set, so that a record may show it."""
        return bool(self.world.available[:, sorted(panels)].all(axis=1).any())

    def bits(self, panels: Iterable[int]) -> Bool[np.ndarray, " a"]:
        """The set, one entry for each panel."""
        return np.isin(np.arange(self.world.panels), sorted(panels))

    def price(self, panels: Iterable[int]) -> Float[np.ndarray, " n"]:
        """Cost of the set for each unit, panels that it cannot have left out."""
        return self.world.price(self.world.available & self.bits(panels))

    def visible(self, panels: Iterable[int]) -> Float[np.ndarray, "n d"]:
        """Values that each unit shows once it has the available panels of the set."""
        acquired = self.world.available & self.bits(panels)
        return self.world.visible(np.arange(len(self.world)), acquired)


@dataclass(frozen=True, eq=False)
class TreeRows(FoldedRows):
    """Rows that boosted trees learn from.

    Attributes:
        settings: of the trees.
        fitted: trees of sets, which agents that learn on the same records share.
    """

    settings: BoostingSettings
    fitted: dict[Any, tuple[CrossFitted, LinearPart | None]] = field(default_factory=dict)
    _beliefs: dict[tuple[int, bool], "SetBeliefs"] = field(default_factory=dict)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """The same for rows whose trees are the same."""
        return repr(self.settings), self.fold.tobytes(), self.seed, self.world.label.tobytes()

    def beliefs(self, repeats: int, *, linear: bool) -> "SetBeliefs":
        """Trees of so many repeats; the same ones for all callers."""
        key = (repeats, linear)
        return self._beliefs.setdefault(key, SetBeliefs(self, repeats, linear))


@dataclass(eq=False)
class SetBeliefs:
    """Trees of the sets that were requested; each is fitted once.

    Attributes:
        rows: training data.
        repeats: how many divisions into folds are averaged.
        linear: whether a regression is averaged with the trees of each set.
    """

    rows: TreeRows
    repeats: int
    linear: bool = False

    def of(self, panels: PanelSet) -> CrossFitted:
        """Trees that see the set's values, and the regression averaged with them."""
        return self._both(panels)[0]

    def part(self, panels: PanelSet) -> LinearPart | None:
        """The regression of a set; None without."""
        return self._both(panels)[1]

    def _both(self, panels: PanelSet) -> tuple[CrossFitted, LinearPart | None]:
        rows = self.rows
        shown = tuple(np.flatnonzero(rows.columns(panels)).tolist())
        key = *rows.key, self.repeats, self.linear, shown
        if key not in rows.fitted:
            values, fold = rows.visible(panels), rows.fold[: self.repeats]
            label = rows.world.label
            trees = fit_cross_fitted(values, label, fold, settings=rows.settings, seed=rows.seed)
            rows.fitted[key] = (
                averaged(trees, values, label, fold[0]) if self.linear else (trees, None)
            )
        return rows.fitted[key]

    def belief(self, panels: PanelSet) -> Float[np.ndarray, " n"]:
        """Probability of illness given the set, by trees that did not see the unit.

        Rounded, so no cut lies between two that differ by the order of a sum alone.
        """
        return np.round(1 / (1 + np.exp(-self.of(panels).log_odds)), DIGITS)


class ConstantBeliefs(SetBeliefs):
    """The share of class 1 among the units learnt from, whatever a set shows."""

    def _both(self, panels: PanelSet) -> tuple[CrossFitted, LinearPart | None]:
        """The same log-odds for all units; the ensemble is one leaf."""
        return self._leaf, None

    @cached_property
    def _leaf(self) -> CrossFitted:
        label = self.rows.world.label
        share = np.full(len(label), label[self.rows.learns].mean())
        every = log_odds_of(share)
        ensemble = constant_tree(np.array([0.0, every[0]]), self.rows.adds.shape[1])
        return CrossFitted(every, ensemble, every)


def log_loss(log_odds: Float[np.ndarray, " n"], label: Int[np.ndarray, " n"]) -> float:
    """Mean loss in nats."""
    return float(np.logaddexp(0.0, np.where(label == 1, -log_odds, log_odds)).mean())


def belief_edges(probability: Float[np.ndarray, " n"]) -> Float[np.ndarray, " e"]:
    """Beliefs between which rules may be cut: at even shares of the units, and of open variance.

    The open variance of a unit is the variance of its label. The second grading is finer where few
    units lie and much is at stake.
    """
    at = np.arange(1, EDGES) / EDGES
    order = np.sort(probability)
    open_share = np.cumsum(order * (1 - order))
    weighted = order[np.searchsorted(open_share, at * open_share[-1]).clip(max=len(order) - 1)]
    values, cut_points = (
        np.unique(probability),
        np.concatenate([np.quantile(probability, at), weighted]),
    )
    above = np.unique(np.searchsorted(values, cut_points).clip(1, len(values) - 1))
    return (values[above - 1] + values[above]) / 2 if len(values) > 1 else np.zeros(0)


def folded_rows(
    world: World,
    learns: Bool[np.ndarray, " n"],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
    **shared: Any,
) -> FoldedRows:
    """Rows as in the block of an agent: for trees, or in so many `folds`.

    `shared` are fields of `TreeRows` that agents on the same records have in common.
    """
    if "boosting" in settings:
        return TreeRows(world, learns, boosting_of(settings), rng, weighs(settings), **shared)
    return FoldedRows(world, learns, Folds(settings["folds"]), rng)


def weighs(settings: Mapping[str, Any]) -> bool:
    """Whether rows that have a set of panels count for those that lack some of it."""
    return settings.get("missing") == "weighted"


def boosting_of(settings: Mapping[str, Any]) -> BoostingSettings:
    """The trees of a block of settings."""
    return BoostingSettings.of(settings["boosting"])


def hull(loss: Mapping[PanelSet, float], price: Mapping[PanelSet, float]) -> list[PanelSet]:
    """Sets that no mixture of two others beats in price and loss, from the cheapest on."""
    hull: list[PanelSet] = []
    for panels in sorted(loss, key=lambda s: (price[s], loss[s], sorted(s))):
        if hull and loss[panels] >= loss[hull[-1]]:
            continue
        while len(hull) > 1 and _above(hull[-2], hull[-1], panels, loss, price):
            hull.pop()
        hull.append(panels)
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


def with_bits(values: RowValues, acquired: RowPanels) -> Float[np.ndarray, "m w"]:
    """Values, then 1 for each panel that was bought, NaN for each other. (m, d + a)"""
    bits = np.full(acquired.shape, np.nan)
    bits[acquired] = 1.0
    return np.concatenate([values, bits], axis=1)


@dataclass(frozen=True, eq=False)
class MaskedBeliefs:
    """Predictions of one model for every set.

    Attributes:
        rows: training data.
        trees: of each repeat and fold.
    """

    rows: TreeRows
    trees: FoldedTrees

    @property
    def ensemble(self) -> TreeEnsemble:
        """All trees, averaged, over values and bits."""
        return self.trees.ensemble

    def belief(self, panels: PanelSet, *, first: int | None = None) -> Float[np.ndarray, " n"]:
        """Probability of illness given the set, by trees that did not see the unit.

        Args:
            panels: the set.
            first: units that are predicted, from the first on; None: all.
        """
        units = np.arange(len(self.rows.world))[:first]
        return self.at(units, self.rows.world.available[units] & self.rows.bits(panels))

    def at(self, unit: Int[np.ndarray, " m"], acquired: RowPanels) -> Float[np.ndarray, " m"]:
        """Probability of illness at some states, by trees that did not see the unit. (m,)"""
        reading = with_bits(self.rows.world.visible(unit, acquired), acquired)
        trees = replace(self.trees, fold=self.trees.fold[:, unit])
        return np.round(1 / (1 + np.exp(-trees.log_odds(reading))), DIGITS)


def masked_copies(rows: FoldedRows, copies: int) -> tuple[Int[np.ndarray, " m"], RowPanels]:
    """Several copies of each row that is learnt from: its number, and the panels that it shows.

    How many panels a copy shows is drawn first, then which.
    """
    a = rows.world.panels
    unit = np.tile(np.flatnonzero(rows.learns), copies)
    size = rows.rng.integers(0, a + 1, len(unit))
    size[rows.rng.random(len(unit)) < NOTHING] = 0
    place = rows.rng.random((len(unit), a)).argsort(axis=1).argsort(axis=1)
    shown = (place < size[:, None]) | rows.bits(rows.base)
    return unit, shown & rows.world.available[unit]


def fit_masked(
    rows: TreeRows, *, copies: int, visited: tuple[Int[np.ndarray, " m"], RowPanels] | None = None
) -> MaskedBeliefs:
    """Fit the model to several copies of each row, in each of which other panels are hidden.

    Args:
        rows: training units, and units for evaluation.
        copies: of each row.
        visited: units and panels of further states that trees learn from.
    """
    world = rows.world
    unit, acquired = masked_copies(rows, copies)
    if visited is not None:
        unit, acquired = np.append(unit, visited[0]), np.concatenate([acquired, visited[1]])
        copies = round(len(unit) / int(rows.learns.sum()))
    values = with_bits(world.visible(unit, acquired), acquired).astype(np.float32)
    fewest = rows.settings.min_leaf * copies // 2
    settings = rows.settings.model_copy(update={"min_leaf": fewest})
    trees = fit_folded(
        values, world.label[unit], rows.fold[:, unit], settings=settings, seed=rows.seed
    )
    return MaskedBeliefs(rows, replace(trees, fold=rows.fold))


def stored_trees(
    arrays: Mapping[str, np.ndarray], *, columns: int, outputs: int = 2
) -> TreeEnsemble:
    """Trees of a policy's file.

    Raises:
        DataError: they are none, or read other columns or predict other than so many numbers.
    """
    ensemble = TreeEnsemble.from_arrays(arrays)
    if (ensemble.columns, ensemble.classes) != (columns, outputs):
        raise Stored("trees", arrays).refusal(
            f"read {ensemble.columns} columns and predict {ensemble.classes} numbers; allowed: "
            f"{columns} and {outputs}"
        )
    return ensemble


def numbered(prefix: str, parts: Iterable[TreeEnsemble | LinearPart]) -> dict[str, np.ndarray]:
    """Arrays of several parts of a policy, each under its number."""
    return {
        f"{prefix}{k}.{name}": array
        for k, part in enumerate(parts)
        for name, array in part.to_arrays().items()
    }


def predicted_risk(
    ensemble: TreeEnsemble, values: RowValues, acquired: RowPanels
) -> Float[np.ndarray, " m"]:
    """Probability of illness of new states, by all trees. (m,)"""
    reading = with_bits(values, acquired)
    return predict_proba(ensemble, reading, np.ones_like(reading, dtype=bool))[:, 1]


@dataclass(frozen=True, eq=False)
class Stack:
    """A network and its weight relative to trees.

    Attributes:
        network: of all sets.
        weights: intercept, weight of the trees' log-odds, weight of the network's. (3,)
    """

    network: MaskedNetworks
    weights: Float[np.ndarray, " 3"]

    def log_odds(
        self, by_trees: Float[np.ndarray, " n"], by_network: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Both together. (n,)"""
        total = self.weights[0] + self.weights[1] * by_trees + self.weights[2] * by_network
        return np.clip(total, -MOST_LOG_ODDS, MOST_LOG_ODDS)

    def probability(
        self, by_trees: Float[np.ndarray, " n"], values: Float[np.ndarray, "n d"]
    ) -> Float[np.ndarray, " n"]:
        """Of illness, of new states: the trees' probability mended by the network. (n,)"""
        odds = self.log_odds(log_odds_of(by_trees), self.network.log_odds(values))
        return 1 / (1 + np.exp(-odds))

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything it is; `from_arrays` is the inverse."""
        arrays = {"weights": self.weights} | self.network.to_arrays()
        return {NETWORK + name: array for name, array in arrays.items()}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], *, columns: int) -> "Stack | None":
        """Output of `to_arrays` among a bundle's arrays; None if nothing.

        Raises:
            DataError: it is no stack of so many columns.
        """
        network_arrays = under(arrays, NETWORK)
        if not network_arrays:
            return None
        part = part_of(
            network_arrays, {"weights": "weights"} if "weights" in network_arrays else {}
        )
        Stored("weights of the stack", part).require(
            {"weights": Array("float64", (3,), low=-LARGEST)}
        )
        rest = part_of(network_arrays, {name: name for name in network_arrays if name != "weights"})
        return Stack(MaskedNetworks.from_arrays(rest, columns=columns), part["weights"])


@dataclass(frozen=True, eq=False)
class FoldedNetwork:
    """The network of all sets, and its training data.

    Attributes:
        rows: units.
        network: one for each repeat and fold.
    """

    rows: TreeRows
    network: MaskedNetworks

    def log_odds_of(
        self, panels: PanelSet
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Log-odds given the set, by networks that did not see the unit; see `out_of_fold`."""
        return self.network.out_of_fold(self.rows.visible(panels), self.rows.fold)

    def stacked(self, repeats: int) -> "StackedBeliefs":
        """Trees of so many repeats with the network."""
        rng, rows = np.random.default_rng(self.rows.seed), self.rows
        sizes = rng.integers(1, rows.world.panels + 1, DRAWN)
        drawn = [rows.reduced(rng.permutation(rows.world.panels)[:k].tolist()) for k in sizes]
        sets = list(
            dict.fromkeys([rows.base, rows.every, *(rows.base | panels for panels in drawn)])
        )
        trees = SetBeliefs(rows, repeats)
        by_set = [(trees.of(panels), self.log_odds_of(panels)) for panels in sets]
        mean_log_odds = np.concatenate([np.stack([t.log_odds, n[0]], axis=1) for t, n in by_set])
        by_one_fold = np.concatenate([np.stack([t.by_one_fold, n[1]], axis=1) for t, n in by_set])
        label = np.tile(rows.world.label, len(sets))
        fitted = fit_logistic(by_one_fold, label, np.ones(len(label)), ridge=RIDGE)
        held_out = np.tile(~rows.learns, len(sets))
        weights = np.array([fitted.intercept, *fitted.slope])
        stack = Stack(
            self.network, _widened(weights, mean_log_odds[held_out], by_one_fold[held_out])
        )
        return StackedBeliefs(self, trees, stack, weights)


def _widened(
    weights: Float[np.ndarray, " 3"],
    mean_log_odds: Float[np.ndarray, "m 2"],
    by_one_fold: Float[np.ndarray, "m 2"],
) -> Float[np.ndarray, " 3"]:
    """Weights for the mean of all models, which varies less than a mean of few does.

    Weights are fitted where few models predict a row; noise of the few makes them smaller. On rows
    that none saw both means are known: the slope of a mean on the truth behind it goes as one over
    its variance. Without such rows the weights stay.
    """
    if not len(mean_log_odds):
        return weights
    few, all_of_them = (weights[0] + part @ weights[1:] for part in (by_one_fold, mean_log_odds))
    ratio = few.var() / all_of_them.var() if all_of_them.var() > 0 else 1.0
    centre = all_of_them.mean()
    return np.array([centre + ratio * (weights[0] - centre), *(ratio * weights[1:])])


class StackedBeliefs(SetBeliefs):
    """Joint predictions of trees of a set and the network of all sets.

    Attributes:
        rows: training data.
        repeats: of the trees, divisions into folds that are averaged.
        stack: the network, and how it is weighed where all models predict a unit.
    """

    def __init__(
        self,
        network: FoldedNetwork,
        trees: SetBeliefs,
        stack: Stack,
        weights: Float[np.ndarray, " 3"],
    ) -> None:
        super().__init__(trees.rows, trees.repeats)
        self.stack, self._trees, self._network = stack, trees, network
        self._out_of_fold = Stack(stack.network, weights)
        self._log_odds: dict[PanelSet, CrossFitted] = {}

    def of(self, panels: PanelSet) -> CrossFitted:
        """Log-odds of both together; the ensemble is that of the trees alone."""
        if panels not in self._log_odds:
            trees, (mean_log_odds, by_one_fold) = (
                self._trees.of(panels),
                self._network.log_odds_of(panels),
            )
            by_few = self._out_of_fold.log_odds(trees.by_one_fold, by_one_fold)
            by_all = self.stack.log_odds(trees.log_odds, mean_log_odds)
            odds = np.where(self.rows.learns, by_few, by_all)
            self._log_odds[panels] = CrossFitted(odds, trees.ensemble, by_few)
        return self._log_odds[panels]


def fit_network(rows: TreeRows, settings: Mapping[str, Any]) -> FoldedNetwork:
    """The network of all sets in addition to trees of the same rows; see `networks_of_sets`."""
    return FoldedNetwork(rows, networks_of_sets(rows, settings))


def networks_of_sets(rows: FoldedRows, settings: Mapping[str, Any]) -> MaskedNetworks:
    """A network of all sets for each repeat and fold, from copies in which panels are hidden.

    Args:
        rows: units that are learnt from, and units that are predicted only.
        settings: as `MaskedNetworkSettings`.
    """
    network_settings = MaskedNetworkSettings.of(settings)
    world = rows.world
    unit, acquired = masked_copies(rows, network_settings.copies)
    reads = NormalScores.of(world.values[rows.learns])
    rngs = rows.rng.spawn(len(rows.fold) * rows.settings.folds)
    return fit_masked_networks(
        reads,
        world.visible(unit, acquired),
        world.label[unit],
        rows.fold[:, unit],
        folds=rows.settings.folds,
        classes=world.classes,
        settings=network_settings,
        rngs=rngs,
    )
