"""K networks of one shape that learn in lock-step: their parameters, their layers, and Adam.

The one core of all trainers: one batched matrix product per layer serves all networks and one Adam
step moves all of them, while each network's training depends on its own inputs only. Forward and
backward pass are written out, so no graph has to be recorded; where autograd follows (DADI's
set encoders), the same forward pass serves. Must not know the networks' purpose.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

MOMENTUM, SQUARE_MOMENTUM = 0.9, 0.999  # of Adam

Activation = Literal["relu", "silu", "tanh"]
Library = Literal["torch", "numpy"]

# Whose matrix product is used. On small matrices OpenBLAS is 1.2 to 3 times as fast as the library
# inside torch, but autograd cannot follow it.
LIBRARY: dict[str, Library] = {"relu": "torch", "silu": "numpy", "tanh": "numpy"}


class FlatParameters:
    """Named arrays that lie one after the other in one flat tensor, and a gradient like it.

    One Adam step on the flat tensor then moves all of them. All are zero at first.

    Attributes:
        flat: all values. (p,), or (K, p) where each of K networks has its own row
        gradient: derivative of the loss by each of them; methods document writes to it.
        views: the arrays by name, sharing memory with `flat`.
        gradient_views: the same of `gradient`.
    """

    def __init__(
        self, shapes: Mapping[str, Sequence[int]], *, rows: int | None = None, traced: bool = False
    ) -> None:
        """Room for arrays of these shapes.

        Args:
            shapes: by name; with `rows`, of one network.
            rows: number of networks, each of which gets a row of `flat`; None: no rows, and the
                shapes are those of all networks together.
            traced: autograd adds to `gradient`: every view is a leaf of its own, since a slice of
                one leaf would fill a whole vector of zeros per array.
        """
        leading = () if rows is None else (rows,)
        size = sum(math.prod(shape) for shape in shapes.values())
        self.flat, self.gradient = torch.zeros(*leading, size), torch.zeros(*leading, size)
        self.views, self.gradient_views = _cut(self.flat, shapes), _cut(self.gradient, shapes)
        if traced:
            for name, leaf in self.views.items():
                leaf.requires_grad_()
                leaf.grad = self.gradient_views[name]

    @classmethod
    def of(cls, arrays: Mapping[str, Tensor]) -> "FlatParameters":
        """Copies of arrays, not traced."""
        result = cls({name: array.shape for name, array in arrays.items()})
        for name, array in arrays.items():
            result.views[name].copy_(array)
        return result


def _cut(flat: Tensor, shapes: Mapping[str, Sequence[int]]) -> dict[str, Tensor]:
    views, at = {}, 0
    for name, shape in shapes.items():
        end = at + math.prod(shape)
        views[name] = flat[..., at:end].view(*flat.shape[:-1], *shape)
        at = end
    return views


class Adam:
    """Adam on flat parameters, with moments that can be written down and taken up again.

    Torch's fused kernel without the optimiser around it, which would load a compiler, seconds in
    every process.

    Attributes:
        learning_rate: of the steps to come; a schedule may change it. A number, or, where each
            network has its own row, one of each of the first networks, (k, 1): only they move.
        first: running mean of gradients, as the parameters.
        second: running mean of squared gradients, as the parameters.
    """

    def __init__(
        self, parameters: FlatParameters, *, learning_rate: float | Tensor, epsilon: float
    ) -> None:
        self.learning_rate, self._epsilon = learning_rate, epsilon
        self._values, self._gradient = parameters.flat, parameters.gradient
        self.first, self.second = (torch.zeros_like(parameters.flat) for _ in range(2))
        self._count = torch.zeros(())

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return int(self._count)

    def restore(self, first: Tensor, second: Tensor, steps: int) -> None:
        """Take up moments that were written down."""
        self.first.copy_(first)
        self.second.copy_(second)
        self._count.fill_(steps)

    @torch.no_grad()
    def step(self) -> None:
        """Move the parameters against their gradient as it is now."""
        self._count += 1
        if isinstance(self.learning_rate, Tensor):
            self._step_rows(self.learning_rate)
            return
        torch.ops.aten._fused_adam_(
            [self._values],
            [self._gradient],
            [self.first],
            [self.second],
            [],
            [self._count],
            lr=self.learning_rate,
            beta1=MOMENTUM,
            beta2=SQUARE_MOMENTUM,
            weight_decay=0.0,
            eps=self._epsilon,
            amsgrad=False,
            maximize=False,
        )

    def descend(self, loss: Tensor) -> None:
        """One step along the gradient of a loss of traced parameters, which is then cleared."""
        loss.backward()
        self.step()
        self._gradient.zero_()

    def _step_rows(self, rate: Float[Tensor, "k 1"]) -> None:
        """The same step with one rate for each network; the fused kernel has one for all."""
        values, gradient, first, second = (
            part[: len(rate)] for part in (self._values, self._gradient, self.first, self.second)
        )
        first.lerp_(gradient, 1 - MOMENTUM)
        second.mul_(SQUARE_MOMENTUM).addcmul_(gradient, gradient, value=1 - SQUARE_MOMENTUM)
        root = (second / (1 - SQUARE_MOMENTUM**self.steps)).sqrt_().add_(self._epsilon)
        values.addcdiv_(first * (rate / (1 - MOMENTUM**self.steps)), root, value=-1)


def layer_shapes(sizes: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Shapes of one network's layers by name: "i.weight" (in, out) and "i.bias" (1, out)."""
    result: dict[str, tuple[int, ...]] = {}
    for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        result |= {f"{i}.weight": (fan_in, fan_out), f"{i}.bias": (1, fan_out)}
    return result


