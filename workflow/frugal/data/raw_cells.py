"""Cells of many records, of which one column at a time is in memory; files that are no text.

Text that was set aside, Parquet, SAS transport files (XPT, version 5, as NHANES is published), and
spreadsheets as rows of texts. A reader of spreadsheets spreads a sheet out to a grid, with every
repeated text written out: a far cell, a repetition or a long text can need more memory than
there is, so a file is measured before it is read. Knows no type that a description names,
no panel and no label.
"""

import datetime
import io
import json
import re
import tempfile
import warnings
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute

from frugal.core.errors import DataError, shown_cell
from frugal.core.rows import readable, require_file
from frugal.core.schema_check import require_unique_names
from frugal.data.packed import require_fits, unpacked_bytes

MOST_EXACT = 2.0**53  # from here on, double precision does not hold every whole number
SUFFIXES = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_SHARED = "xl/sharedStrings.xml"
_MEMBER = re.compile(r"xl/worksheets/[^/]+\.(xml|bin)|content\.xml")
_CELL = re.compile(rb'<c [^>]*?r="([A-Z]{1,3})(\d{1,7})"[^>]*(?<!/)>')  # with content
_BOOK, _LINKS, _ODS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "content.xml"
_UNSTORED = re.compile(
    rb"<(?:\w+:)?c\s([^>]*)>\s*<(?:\w+:)?f(?:\s[^>]*)?(/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
_UNSTORED_IN_ODS = re.compile(
    rb'<table:table-cell(?![^>]*value-type)[^>]*table:formula="([^"]*)"[^>]*>'
)
_CELL_BYTES = 32  # of a cell in a reader's grid
KEPT_DIGITS = 15  # of a number, by a spreadsheet
_CHUNK = 1 << 24  # bytes
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)
pc: Any = pyarrow.compute  # its functions are made when it is imported
_IN_MEMORY = 1 << 24  # bytes of text; more goes to a file without a name
_MARK = b"HEADER RECORD*******LIBRARY HEADER RECORD!!!!!!!"
_RECORD_BYTES = 80
_ZERO_BELOW = 1e-70  # IBM's smallest number is 5.4e-79, and denotes zero


@dataclass(frozen=True, eq=False)
class Cells:
    """Columns of a source.

    Attributes:
        columns: their names, in order.
        rows: number of records.
        read: cells of a column: numbers where the source holds numbers, else text.
        require_fits: refuses as many bytes where they are more than the source may unpack to.
    """

    columns: list[str]
    rows: int
    read: Callable[[str], pa.ChunkedArray]
    require_fits: Callable[[int], None] | None = None

    @classmethod
    def of(cls, frame: pd.DataFrame) -> "Cells":
        """Those of a frame."""
        return cls(list(frame.columns), len(frame), lambda name: _arrow(frame[name]))

    def __len__(self) -> int:
        return self.rows

    def with_text(self, name: str, text: np.ndarray) -> "Cells":
        """The same with one more column of texts. (rows,)"""
        added = pa.chunked_array([pa.array(text, pa.string())])
        return Cells(
            [*self.columns, name], self.rows, lambda c: added if c == name else self.read(c)
        )

    def frame(self) -> pd.DataFrame:
        """All columns in memory.

        Raises:
            DataError: those of a Parquet file would not fit into it.
        """
        if self.require_fits is not None:
            self.require_fits(8 * self.rows * len(self.columns))
        return pd.DataFrame({name: _series(self.read(name)) for name in self.columns})


def one_after_the_other(parts: Sequence[Cells]) -> Cells:
    """The records of several sources of the same columns."""

    def read(name: str) -> pa.ChunkedArray:
        cells = [part.read(name) for part in parts]
        if len({column.type for column in cells}) > 1:  # as pandas joins what differs
            cells = [_arrow(pd.concat(map(_series, cells)))]
        chunks = [chunk for column in cells for chunk in column.chunks]
        return pa.chunked_array(chunks, cells[0].type)

    return Cells(parts[0].columns, sum(map(len, parts)), read)


