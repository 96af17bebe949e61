"""The set encoder of DADI's appendix B, for many encoders in lock-step.

An LSTM without an input of its own reads the memory vectors of a set's members by attention, a
fixed number of times. The gradient of the reading is written out, so a rollout's forward
passes serve the update as well. Must not know the predictions from an encoding.

Shapes: g encoders, n units, t sets per unit, z shared tokens, s slots, h width of a memory vector.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from frugal.studies.dadi.token_memory import Memory

OUTSIDE = 1e9  # subtracted from the attention of what is not in the set; exp(−1e9) is exactly 0

_sigmoid_backward = torch.ops.aten.sigmoid_backward
_tanh_backward = torch.ops.aten.tanh_backward
_softmax_backward = torch.ops.aten._softmax_backward_data


class StepTrace(NamedTuple):
    """Intermediate results of a processing step for its gradient, for one set per unit.

    Attributes:
        heard: [query, reading] that enters the step. (g, n, 2h)
        gates: input, forget and output gate and candidate, after their functions. (g, n, 4h)
        cell: the LSTM's cell after the step. (g, n, h)
        bent: tanh of the cell. (g, n, h)
        query: that reads the memory. (g, n, h)
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


def cell_forward(sums: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """An LSTM's cell: input, forget and output gate, candidate; then cell, its tanh, and query.

    tanh x is computed as 2 σ(2x) − 1, several times faster here and right to the last digits of 1.

    Args:
        sums: arguments of the gates' functions. (…, 4h)
        cell: of the step before. (…, h)

    Returns:
        Gates (…, 4h), cell, tanh of the cell and query (…, h).
    """
    let_in, keep, let_out, candidate = sums.split(cell.shape[-1], dim=-1)
    let_in, keep, let_out = torch.sigmoid(let_in), torch.sigmoid(keep), torch.sigmoid(let_out)
    candidate = torch.sigmoid(2 * candidate) * 2 - 1
    cell = keep * cell + let_in * candidate
    bent = torch.sigmoid(2 * cell) * 2 - 1
    return torch.cat((let_in, keep, let_out, candidate), dim=-1), cell, bent, let_out * bent


def cell_forward_in_place(sums: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The same function in the place of its sums: as fast as it gets without a compiler."""
    h = cell.shape[-1]
    sums[..., 3 * h :].mul_(2)
    gates = sums.sigmoid_()
    let_in, keep, let_out, candidate = gates.split(h, dim=-1)
    candidate.mul_(2).sub_(1)
    cell = torch.addcmul(keep * cell, let_in, candidate)
    bent = (2 * cell).sigmoid_().mul_(2).sub_(1)
    return gates, cell, bent, let_out * bent


def cell_backward(
    d_query: Tensor, d_cell: Tensor, gates: Tensor, cell_before: Tensor, bent: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradient of `cell_forward` by the sums (…, 4h) and the cell before (…, h)."""
    let_in, keep, let_out, candidate = gates.split(bent.shape[-1], dim=-1)
    d_cell = d_cell + _tanh_backward(d_query * let_out, bent)
    d_sums = (
        _sigmoid_backward(d_cell * candidate, let_in),
        _sigmoid_backward(d_cell * cell_before, keep),
        _sigmoid_backward(d_query * bent, let_out),
        _tanh_backward(d_cell * let_in, candidate),
    )
    return torch.cat(d_sums, dim=-1), d_cell * keep


@dataclass(frozen=True)
class EncoderSteps:
    """The two directions of the LSTM's cell, as written above or compiled.

    Attributes:
        forward: as `cell_forward`; may overwrite the sums.
        backward: as `cell_backward`.
    """

    forward: Callable[..., Any] = cell_forward_in_place
    backward: Callable[..., Any] = cell_backward


def compiled_steps() -> EncoderSteps:
    """Both directions through torch.compile; the first calls take seconds and need a C compiler.

    Only the cells are compiled: they are chains of elementwise functions, which become one pass
    over memory. Products of matrices and softmax are no faster for it.
    """
    return EncoderSteps(
        torch.compile(cell_forward, dynamic=False), torch.compile(cell_backward, dynamic=False)
    )


def _attend(
    query: Tensor, shared: Tensor, private: Tensor, outside: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    """Attention a = softmax(mᵀq) and reading r = Σ a m of one set per unit  [dadi, eq. 6].

    Queries (g, n, h); memory of shared (g, z, h) and of own tokens (g n, s, h); `outside` is 0 for
    members, −1e9 for the rest (g, n, z), (g, n, s). Returns (g, n, z + s) and (g, n, h).
    """
    (g, n, h), z, s = query.shape, shared.shape[1], private.shape[1]
    match_shared = torch.baddbmm(outside[0], query, shared.transpose(1, 2))
    match_own = (
        torch.bmm(query.view(g * n, 1, h), private.transpose(1, 2)).view(g, n, s) + outside[1]
    )
    attention = torch.softmax(torch.cat((match_shared, match_own), dim=2), dim=2)
    reading = torch.bmm(attention[:, :, z:].reshape(g * n, 1, s), private).view(g, n, h)
    return attention, torch.baddbmm(reading, attention[:, :, :z], shared)


def _attend_backward(
    d_reading: Tensor, shared: Tensor, private: Tensor, attention: Tensor
) -> tuple[Tensor, Tensor]:
    """Gradient of `_attend` by logits (g, n, t, z + s) and query (g, n, t, h), t sets per unit."""
    (g, n, t, h), z, s = d_reading.shape, shared.shape[1], private.shape[1]
    by_shared = torch.bmm(d_reading.reshape(g, n * t, h), shared.transpose(1, 2))
    by_own = torch.bmm(d_reading.reshape(g * n, t, h), private.transpose(1, 2))
    by_token = torch.cat((by_shared.view(g, n, t, z), by_own.view(g, n, t, s)), dim=3)
    d_match = _softmax_backward(by_token, attention, 3, attention.dtype)
    d_query = torch.bmm(d_match.view(g, n * t, z + s)[:, :, :z], shared).view(g * n, t, h)
    d_query.baddbmm_(d_match.view(g * n, t, z + s)[:, :, z:], private)
    return d_match, d_query.view(g, n, t, h)


def read_sets(
    named: Mapping[str, Tensor],
    prefix: str,
    memory: Memory,
    member: tuple[Tensor, Tensor],
    *,
    processing_steps: int,
    steps: EncoderSteps,
) -> SetReading:
    """Read one set per unit in each encoder, without a graph  [dadi, app. B].

        r₀ = mean of the memory,  q₀ = LSTM([0, r₀]),  qₜ₊₁ = LSTM([qₜ, rₜ])

    The encoding is the reading vector after the last step; that of the empty set is 0.

    Args:
        named: the encoders' parameters, encoders on the leading axis.
        prefix: of their names.
        memory: memory vectors of the units' tokens.
        member: 1 where a shared token (k, n, z), where a unit's own token (k, n, s) is in the set
            of a learner's unit; encoders 0 … k − 1, k … 2k − 1, … read the same sets.
        processing_steps: how often the memory is read.
        steps: how a processing step is computed.

    Returns:
        The encodings and all that the gradient needs.
    """
    shared, private = memory.flat()
    weight, bias = named[prefix + "cell"].detach(), named[prefix + "cell_bias"].detach()
    (g, n, s, h), z = memory.private.shape, shared.shape[1]
    in_set = torch.cat(member, dim=2)
    size = in_set.sum(dim=2, keepdim=True)
    share, filled, outside_shared, outside_own = (
        part.repeat(g // len(in_set), 1, 1)
        for part in (
            in_set / size.clamp(min=1),
            (size > 0).to(size.dtype),
            (member[0] - 1) * OUTSIDE,
            (member[1] - 1) * OUTSIDE,
        )
    )
    outside = (outside_shared, outside_own)
    reading = torch.bmm(share[:, :, z:].reshape(g * n, 1, s), private).view(g, n, h)
    reading = torch.baddbmm(reading, share[:, :, :z], shared)
    query = cell = torch.zeros_like(reading)
    trace = []
    for _ in range(processing_steps):
        heard = torch.cat((query, reading), dim=2)
        gates, cell, bent, query = steps.forward(torch.baddbmm(bias, heard, weight), cell)
        attention, reading = _attend(query, shared, private, outside)
        reading *= filled
        trace.append(StepTrace(heard, gates, cell, bent, query, attention))
    return SetReading(share, filled, trace, reading)


def encode(
    named: Mapping[str, Tensor],
    prefix: str,
    memory: Memory,
    readings: Sequence[SetReading],
    *,
    steps: EncoderSteps,
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
        memory.shared,
        memory.private,
        named[prefix + "cell"],
        named[prefix + "cell_bias"],
        memory,
        readings,
        steps,
    )


class _Encode(torch.autograd.Function):
    """Encodings that `read_sets` found, with the gradient written out over all steps."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        ctx.save_for_backward(inputs[2])
        ctx.memory, ctx.readings, ctx.steps = inputs[4:]
        return torch.stack([reading.encoding for reading in ctx.readings], dim=2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        (weight,) = ctx.saved_tensors
        d_encoding = gradients[0].contiguous()
        (g, n, t, h), (shared, private) = d_encoding.shape, ctx.memory.flat()
        z, states = shared.shape[1], n * t
        filled = torch.stack([reading.filled for reading in ctx.readings], dim=2)
        share = torch.stack([reading.share for reading in ctx.readings], dim=2)
        d_shared, d_own, d_weight = (torch.zeros_like(x) for x in (shared, private, weight))
        d_bias = weight.new_zeros(g, 1, 4 * h)
        d_reading, d_query, d_cell = d_encoding, *torch.zeros(2, g, n, t, h, dtype=weight.dtype)

        def reach_memory(coefficients: Tensor, answered: Tensor) -> None:
            """The memory's gradient is Σ askedᵀ answered, over steps, sets and both directions."""
            coefficients, rows = coefficients.reshape(g * n, t, -1), answered.reshape(g * n, t, h)
            d_own.baddbmm_(coefficients[:, :, z:].transpose(1, 2), rows)
            by_encoder = coefficients.view(g, states, -1)[..., :z].transpose(1, 2)
            d_shared.baddbmm_(by_encoder, rows.view(g, states, h))

        for step in reversed(range(len(ctx.readings[0].trace))):
            heard, gates, bent, query, attention = (
                _at_step(ctx.readings, step, name)
                for name in ("heard", "gates", "bent", "query", "attention")
            )
            cell = _at_step(ctx.readings, step - 1, "cell") if step else torch.zeros_like(bent)
            d_reading = d_reading * filled
            d_match, by_memory = _attend_backward(d_reading, shared, private, attention)
            d_query = by_memory.add_(d_query)
            d_sums, d_cell = ctx.steps.backward(d_query, d_cell, gates, cell, bent)
            reach_memory(d_match, query)
            reach_memory(attention, d_reading)
            d_sums = d_sums.view(g, states, 4 * h)
            d_weight.baddbmm_(heard.view(g, states, 2 * h).transpose(1, 2), d_sums)
            d_bias += d_sums.sum(dim=1, keepdim=True)
            d_heard = torch.bmm(d_sums, weight.transpose(1, 2)).view(g, n, t, 2 * h)
            d_query, d_reading = d_heard.split(h, dim=3)
        reach_memory(share, d_reading)
        by_own = d_own.view(ctx.memory.private.shape)
        return d_shared, by_own, d_weight, d_bias, None, None, None


def _at_step(readings: Sequence[SetReading], step: int, name: str) -> Tensor:
    """One part of the trace, the sets of a unit side by side. (g, n, t, ·)"""
    return torch.stack([getattr(reading.trace[step], name) for reading in readings], dim=2)
