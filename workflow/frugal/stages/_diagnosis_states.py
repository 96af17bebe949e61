"""What the stages of `diagnosis` share on states: stored encoders, completed rows, reward pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frugal.agents.reading import completed_states
from frugal.contracts import DataError, Table, World
from frugal.environments.encoders import TabulatedEncoder, tabulate
from frugal.environments.rewards import DiagnosisReward, release_reward
from frugal.models.imputers import Imputer
from frugal.stages._diagnosis_frames import Solution, task_of


def kept_states(imputer: Imputer, world: World, *, memory_gib: float) -> TabulatedEncoder:
    """Completed rows, standardised, of the units of a world at every set of panels.

    Raises:
        DataError: the table takes more memory than is allowed.
    """
    states = completed_states(imputer, world)
    return tabulate(states, len(world), world.panels, max_gib=memory_gib)


def scaled_task(data: Table) -> tuple[World, float]:
    """The world of a table with panel costs of mean 1, and the mean that they were divided by.

    Raises:
        DataError: every panel costs nothing.
    """
    world = task_of(data, terminals=len(data.classes))
    mean = float(world.action_cost.mean())
    if not mean > 0:
        raise DataError("no panel has a cost, so that there is nothing to weigh against errors")
    return replace(world, action_cost=world.action_cost / mean), mean


def rewards_of(pairs: Sequence[Sequence[Any]]) -> DiagnosisReward:
    """Rewards of [pair, ratio, penalty] triples, costs being of mean 1  [diagnosis, thm 4.1].

    The release's reward divided by its penalty W: 1 for a false alarm, λ for a missed ill unit,
    −ρ = 1/W for a mean panel. Networks of one group then learn amounts of one size.
    """
    table = np.array([pair[1:] for pair in pairs], dtype=np.float64)
    reward = release_reward(table[:, 0], table[:, 1])
    scale = (1.0 / table[:, 1]).astype(np.float32)
    return DiagnosisReward(reward.matrix * scale[:, None, None], reward.cost_weight * scale)


def solutions_of(method: str, pairs: Sequence[Sequence[Any]]) -> list[Solution]:
    """The solutions of [pair, ratio, penalty] triples: λ = ratio, ρ = −1/penalty."""
    return [Solution(method, int(k), float(r), -1.0 / float(w), "") for k, r, w in pairs]


def training_settings(settings: Mapping[str, Any], criterion: str) -> dict[str, Any]:
    """The block that training takes."""
    return dict(settings) | {"criterion": criterion}
