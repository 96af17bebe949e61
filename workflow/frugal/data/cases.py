"""New cases, read as the table of a policy was read; an empty cell is not acquired yet.

A document describes how (`frugal.data.case_document`); files are opened as `frugal init` opens
them. Knows no policy and no costs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Bool, Float

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import columns_listed, did_you_mean, listed, require_unique_names
from frugal.data.cell_texts import MARKS, as_texts, number_marks, plain_name
from frugal.data.description import Column, Format
from frugal.data.encoded_columns import (
    NO_VALUE,
    coded_cells,
    is_absent,
    level_cells,
    levels_of,
    possible,
)
from frugal.data.opening import is_stored, open_cells
from frugal.data.parsing import NumberStyle, RawTable, numbers_of, text_column
from frugal.data.raw_cells import Cells
from frugal.data.records import parse_file


@dataclass(frozen=True, eq=False)
class Cases:
    """Units of a file. Shapes: n units, d encoded columns, a panels with a cost.

    Attributes:
        id_name: column that names the units; "line" where the file has none.
        ids: name of each unit. (n,)
        values: encoded features; NaN where there is none. (n, d)
        acquired: panels of which the file has the values. (n, a)
        outside: values that training did not see, in words; empty text without. (n,)
    """

    id_name: str
    ids: list[str]
    values: Float[np.ndarray, "n d"]
    acquired: Bool[np.ndarray, "n a"]
    outside: list[str]


def read_cases(
    source: Path | pd.DataFrame,
    document: Mapping[str, Any],
    *,
    provides: Bool[np.ndarray, "a d"],
    id_column: str | None,
    complete: bool,
) -> Cases:
    """The units of a file or of a data frame.

    Args:
        source: a CSV separated by commas, semicolons or tabs, a Parquet file or a spreadsheet; or a
            frame, whose index is a column if it has a name.
        document: of `case_document`.
        provides: encoded columns that a panel reveals. (a, d)
        id_column: names the units; None: the first column, if the table has none of its name.
        complete: the cells are whole records, so an empty cell is read as in the table; else an
            empty cell is a value that is not acquired.

    Raises:
        DataError: the file cannot be read, lacks a column or has one too many, or a cell is not
            the content of its column.
    """
    raw = _raw(source, document, id_column)
    id_name = _require_columns(raw, document, id_column)
    described = [_described(entry) for entry in document["columns"]]
    typed, notes = _typed(raw, document, described, complete)
    rows = np.arange(len(raw))
    blocks = [
        level_cells(raw, rows, typed[c.name], c, strict=False)
        if c.kind == "categorical"
        else coded_cells(typed[c.name], np.array([v for v, _ in c.special_values]), instead)
        for c, instead in zip(described, (e["instead"] for e in document["columns"]), strict=True)
    ]
    _require_fees(raw, document, typed)
    values = np.concatenate(blocks, axis=1)
    acquired = _acquired(document, values, provides, notes)
    for entry, block in zip(document["columns"], blocks, strict=True):
        _note_unseen(notes, entry, typed[entry["name"]], block)
    ids = raw.line.tolist() if id_name is None else raw.frame.read(id_name).to_pylist()
    return Cases(
        id_name or "line",
        [str(identity) for identity in ids],
        values,
        acquired,
        ["; ".join(remarks) for remarks in notes],
    )


def _acquired(
    document: Mapping[str, Any],
    values: Float[np.ndarray, "n d"],
    provides: Bool[np.ndarray, "a d"],
    notes: list[list[str]],
) -> Bool[np.ndarray, "n a"]:
    """Panels whose values are there, all of them or, of a partial table, any; notes the rest."""
    observed = ~np.isnan(values)
    count = observed.astype(np.float32) @ provides.T.astype(np.float32)
    if document["missing_values"] == "partial":
        return count > 0
    acquired = count >= provides.sum(axis=1)
    shown = acquired.astype(np.float32) @ provides.astype(np.float32) > 0
    rest = (observed & ~shown).astype(np.float32) @ provides.T.astype(np.float32) > 0
    names = [panel["name"] for panel in document["panels"] if not panel["free"]]
    for row, j in zip(*np.nonzero(rest & ~acquired), strict=True):
        notes[row].append(f"panel {names[j]}: some values only, so taken as not acquired")
    return acquired


def _raw(
    source: Path | pd.DataFrame, document: Mapping[str, Any], id_column: str | None
) -> RawTable:
    """The cells as text, and the marks in their numbers: those that they show, or the table's."""
    form = Format("csv", (), ",", None, None, document["strip"], "utf-8")
    features = [entry["from"] for entry in document["columns"]]
    frame, line, name = _cells(source, features, form)
    frame = _with_absent(frame, document, id_column)
    if not len(frame):
        raise DataError(f"{name} is empty: it holds no record below the column names")
    numeric = [entry["from"] for entry in document["columns"] if entry["type"] == "numeric"]
    marks, _ = number_marks(
        frame[[column for column in numeric if column in frame.columns]],
        otherwise={key: document[key] for key in MARKS if document[key] not in (None, ".")},
    )
    where = np.broadcast_to(np.array(name), len(frame))
    row = source.index if isinstance(source, pd.DataFrame) else None
    return RawTable(Cells.of(frame), where, line, where, replace(form, **marks), row)


