"""Multilayer perceptrons trained in lock-step: K independent networks of one shape at once.

They are the nuisance models of [afape, sec. A.11]: probabilities of missingness indicators, and
outcome means. One batched matrix product per layer serves all K; network k depends on its own
rows and its own generator only, so K networks together equal K networks apart. Must not know
the meaning of its inputs, how rows are split, or files.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from frugal.core.scaling import fit_scaling
from frugal.learn.lockstep import Adam, FlatParameters, backward, forward, layer_shapes, layers_of

BATCHES_AT_LEAST = 10  # per epoch: on small data the batch shrinks, so that steps do not run out
PREDICTED_ROWS = 16384  # at a time
WARM_UP, FIRST_DIVISOR, LAST_DIVISOR = 0.3, 25.0, 2.5e5  # of the one-cycle learning rate
ADAM_EPSILON = 1e-8

Loss = Literal["binary", "softmax", "squared"]
Activation = Literal["relu", "silu"]

# Variance of a first weight times the inputs of its layer. With rectified units it is He's; smooth
# units learn a smooth law with less noise from small weights. At 1/3, the start of torch, some stay
# with a law linear in their inputs; from 1/2 on none of 24 did.
FIRST_VARIANCE: dict[Activation, float] = {"relu": 2.0, "silu": 1 / 2}


@dataclass(frozen=True, eq=False)
class Networks:
    """K fitted networks; network k reads its first `width[k]` inputs. Shapes: d widest, o outputs.

    Attributes:
        weights: of each layer. (K, in, out)
        biases: of each layer. (K, 1, out)
        width: inputs of each network. (K,)
        centre: subtracted from the inputs. (K, 1, d)
        scale: then divides them. (K, 1, d)
        target_centre: added to the outputs after `target_scale` multiplied them. (K, 1, o)
        target_scale: 1 with loss "binary"; 0 of a mean that never varied in training, which is so
            predicted as it was. (K, 1, o)
        loss: "binary": outputs are log-odds, and `predict` gives probabilities; "squared": means.
        activation: between layers.
    """

    weights: tuple[Tensor, ...]
    biases: tuple[Tensor, ...]
    width: tuple[int, ...]
    centre: Tensor
    scale: Tensor
    target_centre: Tensor
    target_scale: Tensor
    loss: Loss
    activation: Activation

    def predict(self, k: int, inputs: Float[np.ndarray, "n w"]) -> Float[np.ndarray, "n o"]:
        """Probabilities or means by network k. (n, o)"""
        torch.set_num_threads(1)
        assert inputs.shape[1] == self.width[k]
        kth = slice(k, k + 1)
        layers = [w[kth] for w in self.weights], [b[kth] for b in self.biases]
        parts = [np.zeros((0, self.target_centre.shape[2]))]
        for start in range(0, len(inputs), PREDICTED_ROWS):
            x = _padded(inputs[start : start + PREDICTED_ROWS], self.centre.shape[2])
            x = (x[None] - self.centre[kth]) / self.scale[kth]
            out = forward(*layers, x, self.activation)[2]
            parts.append(
                (out * self.target_scale[kth] + self.target_centre[kth])[0].double().numpy()
            )
        mean = np.concatenate(parts)
        return np.exp(-np.logaddexp(0, -mean)) if self.loss == "binary" else mean


def fit_networks(
    inputs: Sequence[Float[np.ndarray, "n _"]],
    target: Sequence[Float[np.ndarray, "n o"]],
    source: Sequence[int],
    train: Float[np.ndarray, "K n"],
    *,
    loss: Loss,
    hidden: int,
    layers: int,
    epochs: int,
    batch: int,
    learning_rate: float,
    weight_decay: Sequence[float],
    activation: Activation,
    rngs: Sequence[np.random.Generator],
) -> Networks:
    """K networks by Adam with a one-cycle learning rate, each on its own rows in its own order.

    Inputs are standardised by each network's training rows; so are the targets of loss "squared".
    An input that is constant in training is not read.
    A network passes `epochs` times over its rows and is then finished, independently of the others.

    Args:
        inputs: tables that networks read; widths may differ. Each (n, w)
        target: one per table of inputs; 0 or 1 with loss "binary". Each (n, o)
        source: which table each network reads and predicts. (K,)
        train: weight of each row in each network's loss; 0 excludes it. (K, n)
        loss: "binary" (log-loss of log-odds) or "squared".
        hidden: units of a hidden layer.
        layers: number of hidden layers.
        epochs: passes over a network's rows.
        batch: rows in a step; never more than a tenth of a network's rows.
        learning_rate: peak of the one-cycle schedule.
        weight_decay: λ of the penalty ½·λ·Σ weights², added to a network's mean loss. (K,)
        activation: between layers; `FIRST_VARIANCE` of the first weights goes with it.
        rngs: one per network: its first weights and its order of rows. (K,)
    """
    torch.set_num_threads(1)
    size = [_batch_and_steps(int((row > 0).sum()), epochs, batch) for row in train]
    order = sorted(range(len(source)), key=lambda k: -size[k][1])  # the finished are at the end
    data = _stack(inputs, target, source, train, loss)
    shape = [data.x.shape[1], *[hidden] * layers, data.y.shape[1]]
    parameters = FlatParameters(layer_shapes(shape), rows=len(order))
    first = [_first_parameters(shape, data, k, loss, activation, rngs[k]) for k in order]
    parameters.flat.copy_(torch.stack(first))
    _train(
        parameters,
        [_batches(data, k, size[k][0], rngs[k]) for k in order],
        [_one_cycle(size[k][1], learning_rate) for k in order],
        data.take(order),
        loss=loss,
        weight_decay=torch.tensor([weight_decay[k] for k in order])[:, None, None],
        activation=activation,
    )
    back = np.argsort(order).tolist()
    weights, biases = layers_of({name: view[back] for name, view in parameters.views.items()})
    centre, scale, target_centre, target_scale = data.scaling
    return Networks(
        tuple(weights),
        tuple(biases),
        data.width,
        centre,
        scale,
        target_centre,
        torch.where(torch.isinf(target_scale), 0.0, target_scale),
        loss,
        activation,
    )


@dataclass(frozen=True, eq=False)
class _Data:
    """All tables on top of each other (r rows), and the rows of each of the K networks."""

    x: Tensor  # (r, d)
    y: Tensor  # (r, o)
    rows: tuple[Tensor, ...]  # training rows of each network, as rows of x
    row_weight: tuple[Tensor, ...]  # in the same order
    width: tuple[int, ...]  # inputs of each network
    scaling: tuple[Tensor, ...]  # centre and scale of inputs, then of targets; each (K, 1, ·)

    def take(self, order: Sequence[int]) -> "_Data":
        """The same tables with the networks in another order."""
        return _Data(
            self.x,
            self.y,
            tuple(self.rows[k] for k in order),
            tuple(self.row_weight[k] for k in order),
            tuple(self.width[k] for k in order),
            tuple(scale[list(order)] for scale in self.scaling),
        )


def _stack(inputs, target, source, train, loss) -> _Data:
    """Stacked tables, and each network's scaling from its training rows, in float64."""
    n, widest = len(target[0]), max(table.shape[1] for table in inputs)
    scales = [np.zeros((len(source), 1, w)) for w in (widest, widest, target[0].shape[1])]
    centre, scale, target_centre = scales
    target_scale = np.ones_like(target_centre)
    scale += 1
    rows, row_weight = [], []
    for k, s in enumerate(source):
        used = np.flatnonzero(train[k] > 0)
        weight, width = train[k][used], inputs[s].shape[1]
        read = fit_scaling(inputs[s][used], weight, constant=np.inf)  # never varied: unread
        centre[k, 0, :width], scale[k, 0, :width] = read.centre, read.scale
        if loss == "squared":
            target_scaling = fit_scaling(target[s][used], weight, constant=np.inf)
            target_centre[k, 0], target_scale[k, 0] = target_scaling.centre, target_scaling.scale
        rows.append(torch.from_numpy(used + s * n))
        row_weight.append(torch.from_numpy(weight).float())
    return _Data(
        torch.cat([_padded(table, widest) for table in inputs]),
        torch.cat([torch.from_numpy(table).float() for table in target]),
        tuple(rows),
        tuple(row_weight),
        tuple(inputs[s].shape[1] for s in source),
        tuple(torch.from_numpy(a).float() for a in (centre, scale, target_centre, target_scale)),
    )


