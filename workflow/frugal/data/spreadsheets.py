"""Spreadsheets as rows of texts: Excel's formats and OpenDocument.

A reader spreads a sheet out to a grid, with every repeated text written out: a far cell, a
repetition or a long text can ask for more memory than there is, so that a file is measured before
it is read. Knows no header and no type of a column.
"""

import datetime
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from frugal.core.errors import DataError
from frugal.data.packed import require_fits
from frugal.data.parsing import number_text, require_digits

SUFFIXES = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_SHARED = "xl/sharedStrings.xml"
_MEMBER = re.compile(r"xl/worksheets/[^/]+\.(xml|bin)|content\.xml")
_CELL = re.compile(rb'<c [^>]*?r="([A-Z]{1,3})(\d{1,7})"[^>]*(?<!/)>')  # with content
_CELL_BYTES = 32  # of a cell in a reader's grid
KEPT_DIGITS = 15  # of a number, by a spreadsheet
_CHUNK = 1 << 24  # bytes
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)


def sheet_rows(path: Path) -> tuple[str, int, list[tuple[str, ...]], set[int]]:
    """Rows of the first sheet with cells as texts, its name, and how many sheets there are.

    Rows and columns without a cell are left out. Cells that are merged downwards hold the value of
    the first one; the last part of what is returned are the columns that have such cells.

    Raises:
        DataError: it is no such file, would not fit into memory, or has no cell.
    """
    from python_calamine import CalamineWorkbook

    require_sheet_fits(path)
    try:
        book = CalamineWorkbook.from_path(path)
        for name in book.sheet_names:
            sheet = book.get_sheet_by_name(name)
            if cells := sheet.to_python(skip_empty_area=False):
                break
        else:
            raise DataError(f"{path} has no sheet with cells")
        merged = getattr(sheet, "merged_cell_ranges", None) or []  # newer versions
    except DataError:
        raise
    except Exception as error:  # calamine's own classes of errors
        words = str(error).splitlines() or [type(error).__name__]
        raise DataError(f"{path} cannot be read as {path.suffix[1:].lower()}: {words[0]}") from None
    for row in cells:
        for cell in row:
            if isinstance(cell, float) and len(repr(cell).partition("e")[0]) > KEPT_DIGITS:
                require_digits(np.array([cell]), f"{path.name}, sheet {name!r}")
    rows = [[_sheet_text(cell) for cell in row] for row in cells]
    down = [(a, b, k) for (a, k), (b, last) in merged if k == last and a < b < len(rows)]
    for first, end, k in down:
        for row in rows[first + 1 : end + 1]:
            row[k] = rows[first][k]
    used = [k for k, column in enumerate(zip(*rows, strict=True)) if any(column)]
    texts = [tuple(row[k] for k in used) for row in rows if any(row)]
    return name, len(book.sheet_names), texts, {used.index(k) for *_, k in down if k in used}


def _sheet_text(cell: object) -> str:
    """A cell of a sheet as it would stand in a CSV."""
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
    except _DAMAGED:  # or no zip: the reader says so
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
        total += (int(again[1]) if again else 1) * sum(int(one[1]) if one else 1 for one in times)
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
