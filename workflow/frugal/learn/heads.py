"""Regressions to be fitted, and what was fitted for them. Knows no method and no estimator."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

Ask = Callable[[np.ndarray], np.ndarray]  # inputs (m, w), all finite → predictions (m, o)


@dataclass(frozen=True, eq=False)
class Head:
    """One binary regression p(D = 1 | Z). Shapes: n rows, w inputs.

    Attributes:
        inputs: Z; NaN where a row does not have it. (n, w)
        target: D. (n,)
        usable: True where the row may train: Z is finite and D means what is asked for. (n,)
        is_law: every fitted probability is kept within `probability_bounds`, as fits a law by which
            one divides; else only a 0 or a 1, and smaller ones mean what they say.
    """

    inputs: Float[np.ndarray, "n w"]
    target: Bool[np.ndarray, " n"]
    usable: Bool[np.ndarray, " n"]
    is_law: bool = True


@dataclass(frozen=True, eq=False)
class MeanHead:
    """One regression E[C | Z] with o outcomes; rows that are not usable may hold NaN targets.

    Attributes:
        inputs: Z; NaN where a row does not have it. (n, w)
        target: C, in its own unit. (n, o)
        usable: True where the row may train. (n,)
    """

    inputs: Float[np.ndarray, "n w"]
    target: Float[np.ndarray, "n o"]
    usable: Bool[np.ndarray, " n"]


@dataclass(frozen=True, eq=False)
class HeadModels:
    """What was fitted for one head: a model for each split, each of which answers for any rows.

    Attributes:
        models: one for each fold, which answers for its rows; or a single one, for all rows.
        folds: numbers of the folds, in order; none where there is a single model.
        outcomes: o.
    """

    models: Sequence[Ask]
    folds: Sequence[int]
    outcomes: int

    def predict(
        self, inputs: Float[np.ndarray, "n w"], fold: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n o"]:
        """Predictions, each row's by the model that has not seen its fold.

        Returns:
            NaN where the inputs are not finite. (n, o)
        """
        result = np.full((len(inputs), self.outcomes), np.nan)
        finite = np.asarray(np.isfinite(inputs).all(axis=1))
        asked = [fold == k for k in self.folds] or [np.ones(len(inputs), dtype=bool)]
        for model, rows in zip(self.models, asked, strict=True):
            if (rows & finite).any():
                result[rows & finite] = model(inputs[rows & finite])
        return result
