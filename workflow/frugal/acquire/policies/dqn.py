"""The kind `dqn`: deep Q-learning on blocked records [afape, sec. A.11].

It takes the action of the largest value among the allowed ones, and stops where that is "stop".
The policy is weights in, decisions out. Rewards are −(cost of a panel), and at the end
−(misclassification cost of the classifier's decision), divided by the most expensive
misclassification, so values are about 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32

from frugal.acquire.acquisition import BatchedAcquisition, StopReward
from frugal.acquire.encoders import ValuesEncoder, observe_values
from frugal.acquire.kinds import AgentKind, Ground, Learned, Saved, trained
from frugal.acquire.reading import SingleWithoutVerdict
from frugal.config.learners import DqnSettings
from frugal.core.episodes import Law, Panels, Traits, Values
from frugal.core.errors import DataError
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling
from frugal.core.stored import Array, Stored
from frugal.learn.tree_scoring import (
    MAX_ACTIONS_TABULATED,
    expected_cost_prediction,
    predict_proba_acquired,
    predict_proba_all_sets,
)

if TYPE_CHECKING:
    from frugal.acquire.train.lockstep_dqn import DqnFit

SCALING = ("centre", "scale", "column_bits")


@dataclass(frozen=True, eq=False)
class QPolicy(SingleWithoutVerdict):
    """Greedy policy of one Q-network  [afape, sec. A.11]. Shapes: d columns, a panels.

    Values are computed in float64, so the same state gets the same action in batches of any
    size, ties of float32 rounding included.

    Attributes:
        weights: of layer i, "i.weight" (in, out) and "i.bias" (1, out); the last is the head, and
            with "value.weight", "value.bias" the advantages of a dueling network.
        centre: subtracted from values before they are read. (d,)
        scale: then divides them. (d,)
        column_bits: whether the network reads the known bits of columns.
    """

    weights: Mapping[str, Float32[np.ndarray, "_ _"]]
    centre: Float[np.ndarray, " d"]
    scale: Float[np.ndarray, " d"]
    column_bits: bool

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=True, compares="value (1: the most expensive error)", weigh=self.weigh
        )

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """1 for the allowed action of the largest value, the lowest of equals. (1, m, a + 1)"""
        score = self.weigh(values, acquired, available)
        return np.eye(score.shape[2])[score.argmax(axis=2)]

    def weigh(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """Value of each allowed action, −∞ for the others. (1, m, a + 1)"""
        visible = Scaling(self.centre, self.scale).standardise(values[0])
        observation = observe_values(visible, acquired[0], column_bits=self.column_bits)
        allowed = np.pad(available[0] & ~acquired[0], ((0, 0), (0, 1)), constant_values=True)
        return np.where(allowed, self.action_values(observation), -np.inf)[None]

    def action_values(self, observation: Float32[np.ndarray, "n w"]) -> Float[np.ndarray, "n A"]:
        """Q(s, ·) by the network, in the unit of the reward it was trained on. (n, a + 1)"""
        top = observation.astype(np.float64)
        *hidden, head = self._layers
        for weight, bias in hidden:
            top = np.maximum(top @ weight + bias, 0.0)
        values = top @ head[0] + head[1]
        if "value.weight" not in self.weights:
            return values
        state_value = (
            top @ self.weights["value.weight"].astype(np.float64) + self.weights["value.bias"]
        )
        return state_value + values - values.mean(axis=1, keepdims=True)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the policy is, as named arrays; `from_arrays` is the exact inverse."""
        return dict(self.weights) | {
            "centre": self.centre,
            "scale": self.scale,
            "column_bits": np.array([self.column_bits], dtype=np.uint8),
        }

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray]) -> "QPolicy":
        """The policy that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such policy; the message names the place.
        """
        _require_policy(arrays)
        return QPolicy(
            {name: array for name, array in arrays.items() if name not in SCALING},
            arrays["centre"],
            arrays["scale"],
            bool(arrays["column_bits"][0]),
        )

    def require_layout(self, table: Layout) -> "QPolicy":
        """The same policy, if it was trained on a table of these columns and panels.

        Raises:
            DataError: it has another number of columns or panels.
        """
        shape = len(self.centre), self._layers[-1][1].shape[1] - 1
        expected = len(table.columns), len(table.actions)
        if shape != expected:
            raise DataError(
                f"the stored Q-network policy is for {shape[0]} columns and {shape[1]} panels; the "
                f"table has {expected[0]} and {expected[1]}"
            )
        return self

    @cached_property
    def _layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        count = sum(name.split(".")[0].isdigit() for name in self.weights) // 2
        pairs = ((self.weights[f"{i}.weight"], self.weights[f"{i}.bias"]) for i in range(count))
        return [(weight.astype(np.float64), bias.astype(np.float64)) for weight, bias in pairs]


def _require_policy(arrays: Mapping[str, np.ndarray]) -> None:
    """Layers that fit one another, a scale above 0, and inputs that fit columns and panels."""
    stored = Stored("Q-network policy", arrays)
    layers = next(i for i in count() if f"{i}.weight" not in arrays)
    expected = {
        "0.weight": Array("float32", ("inputs", "layer 0")),
        "centre": Array("float64", ("columns",)),
        "scale": Array("float64", ("columns",), above=0),
        "column_bits": Array("uint8", (1,), low=0, high=1),
    }
    for i in range(layers):
        entering = f"layer {i - 1}" if i else "inputs"
        expected[f"{i}.weight"] = Array("float32", (entering, f"layer {i}"))
        expected[f"{i}.bias"] = Array("float32", (1, f"layer {i}"))
    if "value.weight" in arrays:
        top = f"layer {layers - 2}" if layers > 1 else "inputs"
        expected["value.weight"] = Array("float32", (top, 1))
        expected["value.bias"] = Array("float32", (1, 1))
    size = stored.require(expected)
    panels, d = size[f"layer {layers - 1}"] - 1, size["columns"]
    n_inputs = d * (1 + int(arrays["column_bits"][0])) + panels
    if size["inputs"] != n_inputs:
        raise stored.refusal(
            f"reads {size['inputs']} inputs; allowed: {n_inputs}, for {d} columns and {panels} "
            "panels"
        )


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
    result = fit_dqn(environment, settings=dqn, moments=settings["moments"], rngs=[learner])
    weights = {name: array[0] for name, array in result.weights.items()}
    policy = QPolicy(weights, scaling.centre, scaling.scale, encoder.column_bits)
    return Learned(policy.to_arrays(), _curve(result, dqn, unit))


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


def _curve(result: "DqnFit", settings: "DqnSettings", unit: float) -> pd.DataFrame:
    """How training went, in the data set's unit of cost."""
    return pd.DataFrame(
        {
            "transitions": result.transitions,
            "mean_return": result.mean_return[:, 0] * unit,
            "td_error": result.td_error[:, 0] * unit,
            "epsilon": [settings.epsilon(int(t)) for t in result.transitions],
        }
    )


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> QPolicy:
    """The trained network."""
    return QPolicy.from_arrays(trained(stored, "dqn")).require_layout(layout)


DQN = AgentKind(
    name="dqn",
    build=build,
    fit=fit,
    settings={},
    shares=("DqnAgent",),
    doc="deep Q-learning on blocked records; stops where the classifier may decide",
    looks={"dqn": (91, "DQN", "purple", "8")},
)
