"""Parameters of many equal networks in one vector, so that all of them learn in lock-step.

One batched matrix product per layer serves all networks, and one Adam step moves all of them; what
a network learns depends on its own inputs only. Must not know what the networks are for.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor


class ParameterStack:
    """Named parameters as views of one flat vector, with gradients in a second one.

    Reading slices of one leaf would make autograd fill a whole vector of zeros per parameter; here
    every parameter is a leaf of its own, and only the memory is shared.

    Attributes:
        flat: all parameters. (p,)
        gradient: all gradients. (p,)
        named: the parameters by name, sharing memory with `flat`.
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], *, learns: bool) -> None:
        size = sum(math.prod(shape) for shape in shapes.values())
        self.flat = torch.zeros(size)
        self.gradient = torch.zeros(size if learns else 0)
        self.named: dict[str, Tensor] = {}
        at = 0
        for name, shape in shapes.items():
            end = at + math.prod(shape)
            leaf = self.flat[at:end].view(shape)
            if learns:
                leaf.requires_grad_()
                leaf.grad = self.gradient[at:end].view(shape)
            self.named[name] = leaf
            at = end


class AdamMoments:
    """Adam on a parameter stack, with moments that can be written down and taken up again.

    Torch's fused kernel without the optimiser around it, which would load a compiler, seconds in
    every process.

    Attributes:
        learning_rate: of the steps to come; a schedule may change it.
        first: running mean of gradients. (p,)
        second: running mean of squared gradients. (p,)
    """

    def __init__(self, stack: ParameterStack, *, learning_rate: float) -> None:
        self._stack, self.learning_rate = stack, learning_rate
        self.first, self.second = torch.zeros_like(stack.flat), torch.zeros_like(stack.flat)
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
        """Move the parameters against their gradients, then clear the gradients."""
        self._count += 1
        torch.ops.aten._fused_adam_(
            [self._stack.flat],
            [self._stack.gradient],
            [self.first],
            [self.second],
            [],
            [self._count],
            lr=self.learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )
        self._stack.gradient.zero_()


def perceptron_shapes(fan_in: int, hidden: int, fan_out: int) -> dict[str, tuple[int, ...]]:
    """Shapes of a perceptron with two hidden layers of equal width, for one network."""
    return {
        "first": (fan_in, hidden),
        "first_bias": (1, hidden),
        "second": (hidden, hidden),
        "second_bias": (1, hidden),
        "third": (hidden, fan_out),
        "third_bias": (1, fan_out),
    }


def perceptron(named: Mapping[str, Tensor], prefix: str, x: Tensor) -> Tensor:
    """Perceptrons with two hidden layers of rectified units, one for each of g networks.

    Args:
        named: weights `{prefix}first`, … with the networks on the leading axis. (g, in, out)
        prefix: of the weights' names.
        x: inputs of each network. (g, m, in)

    Returns:
        Outputs. (g, m, out)
    """
    return rectified_layers(
        named, prefix, torch.baddbmm(named[prefix + "first_bias"], x, named[prefix + "first"])
    )


def rectified_layers(named: Mapping[str, Tensor], prefix: str, first: Tensor) -> Tensor:
    """What follows the first layer's sums: rectify, second layer, rectify, third layer."""
    second = torch.baddbmm(
        named[prefix + "second_bias"], torch.relu(first), named[prefix + "second"]
    )
    return torch.baddbmm(named[prefix + "third_bias"], torch.relu(second), named[prefix + "third"])