def layers_of(named: Mapping[str, Tensor], prefix: str = "") -> tuple[list[Tensor], list[Tensor]]:
    """Weights and biases of the layers "0", "1", … below a prefix, in order."""
    weights, biases = [], []
    while f"{prefix}{len(weights)}.weight" in named:
        name = f"{prefix}{len(weights)}"
        weights.append(named[f"{name}.weight"])
        biases.append(named[f"{name}.bias"])
    return weights, biases


def orthogonal_weights(
    networks: int, fan_in: int, fan_out: int, *, gain: float, rng: np.random.Generator
) -> Tensor:
    """Random matrices with orthonormal rows or columns times `gain`; as stable-baselines3's start.

    (networks, fan_in, fan_out)
    """
    tall, wide = max(fan_in, fan_out), min(fan_in, fan_out)
    q, r = np.linalg.qr(rng.normal(size=(networks, tall, wide)))
    q = q * np.sign(np.diagonal(r, axis1=1, axis2=2))[:, None, :]  # uniform over such matrices
    return torch.from_numpy(gain * (q if fan_in >= fan_out else q.transpose(0, 2, 1))).float()


def orthogonal_layers(
    networks: int, width: int, hidden: Sequence[int], *, rng: np.random.Generator
) -> tuple[list[Tensor], list[Tensor]]:
    """First weights (N, in, out), orthogonal with gain √2, and zero biases (N, 1, out)."""
    weights = [
        orthogonal_weights(networks, fan_in, fan_out, gain=math.sqrt(2), rng=rng)
        for fan_in, fan_out in pairwise([width, *hidden])
    ]
    return weights, [torch.zeros(networks, 1, size) for size in hidden]


def product(
    a: Float[Tensor, "N i j"],
    b: Float[Tensor, "N j k"],
    *,
    by: Library = "numpy",
    out: Tensor | None = None,
) -> Float[Tensor, "N i k"]:
    """Matrix product of each of N pairs, by the named library; written to `out` if there is one."""
    if by == "torch" or torch.compiler.is_compiling():
        if out is None or not out.is_contiguous():  # between rows bmm sums in another order
            return torch.bmm(a, b) if out is None else out.copy_(torch.bmm(a, b))
        return torch.bmm(a, b, out=out)
    if out is None:
        return torch.from_numpy(np.matmul(a.numpy(), b.numpy()))
    np.matmul(a.numpy(), b.numpy(), out=out.numpy())
    return out


def layer_sums(x: Tensor, weight: Tensor, bias: Tensor, *, by: Library) -> Tensor:
    """Pre-activations of a layer: x · weight + bias. (N, b, out)"""
    return torch.baddbmm(bias, x, weight) if by == "torch" else product(x, weight).add_(bias)


def layer_slopes(
    entering: Tensor, slope: Tensor, *, by: Library, out: tuple[Tensor, Tensor] | None = None
) -> tuple[Tensor, Tensor]:
    """Derivatives of a loss by a layer's weights and bias, from that by its sums."""
    for_weight, for_bias = (None, None) if out is None else out
    by_weight = product(entering.transpose(1, 2), slope, by=by, out=for_weight)
    return by_weight, torch.sum(slope, dim=1, keepdim=True, out=for_bias)


def hidden_forward(
    weights: Sequence[Float[Tensor, "N _ _"]],
    biases: Sequence[Float[Tensor, "N 1 _"]],
    inputs: Float[Tensor, "N b w"],
    activation: Activation,
) -> tuple[list[Tensor], list[Tensor]]:
    """Inputs of each layer, then the last layer's output; and the activations.

    Each (N, b, ·); both are arguments of `hidden_backward`.
    """
    entering, before = [inputs], []
    for weight, bias in zip(weights, biases, strict=True):
        before.append(layer_sums(entering[-1], weight, bias, by=LIBRARY[activation]))
        entering.append(_activated(before[-1], activation))
    return entering, before


