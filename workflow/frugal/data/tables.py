"""A table as a data frame with a catalogue beside it, and back without loss.

The frame holds what varies by row, the catalogue (plain JSON values) what is the same for all.
Writes no file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import did_you_mean, listed
from frugal.core.stored import OrNull, require_document
from frugal.core.table import Belonging, Panel, Table

_CATALOGUE = {
    "columns": [{"name": str, "unit": OrNull(str)}],
    "onehot": [[int]],
    "panels": [{"name": str, "columns": [str], "cost": float, "free": bool}],
    "classes": [str],
    "misclassification_cost": [[float]],
}
IDENTITY_COLUMNS = ("row_id", "part", "label")


def table_to_frames(
    table: Table,
    split: np.ndarray,
    *,
    units: Mapping[str, str] | None = None,
    sensitive: np.ndarray | None = None,
    groups: Sequence[str] = (),
    belonging: Belonging | None = None,
    report: Mapping[str, Any] | None = None,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Rows and catalogue of a table.

    Args:
        table: n rows.
        split: part name of each row. (n,)
        units: encoded column → unit; None leaves units out of the catalogue.
        sensitive: group of each row, 0 or 1; None where the data set tells no groups apart. (n,)
        groups: names of the two groups.
        belonging: groups that policies are judged in, and which rows belong together.
        report: how the table came about, passed on into the catalogue.

    Returns:
        A frame with `row_id`, `part`, `label` (class index), where there are groups `sensitive`
        (group index), `group_index` and `cluster_index`, and the d encoded columns; and a
        mapping with `columns`, `onehot`, `panels`, `classes`, `misclassification_cost`, `report`.
    """
    identity = pd.DataFrame(
        {"row_id": table.row_id, "part": split.astype(object), "label": table.label}
    )
    if sensitive is not None:
        identity["sensitive"] = sensitive
    apart = belonging or Belonging(None, (), None)
    for name, index in (("group_index", apart.group), ("cluster_index", apart.cluster)):
        if index is not None:
            identity[name] = index
    values = pd.DataFrame(table.values, columns=list(table.columns), copy=False)
    catalogue = {
        "columns": [{"name": c, "unit": (units or {}).get(c)} for c in table.columns],
        "onehot": [list(group) for group in table.onehot],
        "panels": [
            {"name": p.name, "columns": list(p.columns), "cost": float(p.cost), "free": p.free}
            for p in table.panels
        ],
        "classes": list(table.classes),
        "groups": list(groups),
        "group_names": list(apart.names),
        "misclassification_cost": table.misclassification_cost.tolist(),
        "report": dict(report or {}),
    }
    return pd.concat([identity, values], axis=1), catalogue


def table_from_frames(
    frame: pd.DataFrame, catalogue: Mapping[str, Any]
) -> tuple[Table, np.ndarray]:
    """The table and the part of each row, as `table_to_frames` took them apart.

    Raises:
        DataError: the catalogue is none, the frame lacks a column that it lists, or a cell is not
            what it must be.
    """
    require_catalogue(catalogue)
    columns = [c["name"] for c in catalogue["columns"]]
    absent = [c for c in (*IDENTITY_COLUMNS, *columns) if c not in frame.columns]
    if absent:
        raise DataError(f"the table lacks column {absent[0]!r}, which its catalogue lists")
    require_identity(frame, len(catalogue["classes"]))
    require_values(frame, columns)
    if frame["label"].nunique() < 2:
        raise DataError("the label has one class only; a classifier needs at least two")
    return table_of(frame, catalogue), frame["part"].to_numpy().astype(str)


def table_of(frame: pd.DataFrame, catalogue: Mapping[str, Any]) -> Table:
    """Some rows of a table, which were checked, of a catalogue that was."""
    columns = [c["name"] for c in catalogue["columns"]]
    return Table(
        row_id=frame["row_id"].to_numpy(dtype=np.int64),
        values=frame[columns].to_numpy(dtype=np.float64),
        columns=tuple(columns),
        onehot=tuple(tuple(group) for group in catalogue["onehot"]),
        label=frame["label"].to_numpy(dtype=np.int64),
        classes=tuple(catalogue["classes"]),
        panels=tuple(
            Panel(p["name"], tuple(p["columns"]), float(p["cost"]), bool(p["free"]))
            for p in catalogue["panels"]
        ),
        misclassification_cost=np.array(catalogue["misclassification_cost"], dtype=np.float64),
    )


