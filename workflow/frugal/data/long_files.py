"""Files with a row for each event of a unit: their cells as texts, and times as numbers.

Serves records of searches and records over time. Knows no column.
"""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Shaped

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import columns_listed, did_you_mean
from frugal.data.description import Format
from frugal.data.opening import parquet_texts
from frugal.data.records import parse_file, text_of_file

_CSV = Format("csv", (), ",", None, None, True, "utf-8")
_ZONE = r"[T ]\d{2}.*(?:Z|[+-]\d{2}(?::?\d{2})?)$"


def have_zones(cells: pd.Series) -> pd.Series:
    """Whether each text is a time with a zone."""
    return cells.astype("string").str.contains(_ZONE, na=False)


def days_of(cells: pd.Series) -> pd.Series:
    """Dates and times as days since 1970-01-01, NaN for other texts; none has a zone, or all."""
    dates = pd.to_datetime(cells, errors="coerce", format="ISO8601", utc=True)
    return (dates - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)


@dataclass(frozen=True, eq=False)
class LongFile:
    """Cells of a file as texts. m rows.

    Attributes:
        name: of the file, in messages.
        cells: as texts; empty where there is no value.
        lines: of each row. (m,)
    """

    name: str
    cells: pd.DataFrame
    lines: Shaped[np.ndarray, " m"]

    @staticmethod
    def of(file: Path, *, none_yet: bool = False) -> "LongFile":
        """A CSV or Parquet file; `none_yet`: it may hold no row.

        Raises:
            DataError: it cannot be read, or would not fit into memory.
        """
        if file.suffix.lower() in (".parquet", ".pq"):
            return LongFile(file.name, *parquet_texts(file))
        if none_yet:
            lines = text_of_file(file, _CSV).strip().splitlines()
            if len(lines) == 1:
                header = pd.DataFrame(columns=next(csv.reader(lines)), dtype=object)
                return LongFile(file.name, header, np.zeros(0, dtype=np.int64))
        cells, line = parse_file(file, _CSV, source=file.name)
        return LongFile(file.name, cells.frame(), line)

    def take(self, rows: Bool[np.ndarray, " m"]) -> "LongFile":
        """Some of the rows."""
        return LongFile(self.name, self.cells[rows].reset_index(drop=True), self.lines[rows])

    def require_columns(self, *columns: str | None) -> None:
        """Refuses a file without a column; None requires none.

        Raises:
            DataError: a column is missing.
        """
        have = self.cells.columns
        for column in columns:
            if column is not None and column not in have:
                raise DataError(
                    f"{self.name} has no column {column!r}; {columns_listed(have)}"
                    f"{did_you_mean(column, have)}"
                )

    def refuse(self, wrong: Bool[np.ndarray, " m"], column: str, problem: str) -> None:
        """Refuses the first wrong row; in the problem, CELL is that of the column.

        Raises:
            DataError: a row is wrong.
        """
        for row in np.flatnonzero(wrong)[:1]:
            cell = shown_cell(str(self.cells[column].iat[row]))
            raise DataError(f"{self.name}, line {self.lines[row]}: {problem.replace('CELL', cell)}")

    def numbers(self, column: str, *, empty: bool = False) -> Float[np.ndarray, " m"]:
        """Cells of a column as finite numbers; NaN where empty, if that is allowed. (m,)

        Raises:
            DataError: a cell is no number.
        """
        cells: Any = self.cells[column]
        numbers = pd.to_numeric(cells.replace("", np.nan), errors="coerce").to_numpy(np.float64)
        wrong = ~np.isfinite(numbers) & ~((cells == "").to_numpy() & empty)
        self.refuse(wrong, column, f"column {column!r} holds CELL; allowed is a number")
        return numbers

    def times(self, column: str) -> Float[np.ndarray, " m"]:
        """Times as numbers; dates and times as days, NaN where the cell is empty. (m,)

        Times with a zone are compared as moments; with and without a zone they cannot be ordered.

        Raises:
            DataError: a cell is neither a number nor a date, or only some times have a zone.
        """
        cells = pd.Series([cell or None for cell in self.cells[column]], dtype=object)
        numbers, present = pd.to_numeric(cells, errors="coerce"), cells.notna()
        if (numbers.isna() & present).any():
            if numbers.notna().sum() > present.sum() / 2:
                cells = cells.where(numbers.isna())  # numbers; what is none is refused below
            zoned = have_zones(cells) | cells.isna()
            if (zoned & cells.notna()).any():
                problem = f"column {column!r} has a time without a zone, and others with one; write"
                self.refuse(
                    ~zoned.to_numpy(), column, f"{problem} all of them with a zone, or none"
                )
            days = days_of(cells)
            unread = (days.isna() | bool(numbers.notna().any())) & cells.notna()
            allowed = "allowed is a number, or a date such as 2024-03-31"
            self.refuse(unread.to_numpy(), column, f"column {column!r} holds CELL; {allowed}")
            numbers = days
        return numbers.to_numpy(dtype=np.float64)
