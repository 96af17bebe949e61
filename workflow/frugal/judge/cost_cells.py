"""Quantiles of a cost by what every row tells: cells of a tree, cross-fitted.

A tree divides rows by their mean cost, and each of its leaves has all quantiles at once, so that
one fit serves every Γ. Knows no policy.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from frugal.core.belonging import random_folds
from frugal.judge.sensitivity import CostQuantiles, Weighted


def fit_quantiles(
    given: Weighted,
    known: Float[np.ndarray, "n c"],
    gammas: Float[np.ndarray, " g"],
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> CostQuantiles:
    """Quantiles of every row, from the rows of other folds that carry weight.

    Quantiles are those of rows that lack the set, for which the doubtful part of a weight stands.

    Args:
        given: costs and weights.
        known: what every row tells, without gaps; may have no column. (n, c)
        gammas: Γ. (g,)
        settings: `folds`, `leaves` (most, of a tree), `leaf_rows` (least, in a leaf).
        rng: of the folds.
    """
    folds = settings["folds"]
    fold = random_folds(given.cluster, len(given.cost), folds, rng)
    cell = np.zeros(len(given.cost), dtype=np.int64)
    levels = np.concatenate([1 / (1 + gammas), gammas / (1 + gammas)])
    found: list[np.ndarray] = []
    used = given.weight > 0
    for k in range(folds):
        learned, held = used & (fold != k), fold == k
        if not learned.any():
            learned = used
        leaf, of_held = _leaves(given, known, learned, held, settings)
        cell[held] = len(found) + of_held
        cost, mass = given.cost[learned], given.doubtful[learned]
        found += [
            _weighted_quantiles(cost[leaf == one], mass[leaf == one], levels)
            for one in range(leaf.max() + 1)
        ]
    table = np.array(found)
    return CostQuantiles(cell, table[:, : len(gammas)], table[:, len(gammas) :])


def _leaves(
    given: Weighted,
    known: Float[np.ndarray, "n c"],
    learned: np.ndarray,
    held: np.ndarray,
    settings: Mapping[str, Any],
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " k"]]:
    """Leaf of the rows that are learned from, and of those that are held out, from 0 on."""
    if not known.shape[1] or learned.sum() < 2 * settings["leaf_rows"]:
        return np.zeros(learned.sum(), dtype=np.int64), np.zeros(held.sum(), dtype=np.int64)
    from sklearn.tree import DecisionTreeRegressor  # a second to import

    tree = DecisionTreeRegressor(
        max_leaf_nodes=settings["leaves"], min_samples_leaf=settings["leaf_rows"], random_state=0
    )
    mass = given.doubtful[learned]
    tree.fit(known[learned], given.cost[learned], sample_weight=mass if mass.any() else None)
    nodes, leaf = np.unique(tree.apply(known[learned]), return_inverse=True)
    return leaf, np.searchsorted(nodes, tree.apply(known[held]))


def _weighted_quantiles(
    cost: Float[np.ndarray, " m"], mass: Float[np.ndarray, " m"], levels: Float[np.ndarray, " q"]
) -> Float[np.ndarray, " q"]:
    """Smallest cost below or at which the share `level` of the mass lies. (q,)"""
    order = np.argsort(cost, kind="stable")
    total = np.cumsum(mass[order] if mass.any() else np.ones(len(cost)))
    at = np.searchsorted(total, levels * total[-1], side="left")
    return cost[order][np.minimum(at, len(cost) - 1)]
