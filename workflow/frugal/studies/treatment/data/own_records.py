"""One's own records of treatment searches: their YAML, and the file as trials in order.

Long files have a row per trial, wide ones a row per unit with a column per treatment. Errors name
the problem and its place; corrections (repeats, missing values) are counted and reported. Knows no
planner.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import cell_hint, listed, read_yaml
from frugal.data.encoded_columns import unaccented
from frugal.data.encoding import spelled_alike
from frugal.data.long_files import LongFile
from frugal.studies.treatment.data.keys import RecordsEntry
from frugal.studies.treatment.data.levels import ColumnLevels
from frugal.studies.treatment.data.records import TrialRecords


@dataclass(frozen=True)
class RecordsDescription:
    """A user's records, as described in their YAML.

    Attributes:
        path: the YAML; `file` is relative to it.
        document: as it is written.
        keys: its keys, with their defaults.
        outcomes: levels from the worst to the best.
        outcome_value: value of each level, ascending.
        covariates: of a policy.
        confounders: of the estimators.
    """

    path: Path
    document: Mapping[str, Any]
    keys: RecordsEntry
    outcomes: ColumnLevels
    outcome_value: tuple[float, ...]
    covariates: tuple[ColumnLevels, ...]
    confounders: tuple[ColumnLevels, ...]

    @property
    def deltas(self) -> tuple[float, ...]:
        """Probabilities of stopping too early that are tried; the first decides."""
        return self.keys.delta

    @property
    def file(self) -> Path:
        """Where the records lie."""
        return self.path.parent / self.document["file"]


@dataclass(frozen=True, eq=False)
class OwnRecords:
    """Units with their treatments, in order. Shapes: n units, c columns of a kind.

    Attributes:
        names: of the units. (n,)
        cluster: of each unit, whom it belongs to. (n,)
        treatments: names.
        covariate: level of each covariate; the last one is `missing` where any is. (n, c)
        confounder: the same of confounders. (n, c)
        action: tried treatments in order, −1 after the last. (n, t)
        outcome: their outcomes. (n, t)
        remarks: corrections, one sentence each.
    """

    names: tuple[str, ...]
    cluster: Int[np.ndarray, " n"]
    treatments: tuple[str, ...]
    covariate: Int[np.ndarray, "n c"]
    confounder: Int[np.ndarray, "n d"]
    action: Int[np.ndarray, "n t"]
    outcome: Int[np.ndarray, "n t"]
    remarks: tuple[str, ...]


def load_records_description(path: Path) -> RecordsDescription:
    """The records that a YAML describes, checked against its schema and for sense.

    Raises:
        ConfigError: a key is unknown, missing or of another layout, or levels make no sense.
    """
    return describe_records(read_yaml(path), path)


def describe_records(document: Any, path: Path) -> RecordsDescription:
    """The records that a document describes; see `load_records_description`."""
    keys = RecordsEntry.read(document, where=str(path))
    outcome_keys = document["outcomes"]
    falling = keys.outcomes.better == "lower"
    outcomes = _levels(document.get("outcome", "outcome"), outcome_keys, falling=falling)
    outcome_value = tuple(float(v) for v in outcome_keys.get("worth", range(len(outcomes.names))))
    kinds = [
        tuple(_levels(name, levels) for name, levels in document.get(key, {}).items())
        for key in ("covariates", "confounders")
    ]
    return RecordsDescription(path, document, keys, outcomes, outcome_value, *kinds)


def _levels(column: str, keys: Mapping[str, Any], *, falling: bool = False) -> ColumnLevels:
    if "levels" in keys:
        texts = tuple(_written(value) for value in keys["levels"])
        return ColumnLevels(column, texts, texts, ())
    edges = tuple(float(v) for v in keys["edges"])
    text = [f"{v:.15g}" for v in edges]
    names = [f"below {text[0]}", *(f"{a} to {b}" for a, b in pairwise(text))]
    names.append(f"{text[-1]} or more")
    return ColumnLevels(column, tuple(names[::-1] if falling else names), (), edges, falling)


def _written(value: object) -> str:
    """A level as written in a CSV: YAML reads yes and no as truth values."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def read_own_records(
    described: RecordsDescription, file: Path, *, treatments: Sequence[str] | None = None
) -> OwnRecords:
    """The trials of every unit in their order.

    Args:
        described: description of the file.
        file: CSV or Parquet.
        treatments: where units are those in need of a next step, the treatments that the
            policy knows; units without a trial stay, neither order nor confounders are read.

    Raises:
        DataError: a column is missing, or a cell is invalid; which, and where.
    """
    fresh, document = treatments is not None, described.document
    columns = [document["unit"], *(level.column for level in described.covariates)]
    if not fresh:
        columns += [level.column for level in described.confounders]
        columns += [document["belongs_to"]] if document.get("belongs_to") else []
    if document["layout"] == "long":
        columns += [document["treatment"], document["outcome"]]
        columns += [] if fresh else [document["step"]]
    else:
        columns += list(document["treatments"].values())
        if not fresh and document["order"] != "columns":
            columns += list(document["order"].values())
    cells = LongFile.of(file, *columns, quantities=_quantities(described))
    cells.require_columns(*columns)
    long = _long(cells, described, fresh=fresh)
    treatment_names = (
        _treatments(long, document, cells.name) if treatments is None else tuple(treatments)
    )
    for name, line in zip(long["treatment"], long["line"], strict=True):
        if name not in treatment_names:
            raise DataError(
                f"{cells.name}, line {line}: treatment {shown_cell(name)} is none that the policy "
                f"knows; these are {listed(treatment_names)}{cell_hint(name, treatment_names)}"
            )
    return _searches(cells, long, described, treatment_names, fresh=fresh)


