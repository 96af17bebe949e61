"""The kind `dadi`: fair acquisition against an adversary, learnt from blocked records [dadi].

Differs from the paper: panels that a record lacks cannot be acquired for it in training.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.dadi_policies import DadiPolicies, panel_of_columns
from frugal.acquire.train.dadi import fit_dadi
from frugal.config.learners import DadiSettings
from frugal.core.errors import DataError
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.stored import Array, under
from frugal.core.stored import Stored as Checked

NETWORKS = "networks."  # prefix among the bundle's arrays
THRESHOLD = "threshold"  # of decisions; in bundles of the study `dadi`
SIZES = ("memory_width", "encoding_width", "head_width")


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Train one learner on the records.

    Raises:
        DataError: the label has other than two classes, or the data set tells no groups apart, or
            all rows are of one.
        ConfigError: a column belongs to two panels.
    """
    ground.require_two_classes("dadi")
    how, values = _settings(settings), ground.values
    sensitive = _group(ground)
    order = ground.streams.generator("validation").permutation(len(values))
    held = round(settings["validation_share"] * len(order))
    train = np.sort(order[held:])
    scaling = fit_scaling(values[train], unknown=True).leaving(ground.table.onehot)
    bar = ground.progress(total=how.iterations, desc="iterations")
    found = fit_dadi(
        scaling.standardise(values).astype(np.float32),
        panel_of_columns(Layout.of(ground.table)),
        ground.table.label, sensitive, train, np.sort(order[:held]),
        panel_cost=ground.table.action_cost, available=ground.recorded,
        gammas=np.array([settings["gamma"]], dtype=np.float64), settings=how,
        rng=ground.streams.generator("learner"), save=lambda state: None, state=None,
        advance=bar.update,
    )  # fmt: skip
    bar.close()
    arrays = {NETWORKS + name: array for name, array in found.weights.items()}
    arrays |= {"centre": scaling.centre, "scale": scaling.scale}
    curve = found.curves[["iteration", "objective", "label_loss", "adversary_loss", "panels"]]
    return Learned(arrays, pd.DataFrame(curve))


def agent_settings(
    training: Mapping[str, Any], gamma: Any, validation_share: float
) -> dict[str, Any]:
    """The block of an agent from settings of the study `dadi`, where `training` holds all sizes."""
    sizes = {name: training[name] for name in SIZES}
    return {
        "kind": "dadi", "gamma": gamma, "validation_share": validation_share, "exploration": 0.0,
        "networks": sizes, "training": {k: v for k, v in training.items() if k not in sizes},
    }  # fmt: skip


def _settings(settings: Mapping[str, Any]) -> DadiSettings:
    return DadiSettings.of({**settings["networks"], **settings["training"]})


def _group(ground: Ground) -> np.ndarray:
    """Group of each row. (n,)"""
    if ground.group is None:
        raise DataError(
            "an agent of kind 'dadi' hides a group, and the data set tells none apart; its YAML "
            "needs 'sensitive' with 'column' and two 'groups'"
        )
    if len(np.unique(ground.group)) < 2:
        raise DataError(
            f"an agent of kind 'dadi' hides a group, and all {len(ground.group)} rows of the part "
            "'agent' belong to one"
        )
    return ground.group


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> DadiPolicies:
    """The trained learner."""
    stored = trained(stored, "dadi")
    d = len(layout.columns)
    own = {name: stored[name] for name in ("centre", "scale") if name in stored}
    Checked("DADI agent", own).require(
        {"centre": Array("float64", (d,)), "scale": Array("float64", (d,), above=0)}
    )
    policies = DadiPolicies(
        under(stored, NETWORKS), _settings(settings), panel_of_columns(layout),
        scaling=Scaling(own["centre"], own["scale"]), exploration=settings["exploration"],
        threshold=stored.get(THRESHOLD),
    )  # fmt: skip
    if THRESHOLD in stored:
        wanted = {THRESHOLD: Array("float64", (policies.members,), above=0, high=1)}
        Checked("DADI agent", {THRESHOLD: stored[THRESHOLD]}).require(wanted)
    return policies


DADI = AgentKind(
    name="dadi",
    build=build,
    fit=fit,
    settings={
        "gamma": ("Probability", "weight of accuracy against hiding the group", 0.7),
        "validation_share": ("Probability", "of the part `agent`; for the curves", 0.2),
        "exploration": ("Probability", "of a decision drawn evenly from the allowed ones", 0.0),
        "networks": (
            "DadiNetworks",
            "",
            {"memory_width": 16, "encoding_width": 8, "head_width": 16},
        ),
        "training": (
            "DadiTraining",
            "",
            {
                "processing_steps": 3,
                "pretraining_iterations": 400,
                "iterations": 800,
                "agents": 32,
                "learning_rate": 0.002,
                "exploration_iterations": 400,
                "cost_weight": 0.05,
                "evaluate_every": 400,
                "evaluated_rows": 500,
                "checkpoint_every": 100000,
            },
        ),
    },
    doc="DADI: acquires what predicts the label and hides the group from an adversary",
    two_classes=True,
    steps=(("training.iterations",), ("training.pretraining_iterations",)),
    graph="dadi",
    looks={"dadi": (95, "DADI for the costs", "sky", "8")},
)
