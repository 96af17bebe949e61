"""How good a fitted probability is: calibration, log-loss, and how near it comes to zero.

Statistics of blocks of rows are combined into those of all rows. Must not know the models behind
them.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.errors import ConfigError, DataError

CRITERIA = ("f1", "am")


def best_threshold(
    label: Int[np.ndarray, " n"] | Float[np.ndarray, " n"],
    probability: Float[np.ndarray, " n"],
    *,
    criterion: str,
    weight: Float[np.ndarray, " n"] | None = None,
) -> tuple[float, float]:
    """Threshold t whose rule "positive if probability ≥ t" scores highest on these units.

    All rules that separate two units are tried; t lies half-way between the two probabilities.
    Of equal scores the rule with the fewest positive diagnoses is taken; that nobody is positive
    is not among the rules.

    Args:
        label: 1 for a positive unit, 0 for a negative one; or how positive it is, between. (n,)
        probability: of the positive class. (n,)
        criterion: f1 = 2 TP / (2 TP + FP + FN), or am = (TPR + TNR) / 2.
        weight: of the units; None: 1 each. (n,)

    Returns:
        The threshold, at most 1, and the score that it reaches.

    Raises:
        ConfigError: an unknown criterion.
        DataError: the units are of one class.
    """
    if criterion not in CRITERIA:
        raise ConfigError(
            f"a threshold cannot be tuned for {criterion!r}; allowed: {', '.join(CRITERIA)}"
        )
    positive = label if weight is None else weight * label
    negative = 1 - label if weight is None else weight * (1 - label)
    positives = positive.sum()
    negatives = len(label) - positives if weight is None else negative.sum()
    if not positives or not negatives:
        raise DataError(
            f"a threshold is tuned on units of both classes; there are {positives:g} positive "
            f"and {negatives:g} negative ones"
        )
    values, place = np.unique(-probability, return_inverse=True)
    hits = np.cumsum(np.bincount(place, weights=positive))
    alarms = np.cumsum(np.bincount(place, weights=negative))
    if criterion == "f1":
        score = 2 * hits / (hits + alarms + positives)
    else:
        score = (hits / positives + 1 - alarms / negatives) / 2
    k = int(score.argmax())
    below = -values[k + 1] if k + 1 < len(values) else 0.0
    return float((-values[k] + below) / 2), float(score[k])


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
            float(loss),
            float(probability.min(initial=np.inf)),
            int((probability < LOW).sum()),
        )

    def __add__(self, other: "FitSums") -> "FitSums":
        return FitSums(
            self.counts + other.counts,
            self.probabilities + other.probabilities,
            self.events + other.events,
            self.loss + other.loss,
            min(self.minimum, other.minimum),
            self.low + other.low,
        )

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
