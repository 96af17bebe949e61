"""What the stages of `diagnosis` share on states: stored encoders, completed rows, reward pairs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from frugal.agents.reading import completed_rows
from frugal.contracts import DataError, Table, World
from frugal.environments.encoders import CallableEncoder, TabulatedEncoder, tabulate
from frugal.environments.rewards import DiagnosisReward, release_reward
from frugal.models.imputers import Imputer, MeanImputer, fit_imputer
from frugal.stages._diagnosis_frames import Solution, task_of


def fit_encoder(
    data: Table,
    train: np.ndarray,
    validation: np.ndarray,
    *,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> Imputer:
    """The encoder that settings name by `kind`, from the rows marked `train`.

    EMFlow learns with whole panels hidden, the free columns among them as one more: the patterns
    that a policy meets. Differs from the paper, which hides single entries.

    Args:
        data: the table.
        train: True for rows to learn from. (n,)
        validation: True for rows on which EMFlow picks its best draw. (n,)
        settings: `kind`, and what that kind takes.
        rng: of all draws.
    """
    own = dict(settings)
    kind = own.pop("kind")
    values = data.values[train], data.values[validation]
    if kind != "emflow":
        return fit_imputer(
            kind, values[0], onehot=data.onehot, validation=None, settings=own, rng=rng
        )
    from frugal.models.emflow_training import fit_emflow  # torch is slow to import

    panels = np.concatenate([data.provides, data.free_columns[None]])
    panels = panels[panels.any(axis=1)]
    return fit_emflow(values[0], validation=values[1], panels=panels, rng=rng, **own)


def imputer_arrays(imputer: Imputer) -> dict[str, np.ndarray]:
    """An encoder as arrays that a file can hold.

    Raises:
        DataError: it is of a kind that keeps no arrays.
    """
    if hasattr(imputer, "to_arrays"):
        return imputer.to_arrays()  # pyright: ignore[reportAttributeAccessIssue]
    raise DataError(
        f"{type(imputer).__name__} cannot be stored as arrays; encoders are of kind emflow or mean"
    )


def imputer_of(arrays: Mapping[str, np.ndarray], data: Table) -> Imputer:
    """The encoder again: EMFlow, or means if there is nothing but a scaling.

    Raises:
        DataError: the arrays are no encoder, or one of a table with other columns.
    """
    if set(arrays) <= {"centre", "scale"}:
        imputer: Imputer = MeanImputer.from_arrays(arrays)
    else:
        from frugal.models.emflow import EmFlow  # torch is slow to import, and only needed here

        imputer = EmFlow.from_arrays(arrays)
    columns = len(imputer.scaling.centre)
    if columns != len(data.columns):
        raise DataError(
            f"the stored encoder is for {columns} columns; the table has {len(data.columns)}"
        )
    return imputer


def completed_states(imputer: Imputer, world: World, *, memory_gib: float) -> TabulatedEncoder:
    """Completed rows, standardised, of the units of a world at every set of panels.

    Raises:
        DataError: the table takes more memory than is allowed.
    """

    def complete(visible: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        del acquired
        return completed_rows(imputer, visible)

    encoder = CallableEncoder(world, complete, world.values.shape[1])
    return tabulate(encoder, len(world), world.panels, max_gib=memory_gib)


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
