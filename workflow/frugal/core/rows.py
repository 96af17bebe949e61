"""A table as a stage's input that is read by columns and rows, when they are requested.

A stage that annotates an input with `Rows` holds the part that it reads, not the table. A frame in
memory is read in the same way. `Partitions` are several such tables; `ScratchFile` holds columns
that a stage sets aside on the disk. Knows no column.
"""

import tempfile
import weakref
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Shaped

from frugal.core.blocks import ROWS, block_slices
from frugal.core.errors import DataError
from frugal.core.strict_yaml import StrictYamlError

if TYPE_CHECKING:
    import pandas as pd


def require_file(path: Path) -> None:
    """Refuse a path that is no file.

    Raises:
        DataError: nothing is there, or a folder, a pipe or a device.
    """
    if not path.is_file():
        if path.exists():
            raise DataError(f"{path} is a folder, a pipe or a device; a file is needed")
        raise DataError(f"{path} does not exist; it should have been made by an earlier step")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn exceptions of reading a file into a sentence.

    Raises:
        DataError: in place of an error of the file's own.
    """
    try:
        yield
    except DataError:
        raise
    except (OSError, ValueError, RuntimeError, RecursionError, StrictYamlError) as error:
        raise DataError(_stated(path, error)) from error
    except Exception as error:
        foreign = type(error).__module__.split(".")[0] in {"pyarrow", "safetensors"}
        # invalid pandas metadata in a Parquet file can raise any built-in exception
        foreign |= path.suffix == ".parquet" and not isinstance(error, MemoryError)
        if path.suffix == ".safetensors" and isinstance(error, TypeError | AttributeError):
            reason = "it holds numbers of a type that NumPy lacks, such as bfloat16"
            raise DataError(f"{path} cannot be read as safetensors: {reason}") from error
        if not foreign:
            raise
        raise DataError(_stated(path, error)) from error


def _stated(path: Path, error: Exception) -> str:
    reason = " ".join(str(error).split())[:200]
    return f"{path} cannot be read as {path.suffix[1:]}: {reason}"


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
        frame = self._frame if columns is None else self._frame[list(columns)]
        return frame if rows is None else frame.iloc[rows].reset_index(drop=True)


class StoredRows:
    """A Parquet file, of which row groups are read; the last one read is kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cached: tuple[Any, Any] = (None, None)

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
        names = None if columns is None else list(columns)
        with readable(self._path):
            if rows is None:
                return self._file.read(names).to_pandas()
            start, stop, _ = rows.indices(len(self))
            first = bisect_right(self._ends, start)
            last = bisect_right(self._ends, max(stop - 1, start))
            groups = list(range(first, min(last + 1, len(self._ends))))
            if not groups and self._ends:
                groups = [0]  # no row, but all metadata of the columns
            before = self._ends[groups[0] - 1] if groups and groups[0] else 0
            arrow_table = self._groups(groups, names).slice(start - before, max(stop - start, 0))
            return arrow_table.to_pandas()

    def _groups(self, groups: list[int], columns: list[str] | None) -> Any:
        """Row groups as an Arrow table; kept where several blocks may be cut from it."""
        key = (tuple(groups), None if columns is None else tuple(columns))
        if self._cached[0] != key:
            self._cached = (None, None)
            arrow_table = self._file.read_row_groups(groups, columns, use_threads=False)
            if len(groups) > 1:
                return arrow_table
            self._cached = (key, arrow_table)
        return self._cached[1]


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
        frames, begin = [], 0
        for table, end in zip(self._tables, self._ends, strict=True):
            if max(start, begin) < min(stop, end):
                inside = slice(max(start, begin) - begin, min(stop, end) - begin)
                frames.append(table.read(inside, columns))
            begin = end
        if not frames:
            return self._tables[0].read(slice(0, 0), columns)
        return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


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
    """A table in memory, or one that is read on demand."""
    import pandas as pd

    return FrameRows(table) if isinstance(table, pd.DataFrame) else table


def rows_where(
    table: Rows,
    selects: "Callable[[pd.DataFrame], np.ndarray]",
    columns: Sequence[str] | None = None,
) -> "pd.DataFrame":
    """The rows that are requested, in memory; others are held a block at a time.

    Args:
        table: that is read.
        selects: which rows of a frame are wanted.
        columns: that are read; None: all.
    """
    import pandas as pd

    frames = []
    for rows in block_slices(len(table)):
        frame = table.read(rows, columns)
        frames.append(frame[selects(frame)])
    return pd.concat(frames, ignore_index=True)


