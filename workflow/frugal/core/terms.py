"""What every estimator returns: the per-row terms of a ratio of means."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True, eq=False)
class Terms:
    """Per-row terms of the estimate Ĵ = Σᵢ numeratorᵢ / Σᵢ denominatorᵢ, for o outcomes at once.

    Every estimator of the project is such a ratio: plain means have denominator 1, self-normalised
    ones the weight itself. Standard errors, intervals, resampling and effective sample size all
    follow from these rows alone.

    Attributes:
        numerator: weight × outcome (or pseudo-outcome), per row. (n, o)
        denominator: per row. (n,)
        weight: importance weight of each row, zero where the row is not used. (n,)
    """

    numerator: Float[np.ndarray, "n o"]
    denominator: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
