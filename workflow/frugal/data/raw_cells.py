"""Cells of many records, read column by column: text that was set aside, or a Parquet file.

In place of a frame where a table is larger than a block: what is in memory is one column. Knows no
type that a description asks for.
"""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from frugal.core.rows import readable, require_file
from frugal.core.schema_check import require_unique_names
from frugal.data.packed import require_fits

pc: Any = pyarrow.compute  # its functions are made when it is imported
_TEXT = pd.ArrowDtype(pa.string())


@runtime_checkable
class RawCells(Protocol):
    """Columns of a source by name; a frame is one, too."""

    @property
    def columns(self) -> Any:
        """Names of the columns, in order."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, name: str) -> Any: ...


Cells = pd.DataFrame | RawCells


class TextAside:
    """Text cells, written column by column to a file without a name, block after block.

    Args:
        names: of the columns.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.columns = list(names)
        self._schema = pa.schema([(name, pa.string()) for name in self.columns])
        self._file: Any = tempfile.TemporaryFile()  # noqa: SIM115  # closed with its owner
        self._writer = pa.ipc.new_file(pa.PythonFile(self._file, "w"), self._schema)
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def append(self, cells: Sequence[pa.Array]) -> None:
        """The next records."""
        self._writer.write_batch(pa.RecordBatch.from_arrays(list(cells), schema=self._schema))
        self._rows += len(cells[0])

    def finish(self) -> None:
        """No more is to come."""
        self._writer.close()

    def __getitem__(self, name: str) -> pd.Series:
        place = [self.columns.index(name)]
        self._file.seek(0)
        options = pa.ipc.IpcReadOptions(included_fields=place, use_threads=False)
        stored = pa.ipc.open_file(pa.PythonFile(self._file, "r"), options=options)
        chunks = [stored.get_batch(k).column(0) for k in range(stored.num_record_batches)]
        return pd.Series(pa.chunked_array(chunks, pa.string()), dtype=_TEXT)


class ParquetCells:
    """The columns of a Parquet file, those of a data frame's index first: numbers as they are, all
    else as text.

    Args:
        path: of the file.

    Raises:
        DataError: it is none, has two columns of one name, or a column would not fit into memory.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        require_file(path)
        self._path = path
        with readable(path):
            schema = pq.read_schema(path)
            index = _index_columns(schema)
            self.columns = index + [name for name in schema.names if name not in index]
            texts = [f.name for f in schema if _is_text(f.type)]
            # texts as numbers of a dictionary: one long text could stand in every row
            self._file = pq.ParquetFile(path, read_dictionary=texts)
            self._rows = self._file.metadata.num_rows
        require_unique_names(self.columns, path)
        groups = (self._file.metadata.row_group(k) for k in range(self._file.num_row_groups))
        self.require_fits(max(8 * self._rows, sum(group.total_byte_size for group in groups)))

    def __len__(self) -> int:
        return self._rows

    def require_fits(self, unpacked_bytes: int) -> None:
        """Refuse what takes more memory than an honest file of this size."""
        require_fits(self._path, unpacked_bytes, self._path.stat().st_size)

    def __getitem__(self, name: str) -> pd.Series:
        with readable(self._path):
            column = self._file.read([name], use_threads=False).column(0)
            kind = column.type
            if pa.types.is_floating(kind):
                return pd.Series(column.cast(pa.float64()).to_numpy())
            if pa.types.is_integer(kind):  # digit by digit: a number may be a name
                return pd.Series(column, dtype=pd.ArrowDtype(kind))
            if pa.types.is_dictionary(kind):
                self.require_fits(_text_bytes(column))
                column = column.cast(kind.value_type)
            if not pa.types.is_string(column.type):
                texts = [None if one is None else str(one) for one in column.to_pylist()]
                column = pa.chunked_array([pa.array(texts, pa.string())])
            return pd.Series(column, dtype=_TEXT)


def _index_columns(schema: pa.Schema) -> list[str]:
    """Columns that were the index of a data frame, as the file says for pandas."""
    try:
        names = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    return [name for name in schema.names if name in names] if isinstance(names, list) else []


def _is_text(kind: Any) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Bytes that the texts of a dictionary take, each written out."""
    total = 0
    for chunk in column.chunks:
        if _is_text(chunk.dictionary.type):
            sizes = pc.take(pc.binary_length(chunk.dictionary), chunk.indices)
            total += pc.sum(sizes.cast(pa.int64())).as_py() or 0
    return total


class CellsAfterCells:
    """The records of several sources of the same columns, one after the other."""

    def __init__(self, parts: Sequence[Cells]) -> None:
        self._parts, self.columns = parts, parts[0].columns

    def __len__(self) -> int:
        return sum(map(len, self._parts))

    def __getitem__(self, name: str) -> pd.Series:
        return pd.concat([part[name] for part in self._parts], ignore_index=True)


class CellsAndColumn:
    """The columns of a source, and one more."""

    def __init__(self, cells: Cells, name: str, values: np.ndarray) -> None:
        self._cells, self._name = cells, name
        self._values = pd.Series(values, dtype=object)
        self.columns = [*cells.columns, name]

    def __len__(self) -> int:
        return len(self._cells)

    def __getitem__(self, name: str) -> pd.Series:
        return self._values if name == self._name else self._cells[name]


def frame_of(cells: Cells) -> pd.DataFrame:
    """All columns in memory.

    Raises:
        DataError: those of a Parquet file would not fit into it.
    """
    if isinstance(cells, pd.DataFrame):
        return cells
    if isinstance(cells, ParquetCells):
        cells.require_fits(8 * len(cells) * len(cells.columns))
    return pd.DataFrame(dict(_named(cells)))


def _named(cells: RawCells) -> Iterator[tuple[str, pd.Series]]:
    return ((name, cells[name]) for name in cells.columns)
