"""The set encoder of DADI's appendix B, for many encoders in lock-step.

An LSTM without an input of its own reads the memory vectors of a set's members by attention, a
fixed number of times. The gradient of the reading is written out, so that a rollout's forward
passes serve the update as well. Must not know what is predicted from an encoding.

Shapes: g encoders, n units, t sets per unit, z shared tokens, s slots, h width of a memory vector.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from frugal.models.token_memory import Memory

OUTSIDE = 1e9  # subtracted from the attention of what is not in the set; exp(−1e9) is exactly 0

_sigmoid_backward = torch.ops.aten.sigmoid_backward
_tanh_backward = torch.ops.aten.tanh_backward
_softmax_backward = torch.ops.aten._softmax_backward_data


class StepTrace(NamedTuple):
    """What a processing step leaves behind for its gradient, for one set per unit.

    Attributes:
        heard: [query, reading] that enters the step. (g, n, 2h)
        gates: input, forget and output gate and candidate, after their functions. (g, n, 4h)
        cell: the LSTM's cell after the step. (g, n, h)
        bent: tanh of the cell. (g, n, h)
        query: that asks the memory. (g, n, h)
        attention: arbitrary where the set is empty. (g, n, z + s)
    """

    heard: Tensor
    gates: Tensor
    cell: Tensor
    bent: Tensor
    query: Tensor
    attention: Tensor


@dataclass(frozen=True, eq=False)
class SetReading:
    """One set per unit, read by all encoders.

    Attributes:
        share: 1/size for the set's members, else 0. (g, n, z + s)
        filled: 1 unless the set is empty. (g, n, 1)
        trace: of each processing step.
        encoding: the last reading vector. (g, n, h)
    """

    share: Tensor
    filled: Tensor
    trace: list[StepTrace]
    encoding: Float[Tensor, "g n h"]


def step_forward(
    shared: Tensor, own: Tensor, across: Tensor, outside: tuple[Tensor, Tensor], filled: Tensor,
    heard: Tensor, cell: Tensor, weight: Tensor, bias: Tensor,
) -> tuple[StepTrace, Tensor]:  # fmt: skip
    """One processing step, q = LSTM([q r]), a = softmax(mᵀq), r = Σ a m  [dadi, eq. 6].

    tanh x is computed as 2 σ(2x) − 1, ten times faster here and right to the last digits of 1.

    Args:
        shared: memory of the shared tokens. (g, z, h)
        own: memory of the units' own tokens. (g n, s, h)
        across: the same, transposed. (g n, h, s)
        outside: 0 for members, −1e9 for the rest. (g, n, z), (g, n, s)
        filled: 1 unless the set is empty. (g, n, 1)
        heard: query and reading. (g, n, 2h)
        cell: of the LSTM. (g, n, h)
        weight: of the LSTM. (g, 2h, 4h)
        bias: of the LSTM. (g, 1, 4h)

    Returns:
        What the gradient needs, and the reading. (g, n, h)
    """
    g, n, h = cell.shape
    z, s = shared.shape[1], own.shape[1]
    gates = torch.baddbmm(bias, heard, weight)
    gates[:, :, 3 * h :] *= 2
    gates = torch.sigmoid(gates)
    gates[:, :, 3 * h :].mul_(2).sub_(1)
    let_in, keep, let_out, candidate = gates.split(h, dim=2)
    cell = keep * cell + let_in * candidate
    bent = torch.sigmoid(2 * cell) * 2 - 1
    query = let_out * bent
    match_shared = torch.baddbmm(outside[0], query, shared.transpose(1, 2))
    match_own = torch.bmm(query.view(g * n, 1, h), across).view(g, n, s) + outside[1]
    attention = torch.softmax(torch.cat((match_shared, match_own), dim=2), dim=2)
    reading = torch.bmm(attention[:, :, z:].reshape(g * n, 1, s), own).view(g, n, h)
    reading = torch.baddbmm(reading, attention[:, :, :z], shared) * filled
    return StepTrace(heard, gates, cell, bent, query, attention), reading


def step_backward(
    d_reading: Tensor, d_query: Tensor, d_cell: Tensor, shared: Tensor, own: Tensor,
    across: Tensor, weight: Tensor, cell_before: Tensor, gates: Tensor, bent: Tensor,
    attention: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradient of `step_forward`, for t sets per unit at once.

    Args:
        d_reading: gradient by the reading that leaves the step, times `filled`. (g, n, t, h)
        d_query: gradient by the query, from later steps. (g, n, t, h)
        d_cell: gradient by the cell, from later steps. (g, n, t, h)
        shared: as in the step. (g, z, h)
        own: as in the step. (g n, s, h)
        across: as in the step. (g n, h, s)
        weight: as in the step. (g, 2h, 4h)
        cell_before: the cell that entered the step. (g, n, t, h)
        gates: of the step. (g, n, t, 4h)
        bent: of the step. (g, n, t, h)
        attention: of the step. (g, n, t, z + s)

    Returns:
        Gradients by the attention's logits, the gates' sums, what was heard, and the cell before.
    """
    g, n, t, h = d_query.shape
    z, s = shared.shape[1], own.shape[1]
    by_shared = torch.bmm(d_reading.reshape(g, n * t, h), shared.transpose(1, 2))
    by_own = torch.bmm(d_reading.reshape(g * n, t, h), across)
    by_token = torch.cat((by_shared.view(g, n, t, z), by_own.view(g, n, t, s)), dim=3)
    d_match = _softmax_backward(by_token, attention, 3, attention.dtype)
    d_query = torch.baddbmm(
        d_query.reshape(g, n * t, h), d_match.view(g, n * t, z + s)[:, :, :z], shared
    )
    d_query = torch.baddbmm(
        d_query.view(g * n, t, h), d_match.view(g * n, t, z + s)[:, :, z:], own
    ).view(g, n, t, h)
    let_in, keep, let_out, candidate = gates.split(h, dim=3)
    d_cell = d_cell + _tanh_backward(d_query * let_out, bent)
    by_gate = torch.cat((d_cell * candidate, d_cell * cell_before, d_query * bent), dim=3)
    d_sums = torch.cat(
        (
            _sigmoid_backward(by_gate, gates[..., : 3 * h]),
            _tanh_backward(d_cell * let_in, candidate),
        ),
        dim=3,
    )
    d_heard = torch.bmm(d_sums.view(g, n * t, 4 * h), weight.transpose(1, 2))
    return d_match, d_sums, d_heard.view(g, n, t, 2 * h), d_cell * keep


