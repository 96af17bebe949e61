"""Conditional Gaussians for rows that each have their own observed coordinates, compiled per row.

The expectation step of EMFlow in latent space [diagnosis, eq. 5]. One compiled loop factorises the
observed block of every row; neighbours with the same observed coordinates share a factorisation, so
that rows sorted by pattern cost little more than the products. Knows no flow and no table.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float, Float64
from numba import njit

from frugal.core.errors import DataError

_FREE_ORDER = {"reassoc", "contract", "nsz"}  # sums may be vectorised; NaN stays NaN
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

    @cached_property
    def precision(self) -> Float64[np.ndarray, "d d"]:
        """(Σ + RIDGE·I)⁻¹. (d, d)

        Raises:
            DataError: Σ + RIDGE·I is not positive definite.
        """
        return np.linalg.inv(self.require_definite())

    def require_definite(self) -> Float64[np.ndarray, "d d"]:
        """Σ + RIDGE·I, all of whose diagonal blocks have a Cholesky factor if it has one. (d, d)

        Raises:
            DataError: it is not positive definite.
        """
        ridged = self.covariance + RIDGE * np.eye(len(self.mean))
        try:
            np.linalg.cholesky(ridged)
        except np.linalg.LinAlgError:
            raise DataError("the covariance of a Gaussian is not positive definite") from None
        return ridged


def conditional_means(
    latent: Float[np.ndarray, "m d"], observed: Bool[np.ndarray, "m d"], gaussian: Gaussian
) -> Float64[np.ndarray, "m d"]:
    """Coordinates with the unobserved ones replaced by their expectation given the observed.

        ẑᵐ = μᵐ + Σᵐᵒ (Σᵒᵒ + RIDGE·I)⁻¹ (zᵒ − μᵒ)                      [diagnosis, eq. 5]

    Args:
        latent: z; unobserved coordinates are not read. (m, d)
        observed: True where a coordinate is known. (m, d)
        gaussian: μ and Σ over the same coordinates.

    Returns:
        Observed coordinates as they are. (m, d)

    Raises:
        DataError: Σ + RIDGE·I is not positive definite.
    """
    out = np.empty(latent.shape)
    _fill_means(
        latent, observed, gaussian.mean, gaussian.covariance, gaussian.precision, RIDGE, out
    )
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
    gaussian.require_definite()
    _fill_moments(latent, observed, gaussian.mean, gaussian.covariance, RIDGE, out, spread)
    return out, (spread + spread.T) / (2 * max(len(latent), 1))


def conditional_gradients(
    gradient: Float[np.ndarray, "m d"], observed: Bool[np.ndarray, "m d"], gaussian: Gaussian
) -> Float64[np.ndarray, "m d"]:
    """Derivative by z of a function of `conditional_means`, from its derivative by ẑ.

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
    gaussian.require_definite()
    _pull_back(gradient, observed, gaussian.covariance, RIDGE, out)
    return out


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
@no_type_check
def _factorise(observed, covariance, ridge, factor, index):
    """Cholesky factor of the observed block, observed coordinates first.

    Its diagonal holds reciprocals. `index` holds the observed coordinates, then the others;
    returns the number of the observed.
    """
    d = len(observed)
    n_observed = 0
    for j in range(d):
        if observed[j]:
            index[n_observed] = j
            n_observed += 1
    last = n_observed
    for j in range(d):
        if not observed[j]:
            index[last] = j
            last += 1
    for a in range(n_observed):
        for b in range(a):
            total = covariance[index[a], index[b]]
            for c in range(b):
                total -= factor[a, c] * factor[b, c]
            factor[a, b] = total * factor[b, b]
        total = covariance[index[a], index[a]] + ridge
        for c in range(a):
            total -= factor[a, c] * factor[a, c]
        factor[a, a] = 1.0 / np.sqrt(total)
    return n_observed


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
@no_type_check
def _solve(factor, size, work):
    """The vector solved with the factorised block, in place."""
    for a in range(size):
        total = work[a]
        for c in range(a):
            total -= factor[a, c] * work[c]
        work[a] = total * factor[a, a]
    for a in range(size - 1, -1, -1):
        total = work[a] * factor[a, a]
        work[a] = total
        for c in range(a):
            work[c] -= factor[a, c] * total


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
@no_type_check
def _fill_row(z, mean, covariance, factor, index, n_observed, work, out):
    """One row's conditional means: solve twice with the factor, then one product."""
    d = len(mean)
    for a in range(n_observed):
        work[a] = z[index[a]] - mean[index[a]]
    _solve(factor, n_observed, work)
    out[:] = mean
    for a in range(n_observed):  # for all coordinates, since a row of Σ lies together
        row = covariance[index[a]]
        for j in range(d):
            out[j] += row[j] * work[a]
    for a in range(n_observed):
        out[index[a]] = z[index[a]]


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
@no_type_check
def _fill_few(z, mean, precision, factor, index, n_missing, work, out):
    """As `_fill_row`, by the precision P = (Σ + RIDGE·I)⁻¹: ẑᵐ = μᵐ − (Pᵐᵐ)⁻¹ Pᵐᵒ (zᵒ − μᵒ).

    Here `index` holds the unobserved coordinates first, and `factor` belongs to their block of P.
    """
    d = len(mean)
    out[:] = z
    for a in range(n_missing):
        row, total = precision[index[a]], 0.0
        for b in range(n_missing, d):
            total += row[index[b]] * (z[index[b]] - mean[index[b]])
        work[a] = total
    _solve(factor, n_missing, work)
    for a in range(n_missing):
        out[index[a]] = mean[index[a]] - work[a]


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
@no_type_check
def _fill_means(latent, observed, mean, covariance, precision, ridge, out):
    """Conditional means of all rows by the smaller block."""
    m, d = latent.shape
    factor, work, index = np.empty((d, d)), np.empty(d), np.empty(d, np.int64)
    size, few = 0, False
    for i in range(m):
        if i == 0 or (observed[i] != observed[i - 1]).any():
            few = 2 * observed[i].sum() > d
            if few:
                size = _factorise(~observed[i], precision, 0.0, factor, index)
            else:
                size = _factorise(observed[i], covariance, ridge, factor, index)
        if few:
            _fill_few(latent[i], mean, precision, factor, index, size, work, out[i])
        else:
            _fill_row(latent[i], mean, covariance, factor, index, size, work, out[i])


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
@no_type_check
def _fill_moments(latent, observed, mean, covariance, ridge, out, spread):
    """Conditional means of all rows, and the sum of their conditional covariances."""
    m, d = latent.shape
    factor, work, index = np.empty((d, d)), np.empty(d), np.empty(d, np.int64)
    explained, left = np.empty((d, d)), np.empty((d, d))
    n_observed = 0
    for i in range(m):
        if i == 0 or (observed[i] != observed[i - 1]).any():
            n_observed = _factorise(observed[i], covariance, ridge, factor, index)
            for b in range(n_observed, d):  # explained[b] = L⁻¹ Σᵒᵇ; left = Σᵐᵐ − its products
                for a in range(n_observed):
                    total = covariance[index[a], index[b]]
                    for c in range(a):
                        total -= factor[a, c] * explained[b, c]
                    explained[b, a] = total * factor[a, a]
                for e in range(n_observed, b + 1):
                    total = covariance[index[b], index[e]]
                    for a in range(n_observed):
                        total -= explained[b, a] * explained[e, a]
                    left[b, e] = total
        for b in range(n_observed, d):
            for e in range(n_observed, b + 1):
                spread[index[b], index[e]] += left[b, e]
                if e < b:
                    spread[index[e], index[b]] += left[b, e]
        _fill_row(latent[i], mean, covariance, factor, index, n_observed, work, out[i])


@njit(cache=True, error_model="numpy", fastmath=_FREE_ORDER)
@no_type_check
def _pull_back(gradient, observed, covariance, ridge, out):
    """Gradients of all rows by their observed coordinates; `out` holds zeros."""
    m, d = gradient.shape
    factor, work, index = np.empty((d, d)), np.empty(d), np.empty(d, np.int64)
    n_observed = 0
    for i in range(m):
        if i == 0 or (observed[i] != observed[i - 1]).any():
            n_observed = _factorise(observed[i], covariance, ridge, factor, index)
        for a in range(n_observed):
            total = 0.0
            for b in range(n_observed, d):
                total += covariance[index[a], index[b]] * gradient[i, index[b]]
            work[a] = total
        _solve(factor, n_observed, work)
        for a in range(n_observed):
            out[i, index[a]] = gradient[i, index[a]] + work[a]
