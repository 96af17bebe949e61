"""Mean and standard deviation of each column over its known values, and their use.

The one standardisation of the package: networks, imputers, folds, agents and missingness laws read
columns in this scale. Must not know the meaning of columns, or files.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from jaxtyping import Float, Float64, Shaped

from frugal.core.errors import DataError
from frugal.core.stored import Within

ROUNDING = 1e-12  # a spread below this share of the mean is rounding of a constant


@dataclass(frozen=True, eq=False)
class Scaling:
    """Centre and scale of each column; of a single column, without an axis.

    Attributes:
        centre: means. (d,)
        scale: standard deviations. (d,)
    """

    centre: Annotated[Float[np.ndarray, "*d"], Within()]
    scale: Annotated[Float[np.ndarray, "*d"], Within(above=0)]

    def standardise(self, values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Values in standard deviations from the mean; NaN stays. (…, d)"""
        return (values - self.centre) / self.scale

    def restore(self, standardised: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """The inverse of `standardise`. (…, d)"""
        return standardised * self.scale + self.centre

    def leaving(self, groups: Sequence[Sequence[int]]) -> "Scaling":
        """The same, but columns of these groups, such as one-hot codes, stay as they are."""
        left = np.isin(np.arange(len(self.centre)), [j for group in groups for j in group])
        return Scaling(np.where(left, 0.0, self.centre), np.where(left, 1.0, self.scale))


def fit_scaling(
    values: Float[np.ndarray, "n *d"],
    weight: Float[np.ndarray, " n"] | None = None,
    *,
    constant: float = 1.0,
    unknown: bool = False,
) -> Scaling:
    """Scaling by the known values of each column, or of the only one.

        centre = Σ wᵢ xᵢ / Σ wᵢ,   scale = √(Σ wᵢ (xᵢ − centre)² / Σ wᵢ)

    Args:
        values: NaN where unknown. (n, d) or (n,)
        weight: w of each row, above 0; None: all weigh the same.
        constant: scale of a column that never varies; 1 only shifts it, ∞ makes it 0.
        unknown: let columns without a known value pass; they stay as they are.

    Raises:
        DataError: a column has no known value, unless they may pass, or a value is infinite.
    """
    if np.isinf(values).any():
        raise DataError("a value is infinite; values are finite, or NaN where missing")
    observed = ~np.isnan(values)
    absent = ~observed.any(axis=0)
    if not unknown and absent.any():
        column = int(np.flatnonzero(absent)[0])
        raise DataError(f"column {column} has no known value; at least one is needed")
    share = observed if weight is None else observed * weight.reshape(-1, *[1] * (values.ndim - 1))
    total = np.where(absent, 1, share.sum(axis=0))
    centre = np.where(observed, values, 0.0)
    centre = (centre if weight is None else centre * share).sum(axis=0) / total
    lowest = np.fmin.reduce(values, axis=0)
    differs = np.fmax.reduce(values, axis=0) > lowest
    centre = np.where(differs | absent, centre, lowest)  # of a constant not even rounding
    square = np.square(np.where(observed, values - centre, 0.0))
    spread = np.sqrt((square if weight is None else square * share).sum(axis=0) / total)
    varies = differs & (spread > ROUNDING * np.abs(centre))
    scale = np.where(varies, spread, np.where(absent, 1.0, constant))
    return Scaling(np.asarray(centre), scale)


def average_ranks(score: Shaped[np.ndarray, "*b n"]) -> Float64[np.ndarray, "*b n"]:
    """Rank of each score among the n of its row, from 1; ties share the mean of their ranks."""
    return np.apply_along_axis(_ranks, -1, score) if score.size else np.empty(score.shape)


def _ranks(score: Shaped[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
    _, value, ties = np.unique(score, return_inverse=True, return_counts=True)
    return (np.cumsum(ties) - (ties - 1) / 2)[value]
