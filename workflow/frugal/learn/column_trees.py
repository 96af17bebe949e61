"""Boosted trees that predict one variable of a table from its others, by LightGBM.

The regressions inside chained imputation, single (`chained_trees`) and multiple
(`multiple_imputation`). A number is first a ridge regression, and trees learn the residuals;
their leaves are linear, too (Shi et al. 2019): columns of a table mostly depend smoothly on each
other. The number of trees is chosen on held-out rows. One thread and byte-deterministic.
Knows nothing of missing values.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.config.learners import TreeSettings
from frugal.core.errors import DataError
from frugal.learn.trees import LIGHTGBM


@dataclass(frozen=True)
class Variables:
    """The v variables of a table with d encoded columns, in the order of their first column.

    Attributes:
        columns: column indices of each variable; numeric variables have exactly one.
        classes: number of classes of each variable, 0 where it is numeric.
    """

    columns: tuple[tuple[int, ...], ...]
    classes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def width(self) -> int:
        """Number of encoded columns d."""
        return sum(len(c) for c in self.columns)

    @property
    def categorical(self) -> Bool[np.ndarray, " v"]:
        """True where a variable is categorical. (v,)"""
        return np.array(self.classes, dtype=np.int64) > 0


def variables_of(width: int, onehot: tuple[tuple[int, ...], ...]) -> Variables:
    """Groups the columns of a table into variables.

    Args:
        width: number of encoded columns d.
        onehot: groups of column indices, each the one-hot code of one categorical variable.

    Raises:
        DataError: a group is empty, names a column outside the table, or shares a column.
    """
    group_of: dict[int, tuple[int, ...]] = {}
    for group in onehot:
        if not group:
            raise DataError("a one-hot group is empty; each needs at least one column")
        for column in group:
            if not 0 <= column < width:
                raise DataError(
                    f"a one-hot group names column {column}; columns are 0 to {width - 1}"
                )
            if column in group_of:
                raise DataError(f"column {column} occurs twice in the one-hot groups")
            group_of[column] = group
    columns: list[tuple[int, ...]] = []
    for column in range(width):
        group = group_of.get(column)
        if group is None:
            columns.append((column,))
        elif column == min(group):
            columns.append(group)
    return Variables(tuple(columns), tuple(len(c) if c[0] in group_of else 0 for c in columns))


def compact(values: Float[np.ndarray, "n d"], variables: Variables) -> Float[np.ndarray, "n v"]:
    """Numeric columns as they are, one-hot groups as class codes 0, 1, …; NaN where missing.

    Args:
        values: encoded columns, NaN where missing. (n, d)
        variables: of the same table.

    Raises:
        DataError: a value is infinite, a group is missing in part, or is not a one-hot code.
    """
    if np.isinf(values).any():
        raise DataError("a value is infinite; values are finite, or NaN where missing")
    codes = np.empty((len(values), len(variables)), dtype=np.float64)
    for j, (columns, classes) in enumerate(zip(variables.columns, variables.classes, strict=True)):
        block = values[:, columns]
        if classes == 0:
            codes[:, j] = block[:, 0]
            continue
        missing = np.isnan(block)
        absent = missing.all(axis=1)
        if (missing.any(axis=1) != absent).any():
            raise DataError(f"one-hot columns {columns} are missing in part; they share one fate")
        observed = block[~absent]
        if not (((observed == 0) | (observed == 1)).all() and (observed.sum(axis=1) == 1).all()):
            raise DataError(f"a row of the one-hot columns {columns} is not a single 1 among 0s")
        codes[:, j] = np.where(absent, np.nan, block.argmax(axis=1))
    return codes


def expand(codes: Float[np.ndarray, "n v"], variables: Variables) -> Float[np.ndarray, "n d"]:
    """The inverse of `compact` for codes without missing entries. (n, v) → (n, d)"""
    values = np.zeros((len(codes), variables.width), dtype=np.float64)
    rows = np.arange(len(codes))
    for j, (columns, classes) in enumerate(zip(variables.columns, variables.classes, strict=True)):
        if classes == 0:
            values[:, columns[0]] = codes[:, j]
        else:
            values[rows, np.array(columns)[codes[:, j].astype(np.int64)]] = 1.0
    return values


def require_observed(codes: Float[np.ndarray, "n v"], variables: Variables) -> None:
    """Refuses a table that has a variable without any observed value.

    Raises:
        DataError: naming the columns of the first such variable.
    """
    empty = np.flatnonzero(np.isnan(codes).all(axis=0))
    if len(empty):
        columns = ", ".join(str(c) for c in variables.columns[empty[0]])
        raise DataError(f"column {columns} has no observed value; imputation needs at least one")


_BINS = 63  # finer thresholds take twice the time and gain nothing where leaves are linear
_INTERCEPT = 1e-6  # penalty: all but none


@dataclass(frozen=True, eq=False)
class ColumnTrees:
    """A fitted regression of variable j on the v − 1 others.

    Attributes:
        j: the variable.
        classes: of it; 0 where it is a number.
        slopes: intercept, and a slope for each of the d encoded columns, 0 for j's own. (1 + d,)
        text: the trees as LightGBM writes models; empty where there are none.
    """

    j: int
    classes: int
    slopes: Float[np.ndarray, " c"]
    text: str

    def predict(
        self, rows: Float[np.ndarray, "q v"], variables: Variables
    ) -> Float[np.ndarray, "q *k"]:
        """Conditional means of a number (q,), or probabilities of the classes (q, k).

        Args:
            rows: codes of all variables, of which j itself is not read. (q, v)
            variables: of the table.
        """
        prediction = np.zeros(len(rows))
        if self._booster is not None:
            prediction = self._booster.predict(np.delete(rows, self.j, axis=1), num_threads=1)
        if self.classes == 0:
            return prediction + linear_part(rows, self.slopes, variables)
        return np.stack([1 - prediction, prediction], axis=1) if self.classes == 2 else prediction

    @cached_property
    def _booster(self) -> Any | None:
        if not self.text:
            return None
        import lightgbm  # slow to import, and only needed here

        return lightgbm.Booster(model_str=self.text)


def linear_part(
    rows: Float[np.ndarray, "q v"], slopes: Float[np.ndarray, " c"], variables: Variables
) -> Float[np.ndarray, " q"]:
    """Intercept plus slopes times the encoded columns, summed column after column. (q,)

    A matrix product may round a row differently when it is part of another batch.
    """
    total = np.full(len(rows), slopes[0])
    for column, slope in zip(expand(rows, variables).T, slopes[1:], strict=True):
        if slope:
            total += slope * column
    return total


def fit_column(
    rows: Float[np.ndarray, "m v"],
    target: Float[np.ndarray, " m"],
    *,
    j: int,
    variables: Variables,
    weight: Int[np.ndarray, " m"] | None,
    held_out: tuple[Float[np.ndarray, "h v"], Float[np.ndarray, " h"]] | None,
    settings: TreeSettings,
    seed: int,
) -> tuple[ColumnTrees, int]:
    """The regression of variable j, and how many boosting rounds it keeps.

    Args:
        rows: codes of all variables, no NaN; j itself is not read. (m, v)
        target: a number, or a class code. (m,)
        j: the variable that is predicted.
        variables: of the table.
        weight: how often each row counts; None: once. (m,)
        held_out: rows and targets on which the number of rounds is chosen; None keeps all.
        settings: of the trees; of a number 0 trees leave the linear part.
        seed: of LightGBM.
    """
    import lightgbm  # slow to import, and only needed here

    classes = variables.classes[j]
    slopes = np.zeros(1 + variables.width)
    if classes == 0:
        slopes = _ridge(rows, target, j, variables, weight, settings.linear_penalty)
        target = target - linear_part(rows, slopes, variables)
        if settings.trees == 0:
            return ColumnTrees(j, classes, slopes, ""), 0
    chosen = _parameters(classes, settings, seed)
    coded = np.delete(variables.categorical, j)
    data = lightgbm.Dataset(
        np.delete(rows, j, axis=1),
        label=target,
        weight=weight,
        params=chosen,
        categorical_feature=np.flatnonzero(coded).tolist(),
    )
    losses: dict[str, Any] = {}
    watched = []
    if held_out is not None:
        left = held_out[1] - linear_part(held_out[0], slopes, variables)
        watched = [
            lightgbm.Dataset(
                np.delete(held_out[0], j, axis=1), label=left, reference=data, params=chosen
            )
        ]
    booster = lightgbm.train(
        chosen,
        data,
        num_boost_round=settings.trees,
        keep_training_booster=True,
        valid_sets=watched,
        callbacks=[lightgbm.record_evaluation(losses)] if watched else [],
    )
    rounds = settings.trees
    if held_out is not None:
        [curve] = losses["valid_0"].values()
        rounds = 1 + int(np.argmin(curve))
        if classes == 0 and np.square(left).mean() <= min(curve):
            rounds = 0
    text = booster.model_to_string(num_iteration=rounds) if rounds else ""
    return ColumnTrees(j, classes, slopes, text), rounds


def _ridge(
    rows: np.ndarray,
    target: np.ndarray,
    j: int,
    variables: Variables,
    weight: np.ndarray | None,
    penalty: float,
) -> np.ndarray:
    """Intercept and slopes of the penalised least squares, 0 for j's own columns. (1 + d,)"""
    design = np.column_stack([np.ones(len(rows)), expand(rows, variables)])
    of_target = [1 + column for column in variables.columns[j]]
    design[:, of_target] = 0.0
    weighted = design if weight is None else design * weight[:, None]
    gram = weighted.T @ design + np.diag([_INTERCEPT, *[penalty] * variables.width])
    slopes = np.linalg.solve(gram, weighted.T @ target)
    slopes[of_target] = 0.0
    return slopes


def _parameters(classes: int, settings: TreeSettings, seed: int) -> dict[str, Any]:
    """LightGBM's own names."""
    objective = {
        0: {"objective": "regression", "metric": "l2", "boost_from_average": False},
        2: {"objective": "binary", "metric": "binary_logloss"},
    }.get(classes, {"objective": "multiclass", "metric": "multi_logloss", "num_class": classes})
    return {
        **LIGHTGBM,
        **objective,
        "num_leaves": settings.leaves,
        "learning_rate": settings.learning_rate,
        "min_data_in_leaf": settings.min_leaf,
        "min_data_per_group": settings.min_leaf,
        "linear_tree": True,
        "linear_lambda": settings.linear_penalty,
        "max_bin": _BINS,
        "use_missing": False,
        "seed": seed,
    }
