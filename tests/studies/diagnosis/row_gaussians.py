"""Conditional Gaussians row by row with NumPy, from the textbook's formula."""

import numpy as np


def conditioned_rows(
    latent: np.ndarray, observed: np.ndarray, mean: np.ndarray, covariance: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray]:
    """Completed rows (m, d) and each row's conditional covariance, 0 where observed (m, d, d)."""
    filled, spread = latent.astype(float).copy(), np.zeros((*latent.shape, latent.shape[1]))
    for i, known in enumerate(observed):
        gone = ~known
        block = covariance[np.ix_(known, known)] + ridge * np.eye(known.sum())
        weight = np.linalg.solve(block, covariance[np.ix_(known, gone)])
        filled[i, gone] = mean[gone] + (latent[i, known] - mean[known]) @ weight
        spread[np.ix_([i], gone, gone)] = (
            covariance[np.ix_(gone, gone)] - covariance[np.ix_(gone, known)] @ weight
        )
    return filled, spread
