"""Files with a row for each event of a unit: their cells as texts, and times as numbers.

Serves records of searches and records over time. Knows no column.
"""

import csv
from pathlib import Path

import numpy as np
import pandas as pd

from frugal.core.errors import DataError, shown_cell
from frugal.data.description import Format
from frugal.data.opening import parquet_texts
from frugal.data.records import parse_file, text_of_file

_CSV = Format("csv", (), ",", None, None, True, "utf-8")
_ZONE = r"[T ]\d{2}.*(?:Z|[+-]\d{2}(?::?\d{2})?)$"


def cells_of(file: Path, *, none_yet: bool = False) -> tuple[pd.DataFrame, np.ndarray]:
    """Cells of records as text, and the line of each row.

    Args:
        file: CSV or Parquet.
        none_yet: it may hold no row.

    Raises:
        DataError: the file cannot be read, or would not fit into memory.
    """
    if none_yet and file.suffix.lower() not in (".parquet", ".pq"):
        lines = text_of_file(file, _CSV).strip().splitlines()
        if len(lines) == 1:
            header = next(csv.reader(lines))
            return pd.DataFrame(columns=header, dtype=object), np.zeros(0, dtype=np.int64)
    if file.suffix.lower() not in (".parquet", ".pq"):
        cells, line = parse_file(file, _CSV, source=file.name)
        return cells.frame(), line
    return parquet_texts(file)


def have_zones(cells: pd.Series) -> pd.Series:
    """Whether each text is a time with a zone."""
    return cells.astype("string").str.contains(_ZONE, na=False)


def days_of(cells: pd.Series) -> pd.Series:
    """Dates and times as days since 1970-01-01, NaN for other texts; none has a zone, or all."""
    dates = pd.to_datetime(cells, errors="coerce", format="ISO8601", utc=True)
    return (dates - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)


def times_of(frame: pd.DataFrame, column: str, lines: np.ndarray, source: str) -> np.ndarray:
    """Times as numbers; NaN where the cell is empty. Dates and times are read as days.

    Times with a zone are compared as moments; with and without a zone they cannot be ordered.

    Args:
        frame: cells as texts.
        column: name of the column.
        lines: line of each row in the file.
        source: name of the file.

    Raises:
        DataError: a cell is neither a number nor a date, or only some times have a zone.
    """
    cells = pd.Series([cell or None for cell in frame[column]], dtype=object)
    numbers = pd.to_numeric(cells, errors="coerce")
    if (numbers.isna() & cells.notna()).any():
        if numbers.notna().sum() > cells.notna().sum() / 2:
            cells = cells.where(numbers.isna())  # numbers; what is none is refused below
        zoned = have_zones(cells) | cells.isna()
        if not zoned.all() and (zoned & cells.notna()).any():
            raise DataError(
                f"{source}, line {lines[np.flatnonzero(~zoned)[0]]}: column {column!r} has a time "
                "without a zone, and others with one; write all of them with a zone, or none"
            )
        days = days_of(cells)
        unread = days.isna() | bool(numbers.notna().any())
        wrong = np.flatnonzero(unread & cells.notna())
        if len(wrong):
            raise DataError(
                f"{source}, line {lines[wrong[0]]}: column {column!r} holds "
                f"{shown_cell(cells.iloc[wrong[0]])}; allowed is a number, or a date such as "
                "2024-03-31"
            )
        numbers = days
    return numbers.to_numpy(dtype=np.float64)
