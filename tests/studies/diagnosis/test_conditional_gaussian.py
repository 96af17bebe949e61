"""Compiled conditional Gaussians against the formula, row by row."""

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.studies.diagnosis.conditional_gaussian import (
    RIDGE,
    Gaussian,
    conditional_gradients,
    conditional_means,
    conditional_moments,
)

from tests.studies.diagnosis.row_gaussians import conditioned_rows

pytestmark = pytest.mark.trains


def random_gaussian(d: int, rng: np.random.Generator, *, rank: int | None = None) -> Gaussian:
    factor = rng.normal(size=(d, rank or d))
    noise = 0.1 * np.eye(d) if rank is None else 0.0
    return Gaussian(rng.normal(size=d), factor @ factor.T / d + noise)


@pytest.mark.parametrize("d", [1, 2, 7, 20])
def test_means_and_spread_are_those_of_the_formula(d):
    rng = np.random.default_rng(d)
    gaussian = random_gaussian(d, rng)
    latent = rng.normal(size=(60, d))
    observed = rng.random((60, d)) < rng.random((60, 1))
    observed[:3], observed[3:5] = False, True  # rows with nothing and with everything known
    observed[10:20] = observed[10]  # neighbours of one pattern
    latent_seen = np.where(observed, latent, np.nan)  # what is not observed is not read
    filled, spread = conditional_moments(latent_seen, observed, gaussian)
    truth, parts = conditioned_rows(latent, observed, gaussian.mean, gaussian.covariance, RIDGE)
    np.testing.assert_allclose(filled, truth, atol=1e-9)
    np.testing.assert_allclose(spread, parts.mean(axis=0), atol=1e-9)
    means = conditional_means(latent_seen, observed, gaussian)  # by the smaller of two blocks
    np.testing.assert_allclose(means, truth, atol=1e-9)


def test_gradients_are_the_transpose_of_the_means():
    """ẑ is affine in z, so that ⟨ẑ(z + h) − ẑ(z), g⟩ = ⟨h, gradient(g)⟩ exactly."""
    rng = np.random.default_rng(3)
    gaussian = random_gaussian(6, rng)
    observed = rng.random((40, 6)) < 0.5
    latent, step, gradient = rng.normal(size=(3, 40, 6))
    pulled = conditional_gradients(gradient, observed, gaussian)
    moved = conditional_means(latent + step, observed, gaussian) - conditional_means(
        np.where(observed, latent, 0), observed, gaussian
    )
    np.testing.assert_allclose((moved * gradient).sum(1), (step * pulled).sum(1), atol=1e-9)
    assert not pulled[~observed].any()


def test_nothing_observed_gives_the_mean_and_all_observed_the_row():
    rng = np.random.default_rng(0)
    gaussian = random_gaussian(4, rng)
    latent = rng.normal(size=(2, 4))
    filled = conditional_means(latent, np.array([[False] * 4, [True] * 4]), gaussian)
    np.testing.assert_array_equal(filled, np.stack([gaussian.mean, latent[1]]))


def test_float32_rows_and_singular_covariances_are_taken():
    rng = np.random.default_rng(1)
    gaussian = random_gaussian(6, rng, rank=2)  # as of one-hot codes
    latent = rng.normal(size=(30, 6)).astype(np.float32)
    observed = rng.random((30, 6)) < 0.6
    truth, _ = conditioned_rows(latent, observed, gaussian.mean, gaussian.covariance, RIDGE)
    np.testing.assert_allclose(conditional_means(latent, observed, gaussian), truth, atol=1e-7)


def test_the_conditional_mean_is_a_mean_of_draws():
    """Of 200,000 draws near a given first coordinate, the second averages to the formula."""
    covariance = np.array([[1.0, 0.8], [0.8, 1.0]])
    gaussian = Gaussian(np.zeros(2), covariance)
    draws = np.random.default_rng(2).multivariate_normal(np.zeros(2), covariance, 200_000)
    near = draws[np.abs(draws[:, 0] - 1.0) < 0.05, 1]
    filled = conditional_means(np.array([[1.0, 0.0]]), np.array([[True, False]]), gaussian)[0, 1]
    # s.e. = 0.6/√n, plus at most 0.01 for the width of the window; 4 s.e.: 1 false alarm in 16,000
    assert near.mean() == pytest.approx(filled, abs=4 * 0.6 / np.sqrt(len(near)) + 0.01)


def test_refusals():
    with pytest.raises(DataError, match="not finite"):
        Gaussian(np.array([np.nan]), np.eye(1))
    bad = Gaussian(np.zeros(2), np.array([[1.0, 3.0], [3.0, 1.0]]))
    with pytest.raises(DataError, match="positive definite"):
        conditional_means(np.zeros((1, 2)), np.ones((1, 2), dtype=bool), bad)
