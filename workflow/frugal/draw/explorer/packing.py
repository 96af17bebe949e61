"""Tables as JSON, column by column, every number with all its digits.

A text column is its distinct values and a code for each row. JSON has no NaN and no infinity: a
missing cell is null, an infinite one the text "inf" or "-inf".
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd


def packed_table(
    table: pd.DataFrame, *, title: str, source: str, shown: Sequence[str], keys: Sequence[str]
) -> dict[str, Any]:
    """A table as the page holds it.

    Args:
        table: any table with one line of column names.
        title: what it tells, in words.
        source: name of the stage's input from which it comes.
        shown: columns to be seen at first; those that the table lacks are left out.
        keys: columns that tell its rows apart; those that the table lacks are left out.
    """
    return {
        "title": title,
        "source": source,
        "rows": len(table),
        "shown": [name for name in shown if name in table.columns],
        "keys": [name for name in keys if name in table.columns],
        "columns": {str(name): packed_column(table[name]) for name in table.columns},
    }


def packed_column(column: pd.Series) -> Any:
    """The cells of a column: a list of numbers, or levels with codes (-1: no value)."""
    if column.dtype.kind in "biuf":
        return [_number(value) for value in column.tolist()]
    levels = [str(value) for value in column.dropna().unique()]
    place = {level: k for k, level in enumerate(levels)}
    codes = [-1 if pd.isna(value) else place[str(value)] for value in column.tolist()]
    return {"levels": levels, "codes": codes}


def unpacked_column(packed: Any) -> list[Any]:
    """The cells again, None where there was no value."""
    if isinstance(packed, Mapping):
        levels = packed["levels"]
        return [None if code < 0 else levels[code] for code in packed["codes"]]
    return [float(cell) if isinstance(cell, str) else cell for cell in packed]


def _number(value: Any) -> Any:
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
    return value
