"""The kind `greedy`: order the panel of the highest expected information per price.

A dynamic baseline of [diagnosis, sec. 6.2]: it looks one panel ahead among reference units, knows
no rewards and learns no policy. As an agent on blocked records it differs from there: reference
units are complete records, since only they show the information of each panel; the verdict is the
cheaper one by the costs of errors of the table.
"""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Float32, Int

from frugal.acquire.encoders import CallableEncoder, TabulatedEncoder, fits, tabulate
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
from frugal.acquire.reading import (
    CompletesRows,
    completed_states,
    panel_or_stop,
    tilted_belief,
    with_stop,
)
from frugal.acquire.train.state_classifier import Classifiers, StateClassifier, fit_state_classifier
from frugal.config.learners import ClassifierSettings
from frugal.core.episodes import Belief, Law, Panels, Readings, RowPanels, Traits
from frugal.core.errors import DataError
from frugal.core.layout import Layout
from frugal.core.stored import Array, Stored, under
from frugal.core.world import StateEncoder, World, packed_sets, set_codes, unpacked_sets
from frugal.learn.imputer_kinds import Imputer, fit_encoder, imputer_arrays, imputer_of

SMALLEST_PROBABILITY = 1e-12  # in logarithms
DISTANCES_AT_ONCE = 1 << 24  # bounds memory
ENTRIES_KEPT = 1 << 26  # of completed rows at the sets requested last: bounds memory


def entropy(probability: Float[np.ndarray, "*m k"]) -> Float[np.ndarray, "*m"]:
    """H(Y) of class probabilities, in nats."""
    return -(probability * np.log(np.maximum(probability, SMALLEST_PROBABILITY))).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class ReferenceUnits:
    """Units from which the information of a panel is looked up. Shapes: r units, a panels.

    Attributes:
        completed: completed rows at each set of panels, clipped. (r, 2^a, d)
        uncertainty: entropy of the classifier's predicted probability there, in nats. (r, 2^a)
    """

    completed: Float32[np.ndarray, "r sets d"]
    uncertainty: Float[np.ndarray, "r sets"]

    @classmethod
    def drawn(
        cls,
        completed: TabulatedEncoder | CallableEncoder,
        classifier: StateClassifier,
        *,
        units: int,
        rng: np.random.Generator,
    ) -> "ReferenceUnits | WideReferenceUnits":
        """Some training units, drawn without replacement; all of them if there are fewer."""
        if isinstance(completed, CallableEncoder):
            chosen = np.sort(rng.permutation(len(completed.world))[:units])
            subset = replace(completed, world=completed.world.take(chosen))
            return WideReferenceUnits(subset, len(chosen), classifier)
        chosen = np.sort(rng.permutation(len(completed.table))[:units])
        return cls.of(TabulatedEncoder(completed.table[chosen]), classifier)

    @classmethod
    def of(cls, completed: TabulatedEncoder, classifier: StateClassifier) -> "ReferenceUnits":
        """All units of a table of completed rows."""
        bound = classifier.input_bound
        table = np.clip(completed.table, -bound, bound)
        probability = classifier.belief(table.reshape(-1, table.shape[2]))
        return cls(table, entropy(probability).reshape(table.shape[:2]))

    def __len__(self) -> int:
        return len(self.completed)

    def at(
        self, acquired: Bool[np.ndarray, " a"]
    ) -> tuple[Float32[np.ndarray, "r d"], Float[np.ndarray, "r a"]]:
        """Completed rows at one set of panels, and the fall of uncertainty by each further one."""
        code = set_codes(acquired[None])[0]
        further = code | np.int64(1) << np.arange(len(acquired))
        return self.completed[:, code], self.uncertainty[:, [code]] - self.uncertainty[:, further]


