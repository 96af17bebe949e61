"""Predictive law of Bayesian linear regression, by integrating the noise variance on a grid."""

import numpy as np


def predictive_moments(
    predictors: np.ndarray,
    target: np.ndarray,
    wanted: np.ndarray,
    prior_precision: np.ndarray,
    grid: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of y* at each wanted row.

    Model: y = Xβ + σε, β ~ N(0, diag(1 / prior_precision)), p(log σ²) flat. With β integrated out,
    y ~ N(0, σ²I + XΛ⁻¹Xᵀ): its density at each σ² of the grid (equal steps of log σ²) is that
    point's posterior weight.
    """
    n = len(target)
    log_weight, means, variances = [], [], []
    for noise in grid:
        cover = noise * np.eye(n) + predictors / prior_precision @ predictors.T
        log_weight.append(
            -0.5 * np.linalg.slogdet(cover)[1] - 0.5 * target @ np.linalg.solve(cover, target)
        )
        inverse = np.linalg.inv(predictors.T @ predictors / noise + np.diag(prior_precision))
        means.append(wanted @ inverse @ predictors.T @ target / noise)
        variances.append(noise + np.einsum("ij,jk,ik->i", wanted, inverse, wanted))
    weight = np.exp(np.array(log_weight) - max(log_weight))
    weight /= weight.sum()
    mean = weight @ np.array(means)
    return mean, weight @ (np.array(variances) + np.array(means) ** 2) - mean**2
