"""New cases in a CSV, read as the table of a policy was read; an empty cell is not acquired yet.

A document says how: it is made once, from the description and the table, and kept beside the
policy, so that nothing else is needed later. Knows no policy and no costs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.documents import Each, OrNull, require_document
from frugal.core.errors import DataError
from frugal.core.schema_check import did_you_mean, listed
from frugal.core.table import Table
from frugal.data.belonging import columns_named
from frugal.data.cells import coded_cells, is_absent, level_cells, levels_of, possible
from frugal.data.description import Column, Description
from frugal.data.description_sources import Format
from frugal.data.labels import columns_of_rule
from frugal.data.packed import unpacked_bytes
from frugal.data.parsing import RawTable, numbers_of, text_column
from frugal.data.records import parse_file

CASES = {
    "columns": [
        {
            "name": str, "from": str, "type": str, "unit": str, "levels": OrNull([str]),
            "missing_level": OrNull(str), "recode": Each(str), "codes": [float],
            "instead": float, "valid": OrNull([float]), "low": OrNull(float),
            "high": OrNull(float), "seen": [str],
        }
    ],
    "panels": [{"name": str, "columns": [str], "free": bool}],
    "missing": [str],
    "missing_values": str,
    "ignored": [str],
}  # fmt: skip
_SEPARATORS = (",", ";", "\t")
JUDGES = "test"  # the part that no training sees


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


@dataclass(frozen=True, eq=False)
class TableColumns:
    """A table of which one column is read at a time.

    Attributes:
        layout: its columns and panels; its rows are not read.
        trained: True for the rows that training saw. (n,)
        column: values of an encoded column. (n,)
    """

    layout: Table
    trained: Bool[np.ndarray, " n"]
    column: Callable[[str], Float[np.ndarray, " n"]]

    @classmethod
    def of(cls, table: Table, part: np.ndarray) -> "TableColumns":
        """A table in memory; all but its test part is what training saw."""
        return cls(table, part != JUDGES, lambda name: table.values[:, table.columns.index(name)])


def case_document(
    description: Description, table: TableColumns, left_out: list[str]
) -> dict[str, Any]:
    """How a file of new cases is read, as plain values.

    Args:
        description: of the table.
        table: what was made of it; panels that it lacks are left out.
        left_out: columns of the file that are no features.
    """
    layout, columns, start = table.layout, [], 0
    for column in description.columns:
        width, levels = _width(column, layout, start)
        if width:
            names = layout.columns[start : start + width]
            cells = np.column_stack([table.column(name)[table.trained] for name in names])
            columns.append(_column_document(column, levels, cells, table.column(names[0])))
            start += width
    kept = {column["name"] for column in columns}
    form = description.source.format
    return {
        "columns": columns,
        "panels": [
            {"name": p.name, "columns": [c for c in p.columns if c in kept], "free": p.free}
            for p in description.panels
            if any(p.name == own.name for own in layout.panels)
        ],
        "missing": [] if form is None else list(form.missing),
        "missing_values": description.missing_values,
        "ignored": sorted({*left_out, *_told_otherwise(description)}),
    }


def _told_otherwise(description: Description) -> set[str]:
    """Columns of the file that are read for something else than features."""
    label, groups = description.label, description.groups
    named = {label.column, label.meaning.by, *columns_of_rule(label.rule), description.source.join}
    named |= columns_named(description) | {rule.column for rule in description.drop_rows}
    named |= set() if groups is None else {groups.column, groups.by}
    named |= set() if description.source.format is None else {*description.source.format.personal}
    return {name for name in named if name is not None}


def _width(column: Column, table: Table, start: int) -> tuple[int, tuple[str, ...] | None]:
    """Encoded columns that a column became from `start` on, 0 for none, and its levels."""
    if column.kind == "numeric":
        there = table.columns[start : start + 1] == (column.name,)
        return (1 + len(column.special_values) if there else 0), None
    group = next((group for group in table.onehot if group and group[0] == start), ())
    names = [table.columns[j] for j in group]
    if not names or not all(name.startswith(f"{column.name}=") for name in names):
        return 0, None
    return len(names), tuple(name.removeprefix(f"{column.name}=") for name in names)


def _column_document(
    column: Column,
    levels: tuple[str, ...] | None,
    cells: Float[np.ndarray, "m c"],
    values: Float[np.ndarray, " n"],
) -> dict[str, Any]:
    """One column: how it is read, and what training saw of it.

    Args:
        column: as described.
        levels: of a category.
        cells: its encoded columns in the rows that training saw.
        values: its first encoded column in all rows.
    """
    codes = [float(code) for code, _ in column.special_values]
    found = np.nansum(cells[:, 0 if levels is not None else 1 :], axis=0) > 0
    low = high = None
    instead = 0.0
    if levels is None:
        regular = cells[~(cells[:, 1:] == 1).any(axis=1), 0]
        regular = regular[~np.isnan(regular)]
        if regular.size:
            low, high = float(regular.min()), float(regular.max())
    names = levels if levels is not None else [f"{code:g}" for code in codes]
    if codes:
        instead = float(np.nanmedian(values))  # codes were given the median: it stays one
    return {
        "name": column.name, "from": column.raw_name, "type": column.kind, "unit": column.unit,
        "levels": None if levels is None else list(levels), "missing_level": column.missing_level,
        "recode": dict(column.recode), "codes": codes, "instead": instead,
        "valid": None if column.valid is None else list(column.valid), "low": low, "high": high,
        "seen": [name for name, yes in zip(names, found, strict=True) if yes],
    }  # fmt: skip


def require_case_document(document: Any) -> Mapping[str, Any]:
    """The document, if it is one.

    Raises:
        DataError: it has another shape, or contradicts itself.
    """
    require_document(document, CASES, "description of cases")
    names = {entry["name"] for entry in document["columns"]}
    for entry in document["columns"]:
        levels, valid = entry["levels"], entry["valid"]
        if (levels is not None) != (entry["type"] == "categorical") or len(valid or (0, 0)) != 2:
            raise DataError(
                f"the stored description of cases has levels or a valid range of the column "
                f"{entry['name'][:60]!r} that its type {entry['type'][:60]!r} does not have"
            )
    for panel in document["panels"]:
        if unknown := [name for name in panel["columns"] if name not in names]:
            raise DataError(
                f"the stored description of cases has a panel of the column {unknown[0][:60]!r}, "
                "which it does not describe"
            )
    return document


def encoded_names(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns that a case becomes."""
    found: list[str] = []
    for entry in document["columns"]:
        name, levels = entry["name"], entry["levels"]
        if levels is None:
            found += [name, *(f"{name}={code:g}" for code in entry["codes"])]
        else:
            found += [f"{name}={level}" for level in levels]
    return tuple(found)


