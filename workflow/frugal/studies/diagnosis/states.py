"""What the stages of `diagnosis` share on states: stored encoders, completed rows, reward pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frugal.acquire.encoders import CallableEncoder, TabulatedEncoder
from frugal.acquire.reading import completed_states
from frugal.acquire.rewards import DiagnosisReward, release_reward
from frugal.core.errors import DataError
from frugal.core.stored import Array, Stored, under
from frugal.core.table import Table
from frugal.core.world import World
from frugal.learn.imputer_kinds import imputer_of
from frugal.studies.diagnosis.frames import JUDGED, Solution, rows_of, task_of

PARTS = ("agent", *JUDGED)
STATES, ENCODER = "states.", "encoder."  # what begins the names of arrays in a file of states


def of_encoder(encoder: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """An encoder's arrays as a file of states names them."""
    return {ENCODER + name: array for name, array in encoder.items()}


def states_of(
    stored: Mapping[str, np.ndarray], data: Table, part: np.ndarray
) -> dict[str, TabulatedEncoder | CallableEncoder]:
    """Part → completed rows of its units at every set of panels, as `tabulate_states` wrote them.

    Where it wrote none, for they would take too much memory, rows are completed when asked for.

    Raises:
        DataError: the file is another, or one of another table.
    """
    if not under(stored, STATES):
        imputer = imputer_of(under(stored, ENCODER), columns=len(data.columns))
        world = task_of(data, terminals=len(data.classes))
        return {name: completed_states(imputer, world.take(rows_of(part, name))) for name in PARTS}
    found = Stored("table of states", under(stored, STATES))
    rows = {name: len(rows_of(part, name)) for name in PARTS}
    wide = (2 ** len(data.actions), len(data.columns))
    found.require({name: Array("float32", (count, *wide)) for name, count in rows.items()})
    return {name: TabulatedEncoder(found.arrays[name]) for name in PARTS}


def require_encoder(
    stored: Mapping[str, np.ndarray], encoder: Mapping[str, np.ndarray], what: str
) -> None:
    """A file of states was made by an encoder.

    Raises:
        DataError: it was made by another than that of `what`.
    """
    own = under(stored, ENCODER)
    if own.keys() != encoder.keys() or not all(
        np.array_equal(own[name], array) for name, array in encoder.items()
    ):
        raise DataError(f"the table of states was made by another encoder than that of {what}")


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
