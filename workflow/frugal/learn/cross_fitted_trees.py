"""Boosted trees of two classes, cross-fitted: trees tell of a training row that never saw it.

Log-odds are averaged over folds and over repeats, each of which folds the rows anew; rows that are
not learnt from are told by all trees. The kept `TreeEnsemble` is that average, so that what stands
in a file says of a new row what was said here. Knows rows and columns; no panels, no costs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import DataError
from frugal.learn.trees import TreeEnsemble, join_trees, lightgbm_tree

MOST_LOG_ODDS = 20.0
LEAST_SHARE = 15  # a leaf never needs more than this part of the rows that a fold learns from
BINS = 63


@dataclass(frozen=True)
class BoostingSettings:
    """How trees are fitted. A leaf has `min_leaf` rows, or a fifteenth of the rows if that is less.

    Attributes:
        trees: most of them; the loss on the rows left out tells how many are kept.
        leaves: of a tree, at most.
        learning_rate: shrinkage of each tree.
        min_leaf: fewest rows of a leaf.
        ridge: penalty of leaf values.
        column_share: drawn for each tree.
        row_share: drawn for each tree.
        folds: of a repeat.
        repeats: divisions into folds whose trees are averaged.
    """

    trees: int
    leaves: int
    learning_rate: float
    min_leaf: int
    ridge: float
    column_share: float
    row_share: float
    folds: int
    repeats: int

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "BoostingSettings":
        """From a block of config."""
        return cls(**settings)


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Trees on some columns.

    Attributes:
        log_odds: of class 1, of every row; of a row learnt from, by trees that did not see it. (n,)
        ensemble: all trees, averaged.
    """

    log_odds: Float[np.ndarray, " n"]
    ensemble: TreeEnsemble


def folds_of(
    label: Int[np.ndarray, " n"],
    learns: Bool[np.ndarray, " n"],
    *,
    folds: int,
    repeats: int,
    rng: np.random.Generator,
) -> Int[np.ndarray, "repeats n"]:
    """Fold of each row that is learnt from, −1 of others; each class is spread evenly over folds.

    Raises:
        DataError: a class has fewer rows than there are folds.
    """
    fold = np.full((repeats, len(label)), -1, dtype=np.int64)
    for name in (0, 1):
        rows = np.flatnonzero(learns & (label == name))
        if len(rows) < folds:
            raise DataError(
                f"trees are cross-fitted in {folds} folds; class {name} has {len(rows)} training "
                "rows; allowed are at least as many as folds"
            )
        for repeat in range(repeats):
            fold[repeat, rng.permutation(rows)] = np.arange(len(rows)) % folds
    return fold


def fit_cross_fitted(
    values: Float[np.ndarray, "n d"],
    label: Int[np.ndarray, " n"],
    fold: Int[np.ndarray, "repeats n"],
    *,
    settings: BoostingSettings,
    seed: int,
) -> CrossFitted:
    """Fit trees to the columns that have a value anywhere, one booster for each repeat and fold.

    Args:
        values: of all rows, NaN where unknown. (n, d)
        label: 0 or 1. (n,)
        fold: of each row, −1 for rows that are not learnt from. (repeats, n)
        settings: how.
        seed: of LightGBM's draws.
    """
    used = np.flatnonzero(~np.isnan(values).all(axis=0))
    seen = values[:, used].astype(np.float32)
    if not len(used):
        used, seen = np.array([0]), np.zeros((len(values), 1), dtype=np.float32)
    boosters, left_out, loss = [], [], np.zeros(settings.trees)
    for repeat, folds in enumerate(fold):
        for k in range(settings.folds):
            train, out = np.flatnonzero((folds >= 0) & (folds != k)), np.flatnonzero(folds == k)
            drawn = seed + repeat * settings.folds + k
            booster, losses = _booster(seen, label, train, out, settings, drawn)
            boosters.append(booster)
            left_out.append(out)
            loss += len(out) * _filled(losses, settings.trees)
    kept = 1 + int(loss.argmin())
    total, count = np.zeros(len(values)), np.zeros(len(values))
    others = np.flatnonzero(fold[0] < 0)
    for booster, out in zip(boosters, left_out, strict=True):
        rows = np.concatenate([out, others])
        total[rows] += booster.predict(seen[rows], raw_score=True, num_iteration=kept)
        count[rows] += 1
    log_odds = np.clip(total / count, -MOST_LOG_ODDS, MOST_LOG_ODDS)
    return CrossFitted(log_odds, _averaged(boosters, used, values.shape[1], kept))


def _filled(losses: list[float], trees: int) -> Float[np.ndarray, " trees"]:
    """Loss after each tree; where nothing was left to split, that after the last. (trees,)"""
    return np.array([*losses, *[losses[-1]] * (trees - len(losses))])


def _booster(
    seen: np.ndarray,
    label: np.ndarray,
    train: np.ndarray,
    out: np.ndarray,
    settings: BoostingSettings,
    seed: int,
) -> tuple[Any, list[float]]:
    """One booster, and its loss on the rows left out after each tree."""
    import lightgbm  # slow to import, not needed to score

    chosen = {
        "objective": "binary", "metric": "binary_logloss", "num_threads": 1, "verbosity": -1,
        "deterministic": True, "force_row_wise": True, "max_bin": BINS, "seed": seed,
        "learning_rate": settings.learning_rate, "num_leaves": settings.leaves,
        "min_data_in_leaf": max(1, min(settings.min_leaf, len(train) // LEAST_SHARE)),
        "feature_fraction": settings.column_share, "bagging_fraction": settings.row_share,
        "bagging_freq": 1, "lambda_l2": settings.ridge, "feature_pre_filter": False,
    }  # fmt: skip
    data = lightgbm.Dataset(seen[train], label=label[train])
    told = lightgbm.Dataset(seen[out], label=label[out], reference=data)
    losses: dict[str, dict[str, list[float]]] = {}
    booster = lightgbm.train(
        chosen, data, num_boost_round=settings.trees, valid_sets=[told], valid_names=["out"],
        callbacks=[lightgbm.record_evaluation(losses)],
    )  # fmt: skip
    return booster, losses["out"]["binary_logloss"]


def _averaged(boosters: list[Any], used: np.ndarray, columns: int, kept: int) -> TreeEnsemble:
    """The mean of the boosters' log-odds as one ensemble over all columns of the table."""
    parts = []
    for booster in boosters:
        for tree in booster.dump_model(num_iteration=kept)["tree_info"]:
            part = lightgbm_tree(tree["tree_structure"], 1, 2)
            inner = part["feature"] >= 0
            part["feature"][inner] = used[part["feature"][inner]]
            part["leaf_value"] /= len(boosters)
            parts.append(part)
    return join_trees(parts, link="softmax", columns=columns)
