"""Thresholds on the probability of the positive class, chosen where F1 or AM is highest.

Classifiers of [diagnosis, table 2] are tuned on validation units to maximise F1. Knows no
classifier and no file.
"""

import numpy as np
from jaxtyping import Float, Int

from frugal.core.errors import ConfigError, DataError

CRITERIA = ("f1", "am")


def best_threshold(
    label: Int[np.ndarray, " n"] | Float[np.ndarray, " n"],
    probability: Float[np.ndarray, " n"],
    *,
    criterion: str,
) -> tuple[float, float]:
    """Threshold t whose rule "positive if probability ≥ t" scores highest on these units.

    All rules that tell two units apart are tried; t lies half-way between the two probabilities.
    Of equal scores the rule with the fewest positive diagnoses is taken; that nobody is positive
    is not among the rules.

    Args:
        label: 1 for a positive unit, 0 for a negative one; or how positive it is, between. (n,)
        probability: of the positive class. (n,)
        criterion: f1 = 2 TP / (2 TP + FP + FN), or am = (TPR + TNR) / 2.

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
    positives = label.sum()
    negatives = len(label) - positives
    if not positives or not negatives:
        raise DataError(
            f"a threshold is tuned on units of both classes; there are {positives:g} positive "
            f"and {negatives:g} negative ones"
        )
    values, place = np.unique(-probability, return_inverse=True)
    hits = np.cumsum(np.bincount(place, weights=label))
    alarms = np.cumsum(np.bincount(place, weights=1 - label))
    if criterion == "f1":
        score = 2 * hits / (hits + alarms + positives)
    else:
        score = (hits / positives + 1 - alarms / negatives) / 2
    k = int(score.argmax())
    below = -values[k + 1] if k + 1 < len(values) else 0.0
    return float((-values[k] + below) / 2), float(score[k])
