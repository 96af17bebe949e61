"""The field's reference for parity by training: fairlearn's reductions on all panels.

Agarwal et al. (2018): a mixture of classifiers, each fitted to re-weighted rows, such that the
groups' shares of positive decisions differ by at most a bound. Reads the group while it trains,
never when it predicts. Knows nothing of acquisition.
"""

import numpy as np
import pandas as pd
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from jaxtyping import Float, Int

from frugal.learn.weighted_logistic import Logistic, fit_logistic

RIDGE = 1.0  # against the sum of the losses, as scikit-learn's default


def reduced_probability(
    train: Float[np.ndarray, "n d"],
    label: Int[np.ndarray, " n"],
    sensitive: Int[np.ndarray, " n"],
    test: Float[np.ndarray, "m d"],
    *,
    bound: float,
    rounds: int,
) -> Float[np.ndarray, " m"]:
    """Probability that the mixture decides 1, fitted under demographic parity. (m,)

    Args:
        train: inputs on comparable scales. (n, d)
        label: 0 or 1. (n,)
        sensitive: group, 0 or 1. (n,)
        test: rows to decide on. (m, d)
        bound: allowed demographic disparity of the training rows. Fairlearn's own bound is on each
            group's distance to the share of all rows, which is the disparity times the other
            group's share.
        rounds: of the exponentiated gradient.

    Returns:
        A share of the mixture's classifiers by weight: it takes few values, so that its AUC says
        less than that of a score.
    """
    larger = max(sensitive.mean(), 1 - sensitive.mean())
    reduction = ExponentiatedGradient(
        _Learner(),
        DemographicParity(difference_bound=bound * larger),
        max_iter=rounds,
    )
    reduction.fit(pd.DataFrame(train), pd.Series(label), sensitive_features=pd.Series(sensitive))
    return np.asarray(reduction._pmf_predict(pd.DataFrame(test)), dtype=np.float64)[:, 1]


class _Learner:
    """A logistic regression as fairlearn asks for it."""

    def __init__(self) -> None:
        self._fitted: Logistic | None = None

    def fit(self, inputs, target, sample_weight) -> "_Learner":
        """Fit to re-weighted rows."""
        weight = np.asarray(sample_weight, dtype=np.float64)
        self._fitted = fit_logistic(
            np.asarray(inputs, dtype=np.float64), np.asarray(target, dtype=np.int64), weight,
            ridge=RIDGE / weight.sum(),
        )  # fmt: skip
        return self

    def predict(self, inputs) -> np.ndarray:
        """The likelier class. (m,)"""
        assert self._fitted is not None
        log_odds = self._fitted.log_odds(np.asarray(inputs, dtype=np.float64))
        return (log_odds > 0).astype(np.int64)
