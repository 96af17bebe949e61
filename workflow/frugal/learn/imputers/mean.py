"""The imputer `mean`: training means in place of missing values."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from frugal.core.scaling import Scaling
from frugal.core.stored import Stored, arrays_of, declared
from frugal.learn.imputer_kinds import ImputerKind, ToFit


@dataclass(frozen=True, eq=False)
class MeanImputer:
    """Training means in place of missing values.

    Attributes:
        scaling: whose `centre` are the means.
    """

    scaling: Scaling

    def impute(self, values: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """See `Imputer`."""
        return np.where(np.isnan(values), self.scaling.centre, values)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The training means and standard deviations; `from_arrays` is the exact inverse."""
        return arrays_of(self.scaling)

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> "MeanImputer":
        """The imputer that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such imputer; the message names the first.
        """
        Stored("mean imputer", arrays).require(declared(Scaling))
        return MeanImputer(Scaling(**arrays))


def fit(to: ToFit) -> MeanImputer:
    """Means of the training rows."""
    return MeanImputer(to.scaling)


MEAN = ImputerKind(name="mean", fit=fit, read=MeanImputer.from_arrays, doc="training means")
