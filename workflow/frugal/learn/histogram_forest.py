"""A random forest on binned predictors that is fitted, asked once, and discarded.

MissForest (Stekhoven & Bühlmann 2012) fits one forest per column and round and needs its
predictions only once; so no forest is kept here, and the one-byte bins of the predictors are made
once and shared by all columns and rounds. One thread; the same seed gives the same bytes. Knows
nothing of missing values.
"""

import numpy as np
from jaxtyping import Float, Int, UInt8

from frugal.core.errors import DataError
from frugal.core.scaling import fit_scaling
from frugal.learn.histogram_trees import MAX_BINS, add_forest


def bin_edges(values: Float[np.ndarray, " m"], *, bins: int) -> Float[np.ndarray, " e"]:
    """Inner edges of at most `bins` bins: between all values if they are few, else at quantiles.

    Args:
        values: finite values of one predictor. (m,)
        bins: at most 256.

    Returns:
        Increasing edges; a value lies in bin b if exactly b edges are below it. (e,), e < bins

    Raises:
        DataError: more bins than fit one byte.
    """
    if not 2 <= bins <= MAX_BINS:
        raise DataError(f"{bins} bins were asked for; 2 to {MAX_BINS} are possible")
    distinct = np.unique(values)
    if len(distinct) <= bins:
        return (distinct[1:] + distinct[:-1]) / 2
    return np.unique(np.quantile(values, np.arange(1, bins) / bins))


def bin_values(
    values: Float[np.ndarray, " m"], edges: Float[np.ndarray, " e"]
) -> UInt8[np.ndarray, " m"]:
    """Bin of each value: the number of edges below it. (m,)"""
    return np.searchsorted(edges, values).astype(np.uint8)


def forest_means(
    bins: UInt8[np.ndarray, "v n"],
    n_bins: Int[np.ndarray, " v"],
    target: Float[np.ndarray, " n"],
    *,
    skip: int,
    train: Int[np.ndarray, " m"],
    predict: Int[np.ndarray, " q"],
    trees: int,
    tries: int,
    min_leaf: int,
    seed: int,
) -> Float[np.ndarray, " q"]:
    """Regression forest: mean over trees of the leaf means, splits by largest fall of variance.

    Args:
        bins: bin of every predictor and row. (v, n)
        n_bins: number of bins of each predictor. (v,)
        target: read at the training rows only. (n,)
        skip: predictor that is not used (the target's own); −1 for none.
        train: rows to draw bootstrap samples from. (m,)
        predict: rows to predict. (q,)
        trees: number of trees.
        tries: predictors tried at each node.
        min_leaf: distinct rows in a leaf, at least.
        seed: any integer ≥ 0; fixes the result.

    Returns:
        Prediction in [min, max] of the training targets, in the target's unit. (q,)
    """
    known = target[train].astype(np.float64)
    scaling = fit_scaling(known, constant=0.0)
    if scaling.scale == 0:
        return np.full(len(predict), scaling.centre)
    # Standardised, so that the purity threshold and rounding do not depend on the unit.
    scaled = scaling.standardise(known)
    total = _run(bins, n_bins, scaled, 0, skip, train, predict, trees, tries, min_leaf, seed)
    return np.clip(scaling.restore(total[:, 0]), known.min(), known.max())


def forest_shares(
    bins: UInt8[np.ndarray, "v n"],
    n_bins: Int[np.ndarray, " v"],
    target: Int[np.ndarray, " n"],
    *,
    classes: int,
    skip: int,
    train: Int[np.ndarray, " m"],
    predict: Int[np.ndarray, " q"],
    trees: int,
    tries: int,
    min_leaf: int,
    seed: int,
) -> Float[np.ndarray, "q k"]:
    """Classification forest: mean over trees of the class shares of the leaf, splits by Gini.

    Args: as `forest_means`; `target` holds classes 0, …, classes − 1 at the training rows.

    Returns:
        Class shares; rows sum to 1. (q, k)
    """
    known = target[train].astype(np.float64)
    return _run(bins, n_bins, known, classes, skip, train, predict, trees, tries, min_leaf, seed)


def _run(
    bins: np.ndarray,
    n_bins: np.ndarray,
    known: np.ndarray,
    classes: int,
    skip: int,
    train: np.ndarray,
    predict: np.ndarray,
    trees: int,
    tries: int,
    min_leaf: int,
    seed: int,
) -> np.ndarray:
    features = np.delete(np.arange(len(bins)), skip) if skip >= 0 else np.arange(len(bins))
    # Only the predictors in use, gathered once: columns for training, rows for predicting.
    inside = np.ascontiguousarray(bins[features][:, train])
    asked = np.ascontiguousarray(bins[features][:, predict].T)
    total = np.zeros((len(predict), max(classes, 1)))
    add_forest(
        inside, n_bins[features].astype(np.int64), known, asked, classes, trees, tries, min_leaf,
        np.array([seed], dtype=np.uint64), total,
    )  # fmt: skip
    return total / trees
