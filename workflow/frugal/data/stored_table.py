"""A stored table that is read block by block, with the part and the group of each row.

What is asked of all rows at once is two bytes a row (its part), or one column. A table of one block
is read as a whole. Writes no file.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.blocks import block_slices
from frugal.core.errors import DataError
from frugal.core.rows import Rows, rows_of
from frugal.core.table import Belonging, Table
from frugal.data.tables import (
    IDENTITY_COLUMNS,
    belonging_from_frames,
    require_catalogue,
    require_identity,
    require_values,
    sensitive_from_frames,
    table_of,
)

BELONGING = ("group_index", "cluster_index")
FOLD = "fold_"  # before the number of a part that is a fold
JUDGED, LEARNED = "test", "agent"  # parts as which the last fold and the others serve single jobs
EVERY = (LEARNED, JUDGED)  # of a table with folds: all rows


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

    Attributes:
        folds: names of its folds; none where the split is no division into folds.
        fold: number of each row's fold, in their order; without folds all 0. (n,)

    Raises:
        DataError: the catalogue is none, the table lacks a column that it lists, a row_id stands
            twice, or a label is no class. What is wrong with a value shows when it is read.
    """

    def __init__(self, table: pd.DataFrame | Rows, catalogue: Mapping[str, Any]) -> None:
        require_catalogue(catalogue)
        self._rows, self.catalogue = rows_of(table), catalogue
        self.columns = [c["name"] for c in catalogue["columns"]]
        there = set(self._rows.columns)
        absent = [c for c in (*IDENTITY_COLUMNS, *self.columns) if c not in there]
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
        known = len(self.catalogue["classes"])
        for number, rows in enumerate(self.blocks):
            identity = self._rows.read(rows, IDENTITY_COLUMNS)
            require_identity(identity, known)
            code, names = pd.factorize(identity["part"], use_na_sentinel=False)
            self._names += [name for name in map(str, names) if name not in self._names]
            self._part[rows] = np.array([self._names.index(name) for name in names])[code]
            classes |= set(identity["label"].unique().tolist())
            ids = identity["row_id"].to_numpy(dtype=np.int64)
            self.ascends = self.ascends and bool((np.diff(ids, prepend=last) > 0).all())
            self._first_ids[number] = ids[0] if len(ids) else 0
            last = ids.max(initial=last)
        if not self.ascends and len(self.blocks) > 1:  # two blocks may have the same
            require_identity(self._rows.read(None, IDENTITY_COLUMNS), known)
        if len(classes) < 2:
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
        frame = self._rows.read(slice(0, 0), [*IDENTITY_COLUMNS, *self.columns])
        return table_of(frame, self.catalogue)

    def parts(self, wanted: Collection[str]) -> list[str]:
        """Which of some parts have a row, sorted."""
        return sorted(name for name in self._names if name in wanted)

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
        there = [name for name in BELONGING if name in self._rows.columns]
        frame = self._rows.read(rows, [*IDENTITY_COLUMNS, *there, *self.columns])
        require_values(frame, self.columns)
        found = TableBlock(
            number, rows, table_of(frame, self.catalogue),
            np.array(self._names, dtype=str)[self._part[rows]],
            belonging_from_frames(frame, self.catalogue),
        )  # fmt: skip
        if len(self.blocks) == 1:
            self._whole = found
        return found

    def __iter__(self) -> Iterator[TableBlock]:
        return (self.block(k) for k in range(len(self.blocks)))

    def column(self, name: str) -> Float[np.ndarray, " n"]:
        """The values of one encoded column in all rows. (n,)"""
        if self._whole is not None:
            return self._whole.table.values[:, self.columns.index(name)]
        parts = []
        for rows in self.blocks:
            frame = self._rows.read(rows, [name])
            require_values(frame, [name])
            parts.append(frame[name].to_numpy(dtype=np.float64))
        return np.concatenate(parts)

    def places_of(self, others: Rows, what: str) -> list[slice]:
        """Where each block's rows stand in a table that lists some units, block after block.

        Raises:
            DataError: they do not stand so.
        """
        if len(self.blocks) == 1:
            return [slice(0, len(others))]
        counts, last = np.zeros(len(self.blocks), dtype=np.int64), 0
        for rows in block_slices(len(others)):
            ids = others.read(rows, ["row_id"])["row_id"].to_numpy(dtype=np.int64)
            number = np.searchsorted(self._first_ids, ids, side="right") - 1
            if len(ids) and not (self.ascends and (np.diff(number, prepend=last) >= 0).all()):
                raise DataError(
                    f"the stored {what} do not stand block after block in the order of the table, "
                    "or the table's row_id do not ascend"
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
        inside = self.part_rows(parts)
        found = [
            self._rows.read(rows, [name])[name].to_numpy(dtype=np.int64)[inside[rows]]
            for rows in self.blocks
        ]
        return np.concatenate(found)

    def sensitive(self, parts: Collection[str]) -> Int[np.ndarray, " m"]:
        """Group of the protected attribute, 0 or 1, of each row of some parts. (m,)

        Raises:
            DataError: the data set's YAML tells no groups apart.
        """
        name = "sensitive"
        there = [name] if name in self._rows.columns else []
        inside = self.part_rows(parts)
        found = []
        for rows in self.blocks:
            frame = self._rows.read(rows, ["row_id", *there])
            found.append(sensitive_from_frames(frame, self.catalogue)[0][inside[rows]])
        return np.concatenate(found)

    def positions(self, parts: Collection[str]) -> Int[np.ndarray, " m"]:
        """Where the rows of some parts stand, ascending. (m,)"""
        return np.flatnonzero(self.part_rows(parts))

    def places(self, ids: Collection[int]) -> Int[np.ndarray, " m"]:
        """Where the rows with these identities stand, ascending. (m,)"""
        found = [
            rows.start + np.flatnonzero(self._rows.read(rows, ["row_id"])["row_id"].isin(ids))
            for rows in self.blocks
        ]
        return np.concatenate(found)

    def at(self, places: Int[np.ndarray, " m"]) -> Table:
        """Rows at given positions, which ascend, in memory."""
        found = []
        for number, rows in enumerate(self.blocks):
            first, last = np.searchsorted(places, (rows.start, rows.stop))
            if last > first:
                found.append(self.block(number).table.take(places[first:last] - rows.start))
        return joined(found, self.layout)


def joined(tables: Sequence[Table], layout: Table) -> Table:
    """Rows of several tables of one layout, one after the other."""
    if len(tables) == 1:
        return tables[0]
    if not tables:
        return layout
    return replace(
        layout,
        row_id=np.concatenate([table.row_id for table in tables]),
        values=np.concatenate([table.values for table in tables]),
        label=np.concatenate([table.label for table in tables]),
    )