@dataclass(frozen=True)
class Steps:
    """The two directions of a processing step, as written above or compiled."""

    forward: Callable[..., Any] = step_forward
    backward: Callable[..., Any] = step_backward


def compiled_steps() -> Steps:
    """Both directions through torch.compile; the first calls take seconds and need a C compiler."""
    return Steps(
        torch.compile(step_forward, dynamic=False), torch.compile(step_backward, dynamic=False)
    )


def read_sets(
    named: Mapping[str, Tensor], prefix: str, memory: Memory, member: tuple[Tensor, Tensor],
    *, processing_steps: int, steps: Steps,
) -> SetReading:  # fmt: skip
    """Read one set per unit in each encoder, without a graph  [dadi, app. B].

        r₀ = mean of the memory,  q₀ = LSTM([0, r₀]),  qₜ₊₁ = LSTM([qₜ, rₜ])

    The encoding is the reading vector after the last step; that of the empty set is 0.

    Args:
        named: the encoders' parameters, encoders on the leading axis.
        prefix: of their names.
        memory: memory vectors of the units' tokens.
        member: 1 where a shared token (g, n, z), where a unit's own token (g, n, s) is in the set.
        processing_steps: how often the memory is read.
        steps: how a processing step is computed.

    Returns:
        The encodings and all that the gradient needs.
    """
    shared, own, across = memory.flat()
    weight, bias = named[prefix + "cell"].detach(), named[prefix + "cell_bias"].detach()
    in_set = torch.cat(member, dim=2)
    size = in_set.sum(dim=2, keepdim=True)
    share, filled = in_set / size.clamp(min=1), (size > 0).to(size.dtype)
    outside = ((member[0] - 1) * OUTSIDE, (member[1] - 1) * OUTSIDE)
    (g, n, z), s, h = member[0].shape, member[1].shape[2], shared.shape[2]
    reading = torch.bmm(share[:, :, z:].reshape(g * n, 1, s), own).view(g, n, h)
    reading = torch.baddbmm(reading, share[:, :, :z], shared)
    query = cell = torch.zeros_like(reading)
    trace = []
    for _ in range(processing_steps):
        heard = torch.cat((query, reading), dim=2)
        left, reading = steps.forward(
            shared, own, across, outside, filled, heard, cell, weight, bias
        )
        query, cell = left.query, left.cell
        trace.append(left)
    return SetReading(share, filled, trace, reading)


