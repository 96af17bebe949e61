"""Estimate, standard error, interval and effective sample size of a ratio [afape, sec. 3.4].

All follow from the per-row `Terms`; this module must not know which estimator made them.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from frugal.contracts.errors import NoSupportError
from frugal.contracts.terms import Terms


def estimate(terms: Terms) -> Float[np.ndarray, " o"]:
    """Value of the estimator.

        Ĵ = Σᵢ numeratorᵢ / Σᵢ denominatorᵢ

    Returns:
        In the unit of each outcome. (o,)

    Raises:
        NoSupportError: no row carries weight, or the denominators sum to zero.
    """
    return terms.numerator.sum(axis=0) / _total_denominator(terms)


def influence(terms: Terms) -> Float[np.ndarray, "n o"]:
    """First-order effect of each row on the estimate, times n; its mean is zero.

        ψᵢ = (numeratorᵢ − Ĵ · denominatorᵢ) / mean(denominator)

    Raises:
        NoSupportError: no row carries weight, or the denominators sum to zero.
    """
    mean_denominator = _total_denominator(terms) / len(terms.denominator)
    return (terms.numerator - terms.denominator[:, None] * estimate(terms)) / mean_denominator


def standard_error(terms: Terms) -> Float[np.ndarray, " o"]:
    """Large-sample standard deviation of the estimate, the nuisances taken as known.

        se² = Σᵢ ψᵢ² / (n (n − 1))

    For a plain mean this is the usual s/√n; for a ratio it is the delta method. Infinite where
    fewer than two rows carry weight: one row says nothing about a spread. (o,)

    Raises:
        NoSupportError: no row carries weight, or the denominators sum to zero.
    """
    psi = influence(terms)
    n = len(psi)
    if usable_rows(terms.weight) < 2:
        return np.full(psi.shape[1], np.inf)
    return np.sqrt((psi**2).sum(axis=0) / (n * (n - 1)))


def normal_interval(
    centre: Float[np.ndarray, " o"], std_error: Float[np.ndarray, " o"], *, level: float
) -> tuple[Float[np.ndarray, " o"], Float[np.ndarray, " o"]]:
    """Two-sided normal interval with the given coverage, for example 0.95: lower, upper. (o,)"""
    half = float(ndtri((1 + level) / 2)) * std_error
    return centre - half, centre + half


def effective_sample_size(weight: Float[np.ndarray, " n"]) -> float:
    """Kish's number of equally weighted rows with the same variance; 0 if no row has weight.

    n_eff = (Σᵢ wᵢ)² / Σᵢ wᵢ²,   between 1 and the number of rows with weight
    """
    top = weight.max(initial=0.0)
    if top == 0:
        return 0.0
    scaled = weight / top  # the scale cancels; prevents overflow of the squares
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def largest_weight_share(weight: Float[np.ndarray, " n"]) -> float:
    """Share of all weight that one row carries, max w / Σ w; 0 if no row has weight."""
    top = weight.max(initial=0.0)
    return float(1 / (weight / top).sum()) if top > 0 else 0.0


def usable_rows(weight: Float[np.ndarray, " n"]) -> int:
    """Number of rows with weight above zero."""
    return int((weight > 0).sum())


def _total_denominator(terms: Terms) -> float:
    total = float(terms.denominator.sum())
    if usable_rows(terms.weight) == 0 or total == 0:
        raise NoSupportError(
            f"none of {len(terms.weight)} rows carries weight; at least one is needed to estimate"
        )
    return total