def read_cases(
    path: Path,
    document: Mapping[str, Any],
    *,
    provides: Bool[np.ndarray, "a d"],
    id_column: str | None,
    whole: bool,
) -> Cases:
    """The units of a CSV.

    Args:
        path: of the file; separated by commas, semicolons or tabs.
        document: of `case_document`.
        provides: encoded columns that a panel reveals. (a, d)
        id_column: names the units; None: the first column, if it is no feature.
        whole: the cells are whole records, so an empty cell is read as in the table; else an empty
            cell is a value that is not acquired.

    Raises:
        DataError: the file cannot be read, lacks a column or has one too many, or a cell is not
            what its column holds.
    """
    if not path.is_file():
        raise DataError(f"there is no file {path}; a CSV of cases is needed")
    raw = _raw(path, document)
    id_name = _require_columns(raw, document, id_column)
    described = [_described(entry) for entry in document["columns"]]
    typed, notes = _typed(raw, document, described, whole)
    rows = np.arange(len(raw))
    blocks = [
        level_cells(raw, rows, typed[c.name], c) if c.kind == "categorical"
        else coded_cells(typed[c.name], np.array([v for v, _ in c.special_values]), instead)
        for c, instead in zip(described, (e["instead"] for e in document["columns"]), strict=True)
    ]  # fmt: skip
    values = np.concatenate(blocks, axis=1)
    acquired = _acquired(document, values, provides, notes)
    for entry, block in zip(document["columns"], blocks, strict=True):
        _note_unseen(notes, entry, typed[entry["name"]], block)
    ids = raw.line.tolist() if id_name is None else raw.frame[id_name].tolist()
    return Cases(
        id_name or "line", [str(one) for one in ids], values, acquired,
        ["; ".join(said) for said in notes],
    )  # fmt: skip


def _acquired(
    document: Mapping[str, Any],
    values: Float[np.ndarray, "n d"],
    provides: Bool[np.ndarray, "a d"],
    notes: list[list[str]],
) -> Bool[np.ndarray, "n a"]:
    """Panels whose values are there, all of them or, of a partial table, any; notes the rest."""
    known = ~np.isnan(values)
    count = known.astype(np.float32) @ provides.T.astype(np.float32)
    if document["missing_values"] == "partial":
        return count > 0
    acquired = count >= provides.sum(axis=1)
    shown = acquired.astype(np.float32) @ provides.astype(np.float32) > 0
    rest = (known & ~shown).astype(np.float32) @ provides.T.astype(np.float32) > 0
    names = [panel["name"] for panel in document["panels"] if not panel["free"]]
    for row, j in zip(*np.nonzero(rest & ~acquired), strict=True):
        notes[row].append(f"panel {names[j]}: some values only, so taken as not acquired")
    return acquired


