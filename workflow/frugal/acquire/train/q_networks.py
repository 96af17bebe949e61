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

from frugal.learn.lockstep import (
    LIBRARY,
    FlatParameters,
    hidden_backward,
    hidden_forward,
    layer_slopes,
    layer_sums,
    layers_of,
    product,
)

RELU = LIBRARY["relu"]


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
    """What enters each layer (the top last), what was rectified, and the values."""

    entering: list[Tensor]
    before: list[Tensor]
    values: Float[Tensor, "K m A"]


class QNetworks:
    """K networks.

    Attributes:
        parameters: arrays by the names of `fresh_weights`.
        dueling: True if Q = V + A − mean A, from two heads.
    """

    def __init__(self, weights: Mapping[str, Float32[np.ndarray, "K _ _"]]) -> None:
        """Networks from weights by name; the arrays are copied."""
        self.parameters = FlatParameters.of({k: torch.from_numpy(v) for k, v in weights.items()})
        self.dueling = "value.weight" in weights
        self._weights, self._biases = layers_of(self.parameters.views)
        self._slopes = list(zip(*layers_of(self.parameters.gradient_views), strict=True))

    def export(self) -> dict[str, Float32[np.ndarray, "K _ _"]]:
        """Copies of the weights; `QNetworks(export())` is an equal one."""
        return {k: v.detach().clone().numpy() for k, v in self.parameters.views.items()}

    @torch.no_grad()
    def values(self, observation: Float[Tensor, "K m w"]) -> Float[Tensor, "K m A"]:
        """Q(s, ·) of every network at its own states. (K, m, A)"""
        return self.forward(observation).values

    def forward(self, observation: Float[Tensor, "K m w"]) -> _Pass:
        """Values, with what `write_gradient` needs of the layers below."""
        entering, before = hidden_forward(
            self._weights[:-1], self._biases[:-1], observation, "relu"
        )
        values = layer_sums(entering[-1], self._weights[-1], self._biases[-1], by=RELU)
        if self.dueling:
            views = self.parameters.views
            worth = layer_sums(entering[-1], views["value.weight"], views["value.bias"], by=RELU)
            values = worth + values - values.mean(dim=2, keepdim=True)
        return _Pass(entering, before, values)

    def write_gradient(self, passed: _Pass, slope: Float[Tensor, "K m A"]) -> None:
        """Fill `parameters.gradient` from the derivative of the loss by the values."""
        top, below = passed.entering[-1], None
        if self.dueling:
            views, gradient = self.parameters.views, self.parameters.gradient_views
            of_value = slope.sum(dim=2, keepdim=True)
            slope = slope - of_value / slope.shape[2]
            out = gradient["value.weight"], gradient["value.bias"]
            layer_slopes(top, of_value, by=RELU, out=out)
            below = product(of_value, views["value.weight"].transpose(1, 2), by=RELU)
        layer_slopes(top, slope, by=RELU, out=self._slopes[-1])
        if len(self._weights) > 1:
            slope = product(slope, self._weights[-1].transpose(1, 2), by=RELU)
            slope = slope if below is None else slope + below
            hidden_backward(
                self._weights[:-1], passed.entering, passed.before, slope, "relu",
                self._slopes[:-1],
            )  # fmt: skip

    def clip_gradient(self, longest: float, *, epsilon: float) -> None:
        """Scale each network's gradient down to a Euclidean length of at most `longest`."""
        parts = self.parameters.gradient_views.values()
        square = sum(torch.linalg.vector_norm(p, dim=(1, 2)).square() for p in parts)
        scale = (longest / (torch.sqrt(torch.as_tensor(square)) + epsilon)).clamp(max=1.0)
        for part in parts:
            part.mul_(scale.view(-1, 1, 1))
