"""A ridge logistic regression averaged with boosted trees, by a weight chosen out of fold.

Trees see thresholds and regressions see sums: of a few hundred rows the two together lose less than
either. Inputs are standardised values, 0 where unknown, and 1 for a column that is unknown. Knows
rows and columns; no panels, no costs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Int

from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.stored import Stored, Within, arrays_of, declared
from frugal.learn.cross_fitted_trees import MOST_LOG_ODDS, CrossFitted
from frugal.learn.weighted_logistic import logistic_mode

RIDGES = (1.0, 5.0, 25.0, 100.0)  # prior precisions of a slope; the one of least cross-fitted loss
FREE = 1e-3  # of an intercept
WEIGHTS = (0.0, 0.5, 0.5)  # prior means: intercept, trees, regression
CERTAIN = 8.0  # prior precision of the two weights
FURTHEST = 4.0  # standard deviations beyond which a value counts no further
DONE = 1e-12  # squared Newton decrement


@dataclass(frozen=True, eq=False)
class LinearPart:
    """One regression and its weight against the trees. d columns.

    Attributes:
        weights: intercept, weight of the trees' log-odds, weight of the regression's. (3,)
        centre: of each column; 0 for those that are not read. (d,)
        scale: of each column. (d,)
        slope: intercept, per standard deviation, and where the column is unknown. (2 d + 1,)
    """

    weights: Annotated[Float[np.ndarray, " 3"], Within()]
    centre: Annotated[Float[np.ndarray, " d"], Within()]
    scale: Annotated[Float[np.ndarray, " d"], Within()]
    slope: Annotated[Float[np.ndarray, " c"], Within()]

    def log_odds(
        self, by_trees: Float[np.ndarray, " n"], values: Float[np.ndarray, "n d"]
    ) -> Float[np.ndarray, " n"]:
        """Of both together. (n,)"""
        linear = design_of(values, self.centre, self.scale) @ self.slope
        return weighed(self.weights, by_trees, linear)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything it is; `from_arrays` is the inverse."""
        return arrays_of(self)

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], *, columns: int) -> "LinearPart":
        """Inverse of `to_arrays`.

        Raises:
            DataError: it is no regression on so many columns.
        """
        stored = Stored("regression averaged with the trees", arrays)
        stored.require(declared(LinearPart), d=columns, c=2 * columns + 1)
        return LinearPart(**arrays)


def design_of(
    values: Float[np.ndarray, "n d"],
    centre: Float[np.ndarray, " d"],
    scale: Float[np.ndarray, " d"],
) -> Float[np.ndarray, "n c"]:
    """1, standardised values (0 where unknown), and 1 where unknown. (n, 2 d + 1)"""
    unknown = np.isnan(values)
    z = np.clip(Scaling(centre, scale).standardise(values), -FURTHEST, FURTHEST)
    z = np.where(unknown, 0.0, z)
    return np.hstack([np.ones((len(values), 1)), z, unknown.astype(np.float64)])


def weighed(
    weights: Float[np.ndarray, " 3"],
    by_trees: Float[np.ndarray, " n"],
    linear: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Intercept and weighted log-odds of both, within the range that trees have. (n,)"""
    total = weights[0] + weights[1] * by_trees + weights[2] * linear
    return np.clip(total, -MOST_LOG_ODDS, MOST_LOG_ODDS)


def averaged(
    trees: CrossFitted,
    values: Float[np.ndarray, "n d"],
    label: Int[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
) -> tuple[CrossFitted, LinearPart]:
    """Both together, predicted out of fold, and the regression of all rows.

    Args:
        trees: of the same columns.
        values: of the columns, NaN where unknown. (n, d)
        label: 0 or 1. (n,)
        fold: of each row, −1 for rows that are not learnt from. (n,)
    """
    learns, scaling = fold >= 0, fit_scaling(values[fold >= 0], unknown=True)
    design = design_of(values, scaling.centre, scaling.scale)
    used = _distinct(design[learns])
    held_out = {ridge: np.zeros(len(label)) for ridge in RIDGES}
    for part in np.unique(fold[learns]):
        train = learns & (fold != part)
        for ridge, odds in held_out.items():
            odds[fold == part] = design[fold == part][:, used] @ _mode(
                design[train][:, used], label[train], ridge
            )
    loss = {
        ridge: np.logaddexp(0, np.where(label == 1, -x, x))[learns].mean()
        for ridge, x in held_out.items()
    }
    ridge = min(loss, key=lambda penalty: loss[penalty])
    slope = np.zeros(design.shape[1])
    slope[used] = _mode(design[learns][:, used], label[learns], ridge)
    linear = np.where(learns, held_out[ridge], design @ slope)
    inputs = np.column_stack([np.ones(len(label)), trees.by_one_fold, linear])
    weights = logistic_mode(
        inputs[learns],
        label[learns],
        np.ones(int(learns.sum())),
        precision=np.array([FREE, CERTAIN, CERTAIN]),
        start=np.array(WEIGHTS),
        decrement=DONE,
        towards=np.array(WEIGHTS),
    )[0]
    weights[1:] = np.maximum(weights[1:], 0.0)
    combined = CrossFitted(
        weighed(weights, trees.log_odds, linear),
        trees.ensemble,
        weighed(weights, trees.by_one_fold, linear),
    )
    return combined, LinearPart(weights, scaling.centre, scaling.scale, slope)


def _distinct(design: np.ndarray) -> Int[np.ndarray, " u"]:
    """Columns that vary and the intercept; of columns that are unknown together the first."""
    width = design.shape[1] // 2 + 1
    first = {column.tobytes(): k for k, column in reversed([*enumerate(design.T)]) if k >= width}
    columns = np.array([*range(width), *sorted(first.values())])
    return columns[(np.ptp(design[:, columns], axis=0) > 0) | (columns == 0)]


def _mode(design: np.ndarray, label: np.ndarray, ridge: float) -> np.ndarray:
    precision = np.full(design.shape[1], ridge)
    precision[0] = FREE
    start = np.zeros(design.shape[1])
    return logistic_mode(
        design, label, np.ones(len(label)), precision=precision, start=start, decrement=DONE
    )[0]
