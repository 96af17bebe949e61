"""The clinical simulator by densities and by counting: no linear score, no closed form.

Shares nothing with the package: joint densities of scipy, unknown features integrated out on a
grid, F1 of every threshold on a sample counted out.
"""

import numpy as np
from scipy.stats import multivariate_normal


def posterior_by_integration(
    group, values, seen, *, prevalence, effect, covariance, points=41, reach=8.0
):
    """P(ill | group, the seen features) of one patient; the rest summed over a grid.

    The trapezoid rule with step 0.4 is all but exact for Gaussian densities of deviation 0.5 or
    more; what is left is the mass beyond ±8.
    """
    hidden = [j for j in range(len(values)) if not seen[j]]
    axis = np.linspace(-reach, reach, points)
    grids = np.meshgrid(*[axis] * len(hidden), indexing="ij") if hidden else []
    x = np.tile(np.asarray(values, dtype=float), (points ** len(hidden), 1))
    for j, grid in zip(hidden, grids, strict=True):
        x[:, j] = grid.ravel()
    ill = multivariate_normal.pdf(x, effect[group], covariance).sum() * prevalence[group]
    healthy = multivariate_normal.pdf(x, np.zeros(len(values)), covariance).sum()
    healthy *= 1 - prevalence[group]
    return ill / (ill + healthy)


def best_f1_by_counting(probability, ill):
    """The highest F1 over all thresholds on a sample, counted."""
    order = np.argsort(-probability, kind="stable")
    true_positive = np.cumsum(ill[order])
    called = np.arange(1, len(ill) + 1)
    return float((2 * true_positive / (ill.sum() + called)).max())
