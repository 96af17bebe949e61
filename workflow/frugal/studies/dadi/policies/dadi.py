"""The kind `dadi`: fair acquisition against an adversary, learnt from blocked records [dadi].

Differs from the paper: panels that a record lacks cannot be acquired for it in training.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from frugal.acquire.kinds import AgentKind, Ground, Learned, Saved, trained
from frugal.config.learners import DadiSettings
from frugal.core.errors import ConfigError, DataError
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.stored import Array, Stored, declared, under
from frugal.core.table import Table
from frugal.studies.dadi.fitting import fit_dadi
from frugal.studies.dadi.networks import DadiPolicies
from frugal.studies.dadi.token_memory import FREE

NETWORKS = "networks."  # prefix among the bundle's arrays
THRESHOLD = "threshold"  # of decisions; in bundles of the study `dadi`
SIZES = ("memory_width", "encoding_width", "head_width")


def panel_of_columns(table: Table | Layout) -> Int[np.ndarray, " d"]:
    """Action that reveals each column of a table, or FREE for a column known from the start. (d,)

    Raises:
        ConfigError: a column belongs to two panels; this agent has one panel per column.
    """
    holders = table.provides.sum(axis=0)
    twice = np.flatnonzero(~table.free_columns & (holders > 1))
    if twice.size:
        raise ConfigError(
            f"column {table.columns[twice[0]]!r} belongs to {holders[twice[0]]} panels; a DADI "
            "agent takes tables in which each column belongs to one"
        )
    return np.where(table.free_columns, FREE, table.provides.argmax(axis=0)).astype(np.int64)


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Train one learner on the records.

    Raises:
        DataError: the label has other than two classes, or the data set defines no groups, or
            all rows are of one.
        ConfigError: a column belongs to two panels.
    """
    ground.require_two_classes("dadi")
    how, values = _settings(settings), ground.values
    sensitive = _group(ground)
    order = ground.streams.generator("validation").permutation(len(values))
    n_validation = round(settings["validation_share"] * len(order))
    train = np.sort(order[n_validation:])
    scaling = fit_scaling(values[train], unknown=True).leaving(ground.table.onehot)
    bar = ground.progress(total=how.iterations, desc="iterations")
    result = fit_dadi(
        scaling.standardise(values).astype(np.float32),
        panel_of_columns(Layout.of(ground.table)),
        ground.table.label,
        sensitive,
        train,
        np.sort(order[:n_validation]),
        panel_cost=ground.table.action_cost,
        available=ground.recorded,
        gammas=np.array([settings["gamma"]], dtype=np.float64),
        settings=how,
        rng=ground.streams.generator("learner"),
        save=lambda state: None,
        state=None,
        advance=bar.update,
    )
    bar.close()
    arrays = {NETWORKS + name: array for name, array in result.weights.items()}
    arrays |= {"centre": scaling.centre, "scale": scaling.scale}
    curve = result.curves[["iteration", "objective", "label_loss", "adversary_loss", "panels"]]
    return Learned(arrays, pd.DataFrame(curve))


def agent_settings(
    training: Mapping[str, Any], gamma: Any, validation_share: float
) -> dict[str, Any]:
    """The block of an agent from settings of the study `dadi`, where `training` holds all sizes."""
    sizes = {name: training[name] for name in SIZES}
    return {
        "kind": "dadi",
        "gamma": gamma,
        "validation_share": validation_share,
        "exploration": 0.0,
        "networks": sizes,
        "training": {k: v for k, v in training.items() if k not in sizes},
    }


def _settings(settings: Mapping[str, Any]) -> DadiSettings:
    return DadiSettings.of({**settings["networks"], **settings["training"]})


def _group(ground: Ground) -> np.ndarray:
    """Group of each row. (n,)"""
    if ground.group is None:
        raise DataError(
            "an agent of kind 'dadi' hides a group, and the data set has none; its YAML "
            "needs 'sensitive' with 'column' and two 'groups'"
        )
    if len(np.unique(ground.group)) < 2:
        raise DataError(
            f"an agent of kind 'dadi' hides a group, and all {len(ground.group)} rows of the part "
            "'agent' belong to one"
        )
    return ground.group


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> DadiPolicies:
    """The trained learner."""
    stored = trained(stored, "dadi")
    d = len(layout.columns)
    arrays = {name: stored[name] for name in declared(Scaling) if name in stored}
    Stored("DADI agent", arrays).require(declared(Scaling), d=d)
    policies = DadiPolicies(
        under(stored, NETWORKS),
        _settings(settings),
        panel_of_columns(layout),
        scaling=Scaling(**arrays),
        exploration=settings["exploration"],
        threshold=stored.get(THRESHOLD),
    )
    if THRESHOLD in stored:
        expected = {THRESHOLD: Array("float64", (policies.members,), above=0, high=1)}
        Stored("DADI agent", {THRESHOLD: stored[THRESHOLD]}).require(expected)
    return policies


DADI = AgentKind(
    name="dadi",
    build=build,
    fit=fit,
    settings={
        "gamma": ("Probability", "weight of accuracy against hiding the group", 0.7),
        "validation_share": ("Share", "of the part `agent`; for the curves", 0.2),
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
    doc="DADI: acquires panels that predict the label and hide the group from an adversary",
    two_classes=True,
    looks={"dadi": (95, "DADI for the costs", "sky", "8")},
)
