"""Stage `train_agent`: an acquisition agent that learns on blocked records (afape, A.11).

The agent acts on the rows of part `agent`, where it can acquire only what the records hold; when it
stops, the stored classifier decides. The policy is then fixed for all seeds.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.agents.lockstep_dqn import DqnFit, DqnSettings, fit_dqn
from frugal.agents.q_policy import QPolicy
from frugal.contracts import AcquisitionTask, DataError, Streams, Table
from frugal.contracts.scaling import Scaling, fit_scaling
from frugal.data.tables import table_from_frames
from frugal.environments.acquisition import BatchedAcquisition
from frugal.environments.encoders import ValuesEncoder, tabulate
from frugal.environments.rewards import Loss, StopReward
from frugal.models.tree_scoring import (
    MAX_ACTIONS_TABULATED,
    expected_cost_prediction,
    predict_proba_acquired,
    predict_proba_all_sets,
)
from frugal.models.trees import TreeEnsemble
from frugal.stages._frames import by_seed, panel_matrix
from frugal.stages._laws import require_masks

OWN_SETTINGS = ("kind", "start", "moments")  # all others are the learner's
TABLE_GIB = 0.25  # larger tables of observations are not built; the numbers are the same


def train_agent(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    classifier: Mapping[str, np.ndarray],
    masks: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Learn by DQN on the records of the first seed, blocked  [afape, sec. A.11].

    Reward: −(cost of a panel), and at the end −(misclassification cost of the classifier's decision
    with what was acquired); divided by the dearest misclassification, so that values are about 1.

    Raises:
        DataError: the table has no row in the part `agent`.
    """
    del progress  # one fit, seconds
    data, recorded = _records(table, catalogue, masks)
    scaling = _scaling(data, recorded)
    unit = float(data.misclassification_cost.max())
    encoder = ValuesEncoder(scaling.standardise(data.values), data.provides, data.free_columns)
    dqn = DqnSettings.of({k: v for k, v in settings.items() if k not in OWN_SETTINGS})
    environment = BatchedAcquisition(
        AcquisitionTask(recorded, data.label, data.action_cost, len(data.classes), terminals=1),
        _tabulated(encoder, data),
        StopReward(_scaled_loss(classifier, data, unit), np.array([1 / unit], dtype=np.float32)),
        learners=1,
        episodes=dqn.episodes,
        start=settings["start"],
        rng=streams.generator("units"),
    )
    learner = streams.generator("learner")
    fit = fit_dqn(environment, settings=dqn, moments=settings["moments"], rngs=[learner])
    weights = {name: array[0] for name, array in fit.weights.items()}
    policy = QPolicy(weights, scaling.centre, scaling.scale, encoder.column_bits)
    return {"policy": policy.to_arrays(), "training": _curve(fit, dqn, unit)}


def _records(
    table: pd.DataFrame, catalogue: Mapping[str, Any], masks: pd.DataFrame
) -> tuple[Table, np.ndarray]:
    """The rows to learn from, and which panels their records of the first seed hold. (n, a)"""
    data, part = table_from_frames(table, catalogue)
    require_masks(masks, data)
    rows = np.flatnonzero(part == "agent")
    if not rows.size:
        raise DataError(
            "an agent that learns needs rows in the part 'agent', and the data set has none; "
            "add it under split.parts of the data set's YAML"
        )
    _, first = next(by_seed(masks, rows))
    return data.take(rows), panel_matrix(first, "observed", data)


def _scaling(data: Table, recorded: np.ndarray) -> Scaling:
    """Of the values that the records hold; a column that they never hold stays as it is."""
    held = np.where(data.columns_observed(recorded), data.values, np.nan)
    return fit_scaling(held, unknown=True)


def _tabulated(encoder: ValuesEncoder, data: Table) -> Any:
    """The encoder's table of all sets where it is small, else the encoder itself."""
    a = len(data.actions)
    if a <= MAX_ACTIONS_TABULATED and 4 * len(data) * 2**a * encoder.width <= TABLE_GIB * 2**30:
        return tabulate(encoder, len(data), a, max_gib=TABLE_GIB)
    return encoder


def _scaled_loss(classifier: Mapping[str, np.ndarray], data: Table, unit: float) -> Any:
    """Misclassification cost at each set: once for all sets, or, with many panels, on demand."""
    ensemble = TreeEnsemble.from_arrays(classifier).require_table(data)
    cost = data.misclassification_cost / unit
    shape = (data.values, data.provides, data.free_columns)
    if len(data.actions) <= MAX_ACTIONS_TABULATED:
        shares = predict_proba_all_sets(ensemble, *shape)
        prediction = expected_cost_prediction(shares.reshape(-1, shares.shape[2]), cost)
        return cost[data.label[:, None], prediction.reshape(shares.shape[:2])].astype(np.float32)

    def loss(row: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        shares = predict_proba_acquired(ensemble, *shape, row, acquired)
        return cost[data.label[row], expected_cost_prediction(shares, cost)]

    demanded: Loss = loss
    return demanded


def _curve(fit: DqnFit, settings: DqnSettings, unit: float) -> pd.DataFrame:
    """How training went, in the data set's unit of cost."""
    return pd.DataFrame(
        {
            "transitions": fit.transitions,
            "mean_return": fit.mean_return[:, 0] * unit,
            "td_error": fit.td_error[:, 0] * unit,
            "epsilon": [settings.epsilon(int(t)) for t in fit.transitions],
        }
    )
