"""Normalising flow of affine couplings with half swaps, in plain PyTorch.

The map between data and latent space of EMFlow [diagnosis, sec. C]: every second coupling moves
the first half of the coordinates given the second, the others the second half given the first.
Halves are never stored swapped, so a coordinate keeps its place from data to latent space, and a
mask over columns is a mask over latent coordinates. Knows no imputation and no table.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from frugal.core.errors import DataError
from frugal.core.scaling import Scaling
from frugal.core.stored import Array, Stored, arrays_of, declared
from frugal.studies.diagnosis.conditional_gaussian import Gaussian, conditional_means


class AffineFlow(nn.Module):
    """Invertible map x = f(z) of d coordinates, the identity before training.

    A coupling scales and shifts one half by functions of the other:

        forward   y = z · exp(s(other)) + t(other)
        inverse   z = (y − t(other)) · exp(−s(other)),   log|det| = −Σ s

    Log-scales are bounded, s = tanh(network), where the authors' code leaves them free: a chain of
    free exponentials overflows on rows far from the training data.
    """

    def __init__(
        self, d: int, *, couplings: int, hidden: tuple[int, ...], generator: torch.Generator
    ) -> None:
        """Draws the first weights: uniform within 1/√inputs, and 0 in the last layer.

        Args:
            d: number of coordinates, at least 2.
            couplings: number of affine couplings.
            hidden: units of each hidden layer of the couplings' networks (SiLU between them).
            generator: of the weights.

        Raises:
            DataError: there are fewer than two coordinates.
        """
        super().__init__()
        if d < 2:
            raise DataError(f"a flow of couplings needs at least 2 coordinates; there are {d}")
        self.d, self.first = d, d // 2
        sizes = (self.first, d - self.first)
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        for c in range(couplings):
            read, moved = sizes[c % 2], sizes[1 - c % 2]
            for fan_in, fan_out in pairwise((read, *hidden, 2 * moved)):
                bound = fan_in**-0.5
                for parameters, shape in (
                    (self.weights, (fan_out, fan_in)),
                    (self.biases, (fan_out,)),
                ):
                    drawn = torch.rand(shape, generator=generator) * 2 * bound - bound
                    parameters.append(nn.Parameter(drawn))
            self.weights[-1].data.zero_()
            self.biases[-1].data.zero_()
        self.couplings, self.depth = couplings, len(hidden) + 1

    def inverse(self, x: Float[Tensor, "m d"]) -> tuple[Float[Tensor, "m d"], Float[Tensor, " m"]]:
        """Latent coordinates z = f⁻¹(x) and log|det ∂z/∂x|. (m, d), (m,)"""
        halves = [x[:, : self.first], x[:, self.first :]]
        log_det = x.new_zeros(len(x))
        for c in range(self.couplings):
            scale, shift = self._network(c, halves[c % 2])
            halves[1 - c % 2] = (halves[1 - c % 2] - shift) * torch.exp(-scale)
            log_det = log_det - scale.sum(dim=1)
        return torch.cat(halves, dim=1), log_det

    def forward(self, z: Float[Tensor, "m d"]) -> tuple[Float[Tensor, "m d"], Float[Tensor, " m"]]:
        """Data x = f(z) and log|det ∂x/∂z|. (m, d), (m,)"""
        halves = [z[:, : self.first], z[:, self.first :]]
        log_det = z.new_zeros(len(z))
        for c in reversed(range(self.couplings)):
            scale, shift = self._network(c, halves[c % 2])
            halves[1 - c % 2] = halves[1 - c % 2] * torch.exp(scale) + shift
            log_det = log_det + scale.sum(dim=1)
        return torch.cat(halves, dim=1), log_det

    def _network(self, c: int, x: Tensor) -> tuple[Tensor, Tensor]:
        """Log-scale and shift of coupling c, given the half that it does not move."""
        start = c * self.depth
        for layer in range(start, start + self.depth):
            x = nn.functional.linear(x, self.weights[layer], self.biases[layer])
            if layer < start + self.depth - 1:
                x = nn.functional.silu(x)
        scale, shift = x.chunk(2, dim=1)
        return torch.tanh(scale), shift

    def to_vector(self) -> Float[np.ndarray, " p"]:
        """All weights as one float32 vector; `from_vector` is the exact inverse."""
        return nn.utils.parameters_to_vector(self.parameters()).detach().numpy().copy()

    @staticmethod
    def from_vector(
        vector: Float[np.ndarray, " p"], d: int, *, couplings: int, hidden: tuple[int, ...]
    ) -> "AffineFlow":
        """The flow that `to_vector` wrote.

        Raises:
            DataError: the vector has another number of weights than such a flow.
        """
        flow = AffineFlow(d, couplings=couplings, hidden=hidden, generator=torch.Generator())
        expected = weight_count(d, couplings=couplings, hidden=hidden)
        if len(vector) != expected:
            raise DataError(f"a stored flow has {len(vector)} weights; its shape needs {expected}")
        nn.utils.vector_to_parameters(torch.from_numpy(vector.copy()), flow.parameters())
        return flow.requires_grad_(False)


def weight_count(d: int, *, couplings: int, hidden: Sequence[int]) -> int:
    """Number of weights and biases of a flow, without making it."""
    sizes = (d // 2, d - d // 2)
    each = [
        sum((into + 1) * out for into, out in pairwise((sizes[c], *hidden, 2 * sizes[1 - c])))
        for c in (0, 1)
    ]
    return (couplings + 1) // 2 * each[0] + couplings // 2 * each[1]


def normal_log_density(
    z: Float[Tensor, "m d"], mean: Float[Tensor, " d"], factor: Float[Tensor, "d d"]
) -> Float[Tensor, " m"]:
    """Density log N(z; μ, Σ) in nats; `factor` is the lower Cholesky factor of Σ. (m,)"""
    white = torch.linalg.solve_triangular(factor, (z - mean).T, upper=False)
    constant = factor.diagonal().log().sum() + 0.5 * len(mean) * np.log(2 * np.pi)
    return -0.5 * white.square().sum(dim=0) - constant


def log_density(
    flow: AffineFlow,
    x: Float[Tensor, "m d"],
    mean: Float[Tensor, " d"],
    factor: Float[Tensor, "d d"],
) -> Float[Tensor, " m"]:
    """Log-likelihood of data under the flow with a normal base distribution, in nats. (m,)

        log p_X(x; θ, μ, Σ) = log N(f⁻¹(x); μ, Σ) + log|det ∂f⁻¹(x)/∂x|    [diagnosis, eq. 4]

    Args:
        flow: f.
        x: data. (m, d)
        mean: μ. (d,)
        factor: lower Cholesky factor of Σ. (d, d)
    """
    z, log_det = flow.inverse(x)
    return normal_log_density(z, mean, factor) + log_det


MOST_PASSES = 1000  # a stored number may be anything, and each pass takes time
_EXPECTED = declared(Scaling) | {
    "weights": Array("float32", ("weights",)),
    "mean": Array("float64", ("d",)),
    "covariance": Array("float64", ("d", "d")),
    "couplings": Array("int64", (1,), low=1),
    "hidden": Array("int64", ("layers",), low=1),
    "passes": Array("int64", (1,), low=1, high=MOST_PASSES),
}
ROWS_AT_ONCE = 8192
MOST_DEVIATIONS = 5.0  # what the flow reads and returns is cut there; known values stay in the row


@dataclass(frozen=True, eq=False)
class EmFlow:
    """A fitted EMFlow; an `Imputer`. Shapes: d columns.

    Attributes:
        scaling: of the training rows; flow and Gaussian live in that scale.
        flow: f, from latent space to data.
        gaussian: base distribution N(μ, Σ).
        passes: how often a row is imputed anew, each time from its last imputation.
        hidden: units of each hidden layer of the flow's networks.
        history: loss and validation error after each round of masks; empty for a stored model.
    """

    scaling: Scaling
    flow: AffineFlow
    gaussian: Gaussian
    passes: int
    hidden: tuple[int, ...]
    history: tuple[Mapping[str, float], ...]

    def impute(self, values: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """Rows with NaN filled in; known entries stay bit for bit [diagnosis, alg. 3].

        Starts from the training means and imputes the missing entries anew `passes` times.

        Args:
            values: rows in units of the table, NaN where unknown. (m, d)

        Raises:
            DataError: another number of columns than in training, an infinite value, or weights so
                large that a completed value is not finite.
        """
        torch.set_num_threads(1)
        observed, start = ~np.isnan(values), standardised_start(self.scaling, values)
        filled = np.empty_like(start)
        for at in range(0, len(values), ROWS_AT_ONCE):
            part = slice(at, at + ROWS_AT_ONCE)
            filled[part] = reimputed(
                self.flow, self.gaussian, start[part], observed[part], passes=self.passes
            )
        restored = self.scaling.restore(filled.astype(np.float64))
        if not np.isfinite(restored).all():
            raise DataError("EMFlow completes a row by numbers that are not finite; train it again")
        return np.where(observed, values, restored)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the imputer is, as named arrays; `from_arrays` is the exact inverse."""
        return {
            "weights": self.flow.to_vector(),
            "mean": self.gaussian.mean,
            "covariance": self.gaussian.covariance,
            **arrays_of(self.scaling),
            "couplings": np.array([self.flow.couplings]),
            "hidden": np.array(self.hidden),
            "passes": np.array([self.passes]),
        }

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> "EmFlow":
        """The imputer that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no EMFlow; the message names the first.
        """
        _require_emflow(arrays)
        hidden = tuple(int(h) for h in arrays["hidden"])
        flow = AffineFlow.from_vector(
            arrays["weights"],
            len(arrays["mean"]),
            couplings=int(arrays["couplings"][0]),
            hidden=hidden,
        )
        return EmFlow(
            Scaling(arrays["centre"], arrays["scale"]),
            flow,
            Gaussian(arrays["mean"], arrays["covariance"]),
            int(arrays["passes"][0]),
            hidden,
            (),
        )