def _arrow(column: pd.Series) -> pa.ChunkedArray:
    """A column of a frame: numbers, or texts."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return pa.chunked_array(column)
    cells = column.to_numpy()
    if np.issubdtype(cells.dtype, np.number):
        return pa.chunked_array([pa.array(cells)])
    texts = [None if absent else str(c) for c, absent in zip(cells, pd.isna(cells), strict=True)]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _series(cells: pa.ChunkedArray) -> pd.Series:
    """Cells as a column of a frame: numbers with decimals as NumPy's, all else as Arrow's."""
    if pa.types.is_floating(cells.type):
        return pd.Series(cells.to_numpy())
    return pd.Series(cells, dtype=pd.ArrowDtype(cells.type))


class TextAside:
    """Text cells, set aside column by column, block after block.

    Args:
        names: of the columns.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._rows = list(names), 0
        self._schema = pa.schema([(name, pa.string()) for name in names])
        self._file: Any = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # closed below
        weakref.finalize(self, self._file.close)
        self._writer = pa.ipc.new_file(pa.PythonFile(self._file, "w"), self._schema)

    def append(self, cells: Sequence[pa.Array]) -> None:
        """The next records."""
        self._writer.write_batch(pa.RecordBatch.from_arrays(list(cells), schema=self._schema))
        self._rows += len(cells[0])

    def finished(self) -> Cells:
        """All of them."""
        self._writer.close()
        return Cells(self._names, self._rows, self._read)

    def _read(self, name: str) -> pa.ChunkedArray:
        self._file.seek(0)
        options = pa.ipc.IpcReadOptions(
            included_fields=[self._names.index(name)], use_threads=False
        )
        stored = pa.ipc.open_file(pa.PythonFile(self._file, "r"), options=options)
        chunks = [stored.get_batch(k).column(0) for k in range(stored.num_record_batches)]
        return pa.chunked_array(chunks, pa.string())


def parquet_cells(path: Path) -> Cells:
    """The columns of a Parquet file, those of a data frame's index first: numbers, else text.

    Raises:
        DataError: it is none, has two columns of one name, or a column would not fit into memory.
    """
    import pyarrow.parquet as pq

    require_file(path)
    with readable(path):
        schema = pq.read_schema(path)
        # texts as numbers of a dictionary: one long text could occur in every row
        texts = [field.name for field in schema if _is_text(field.type)]
        file = pq.ParquetFile(path, read_dictionary=texts)
        groups = [file.metadata.row_group(k) for k in range(file.num_row_groups)]
        rows, index = file.metadata.num_rows, _index_columns(schema)
    columns = index + [name for name in schema.names if name not in index]
    require_unique_names(columns, path)

    def fits(unpacked: int) -> None:
        require_fits(path, unpacked, path.stat().st_size)

    def read(name: str) -> pa.ChunkedArray:
        with readable(path):
            column = file.read([name], use_threads=False).column(0)
            return _plain_column(column, fits, f"{path.name}: column {name!r}")

    fits(max(8 * rows, sum(group.total_byte_size for group in groups)))
    return Cells(columns, rows, read, fits)


def _plain_column(
    column: pa.ChunkedArray, fits: Callable[[int], None], subject: str
) -> pa.ChunkedArray:
    """A column of a Parquet file as numbers or texts; whole ones digit by digit, as names."""
    kind = column.type
    if pa.types.is_floating(kind):
        return column if kind == pa.float32() else column.cast(pa.float64())
    if pa.types.is_dictionary(kind):
        fits(_text_bytes(column))
        column = column.cast(kind.value_type)
    if pa.types.is_integer(kind):
        return column
    if pa.types.is_string(column.type):
        return pc.utf8_trim_whitespace(column)
    if "binary" in str(column.type):
        try:
            return pc.utf8_trim_whitespace(column.cast(pa.binary()).cast(pa.string()))
        except pa.ArrowInvalid:
            raise DataError(
                f"{subject} holds bytes that are no UTF-8 text; decode them, or leave the column "
                "out of the file"
            ) from None
    texts = [None if cell is None else str(cell) for cell in column.to_pylist()]
    return pa.chunked_array([pa.array(texts, pa.string())])


