"""Small tables with missing entries for the tests of the tree classifiers."""

import numpy as np


def draw(*, n, d, classes, share, seed):
    """values, observed, label: the label depends on three columns; entries missing at random.

    Values are float32 numbers, as the trees read them; column 0 is always observed.
    """
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    score = values[:, 0] + values[:, 1] * values[:, 2] + 0.3 * rng.normal(size=n)
    label = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    observed = rng.random((n, d)) < share
    observed[:, 0] = True
    return values, observed, label
