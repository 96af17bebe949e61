"""Cells of the recourse study's own tables: text of CSV or Parquet files, names, numbers, prices.

Errors name a wrong cell and its place. Knows neither actions nor units.
"""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Int

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import columns_listed
from frugal.cover.instance import COST_DECIMALS
from frugal.data.description import Format
from frugal.data.opening import parquet_texts
from frugal.data.packed import unpacked_bytes
from frugal.data.records import lines_of, parse_text

Sheet = tuple[pd.DataFrame, np.ndarray]  # cells as text, and the line of each row
_CSV = Format("csv", (), ",", None, None, True, "utf-8")
_COMMENT = "#"
_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def read_text(path: Path) -> str:
    """The text of a CSV file in UTF-8, with a byte order mark (as of a spreadsheet) or without.

    Raises:
        DataError: it cannot be read, or is in another encoding; which line.
    """
    content = unpacked_bytes(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path.name}, line {line} is not UTF-8 text (byte 0x{content[error.start]:02x}); save "
            "the file in UTF-8, which spreadsheets call 'CSV UTF-8'"
        ) from None


def read_sheet(path: Path) -> Sheet:
    """Cells of a CSV or, by its suffix, of a Parquet file; of the latter, rows are counted from 1.

    Raises:
        DataError: it cannot be read, is not UTF-8 text, or has rows of different lengths.
    """
    if path.suffix.lower() not in (".parquet", ".pq"):
        return table_of(read_text(path), path.name)
    cells, line = parquet_texts(path)
    return cells.replace({"True": "1", "False": "0"}), line


def names_in(cell: str) -> list[str]:
    """Names separated by `;`, without empty ones."""
    return [name.strip() for name in cell.split(";") if name.strip()]


def table_of(text: str, source: str) -> Sheet:
    """Cells as text and their lines; a line that begins with `#` is no row and no silent loss.

    Raises:
        DataError: such a line is below the column names, where it could be either.
    """
    rows = lines_of(text)
    header = next(
        (k for k, row in enumerate(rows) if row.strip() and not row.lstrip().startswith(_COMMENT)),
        len(rows),
    )
    for k, row in enumerate(rows[header:], start=header + 1):
        if row.lstrip().startswith(_COMMENT):
            raise DataError(
                f"{source}, line {k} begins with '#'; comments are allowed above the column names "
                "only: remove the line or, where it is a name, write it in quotes"
            )
    cells, line = parse_text("\n" * header + "".join(rows[header:]), _CSV, source=source)
    return cells.frame(), line


def require_column(frame: pd.DataFrame, name: str, source: str) -> None:
    """Refuses a table without this column."""
    if name not in frame.columns:
        columns = [str(c) for c in frame.columns]
        close = get_close_matches(name, columns, n=1, cutoff=0.6)
        hint = f"; if {close[0]!r} is meant, rename it" if close else ""
        raise DataError(f"{source} has no column {name!r}; {columns_listed(columns)}{hint}")


def require_names(names: Sequence[str], lines: np.ndarray, kind: str, source: str) -> None:
    """Every row has a name, and no two have the same."""
    first: dict[str, int] = {}
    for name, line in zip(names, lines, strict=True):
        if not name.strip():
            raise DataError(f"{source}, line {line}: the {kind} has no name")
        if name in first:
            raise DataError(
                f"{source} has two rows for {kind} {shown_cell(name)}, lines {first[name]} and "
                f"{line}; each is written once"
            )
        first[name] = int(line)


def whole_numbers(
    frame: pd.DataFrame, columns: tuple[str, ...], lines: np.ndarray, source: str
) -> Int[np.ndarray, "n d"]:
    """Cells as whole numbers from 0."""
    cells = frame[list(columns)].to_numpy(dtype=object)
    numbers = np.zeros(cells.shape, dtype=np.int64)
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            if not (cell.isascii() and cell.isdigit() and len(cell) < 10):
                raise DataError(
                    f"{source}, line {lines[i]}: column {columns[j]!r} holds {shown_cell(cell)}; "
                    "allowed is a whole number from 0"
                )
            numbers[i, j] = int(cell)
    return numbers


def price_of(cell: str, line: int, source: str, *, quantity: str = "the cost") -> float:
    """A number from 0 with at most six decimals, so equal prices are a tie."""
    cost = float(cell) if _NUMBER.fullmatch(cell) else -1.0
    if not (0 <= cost < np.inf and round(cost, COST_DECIMALS) == cost):
        raise DataError(
            f"{source}, line {line}: {quantity} is {shown_cell(cell)}; allowed is a number from 0 "
            f"with at most {COST_DECIMALS} decimals"
        )
    return cost
