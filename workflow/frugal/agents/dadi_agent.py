"""The kind `dadi`: fair acquisition against an adversary, learnt from blocked records [dadi].

Differs from the paper: the group is asked of one column of the table that every record shows, and a
record's missing panels cannot be acquired for it in training.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd

from frugal.agents.dadi import fit_dadi
from frugal.agents.dadi_policies import DadiPolicies, panel_of_columns
from frugal.agents.dadi_settings import DadiSettings
from frugal.agents.kinds import AgentKind, Ground, Learned, Stored
from frugal.contracts import ConfigError, DataError
from frugal.contracts.layout import Layout
from frugal.contracts.stored import Array, under
from frugal.contracts.stored import Stored as Checked
from frugal.data.folds import numeric_scale
from frugal.models.column_scaling import Scaling

NETWORKS = "networks."  # prefix among the bundle's arrays
OWN = ("gamma", "group", "validation_share", "exploration")


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Train one learner on the records.

    Raises:
        DataError: the label has other than two classes, or the group is not told in every record,
            or is the same in all of them.
        ConfigError: a column belongs to two panels.
    """
    ground.require_two_classes("dadi")
    how, values = _settings(settings), ground.values
    sensitive = _group(ground, settings["group"])
    order = ground.streams.generator("validation").permutation(len(values))
    held = round(settings["validation_share"] * len(order))
    train = np.ones(len(values), dtype=bool)
    train[order[:held]] = False
    centre, scale = numeric_scale(values, onehot=ground.table.onehot, train=train)
    scaling = Scaling(np.nan_to_num(centre), np.nan_to_num(scale, nan=1.0))
    bar = ground.progress(total=how.iterations, desc="iterations")
    found = fit_dadi(
        scaling.standardise(values).astype(np.float32),
        panel_of_columns(Layout.of(ground.table)),
        ground.table.label, sensitive, np.sort(order[held:]), np.sort(order[:held]),
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


def _settings(settings: Mapping[str, Any]) -> DadiSettings:
    return DadiSettings.read({k: v for k, v in settings.items() if k not in ("kind", *OWN)})


def _group(ground: Ground, asked: Mapping[str, Any]) -> np.ndarray:
    """1 where the column lies above the bound, else 0. (n,)"""
    columns = ground.table.columns
    if asked["column"] not in columns:
        raise ConfigError(
            f"an agent of kind 'dadi' takes its group from column {asked['column']!r}; the "
            f"encoded columns are {', '.join(columns)}"
        )
    told = ground.values[:, columns.index(asked["column"])]
    if lost := int(np.isnan(told).sum()):
        raise DataError(
            f"an agent of kind 'dadi' takes its group from column {asked['column']!r}, which "
            f"{lost} of {len(told)} records lack; take one that every record shows"
        )
    group = (told > asked["above"]).astype(np.int64)
    if len(np.unique(group)) < 2:
        raise DataError(
            f"an agent of kind 'dadi' parts its rows by {asked['column']!r} above "
            f"{asked['above']}, and all {len(told)} of them lie on one side"
        )
    return group


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> DadiPolicies:
    """The trained learner."""
    if not isinstance(stored, Mapping):
        raise ConfigError("an agent of kind 'dadi' acts by what `train_agent` made")
    d = len(layout.columns)
    own = {name: stored[name] for name in ("centre", "scale") if name in stored}
    Checked("DADI agent", own).require(
        {"centre": Array("float64", (d,)), "scale": Array("float64", (d,), above=0)}
    )
    return DadiPolicies(
        under(stored, NETWORKS), _settings(settings), panel_of_columns(layout),
        scaling=Scaling(own["centre"], own["scale"]), exploration=settings["exploration"],
    )  # fmt: skip


DADI = AgentKind(
    name="dadi",
    build=build,
    fit=fit,
    needs=(*(field.name for field in fields(DadiSettings)), *OWN),
    doc="DADI: acquires what predicts the label and hides the group from an adversary",
)