def _padded(values: np.ndarray, widest: int) -> Tensor:
    """Zero columns up to the widest table: their weights start at zero and stay there."""
    return torch.from_numpy(np.pad(values, ((0, 0), (0, widest - values.shape[1])))).float()


def _batch_and_steps(rows: int, epochs: int, batch: int) -> tuple[int, int]:
    """Rows in a step, and number of steps; the last rows of an epoch's order wait for the next."""
    size = max(1, min(batch, rows // BATCHES_AT_LEAST))
    return size, epochs * (rows // size)


def _batches(
    data: _Data, k: int, size: int, rng: np.random.Generator
) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows and row weights of one step after the other, in a fresh order each epoch."""
    generator = torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))
    rows, weight = data.rows[k], data.row_weight[k]
    while True:
        order = torch.randperm(len(rows), generator=generator)
        for start in range(0, len(rows) - size + 1, size):
            chosen = order[start : start + size]
            yield rows[chosen], weight[chosen]


def _one_cycle(steps: int, peak: float) -> Tensor:
    """Learning rate of each step: up from peak/25 by a half cosine, then down to almost zero."""
    at = torch.arange(steps, dtype=torch.float64) / max(steps - 1, 1)
    up = 0.5 - 0.5 * torch.cos(torch.pi * (at / WARM_UP).clamp(max=1))
    down = 0.5 + 0.5 * torch.cos(torch.pi * ((at - WARM_UP) / (1 - WARM_UP)).clamp(min=0))
    low, last = peak / FIRST_DIVISOR, peak / LAST_DIVISOR
    return torch.where(at <= WARM_UP, low + (peak - low) * up, last + (peak - last) * down).float()


def _first_parameters(
    shape: Sequence[int],
    data: _Data,
    k: int,
    loss: Loss,
    activation: Activation,
    rng: np.random.Generator,
) -> Tensor:
    """Normal weights, `FIRST_VARIANCE`/m in a layer of m inputs; the output starts near the rate.

    Smooth units of small weights start as nearly the same linear unit. Random biases set them
    apart; without, some networks never leave a law linear in the inputs. Rectified ones need none.
    """
    width = data.width[k]
    parts = []
    for layer, (fan_in, fan_out) in enumerate(pairwise(shape)):
        read = width if layer == 0 else fan_in
        weight = np.zeros((fan_in, fan_out))
        deviation = np.sqrt(FIRST_VARIANCE[activation] / max(read, 1))
        weight[:read] = rng.normal(size=(read, fan_out)) * deviation
        inner = layer < len(shape) - 2 and activation == "silu"
        parts += [weight, rng.normal(size=fan_out) * deviation if inner else np.zeros(fan_out)]
    if activation == "relu":
        parts[-2] *= 0.1
    if loss == "binary":
        weight, y = data.row_weight[k].double(), data.y[data.rows[k]].double()
        rate = (weight @ y / weight.sum()).clamp(1e-6, 1 - 1e-6)
        parts[-1] = torch.logit(rate).numpy()
    if loss == "softmax":
        weight, y = data.row_weight[k].double(), data.y[data.rows[k]].double()
        parts[-1] = torch.log((weight @ y / weight.sum()).clamp(min=1e-6)).numpy()
    return torch.from_numpy(np.concatenate([part.ravel() for part in parts])).float()


def _write_gradient(
    parameters: FlatParameters,
    on: int,
    x: Tensor,
    slope: Callable[[Tensor], Tensor],
    decay: Tensor,
    activation: Activation,
) -> None:
    """Gradient of the first `on` networks' losses with penalties λ, `decay`.

    `slope` maps their outputs for the inputs x (on, b, d) to the losses' derivatives by them.
    """
    weights, biases = ([a[:on] for a in part] for part in layers_of(parameters.views))
    out = [(w[:on], b[:on]) for w, b in zip(*layers_of(parameters.gradient_views), strict=True)]
    entering, before, outputs = forward(weights, biases, x, activation)
    backward(weights, entering, before, slope(outputs), activation, out)
    for weight, (of_weight, _) in zip(weights, out, strict=True):
        of_weight.addcmul_(weight, decay)


def _train(
    parameters: FlatParameters,
    streams,
    rates,
    data: _Data,
    *,
    loss: Loss,
    weight_decay: Tensor,
    activation: Activation,
) -> None:
    """Adam on all unfinished networks at once; sorted by falling number of steps."""
    adam = Adam(parameters, learning_rate=0.0, epsilon=ADAM_EPSILON)
    for step in range(len(rates[0])):
        on = sum(len(rate) > step for rate in rates)
        drawn = [next(stream) for stream in streams[:on]]
        rows, weight = (
            pad_sequence(list(part), batch_first=True) for part in zip(*drawn, strict=True)
        )
        weight = (weight / weight.sum(dim=1, keepdim=True))[:, :, None]
        centre, scale, target_centre, target_scale = (part[:on] for part in data.scaling)
        x = (data.x[rows] - centre) / scale
        y = (data.y[rows] - target_centre) / target_scale
        slope = _slope(loss, y, weight)
        _write_gradient(parameters, on, x, slope, weight_decay[:on], activation)
        adam.learning_rate = torch.stack([rate[step] for rate in rates[:on]])[:, None]
        adam.step()


def _slope(loss: Loss, y: Tensor, weight: Tensor) -> Callable[[Tensor], Tensor]:
    """Derivative by the output of Σ weight · loss, for log-loss or half the squared error."""
    if loss == "binary":
        return lambda out: (torch.sigmoid(out) - y) * weight
    if loss == "softmax":
        return lambda out: (torch.softmax(out, dim=2) - y) * weight
    return lambda out: (out - y) * weight
