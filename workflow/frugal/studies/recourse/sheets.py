"""Cells of the recourse study's own tables, opened as tables are: names, numbers, prices.

Errors name a wrong cell and its place. Knows neither actions nor units.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Int

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import columns_listed
from frugal.data.encoded_columns import no_name, truth
from frugal.data.long_files import LongFile
from frugal.data.packed import unpacked_bytes
from frugal.studies.recourse.instance import COST_DECIMALS

Sheet = tuple[pd.DataFrame, np.ndarray]  # cells as text, and the line of each row
NAMES = ("unit", "group", "action", "groups", "requires", "excludes", "required", "forbidden")
_COMMENT = "#"
_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def open_sheet(path: Path, *columns: str) -> LongFile:
    """A file with these columns, of which all but the names of things are quantities.

    Raises:
        DataError: it cannot be read, or a line below the column names is a comment.
    """
    file = LongFile.of(path, *columns)
    first = file.cells.iloc[:, 0].astype(str).str.startswith(_COMMENT).to_numpy()
    text = unpacked_bytes(path).decode("latin-1").splitlines() if first.any() else []
    for line in file.lines[first]:
        if text[line - 1 : line] and text[line - 1].lstrip().startswith(_COMMENT):
            raise DataError(
                f"{path.name}, line {line} begins with '#'; comments are allowed above the column "
                "names only: remove the line or, where it is a name, write it in quotes"
            )
    return replace(file, quantities=[c for c in file.cells.columns if c not in NAMES])


def cells_of(file: LongFile) -> Sheet:
    """Cells as texts, with plain numbers, and the line of each row."""
    cells = file.plain()
    for column in {"unit", "group", "action", "groups"} & set(cells.columns):
        cells[column] = file.names(column, empty=True).astype(object)
    return cells, file.lines


def read_sheet(path: Path, *columns: str) -> Sheet:
    """The cells of a file; see `open_sheet`."""
    return cells_of(open_sheet(path, *columns))


def names_in(cell: str) -> list[str]:
    """Names separated by `;`, without empty ones."""
    return [name.strip() for name in cell.split(";") if name.strip()]


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
        if no_name(name):
            mistake = (
                f"is {shown_cell(name)}, which means no value" if name.strip() else "has no name"
            )
            raise DataError(f"{source}, line {line}: the {kind} {mistake}")
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
            if (number := _whole_number(cell)) is None:
                raise DataError(
                    f"{source}, line {lines[i]}: column {columns[j]!r} holds {shown_cell(cell)}; "
                    "allowed is a whole number from 0"
                )
            numbers[i, j] = number
    return numbers


def _whole_number(cell: str) -> int | None:
    """A whole number from 0 below 10⁹, or 1 for yes and 0 for no; None for other texts."""
    if digits := re.fullmatch(r"([0-9]{1,9})(\.0+)?", cell):
        return int(digits[1])
    answer = truth(cell)
    return None if answer is None else int(answer)


def price_of(cell: str, line: int, source: str, *, quantity: str = "the cost") -> float:
    """A number from 0 with at most six decimals, so equal prices are a tie."""
    cost = float(cell) if _NUMBER.fullmatch(cell) else -1.0
    if not (0 <= cost < np.inf and round(cost, COST_DECIMALS) == cost):
        raise DataError(
            f"{source}, line {line}: {quantity} is {shown_cell(cell)}; allowed is a number from 0 "
            f"with at most {COST_DECIMALS} decimals"
        )
    return cost
