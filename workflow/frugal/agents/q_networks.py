"""K action-value networks of one shape as one batched model, with the backward pass written out.

The networks of DQN agents [afape, sec. A.11]: hidden layers with ReLU, and one head, or the two
heads of a dueling network. One batched matrix product per layer serves all K; no graph is recorded.
They know no rewards, no masks and no data.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Float32
from torch import Tensor

from frugal.agents.lockstep_networks import FlatParameters


def _first_layer(fan_in: int, fan_out: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Weights and biases uniform in ±1/√fan_in: torch's start of a linear layer."""
    bound = 1 / math.sqrt(fan_in)
    return [
        rng.uniform(-bound, bound, size=shape).astype(np.float32)
        for shape in ((fan_in, fan_out), (1, fan_out))
    ]


def fresh_weights(
    width: int,
    actions: int,
    *,
    hidden: Sequence[int],
    dueling: bool,
    rngs: Sequence[np.random.Generator],
) -> dict[str, Float32[np.ndarray, "K _ _"]]:
    """Weights before training, each network's from its own generator.

    Returns:
        "i.weight" (K, in, out) and "i.bias" (K, 1, out) of layer i; the head is the last of them,
        or, of dueling networks, "advantage" is the last and "value" (one output) stands beside it.
    """
    sizes = [width, *hidden, actions]
    layers = {str(i): pair for i, pair in enumerate(pairwise(sizes))}
    if dueling:
        layers["value"] = (sizes[-2], 1)
    drawn = [[_first_layer(*layers[name], rng) for name in layers] for rng in rngs]
    return {
        f"{name}.{kind}": np.stack([network[i][j] for network in drawn])
        for i, name in enumerate(layers)
        for j, kind in enumerate(("weight", "bias"))
    }


@dataclass(frozen=True, eq=False)
class _Pass:
    """What enters each layer (the top last), and the values."""

    entering: list[Tensor]
    values: Float[Tensor, "K m A"]


class QNetworks:
    """K networks.

    Attributes:
        parameters: arrays by the names of `fresh_weights`.
        dueling: True if Q = V + A − mean A, from two heads.
    """

    def __init__(self, weights: Mapping[str, Float32[np.ndarray, "K _ _"]]) -> None:
        """Networks from weights by name; the arrays are copied."""
        self.parameters = FlatParameters({k: torch.from_numpy(v) for k, v in weights.items()})
        self.dueling = "value.weight" in weights
        self._layers = (len(weights) - 2 * self.dueling) // 2

    def export(self) -> dict[str, Float32[np.ndarray, "K _ _"]]:
        """Copies of the weights; `QNetworks(export())` is an equal one."""
        return {k: v.detach().clone().numpy() for k, v in self.parameters.views.items()}

    @torch.no_grad()
    def values(self, observation: Float[Tensor, "K m w"]) -> Float[Tensor, "K m A"]:
        """Q(s, ·) of every network at its own states. (K, m, A)"""
        return self.forward(observation).values

    def forward(self, observation: Float[Tensor, "K m w"]) -> _Pass:
        """Values, with what `write_gradient` needs of the layers below."""
        views, entering = self.parameters.views, [observation]
        for i in range(self._layers - 1):
            into = torch.baddbmm(views[f"{i}.bias"], entering[-1], views[f"{i}.weight"])
            entering.append(into.relu_())
        head = self._layers - 1
        values = torch.baddbmm(views[f"{head}.bias"], entering[-1], views[f"{head}.weight"])
        if self.dueling:
            worth = torch.baddbmm(views["value.bias"], entering[-1], views["value.weight"])
            values = worth + values - values.mean(dim=2, keepdim=True)
        return _Pass(entering, values)

    def write_gradient(self, passed: _Pass, slope: Float[Tensor, "K m A"]) -> None:
        """Fill `parameters.gradient` from the derivative of the loss by the values."""
        views, gradient = self.parameters.views, self.parameters.gradient_views
        below = None
        if self.dueling:
            of_value = slope.sum(dim=2, keepdim=True)
            slope = slope - of_value / slope.shape[2]
            self._write_layer("value", passed.entering[-1], of_value)
            below = torch.bmm(of_value, views["value.weight"].transpose(1, 2))
        for i in reversed(range(self._layers)):
            self._write_layer(str(i), passed.entering[i], slope)
            if i:
                slope = torch.bmm(slope, views[f"{i}.weight"].transpose(1, 2))
                if below is not None:
                    slope, below = slope + below, None
                slope.mul_(passed.entering[i] > 0)
        assert gradient.keys() == views.keys()

    def clip_gradient(self, longest: float, *, epsilon: float) -> None:
        """Scale each network's gradient down to a Euclidean length of at most `longest`."""
        parts = self.parameters.gradient_views.values()
        square = sum(torch.linalg.vector_norm(p, dim=(1, 2)).square() for p in parts)
        scale = (longest / (torch.sqrt(torch.as_tensor(square)) + epsilon)).clamp(max=1.0)
        for part in parts:
            part.mul_(scale.view(-1, 1, 1))

    def _write_layer(self, name: str, entering: Tensor, slope: Tensor) -> None:
        gradient = self.parameters.gradient_views
        torch.bmm(entering.transpose(1, 2), slope, out=gradient[f"{name}.weight"])
        torch.sum(slope, dim=1, keepdim=True, out=gradient[f"{name}.bias"])
