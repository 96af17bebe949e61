"""Boosted trees of two classes, cross-fitted: no tree predicts a row that it was fitted to.

Log-odds are averaged over folds and over repeats, each of which folds the rows anew; rows that are
not learnt from are predicted by all trees. The kept `TreeEnsemble` is that average, so a
stored ensemble predicts the same of a new row. Knows rows and columns; no panels, no costs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.config.learners import BoostingSettings
from frugal.core.errors import DataError
from frugal.core.stored import arrays_of
from frugal.learn.tree_scoring import leaf_sums
from frugal.learn.trees import LIGHTGBM, TreeEnsemble, constant_tree, join_trees, lightgbm_trees

MOST_LOG_ODDS = 20.0
LEAST_SHARE = 15  # a leaf never needs more than this part of the rows that a fold learns from
BINS = 63
MEAN_BINS = 31
MOST_FITTED = 256  # boosters whose texts are kept
_fitted: dict[str, tuple[str, Float[np.ndarray, " trees"]]] = {}  # by settings and digests


def log_odds_of(probability: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Log-odds within the range that trees have. (…, n)"""
    p = np.clip(probability, np.exp(-MOST_LOG_ODDS), 1 - np.exp(-MOST_LOG_ODDS))
    return np.log(p) - np.log1p(-p)


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Trees on some columns.

    Attributes:
        log_odds: of class 1, of every row; of a row learnt from, by trees that did not see it. (n,)
        ensemble: all trees, averaged.
        by_one_fold: the same, but each row is predicted by trees of one fold of a repeat. (n,)
    """

    log_odds: Float[np.ndarray, " n"]
    ensemble: TreeEnsemble
    by_one_fold: Float[np.ndarray, " n"]


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
    for name in range(max(2, label.max(initial=0) + 1)):
        rows = np.flatnonzero(learns & (label == name))
        if len(rows) < folds:
            raise DataError(
                f"trees are cross-fitted in {folds} folds, which need a row of every class each; "
                f"class {name + 1} has {len(rows)} rows to learn from: give "
                "the part that trees learn from more rows under 'split', or set fewer folds"
            )
        for repeat in range(repeats):
            fold[repeat, rng.permutation(rows)] = np.arange(len(rows)) % folds
    return fold


@dataclass(frozen=True, eq=False)
class FoldedTrees:
    """The trees of each repeat and fold.

    Attributes:
        parts: in the order of repeats, then folds.
        fold: of each row, −1 for rows that are not learnt from. (repeats, n)
    """

    parts: Sequence[TreeEnsemble]
    fold: Int[np.ndarray, "repeats n"]

    def log_odds(self, values: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Of class 1, of the same rows, by trees that did not see them, averaged. (n,)"""
        return self.out_of_fold(values)[0]

    def out_of_fold(
        self, values: Float[np.ndarray, "n d"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """`log_odds`, and the same with one fold of a repeat for rows not learnt from, too."""
        total, count = np.zeros((2, len(values))), np.zeros((2, len(values)))
        folds = len(self.parts) // len(self.fold)
        turn = np.arange(len(values)) % folds
        for number, part in enumerate(self.parts):
            of_row, k = self.fold[number // folds], number % folds
            rows = np.flatnonzero((of_row < 0) | (of_row == k))
            inputs = values[rows]
            scores = leaf_sums(part, inputs, np.ones_like(inputs, dtype=bool))[:, 1]
            one_fold = (of_row[rows] == k) | (turn[rows] == k)
            for place, counted in enumerate((np.ones_like(one_fold), one_fold)):
                total[place, rows] += np.where(counted, scores, 0.0)
                count[place, rows] += counted
        odds = np.clip(total / count, -MOST_LOG_ODDS, MOST_LOG_ODDS)
        return odds[0], odds[1]

    @property
    def ensemble(self) -> TreeEnsemble:
        """All trees, averaged in log-odds."""
        return joined(self.parts, share=1 / len(self.parts))


def fit_cross_fitted(
    values: Float[np.ndarray, "n d"],
    label: Int[np.ndarray, " n"],
    fold: Int[np.ndarray, "repeats n"],
    *,
    settings: BoostingSettings,
    seed: int,
) -> CrossFitted:
    """Fit trees to some rows and predict the same rows. See `fit_folded`."""
    trees = fit_folded(values, label, fold, settings=settings, seed=seed)
    log_odds, by_one_fold = trees.out_of_fold(values)
    return CrossFitted(log_odds, trees.ensemble, by_one_fold)


def fit_folded(
    values: Float[np.ndarray, "n d"],
    label: Int[np.ndarray, " n"],
    fold: Int[np.ndarray, "repeats n"],
    *,
    settings: BoostingSettings,
    seed: int,
) -> FoldedTrees:
    """Fit trees to the columns that have a value anywhere, one booster for each repeat and fold.

    Args:
        values: of all rows, NaN where unknown. (n, d)
        label: 0 or 1. (n,)
        fold: of each row, −1 for rows that are not learnt from. (repeats, n)
        settings: how.
        seed: of LightGBM's draws.
    """
    used = np.flatnonzero(~np.isnan(values).all(axis=0))
    inputs = values[:, used].astype(np.float32)
    if not len(used):
        used, inputs = np.array([0]), np.zeros((len(values), 1), dtype=np.float32)
    texts, loss = [], np.zeros(settings.trees)
    for repeat, folds in enumerate(fold):
        for k in range(settings.folds):
            train, out = np.flatnonzero((folds >= 0) & (folds != k)), np.flatnonzero(folds == k)
            drawn = seed + repeat * settings.folds + k
            text, losses = _booster(inputs, label, train, out, settings, drawn)
            texts.append(text)
            loss += len(out) * losses
    n_trees, columns = 1 + int(loss.argmin()), values.shape[1]
    how = {"columns": columns, "classes": 2, "scored": 1, "most": n_trees, "used": used}
    return FoldedTrees([lightgbm_trees(text, **how) for text in texts], fold)


def _booster(
    inputs: np.ndarray,
    label: np.ndarray,
    train: np.ndarray,
    out: np.ndarray,
    settings: BoostingSettings,
    seed: int,
) -> tuple[str, Float[np.ndarray, " trees"]]:
    """Text of one booster, and its loss on the rows left out after each tree. (trees,)"""
    import lightgbm  # slow to import, not needed to score

    chosen = {
        **LIGHTGBM,
        "objective": "binary",
        "metric": "binary_logloss",
        "max_bin": BINS,
        "seed": seed,
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.leaves,
        "min_data_in_leaf": max(1, min(settings.min_leaf, len(train) // LEAST_SHARE)),
        "feature_fraction": settings.column_share,
        "bagging_fraction": settings.row_share,
        "bagging_freq": 1,
        "lambda_l2": settings.ridge,
    }
    learnt, held_out = (inputs[train], label[train]), (inputs[out], label[out])
    digests = [sha256(part.tobytes()).digest() for part in (*learnt, *held_out)]
    key = repr([chosen, settings.trees, digests])
    if key in _fitted:  # for another policy of these rows, or for fewer repeats
        return _fitted[key]
    data = lightgbm.Dataset(*learnt, params=chosen)
    left_out = lightgbm.Dataset(*held_out, reference=data, params=chosen)
    booster, losses = lightgbm.Booster(chosen, data), np.zeros(settings.trees)
    booster.add_valid(left_out, "out")
    for tree in range(settings.trees):
        booster.update()
        losses[tree] = booster.eval_valid()[0][2]
    if len(_fitted) >= MOST_FITTED:
        _fitted.pop(next(iter(_fitted)), None)
    _fitted[key] = booster.model_to_string(), losses
    return _fitted[key]


def joined(parts: Sequence[TreeEnsemble], *, share: float = 1.0) -> TreeEnsemble:
    """One ensemble of the trees of several, leaf rows times a share; `split_ensemble` undoes it."""
    arrays = [{k: v for k, v in arrays_of(part).items() if k != "root"} for part in parts]
    merged = join_trees(arrays, link="softmax", columns=parts[0].columns)  # each part as a tree
    root = np.concatenate([part.root + at for part, at in zip(parts, merged.root, strict=True)])
    return replace(merged, root=root.astype(np.int32), leaf_value=merged.leaf_value * share)


@dataclass(frozen=True, eq=False)
class FittedMeans:
    """Trees that predict k means at once.

    Attributes:
        out_of_fold: predictions of every row, by trees not fitted to it. (n, k)
        ensemble: the same of any row: the sums of its leaf rows.
    """

    out_of_fold: Float[np.ndarray, "n k"]
    ensemble: TreeEnsemble


def fit_means(
    values: Float[np.ndarray, "n d"],
    targets: Float[np.ndarray, "n k"],
    counts: Bool[np.ndarray, "n k"],
    half: Int[np.ndarray, " n"],
    *,
    trees: int,
    leaves: int,
    learning_rate: float,
    min_leaf: int,
    ridge: float,
    seed: int,
) -> FittedMeans:
    """Boosted regressions of k targets on the same columns, each fitted on either half of the rows.

    Args:
        values: NaN where unknown. (n, d)
        targets: values to predict. (n, k)
        counts: False where a row is not learnt from. (n, k)
        half: 0 or 1 of each row. (n,)
        trees: of each half and target.
        leaves: of a tree, at most.
        learning_rate: shrinkage of each tree.
        min_leaf: fewest rows of a leaf; less where there are few rows.
        ridge: penalty of leaf values.
        seed: of LightGBM's draws.
    """
    import lightgbm  # slow to import, not needed to score

    used = np.flatnonzero(~np.isnan(values).all(axis=0))
    inputs, out_of_fold, parts = values[:, used].astype(np.float32), np.zeros(targets.shape), []
    for part in (0, 1):
        train, out = np.flatnonzero(half != part), np.flatnonzero(half == part)
        chosen = {
            **LIGHTGBM,
            "objective": "regression",
            "max_bin": MEAN_BINS,
            "seed": seed,
            "learning_rate": learning_rate,
            "num_leaves": leaves,
            "lambda_l2": ridge,
            "min_data_in_leaf": max(1, min(min_leaf, len(train) // LEAST_SHARE)),
        }
        data = lightgbm.Dataset(inputs[train], np.zeros(len(train)), params=chosen)
        for k in range(targets.shape[1]):
            weight = counts[train, k].astype(np.float64)
            if not weight.any():
                continue
            data.set_label(np.where(weight > 0, targets[train, k], 0.0))
            data.set_weight(weight)
            booster = lightgbm.train(chosen, data, num_boost_round=trees)
            out_of_fold[out, k] = np.asarray(booster.predict(inputs[out]))
            how = {"columns": values.shape[1], "classes": targets.shape[1], "scored": k}
            parts.append(lightgbm_trees(booster.model_to_string(), used=used, **how))
    if not parts:
        parts = [constant_tree(np.zeros(targets.shape[1]), values.shape[1])]
    return FittedMeans(out_of_fold, joined(parts, share=1 / 2))


def split_ensemble(
    ensemble: TreeEnsemble, counts: Int[np.ndarray, " parts"]
) -> tuple[TreeEnsemble, ...]:
    """Ensembles that were joined, each of so many trees."""
    last = np.cumsum(counts)
    root = np.append(ensemble.root, len(ensemble.feature))
    leaves = np.concatenate([[0], np.cumsum(ensemble.feature < 0)])
    ensembles = []
    for first, end in zip(last - counts, last, strict=True):
        nodes = slice(int(root[first]), int(root[end]))
        rows = slice(int(leaves[nodes.start]), int(leaves[nodes.stop]))
        leaf = ensemble.feature[nodes] < 0
        shift = np.where(leaf, rows.start, nodes.start)
        ensembles.append(
            TreeEnsemble(
                ensemble.root[first:end] - ensemble.root[first],
                ensemble.feature[nodes],
                ensemble.threshold[nodes],
                (ensemble.right[nodes] - shift).astype(np.int32),
                ensemble.missing_left[nodes],
                ensemble.leaf_value[rows],
                ensemble.link,
                ensemble.columns,
            )
        )
    return tuple(ensembles)