def _index_columns(schema: pa.Schema) -> list[str]:
    """Columns that were the index of a data frame, by the file's pandas metadata."""
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


def read_transport(path: Path, *, source: str) -> pd.DataFrame:
    """The records of a SAS transport file: numbers, NaN where missing; text columns stay text.

    Args:
        path: where the file lies.
        source: its name, for error sentences.

    Raises:
        DataError: the file is no transport file of version 5, is cut off, or is damaged.
    """
    content = unpacked_bytes(path)
    if not content.startswith(_MARK):
        raise DataError(f"{source} does not begin like a SAS transport file of version 5 ({path})")
    if len(content) % _RECORD_BYTES:
        raise DataError(
            f"{source} has {len(content)} bytes; a SAS transport file consists of records of "
            f"{_RECORD_BYTES}, so it is cut off or damaged"
        )
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            reader: Any = pd.read_sas(
                io.BytesIO(content), format="xport", encoding="latin-1", iterator=True
            )
            names, frame = list(reader.columns), reader.read()
    except Exception as error:  # a damaged file makes the reader fail in any way
        raise DataError(
            f"{source} is damaged: it cannot be read as a SAS transport file "
            f"({type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no word'})"
        ) from None
    require_unique_names(names, source)
    if frame.empty:
        raise DataError(f"{source} holds no record")
    return pd.DataFrame({name: _clean(frame[name]) for name in names})


def _clean(column: pd.Series) -> pd.Series:
    if not pd.api.types.is_numeric_dtype(column):
        return column.astype(object)
    values = column.to_numpy(dtype=np.float64, copy=True)
    values[np.abs(values) < _ZERO_BELOW] = 0.0
    return pd.Series(values, index=column.index)


def require_digits(numbers: np.ndarray, subject: str) -> None:
    """Refuse names that are stored as numbers in which two of them may be the same.

    Raises:
        DataError: a number in double (single) precision is so large that its last digits are lost.
    """
    if not np.issubdtype(numbers.dtype, np.floating):
        return
    precision = np.finfo(numbers.dtype)
    lost = np.isfinite(numbers) & (np.abs(numbers) >= 2.0 ** (precision.nmant + 1))
    if lost.any():
        raise DataError(
            f"{subject} holds {shown_cell(float(numbers[lost][0]))}, a number that has lost its "
            f"last digits; store names of more than {precision.precision} digits as text or as "
            "integers"
        )


def number_text(number: int | float) -> str | None:
    """A number digit by digit, a whole one without decimals; None for NaN."""
    if np.isnan(number):
        return None
    is_integer = np.isfinite(number) and float(number).is_integer()
    return str(int(number)) if is_integer else repr(float(number))


@dataclass(frozen=True)
class Sheet:
    """A sheet of a spreadsheet, without the rows and columns that have no cell.

    Attributes:
        name: of the sheet.
        rows: texts. Cells that are merged downwards hold the value of the first one.
        merged: positions of the columns that have such cells.
        long_numbers: those of more digits than a spreadsheet keeps.
    """

    name: str
    rows: list[tuple[str, ...]]
    merged: frozenset[int]
    long_numbers: tuple[float, ...]


