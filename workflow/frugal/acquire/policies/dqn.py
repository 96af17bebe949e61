"""The kind `dqn`: deep Q-learning on blocked records  [afape, sec. A.11].

Reward: −(cost of a panel), and at the end −(misclassification cost of the classifier's decision
with what was acquired); divided by the dearest misclassification, so that values are about 1.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from frugal.acquire.acquisition import BatchedAcquisition
from frugal.acquire.encoders import ValuesEncoder
from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.q_policy import QPolicy
from frugal.acquire.rewards import StopReward
from frugal.config.learners import DqnSettings
from frugal.core.layout import Layout
from frugal.learn.tree_scoring import (
    MAX_ACTIONS_TABULATED,
    expected_cost_prediction,
    predict_proba_acquired,
    predict_proba_all_sets,
)

if TYPE_CHECKING:
    from frugal.acquire.train.lockstep_dqn import DqnFit


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn by DQN on the records, blocked."""
    from frugal.acquire.train.lockstep_dqn import fit_dqn  # torch is slow to import

    world, scaling, unit = ground.world(terminals=1), ground.scaling, ground.unit
    encoder = ValuesEncoder.of(replace(world, values=scaling.standardise(world.values)))
    dqn = DqnSettings.of(settings)
    environment = BatchedAcquisition(
        world,
        ground.observed(encoder),
        StopReward(scaled_loss(ground), np.array([1 / unit], dtype=np.float32)),
        learners=1,
        episodes=dqn.episodes,
        start=settings["start"],
        rng=ground.streams.generator("units"),
    )
    learner = ground.streams.generator("learner")
    found = fit_dqn(environment, settings=dqn, moments=settings["moments"], rngs=[learner])
    weights = {name: array[0] for name, array in found.weights.items()}
    policy = QPolicy(weights, scaling.centre, scaling.scale, encoder.column_bits)
    return Learned(policy.to_arrays(), _curve(found, dqn, unit))


def scaled_loss(ground: Ground) -> Any:
    """Misclassification cost at each set: once for all sets, or, with many panels, on demand."""
    data, ensemble = ground.table, ground.classifier
    cost = data.misclassification_cost / ground.unit
    shape = (data.values, data.provides, data.free_columns)
    if len(data.actions) <= MAX_ACTIONS_TABULATED:
        shares = predict_proba_all_sets(ensemble, *shape)
        prediction = expected_cost_prediction(shares.reshape(-1, shares.shape[2]), cost)
        return cost[data.label[:, None], prediction.reshape(shares.shape[:2])].astype(np.float32)

    def loss(row: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        shares = predict_proba_acquired(ensemble, *shape, row, acquired)
        return cost[data.label[row], expected_cost_prediction(shares, cost)]

    return loss


def _curve(found: "DqnFit", settings: "DqnSettings", unit: float) -> pd.DataFrame:
    """How training went, in the data set's unit of cost."""
    return pd.DataFrame(
        {
            "transitions": found.transitions,
            "mean_return": found.mean_return[:, 0] * unit,
            "td_error": found.td_error[:, 0] * unit,
            "epsilon": [settings.epsilon(int(t)) for t in found.transitions],
        }
    )


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> QPolicy:
    """The trained network."""
    del settings
    return QPolicy.from_arrays(trained(stored, "dqn")).require_layout(layout)


DQN = AgentKind(
    name="dqn",
    build=build,
    fit=fit,
    settings={},
    shares=("DqnAgent",),
    doc="deep Q-learning on blocked records; stops where the classifier may decide",
    steps=(("transitions",),),
    graph="dqn",
    looks={"dqn": (91, "DQN", "purple", "8")},
)