def _require_emflow(arrays: Mapping[str, np.ndarray]) -> None:
    """Weights for exactly the flow that is described, and a covariance that is one."""
    stored = Stored("EMFlow", arrays)
    size = stored.require(_EXPECTED)
    if size["d"] < 2:
        raise stored.refusal("has 1 column; a flow of couplings needs at least 2")
    couplings, hidden = int(arrays["couplings"][0]), [int(h) for h in arrays["hidden"]]
    expected = weight_count(size["d"], couplings=couplings, hidden=hidden)
    if size["weights"] != expected:
        raise stored.refusal(
            f"has {size['weights']} weights; allowed: {expected}, for {couplings} couplings over "
            f"{size['d']} columns with the hidden layers {hidden}"
        )
    covariance = arrays["covariance"]
    if not np.allclose(covariance, covariance.T, rtol=1e-6, atol=1e-9):
        raise stored.refusal("has an array 'covariance' that is not symmetric")
    try:
        Gaussian(arrays["mean"], covariance).require_definite()
    except DataError:
        raise stored.refusal("has an array 'covariance' that is not positive definite") from None


def standardised_start(
    scaling: Scaling, values: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, "m d"]:
    """Rows as the flow reads them first: standardised, cut, and 0, the mean, where unknown. (m, d)

    Raises:
        DataError: another number of columns than the scaling has, or an infinite value.
    """
    if values.shape[1] != len(scaling.centre):
        raise DataError(
            f"rows have {values.shape[1]} columns; EMFlow was fitted to {len(scaling.centre)}"
        )
    if np.isinf(values).any():
        raise DataError("a value is infinite; values are finite, or NaN where missing")
    cut = np.clip(scaling.standardise(values), -MOST_DEVIATIONS, MOST_DEVIATIONS)
    return np.nan_to_num(cut, nan=0.0).astype(np.float32)


@torch.no_grad()
def reimputed(
    flow: AffineFlow,
    gaussian: Gaussian,
    rows: Float[np.ndarray, "m d"],
    observed: Bool[np.ndarray, "m d"],
    *,
    passes: int,
) -> Float[np.ndarray, "m d"]:
    """Rows whose unobserved entries are imputed anew `passes` times [diagnosis, alg. 3].

        z = f⁻¹(x),   ẑ by eq. 5,   x ← observed entries of x, f(ẑ) elsewhere

    Differs from the paper: imputed entries are kept within ± 5 standard deviations, as known ones
    are read; else a rare row runs away from pass to pass.

    Args:
        flow: f.
        gaussian: base distribution.
        rows: current imputation, standardised. (m, d)
        observed: True for entries that are known. (m, d)
        passes: at least 0.
    """
    filled = rows
    for _ in range(passes):
        latent = flow.inverse(torch.from_numpy(filled))[0].numpy()
        completed = conditional_means(latent, observed, gaussian).astype(np.float32)
        returned = flow(torch.from_numpy(completed))[0].numpy()
        filled = np.where(observed, rows, np.clip(returned, -MOST_DEVIATIONS, MOST_DEVIATIONS))
    return filled
