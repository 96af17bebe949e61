"""The kind `cwcf`: Q-learning of panels and verdicts on blocked records [diagnosis, sec. 6.2].

The price of a panel and of an error are the table's own, so that one network stands for the study's
cost; its verdicts are read off its values.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.encoders import ValuesEncoder
from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.train.cwcf import CwcfPolicies, fit_cwcf
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling
from frugal.core.stored import Array, under
from frugal.core.stored import Stored as Checked

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
        world, ground.observed(encoder), cost_weight=np.array([1 / unit]), class_weights=errors,
        settings=settings["dqn"],
        rngs=[ground.streams.generator("learner")],
    )  # fmt: skip
    arrays = {NETWORK + name: array for name, array in weights.items()} | {
        "centre": scaling.centre,
        "scale": scaling.scale,
        "column_bits": np.array([encoder.column_bits], dtype=np.uint8),
        "errors": np.array(errors),
    }
    curve = pd.DataFrame({"transitions": [settings["dqn"]["transitions"]]})
    return Learned(arrays, curve)


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> CwcfPolicies:
    """The trained network."""
    del settings
    stored = trained(stored, "cwcf")
    network, d = under(stored, NETWORK), len(layout.columns)
    own = {name: array for name, array in stored.items() if not name.startswith(NETWORK)}
    Checked("CWCF policy", own).require(
        {
            "centre": Array("float64", (d,)),
            "scale": Array("float64", (d,), above=0),
            "column_bits": Array("uint8", (1,), low=0, high=1),
            "errors": Array("float64", (2,), above=0),
        }
    )
    healthy, ill = map(float, own["errors"])
    return CwcfPolicies(
        network, len(layout.actions), Scaling(own["centre"], own["scale"]),
        bool(own["column_bits"][0]), (healthy, ill), None,
    )  # fmt: skip


CWCF = AgentKind(
    name="cwcf",
    build=build,
    fit=fit,
    settings={"dqn": ("DqnSettings", "", {})},
    doc="classification with costly features: Q-learning of panels and verdicts on blocked records",
    two_classes=True,
    steps=(("dqn.transitions",),),
    graph="cwcf",
    looks={"cwcf": (130, "CWCF", "vermillion", "v")},
)
