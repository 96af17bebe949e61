"""Training of EMFlow: flow by gradient descent, Gaussian by online EM, masks drawn again and again.

Algorithms 2 and 3 of [diagnosis, sec. C], in the variant that knows the ground truth: entries of
complete rows are hidden at random, and the flow learns to bring them back. Must not know labels,
costs, policies or files.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from frugal.config.learners import EmflowSettings
from frugal.core.errors import DataError
from frugal.core.scaling import Scaling, fit_scaling
from frugal.studies.diagnosis.conditional_gaussian import (
    RIDGE,
    Gaussian,
    conditional_gradients,
    conditional_means,
    conditional_moments,
)
from frugal.studies.diagnosis.flows import (
    AffineFlow,
    EmFlow,
    log_density,
    normal_log_density,
    reimputed,
    standardised_start,
)


def fit_emflow(
    train: Float[np.ndarray, "n d"],
    *,
    validation: Float[np.ndarray, "v d"] | None,
    panels: Bool[np.ndarray, "g d"] | None,
    rng: np.random.Generator,
    **settings: Any,
) -> EmFlow:
    """Fits flow and base distribution to rows whose known values are the ground truth.

    For every draw of masks the entries of all rows are hidden anew, started at the means, and
    then `passes` times: one epoch of Algorithm 2, and a re-imputation by Algorithm 3 that gives
    the next epoch its rows [diagnosis, alg. 2]. Entries that the table itself lacks are always
    hidden and never scored.

    Differs from the paper: masks are drawn anew for every start instead of once, as its text
    demands (sec. 5.2) and its algorithm leaves open; gradients of L2 also run through the latent
    imputation, since without them training diverges; log-scales of the flow are bounded; and
    known values are read within ± 5 standard deviations.

    Args:
        train: rows in units of the table; NaN where they have no value. (n, d)
        validation: rows on whose hidden entries the best draw is picked, all under one drawn mask;
            None keeps the last. (v, d)
        panels: columns that are hidden together, each row of this a panel; a column is hidden if
            all of its panels are. None hides every column by itself, as the paper does. (g, d)
        rng: of all draws.
        settings: those of `config.learners.EmflowSettings`; ρ_t = em_scale · t^−em_power, where t
            counts steps, and `alpha` weighs the squared error against the log-likelihood.

    Raises:
        ConfigError: a setting is missing or out of range.
        DataError: fewer than two columns, a column without a known value, an infinite value, or
            rows so large that training did not stay finite.
    """
    how = EmflowSettings.of(settings)
    passes, hidden, shares = how.passes, tuple(how.hidden), how.hidden_share
    torch.set_num_threads(1)
    scaling = fit_scaling(train)
    truth, has_truth = standardised_start(scaling, train), ~np.isnan(train)
    generator = torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))
    flow = AffineFlow(train.shape[1], couplings=how.couplings, hidden=hidden, generator=generator)
    trainer = _Trainer(flow, how)
    check = None if validation is None else _Check(scaling, validation, panels, shares, rng)
    best, history = None, []
    for draw in range(how.mask_draws):
        observed = has_truth & draw_masks(len(train), train.shape[1], panels, shares, rng=rng)
        start = np.where(observed, truth, np.float32(0))
        current, size = start, min(how.batch, len(truth))
        losses: list[float] = []
        for done in range(passes):
            order, losses = rng.permutation(len(truth)), []
            for at in range(0, len(truth) - size + 1, size):
                rows = order[at : at + size]
                x, target, scored = (torch.from_numpy(a[rows]) for a in (current, truth, has_truth))
                losses.append(trainer.step(x, observed[rows], target, scored))
            if not np.isfinite(losses).all():
                raise DataError("EMFlow's loss is no longer finite; lower its learning rate")
            if done + 1 < passes:
                current = reimputed(
                    trainer.flow, trainer.gaussian, start, observed, passes=done + 1
                )
        loss = float(np.mean(losses))
        record = {"draw": draw + 1.0, "loss": loss}
        if check is not None:
            record["rmse"] = check.rmse(flow, trainer.gaussian, passes)
        history.append(record)
        if best is None or check is None or record["rmse"] < best[0]:
            best = (record.get("rmse", np.nan), flow.to_vector(), trainer.gaussian)
    assert best is not None
    fitted = AffineFlow.from_vector(best[1], flow.d, couplings=how.couplings, hidden=hidden)
    return EmFlow(scaling, fitted, best[2], passes, hidden, tuple(history))


def draw_masks(
    n: int,
    d: int,
    panels: Bool[np.ndarray, "g d"] | None,
    hidden_share: Sequence[float | int],
    *,
    rng: np.random.Generator,
) -> Bool[np.ndarray, "n d"]:
    """Random observed entries: each row hides its own share of entries, or of panels. (n, d)"""
    share = rng.uniform(hidden_share[0], hidden_share[1], (n, 1))
    if panels is None:
        return rng.random((n, d)) >= share
    return (rng.random((n, len(panels))) >= share).astype(np.uint8) @ panels.astype(np.uint8) > 0


class _Trainer:
    """Flow, its optimiser, and the base distribution with the steps it has seen."""

    def __init__(self, flow: AffineFlow, how: EmflowSettings) -> None:
        self.flow, self.how = flow, how
        self.gaussian = Gaussian(np.zeros(flow.d), np.eye(flow.d))
        self.steps = 0
        self.optimiser = torch.optim.Adam(
            flow.parameters(), lr=how.learning_rate, weight_decay=how.weight_decay, fused=True
        )

    def step(self, x: Tensor, observed: np.ndarray, truth: Tensor, has_truth: Tensor) -> float:
        """One mini-batch of Algorithm 2; the second loss per row."""
        mean = torch.from_numpy(self.gaussian.mean).float()
        ridge = RIDGE * np.eye(self.flow.d)
        factor = torch.from_numpy(np.linalg.cholesky(self.gaussian.covariance + ridge)).float()
        self._descend(likelihood_loss(self.flow, x, mean, factor))
        z = self.flow.inverse(x)[0]
        filled = _LatentImputation.apply(z, observed, self.gaussian)
        self.steps += 1
        rate = self.how.em_scale * self.steps**-self.how.em_power
        self.gaussian = updated_base(self.gaussian, z.detach().numpy(), observed, rate=rate)
        loss = reconstruction_loss(
            self.flow, filled, mean, factor, truth, has_truth, alpha=self.how.alpha
        )
        self._descend(loss)
        return float(loss.detach())

    def _descend(self, loss: Tensor) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        self.optimiser.step()


def likelihood_loss(
    flow: AffineFlow,
    x: Float[Tensor, "b d"],
    mean: Float[Tensor, " d"],
    factor: Float[Tensor, "d d"],
) -> Float[Tensor, ""]:
    """First loss: how unlikely the current imputation is.

    L₁(θ) = −(1/|B|) Σ_B log p_X(x̂; θ, μ, Σ)                           [diagnosis, eq. 4]
    """
    return -log_density(flow, x, mean, factor).mean()


def updated_base(
    gaussian: Gaussian,
    z: Float[np.ndarray, "b d"],
    observed: Bool[np.ndarray, "b d"],
    *,
    rate: float,
) -> Gaussian:
    """Base distribution after one step of online EM in latent space.

        μ⁽ᵗ⁾ = ρ μ_batch + (1 − ρ) μ⁽ᵗ⁻¹⁾                               [diagnosis, eq. 6]
        Σ⁽ᵗ⁾ = ρ Σ_batch + (1 − ρ) Σ⁽ᵗ⁻¹⁾                               [diagnosis, eq. 7]
        μ_batch = mean of ẑ                                              [diagnosis, eq. 8]

    Σ_batch is the covariance of ẑ plus the mean conditional covariance of the missing entries, as
    in the EM algorithm for a normal distribution (`conditional_moments`).

    Args:
        gaussian: μ and Σ before the step.
        z: latent rows of a mini-batch. (b, d)
        observed: True for known coordinates. (b, d)
        rate: ρ, within 0…1.
    """
    filled, spread = conditional_moments(z, observed, gaussian)
    mean = filled.mean(axis=0)
    apart = filled - mean
    covariance = apart.T @ apart / len(filled) + spread
    return Gaussian(
        rate * mean + (1 - rate) * gaussian.mean,
        rate * covariance + (1 - rate) * gaussian.covariance,
    )


def reconstruction_loss(
    flow: AffineFlow,
    filled: Float[Tensor, "b d"],
    mean: Float[Tensor, " d"],
    factor: Float[Tensor, "d d"],
    truth: Float[Tensor, "b d"],
    has_truth: Bool[Tensor, "b d"],
    *,
    alpha: float | int,
) -> Float[Tensor, ""]:
    """Second loss: likelihood of the new imputation, and its distance to the truth.

        L₂(θ) = −(1/|B|) Σ_B [log p_X(x̃) − α ‖x̃ − x‖²],   x̃ = f(ẑ)     [diagnosis, eq. 10]

    The inverse of x̃ is ẑ, so log p_X(x̃) = log N(ẑ; μ, Σ) − log|det ∂f/∂ẑ|.

    Args:
        flow: f.
        filled: ẑ. (b, d)
        mean: μ. (d,)
        factor: lower Cholesky factor of Σ. (d, d)
        truth: x; read where known. (b, d)
        has_truth: True where there is a truth. (b, d)
        alpha: α.
    """
    x, log_det = flow(filled)
    likelihood = normal_log_density(filled, mean, factor) - log_det
    distance = torch.where(has_truth, x - truth, 0.0).square().sum(dim=1)
    return (alpha * distance - likelihood).mean()


class _LatentImputation(torch.autograd.Function):
    """`conditional_means`, through which gradients run to the observed coordinates."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, observed: np.ndarray, gaussian: Gaussian) -> Tensor:
        ctx.observed, ctx.gaussian = observed, gaussian
        return torch.from_numpy(conditional_means(z.detach().numpy(), observed, gaussian)).float()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None, None]:
        gradient = conditional_gradients(grad_outputs[0].numpy(), ctx.observed, ctx.gaussian)
        return torch.from_numpy(gradient).float(), None, None


class _Check:
    """Hidden entries of validation rows, and the error of bringing them back."""

    def __init__(
        self,
        scaling: Scaling,
        values: np.ndarray,
        panels: np.ndarray | None,
        hidden_share: Sequence[float | int],
        rng: np.random.Generator,
    ) -> None:
        self.truth, has_truth = standardised_start(scaling, values), ~np.isnan(values)
        self.observed = has_truth & draw_masks(
            len(values), values.shape[1], panels, hidden_share, rng=rng
        )
        self.scored = has_truth & ~self.observed
        if not self.scored.any():
            raise DataError("the validation rows of EMFlow hide no entry; give more rows")

    def rmse(self, flow: AffineFlow, gaussian: Gaussian, passes: int) -> float:
        """Root mean squared error over hidden entries, in standard deviations of training."""
        start = np.where(self.observed, self.truth, np.float32(0))
        filled = reimputed(flow, gaussian, start, self.observed, passes=passes)
        wrong = (filled - self.truth)[self.scored].astype(np.float64)
        return float(np.sqrt(np.square(wrong).mean()))
