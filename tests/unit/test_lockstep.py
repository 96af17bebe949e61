"""The one lock-step core: Adam is torch's, passes are autograd's, moments can be taken up again."""

import pytest
import torch
from frugal.learn.lockstep import (
    Activation,
    Adam,
    FlatParameters,
    backward,
    forward,
    layer_shapes,
    layers_of,
)

from tests.unit.double_precision import double_precision

pytestmark = pytest.mark.trains

K, SIZES, ROWS = 3, [4, 6, 5, 2], 7


def parameters(*, rows: int | None = None, traced: bool = False) -> FlatParameters:
    """Random parameters of K networks, in double precision."""
    shapes = layer_shapes(SIZES)
    if rows is None:
        shapes = {name: (K, *shape) for name, shape in shapes.items()}
    with double_precision():
        result = FlatParameters(shapes, rows=rows, traced=traced)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        result.flat.normal_(generator=generator)
    return result


@pytest.mark.parametrize("epsilon", [1e-8, 1e-5])
def test_adam_is_torchs_also_with_a_rate_for_each_network(epsilon):
    one, apart = parameters(), parameters(rows=K)
    theirs = [torch.nn.Parameter(x.clone()) for x in (one.flat, *apart.flat)]
    rates = [0.1, 0.1, 0.02, 0.3]
    torchs = [torch.optim.Adam([x], lr=r, eps=epsilon) for x, r in zip(theirs, rates, strict=True)]
    with double_precision():
        together = Adam(one, learning_rate=rates[0], epsilon=epsilon)
        each = torch.tensor(rates[1:])[:, None]
        by_rows = Adam(apart, learning_rate=each, epsilon=epsilon)
    for step in range(1, 41):
        for ours, adam in ((one, together), (apart, by_rows)):
            ours.gradient.copy_(torch.sin(ours.flat * step))
            adam.step()
        for leaf, adam in zip(theirs, torchs, strict=True):
            leaf.grad = torch.sin(leaf.detach() * step)
            adam.step()
    for found, leaf in zip((one.flat, *apart.flat), theirs, strict=True):
        torch.testing.assert_close(found, leaf.detach(), rtol=0, atol=1e-9)


def test_networks_that_are_finished_do_not_move():
    apart = parameters(rows=K)
    before = apart.flat.clone()
    apart.gradient.fill_(1.0)
    Adam(apart, learning_rate=torch.full((2, 1), 0.1, dtype=torch.float64), epsilon=1e-8).step()
    assert (apart.flat[:2] != before[:2]).all()
    assert torch.equal(apart.flat[2], before[2])


def test_moments_can_be_taken_up_again():
    def steps(adam: Adam, of: FlatParameters, count: int) -> None:
        for _ in range(count):
            of.gradient.copy_(of.flat.cos())
            adam.step()

    straight, broken = parameters(), parameters()
    steps(Adam(straight, learning_rate=0.1, epsilon=1e-8), straight, 7)
    first = Adam(broken, learning_rate=0.1, epsilon=1e-8)
    steps(first, broken, 3)
    again = Adam(broken, learning_rate=0.1, epsilon=1e-8)
    again.restore(first.first, first.second, first.steps)
    steps(again, broken, 4)
    assert torch.equal(straight.flat, broken.flat)


@pytest.mark.parametrize("activation", ["relu", "silu", "tanh"])
@pytest.mark.parametrize("rows", [None, K])
def test_the_backward_pass_is_autograds(activation: Activation, rows):
    ours, theirs = parameters(rows=rows), parameters(traced=True)
    for name, view in ours.views.items():
        theirs.views[name].data.copy_(view)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(K, ROWS, SIZES[0], generator=generator, dtype=torch.float64)
    slope = torch.randn(K, ROWS, SIZES[-1], generator=generator, dtype=torch.float64)
    weights, biases = layers_of(ours.views)
    out = list(zip(*layers_of(ours.gradient_views), strict=True))
    entering, before, outputs = forward(weights, biases, x, activation)
    backward(weights, entering, before, slope, activation, out)
    wanted = x
    activated = {"relu": torch.relu, "silu": torch.nn.functional.silu, "tanh": torch.tanh}
    for i, (weight, bias) in enumerate(zip(*layers_of(theirs.views), strict=True)):
        wanted = (activated[activation](wanted) if i else wanted) @ weight + bias
    (wanted * slope).sum().backward()
    torch.testing.assert_close(outputs, wanted.detach(), rtol=0, atol=1e-12)
    for name, leaf in theirs.views.items():
        torch.testing.assert_close(ours.gradient_views[name], leaf.grad, rtol=0, atol=1e-12)


def test_a_descent_clears_the_gradient_that_autograd_adds_to():
    traced = parameters(traced=True)
    adam = Adam(traced, learning_rate=0.01, epsilon=1e-8)
    losses = []
    for _ in range(3):
        loss = sum(view.square().sum() for view in traced.views.values())
        assert isinstance(loss, torch.Tensor)
        losses.append(float(loss.detach()))
        adam.descend(loss)
        assert not traced.gradient.any()
    assert losses[0] > losses[1] > losses[2]
