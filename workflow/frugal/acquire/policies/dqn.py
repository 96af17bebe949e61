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
from frugal.core.layout import Layout
from frugal.learn.tree_scoring import (
    MAX_ACTIONS_TABULATED,
    expected_cost_prediction,
    predict_proba_acquired,
    predict_proba_all_sets,
)

if TYPE_CHECKING:
    from frugal.acquire.train.lockstep_dqn import DqnFit, DqnSettings

OWN = ("start", "moments")  # all other settings are the learner's
LEARNER = (
    "hidden", "double", "dueling", "huber_bound", "learning_rate", "learning_rate_last",
    "discount", "batch", "memory", "learning_starts", "transitions_per_update", "target_every",
    "exploration_share", "epsilon_first", "epsilon_last", "max_gradient_norm", "episodes",
    "transitions",
)  # fmt: skip


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn by DQN on the records, blocked."""
    from frugal.acquire.train.lockstep_dqn import DqnSettings, fit_dqn  # torch is slow to import

    world, scaling, unit = ground.world(terminals=1), ground.scaling, ground.unit
    encoder = ValuesEncoder.of(replace(world, values=scaling.standardise(world.values)))
    dqn = DqnSettings.of({k: v for k, v in settings.items() if k not in ("kind", *OWN)})
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
    settings={
        "hidden": ("layers", ""),
        "double": ("boolean", "the online network chooses the next action"),
        "dueling": ("boolean", "Q = V + A − mean A"),
        "huber_bound": {
            "type": ["number", "null"],
            "exclusiveMinimum": 0,
            "description": "of errors, in dearest misclassifications; linear beyond; null: none",
        },
        "learning_rate": ("positive", "at first"),
        "learning_rate_last": ("positive", "at the end; it falls linearly"),
        "discount": ("probability", ""),
        "batch": ("count", "transitions in an update"),
        "memory": ("count", "transitions kept"),
        "learning_starts": ("count", "transitions before the first update"),
        "transitions_per_update": ("count", "divides `episodes`"),
        "target_every": ("count", "transitions between two copies into the target network"),
        "exploration_share": ("probability", "of the transitions, in which ε falls"),
        "epsilon_first": ("probability", "ε of ε-greedy exploration at first"),
        "epsilon_last": ("probability", "and from then on"),
        "max_gradient_norm": ("positive", ""),
        "episodes": ("count", "run side by side"),
        "transitions": ("count", "of all episodes together"),
        "start": {
            "enum": ["free", "random"],
            "description": "random: each available panel is known at first with probability ½",
        },
        "moments": ("count", "rows of the training curve"),
    },
    doc="deep Q-learning on blocked records; stops where the classifier may decide",
)