def require_catalogue(catalogue: Any) -> None:
    """Names, panels, codes and costs of a table, which fit one another.

    Raises:
        DataError: they do not.
    """
    what = "catalogue of a table"
    known = catalogue
    if isinstance(catalogue, Mapping):  # groups and report are for those who read them
        known = {key: catalogue[key] for key in catalogue if key in _CATALOGUE}
    require_document(known, _CATALOGUE, what)
    names, k = [column["name"] for column in known["columns"]], len(known["classes"])
    if len(set(names)) < len(names):
        raise DataError(f"the stored {what} names a column twice; each has its own name")
    for group in known["onehot"]:
        if not all(0 <= j < len(names) for j in group):
            raise DataError(
                f"the stored {what} has the one-hot group {group[:20]}; allowed are columns 0 to "
                f"{len(names) - 1}"
            )
    if [len(row) for row in known["misclassification_cost"]] != [k] * k:
        raise DataError(
            f"the stored {what} has misclassification costs that are not {k} rows of {k} numbers, "
            "one for each pair of classes"
        )


def require_identity(frame: pd.DataFrame, classes: int) -> None:
    """Labels are classes, and rows are told apart.

    Raises:
        DataError: a label is no class, or a row_id stands twice.
    """
    for name in ("row_id", "label"):
        if frame[name].dtype.kind not in "iu":
            raise DataError(
                f"column {name!r} of the stored table is of type {frame[name].dtype}; allowed are "
                "whole numbers"
            )
    if not frame["row_id"].is_unique:
        raise DataError("the stored table has a row_id twice; each row has its own")
    label = frame["label"].to_numpy()
    if len(label) and not (label.min() >= 0 and label.max() < classes):
        raise DataError(
            f"labels of the stored table run from {label.min()} to {label.max()}; allowed are 0 to "
            f"{classes - 1}, its classes"
        )


def require_values(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Values are numbers, or NaN where there is none.

    Raises:
        DataError: names a column in which another thing stands.
    """
    for name in columns:
        if frame[name].dtype.kind not in "iufb" or np.isinf(frame[name].to_numpy()).any():
            raise DataError(
                f"column {name!r} of the stored table holds what is no finite number, or is of "
                f"type {frame[name].dtype}; allowed are finite numbers, or gaps"
            )


def sensitive_from_frames(
    frame: pd.DataFrame, catalogue: Mapping[str, Any]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Group of each row, 0 or 1, and the names of the two groups.

    Raises:
        DataError: the data set's YAML tells no groups apart.
    """
    if "sensitive" not in frame.columns or len(catalogue["groups"]) != 2:
        raise DataError(
            f"data set {catalogue['report'].get('name', 'without a name')!r} has no groups of a "
            "protected attribute; its YAML needs 'sensitive' with 'column' and two 'groups'"
        )
    return frame["sensitive"].to_numpy(dtype=np.int64), tuple(catalogue["groups"])


def belonging_from_frames(frame: pd.DataFrame, catalogue: Mapping[str, Any]) -> Belonging:
    """Group and cluster of each row, as `table_to_frames` stored them."""
    group, cluster = (
        frame[name].to_numpy(dtype=np.int64) if name in frame.columns else None
        for name in ("group_index", "cluster_index")
    )
    return Belonging(group, tuple(catalogue.get("group_names", ())), cluster)


def withhold_panels(table: Table, names: Sequence[str]) -> Table:
    """The table without some panels and their columns.

    Raises:
        ConfigError: there is no such panel, another panel would reveal what is to be withheld, or
            none would be left to acquire.
    """
    known = [panel.name for panel in table.panels]
    for name in names:
        if name not in known:
            raise ConfigError(
                f"panel {name!r} is to be withheld, but the table's panels are {listed(known)}"
                f"{did_you_mean(name, known)}"
            )
    panels = tuple(panel for panel in table.panels if panel.name not in names)
    shown = {column: panel.name for panel in panels for column in panel.columns}
    for panel in table.panels:
        still = [column for column in panel.columns if panel.name in names and column in shown]
        if still:
            raise ConfigError(
                f"panel {panel.name!r} is to be withheld, but {shown[still[0]]!r} would reveal its "
                f"column {still[0]!r}; withhold that one, too, or leave the column out of it"
            )
    kept = [j for j, column in enumerate(table.columns) if column in shown]
    if all(panel.free for panel in panels):
        raise ConfigError(f"without {listed(names)} no panel is left to be acquired")
    new = {j: k for k, j in enumerate(kept)}
    return replace(
        table,
        values=table.values[:, kept],
        columns=tuple(table.columns[j] for j in kept),
        onehot=tuple(
            tuple(new[j] for j in group) for group in table.onehot if all(j in new for j in group)
        ),
        panels=panels,
    )