def _raw(path: Path, document: Mapping[str, Any]) -> RawTable:
    """The cells as text; separated by what splits the first line into most of the columns."""
    try:
        text = unpacked_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 text at byte {error.start}; save the cases as UTF-8"
        ) from None
    first = text.partition("\n")[0].strip("\r")
    names = {entry["from"] for entry in document["columns"]}
    parts = {s: {cell.strip().strip('"') for cell in first.split(s)} for s in _SEPARATORS}
    separator = max(_SEPARATORS, key=lambda s: len(parts[s] & names))
    form = Format("csv", tuple(document["missing"]), separator, None, None, True, "utf-8")
    frame, line = parse_file(path, form, source=path.name)
    source = np.broadcast_to(np.array(path.name), len(frame))
    return RawTable(frame, source, line, source)


def _require_columns(
    raw: RawTable, document: Mapping[str, Any], id_column: str | None
) -> str | None:
    """The column that names units; every feature has its column, and no other is there."""
    header, file = [str(c) for c in raw.frame.columns], raw.source[0]
    features = [entry["from"] for entry in document["columns"]]
    if id_column is not None and id_column not in header:
        raise DataError(
            f"{file} has no column {id_column!r}, which --id names; its columns are "
            f"{listed(header)}{did_you_mean(id_column, header)}"
        )
    own = {*features, *document["ignored"]}
    id_name = header[0] if id_column is None and header[0] not in own else id_column
    for name in features:
        if name not in header:
            raise DataError(
                f"{file} lacks the column {name!r}; a case has the columns {listed(features)}, "
                f"empty where nothing is acquired yet{did_you_mean(name, header)}"
            )
    for name in header:
        if name not in own and name != id_name:
            raise DataError(
                f"{file} has the column {name!r}, which the table of this policy lacks; allowed "
                f"are {listed(features)} and one that names the cases (--id)"
                f"{did_you_mean(name, features)}"
            )
    return id_name


def _described(entry: Mapping[str, Any]) -> Column:
    return Column(
        entry["name"], entry["from"], entry["type"], entry["unit"],
        None if entry["levels"] is None else tuple(entry["levels"]), entry["missing_level"],
        tuple((code, "") for code in entry["codes"]), tuple(entry["recode"].items()),
        None if entry["valid"] is None else (entry["valid"][0], entry["valid"][1]),
    )  # fmt: skip


def _typed(
    raw: RawTable, document: Mapping[str, Any], columns: list[Column], whole: bool
) -> tuple[dict[str, np.ndarray], list[list[str]]]:
    """Numbers or levels of every column, and notes on values that cannot be, for each unit."""
    missing = tuple(dict.fromkeys(["", *document["missing"]]))
    typed: dict[str, np.ndarray] = {}
    empty: dict[str, np.ndarray] = {}
    notes: list[list[str]] = [[] for _ in range(len(raw))]
    remedy = f"texts that mean no value are {listed(map(repr, missing))}"
    for column in columns:
        if column.kind == "numeric":
            numbers = numbers_of(raw, column.raw_name, missing, "columns", remedy=remedy)
            typed[column.name], _ = possible(numbers, column)
            for row in np.flatnonzero(np.isnan(typed[column.name]) & ~np.isnan(numbers)):
                notes[row].append(f"{column.name} {numbers[row]:g} cannot be: taken as missing")
            continue
        text = text_column(raw, column.raw_name, (), "columns")
        blank = np.array([cell == "" for cell in text], dtype=bool)
        text[np.isin(text.astype(str), missing)] = None
        typed[column.name] = levels_of(text, column)
        if not whole and column.missing_level is not None:
            typed[column.name][blank] = None
            empty[column.name] = blank
    for column in columns:
        if column.name in empty:  # a panel that tells something else was asked for this, too
            asked = empty[column.name] & _opened(column.name, document, typed)
            typed[column.name][asked] = column.missing_level
    if document["missing_values"] != "partial":
        _require_free(raw, document, typed)
    return typed, notes


def _opened(
    name: str, document: Mapping[str, Any], typed: Mapping[str, np.ndarray]
) -> Bool[np.ndarray, " n"]:
    """Units for which a panel with this column is known: free, or with another value. (n,)"""
    found = np.zeros(len(typed[name]), dtype=bool)
    for panel in document["panels"]:
        if name in panel["columns"]:
            others = [~is_absent(typed[c]) for c in panel["columns"] if c != name]
            found |= np.logical_or.reduce([found, *others]) | panel["free"]
    return found


def _require_free(
    raw: RawTable, document: Mapping[str, Any], typed: Mapping[str, np.ndarray]
) -> None:
    for panel in document["panels"]:
        for name in panel["columns"] if panel["free"] else ():
            gaps = is_absent(typed[name])
            if gaps.any():
                raise DataError(
                    f"{raw.place(int(np.argmax(gaps)))}: column {name!r} has no value, and the "
                    f"panel {panel['name']!r} is free: it is known for every unit before anything "
                    "is acquired"
                )


def _note_unseen(
    notes: list[list[str]],
    entry: Mapping[str, Any],
    typed: np.ndarray,
    block: Float[np.ndarray, "n c"],
) -> None:
    """Note numbers beyond those that training saw, and levels and codes that it never saw."""
    numeric = entry["levels"] is None
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
