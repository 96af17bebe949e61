"""A table as a stage's input that is read by columns and rows, when they are asked for.

A stage that annotates an input with `Rows` holds what it reads of it, not the table. A frame in
memory is read in the same way. Knows no column.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from frugal.core.blocks import block_slices
from frugal.core.errors import DataError
from frugal.core.unreadable import readable, require_file

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@runtime_checkable
class Rows(Protocol):
    """Rows and columns of a table."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns, in order."""
        ...

    def __len__(self) -> int: ...

    def read(
        self, rows: slice | None = None, columns: Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """Some rows, one after the other, and some columns; None: all."""
        ...


class FrameRows:
    """A frame in memory."""

    def __init__(self, frame: "pd.DataFrame") -> None:
        self._frame = frame

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns, in order."""
        return tuple(map(str, self._frame.columns))

    def __len__(self) -> int:
        return len(self._frame)

    def read(
        self, rows: slice | None = None, columns: Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """Some rows and columns; see `Rows`."""
        found = self._frame if columns is None else self._frame[list(columns)]
        return found if rows is None else found.iloc[rows].reset_index(drop=True)


class StoredRows:
    """A Parquet file, of which row groups are read; the last one read is kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: tuple[Any, Any] = (None, None)

    @cached_property
    def _file(self) -> Any:
        import pyarrow.parquet as pq

        with readable(self._path):
            return pq.ParquetFile(self._path)

    @cached_property
    def _ends(self) -> list[int]:
        """Number of rows up to the end of each row group."""
        about = self._file.metadata
        return list(accumulate(about.row_group(k).num_rows for k in range(about.num_row_groups)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns, in order."""
        with readable(self._path):
            return tuple(self._file.schema_arrow.names)

    def __len__(self) -> int:
        return self._file.metadata.num_rows

    def read(
        self, rows: slice | None = None, columns: Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """Some rows and columns; see `Rows`.

        Raises:
            DataError: the file is damaged.
        """
        wanted = None if columns is None else list(columns)
        with readable(self._path):
            if rows is None:
                return self._file.read(wanted).to_pandas()
            start, stop, _ = rows.indices(len(self))
            first = bisect_right(self._ends, start)
            last = bisect_right(self._ends, max(stop - 1, start))
            groups = list(range(first, min(last + 1, len(self._ends))))
            if not groups and self._ends:
                groups = [0]  # no row, but all that is said of the columns
            before = self._ends[groups[0] - 1] if groups and groups[0] else 0
            found = self._groups(groups, wanted).slice(start - before, max(stop - start, 0))
            return found.to_pandas()

    def _groups(self, groups: list[int], columns: list[str] | None) -> Any:
        """Row groups as an Arrow table; kept where several blocks may be cut from it."""
        asked = (tuple(groups), None if columns is None else tuple(columns))
        if self._kept[0] != asked:
            self._kept = (None, None)
            found = self._file.read_row_groups(groups, columns, use_threads=False)
            if len(groups) > 1:
                return found
            self._kept = (asked, found)
        return self._kept[1]


class JoinedRows:
    """Several tables of the same columns as one, in their order."""

    def __init__(self, tables: Sequence[Rows]) -> None:
        self._tables = tables
        self._ends = list(accumulate(map(len, tables)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its columns, in order."""
        return self._tables[0].columns

    def __len__(self) -> int:
        return self._ends[-1]

    def read(
        self, rows: slice | None = None, columns: Sequence[str] | None = None
    ) -> "pd.DataFrame":
        """Some rows and columns; see `Rows`."""
        import pandas as pd

        start, stop, _ = (rows or slice(None)).indices(len(self))
        found, begin = [], 0
        for table, end in zip(self._tables, self._ends, strict=True):
            if max(start, begin) < min(stop, end):
                inside = slice(max(start, begin) - begin, min(stop, end) - begin)
                found.append(table.read(inside, columns))
            begin = end
        if not found:
            return self._tables[0].read(slice(0, 0), columns)
        return found[0] if len(found) == 1 else pd.concat(found, ignore_index=True)


def joined_rows(tables: Sequence[Rows]) -> Rows:
    """Several tables as one; one as it is."""
    return tables[0] if len(tables) == 1 else JoinedRows(tables)


def open_rows(path: Path) -> Rows:
    """A stored table.

    Raises:
        DataError: the file does not exist, or is no Parquet table.
    """
    require_file(path)
    stored = StoredRows(path)
    assert isinstance(stored.columns, tuple)  # opens it: what is no table is refused here
    return stored


def rows_of(table: "pd.DataFrame | Rows") -> Rows:
    """A table in memory, or one that is read when asked."""
    import pandas as pd

    return FrameRows(table) if isinstance(table, pd.DataFrame) else table


def rows_where(
    table: Rows, kept: "Callable[[pd.DataFrame], np.ndarray]", columns: Sequence[str] | None = None
) -> "pd.DataFrame":
    """The rows that are asked for, in memory; others are held a block at a time.

    Args:
        table: that is read.
        kept: which rows of a frame are wanted.
        columns: that are read; None: all.
    """
    import pandas as pd

    found = []
    for rows in block_slices(len(table)):
        frame = table.read(rows, columns)
        found.append(frame[kept(frame)])
    return pd.concat(found, ignore_index=True)


def slices_of(table: Rows, counts: Sequence[int], what: str) -> list[slice]:
    """Where each block's rows stand in a table that lists every unit of a block equally often.

    Args:
        table: block after block.
        counts: units of each block.
        what: the table is, for the sentence.

    Raises:
        DataError: its rows are no multiple of the units.
    """
    if len(counts) == 1:
        return [slice(0, len(table))]
    units = sum(counts)
    times, rest = divmod(len(table), units) if units else (0, len(table))
    if rest:
        raise DataError(
            f"the stored {what} have {len(table)} rows, which is no multiple of the {units} rows "
            "that they are of"
        )
    ends = list(accumulate(times * count for count in counts))
    return [slice(end - times * count, end) for end, count in zip(ends, counts, strict=True)]
