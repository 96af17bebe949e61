"""A stored table: a data frame with a catalogue, and back without loss, block by block.

The frame holds values by row, the catalogue (plain JSON values) those shared by all. A column that
is held of all rows at once is two bytes a row (its part), or one column. Writes no file.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.blocks import block_slices
from frugal.core.errors import ConfigError, DataError
from frugal.core.numeric import NumericLabel
from frugal.core.rows import Rows, rows_of
from frugal.core.schema_check import did_you_mean, listed
from frugal.core.stored import OrNull, require_document
from frugal.core.table import Belonging, Panel, SetUp, Table

BELONGING = ("group_index", "cluster_index")
FOLD = "fold_"  # before the number of a part that is a fold
JUDGED, LEARNED = "test", "agent"  # parts as which the last fold and the others serve single jobs
EVERY = (LEARNED, JUDGED)  # of a table with folds: all rows
_CATALOGUE = {
    "columns": [{"name": str, "unit": OrNull(str)}],
    "onehot": [[int]],
    "panels": [{"name": str, "columns": [str], "cost": float, "free": bool}],
    "classes": [str],
    "misclassification_cost": [[float]],
}
MISSING = -1  # in place of a class
IDENTITY_COLUMNS = ("row_id", "part", "label")
NUMBER = "label_number"  # a numeric label itself


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
        sensitive: group of each row, 0 or 1; None where the data set defines no groups. (n,)
        groups: names of the two groups.
        belonging: groups that policies are judged in, and which rows belong together.
        report: how the table came about, passed on into the catalogue.

    Returns:
        A frame with `row_id`, `part`, `label` (class index), the number of a numeric label as
        `label_number`, where there are groups `sensitive`
        (group index), `group_index` and `cluster_index`, and the d encoded columns; and a
        mapping with `columns`, `onehot`, `panels`, `classes`, `misclassification_cost`, `report`.
    """
    identity = pd.DataFrame(
        {"row_id": table.row_id, "part": split.astype(object), "label": table.label}
    )
    if table.number is not None:
        identity[NUMBER] = table.number
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
    if table.set_ups:
        catalogue["set_ups"] = [{"panels": [*s.panels], "cost": s.cost} for s in table.set_ups]
    if table.fees:
        catalogue["fees"] = dict(table.fees)
    if table.numeric is not None:
        catalogue["numeric"] = asdict(table.numeric) | {"values": list(table.numeric.values)}
    return pd.concat([identity, values], axis=1), catalogue


def table_from_frames(
    frame: pd.DataFrame, catalogue: Mapping[str, Any]
) -> tuple[Table, np.ndarray]:
    """The table and the part of each row, as `table_to_frames` took them apart.

    Raises:
        DataError: the catalogue is none, the frame lacks a column that it lists, or a cell is not
            the requirement.
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
    numeric = catalogue.get("numeric")
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
        set_ups=tuple(
            SetUp(tuple(s["panels"]), float(s["cost"])) for s in catalogue.get("set_ups", ())
        ),
        fees=dict(catalogue.get("fees", {})),
        numeric=numeric and NumericLabel(**{**numeric, "values": tuple(numeric["values"])}),
        number=frame[NUMBER].to_numpy(dtype=np.float64) if numeric else None,
    )


def require_catalogue(catalogue: Any) -> None:
    """Names, panels, codes and costs of a table, which fit one another.

    Raises:
        DataError: they do not.
    """
    subject = "catalogue of a table"
    checked = catalogue
    if isinstance(catalogue, Mapping):  # groups and report are for those who read them
        checked = {key: catalogue[key] for key in catalogue if key in _CATALOGUE}
    require_document(checked, _CATALOGUE, subject)
    names, k = [column["name"] for column in checked["columns"]], len(checked["classes"])
    if len(set(names)) < len(names):
        raise DataError(f"the stored {subject} names a column twice; each has its own name")
    for group in checked["onehot"]:
        if not all(0 <= j < len(names) for j in group):
            raise DataError(
                f"the stored {subject} has the one-hot group {group[:20]}; allowed are columns 0 "
                f"to {len(names) - 1}"
            )
    if [len(row) for row in checked["misclassification_cost"]] != [k] * k:
        raise DataError(
            f"the stored {subject} has misclassification costs that are not {k} rows of {k} "
            "numbers, one for each pair of classes"
        )


def require_identity(frame: pd.DataFrame, classes: int, *, unlabelled: bool = False) -> None:
    """Check that labels are classes and identities are unique.

    Args:
        frame: rows of a table.
        classes: how many there are.
        unlabelled: whether labels may be missing.

    Raises:
        DataError: a label is missing or no class, or a row_id occurs twice.
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
    if len(label) and label.min() == MISSING and not unlabelled:
        raise DataError(
            f"{int((label == MISSING).sum()):,} of {len(label):,} rows have no label, which "
            "'label.unlabelled: weigh' keeps for `decide`; this step needs a label in every row: "
            "drop the others by {rule: label_missing, reason: …} under 'drop_rows'"
        )
    if len(label) and not (label.min() >= (MISSING if unlabelled else 0) and label.max() < classes):
        raise DataError(
            f"labels of the stored table run from {label.min()} to {label.max()}; allowed are 0 to "
            f"{classes - 1}, its classes"
        )


