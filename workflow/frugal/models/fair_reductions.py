"""The field's reference for parity by training: fairlearn's reductions on all panels.

Agarwal et al. (2018): a mixture of classifiers, each fitted to re-weighted rows, such that the
groups' shares of positive decisions differ by at most a bound. Reads the group while it trains,
never when it predicts. Knows nothing of acquisition.
"""

import numpy as np
import pandas as pd
from fairlearn.reductions import DemographicParity, ExponentiatedGradient
from jaxtyping import Float, Int
from sklearn.linear_model import LogisticRegression


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
        LogisticRegression(solver="lbfgs", max_iter=500),
        DemographicParity(difference_bound=bound * larger),
        max_iter=rounds,
    )
    reduction.fit(pd.DataFrame(train), pd.Series(label), sensitive_features=pd.Series(sensitive))
    return np.asarray(reduction._pmf_predict(pd.DataFrame(test)), dtype=np.float64)[:, 1]
