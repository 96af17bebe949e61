"""Conditional Gaussians for rows that each have their own observed coordinates, compiled per row.

The expectation step of EMFlow in latent space [diagnosis, eq. 5]. One compiled loop factorises the
observed block of every row; neighbours with the same observed coordinates share a factorisation, so
that rows sorted by pattern cost little more than the products. Knows no flow and no table.
"""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Float64
from numba import njit

from frugal.contracts.errors import DataError

RIDGE = 1e-4  # added to the variances of observed coordinates: one-hot codes sum to 1


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution over d coordinates.

    Attributes:
        mean: μ. (d,)
        covariance: Σ, symmetric, not necessarily of full rank. (d, d)
    """

    mean: Float64[np.ndarray, " d"]
    covariance: Float64[np.ndarray, "d d"]

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean).all() and np.isfinite(self.covariance).all()):
            raise DataError("the mean or covariance of a Gaussian is not finite")


def conditional_means(
    latent: Float[np.ndarray, "m d"], observed: Bool[np.ndarray, "m d"], gaussian: Gaussian
) -> Float64[np.ndarray, "m d"]:
    """Coordinates with the unobserved ones replaced by their expectation given the observed.

        ẑᵐ = μᵐ + Σᵐᵒ (Σᵒᵒ + RIDGE·I)⁻¹ (zᵒ − μᵒ)                      [diagnosis, eq. 5]

    Args:
        latent: z; what stands at unobserved coordinates is not read. (m, d)
        observed: True where a coordinate is known. (m, d)
        gaussian: μ and Σ over the same coordinates.

    Returns:
        Observed coordinates as they are. (m, d)

    Raises:
        DataError: the covariance of some observed coordinates is not positive definite.
    """
    out = np.empty(latent.shape)
    _check(_fill_means(latent, observed, gaussian.mean, gaussian.covariance, RIDGE, out))
    return out


def conditional_moments(
    latent: Float[np.ndarray, "m d"], observed: Bool[np.ndarray, "m d"], gaussian: Gaussian
) -> tuple[Float64[np.ndarray, "m d"], Float64[np.ndarray, "d d"]]:
    """Conditional means as `conditional_means`, and the mean over rows of conditional covariances.

        Cov(zᵐ | zᵒ) = Σᵐᵐ − Σᵐᵒ (Σᵒᵒ + RIDGE·I)⁻¹ Σᵒᵐ, 0 elsewhere    [diagnosis, eq. 9]

    Returns:
        Completed coordinates (m, d), and the mean of the m matrices (d, d).

    Raises:
        DataError: see `conditional_means`.
    """
    out, spread = np.empty(latent.shape), np.zeros((latent.shape[1],) * 2)
    _check(_fill_moments(latent, observed, gaussian.mean, gaussian.covariance, RIDGE, out, spread))
    return out, (spread + spread.T) / (2 * max(len(latent), 1))


def conditional_gradients(
    gradient: Float[np.ndarray, "m d"], observed: Bool[np.ndarray, "m d"], gaussian: Gaussian
) -> Float64[np.ndarray, "m d"]:
    """Derivative by z of what depends on `conditional_means`, from its derivative by ẑ.

        ∂/∂zᵒ = ∂/∂ẑᵒ + (Σᵒᵒ + RIDGE·I)⁻¹ Σᵒᵐ ∂/∂ẑᵐ,   ∂/∂zᵐ = 0

    Args:
        gradient: by the completed coordinates. (m, d)
        observed: True where a coordinate is known. (m, d)
        gaussian: μ and Σ, taken as constants.

    Returns:
        Zero at unobserved coordinates. (m, d)

    Raises:
        DataError: see `conditional_means`.
    """
    out = np.zeros(gradient.shape)
    _check(_pull_back(gradient, observed, gaussian.covariance, RIDGE, out))
    return out


def _check(factorised: bool) -> None:
    if not factorised:
        raise DataError(
            "the covariance of the observed coordinates is not positive definite; "
            "conditional means need one that is"
        )


@njit(cache=True, error_model="numpy")
@no_type_check
def _factorise(observed, covariance, ridge, factor, index):
    """Cholesky factor of the observed block, observed coordinates first; −1 if it has none.

    `index` holds the observed coordinates, then the others; returns the number of the observed.
    """
    d = len(observed)
    known = 0
    for j in range(d):
        if observed[j]:
            index[known] = j
            known += 1
    last = known
    for j in range(d):
        if not observed[j]:
            index[last] = j
            last += 1
    for a in range(known):
        for b in range(a):
            total = covariance[index[a], index[b]]
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            factor[a, b] = total / factor[b, b]
        total = covariance[index[a], index[a]] + ridge
        for c in range(a):
            total -= factor[a, c] * factor[a, c]
        if not total > 0.0:
            return -1
        factor[a, a] = np.sqrt(total)
    return known


@njit(cache=True, error_model="numpy")
@no_type_check
def _fill_row(z, mean, covariance, factor, index, known, work, out):
    """One row's conditional means: solve twice with the factor, then one product."""
    d = len(mean)
    for a in range(known):
        total = z[index[a]] - mean[index[a]]
        for c in range(a):
            total -= factor[a, c] * work[c]
        work[a] = total / factor[a, a]
    for a in range(known - 1, -1, -1):
        total = work[a] / factor[a, a]
        work[a] = total
        for c in range(a):
            work[c] -= factor[a, c] * total
    for a in range(known):
        out[index[a]] = z[index[a]]
    for b in range(known, d):
        total = mean[index[b]]
        for a in range(known):
            total += covariance[index[b], index[a]] * work[a]
        out[index[b]] = total