def encode(
    named: Mapping[str, Tensor],
    prefix: str,
    memory: Memory,
    readings: Sequence[SetReading],
    *,
    steps: Steps,
) -> Float[Tensor, "g n t h"]:
    """Encodings of sets that were read, as part of a graph: nothing is computed twice.

    Args:
        named: the parameters that the sets were read with.
        prefix: of their names.
        memory: that the sets were read from, with its graph.
        readings: of t sets per unit.
        steps: how a processing step is computed.
    """
    return _Encode.apply(
        memory.shared, memory.own, named[prefix + "cell"], named[prefix + "cell_bias"],
        memory, readings, steps,
    )  # fmt: skip


class _Encode(torch.autograd.Function):
    """Encodings that `read_sets` found, with the gradient written out over all steps."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        ctx.weight = inputs[2].detach()
        ctx.memory, ctx.readings, ctx.steps = inputs[4:]
        return torch.stack([reading.encoding for reading in ctx.readings], dim=2)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        found = _read_backward(gradients[0], ctx.memory, ctx.weight, ctx.readings, ctx.steps)
        return (*found, None, None, None)


def _read_backward(
    d_encoding: Tensor, memory: Memory, weight: Tensor, readings: Sequence[SetReading],
    steps: Steps,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients by shared and own memory, the cell's weight and bias."""
    (g, n, t, h), (shared, own, across) = d_encoding.shape, memory.flat()
    z, states = shared.shape[1], n * t
    filled = torch.stack([reading.filled for reading in readings], dim=2)
    share = torch.stack([reading.share for reading in readings], dim=2)
    d_shared, d_weight = torch.zeros_like(shared), torch.zeros_like(weight)
    d_bias = weight.new_zeros(g, 1, 4 * h)
    d_reading, d_query, d_cell = d_encoding, *torch.zeros(2, g, n, t, h, dtype=weight.dtype)
    asked, answered = [], []  # own tokens' gradient is Σ askedᵀ answered, over steps and sets
    for step in reversed(range(len(readings[0].trace))):
        heard, gates, bent, query, attention = (
            _at_step(readings, step, name)
            for name in ("heard", "gates", "bent", "query", "attention")
        )
        cell = _at_step(readings, step - 1, "cell") if step else torch.zeros_like(bent)
        d_reading = d_reading * filled
        d_match, d_sums, d_heard, d_cell = steps.backward(
            d_reading, d_query, d_cell, shared, own, across, weight, cell, gates, bent, attention
        )
        for left, right in ((d_match, query), (attention, d_reading)):
            d_shared.baddbmm_(
                left[..., :z].reshape(g, states, z).transpose(1, 2), right.reshape(g, states, h)
            )
            asked.append(left[..., z:])
            answered.append(right)
        d_sums = d_sums.view(g, states, 4 * h)
        d_weight.baddbmm_(heard.view(g, states, 2 * h).transpose(1, 2), d_sums)
        d_bias += d_sums.sum(dim=1, keepdim=True)
        d_query, d_reading = d_heard.split(h, dim=3)
    asked.append(share[..., z:])
    answered.append(d_reading)
    d_shared.baddbmm_(
        share[..., :z].reshape(g, states, z).transpose(1, 2), d_reading.reshape(g, states, h)
    )
    left, right = (torch.cat(part, dim=2).flatten(0, 1) for part in (asked, answered))
    d_own = torch.bmm(left.transpose(1, 2), right)
    return d_shared, d_own.view(memory.own.shape), d_weight, d_bias


def _at_step(readings: Sequence[SetReading], step: int, name: str) -> Tensor:
    """One part of the trace, the sets of a unit side by side. (g, n, t, ·)"""
    return torch.stack([getattr(reading.trace[step], name) for reading in readings], dim=2)
