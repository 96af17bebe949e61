"""Stage `roll_out_front`: every policy of a front on every judged unit, each decision logged."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.agents.diagnosis_policies import DiagnosisPolicies, ImputedStates
from frugal.agents.training_scores import visited_codes
from frugal.contracts import AcquisitionTask, DataError, Streams
from frugal.environments.diagnosis_rollouts import Outcomes, roll_out_learners
from frugal.environments.encoders import TabulatedEncoder
from frugal.environments.state_codes import sets_of
from frugal.stages._diagnosis_frames import (
    JUDGED,
    Solution,
    divided,
    full_cost,
    rollout_frames,
    rows_of,
    run_frames,
    task_of,
)
from frugal.stages._diagnosis_states import (
    completed_states,
    imputer_of,
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
    task = task_of(data, terminals=len(data.classes))
    imputer, how = imputer_of(encoder, data), training_settings(settings["training"], "f1")
    solutions, outcomes, decisions = [], [], []
    for pairs in groups:
        solutions += solutions_of(settings["method"], pairs)
    for split in JUDGED:
        rows = rows_of(part, split)
        states = completed_states(imputer, data, rows, memory_gib=settings["memory_gib"])
        given = zip(groups, policies.values(), strict=True)
        for pairs, weights in progress(list(given), desc=split):
            group = solutions_of(settings["method"], pairs)
            learned = DiagnosisPolicies(weights, how)
            learned.require_task(task, columns=len(data.columns), count=len(group))
            frames = _rolled_out(
                learned, group, split, task.take(rows), states, data.row_id[rows]
            )  # fmt: skip
            outcomes.append(frames[0])
            decisions.append(frames[1])
    whole = {name: float(full_cost(data, task)[rows_of(part, name)].mean()) for name in JUDGED}
    return run_frames(solutions, outcomes, decisions, whole)


def _rolled_out(
    policies: DiagnosisPolicies,
    solutions: list[Solution],
    split: str,
    task: AcquisitionTask,
    states: TabulatedEncoder,
    row_id: np.ndarray,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Outcomes and decisions of one group on one split."""
    log = roll_out_learners(
        policies.act,
        task,
        ImputedStates(states, task.panels),
        learners=policies.count,
        uniforms=None,
    )
    belief = _beliefs(policies, log, task.panels, states)
    return rollout_frames(solutions, split, row_id, task.label, log, belief=belief)


def _beliefs(
    policies: DiagnosisPolicies, log: Outcomes, panels: int, states: TabulatedEncoder
) -> np.ndarray:
    """Probability of illness by each policy's classifier at the state of each decision. (m,)"""
    known = sets_of(visited_codes(log, panels), panels)
    count = np.bincount(log.learner, minlength=policies.count)
    place = np.arange(len(known)) - (count.cumsum() - count)[log.learner]
    padded = np.zeros((policies.count, count.max(), policies.columns), dtype=np.float32)
    padded[log.learner, place] = states.encode(log.row, known)
    return policies.beliefs(padded)[log.learner, place, 1]
