"""A masked network beside the trees of sets: their log-odds, weighed by what was told out of fold.

Trees see thresholds and networks sums; on every real table that was tried the two together lose
less than either. One network serves all sets of panels, so that it adds little to the price of
training. Knows sets of panels; no rule that orders them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from frugal.acquire.train.masked_trees import masked_copies
from frugal.acquire.train.tree_sets import FoldedRows, PanelSet, SetBeliefs, TreeRows
from frugal.config.learners import MaskedNetworkSettings
from frugal.core.stored import LARGEST, Array, Stored, part_of, under
from frugal.learn.cross_fitted_trees import MOST_LOG_ODDS, CrossFitted, log_odds_of
from frugal.learn.masked_networks import MaskedNetworks, NormalScores, fit_masked_networks
from frugal.learn.weighted_logistic import fit_logistic

DRAWN = 4  # sets by which weights are fitted, beside no panel and all
RIDGE = 1e-6
NETWORK = "network."  # prefix of its arrays


@dataclass(frozen=True, eq=False)
class Stack:
    """A network and its weight beside trees.

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
        own = {"weights": self.weights} | self.network.to_arrays()
        return {NETWORK + name: array for name, array in own.items()}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], *, columns: int) -> "Stack | None":
        """What `to_arrays` left among a bundle's arrays; None if nothing.

        Raises:
            DataError: it is no stack of so many columns.
        """
        own = under(arrays, NETWORK)
        if not own:
            return None
        kept = part_of(own, {"weights": "weights"} if "weights" in own else {})
        Stored("weights of the stack", kept).require(
            {"weights": Array("float64", (3,), low=-LARGEST)}
        )
        rest = part_of(own, {name: name for name in own if name != "weights"})
        return Stack(MaskedNetworks.from_arrays(rest, columns=columns), kept["weights"])


@dataclass(frozen=True, eq=False)
class FoldedNetwork:
    """The network of all sets, and what it learnt from.

    Attributes:
        rows: units.
        network: one for each repeat and fold.
    """

    rows: TreeRows
    network: MaskedNetworks

    def told(self, panels: PanelSet) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Log-odds given the set, by networks that did not see the unit; see `out_of_fold`."""
        return self.network.out_of_fold(self.rows.visible(panels), self.rows.fold)

    def beside(self, repeats: int) -> "StackedBeliefs":
        """Trees of so many repeats with the network beside them."""
        rng, rows = np.random.default_rng(self.rows.seed), self.rows
        whole = rows.reduced(range(rows.world.panels)) | rows.base
        sizes = rng.integers(1, rows.world.panels + 1, DRAWN)
        drawn = [rows.reduced(rng.permutation(rows.world.panels)[:k].tolist()) for k in sizes]
        sets = list(dict.fromkeys([rows.base, whole, *(rows.base | one for one in drawn)]))
        trees = SetBeliefs(rows, repeats)
        by_set = [(trees.of(one), self.told(one)) for one in sets]
        told = np.concatenate([np.stack([t.log_odds, n[0]], axis=1) for t, n in by_set])
        alike = np.concatenate([np.stack([t.alike, n[1]], axis=1) for t, n in by_set])
        label = np.tile(rows.world.label, len(sets))
        fitted = fit_logistic(alike, label, np.ones(len(label)), ridge=RIDGE)
        held = np.tile(~rows.learns, len(sets))
        weights = np.array([fitted.intercept, *fitted.slope])
        stack = Stack(self.network, _widened(weights, told[held], alike[held]))
        return StackedBeliefs(self, trees, stack, weights)


def _widened(
    weights: Float[np.ndarray, " 3"],
    told: Float[np.ndarray, "m 2"],
    alike: Float[np.ndarray, "m 2"],
) -> Float[np.ndarray, " 3"]:
    """Weights for the mean of all models, which varies less than a mean of few does.

    Weights are fitted where few models tell of a row; noise of the few makes them smaller. On rows
    that none saw both means are known: the slope of a mean on the truth behind it goes as one over
    its variance. Without such rows the weights stay.
    """
    if not len(told):
        return weights
    few, all_of_them = (weights[0] + part @ weights[1:] for part in (alike, told))
    ratio = few.var() / all_of_them.var() if all_of_them.var() > 0 else 1.0
    centre = all_of_them.mean()
    return np.array([centre + ratio * (weights[0] - centre), *(ratio * weights[1:])])


class StackedBeliefs(SetBeliefs):
    """What trees of a set and the network of all sets say together.

    Attributes:
        rows: what they learn from.
        repeats: of the trees, divisions into folds that are averaged.
        stack: the network, and how it is weighed where all models tell of a unit.
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
        self._told: dict[PanelSet, CrossFitted] = {}

    def of(self, panels: PanelSet) -> CrossFitted:
        """Log-odds of both together; the ensemble is that of the trees alone."""
        if panels not in self._told:
            trees, (told, alike) = self._trees.of(panels), self._network.told(panels)
            by_few = self._out_of_fold.log_odds(trees.alike, alike)
            by_all = self.stack.log_odds(trees.log_odds, told)
            odds = np.where(self.rows.learns, by_few, by_all)
            self._told[panels] = CrossFitted(odds, trees.ensemble, by_few)
        return self._told[panels]


def fit_network(rows: TreeRows, settings: Mapping[str, Any]) -> FoldedNetwork:
    """The network of all sets beside trees of the same rows; see `networks_of_sets`."""
    return FoldedNetwork(rows, networks_of_sets(rows, settings))


def networks_of_sets(rows: FoldedRows, settings: Mapping[str, Any]) -> MaskedNetworks:
    """A network of all sets for each repeat and fold, from copies in which panels are hidden.

    Args:
        rows: units that are learnt from, and units that are told of alone.
        settings: as `MaskedNetworkSettings`.
    """
    own = MaskedNetworkSettings.of(settings)
    world = rows.world
    unit, acquired = masked_copies(rows, own.copies)
    reads = NormalScores.of(world.values[rows.learns])
    rngs = rows.rng.spawn(len(rows.fold) * rows.settings.folds)
    return fit_masked_networks(
        reads, world.visible(unit, acquired), world.label[unit], rows.fold[:, unit],
        folds=rows.settings.folds, settings=own, rngs=rngs,
    )  # fmt: skip