def require_values(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    """Values are numbers, or NaN where there is none.

    Raises:
        DataError: names a column that has another content.
    """
    for name in columns:
        if frame[name].dtype.kind not in "iufb" or np.isinf(frame[name].to_numpy()).any():
            raise DataError(
                f"column {name!r} of the stored table holds a number that is not finite, or is "
                f"of type {frame[name].dtype}; allowed are finite numbers, or gaps"
            )


def sensitive_from_frames(
    frame: pd.DataFrame, catalogue: Mapping[str, Any]
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Group of each row, 0 or 1, and the names of the two groups.

    Raises:
        DataError: the data set's YAML defines no groups.
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
        ConfigError: there is no such panel, another panel would reveal the withheld one, or
            none would be left to acquire.
    """
    panel_names = [panel.name for panel in table.panels]
    for name in names:
        if name not in panel_names:
            raise ConfigError(
                f"panel {name!r} is to be withheld, but the table's panels are "
                f"{listed(panel_names)}{did_you_mean(name, panel_names)}"
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
    remaining = [j for j, column in enumerate(table.columns) if column in shown]
    if all(panel.free for panel in panels):
        raise ConfigError(f"without {listed(names)} no panel is left to be acquired")
    new = {j: k for k, j in enumerate(remaining)}
    return replace(
        table,
        values=table.values[:, remaining],
        columns=tuple(table.columns[j] for j in remaining),
        onehot=tuple(
            tuple(new[j] for j in group) for group in table.onehot if all(j in new for j in group)
        ),
        panels=panels,
    )


def available_panels(table: Table) -> Bool[np.ndarray, "n a"]:
    """True where at least one column of a panel that is not free is known. (n, a)"""
    observed = ~np.isnan(table.values)
    return (observed.astype(np.float32) @ table.provides.T.astype(np.float32)) > 0


def panel_columns(prefix: str, data: Table) -> list[str]:
    """`prefix:panel` for each action."""
    return [f"{prefix}:{panel.name}" for panel in data.actions]


def panel_matrix(frame: pd.DataFrame, prefix: str, data: Table) -> np.ndarray:
    """The columns `prefix:panel` as a matrix, one column per action. (n, a)"""
    return frame[panel_columns(prefix, data)].to_numpy()


@dataclass(frozen=True, eq=False)
class TableBlock:
    """Some rows of a table. Shapes: n rows.

    Attributes:
        number: of the block.
        rows: which rows of the table these are.
        table: the rows.
        part: of the split. (n,)
        belonging: groups and clusters.
    """

    number: int
    rows: slice
    table: Table
    part: np.ndarray
    belonging: Belonging

    def of(self, parts: Collection[str]) -> Int[np.ndarray, " m"]:
        """Positions in the block of the rows of some parts."""
        return np.flatnonzero(np.isin(self.part, list(parts)))


class StoredTable:
    """The rows of a table with its catalogue, checked.

    Args:
        table: as `table_to_frames` made it.
        catalogue: likewise.
        unlabelled: whether rows may have no label.

    Attributes:
        folds: names of its folds; none where the split is no division into folds.
        fold: number of each row's fold, in their order; without folds all 0. (n,)

    Raises:
        DataError: the catalogue is none, the table lacks a column that it lists, a row_id occurs
            twice, or a label is no class. A wrong value is found when it is read.
    """

    def __init__(
        self, table: pd.DataFrame | Rows, catalogue: Mapping[str, Any], *, unlabelled: bool = False
    ) -> None:
        require_catalogue(catalogue)
        self._unlabelled = unlabelled
        self._rows, self.catalogue = rows_of(table), catalogue
        self.columns = [c["name"] for c in catalogue["columns"]]
        present = set(self._rows.columns)
        self._identity = (*IDENTITY_COLUMNS, *((NUMBER,) if "numeric" in catalogue else ()))
        absent = [c for c in (*self._identity, *self.columns) if c not in present]
        if absent:
            raise DataError(f"the table lacks column {absent[0]!r}, which its catalogue lists")
        self.blocks = block_slices(len(self._rows))
        self._whole: TableBlock | None = None
        self._names: list[str] = []
        self._part = np.zeros(len(self._rows), dtype=np.int16)
        self._first_ids = np.zeros(len(self.blocks), dtype=np.int64)
        self.folds: list[str] = []
        self.fold = np.zeros(len(self._rows), dtype=np.int64)
        self._look_through()

    def __len__(self) -> int:
        return len(self._rows)

    def _look_through(self) -> None:
        """Check identities, and note the part of each row."""
        classes, last, self.ascends = set(), -1, True
        n_classes = len(self.catalogue["classes"])
        for number, rows in enumerate(self.blocks):
            identity = self._rows.read(rows, IDENTITY_COLUMNS)
            require_identity(identity, n_classes, unlabelled=self._unlabelled)
            code, names = pd.factorize(identity["part"], use_na_sentinel=False)
            self._names += [name for name in map(str, names) if name not in self._names]
            self._part[rows] = np.array([self._names.index(name) for name in names])[code]
            classes |= set(identity["label"].unique().tolist())
            ids = identity["row_id"].to_numpy(dtype=np.int64)
            self.ascends = self.ascends and bool((np.diff(ids, prepend=last) > 0).all())
            self._first_ids[number] = ids[0] if len(ids) else 0
            last = ids.max(initial=last)
        if not self.ascends and len(self.blocks) > 1:  # two blocks may have the same
            every = self._rows.read(None, IDENTITY_COLUMNS)
            require_identity(every, n_classes, unlabelled=self._unlabelled)
        if len(classes - {MISSING}) < 2:
            raise DataError("the label has one class only; a classifier needs at least two")
        self.folds = sorted(name for name in self._names if name.startswith(FOLD))
        if self.folds:
            number = {name: k for k, name in enumerate(self.folds)}
            self.fold = np.array([number[name] for name in self._names])[self._part]
            last = self.fold == len(self.folds) - 1
            self._names, self._part = [LEARNED, JUDGED], last.astype(np.int16)

    @cached_property
    def layout(self) -> Table:
        """The table without a row: columns, panels, classes and costs."""
        frame = self._rows.read(slice(0, 0), [*self._identity, *self.columns])
        return table_of(frame, self.catalogue)

    def parts(self, requested: Collection[str]) -> list[str]:
        """Which of some parts have a row, sorted."""
        return sorted(name for name in self._names if name in requested)

    @property
    def group_names(self) -> tuple[str, ...]:
        """Groups that policies are judged in."""
        return tuple(self.catalogue.get("group_names", ()))

    def part_rows(self, parts: Collection[str]) -> Bool[np.ndarray, " n"]:
        """True for the rows of some parts. (n,)"""
        codes = [k for k, name in enumerate(self._names) if name in parts]
        return np.isin(self._part, codes)

    def counts(self, parts: Collection[str] | None = None) -> list[int]:
        """Rows of each block, all or those of some parts."""
        if parts is None:
            return [rows.stop - rows.start for rows in self.blocks]
        inside = self.part_rows(parts)
        return [int(np.count_nonzero(inside[rows])) for rows in self.blocks]

    def blocks_with(self, parts: Collection[str]) -> list[int]:
        """Numbers of the blocks with a row of some parts; the first where none has."""
        return [number for number, count in enumerate(self.counts(parts)) if count] or [0]

    def block(self, number: int) -> TableBlock:
        """One block, all of its columns; that of a table of one block is read once."""
        if self._whole is not None:
            return self._whole
        rows = self.blocks[number]
        present = [name for name in BELONGING if name in self._rows.columns]
        frame = self._rows.read(rows, [*self._identity, *present, *self.columns])
        require_values(frame, self.columns)
        block = TableBlock(
            number,
            rows,
            table_of(frame, self.catalogue),
            np.array(self._names, dtype=str)[self._part[rows]],
            belonging_from_frames(frame, self.catalogue),
        )
        if len(self.blocks) == 1:
            self._whole = block
        return block

    def __iter__(self) -> Iterator[TableBlock]:
        return (self.block(k) for k in range(len(self.blocks)))

    def column(self, name: str) -> Float[np.ndarray, " n"]:
        """The values of one encoded column in all rows. (n,)"""
        if self._whole is not None:
            return self._whole.table.values[:, self.columns.index(name)]
        frame = self._rows.read(None, [name])
        require_values(frame, [name])
        return frame[name].to_numpy(dtype=np.float64)

    def places_of(self, others: Rows, subject: str) -> list[slice]:
        """Positions of each block's rows in a table that lists some units, block after block.

        Raises:
            DataError: they are in another order.
        """
        if len(self.blocks) == 1:
            return [slice(0, len(others))]
        counts, last = np.zeros(len(self.blocks), dtype=np.int64), 0
        for rows in block_slices(len(others)):
            ids = others.read(rows, ["row_id"])["row_id"].to_numpy(dtype=np.int64)
            number = np.searchsorted(self._first_ids, ids, side="right") - 1
            if len(ids) and not (self.ascends and (np.diff(number, prepend=last) >= 0).all()):
                raise DataError(
                    f"the stored {subject} are not in the order of the blocks of the "
                    "table, or the table's row_id do not ascend"
                )
            last = int(number[-1]) if len(ids) else last
            counts += np.bincount(number, minlength=len(counts))
        ends = np.cumsum(counts)
        return [slice(int(a), int(b)) for a, b in zip(ends - counts, ends, strict=True)]

    def clusters(self, parts: Collection[str]) -> Int[np.ndarray, " m"] | None:
        """Cluster of each row of some parts; None: each row is its own cluster. (m,)"""
        return self._belonging(BELONGING[1], parts)

    def groups(self, parts: Collection[str]) -> Int[np.ndarray, " m"] | None:
        """Group of each row of some parts, an index of `group_names`; None without groups. (m,)"""
        return self._belonging(BELONGING[0], parts)

    def _belonging(self, name: str, parts: Collection[str]) -> Int[np.ndarray, " m"] | None:
        """A column of whole numbers in the rows of some parts; None where there is none. (m,)"""
        if name not in self._rows.columns:
            return None
        column = self._rows.read(None, [name])[name].to_numpy(dtype=np.int64)
        return column[self.part_rows(parts)]

    def sensitive(self, parts: Collection[str]) -> Int[np.ndarray, " m"]:
        """Group of the protected attribute, 0 or 1, of each row of some parts. (m,)

        Raises:
            DataError: the data set's YAML defines no groups.
        """
        names = {"row_id", "sensitive"} & set(self._rows.columns)
        frame = self._rows.read(None, sorted(names))
        return sensitive_from_frames(frame, self.catalogue)[0][self.part_rows(parts)]

    def positions(self, parts: Collection[str]) -> Int[np.ndarray, " m"]:
        """Positions of the rows of some parts, ascending. (m,)"""
        return np.flatnonzero(self.part_rows(parts))

    def places(self, ids: Collection[int]) -> Int[np.ndarray, " m"]:
        """Positions of the rows with these identities, ascending. (m,)"""
        return np.flatnonzero(self._rows.read(None, ["row_id"])["row_id"].isin(ids))

    def at(self, places: Int[np.ndarray, " m"]) -> Table:
        """Rows at given positions, which ascend, in memory."""
        tables = []
        for number, rows in enumerate(self.blocks):
            first, last = np.searchsorted(places, (rows.start, rows.stop))
            if last > first:
                tables.append(self.block(number).table.take(places[first:last] - rows.start))
        return joined(tables, self.layout)


def joined(tables: Sequence[Table], layout: Table) -> Table:
    """Rows of several tables of one layout, one after the other."""
    if len(tables) == 1:
        return tables[0]
    if not tables:
        return layout
    numbers = [table.number for table in tables if table.number is not None]
    return replace(
        layout,
        row_id=np.concatenate([table.row_id for table in tables]),
        values=np.concatenate([table.values for table in tables]),
        label=np.concatenate([table.label for table in tables]),
        number=np.concatenate(numbers) if numbers else None,
    )