@dataclass(frozen=True, eq=False)
class WideReferenceUnits:
    """The same of tables with more panels than all sets of which can be held: queried set by set.

    Attributes:
        states: completed rows of the units at any set.
        units: r.
        classifier: gives beliefs.
    """

    states: StateEncoder
    units: int
    classifier: StateClassifier
    _kept: OrderedDict[bytes, tuple] = field(default_factory=OrderedDict, repr=False)

    def __len__(self) -> int:
        return self.units

    def at(
        self, acquired: Bool[np.ndarray, " a"]
    ) -> tuple[Float32[np.ndarray, "r d"], Float[np.ndarray, "r a"]]:
        """As `ReferenceUnits.at`; answers given last are kept."""
        name = acquired.tobytes()
        if name not in self._kept:
            shown, now = self._uncertainty(acquired)
            fall = np.zeros((self.units, len(acquired)))
            for j in np.flatnonzero(~acquired):
                fall[:, j] = now - self._uncertainty(acquired | (np.arange(len(acquired)) == j))[1]
            self._kept[name] = shown, fall
            while len(self._kept) > max(1, ENTRIES_KEPT // (shown.size + fall.size)):
                self._kept.popitem(last=False)
        self._kept.move_to_end(name)
        return self._kept[name]

    def _uncertainty(
        self, acquired: np.ndarray
    ) -> tuple[Float32[np.ndarray, "r d"], Float[np.ndarray, " r"]]:
        row, bound = np.arange(self.units), self.classifier.input_bound
        everywhere = np.broadcast_to(acquired, (self.units, len(acquired)))
        shown = np.clip(self.states.encode(row, everywhere), -bound, bound)
        return shown, entropy(self.classifier.belief(shown))


def information_gains(
    reference: ReferenceUnits | WideReferenceUnits,
    completed: Float32[np.ndarray, "m d"],
    acquired: RowPanels,
    *,
    neighbours: int,
) -> Float[np.ndarray, "m a"]:
    """Expected fall of the label's entropy by each panel, in nats; 0 for panels acquired. (m, a)

        gain_j(s) = 1/|N(s)| Σ_{u ∈ N(s)} [H(Y | u at S) − H(Y | u at S ∪ {j})]

    N(s): the training units nearest to the state (Euclidean, completed rows) when they show the
    same panels S. They represent draws of panel j given the known values; H is by the classifier.

    Args:
        reference: the units.
        completed: rows of the states, completed. (m, d)
        acquired: panels known. (m, a)
        neighbours: |N|.
    """
    gain = np.zeros(acquired.shape)
    packed = packed_sets(acquired)
    at_once = max(1, DISTANCES_AT_ONCE // len(reference))
    for code in np.unique(packed, axis=0):
        shown, fall = reference.at(unpacked_sets(code, acquired.shape[1]))
        rows = np.flatnonzero((packed == code).all(axis=1))
        for start in range(0, len(rows), at_once):
            part = rows[start : start + at_once]
            near = _nearest(shown, completed[part], neighbours)
            gain[part] = fall[near].mean(axis=1)
    return gain


def _nearest(shown: np.ndarray, states: np.ndarray, count: int) -> Int[np.ndarray, "m c"]:
    """Indices of the nearest units of each state, in no particular order. (m, count)"""
    count = min(count, len(shown))
    distance = np.square(shown).sum(axis=1) - 2 * states @ shown.T  # less the state's own length
    if count == len(shown):
        return np.broadcast_to(np.arange(count), (len(states), count))
    return np.argpartition(distance, count - 1, axis=1)[:, :count]


@dataclass(frozen=True, eq=False)
class GreedyPolicies(CompletesRows):
    """K policies that order the best gain per cost while it reaches their threshold.

    Attributes:
        reference: where gains are looked up.
        classifier: predicts probabilities and diagnoses.
        imputer: completes rows.
        action_cost: of each panel, in the data set's unit. (a,)
        neighbours: units that represent a state.
        least_gain: per unit of cost, in nats; the limit below which each policy stops. (K,)
        threshold: of the probability of illness, of each policy. (K,)
    """

    reference: ReferenceUnits | WideReferenceUnits
    classifier: StateClassifier
    imputer: Imputer
    action_cost: Float[np.ndarray, " a"]
    neighbours: int
    least_gain: Float[np.ndarray, " K"]
    threshold: Float[np.ndarray, " K"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=True,
            compares="nats per unit of price",
            weigh=self.weigh,
            threshold=self.threshold,
        )

    @property
    def members(self) -> int:
        """K."""
        return len(self.least_gain)

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        weight = self.weigh(reading, acquired, available)
        per_cost = weight[..., :-1]
        goes_on = per_cost.max(axis=2) >= weight[..., -1]
        return panel_or_stop(per_cost.argmax(axis=2), goes_on, len(self.action_cost))

    def weigh(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """Gain per cost of each open panel, then the least one that is ordered. (K, m, a + 1)"""
        a, shape = len(self.action_cost), acquired.shape[:2]
        gain = information_gains(
            self.reference,
            self._clipped(reading),
            acquired.reshape(-1, a),
            neighbours=self.neighbours,
        )
        per_cost = _per_cost(gain, self.action_cost).reshape(*shape, a)
        per_cost = np.where(available & ~acquired, per_cost, -np.inf)
        return with_stop(per_cost, self.least_gain[:, None])

    def conclude(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        probability = self.classifier.belief(self._clipped(reading)).reshape(*acquired.shape[:2], 2)
        return tilted_belief(probability, self.threshold[:, None])

    def _clipped(self, reading: np.ndarray) -> np.ndarray:
        bound = self.classifier.input_bound
        return np.clip(reading.reshape(-1, reading.shape[2]), -bound, bound)


def _per_cost(gain: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Gain per unit of cost; of a panel without cost, infinite with the sign of the gain."""
    unpaid = np.where(gain > 0, np.inf, -np.inf)
    return np.divide(gain, cost, out=unpaid, where=np.broadcast_to(cost > 0, gain.shape))


ENCODER, CLASSIFIER = "encoder.", "classifier."  # prefixes among the bundle's arrays
MEMORY_GIB = 1.0  # what the completed rows of the reference units may take at all sets


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Fit the encoder and a classifier of states, and draw reference units.

    Raises:
        DataError: the label has other than two classes, or no record is complete.
    """
    ground.require_two_classes("greedy")
    complete = np.flatnonzero(ground.recorded.all(axis=1))
    if not complete.size:
        raise DataError(
            "an agent of kind 'greedy' looks up the information of panels among complete records, "
            f"and none of the {len(ground.table)} rows of the part 'agent' is complete"
        )
    imputer = fit_encoder(
        ground.values,
        ground.values,
        table=ground.table,
        settings=settings["encoder"],
        rng=ground.streams.generator("encoder"),
    )
    world = ground.world(terminals=2)
    classifier = fit_state_classifier(
        world,
        completed_states(imputer, world),
        settings=ClassifierSettings.of(settings["classifier"]),
        updates=settings["updates"],
        input_bound=float(settings["input_bound"]),
        rng=ground.streams.generator("classifier"),
    )
    drawn = ground.streams.generator("reference").permutation(complete)[: settings["units"]]
    cost = ground.table.misclassification_cost
    arrays = {ENCODER + name: array for name, array in imputer_arrays(imputer).items()}
    arrays |= {CLASSIFIER + name: v for name, v in classifier.networks.export().items()}
    arrays |= {
        "reference": ground.table.values[np.sort(drawn)],
        "threshold": np.array([cost[0, 1] / (cost[0, 1] + cost[1, 0])]),
    }
    return Learned(arrays, pd.DataFrame({"transitions": [settings["updates"]]}))


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> GreedyPolicies:
    """The policy, with the reference units completed at every set of panels."""
    stored = trained(stored, "greedy")
    imputer = imputer_of(under(stored, ENCODER), columns=len(layout.columns))
    arrays = {name: stored[name] for name in ("reference", "threshold") if name in stored}
    Stored("greedy policy", arrays).require(
        {
            "reference": Array("float64", ("units", len(layout.columns))),
            "threshold": Array("float64", (1,), above=0, high=1),
        }
    )
    networks = Classifiers.of(under(stored, CLASSIFIER), settings["classifier"]["activation"])
    classifier = StateClassifier(networks, float(settings["input_bound"]))
    values = arrays["reference"]
    n, a = len(values), len(layout.actions)
    world = World(
        "full",
        0,
        np.arange(n),
        values,
        layout.provides,
        layout.free_columns,
        np.ones((n, a), dtype=bool),
        np.zeros(n, dtype=np.int64),
        layout.action_cost,
        len(layout.classes),
        1,
    )
    units = _reference_units(completed_states(imputer, world), world, classifier)
    return GreedyPolicies(
        units,
        classifier,
        imputer,
        layout.action_cost,
        settings["neighbours"],
        np.array([settings["least_gain"] / layout.action_cost.mean()]),
        arrays["threshold"],
    )


def _reference_units(
    states: StateEncoder, world: World, classifier: StateClassifier
) -> ReferenceUnits | WideReferenceUnits:
    """At all sets of panels, where their completed rows take little memory; else set by set."""
    n, a = len(world), world.panels
    if not fits(n, a, states.width, MEMORY_GIB):
        return WideReferenceUnits(states, n, classifier)
    return ReferenceUnits.of(tabulate(states, n, a, max_gib=MEMORY_GIB), classifier)


def _several(
    data: TrainingData, name: str, *, units: int, neighbours: int, least_gains: list[float]
) -> PolicySet:
    """The panel of most information per cost, above a least gain."""
    reference = ReferenceUnits.drawn(
        data.states["agent"], data.classifier, units=units, rng=data.streams.generator(name)
    )
    scale = float(data.table.action_cost.mean())
    policies = GreedyPolicies(
        reference,
        data.classifier,
        data.imputer,
        data.table.action_cost,
        neighbours,
        np.array(least_gains) / scale,
        np.full(len(least_gains), UNTUNED),
    )
    words = [f"at least {gain:g} nat per mean panel" for gain in least_gains]
    return PolicySet([(np.nan, np.nan, w) for w in words], policies, data.states)


GREEDY = AgentKind(
    name="greedy",
    build=build,
    fit=fit,
    settings={
        "encoder": ("Encoder", "", {"kind": "mean"}),
        "classifier": ("ClassifierSettings", "", {}),
        "updates": ("Count", "minibatches of the classifier", 1500),
        "input_bound": (
            "Positive",
            "completed values are clipped to ± this many standard deviations",
            5.0,
        ),
        "units": ("Count", "complete records to look up in", 400),
        "neighbours": ("Count", "that represent a state", 40),
        "least_gain": ("NonNegative", "nats per mean panel cost, below which it stops", 0.02),
    },
    doc="orders the panel of the most information per cost, above a least gain",
    two_classes=True,
    looks={"greedy": (140, "greedy information", "green", "^")},
    several=_several,
    several_settings={
        "units": ("Count", "training units on which gains are looked up", 400),
        "neighbours": ("Count", "of them that represent a state", 40),
        "least_gains": (
            "Positives",
            "nats per mean panel cost, below which each solution stops",
            [0.003, 0.01, 0.02, 0.04, 0.08],
        ),
    },
)