def _quantities(described: RecordsDescription) -> list[str]:
    """Columns that hold numbers or dates."""
    document = described.document
    kinds = (*described.covariates, *described.confounders)
    columns = [level.column for level in kinds if not level.texts]
    if not described.outcomes.texts:
        wide = document["layout"] == "wide"
        columns += document["treatments"].values() if wide else [document["outcome"]]
    order = document.get("order")
    columns += [document["step"]] if document["layout"] == "long" else []
    return columns + (list(order.values()) if isinstance(order, Mapping) else [])


def _long(file: LongFile, described: RecordsDescription, *, fresh: bool) -> pd.DataFrame:
    """One row per trial: unit, step, treatment, outcome (index), line; sorted as the file is."""
    document = described.document
    if document["layout"] == "long":
        is_trial = (file.cells[document["treatment"]] != "").to_numpy()
        tried = file.take(is_trial)
        return pd.DataFrame(
            {
                "unit": file.names(document["unit"])[is_trial],
                "step": 0.0 if fresh else tried.times(document["step"]),
                "treatment": tried.names(document["treatment"]),
                "outcome": described.outcomes.code(tried),
                "line": tried.lines,
            }
        )
    parts, units = [], file.names(document["unit"])
    for place, (name, column) in enumerate(document["treatments"].items()):
        level = replace(described.outcomes, column=column)
        order = document["order"]
        step: Any = float(place)
        if not fresh and order != "columns":
            step = file.times(order[name])
        coded = level.code(file)
        parts.append(
            pd.DataFrame(
                {
                    "unit": units,
                    "step": step,
                    "treatment": name,
                    "outcome": coded,
                    "line": file.lines,
                }
            )[coded >= 0]
        )
    return pd.concat(parts, ignore_index=True)


