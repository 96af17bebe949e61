"""Normalising flow of affine couplings with half swaps, in plain PyTorch.

The map between data and latent space of EMFlow [diagnosis, sec. C]: every second coupling moves
the first half of the coordinates given the second, the others the second half given the first.
Halves are never stored swapped, so a coordinate keeps its place from data to latent space, and a
mask over columns is a mask over latent coordinates. Knows no imputation and no table.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from frugal.core.errors import DataError


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
        wanted = weight_count(d, couplings=couplings, hidden=hidden)
        if len(vector) != wanted:
            raise DataError(f"a stored flow has {len(vector)} weights; its shape asks for {wanted}")
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
