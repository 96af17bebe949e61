"""Costs of policies over time on simulated wards, whose ordering law and true cost are known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, t

from tests.trust.over_time import estimates, truth

pytestmark = pytest.mark.statistical

DRAWS, UNITS = 20, 2000


def test_the_doubly_robust_estimate_covers_and_varies_less_than_offline_weighting():
    """False alarms: 1e-4 of the share covered, if it is 94 % (1,000 draws); 1e-4 of the bias.

    The ratio of variances is 0.07 over 400 draws; by chance it exceeds 0.7 with less than 1e-4.
    """
    true = truth()
    every = pd.concat([estimates(seed, UNITS) for seed in range(1000, 1000 + DRAWS)])
    by = dict(iter(every.groupby("estimator")))
    robust, offline = by["semi_offline_doubly_robust"], by["offline_ipw"]
    covers = (robust["low"] <= true) & (true <= robust["high"])
    assert covers.sum() >= binom.ppf(1e-4, DRAWS, 0.94)
    error = robust["estimate"] - true
    limit = t.ppf(1 - 5e-5, DRAWS - 1) * error.std() / np.sqrt(DRAWS)
    assert abs(error.mean()) < limit
    assert robust["estimate"].var() <= 0.7 * offline["estimate"].var()
    blocked = by["blocking"]["estimate"] - true
    assert abs(blocked.mean()) > 0.5  # which refuses what the record lacks