def _searches(
    file: LongFile,
    long: pd.DataFrame,
    described: RecordsDescription,
    treatments: tuple[str, ...],
    *,
    fresh: bool,
) -> OwnRecords:
    """Trials under their units: each treatment's first, cut where an outcome is missing."""
    document, lines, source = described.document, file.lines, file.name
    kinds = (*described.covariates, *(() if fresh else described.confounders))
    columns = [] if fresh else [c for c in _quantities(described) if c in file.cells]
    texts = [text for level in (described.outcomes, *kinds) for text in level.texts]
    columns += [level.column for level in kinds]
    columns += [c for c in [document.get("outcome")] if c is not None]
    remarks = [*file.remarks, *file.remarks_on(columns, texts)]
    units = file.names(document["unit"])
    names, first = np.unique(units, return_index=True)
    levels = {}
    for key, kind in (("covariates", described.covariates), ("confounders", described.confounders)):
        coded = []
        for level in kind if not (fresh and key == "confounders") else ():
            codes = level.code(file)
            _require_constant(units, codes, level.column, lines, source)
            codes = codes[first]
            if n_missing := int((codes < 0).sum()):
                remarks.append(
                    f"{level.column} is missing for {n_missing} of {len(names)} units, a level of "
                    "its own"
                )
            coded.append(np.where(codes < 0, len(level.names), codes))
        levels[key] = (
            np.stack(coded, axis=1) if coded else np.zeros((len(names), 0), dtype=np.int64)
        )
    if long["step"].isna().any():
        at = long[long["step"].isna()].iloc[0]
        raise DataError(
            f"{source}, line {at['line']}: treatment {shown_cell(at['treatment'])} has an outcome "
            "and no step; the order of trials defines the history before each"
        )
    rows = long.sort_values(["unit", "step"], kind="stable")
    repeated = rows.duplicated(["unit", "treatment"])
    if repeated.any():
        remarks.append(
            f"{int(repeated.sum())} trials repeat a treatment of the same unit; the first counts"
        )
        rows = rows[~repeated]
    if not fresh:
        same = rows.duplicated(["unit", "step"], keep=False)
        if same.any():
            remarks.append(
                f"{int(same.sum())} trials share their step with another one of the unit; they are "
                "taken in the order of the file"
            )
    unknown = rows["outcome"] < 0
    if unknown.any():
        cut = unknown.groupby(rows["unit"]).cummax()
        remarks.append(
            f"{int(unknown.sum())} trials have no outcome; these searches end before them"
        )
        rows = rows[~cut]
    place = rows.groupby("unit").cumcount().to_numpy()
    unit = np.searchsorted(names, rows["unit"].to_numpy(dtype=str))
    action = np.full((len(names), len(treatments)), -1, dtype=np.int64)
    outcome = action.copy()
    number = {name: i for i, name in enumerate(treatments)}
    action[unit, place] = rows["treatment"].map(number).to_numpy()
    outcome[unit, place] = rows["outcome"].to_numpy()
    cluster = np.arange(len(names))
    if document.get("belongs_to") and not fresh:
        column = document["belongs_to"]
        numbers = np.unique(file.names(column), return_inverse=True)[1]
        _require_constant(units, numbers, column, lines, source)
        cluster = numbers[first]
    with_trials = np.ones(len(names), dtype=bool) if fresh else action[:, 0] >= 0
    if not with_trials.all():
        remarks.append(
            f"{int((~with_trials).sum())} units have no trial with an outcome; they are left out"
        )
    return OwnRecords(
        tuple(names[with_trials].tolist()),
        cluster[with_trials],
        treatments,
        levels["covariates"][with_trials],
        levels["confounders"][with_trials],
        action[with_trials],
        outcome[with_trials],
        tuple(remarks),
    )


def _treatments(long: pd.DataFrame, document: Mapping[str, Any], source: str) -> tuple[str, ...]:
    if document["layout"] == "wide":
        return tuple(document["treatments"])
    names = tuple(sorted(long["treatment"].unique()))
    if confusable := spelled_alike(names, unaccented):
        raise DataError(
            f"{source}: column {document['treatment']!r} holds {shown_cell(confusable[0])} and "
            "another text that differs from it by blanks, capitals or accents only; write a "
            "treatment always in the same way, and give different ones different names"
        )
    return names


def _require_constant(unit, codes: np.ndarray, column: str, lines: np.ndarray, source: str) -> None:
    """Check that covariates known before the first trial are constant within a unit."""
    first_rows: dict[str, int] = {}
    for row, name in enumerate(unit):
        if first_rows.setdefault(name, row) != row and codes[first_rows[name]] != codes[row]:
            raise DataError(
                f"{source}, lines {lines[first_rows[name]]} and {lines[row]}: column {column!r} "
                f"differs within unit {shown_cell(name)}; values known before the first trial are "
                "the same in all of its rows"
            )


def trial_records(
    records: OwnRecords, context: Int[np.ndarray, " n"], contexts: int, outcomes: int
):
    """The trials as records of searches."""
    return TrialRecords(
        context, records.action, records.outcome, contexts, len(records.treatments), outcomes
    )