def _cells(
    source: Path | pd.DataFrame, features: Sequence[str], form: Format
) -> tuple[pd.DataFrame, np.ndarray, str]:
    """Cells as texts, the line of each record (as in a CSV), and where they come from."""
    called = {plain_name(feature): feature for feature in features}
    if isinstance(source, pd.DataFrame):
        index = [name for name in source.index.names if name is not None]
        frame = source.reset_index(index) if index else source
        names = [str(c) if str(c) in features else plain_name(str(c)) for c in frame.columns]
        require_unique_names(names, "the frame")
        texts, _ = as_texts(frame.set_axis(names, axis=1))
        return texts, np.arange(2, len(texts) + 2), "the frame"
    if not source.is_file():
        raise DataError(f"there is no file {source}; a CSV of cases is needed")
    opened = open_cells(source, source, True, holds=called)
    if opened.below:
        raise DataError(
            f"{source.name} has {opened.below} lines at its end that are no cases; remove them"
        )
    cells = opened.cells.rename(columns=called)
    if form.strip or opened.form["kind"] != "csv" or is_stored(source):
        return cells, opened.line, source.name
    written = {
        key: opened.form[key]
        for key in ("separator", "encoding", "skip_lines")
        if key in opened.form
    }
    header = None if opened.form["header"] is True else tuple(opened.form["header"])
    as_written, line = parse_file(
        source, replace(form, header=header, **written), source=source.name
    )
    frame = as_written.frame().astype(object)
    return frame[list(opened.cells.columns)].rename(columns=called), line, source.name


def _with_absent(
    frame: pd.DataFrame, document: Mapping[str, Any], id_column: str | None
) -> pd.DataFrame:
    """Cells with an empty column for each of a panel that nobody has acquired yet.

    Not where the first column may be a misspelt one in place of the names of the cases.
    """
    header = [str(name) for name in frame.columns]
    raw = {entry["name"]: entry["from"] for entry in document["columns"]}
    features = [*raw.values(), *document["ignored"]]
    if id_column is None and header[:1] not in [[name] for name in features]:
        return frame
    panels = [[raw[c] for c in p["columns"]] for p in document["panels"] if not p["free"]]
    absent = [name for names in panels if not {*names} & {*header} for name in names]
    return frame.assign(**dict.fromkeys(absent, ""))


def _require_columns(
    raw: RawTable, document: Mapping[str, Any], id_column: str | None
) -> str | None:
    """The column that names units; every feature has its column, and no other is there."""
    header, file = [str(c) for c in raw.frame.columns], raw.source[0]
    features = [entry["from"] for entry in document["columns"]]
    if id_column is not None and id_column not in header:
        raise DataError(
            f"{file} has no column {id_column!r}, which --id names; "
            f"{columns_listed(header)}{did_you_mean(id_column, header)}"
        )
    expected = {*features, *document["ignored"]}
    id_name = header[0] if id_column is None and header[0] not in expected else id_column
    for name in features:
        if name not in header:
            raise DataError(
                f"{file} lacks the column {name!r}; a case has the columns {listed(features)}, "
                f"empty where nothing is acquired yet{did_you_mean(name, header)}"
            )
    for name in header:
        if name not in expected and name != id_name:
            raise DataError(
                f"{file} has the column {name!r}, which the table of this policy lacks; allowed "
                f"are {listed(features)} and one that names the cases (--id)"
                f"{did_you_mean(name, features)}"
            )
    return id_name


def _described(entry: Mapping[str, Any]) -> Column:
    return Column(
        entry["name"],
        entry["from"],
        entry["type"],
        entry["unit"],
        None if entry["levels"] is None else tuple(entry["levels"]),
        entry["missing_level"],
        tuple((code, "") for code in entry["codes"]),
        tuple(entry["recode"].items()),
        None if entry["valid"] is None else (entry["valid"][0], entry["valid"][1]),
    )


