"""Mean and standard deviation of each column over its known training values, and their use.

Imputers and networks read columns in this scale. Must not know what a column means, or files.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from frugal.contracts.errors import DataError


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean and standard deviation of each column over its known training values.

    Attributes:
        centre: means. (d,)
        scale: standard deviations; 1 where a column never varies. (d,)
    """

    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]

    def standardise(self, values: Float[np.ndarray, "*m d"]) -> Float[np.ndarray, "*m d"]:
        """Values in standard deviations from the mean; NaN stays. (…, d)"""
        return (values - self.centre) / self.scale

    def restore(self, standardised: Float[np.ndarray, "*m d"]) -> Float[np.ndarray, "*m d"]:
        """The inverse of `standardise`. (…, d)"""
        return standardised * self.scale + self.centre


def fit_scaling(values: Float[np.ndarray, "n d"]) -> Scaling:
    """Scaling by the known values of each column.

    Raises:
        DataError: a column has no known value, or a value is infinite.
    """
    if np.isinf(values).any():
        raise DataError("a value is infinite; values are finite, or NaN where missing")
    known = ~np.isnan(values)
    if not known.any(axis=0).all():
        column = int(np.flatnonzero(~known.any(axis=0))[0])
        raise DataError(f"column {column} has no known value; imputation needs at least one")
    centre, scale = np.nanmean(values, axis=0), np.nanstd(values, axis=0)
    varies = scale > 1e-12 * (1 + np.abs(centre))
    return Scaling(centre, np.where(varies, scale, 1.0))
