"""The kind `greedy`: information gain per cost, looked up among complete records.

The dynamic baseline of [diagnosis, sec. 6.2] on blocked records. Differs from there: reference
units are complete records, since only they show what each panel tells; the verdict is the cheaper
one by the table's costs of errors.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.encoders import fits, tabulate
from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.reading import completed_states
from frugal.acquire.train.greedy_information import (
    GreedyPolicies,
    ReferenceUnits,
    WideReferenceUnits,
)
from frugal.acquire.train.lockstep_classifier import Classifiers
from frugal.acquire.train.state_classifier import StateClassifier, fit_state_classifier
from frugal.config.learners import ClassifierSettings
from frugal.core.errors import DataError
from frugal.core.layout import Layout
from frugal.core.stored import Array, under
from frugal.core.stored import Stored as Checked
from frugal.core.world import StateEncoder, World
from frugal.learn.imputer_kinds import fit_encoder, imputer_arrays, imputer_of

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
            "an agent of kind 'greedy' looks up what panels tell among complete records, and none "
            f"of the {len(ground.table)} rows of the part 'agent' is complete"
        )
    imputer = fit_encoder(
        ground.values, ground.values, table=ground.table, settings=settings["encoder"],
        rng=ground.streams.generator("encoder"),
    )  # fmt: skip
    world = ground.world(terminals=2)
    classifier = fit_state_classifier(
        world, completed_states(imputer, world),
        settings=ClassifierSettings.of(settings["classifier"]),
        updates=settings["updates"], input_bound=float(settings["input_bound"]),
        rng=ground.streams.generator("classifier"),
    )  # fmt: skip
    drawn = ground.streams.generator("reference").permutation(complete)[: settings["units"]]
    cost = ground.table.misclassification_cost
    arrays = {ENCODER + name: array for name, array in imputer_arrays(imputer).items()}
    arrays |= {CLASSIFIER + name: v for name, v in classifier.networks.export().items()}
    arrays |= {
        "reference": ground.table.values[np.sort(drawn)],
        "threshold": np.array([cost[0, 1] / (cost[0, 1] + cost[1, 0])]),
    }
    return Learned(arrays, pd.DataFrame({"transitions": [settings["updates"]]}))


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> GreedyPolicies:
    """The policy, with the reference units completed at every set of panels."""
    stored = trained(stored, "greedy")
    imputer = imputer_of(under(stored, ENCODER), columns=len(layout.columns))
    own = {name: stored[name] for name in ("reference", "threshold") if name in stored}
    Checked("greedy policy", own).require(
        {
            "reference": Array("float64", ("units", len(layout.columns))),
            "threshold": Array("float64", (1,), above=0, high=1),
        }
    )
    networks = Classifiers.of(under(stored, CLASSIFIER), settings["classifier"]["activation"])
    classifier = StateClassifier(networks, float(settings["input_bound"]))
    world = _reference_world(own["reference"], layout)
    units = _reference_units(completed_states(imputer, world), world, classifier)
    return GreedyPolicies(
        units, classifier, imputer, layout.action_cost,
        settings["neighbours"], np.array([settings["least_gain"] / layout.action_cost.mean()]),
        own["threshold"],
    )  # fmt: skip


def _reference_units(
    states: StateEncoder, world: World, classifier: StateClassifier
) -> ReferenceUnits | WideReferenceUnits:
    """At all sets of panels, where their completed rows take little memory; else set by set."""
    n, a = len(world), world.panels
    if not fits(n, a, states.width, MEMORY_GIB):
        return WideReferenceUnits(states, n, classifier)
    return ReferenceUnits.of(tabulate(states, n, a, max_gib=MEMORY_GIB), classifier)


def _reference_world(values: np.ndarray, layout: Layout) -> World:
    n, a = len(values), len(layout.actions)
    return World(
        "full", 0, np.arange(n), values, layout.provides, layout.free_columns,
        np.ones((n, a), dtype=bool), np.zeros(n, dtype=np.int64), layout.action_cost,
        len(layout.classes), 1,
    )  # fmt: skip


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
        "neighbours": ("Count", "that stand for a state", 40),
        "least_gain": ("NonNegative", "nats per mean panel cost, below which it stops", 0.02),
    },
    doc="orders the panel of the most information per cost, while it is worth it",
    two_classes=True,
    steps=(("updates",),),
    looks={"greedy": (140, "greedy information", "green", "^")},
)