class Workbook:
    """A spreadsheet, of which one sheet at a time is read.

    Args:
        path: of the file.

    Attributes:
        names: of the sheets that are shown, or of all where none is.
        hidden: names of the others.

    Raises:
        DataError: it is no such file, or would not fit into memory.
    """

    def __init__(self, path: Path) -> None:
        from python_calamine import CalamineWorkbook, SheetVisibleEnum

        require_sheet_fits(path)
        self._path = path
        with _readable_sheets(path):
            self._book = CalamineWorkbook.from_path(path)
            sheets = self._book.sheets_metadata
        shown = [sheet.name for sheet in sheets if sheet.visible == SheetVisibleEnum.Visible]
        self.names = shown or [sheet.name for sheet in sheets]
        self.hidden = [sheet.name for sheet in sheets if sheet.name not in self.names]

    def sheet(self, name: str) -> Sheet:
        """A sheet by its name; `require_values` checks that its cells are what it showed."""
        with _readable_sheets(self._path):
            sheet = self._book.get_sheet_by_name(name)
            cells = sheet.to_python(skip_empty_area=False)
            merged = getattr(sheet, "merged_cell_ranges", None) or []  # newer versions
        numbers = (cell for row in cells for cell in row if isinstance(cell, float))
        long = tuple(x for x in numbers if len(repr(x).partition("e")[0]) > KEPT_DIGITS)
        rows = [[_sheet_text(cell) for cell in row] for row in cells]
        down = [(a, b, k) for (a, k), (b, last) in merged if k == last and a < b < len(rows)]
        for first, end, k in down:
            for row in rows[first + 1 : end + 1]:
                row[k] = rows[first][k]
        used = [k for k, column in enumerate(zip(*rows, strict=True)) if any(column)]
        texts = [tuple(row[k] for k in used) for row in rows if any(row)]
        merged_columns = frozenset(used.index(k) for *_, k in down if k in used)
        return Sheet(name, texts, merged_columns, long)

    def require_values(self, sheet: Sheet) -> None:
        """Refuse a sheet in which numbers have lost digits, or a formula has no stored value.

        Raises:
            DataError: with the number, or the cell of the formula.
        """
        where = f"{self._path.name}, sheet {sheet.name!r}"
        if formula := _unstored_formula(self._path, self._book.sheet_names.index(sheet.name)):
            raise DataError(
                f"{where}: {formula} has no stored value; open the file in a spreadsheet program "
                "and save it there, which stores the values of formulas"
            )
        require_digits(np.array(sheet.long_numbers), where)


@contextmanager
def _readable_sheets(path: Path) -> Iterator[None]:
    """Within it, errors of the reader of spreadsheets are sentences."""
    try:
        yield
    except Exception as error:  # calamine's own classes of errors
        words = str(error).splitlines() or [type(error).__name__]
        raise DataError(f"{path} cannot be read as {path.suffix[1:].lower()}: {words[0]}") from None


def _unstored_formula(path: Path, number: int) -> str:
    """The first formula without a stored value of a sheet, in words; empty where all have one.

    A library that writes formulas leaves their values to the next spreadsheet program, and a reader
    of values finds empty cells. Files of other kinds than xlsx, xlsm and ods have all values.
    """
    try:
        with zipfile.ZipFile(path) as packed:
            names = packed.namelist()
            if _ODS in names:
                sheet = packed.read(_ODS).split(b"<table:table ")[number + 1]
                match = _UNSTORED_IN_ODS.search(sheet)
                return f"the formula {match[1].decode()}" if match else ""
            if _BOOK not in names:
                return ""
            tags = re.findall(rb"<(?:\w+:)?sheet\s[^>]*>", packed.read(_BOOK))
            link = re.search(rb'\w+:id="([^"]*)"', tags[number])
            links = re.findall(rb"<(?:\w+:)?Relationship\s[^>]*>", packed.read(_LINKS))
            of_sheet = next(tag for tag in links if link and b'Id="%b"' % link[1] in tag)
            target = re.search(rb'Target="(?:/xl/)?([^"]*)"', of_sheet)
            content = packed.read(f"xl/{target[1].decode()}") if target else b""
    except (*_DAMAGED, LookupError, StopIteration):  # the reader of cells has reported it
        return ""
    for attributes, _ in _UNSTORED.findall(content):
        if b't="str"' not in attributes:  # of those, an empty text is the value
            cell = re.search(rb'\br="([A-Z]+\d+)"', attributes)
            return f"the formula in cell {cell[1].decode() if cell else 'without a name'}"
    return ""


