"""Stage `roll_out_front`: every policy of a front on every judged unit, each decision logged."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.agents.diagnosis_policies import DiagnosisPolicies
from frugal.contracts import DataError, Streams
from frugal.environments.rollouts import roll_out
from frugal.models.state_imputers import imputer_of
from frugal.stages._diagnosis_frames import (
    JUDGED,
    Judged,
    divided,
    full_cost,
    rollout_frames,
    rows_of,
    run_frames,
    task_of,
)
from frugal.stages._diagnosis_states import (
    completed_states,
    solutions_of,
    training_settings,
)


def roll_out_front(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    encoder: Mapping[str, np.ndarray],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    **policies: Mapping[str, np.ndarray],
) -> dict[str, pd.DataFrame]:
    """Run the deterministic policies from the free block on [diagnosis, sec. 6].

    `policies` holds the groups in their order. A decision's `belief` is the probability of illness
    by the policy's own classifier at that state; an outcome's `probability` is the policy's share
    of the positive diagnosis among its two.

    Raises:
        DataError: other groups are given than the settings name.
    """
    groups = settings["groups"]
    if len(policies) != len(groups):
        raise DataError(f"there are {len(groups)} groups of policies, {len(policies)} were given")
    data, part = divided(table, catalogue, streams)
    world = task_of(data, terminals=len(data.classes))
    imputer = imputer_of(encoder, columns=len(data.columns))
    how = training_settings(settings["training"], "f1")
    solutions, outcomes, decisions = [], [], []
    for pairs in groups:
        solutions += solutions_of(settings["method"], pairs)
    for split in JUDGED:
        rows = rows_of(part, split)
        states = completed_states(imputer, world.take(rows), memory_gib=settings["memory_gib"])
        here = Judged.of(data, world, rows, split, streams)
        given = zip(groups, policies.values(), strict=True)
        for pairs, weights in progress(list(given), desc=split):
            group = solutions_of(settings["method"], pairs)
            learned = DiagnosisPolicies(weights, how)
            learned.require_task(world, columns=len(data.columns), count=len(group))
            episodes = roll_out(
                learned, here.world, uniforms=here.first_of_equals, states=states, beliefs=True
            )
            frames = rollout_frames(group, here, episodes)
            outcomes.append(frames[0])
            decisions.append(frames[1])
    whole = {name: float(full_cost(data, world)[rows_of(part, name)].mean()) for name in JUDGED}
    return run_frames(solutions, outcomes, decisions, whole)
