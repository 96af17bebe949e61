"""What DADI's networks say about sets, without a graph.

Shared by evaluation during training and by trained policies. Shapes: k learners, n units, a panels;
`known` has a + 1 columns, the last 1, for columns that are free. Must not know rewards.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

from frugal.acquire.train.dadi_networks import (
    ENCODER,
    class_logits,
    decision_values,
    policy_parameters,
)
from frugal.learn.set_encoder import Steps, read_sets
from frugal.learn.token_memory import Memory, UnitTable, remember

Named = Mapping[str, Tensor]


def policy_values(
    policy: Named, memory: Memory, member: tuple[Tensor, Tensor], *, processing_steps: int
) -> Float[Tensor, "k n a1"]:
    """Q of every decision at the given sets, "stop" last.

    Args:
        policy: of `policy_parameters`.
        memory: of the units, in the classifiers' encoders.
        member: tokens in each set.
        processing_steps: of the encoder.
    """
    with torch.no_grad():
        reading = read_sets(
            policy, ENCODER, memory, member, processing_steps=processing_steps, steps=Steps()
        )
        return decision_values(policy, reading.encoding)


def values_at_sets(
    named: Named,
    units: UnitTable,
    row: Int[Tensor, "k n"],
    known: Float[Tensor, "k n a1"],
    *,
    processing_steps: int,
) -> Float[Tensor, "k n a1"]:
    """Q of every decision for the given units and sets."""
    policy = policy_parameters(named)
    with torch.no_grad():
        memory = remember(policy, ENCODER, units.tokens(row))
    member = units.members(units.holdings(row), known)
    return policy_values(policy, memory, member, processing_steps=processing_steps)


def logits_at_sets(
    named: Named,
    units: UnitTable,
    row: Int[Tensor, "k n"],
    known: Float[Tensor, "k n a1"],
    label: Float[Tensor, "k n"] | None,
    *,
    processing_steps: int,
) -> tuple[Float[Tensor, "k n"], Float[Tensor, "k n"]]:
    """Log-odds of label and sensitive attribute at the given sets, by classifier and adversary."""
    with torch.no_grad():
        memory = remember(named, ENCODER, units.tokens(row))
        member = units.members(units.holdings(row), known)
        reading = read_sets(
            named, ENCODER, memory, member, processing_steps=processing_steps, steps=Steps()
        )
        logits = class_logits(named, reading.encoding, label)
    return logits[: len(row)], logits[len(row) :]
