"""Quantiles of a cost given fully observed variables: cells of a tree, cross-fitted.

A tree divides rows by their mean cost, and each of its leaves has all quantiles at once, so that
one fit serves every Γ. Knows no policy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from frugal.core.blocks import sample_of
from frugal.core.table import random_folds
from frugal.judge.sensitivity import CostQuantiles, Weighted


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Fully observed variables, block by block; may have no column. c columns.

    Attributes:
        blocks: rows of each block.
        read: the columns of one block. (n, c)
    """

    blocks: Sequence[slice]
    read: Callable[[int], Float[np.ndarray, "n c"]]

    @classmethod
    def of(cls, known: Float[np.ndarray, "n c"]) -> "KnownRows":
        """Of rows in memory."""
        return cls([slice(0, len(known))], lambda _: known)

    def at(self, places: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m c"]:
        """Some rows, which ascend. (m, c)"""
        found = []
        for number, rows in enumerate(self.blocks):
            first, last = np.searchsorted(places, (rows.start, rows.stop))
            if last > first or number == 0:
                found.append(self.read(number)[places[first:last] - rows.start])
        return np.concatenate(found)


def fit_quantiles(
    given: Weighted,
    known: KnownRows,
    gammas: Float[np.ndarray, " g"],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> CostQuantiles:
    """Quantiles of every row, from the rows of other folds that carry weight.

    Quantiles are those of rows that lack the set, which the doubtful part of a weight represents.

    Args:
        given: costs and weights.
        known: fully observed variables.
        gammas: Γ. (g,)
        settings: `folds`, `leaves` (most, of a tree), `leaf_rows` (least, in a leaf), `rows` (most
            that are learned from; of more a random sample).
        rng: of the folds.
    """
    n = len(given.cost)
    fold = random_folds(given.cluster, n, settings["folds"], rng)
    levels = np.concatenate([1 / (1 + gammas), gammas / (1 + gammas)])
    used = np.flatnonzero(given.weight > 0)
    used = used[sample_of(len(used), settings["rows"], rng)]
    told, trees, starts = known.at(used), [], []
    found: list[np.ndarray] = []
    for k in range(settings["folds"]):
        learned = np.flatnonzero(fold[used] != k)
        if not len(learned):
            learned = np.arange(len(used))
        rows = used[learned]
        tree = _Tree.fit(told[learned], given.cost[rows], given.doubtful[rows], settings)
        leaf = tree.leaf(told[learned])
        starts.append(len(found))
        trees.append(tree)
        cost, mass = given.cost[rows], given.doubtful[rows]
        found += [
            _weighted_quantiles(cost[leaf == one], mass[leaf == one], levels)
            for one in range(leaf.max() + 1)
        ]
    cell = np.zeros(n, dtype=np.int64)
    for number, rows in enumerate(known.blocks):
        values, place = known.read(number), np.arange(rows.start, rows.stop)
        for k, tree in enumerate(trees):
            held = fold[place] == k
            cell[place[held]] = starts[k] + tree.leaf(values[held])
    table = np.array(found)
    return CostQuantiles(cell, table[:, : len(gammas)], table[:, len(gammas) :])


@dataclass(frozen=True, eq=False)
class _Tree:
    """Cells given fully observed variables.

    Attributes:
        tree: scikit-learn's; None where all rows are one cell.
        nodes: its leaves that rows learned from came to.
    """

    tree: Any
    nodes: Int[np.ndarray, " l"]

    @classmethod
    def fit(
        cls,
        known: Float[np.ndarray, "n c"],
        cost: Float[np.ndarray, " n"],
        mass: Float[np.ndarray, " n"],
        settings: Mapping[str, Any],
    ) -> "_Tree":
        """Learn cells of like mean cost."""
        if not known.shape[1] or len(known) < 2 * settings["leaf_rows"]:
            return cls(None, np.zeros(1, dtype=np.int64))
        from sklearn.tree import DecisionTreeRegressor  # a second to import

        tree = DecisionTreeRegressor(
            max_leaf_nodes=settings["leaves"],
            min_samples_leaf=settings["leaf_rows"],
            random_state=0,
        )
        tree.fit(known, cost, sample_weight=mass if mass.any() else None)
        return cls(tree, np.unique(tree.apply(known)))

    def leaf(self, known: Float[np.ndarray, "n c"]) -> Int[np.ndarray, " n"]:
        """Cell of each row, from 0 on. (n,)"""
        if self.tree is None or not len(known):
            return np.zeros(len(known), dtype=np.int64)
        return np.searchsorted(self.nodes, self.tree.apply(known))


def _weighted_quantiles(
    cost: Float[np.ndarray, " m"], mass: Float[np.ndarray, " m"], levels: Float[np.ndarray, " q"]
) -> Float[np.ndarray, " q"]:
    """Smallest cost below or at which the share `level` of the mass lies. (q,)"""
    order = np.argsort(cost, kind="stable")
    total = np.cumsum(mass[order] if mass.any() else np.ones(len(cost)))
    at = np.searchsorted(total, levels * total[-1], side="left")
    return cost[order][np.minimum(at, len(cost) - 1)]