@njit(cache=True, error_model="numpy")
@no_type_check
def _fill_means(latent, observed, mean, covariance, ridge, out):
    """Conditional means of all rows; False if a block is not positive definite."""
    m, d = latent.shape
    factor, work, index = np.empty((d, d)), np.empty(d), np.empty(d, np.int64)
    known = 0
    for i in range(m):
        if i == 0 or (observed[i] != observed[i - 1]).any():
            known = _factorise(observed[i], covariance, ridge, factor, index)
            if known < 0:
                return False
        _fill_row(latent[i], mean, covariance, factor, index, known, work, out[i])
    return True


@njit(cache=True, error_model="numpy")
@no_type_check
def _fill_moments(latent, observed, mean, covariance, ridge, out, spread):
    """Conditional means of all rows, and the sum of their conditional covariances."""
    m, d = latent.shape
    factor, work, index = np.empty((d, d)), np.empty(d), np.empty(d, np.int64)
    explained, left = np.empty((d, d)), np.empty((d, d))
    known = 0
    for i in range(m):
        if i == 0 or (observed[i] != observed[i - 1]).any():
            known = _factorise(observed[i], covariance, ridge, factor, index)
            if known < 0:
                return False
            for b in range(known, d):  # explained[b] = L⁻¹ Σᵒᵇ; left = Σᵐᵐ − its products
                for a in range(known):
                    total = covariance[index[a], index[b]]
                    for c in range(a):
                        total -= factor[a, c] * explained[b, c]
                    explained[b, a] = total / factor[a, a]
                for e in range(known, b + 1):
                    total = covariance[index[b], index[e]]
                    for a in range(known):
                        total -= explained[b, a] * explained[e, a]
                    left[b, e] = total
        for b in range(known, d):
            for e in range(known, b + 1):
                spread[index[b], index[e]] += left[b, e]
                if e < b:
                    spread[index[e], index[b]] += left[b, e]
        _fill_row(latent[i], mean, covariance, factor, index, known, work, out[i])
    return True


@njit(cache=True, error_model="numpy")
@no_type_check
def _pull_back(gradient, observed, covariance, ridge, out):
    """Gradients of all rows by their observed coordinates; `out` holds zeros."""
    m, d = gradient.shape
    factor, work, index = np.empty((d, d)), np.empty(d), np.empty(d, np.int64)
    known = 0
    for i in range(m):
        if i == 0 or (observed[i] != observed[i - 1]).any():
            known = _factorise(observed[i], covariance, ridge, factor, index)
            if known < 0:
                return False
        for a in range(known):
            total = 0.0
            for b in range(known, d):
                total += covariance[index[a], index[b]] * gradient[i, index[b]]
            for c in range(a):
                total -= factor[a, c] * work[c]
            work[a] = total / factor[a, a]
        for a in range(known - 1, -1, -1):
            total = work[a] / factor[a, a]
            work[a] = total
            for c in range(a):
                work[c] -= factor[a, c] * total
        for a in range(known):
            out[i, index[a]] = gradient[i, index[a]] + work[a]
    return True
