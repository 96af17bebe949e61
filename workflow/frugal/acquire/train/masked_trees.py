"""One boosted model for all sets of panels: its trees learn from rows with panels hidden.

Beside the values stand bits of the panels, so that a value that the table lacks and one that was
not bought are told apart. Cross-fitted as the trees of single sets are.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.train.tree_sets import DIGITS, FoldedRows, PanelSet, TreeRows
from frugal.learn.cross_fitted_trees import FoldedTrees, fit_folded
from frugal.learn.tree_scoring import predict_proba
from frugal.learn.trees import TreeEnsemble

NOTHING = 0.25  # share of the copies in which nothing is bought


def with_bits(
    values: Float[np.ndarray, "m d"], acquired: Bool[np.ndarray, "m a"]
) -> Float[np.ndarray, "m w"]:
    """Values, then 1 for each panel that was bought, NaN for each other. (m, d + a)"""
    bits = np.full(acquired.shape, np.nan)
    bits[acquired] = 1.0
    return np.concatenate([values, bits], axis=1)


@dataclass(frozen=True, eq=False)
class MaskedBeliefs:
    """What one model says of every set.

    Attributes:
        rows: what it learnt from.
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
            first: units that are told of, from the first on; None: all.
        """
        units = np.arange(len(self.rows.world))[:first]
        return self.at(units, self.rows.world.available[units] & self.rows.bits(panels))

    def at(
        self, unit: Int[np.ndarray, " m"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float[np.ndarray, " m"]:
        """Probability of illness at some states, by trees that did not see the unit. (m,)"""
        seen = with_bits(self.rows.world.visible(unit, acquired), acquired)
        trees = replace(self.trees, fold=self.trees.fold[:, unit])
        return np.round(1 / (1 + np.exp(-trees.log_odds(seen))), DIGITS)


def masked_copies(
    rows: FoldedRows, copies: int
) -> tuple[Int[np.ndarray, " m"], Bool[np.ndarray, "m a"]]:
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
    rows: TreeRows,
    *,
    copies: int,
    visited: tuple[Int[np.ndarray, " m"], Bool[np.ndarray, "m a"]] | None = None,
) -> MaskedBeliefs:
    """Fit the model to several copies of each row, in each of which other panels are hidden.

    Args:
        rows: units that trees learn from, and units that judge with them.
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


def told(
    ensemble: TreeEnsemble, values: Float[np.ndarray, "m d"], acquired: Bool[np.ndarray, "m a"]
) -> Float[np.ndarray, " m"]:
    """Probability of illness of new states, by all trees. (m,)"""
    seen = with_bits(values, acquired)
    return predict_proba(ensemble, seen, np.ones_like(seen, dtype=bool))[:, 1]