def _typed(
    raw: RawTable, document: Mapping[str, Any], columns: list[Column], complete: bool
) -> tuple[dict[str, np.ndarray], list[list[str]]]:
    """Numbers or levels of every column, and notes on values that cannot be, for each unit."""
    missing = tuple(dict.fromkeys(["", *document["missing"]]))
    typed: dict[str, np.ndarray] = {}
    empty: dict[str, np.ndarray] = {}
    notes: list[list[str]] = [[] for _ in range(len(raw))]
    remedy = f"texts that mean no value are {listed(map(repr, missing))}"
    for column in columns:
        if column.kind == "numeric":
            style = NumberStyle.of(raw.form, column)
            numbers = numbers_of(
                raw,
                column.raw_name,
                (*missing, *NO_VALUE),
                "columns",
                column=column,
                limits=style.halves_limits,
                remedy=remedy,
            )
            _note_limits(notes, raw, column, style, numbers)
            typed[column.name], _ = possible(numbers, column)
            for row in np.flatnonzero(np.isnan(typed[column.name]) & ~np.isnan(numbers)):
                notes[row].append(f"{column.name} {numbers[row]:g} cannot be: taken as missing")
            continue
        text = text_column(raw, column.raw_name, (), "columns")
        named = {*(column.levels or ()), *dict(column.recode), *missing[1:]}
        blank = np.array([cell in NO_VALUE and cell not in named for cell in text], dtype=bool)
        text[blank] = ""
        text[np.isin(text.astype(str), missing)] = None
        typed[column.name] = levels_of(text, column)
        if not complete and column.missing_level is not None:
            typed[column.name][blank] = None
            empty[column.name] = blank
    for column in columns:
        if column.name in empty:  # acquired, as its panel has another value
            filled = empty[column.name] & _opened(column.name, document, typed)
            typed[column.name][filled] = column.missing_level
    if document["missing_values"] != "partial":
        _require_free(raw, document, typed)
    return typed, notes


def _note_limits(
    notes: list[list[str]],
    raw: RawTable,
    column: Column,
    style: NumberStyle,
    numbers: Float[np.ndarray, " n"],
) -> None:
    """Note values that are known up to a limit that the table did not have."""
    cells = raw.frame.read(column.raw_name)
    if not pa.types.is_string(cells.type):
        return
    for row, text in enumerate(cells.to_pylist()):
        without_blanks = "".join((text or "").split())
        if without_blanks not in style.recode and style.limit(without_blanks) is not None:
            notes[row].append(
                f"{column.name} {text}: known up to a limit, read as {numbers[row]:g}"
            )


def _opened(
    name: str, document: Mapping[str, Any], typed: Mapping[str, np.ndarray]
) -> Bool[np.ndarray, " n"]:
    """Units for which a panel with this column is known: free, or with another value. (n,)"""
    opened = np.zeros(len(typed[name]), dtype=bool)
    for panel in document["panels"]:
        if name in panel["columns"]:
            others = [~is_absent(typed[c]) for c in panel["columns"] if c != name]
            opened |= np.logical_or.reduce([opened, *others]) | panel["free"]
    return opened


def _require_free(
    raw: RawTable, document: Mapping[str, Any], typed: Mapping[str, np.ndarray]
) -> None:
    entry = {item["name"]: item for item in document["columns"]}
    missing = {"", *document["missing"]}
    for panel in document["panels"]:
        for name in panel["columns"] if panel["free"] else ():
            absent = is_absent(typed[name])
            if absent.any():
                row = int(np.argmax(absent))
                cell = str(raw.frame.read(entry[name]["from"])[row])
                outside = entry[name]["valid"] is not None and cell not in missing
                reason = f"holds {shown_cell(cell)}, which cannot be" if outside else "has no value"
                raise DataError(
                    f"{raw.place(row)}: column {name!r} {reason}, and the panel {panel['name']!r} "
                    "is free: it is known for every unit before anything is acquired"
                )


def _require_fees(
    raw: RawTable, document: Mapping[str, Any], typed: Mapping[str, np.ndarray]
) -> None:
    """Refuse a case without a price where each case has its own."""
    for fee in document.get("fees", ()):
        for row in np.flatnonzero(~(typed[fee["column"]] >= 0))[:1]:
            raise DataError(
                f"{raw.place(int(row))}: column {fee['column']!r} has the cost of panel "
                f"{fee['panel']!r} for each case; allowed is a number from 0 on"
            )


def _note_unseen(
    notes: list[list[str]],
    entry: Mapping[str, Any],
    typed: np.ndarray,
    block: Float[np.ndarray, "n c"],
) -> None:
    """Note numbers beyond those that training saw, and levels and codes that it never saw."""
    numeric = entry["levels"] is None
    if not numeric:
        for row in np.flatnonzero(~is_absent(typed) & ~(block == 1).any(axis=1)):
            notes[row].append(f"{entry['name']} {typed[row]}: never seen")
    names = [f"{code:g}" for code in entry["codes"]] if numeric else entry["levels"]
    for j, name in enumerate(names):
        if name not in entry["seen"]:
            for row in np.flatnonzero(block[:, j + numeric] == 1):
                notes[row].append(f"{entry['name']} {name}: never seen")
    if not numeric or entry["low"] is None:
        return
    beyond = (typed < entry["low"]) | (typed > entry["high"])
    beyond &= ~np.isin(typed, entry["codes"])
    for row in np.flatnonzero(beyond):
        notes[row].append(
            f"{entry['name']} {typed[row]:g}: seen were {entry['low']:g} to {entry['high']:g}"
        )
