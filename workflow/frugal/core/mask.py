"""Retrospective missingness of one table: what was observed, and with which probability."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class Mask:
    """One draw of the retrospective missingness R. Shapes: n units, a acquirable panels.

    Attributes:
        row_id: rows of the table, in its order. (n,)
        observed: True where the panel is known in the records. (n, a)
        propensity: true p(R_j = 1 | its parents), with the drawn values of parent indicators;
            None where the missingness is the data set's own and its law unknown. (n, a)
    """

    row_id: Int[np.ndarray, " n"]
    observed: Bool[np.ndarray, "n a"]
    propensity: Float[np.ndarray, "n a"] | None

    @property
    def complete(self) -> Bool[np.ndarray, " n"]:
        """True where every panel is observed: R = 1. (n,)"""
        return np.asarray(self.observed.all(axis=1))
