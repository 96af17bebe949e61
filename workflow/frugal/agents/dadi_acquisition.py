"""What DADI's networks say about sets, and sets that they acquire greedily: without a graph.

Shared by evaluation during training and by trained policies. Shapes: k learners, n units, a panels;
`known` has a + 1 columns, the last 1, for columns that are free. Must not know rewards.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float, Int
from torch import Tensor

from frugal.agents.dadi_losses import allowed_decisions
from frugal.agents.dadi_networks import ENCODER, class_logits, decision_values, policy_parameters
from frugal.models.set_encoder import Steps, read_sets
from frugal.models.token_memory import Memory, UnitTable, remember

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


def greedy_sets(
    named: Named, units: UnitTable, row: Int[Tensor, "k n"], *, panels: int, processing_steps: int
) -> tuple[Float[Tensor, "k n a1"], Int[Tensor, "k n a1"], Float[Tensor, "k n a1"]]:
    """Acquire by the largest Q until it is "stop"; of equal values the first panel.

    Args:
        named: parameters of k learners.
        units: the table.
        row: units, by learner.
        panels: number of panels a.
        processing_steps: of the encoder.

    Returns:
        What is known in the end, the decisions ("stop" = a, padded with −1), and their values
        (padded with NaN).
    """
    k, n = row.shape
    policy = policy_parameters(named)
    with torch.no_grad():
        memory = remember(policy, ENCODER, units.tokens(row))
    holdings = units.holdings(row)
    known = torch.zeros(k, n, panels + 1)
    known[..., -1] = 1
    decisions = torch.full((k, n, panels + 1), -1)
    values = torch.full((k, n, panels + 1), torch.nan)
    going = torch.ones(k, n, dtype=torch.bool)
    for step in range(panels + 1):
        member = units.members(holdings, known)
        q = policy_values(policy, memory, member, processing_steps=processing_steps)
        best, decision = q.masked_fill(~allowed_decisions(known), -torch.inf).max(dim=2)
        decisions[..., step] = torch.where(going, decision, -1)
        values[..., step] = torch.where(going, best, torch.nan)
        going &= decision < panels
        known[going] = known[going].scatter(1, decision[going][:, None], 1.0)
        if not going.any():
            break
    return known, decisions, values


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
