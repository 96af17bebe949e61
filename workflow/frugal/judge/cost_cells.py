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
    def of(cls, values: Float[np.ndarray, "n c"]) -> "KnownRows":
        """Of rows in memory."""
        return cls([slice(0, len(values))], lambda _: values)

    def at(self, places: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m c"]:
        """Some rows, which ascend. (m, c)"""
        parts = []
        for number, rows in enumerate(self.blocks):
            first, last = np.searchsorted(places, (rows.start, rows.stop))
            if last > first or number == 0:
                parts.append(self.read(number)[places[first:last] - rows.start])
        return np.concatenate(parts)


def fit_quantiles(
    weighted: Weighted,
    covariates: KnownRows,
    gammas: Float[np.ndarray, " g"],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> CostQuantiles:
    """Quantiles of every row, from the rows of other folds that carry weight.

    Quantiles are those of rows that lack the set, which the doubtful part of a weight represents.

    Args:
        weighted: costs and weights.
        covariates: fully observed variables.
        gammas: Γ. (g,)
        settings: `folds`, `leaves` (most, of a tree), `leaf_rows` (least, in a leaf), `rows` (most
            that are learned from; of more a random sample).
        rng: of the folds.
    """
    n = len(weighted.cost)
    fold = random_folds(weighted.cluster, n, settings["folds"], rng)
    levels = np.concatenate([1 / (1 + gammas), gammas / (1 + gammas)])
    used = np.flatnonzero(weighted.weight > 0)
    used = used[sample_of(len(used), settings["rows"], rng)]
    used_covariates, trees, starts = covariates.at(used), [], []
    quantiles: list[np.ndarray] = []
    for k in range(settings["folds"]):
        learned = np.flatnonzero(fold[used] != k)
        if not len(learned):
            learned = np.arange(len(used))
        rows = used[learned]
        tree = _Tree.fit(
            used_covariates[learned], weighted.cost[rows], weighted.doubtful[rows], settings
        )
        leaf = tree.leaf(used_covariates[learned])
        starts.append(len(quantiles))
        trees.append(tree)
        cost, mass = weighted.cost[rows], weighted.doubtful[rows]
        quantiles += [
            _weighted_quantiles(cost[leaf == number_of_leaf], mass[leaf == number_of_leaf], levels)
            for number_of_leaf in range(leaf.max() + 1)
        ]
    cell = np.zeros(n, dtype=np.int64)
    for number, rows in enumerate(covariates.blocks):
        values, place = covariates.read(number), np.arange(rows.start, rows.stop)
        for k, tree in enumerate(trees):
            in_fold = fold[place] == k
            cell[place[in_fold]] = starts[k] + tree.leaf(values[in_fold])
    table = np.array(quantiles)
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
        covariates: Float[np.ndarray, "n c"],
        cost: Float[np.ndarray, " n"],
        mass: Float[np.ndarray, " n"],
        settings: Mapping[str, Any],
    ) -> "_Tree":
        """Learn cells of like mean cost."""
        if not covariates.shape[1] or len(covariates) < 2 * settings["leaf_rows"]:
            return cls(None, np.zeros(1, dtype=np.int64))
        from sklearn.tree import DecisionTreeRegressor  # a second to import

        tree = DecisionTreeRegressor(
            max_leaf_nodes=settings["leaves"],
            min_samples_leaf=settings["leaf_rows"],
            random_state=0,
        )
        tree.fit(covariates, cost, sample_weight=mass if mass.any() else None)
        return cls(tree, np.unique(tree.apply(covariates)))

    def leaf(self, covariates: Float[np.ndarray, "n c"]) -> Int[np.ndarray, " n"]:
        """Cell of each row, from 0 on. (n,)"""
        if self.tree is None or not len(covariates):
            return np.zeros(len(covariates), dtype=np.int64)
        return np.searchsorted(self.nodes, self.tree.apply(covariates))


def _weighted_quantiles(
    cost: Float[np.ndarray, " m"], mass: Float[np.ndarray, " m"], levels: Float[np.ndarray, " q"]
) -> Float[np.ndarray, " q"]:
    """Smallest cost below or at which the share `level` of the mass lies. (q,)"""
    order = np.argsort(cost, kind="stable")
    total = np.cumsum(mass[order] if mass.any() else np.ones(len(cost)))
    at = np.searchsorted(total, levels * total[-1], side="left")
    return cost[order][np.minimum(at, len(cost) - 1)]
