"""Content of a study's page: answers, tables, charts, and a budget that names a policy.

All of it is plain JSON, with the rows that it speaks of named by their place in a table, so that
the page can show where each number comes from. Tables are stored by column, every number with all
its digits; a text column is its distinct values and a code for each row. JSON has no NaN and no
infinity: a missing cell is null, an infinite one the text "inf" or "-inf".
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

QUESTIONS = (
    "which policy",
    "what does it cost",
    "how sure is it",
    "what would change it",
    "whom does it treat worse",
)


def section(
    study: str,
    *,
    question: str,
    answers: Sequence[Mapping[str, Any]],
    tables: Mapping[str, tuple[pd.DataFrame, str, Sequence[str]]],
    keys: Sequence[str],
    charts: Sequence[Mapping[str, Any]],
    scope: Mapping[str, Any],
    sliders: Sequence[Mapping[str, Any]] = (),
    sources: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The part of the page that is of one study.

    Args:
        study: its name.
        question: its question, in a sentence.
        answers: of `answer`.
        tables: name → the table, its caption, and the columns shown at first; tables
            without rows are left out.
        keys: columns that identify a row.
        charts: of `charts`.
        scope: of `scope_of`: rows shown together.
        sliders: of `slider`.
        sources: name → the stage's input that a table comes from, where it has another name.
    """
    packed = {
        name: packed_table(
            table, title=title, source=(sources or {}).get(name, name), shown=shown, keys=keys
        )
        for name, (table, title, shown) in tables.items()
        if len(table)
    }
    return {
        "kind": "section",
        "study": study,
        "question": question,
        "answers": list(answers),
        "tables": packed,
        "charts": list(charts),
        "scope": dict(scope),
        "sliders": list(sliders),
    }


def packed_table(
    table: pd.DataFrame, *, title: str, source: str, shown: Sequence[str], keys: Sequence[str]
) -> dict[str, Any]:
    """A table as the page holds it.

    Args:
        table: any table with one line of column names.
        title: its finding, in words.
        source: name of the stage's input from which it comes.
        shown: columns to be seen at first; those that the table lacks are left out.
        keys: columns that identify its rows; those that the table lacks are left out.
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


def answer(
    sentence: str,
    answers: Sequence[str],
    *,
    title: str,
    trust: str,
    table: str,
    row: int,
    sure: bool | None,
    state: str = "",
) -> dict[str, Any]:
    """One answer: a sentence, notes on it, and the row that supports it.

    Args:
        sentence: the answer.
        answers: an answer to each of `QUESTIONS`, in this order.
        title: the subject.
        trust: its evidence, in a few words.
        table: name of the table that holds it.
        row: place of the row.
        sure: whether the numbers settle it; None where that is not in question.
        state: how sure it is, where there are more states than two.
    """
    return {
        "title": title,
        "sentence": sentence,
        "trust": trust,
        "by_question": dict(zip(QUESTIONS, answers, strict=True)),
        "table": table,
        "row": row,
        "sure": sure,
        "state": state,
    }


def scope_of(table: pd.DataFrame, columns: Sequence[str]) -> dict[str, Any]:
    """The distinct values of some columns, one of which is looked at at a time.

    Columns that the table lacks are left out.
    """
    present = [name for name in columns if name in table.columns]
    values = table[present].astype(str).drop_duplicates()
    return {"columns": present, "values": values.to_numpy().tolist()}


def slider(
    *,
    label: str,
    unit: str,
    table: str,
    described: Sequence[str],
    stops: Sequence[Mapping[str, Any]],
    goal: str,
    names: Sequence[str],
    note: str = "",
    begins: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """A budget, and which row of a table to take within it.

    Args:
        label: name of the limited quantity.
        unit: of the limit.
        table: that has the rows.
        described: columns shown for the row chosen.
        stops: `budget` from which on the row is taken that has the values of `match`; a `unit` of
            its own where data sets differ.
        goal: criterion of the best row.
        names: columns of `match` that name the row to choose.
        note: a sentence on the numbers.
        begins: data set → budget at which it begins; of others without a limit.
    """
    return {
        "label": label,
        "unit": unit,
        "table": table,
        "columns": list(described),
        "stops": [dict(stop) for stop in stops],
        "goal": goal,
        "names": list(names),
        "note": note,
        "begins": dict(begins or {}),
    }


def best_within(
    rows: pd.DataFrame, *, cost: str, score: str, most: bool
) -> list[tuple[float, int]]:
    """The budgets at which another row becomes the best one, and that row's index.

    Args:
        rows: candidates; their index is kept.
        cost: column that a budget limits.
        score: column that is to be best; rows without a value are no candidates.
        most: True where more is better.
    """
    able = rows[rows[cost].notna() & rows[score].notna()]
    able = able.sort_values([cost, score], ascending=[True, not most], kind="stable")
    steps: list[tuple[float, int]] = []
    best = None
    for index, spent, value in zip(able.index, able[cost], able[score], strict=True):
        if best is None or (value > best if most else value < best):
            best = value
            steps.append((float(spent), int(index)))
    return steps


def figures(value: float, digits: int = 3) -> str:
    """A number in words: so many figures, and no power of ten below a million."""
    if value != value:
        return "unknown"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.{digits}g}"


def highest(rows: pd.DataFrame, column: str) -> int:
    """Index of the row with the highest value of a column; rows without a value do not count."""
    values = rows[column].to_numpy(dtype=np.float64)
    return int(rows.index[int(np.nanargmax(values))])


def lowest(rows: pd.DataFrame, column: str) -> int:
    """Index of the row with the lowest value of a column; rows without a value do not count."""
    values = rows[column].to_numpy(dtype=np.float64)
    return int(rows.index[int(np.nanargmin(values))])


def row_at(table: pd.DataFrame, index: int) -> dict[str, Any]:
    """The cells of a row, by column."""
    return {str(name): table[name].loc[index] for name in table.columns}