def _sheet_text(cell: object) -> str:
    """A cell of a sheet as written to a CSV."""
    if isinstance(cell, float):
        return number_text(cell) or ""
    if isinstance(cell, datetime.datetime):
        return str(cell).removesuffix(" 00:00:00")
    return str(cell).strip()


def require_sheet_fits(path: Path) -> None:
    """Refuse a sheet that a reader would spread out to more than an honest file holds.

    Readers make a grid from the first to the last cell, with every repeated text written out.

    Raises:
        DataError: it is too large for its size.
    """
    size = path.stat().st_size
    try:
        with zipfile.ZipFile(path) as packed:
            require_fits(path, sum(member.file_size for member in packed.infolist()), size)
            names = packed.namelist()
            shared = packed.read(_SHARED) if _SHARED in names else b""
            lengths = np.array([len(text) for text in re.findall(rb"<si>.*?</si>", shared, re.S)])
            for name in filter(_MEMBER.fullmatch, names):
                with packed.open(name) as member:
                    cells, texts = _extent(member, lengths)
                require_fits(path, max(_CELL_BYTES * cells, texts), size)
    except DataError:
        raise
    except _DAMAGED:  # or no zip: the reader reports it
        return


def _extent(member: Any, lengths: np.ndarray) -> tuple[int, int]:
    """Cells between the first and the last one of a sheet, and bytes of all its shared texts."""
    if member.name.endswith(".bin"):
        return _binary_extent(member.read()), 0
    if member.name == "content.xml":
        return _repeated_extent(member.read()), 0
    rows, columns, texts, end = 1, 1, 0, b""
    while chunk := member.read(_CHUNK):
        end = end[-_CELL_BYTES:] + chunk
        places = set(_CELL.findall(end))
        rows = max([rows, *(int(row) for _, row in places)])
        names = {letters for letters, _ in places}
        columns = max([columns, *map(_column_number, names)])
        used = np.array(re.findall(rb't="s"[^>]*><v>(\d{1,9})', chunk), dtype=np.int64)
        texts += int(lengths[used[used < len(lengths)]].sum()) if len(lengths) else 0
    return rows * columns, texts


def _column_number(letters: bytes) -> int:
    """A for 1, AA for 27."""
    return sum(26**k * (byte - 64) for k, byte in enumerate(letters[::-1]))


def _repeated_extent(content: bytes) -> int:
    """Cells with a value of an ods file, each as often as it is repeated."""
    total = 1
    for row in re.findall(rb"<table:table-row[^>]*[^/]>.*?</table:table-row>", content, re.S):
        cells = re.findall(rb"<table:table-cell[^>]*office:value[^>]*>", row)
        times = [re.search(rb'columns-repeated="(\d{1,9})"', cell) for cell in cells]
        again = re.match(rb'[^>]*rows-repeated="(\d{1,9})"', row)
        total += (int(again[1]) if again else 1) * sum(
            int(repeat[1]) if repeat else 1 for repeat in times
        )
    return total


def _binary_extent(content: bytes) -> int:
    """The same of a sheet of an xlsb file: a row's record has type 0, those of cells 1 to 11."""
    at, rows, columns = 0, 1, 1
    while at < len(content):
        kind, at = _varying(content, at, 2)
        size, at = _varying(content, at, 4)
        number = int.from_bytes(content[at : at + 4], "little") + 1
        if kind == 0:
            rows = max(rows, number)
        elif kind <= 11:
            columns = max(columns, number)
        at += size
    return rows * columns


def _varying(content: bytes, at: int, longest: int) -> tuple[int, int]:
    """A number in bytes of seven bits, the lowest first, and where it ends."""
    number = 0
    for k, byte in enumerate(content[at : at + longest]):
        number |= (byte & 127) << (7 * k)
        if byte < 128:
            return number, at + k + 1
    return number, at + longest
