"""Shared parts of the stages of `dadi`: a fold, agents rebuilt from arrays, sets in frames."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Float

from frugal.acquire.kinds import load_policy
from frugal.config.learners import DadiSettings
from frugal.core.errors import DataError
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.stored import StoredArrays, under
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.data.splits import fold_parts, row_sample
from frugal.data.tables import sensitive_from_frames, table_from_frames, withhold_panels
from frugal.studies.dadi.networks import DadiPolicies
from frugal.studies.dadi.policies.dadi import panel_of_columns
from frugal.studies.dadi.spec import LABEL_SHARE

PRETRAINED = "pretrained."  # prefix of the networks that all learners started from


@runtime_checkable
class SavedState(Protocol):
    """Checkpoint of a killed run, kept by the caller of the stage."""

    def load(self) -> dict[str, np.ndarray] | None:
        """The arrays that were saved last, or None."""
        ...

    def save(self, state: Mapping[str, np.ndarray]) -> None:
        """Keep arrays, in place of those saved before."""
        ...


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold of a data set. Shapes: n rows in use, d columns that can be acquired, a panels.

    Attributes:
        full: the rows in use with every panel.
        shown: the same without withheld panels.
        scaling: of the columns of `shown`, numeric ones by training rows.
        full_scaling: the same of `full`.
        panel_of_column: action that reveals each column of `shown`. (d,)
        sensitive: group of each row. (n,)
        part: train, validation or test. (n,)
    """

    full: Table
    shown: Table
    scaling: Scaling
    full_scaling: Scaling
    panel_of_column: np.ndarray
    sensitive: np.ndarray
    part: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """Values of `shown` as networks read them. (n, d)"""
        return self.scaling.standardise(self.shown.values).astype(np.float32)

    @property
    def full_values(self) -> np.ndarray:
        """The same of `full`. (n, w)"""
        return self.full_scaling.standardise(self.full.values).astype(np.float32)

    @property
    def label(self) -> np.ndarray:
        """Class of each row. (n,)"""
        return self.shown.label

    def rows(self, part: str) -> np.ndarray:
        """Positions of the rows of a part."""
        return np.flatnonzero(self.part == part)


def fold_of(
    table: pd.DataFrame, catalogue: Mapping[str, Any], design: Mapping[str, Any], streams: Streams
) -> Fold:
    """The fold that the wildcards name; all stages and all folds of a data set cut it equally.

    Args:
        table: of `prepare_data`.
        catalogue: of `prepare_data`.
        design: rows, withheld_panels, folds, validation_share.
        streams: of the stage; its wildcards name data set and fold.

    Raises:
        DataError: the table has no groups, more than two classes, or missing values; or the fold's
            training or test part lacks a class or a group.
        ConfigError: a withheld panel or the fold is not there.
    """
    data, _ = table_from_frames(table, catalogue)
    sensitive, _ = sensitive_from_frames(table, catalogue)
    if len(data.classes) != 2:
        raise DataError(
            f"{streams.wildcards['dataset']}: dadi needs a label with two classes; there are "
            f"{len(data.classes)}"
        )
    missing = np.isnan(data.values).sum(axis=0)
    if missing.any():
        raise DataError(
            f"{streams.wildcards['dataset']}: dadi needs a table without missing values; "
            f"{data.columns[int(missing.argmax())]} has none in {missing.max()} of {len(data)} rows"
        )
    if (design["rows"] or 0) > len(data):
        raise DataError(
            f"dadi.scenarios: rows of {streams.wildcards['dataset']} is {design['rows']}; allowed "
            f"are numbers up to {len(data)}, those of its table, and null for all"
        )
    shared = Streams(streams.root, "folds", {"dataset": streams.wildcards["dataset"]})
    used = row_sample(len(data), rows=design["rows"], rng=shared.generator("rows"))
    data, sensitive = data.take(used), sensitive[used]
    part = fold_parts(
        len(data),
        folds=design["folds"],
        fold=int(streams.wildcards["fold"]),
        validation_share=design["validation_share"],
        rng=shared.generator("folds"),
    )
    _check_parts(part, data.label, sensitive, streams)
    shown = withhold_panels(data, design["withheld_panels"])
    full_scaling = fit_scaling(data.values[part == "train"]).leaving(data.onehot)
    positions = [data.columns.index(column) for column in shown.columns]
    scaling = Scaling(full_scaling.centre[positions], full_scaling.scale[positions])
    return Fold(data, shown, scaling, full_scaling, panel_of_columns(shown), sensitive, part)


def _check_parts(
    part: np.ndarray, label: np.ndarray, sensitive: np.ndarray, streams: Streams
) -> None:
    """Training and test rows have both classes and both groups."""
    for name in ("train", "test"):
        for quantity, values in (("label", label), ("protected attribute", sensitive)):
            if len(np.unique(values[part == name])) < 2:
                raise DataError(
                    f"{streams.wildcards['dataset']}: the {name} part of fold "
                    f"{streams.wildcards['fold']} has {(part == name).sum()} rows of one "
                    f"{quantity} only; it takes more rows or fewer folds (dadi.folds.count)"
                )


def agents_of(
    weights: StoredArrays, fold: Fold, training: Mapping[str, Any]
) -> tuple[DadiPolicies, DadiPolicies]:
    """The K trained learners, and the pretrained networks as one more, K = 1.

    Raises:
        DataError: the weights are not those of such learners; the message names the first.
    """
    learners, layout = load_policy(weights)
    if not isinstance(learners, DadiPolicies):
        raise DataError(f"{weights.source} holds no DADI agents")
    layout.require_same(fold.shown, f"the stored policy {weights.source}")
    pretrained = DadiPolicies(
        under(weights, PRETRAINED),
        DadiSettings.of(training),
        fold.panel_of_column,
        scaling=fold.scaling,
    )
    if pretrained.members != 1:
        raise DataError(
            f"the stored DADI agent has {pretrained.members} pretrained networks; allowed: 1"
        )
    return learners, pretrained


def decision_cut(
    threshold: float | int | str, validation: Float[np.ndarray, " v"], fold: Fold
) -> float:
    """Least probability that is decided 1.

    `label_share` takes it from validation rows: as many of these are decided 1 as have the label,
    as a share of training and validation rows. So methods differ in whom they decide 1, not in how
    many, and no disparity is small because nobody is.

    Args:
        threshold: a number, which is taken as it is, or `label_share`.
        validation: probabilities of the validation rows. (v,)
        fold: of these rows.

    Raises:
        DataError: `label_share` without validation rows.
    """
    if threshold != LABEL_SHARE:
        return float(threshold)
    if not len(validation):
        raise DataError(
            f"dadi.threshold is {LABEL_SHARE}, and no row validates; allowed are a number, or a "
            "larger dadi.folds.validation_share"
        )
    share = float(fold.label[fold.part != "test"].mean())
    count = min(max(round(share * len(validation)), 1), len(validation))
    ordered = np.sort(validation)
    below = ordered[-count - 1] if count < len(ordered) else ordered[0]
    return float((below + ordered[-count]) / 2)


def label_for(training: Mapping[str, Any], label: np.ndarray) -> np.ndarray | None:
    """The label where the adversary reads it, else None."""
    return label if training["objective"] == "equalised_odds" else None


def acquired_sets(frame: pd.DataFrame, data: Table) -> np.ndarray:
    """The sets of a frame of outcomes. (n, a)"""
    return frame[[f"acquired:{panel.name}" for panel in data.actions]].to_numpy(dtype=bool)
