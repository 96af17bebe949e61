"""EMFlow: its losses by their formulas, EM that finds a Gaussian, imputation that beats means."""

from typing import Any

import numpy as np
import pytest
import torch
from frugal.core.errors import ConfigError, DataError
from frugal.studies.diagnosis.conditional_gaussian import Gaussian, conditional_means
from frugal.studies.diagnosis.emflow_training import (
    _LatentImputation,
    draw_masks,
    fit_emflow,
    likelihood_loss,
    reconstruction_loss,
    updated_base,
)
from frugal.studies.diagnosis.flows import AffineFlow, EmFlow

from tests.studies.diagnosis.row_gaussians import conditioned_rows

pytestmark = pytest.mark.trains

SETTINGS: dict[str, Any] = {"couplings": 4, "hidden": [16, 16], "passes": 2, "mask_draws": 10}
SETTINGS |= {"hidden_share": [0.0, 0.7], "batch": 64, "learning_rate": 2e-3, "weight_decay": 1e-6}
SETTINGS |= {"alpha": 1e6, "em_scale": 0.99, "em_power": 0.8}


def curved_rows(seed: int, n: int = 500) -> np.ndarray:
    """Five columns that bend along two factors, on scales that differ a thousandfold."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    columns = np.stack([a, b, a + 0.5 * a**2, np.tanh(2 * b), a * b], axis=1)
    return (columns + 0.1 * rng.normal(size=(n, 5))) * [1, 10, 0.1, 100, 1] + [0, 5, 1, -40, 2]


def fit(train: np.ndarray, *, seed: int = 0, validation=None, panels=None, **changes) -> EmFlow:
    return fit_emflow(
        train,
        validation=validation,
        panels=panels,
        rng=np.random.default_rng(seed),
        **{**SETTINGS, **changes},
    )


def holed(rows: np.ndarray, seed: int, share: float = 0.3) -> np.ndarray:
    gone = np.random.default_rng(seed).random(rows.shape) < share
    return np.where(gone, np.nan, rows)


@pytest.fixture(scope="module")
def fitted() -> EmFlow:
    return fit(curved_rows(0), validation=curved_rows(1, 150))


def error(model: EmFlow, rows: np.ndarray, shown: np.ndarray) -> float:
    gap = (model.impute(shown) - rows)[np.isnan(shown)] / np.broadcast_to(
        model.scaling.scale, rows.shape
    )[np.isnan(shown)]
    return float(np.sqrt(np.mean(gap**2)))


def test_imputation_beats_means_and_keeps_known_entries(fitted):
    rows = curved_rows(2, 400)
    shown = holed(rows, 3)
    filled = fitted.impute(shown)
    known = ~np.isnan(shown)
    assert filled[known].tobytes() == rows[known].tobytes()
    assert np.isfinite(filled).all()
    # means score 1; trainings 0.77 with a standard deviation of 0.02
    assert error(fitted, rows, shown) < 0.9


def test_imputation_beats_the_gaussian_that_it_starts_from(fitted):
    """The columns bend, so that a flow knows more than any linear rule.

    The linear rule scores 0.86, trainings 0.77 with a standard deviation of 0.02.
    """
    rows = curved_rows(2, 400)
    shown = holed(rows, 3)
    train = fitted.scaling.standardise(curved_rows(0))
    linear = conditional_means(
        fitted.scaling.standardise(rows), ~np.isnan(shown), Gaussian(np.zeros(5), np.cov(train.T))
    )
    gone = np.isnan(shown)
    apart = (linear - fitted.scaling.standardise(rows))[gone]
    assert error(fitted, rows, shown) < float(np.sqrt(np.mean(apart**2)))


def test_the_kept_weights_are_those_with_the_lowest_validation_error(fitted):
    errors = [record["rmse"] for record in fitted.history]
    assert len(errors) == SETTINGS["mask_draws"]
    assert min(errors) < errors[0]
    again = fit(curved_rows(0), validation=curved_rows(1, 150), mask_draws=1)
    assert again.history[0] == fitted.history[0]


def test_the_generator_fixes_every_byte(fitted):
    shown = holed(curved_rows(4, 50), 5)
    one, again, other = (fit(curved_rows(0, 200), seed=s, mask_draws=2) for s in (7, 7, 8))
    for name, array in one.to_arrays().items():
        assert array.tobytes() == again.to_arrays()[name].tobytes(), name
    assert (one.impute(shown) != other.impute(shown)).any()
    assert fitted.impute(shown).tobytes() == fitted.impute(shown).tobytes()


def test_rows_do_not_see_each_other(fitted):
    shown = holed(curved_rows(6, 40), 7)
    together = fitted.impute(shown)
    alone = np.concatenate([fitted.impute(shown[k : k + 1]) for k in range(len(shown))])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-4)  # float32, other blocking


def test_a_stored_model_imputes_the_same_bytes(fitted):
    shown = holed(curved_rows(8, 60), 9)
    again = EmFlow.from_arrays(fitted.to_arrays())
    assert again.impute(shown).tobytes() == fitted.impute(shown).tobytes()
    arrays = fitted.to_arrays()
    del arrays["covariance"]
    with pytest.raises(DataError, match="lacks the array 'covariance'"):
        EmFlow.from_arrays(arrays)


def test_own_missing_values_are_never_scored():
    """A column of which a third has no value learns as from the rows that have one."""
    train = curved_rows(0)
    train[::3, 3] = np.nan
    model = fit(train, mask_draws=5)
    rows = curved_rows(2, 300)
    # trainings score 0.75 with a standard deviation of 0.02
    assert error(model, rows, holed(rows, 3)) < 0.85


def test_far_values_are_kept_and_nothing_overflows(fitted):
    rows = holed(curved_rows(2, 20), 3)
    rows[0] = [1e9, np.nan, np.nan, -1e9, np.nan]
    filled = fitted.impute(rows)
    assert filled[0, 0] == 1e9
    assert np.isfinite(filled).all()


def test_masks_hide_panels_as_wholes_and_overlaps_stay_while_one_is_known():
    panels = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=bool)
    mask = draw_masks(500, 4, panels, (0.2, 0.8), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(mask[:, 1], mask[:, 0] | mask[:, 2])
    # a share of 0.5 on average: 1,500 draws, 4 s.e. = 0.06
    assert mask[:, [0, 2, 3]].mean() == pytest.approx(0.5, abs=0.06)
    single = draw_masks(500, 4, None, (0.25, 0.25), rng=np.random.default_rng(0))
    assert single.mean() == pytest.approx(0.75, abs=4 * np.sqrt(0.19 / 2000))


def test_online_em_finds_the_normal_distribution_behind_holes():
    """With an identity flow, EM alone: the moments of complete data within sampling error."""
    rng = np.random.default_rng(1)
    covariance = np.array([[1.0, 0.7, 0.0], [0.7, 2.0, -0.5], [0.0, -0.5, 0.5]])
    z = rng.multivariate_normal([1.0, -1.0, 0.0], covariance, 20_000)
    observed = rng.random(z.shape) < 0.7
    found = Gaussian(np.zeros(3), np.eye(3))
    for t in range(1, 400):
        part = rng.integers(0, len(z), 400)
        found = updated_base(found, z[part], observed[part], rate=0.99 * t**-0.8)
    np.testing.assert_allclose(found.mean, [1, -1, 0], atol=0.08)
    np.testing.assert_allclose(found.covariance, covariance, atol=0.12)


def test_a_full_step_of_em_is_the_batch_formula():
    rng = np.random.default_rng(2)
    start = Gaussian(rng.normal(size=3), np.diag([1.0, 2.0, 3.0]) + 0.3)
    z, observed = rng.normal(size=(30, 3)), rng.random((30, 3)) < 0.6
    filled, spread = conditioned_rows(z, observed, start.mean, start.covariance, 1e-4)
    after = updated_base(start, z, observed, rate=1.0)
    np.testing.assert_allclose(after.mean, filled.mean(axis=0), atol=1e-10)
    expected = np.cov(filled.T, bias=True) + spread.mean(axis=0)
    np.testing.assert_allclose(after.covariance, expected, atol=1e-10)


def test_losses_are_their_formulas():
    generator = torch.Generator().manual_seed(0)
    flow = AffineFlow(3, couplings=2, hidden=(4,), generator=generator).double()
    for p in flow.parameters():
        p.data.add_(0.3 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
    mean = torch.tensor([0.1, -0.2, 0.3], dtype=torch.float64)
    factor = torch.linalg.cholesky(torch.eye(3, dtype=torch.float64) + 0.4)
    base = torch.distributions.MultivariateNormal(mean, scale_tril=factor)
    x = torch.randn(8, 3, generator=generator, dtype=torch.float64)
    z, log_det = flow.inverse(x)
    wanted = -(base.log_prob(z) + log_det).mean()
    torch.testing.assert_close(likelihood_loss(flow, x, mean, factor), wanted)
    returned = flow(z)[0]
    truth = torch.randn(8, 3, generator=generator, dtype=torch.float64)
    known = torch.rand(8, 3, generator=generator) < 0.7
    distance = ((returned - truth) ** 2 * known).sum(dim=1).mean()
    loss = reconstruction_loss(flow, z, mean, factor, truth, known, alpha=50.0)
    torch.testing.assert_close(loss, wanted + 50 * distance)


def test_gradients_run_through_the_latent_imputation():
    rng = np.random.default_rng(3)
    gaussian = Gaussian(rng.normal(size=4), np.eye(4) + 0.5)
    observed = rng.random((6, 4)) < 0.5
    start = torch.from_numpy(rng.normal(size=(6, 4)).astype(np.float32)).requires_grad_()
    weight = torch.from_numpy(rng.normal(size=(6, 4)).astype(np.float32))
    (_LatentImputation.apply(start, observed, gaussian) * weight).sum().backward()  # pyright: ignore
    for i, j in ((0, 0), (2, 1), (5, 3)):
        moved = start.detach().numpy().astype(np.float64)
        ends = []
        for h in (1.0, -1.0):
            shifted = moved.copy()
            shifted[i, j] += h
            ends.append((conditional_means(shifted, observed, gaussian) * weight.numpy()).sum())
        assert start.grad is not None
        assert start.grad[i, j].item() == pytest.approx((ends[0] - ends[1]) / 2, abs=1e-4)


def test_refusals(fitted):
    with pytest.raises(DataError, match="rows have 4 columns; EMFlow was fitted to 5"):
        fitted.impute(np.zeros((1, 4)))
    with pytest.raises(DataError, match="infinite"):
        fitted.impute(np.full((1, 5), np.inf))
    with pytest.raises(ConfigError, match="passes"):
        fit(curved_rows(0), passes=0)
    with pytest.raises(ConfigError, match="the lowest share must come first"):
        fit(curved_rows(0), hidden_share=[0.5, 0.2])
    with pytest.raises(DataError, match="hide no entry"):
        fit(curved_rows(0), validation=np.full((3, 5), np.nan))
