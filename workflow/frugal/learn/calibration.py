"""How good a fitted probability is: calibration, log-loss, and how near it comes to zero.

What is told of blocks of rows is joined to what all rows tell. Must not know what fitted it.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.errors import DataError

LOW = 0.01  # probabilities below it are counted


@dataclass(frozen=True, eq=False)
class FitSums:
    """Sums over n rows of a fitted probability and of its event, b bins of equal width on [0, 1].

    Attributes:
        counts: rows in each bin. (b,)
        probabilities: their sum in each bin. (b,)
        events: rows with the event in each bin. (b,)
        loss: Σ −log p(outcome), in nats.
        minimum: the smallest probability; infinite without a row.
        low: rows with a probability below `LOW`.
    """

    counts: Int[np.ndarray, " b"]
    probabilities: Float[np.ndarray, " b"]
    events: Int[np.ndarray, " b"]
    loss: float
    minimum: float
    low: int

    @classmethod
    def of(
        cls, probability: Float[np.ndarray, " n"], outcome: Bool[np.ndarray, " n"], *, bins: int
    ) -> "FitSums":
        """Of some rows.

        Raises:
            DataError: a probability is not in [0, 1].
        """
        loss = -_log_likelihood(probability, outcome).sum()
        number = np.minimum((probability * bins).astype(np.int64), bins - 1)
        return cls(
            np.bincount(number, minlength=bins),
            np.bincount(number, weights=probability, minlength=bins).astype(np.float64),
            np.bincount(number[outcome], minlength=bins),
            float(loss), float(probability.min(initial=np.inf)), int((probability < LOW).sum()),
        )  # fmt: skip

    def __add__(self, other: "FitSums") -> "FitSums":
        return FitSums(
            self.counts + other.counts, self.probabilities + other.probabilities,
            self.events + other.events, self.loss + other.loss,
            min(self.minimum, other.minimum), self.low + other.low,
        )  # fmt: skip

    @property
    def rows(self) -> int:
        """How many there are, n."""
        return int(self.counts.sum())

    def calibration(self) -> pd.DataFrame:
        """Predicted against observed; empty bins are left out.

        Columns bin (0 is lowest), mean_probability, rate (share with the event), n (rows).
        """
        used = np.flatnonzero(self.counts)
        n = self.counts[used]
        means = {"mean_probability": self.probabilities[used] / n, "rate": self.events[used] / n}
        return pd.DataFrame({"bin": used, **means, "n": n})


def log_loss(probability: Float[np.ndarray, " n"], outcome: Bool[np.ndarray, " n"]) -> float:
    """Mean of −log p(outcome), in nats; infinite where an event held for impossible happened."""
    return float(-_log_likelihood(probability, outcome).mean())


def _log_likelihood(probability: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    """Log p(outcome) of each row. (n,)"""
    wrong = ~((probability >= 0) & (probability <= 1))
    if wrong.any():
        raise DataError(
            f"{wrong.sum()} of {len(probability)} probabilities are outside 0..1 or not a number"
        )
    with np.errstate(divide="ignore"):
        return np.log(np.where(outcome, probability, 1 - probability))