def hidden_backward(
    weights: Sequence[Tensor],
    entering: Sequence[Tensor],
    before: Sequence[Tensor],
    slope: Float[Tensor, "N b _"],
    activation: Activation,
    out: Sequence[tuple[Tensor, Tensor]] | None = None,
) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Derivatives of a loss by weights, biases and the first sums, from that by the last output.

    Args:
        weights: as in the forward pass.
        entering: from `hidden_forward`.
        before: from `hidden_forward`.
        slope: derivative of the loss by `entering[-1]`.
        activation: as in the forward pass.
        out: where to write those of each layer, weights first; None makes new tensors.
    """
    by_weight, by_bias, library = [], [], LIBRARY[activation]
    for layer in reversed(range(len(weights))):
        slope = _through_activation(slope, before[layer], entering[layer + 1], activation)
        buffers = None if out is None else out[layer]
        of_weight, of_bias = layer_slopes(entering[layer], slope, by=library, out=buffers)
        by_weight.insert(0, of_weight)
        by_bias.insert(0, of_bias)
        if layer:
            slope = product(slope, weights[layer].transpose(1, 2), by=library)
    return by_weight, by_bias, slope


def forward(
    weights: Sequence[Tensor], biases: Sequence[Tensor], inputs: Tensor, activation: Activation
) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """`hidden_forward` of all layers but the last, and the last's sums: the outputs. (N, b, o)"""
    entering, before = hidden_forward(weights[:-1], biases[:-1], inputs, activation)
    outputs = layer_sums(entering[-1], weights[-1], biases[-1], by=LIBRARY[activation])
    return entering, before, outputs


def backward(
    weights: Sequence[Tensor],
    entering: Sequence[Tensor],
    before: Sequence[Tensor],
    slope: Float[Tensor, "N b o"],
    activation: Activation,
    out: Sequence[tuple[Tensor, Tensor]],
) -> Tensor:
    """Write the derivatives of a loss by weights and biases, from that by the outputs.

    Args:
        weights: as in the forward pass.
        entering: from `forward`.
        before: from `forward`.
        slope: derivative of the loss by the outputs.
        activation: as in the forward pass.
        out: where to write those of each layer, weights first.

    Returns:
        The derivative by the first layer's sums, from which that by the inputs follows.
    """
    library = LIBRARY[activation]
    layer_slopes(entering[-1], slope, by=library, out=out[-1])
    if len(weights) > 1:
        below = product(slope, weights[-1].transpose(1, 2), by=library)
        slope = hidden_backward(weights[:-1], entering, before, below, activation, out[:-1])[2]
    return slope


def _activated(values: Tensor, activation: Activation) -> Tensor:
    if activation == "relu":
        return values.relu_()  # its slope reads what comes out, not what went in
    if activation == "silu":
        return functional.silu(values)
    # tanh x = 2σ(2x) − 1: five times as fast as torch's tanh on a CPU, equal to 1e-7
    return values.mul(2).sigmoid_().mul_(2).sub_(1)


def _through_activation(slope: Tensor, before: Tensor, after: Tensor, activation) -> Tensor:
    if activation == "relu":
        return torch.ops.aten.threshold_backward(slope, after, 0)
    if activation == "silu":
        return torch.ops.aten.silu_backward(slope, before)
    return torch.ops.aten.tanh_backward(slope, after)


_LAYERS = ("first", "second", "third")  # of a perceptron, by name


def perceptron_shapes(fan_in: int, hidden: int, fan_out: int) -> dict[str, tuple[int, ...]]:
    """Shapes of a perceptron with two hidden layers of equal width, for one network."""
    shapes = layer_shapes([fan_in, hidden, hidden, fan_out])
    names = [name for layer in _LAYERS for name in (layer, f"{layer}_bias")]
    return dict(zip(names, shapes.values(), strict=True))


def perceptron(named: Mapping[str, Tensor], prefix: str, x: Tensor) -> Tensor:
    """Perceptrons with two hidden layers of rectified units, one for each of g networks.

    Args:
        named: weights `{prefix}first`, … with the networks on the leading axis. (g, in, out)
        prefix: of the weights' names.
        x: inputs of each network. (g, m, in)

    Returns:
        Outputs. (g, m, out)
    """
    return _from_layer(0, named, prefix, x)


def rectified_layers(named: Mapping[str, Tensor], prefix: str, first: Tensor) -> Tensor:
    """Output after the first layer's sums: rectify, second layer, rectify, third layer."""
    return _from_layer(1, named, prefix, torch.relu(first))


def _from_layer(layer: int, named: Mapping[str, Tensor], prefix: str, x: Tensor) -> Tensor:
    names = [prefix + name for name in _LAYERS[layer:]]
    weights = [named[name] for name in names]
    return forward(weights, [named[f"{name}_bias"] for name in names], x, "relu")[2]
