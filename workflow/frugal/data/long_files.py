"""Files whose columns are known by name: opened as tables are, their cells as texts or numbers.

Serves records of searches and over time, units, and actions. Knows no column.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Shaped

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import (
    cell_hint,
    columns_listed,
    did_you_mean,
    listed,
    require_unique_names,
)
from frugal.data.cell_texts import number_marks
from frugal.data.encoded_columns import NO_VALUE, no_name, same_level
from frugal.data.opening import is_stored, kind_of, open_cells, parquet_texts, rows_of_file
from frugal.data.parsing import NumberStyle
from frugal.data.raw_cells import number_text

# parts of remarks on forms that names of columns leave no doubt of
_REMARKS_ON_FORM = (
    "read as ",
    "separated by ",
    "passed over, as the table begins",
    "has an Excel sheet",
)
_SECOND = "a second column {!r} is called"
_INTEGER = r"[+-]?\d+\.0+"
_ZONE = r"[T ]\d{2}.*(?:Z|[+-]\d{2}(?::?\d{2})?)$"


def have_zones(cells: pd.Series) -> pd.Series:
    """Whether each text is a time with a zone."""
    return cells.astype("string").str.contains(_ZONE, na=False)


def days_of(cells: pd.Series) -> pd.Series:
    """Dates and times as days since 1970-01-01, NaN for other texts; none has a zone, or all."""
    cells = cells.where(cells.astype("string").str.contains(r"\d", na=False))  # pandas knows "now"
    dates = pd.to_datetime(cells, errors="coerce", format="ISO8601", utc=True)
    return (dates - pd.Timestamp("1970-01-01", tz="UTC")) / pd.Timedelta(days=1)


@dataclass(frozen=True, eq=False)
class LongFile:
    """Cells of a file as texts. m rows.

    Attributes:
        name: of the file, in messages.
        cells: as texts; empty where there is no value.
        lines: of each row. (m,)
        quantities: columns whose marks in numbers count; None: all.
        remarks: how the file is read where that is not plain, a sentence each.
    """

    name: str
    cells: pd.DataFrame
    lines: Shaped[np.ndarray, " m"]
    quantities: Sequence[str] | None = None
    remarks: tuple[str, ...] = ()

    @staticmethod
    def of(
        file: Path,
        *columns: str | None,
        quantities: Sequence[str | None] | None = None,
        none_yet: bool = False,
    ) -> "LongFile":
        """A file as `frugal init` opens it, with its names; `none_yet`: it may hold no row.

        Raises:
            DataError: it cannot be read, would not fit into memory, or has a column twice.
        """
        if none_yet and not is_stored(file) and len(rows := rows_of_file(file)) == 1:
            cells = pd.DataFrame(columns=[name.strip() for name in rows[0][1]], dtype=object)
            return LongFile(file.name, cells, np.zeros(0, dtype=np.int64))
        counted = None
        if quantities is not None:
            counted = [column for column in quantities if column is not None]
        if kind_of(file) in (".parquet", ".pq"):
            return LongFile(file.name, *parquet_texts(file), counted)
        holds = [column for column in columns if column is not None]
        opened = open_cells(file, file, True, holds=holds)
        named = list(opened.cells.columns)
        twice = [c for c in named if any(r.startswith(_SECOND.format(c)) for r in opened.remarks)]
        require_unique_names([*named, *twice], file.name)
        remarks = (
            f"{file.name}: {remark.partition(': written anew')[0].removeprefix(f'{file.name} ')}"
            for remark in opened.remarks
            if not any(part in remark for part in _REMARKS_ON_FORM)
        )
        return LongFile(file.name, opened.cells, opened.line, counted, tuple(remarks))

    def take(self, rows: Bool[np.ndarray, " m"]) -> "LongFile":
        """Some of the rows."""
        cells, lines = self.cells[rows].reset_index(drop=True), self.lines[rows]
        of_rows = replace(self, cells=cells, lines=lines)
        of_rows.__dict__["style"] = self.style  # the marks are those of the whole file
        return of_rows

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

    @cached_property
    def style(self) -> NumberStyle:
        """How its numbers are written, by their marks."""
        columns = self.cells.columns
        counted = (
            columns if self.quantities is None else columns.intersection(list(self.quantities))
        )
        try:
            marks, _ = number_marks(self.cells[counted])
        except DataError as error:
            raise DataError(
                f"{self.name}: {str(error).partition('; set --decimal')[0]}; write decimal points, "
                "and no marks of thousands"
            ) from None
        return NumberStyle(marks.get("decimal", "."), marks.get("thousands"), limits=True)

    def numbers(self, column: str, *, empty: bool = False) -> Float[np.ndarray, " m"]:
        """Cells of a column as finite numbers; NaN where empty, if that is allowed. (m,)

        Of a value that is only known to be below a limit, half the limit.

        Raises:
            DataError: a cell is no number.
        """
        numbers, absent = self.quantities_in(column)
        wrong = np.isnan(numbers) & ~(absent & empty)
        self.refuse(wrong, column, f"column {column!r} holds CELL; allowed is a number")
        return numbers

    def quantities_in(
        self, column: str, *, limits: bool = True
    ) -> tuple[Float[np.ndarray, " m"], Bool[np.ndarray, " m"]]:
        """Cells as numbers, NaN where they are none; and where there is no value."""
        code, kinds = pd.factorize(self.cells[column])
        kinds = np.asarray(kinds, dtype=object)
        absent = np.isin(kinds, NO_VALUE)
        numbers = self.style._replace(limits=limits).numbers(kinds)
        return np.where(absent, np.nan, numbers)[code], absent[code]

    def absent(self, column: str) -> Bool[np.ndarray, " m"]:
        """Where a column has no value: an empty cell, or a word for it. (m,)"""
        return self.cells[column].isin(NO_VALUE).to_numpy()

    def names(self, column: str, *, empty: bool = False) -> Shaped[np.ndarray, " m"]:
        """Names of units or things; a whole number with decimals is that without. (m,)

        `empty`: rows may have none.

        Raises:
            DataError: a cell names nothing: all units without a name would be one.
        """
        cells = self.cells[column].astype(str)
        if (cells.str.fullmatch(_INTEGER) | (cells == "")).all():
            cells = cells.str.replace(r"\.0+", "", regex=True)
        for kind in filter(no_name, () if empty else cells.unique()):
            mistake = "holds CELL, which means no value" if kind else "is empty"
            self.refuse(
                (cells == kind).to_numpy(),
                column,
                f"column {column!r} {mistake}; write a name for each, or leave the rows out",
            )
        return cells.to_numpy(dtype=str)

    def levels(
        self, column: str, levels: Sequence[str], allowed: str = ""
    ) -> Int[np.ndarray, " m"]:
        """The level that each cell denotes; −1 where there is no value. (m,)

        Args:
            column: of the file.
            levels: their texts.
            allowed: that these are allowed, in words.

        Raises:
            DataError: a cell is none of them.
        """
        allowed = allowed or f"allowed are {listed(levels)}"
        code, kinds = pd.factorize(self.cells[column])
        same = [same_level(kind, levels) for kind in kinds]
        pairs = zip(same, kinds, strict=True)
        wrong = [level is None and kind not in NO_VALUE for level, kind in pairs]
        hint = cell_hint(kinds[wrong.index(True)], levels) if any(wrong) else ""
        self.refuse(
            np.array(wrong, dtype=bool)[code],
            column,
            f"column {column!r} holds CELL; {allowed}{hint}",
        )
        place: dict[str | None, int] = {level: k for k, level in enumerate(levels)}
        return np.array([place.get(level, -1) for level in same], dtype=np.int64)[code]

    def remarks_on(self, columns: Sequence[str | None], levels: Sequence[str] = ()) -> list[str]:
        """That words in some columns mean no value, and values are known up to a limit."""
        of_word: dict[str, list[str]] = {}
        limits: dict[str, list[str]] = {}
        for column in dict.fromkeys(c for c in columns if c is not None):
            kinds = self.cells[column].unique()
            for word in NO_VALUE[1:]:
                if word in kinds and same_level(word, levels) is None:
                    of_word.setdefault(word, []).append(column)
            if limited := [kind for kind in kinds if self.style.limit(kind) is not None]:
                limits[column] = limited
        return [
            *(f"{self.name}: {word!r} means no value ({listed(c)})" for word, c in of_word.items()),
            *(
                f"{self.name}: {column} is known up to a limit in some rows "
                f"({shown_cell(some[0])}): half the limit replaces values below it, and the limit "
                "those above"
                for column, some in limits.items()
            ),
        ]

    def plain(self) -> pd.DataFrame:
        """The cells, with numbers as Python writes them, and empty where a word means no value."""
        cells = self.cells.astype(object)
        for column in map(str, cells if self.quantities is None else self.quantities):
            numbers, absent = self.quantities_in(column, limits=False)
            as_they_are = pd.to_numeric(cells[column], errors="coerce").to_numpy(np.float64)
            other = np.isfinite(numbers) & (as_they_are != numbers)
            cells.loc[other, column] = [number_text(number) for number in numbers[other]]
            cells.loc[absent, column] = ""
        return cells

    def times(self, column: str) -> Float[np.ndarray, " m"]:
        """Times as numbers; dates and times as days, NaN where the cell is empty. (m,)

        Times with a zone are compared as moments; with and without a zone they cannot be ordered.

        Raises:
            DataError: a cell is neither a number nor a date, or only some times have a zone.
        """
        numbers, absent = self.quantities_in(column)
        if (np.isnan(numbers) & ~absent).any():
            is_number = np.isfinite(numbers)
            cells: Any = self.cells[column].astype(object).mask(absent)
            if is_number.sum() > (~absent).sum() / 2:
                cells = cells.mask(is_number)  # numbers; what is none is refused below
            days, zoned = days_of(cells), have_zones(cells)
            if zoned.any():
                problem = f"column {column!r} has a time without a zone, and others with one; write"
                without = (~zoned & days.notna()).to_numpy()
                self.refuse(without, column, f"{problem} all of them with a zone, or none")
            unread = (days.isna() | bool(is_number.any())) & cells.notna()
            allowed = "allowed is a number, or a date such as 2024-03-31"
            self.refuse(unread.to_numpy(), column, f"column {column!r} holds CELL; {allowed}")
            numbers = days.to_numpy(dtype=np.float64)
        return numbers
