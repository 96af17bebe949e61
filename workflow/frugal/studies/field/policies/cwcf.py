"""The kind `cwcf`: Q-learning of panels and verdicts on blocked records [diagnosis, sec. 6.2].

One Q-network per price reads masked values and panel bits; its actions are the panels and the
diagnoses, rewarded 0 or −1, and a panel costs its price times λ (Janisch, Pevný and Lisý 2019).
Trained in lock-step over several λ by the package's double DQN. As an agent the price of a panel
and of an error are the table's own, so one network corresponds to the study's cost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Float32

from frugal.acquire.acquisition import BatchedAcquisition, DiagnosisReward
from frugal.acquire.encoders import ValuesEncoder, observe_values
from frugal.acquire.kinds import (
    UNTUNED,
    AgentKind,
    Ground,
    Learned,
    PolicySet,
    Saved,
    TrainingData,
    trained,
)
from frugal.acquire.reading import Reading, panel_or_stop, tilted_belief, with_stop
from frugal.acquire.train.lockstep_dqn import QNetworks, fit_dqn
from frugal.config.learners import DqnSettings
from frugal.core.episodes import (
    Belief,
    Law,
    Panels,
    Readings,
    RowPanels,
    RowReadings,
    RowValues,
    Traits,
)
from frugal.core.errors import DataError
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling
from frugal.core.stored import Array, Stored, apart, arrays_of, declared, under
from frugal.core.world import StateEncoder, World

SMALLEST_WORTH = 1e-9  # of a probability read off a value, before it is scaled


def fit_cwcf(
    task: World,
    encoder: StateEncoder,
    *,
    cost_weight: Float[np.ndarray, " K"],
    class_weights: tuple[float, float],
    settings: Mapping[str, Any],
    rngs: Sequence[np.random.Generator],
) -> dict[str, Float32[np.ndarray, "K _ _"]]:
    """Train K Q-networks, one for each price of features.

    Differs from Janisch et al.: transitions are replayed uniformly, without their Retrace targets
    and without pretraining on classification; both speed learning up, neither changes the policy
    that is optimal.

    Args:
        task: units with two classes and a diagnosis for each.
        encoder: masked values and panel bits, as `ValuesEncoder` gives them.
        cost_weight: λ, in errors per unit of cost. (K,)
        class_weights: of an error on a healthy and on an ill unit; (1, 1) is the original.
        settings: of `DqnSettings`.
        rngs: one per learner. (K,)

    Returns:
        Weights of the networks by name.

    Raises:
        DataError: other than two classes.
    """
    if (task.classes, task.terminals) != (2, 2):
        raise DataError(
            f"CWCF diagnoses one of two classes here; there are {task.classes} classes and "
            f"{task.terminals} terminal actions"
        )
    how = DqnSettings.of(settings)
    matrix = np.zeros((len(cost_weight), 2, 2), dtype=np.float32)
    matrix[:, 0, 1], matrix[:, 1, 0] = -class_weights[0], -class_weights[1]
    environment = BatchedAcquisition(
        task,
        encoder,
        DiagnosisReward(matrix, cost_weight.astype(np.float32)),
        learners=len(cost_weight),
        episodes=how.episodes,
        start="free",
        rng=rngs[0].spawn(1)[0],
    )
    return fit_dqn(environment, settings=how, moments=1, rngs=rngs).weights


@dataclass(frozen=True, eq=False)
class CwcfPolicies(Reading):
    """K trained networks as policies: the panel of the highest value, or a diagnosis.

    A diagnosis j has the value −Σ_{i≠j} w_i p_i, from which the predicted probabilities of the
    classes are read back.

    Attributes:
        weights: from `fit_cwcf`.
        panels: a.
        scaling: of the values that the networks read.
        column_bits: whether they read the known bits of columns.
        class_weights: as in training.
        threshold: of the probability of illness, once it diagnoses; None: the diagnosis of the
            higher value, τ = w_healthy/(w_healthy + w_ill). (K,)
    """

    weights: Mapping[str, Float32[np.ndarray, "K _ _"]]
    panels: int
    scaling: Scaling
    column_bits: bool
    class_weights: tuple[float, float]
    threshold: Float[np.ndarray, " K"] | None

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=True,
            compares="value (1: the most expensive error)",
            weigh=self.weigh,
            threshold=self.threshold,
        )

    @property
    def members(self) -> int:
        """K."""
        return len(self.weights["0.weight"])

    def read(self, values: RowValues, acquired: RowPanels) -> RowReadings:
        """Masked values, standardised, with the bits of known values. (m, w)"""
        shown = self.scaling.standardise(values)
        return observe_values(shown, acquired, column_bits=self.column_bits)

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        weight = self.weigh(reading, acquired, available)
        of_panel = weight[..., :-1]
        goes_on = of_panel.max(axis=2, initial=-np.inf) > weight[..., -1]
        return panel_or_stop(of_panel.argmax(axis=2), goes_on, self.panels)

    def weigh(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """Value of each open panel, then of the better diagnosis. (K, m, a + 1)"""
        value = self._values(reading)
        of_panel = np.where(available & ~acquired, value[..., : self.panels], -np.inf)
        return with_stop(of_panel, value[..., self.panels :].max(axis=2))

    def conclude(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        of_end = self._values(reading)[..., self.panels :]
        healthy, ill = self.class_weights
        class_score = np.stack([-of_end[..., 1] / healthy, -of_end[..., 0] / ill], axis=-1)
        class_score = np.maximum(class_score, SMALLEST_WORTH)
        probability = class_score / class_score.sum(axis=2, keepdims=True)
        cost_threshold = np.full(len(of_end), healthy / (healthy + ill))
        threshold = cost_threshold if self.threshold is None else self.threshold
        return tilted_belief(probability, threshold[:, None])

    def _values(self, reading: np.ndarray) -> np.ndarray:
        torch.set_num_threads(1)
        return QNetworks(self.weights).values(torch.from_numpy(reading)).numpy().astype(np.float64)


NETWORK = "network."  # prefix of the network's arrays


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked.

    Raises:
        DataError: the label has other than two classes.
    """
    ground.require_two_classes("cwcf")
    world, scaling, unit = ground.world(terminals=2), ground.scaling, ground.unit
    encoder = ValuesEncoder.of(replace(world, values=scaling.standardise(world.values)))
    cost = ground.table.misclassification_cost / unit
    errors = (float(cost[0, 1]), float(cost[1, 0]))
    weights = fit_cwcf(
        world,
        ground.observed(encoder),
        cost_weight=np.array([1 / unit]),
        class_weights=errors,
        settings=settings["dqn"],
        rngs=[ground.streams.generator("learner")],
    )
    arrays = {NETWORK + name: array for name, array in weights.items()} | {
        **arrays_of(scaling),
        "column_bits": np.array([encoder.column_bits], dtype=np.uint8),
        "errors": np.array(errors),
    }
    curve = pd.DataFrame({"transitions": [settings["dqn"]["transitions"]]})
    return Learned(arrays, curve)


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> CwcfPolicies:
    """The trained network."""
    stored = trained(stored, "cwcf")
    network, d = under(stored, NETWORK), len(layout.columns)
    arrays = apart(stored, NETWORK)
    Stored("CWCF policy", arrays).require(
        declared(Scaling)
        | {
            "column_bits": Array("uint8", (1,), low=0, high=1),
            "errors": Array("float64", (2,), above=0),
        },
        d=d,
    )
    healthy, ill = map(float, arrays["errors"])
    return CwcfPolicies(
        network,
        len(layout.actions),
        Scaling(arrays["centre"], arrays["scale"]),
        bool(arrays["column_bits"][0]),
        (healthy, ill),
        None,
    )


