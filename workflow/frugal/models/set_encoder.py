"""The set encoder of DADI's appendix B, for many encoders in lock-step.

An LSTM without an input of its own reads the memory vectors of a set's members by attention, a fixed
number of times. The gradient of the reading is written out, so that a rollout's forward passes
serve the update as well. Must not know what is predicted from an encoding.

Shapes: g encoders, n units, t sets per unit, z shared tokens, s slots, h width of a memory vector.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from frugal.models.token_memory import Memory

OUTSIDE = 1e9  # subtracted from the attention of what is not in the set; exp(−1e9) is exactly 0


@dataclass(frozen=True, eq=False)
class SetReading:
    """Everything that reading sets took, kept for the gradient; tuples have one entry per step.

    Attributes:
        share: 1/size for the set's members, else 0. (g, n, t, z + s)
        filled: 1 unless the set is empty. (g, n, t, 1)
        heard: [query, reading] that enters a step. (g, n, t, 2h)
        gates: input, forget and output gate and candidate, after their functions. (g, n, t, 4h)
        cell: the LSTM's cell after a step. (g, n, t, h)
        query: that asks the memory in a step. (g, n, t, h)
        attention: of a step; arbitrary where the set is empty. (g, n, t, z + s)
        encoding: the last reading vector. (g, n, t, h)
    """

    share: Tensor
    filled: Tensor
    heard: tuple[Tensor, ...]
    gates: tuple[Tensor, ...]
    cell: tuple[Tensor, ...]
    query: tuple[Tensor, ...]
    attention: tuple[Tensor, ...]
    encoding: Tensor


def step_forward(
    shared: Tensor, own: Tensor, outside: tuple[Tensor, Tensor], filled: Tensor,
    heard: Tensor, cell: Tensor, weight: Tensor, bias: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """One processing step, q = LSTM([q r]), a = softmax(mᵀq), r = Σ a m  [dadi, eq. 6].

    Returns:
        Gates, cell, query, attention and reading of one set per unit and encoder.
    """
    h, z = cell.shape[2], shared.shape[1]
    sums = torch.baddbmm(bias, heard, weight)
    gates = torch.cat((torch.sigmoid(sums[:, :, : 3 * h]), torch.tanh(sums[:, :, 3 * h :])), dim=2)
    let_in, keep, let_out, candidate = gates.split(h, dim=2)
    cell = keep * cell + let_in * candidate
    query = let_out * torch.tanh(cell)
    match_own = (own * query.unsqueeze(2)).sum(dim=3) + outside[1]
    match_shared = torch.baddbmm(outside[0], query, shared.transpose(1, 2))
    attention = torch.softmax(torch.cat((match_shared, match_own), dim=2), dim=2)
    reading = (own * attention[:, :, z:].unsqueeze(3)).sum(dim=2)
    reading = torch.baddbmm(reading, attention[:, :, :z], shared) * filled
    return gates, cell, query, attention, reading


def step_backward(
    d_reading: Tensor, d_query: Tensor, d_cell: Tensor, shared: Tensor, own: Tensor,
    gates: Tensor, cell_before: Tensor, cell: Tensor, attention: Tensor, weight: Tensor,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradient of `step_forward`, for t sets per unit at once.

    Args:
        d_reading: gradient by the reading that leaves the step, times `filled`. (g, n, t, h)
        d_query: gradient by the query, from later steps. (g, n, t, h)
        d_cell: gradient by the cell, from later steps. (g, n, t, h)
        shared, own, gates, cell_before, cell, attention, weight: as in the step itself.

    Returns:
        Gradients by the attention's logits, the gates' sums, what was heard, and the cell before.
    """
    g, n, t, h = d_query.shape
    z, s = shared.shape[1], own.shape[2]
    by_shared = torch.bmm(d_reading.view(g, n * t, h), shared.transpose(1, 2)).view(g, n, t, z)
    units = own.view(g * n, s, h)
    by_own = torch.bmm(d_reading.view(g * n, t, h), units.transpose(1, 2)).view(g, n, t, s)
    d_match = torch.cat((by_shared, by_own), dim=3)
    d_match = attention * (d_match - (attention * d_match).sum(dim=3, keepdim=True))
    d_query = d_query + torch.bmm(d_match[..., :z].reshape(g, n * t, z), shared).view(g, n, t, h)
    d_query = d_query + torch.bmm(d_match[..., z:].reshape(g * n, t, s), units).view(g, n, t, h)
    let_in, keep, let_out, candidate = gates.split(h, dim=3)
    bent = torch.tanh(cell)
    d_cell = d_cell + d_query * let_out * (1 - bent * bent)
    d_sums = torch.cat(
        (
            d_cell * candidate * let_in * (1 - let_in),
            d_cell * cell_before * keep * (1 - keep),
            d_query * bent * let_out * (1 - let_out),
            d_cell * let_in * (1 - candidate * candidate),
        ),
        dim=3,
    )
    d_heard = torch.bmm(d_sums.view(g, n * t, 4 * h), weight.transpose(1, 2)).view(g, n, t, 2 * h)
    return d_match, d_sums, d_heard, d_cell * keep


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
        All that the gradient needs, with t = 1.
    """
    shared, own = memory.shared.detach(), memory.own.detach()
    weight, bias = named[prefix + "cell"].detach(), named[prefix + "cell_bias"].detach()
    in_set = torch.cat(member, dim=2)
    size = in_set.sum(dim=2, keepdim=True)
    share, filled = in_set / size.clamp(min=1), (size > 0).to(size.dtype)
    outside = ((member[0] - 1) * OUTSIDE, (member[1] - 1) * OUTSIDE)
    z = shared.shape[1]
    reading = (own * share[:, :, z:].unsqueeze(3)).sum(dim=2)
    reading = torch.baddbmm(reading, share[:, :, :z], shared)
    query = cell = torch.zeros_like(reading)
    kept = []
    for _ in range(processing_steps):
        heard = torch.cat((query, reading), dim=2)
        gates, cell, query, attention, reading = steps.forward(
            shared, own, outside, filled, heard, cell, weight, bias
        )
        kept.append([part.unsqueeze(2) for part in (heard, gates, cell, query, attention)])
    return SetReading(
        share.unsqueeze(2), filled.unsqueeze(2), *zip(*kept, strict=True), reading.unsqueeze(2)
    )


def join_readings(readings: Sequence[SetReading]) -> SetReading:
    """Readings of several sets of the same units, side by side on the axis t."""

    def joined(name: str) -> Any:
        parts = [getattr(reading, name) for reading in readings]
        if isinstance(parts[0], Tensor):
            return torch.cat(parts, dim=2)
        return tuple(torch.cat(step, dim=2) for step in zip(*parts, strict=True))

    return SetReading(**{field.name: joined(field.name) for field in fields(SetReading)})


def encode(
    named: Mapping[str, Tensor], prefix: str, memory: Memory, reading: SetReading, *, steps: Steps
) -> Float[Tensor, "g n t h"]:
    """The encodings of sets that were read, as part of a graph: nothing is computed twice."""
    return _Encode.apply(
        memory.shared, memory.own, named[prefix + "cell"], named[prefix + "cell_bias"],
        reading, steps,
    )  # fmt: skip


class _Encode(torch.autograd.Function):
    """Encodings that `read_sets` found, with the gradient written out over all steps."""

    @staticmethod
    def forward(ctx: Any, shared, own, weight, bias, reading: SetReading, steps: Steps) -> Tensor:
        ctx.save_for_backward(shared, own, weight)
        ctx.reading, ctx.steps = reading, steps
        return reading.encoding.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (
            *_read_backward(gradients[0], *ctx.saved_tensors, ctx.reading, ctx.steps),
            None,
            None,
        )


def _read_backward(
    d_encoding: Tensor, shared: Tensor, own: Tensor, weight: Tensor, kept: SetReading, steps: Steps
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Gradients by shared and own memory, the cell's weight and bias."""
    g, n, t, h = d_encoding.shape
    z = shared.shape[1]
    d_shared, d_weight = torch.zeros_like(shared), torch.zeros_like(weight)
    d_bias = torch.zeros(g, 1, 4 * h, dtype=weight.dtype)
    d_reading, d_query = d_encoding, torch.zeros_like(d_encoding)
    d_cell = torch.zeros_like(d_encoding)
    asked, answered = [], []  # own tokens' gradient is Σ askedᵀ answered, over steps and sets
    for step in reversed(range(len(kept.gates))):
        d_reading = d_reading * kept.filled
        before = kept.cell[step - 1] if step else torch.zeros_like(d_cell)
        d_match, d_sums, d_heard, d_cell = steps.backward(
            d_reading, d_query, d_cell, shared, own,
            kept.gates[step], before, kept.cell[step], kept.attention[step], weight,
        )  # fmt: skip
        for left, right in ((d_match, kept.query[step]), (kept.attention[step], d_reading)):
            d_shared.baddbmm_(
                left[..., :z].reshape(g, n * t, z).transpose(1, 2), right.view(g, n * t, h)
            )
            asked.append(left[..., z:])
            answered.append(right)
        d_sums = d_sums.view(g, n * t, 4 * h)
        d_weight.baddbmm_(kept.heard[step].view(g, n * t, 2 * h).transpose(1, 2), d_sums)
        d_bias += d_sums.sum(dim=1, keepdim=True)
        d_query, d_reading = d_heard.split(h, dim=3)
    d_shared.baddbmm_(
        kept.share[..., :z].reshape(g, n * t, z).transpose(1, 2), d_reading.reshape(g, n * t, h)
    )
    asked.append(kept.share[..., z:])
    answered.append(d_reading)
    left, right = (torch.cat(part, dim=2).flatten(0, 1) for part in (asked, answered))
    d_own = torch.bmm(left.transpose(1, 2), right).view(own.shape)
    return d_shared, d_own, d_weight, d_bias
