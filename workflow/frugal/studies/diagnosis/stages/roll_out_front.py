"""Stage `roll_out_front`: every policy of a front on every judged unit, each decision logged."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.policies.diagnosis import DiagnosisPolicies
from frugal.acquire.policies.sm_ddpo import ENCODER
from frugal.acquire.registry import load_policy
from frugal.acquire.rollouts import roll_out
from frugal.core.errors import DataError
from frugal.core.stored import StoredArrays, under
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.studies.diagnosis.frames import (
    JUDGED,
    Judged,
    divided,
    full_cost,
    rollout_frames,
    rows_of,
    run_frames,
    task_of,
)
from frugal.studies.diagnosis.states import require_encoder, solutions_of, states_of


def roll_out_front(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    states: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    **policies: StoredArrays,
) -> dict[str, pd.DataFrame]:
    """Run the deterministic policies from the free block on [diagnosis, sec. 6].

    `policies` holds the groups in their order. A decision's `belief` is the probability of illness
    by the policy's own classifier at that state; an outcome's `probability` is the policy's share
    of the positive diagnosis among its two.

    Raises:
        DataError: other groups are given than the settings name, or the states were completed by
            another encoder than theirs.
    """
    groups = settings["groups"]
    if len(policies) != len(groups):
        raise DataError(f"there are {len(groups)} groups of policies, {len(policies)} were given")
    data, part = divided(table, catalogue, streams)
    world = task_of(data, terminals=len(data.classes))
    learned = [_diagnosis_policies(stored, data) for stored in policies.values()]
    for stored in policies.values():
        require_encoder(states, under(stored, ENCODER), f"the stored policy {stored.source}")
    kept = states_of(states, data, part)
    solutions, outcomes, decisions = [], [], []
    for pairs, policy in zip(groups, learned, strict=True):
        solutions += solutions_of(settings["method"], pairs)
        policy.require_task(world, columns=len(data.columns), count=len(pairs))
    for split in JUDGED:
        here = Judged.of(data, world, rows_of(part, split), split, streams)
        given = list(zip(groups, learned, strict=True))
        for pairs, policy in progress(given, desc=split):
            episodes = roll_out(
                policy, here.world, uniforms=here.first_of_equals, beliefs=True,
                states=policy.readings(kept[split], here.world),
            )  # fmt: skip
            frames = rollout_frames(solutions_of(settings["method"], pairs), here, episodes)
            outcomes.append(frames[0])
            decisions.append(frames[1])
    whole = {name: float(full_cost(data, world)[rows_of(part, name)].mean()) for name in JUDGED}
    return run_frames(solutions, outcomes, decisions, whole)


def _diagnosis_policies(stored: StoredArrays, data: Table) -> DiagnosisPolicies:
    """The policies of one group, with the encoder that they were trained behind.

    Raises:
        DataError: the file holds another kind of agent, or one of another table.
    """
    policy, layout = load_policy(stored)
    if not isinstance(policy, DiagnosisPolicies):
        raise DataError(f"{stored.source} holds no policies of SM-DDPO")
    layout.require_same(data, f"the stored policy {stored.source}")
    return policy