def _several(
    data: TrainingData,
    name: str,
    *,
    cost_weights: list[float],
    class_weights: list[Any],
    dqn: Mapping[str, Any],
) -> PolicySet:
    """Q-learning on masked values; λ is in errors per mean panel."""
    scaled, scaling = data.world, data.imputer.scaling
    standardised = replace(scaled, values=scaling.standardise(scaled.values))
    bits = ValuesEncoder.of(standardised).column_bits
    readings = {
        part: ValuesEncoder(standardised.take(rows), bits) for part, rows in data.rows.items()
    }
    healthy, ill = map(float, class_weights)
    weights = fit_cwcf(
        scaled.take(data.rows["agent"]),
        readings["agent"],
        cost_weight=np.array(cost_weights, dtype=np.float64),
        class_weights=(healthy, ill),
        settings=dqn,
        rngs=data.streams.generator(name).spawn(len(cost_weights)),
    )
    policies = CwcfPolicies(
        weights, scaled.panels, scaling, bits, (healthy, ill), np.full(len(cost_weights), UNTUNED)
    )
    trade_offs = [(ill / healthy, -price / healthy, "") for price in cost_weights]
    return PolicySet(trade_offs, policies, readings)


CWCF = AgentKind(
    name="cwcf",
    build=build,
    fit=fit,
    settings={"dqn": ("DqnSettings", "", {})},
    doc="classification with costly features: Q-learning of panels and verdicts on blocked records",
    two_classes=True,
    looks={"cwcf": (130, "CWCF", "vermillion", "v")},
    several=_several,
    several_settings={
        "cost_weights": (
            "Positives",
            "λ of each solution, errors per mean panel cost",
            [0.003, 0.01, 0.03, 0.1],
        ),
        "class_weights": ("PositivePair", "of an error on a healthy, on an ill unit", [1.0, 1.0]),
        "dqn": ("DqnSettings", "", {"transitions": 30000}),
    },
)