def slices_of(table: Rows, counts: Sequence[int], subject: str) -> list[slice]:
    """Positions of each block's rows in a table that lists every unit of a block equally often.

    Args:
        table: block after block.
        counts: units of each block.
        subject: the table is, for the sentence.

    Raises:
        DataError: its rows are no multiple of the units.
    """
    if len(counts) == 1:
        return [slice(0, len(table))]
    units = sum(counts)
    times, rest = divmod(len(table), units) if units else (0, len(table))
    if rest:
        raise DataError(
            f"the stored {subject} have {len(table)} rows, which is no multiple of the {units} "
            "rows that they are of"
        )
    ends = list(accumulate(times * count for count in counts))
    return [slice(end - times * count, end) for end, count in zip(ends, counts, strict=True)]


@dataclass(frozen=True, eq=False)
class Partitions:
    """Tables identified by the `key=value` folders of their paths.

    A stage that annotates an input with this holds one table in memory, not all.

    Attributes:
        folders: key → value of each table, in the order given.
        open: the k-th table, read on demand.
    """

    folders: Sequence[Mapping[str, str]]
    open: Callable[[int], Rows]

    def values(self, key: str) -> list[str]:
        """The values of a key, each once, in the order of the tables.

        Raises:
            DataError: a table has no such folder.
        """
        if any(key not in folders for folders in self.folders):
            raise DataError(f"a table was given that lies in no folder {key}=…")
        return list(dict.fromkeys(folders[key] for folders in self.folders))

    def where(self, key: str, value: str) -> "Partitions":
        """The tables with that value."""
        positions = [k for k, folders in enumerate(self.folders) if folders.get(key) == value]
        return Partitions([self.folders[k] for k in positions], lambda k: self.open(positions[k]))

    def rows(self, key: str, value: str) -> Rows:
        """The only table with that value, or the one that portions of rows make together.

        Raises:
            DataError: there is none, or there are several.
        """
        matching = self.where(key, value)
        names = [folders.get(ROWS) for folders in matching.folders]
        if not names or (len(names) > 1 and len(set(names) - {None}) < len(names)):
            raise DataError(f"{len(names)} tables were given for {key}={value}; allowed is one")
        return joined_rows([matching.open(k) for k in range(len(names))])

    def table(self, key: str, value: str) -> "pd.DataFrame":
        """The same as a frame.

        Raises:
            DataError: as `rows`.
        """
        return self.rows(key, value).read()


@dataclass(frozen=True)
class _Place:
    """Position of a block of a column."""

    start: int
    shape: tuple[int, ...]
    dtype: np.dtype


def _close(file: Any) -> None:
    """Close a file whose content is no longer wanted; the rest of it may not fit on the disk."""
    with suppress(OSError):
        file.close()


class ScratchFile:
    """Columns by any key; each grows by one block at a time."""

    def __init__(self) -> None:
        self._file: Any = tempfile.TemporaryFile()  # noqa: SIM115  # closed with its owner
        weakref.finalize(self, _close, self._file)
        self._end = 0
        self._at: dict[Hashable, list[_Place]] = {}

    def __enter__(self) -> "ScratchFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._at

    def blocks(self, key: Hashable) -> int:
        """How many blocks of a column there are."""
        return len(self._at.get(key, ()))

    def put(self, key: Hashable, values: Shaped[np.ndarray, "n *o"]) -> None:
        """The next block of a column.

        Raises:
            DataError: the folder of temporary files is full.
        """
        content = np.ascontiguousarray(values)
        try:
            self._file.seek(self._end)
            self._file.write(content.data)
            self._file.flush()
        except OSError as error:
            raise DataError(
                f"a temporary file in {tempfile.gettempdir()} cannot be written: "
                f"{error.strerror or error}; let the variable TMPDIR name a folder with room"
            ) from None
        self._at.setdefault(key, []).append(_Place(self._end, content.shape, content.dtype))
        self._end += content.nbytes

    def block(self, key: Hashable, number: int) -> Shaped[np.ndarray, "n *o"]:
        """One block of a column."""
        place = self._at[key][number]
        array: Any = np.empty(place.shape, dtype=place.dtype)
        self._file.seek(place.start)
        read = self._file.readinto(memoryview(array).cast("B")) if array.size else 0
        assert read == array.nbytes, "bug: a scratch file was cut off"
        return array

    def column(self, key: Hashable) -> Shaped[np.ndarray, "n *o"]:
        """All blocks of a column."""
        parts = [self.block(key, k) for k in range(len(self._at[key]))]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def stack(self, keys: Sequence[Hashable], number: int | None = None) -> np.ndarray:
        """Columns of the same rows, or one block of each. (k, n)"""
        if number is None:
            return np.stack([self.column(key) for key in keys])
        return np.stack([self.block(key, number) for key in keys])

    def forget(self, key: Hashable) -> None:
        """Let a column go; its place in the file is not used again."""
        del self._at[key]
