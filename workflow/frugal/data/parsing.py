"""Raw records as text, and as typed columns: CSV, ARFF, and files of the Adult kind.

Every cell stays text until its column's type is known, so an error names the line and the text
that is there. Other formats (`transport`, `stays`, `mimic_diagnosis`) arrive as frames of numbers.
Knows no panel, no cost and no split.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute
from jaxtyping import Int

from frugal.core.errors import ConfigError, DataError, shown_cell
from frugal.core.schema_check import columns_listed, did_you_mean, listed
from frugal.core.table import LARGEST
from frugal.data.description import Column, Description, Format
from frugal.data.raw_cells import (
    Cells,
    number_text,
    one_after_the_other,
    parquet_cells,
    read_transport,
    require_digits,
)
from frugal.data.records import parse_file

pc: Any = pyarrow.compute  # its functions are made when it is imported
# What is read as each mark between thousands, in a regular expression's brackets.
THOUSANDS = {",": ",", ".": ".", "'": "'’", " ": " \u00a0\u202f"}

# A number with a sign of currency: no column of quantities
AMOUNT = re.compile(
    r"[(+-]?\s*(?:[A-Z]{0,2}[$£¥€]|(?:USD|EUR|GBP|CHF|JPY)\b)\s*[+-]?\d.*|[(+-]?\d.*[$£¥€]\)?"
)

# A number with a limit before it and a unit behind it, both of which may lack
QUANTITY = re.compile(
    r"(?P<limit>[<>≤≥]?=?)\s*(?P<number>[+-]?(?:\d(?:[\d.,'’\s]*\d)?|\.\d+))\s*"
    r"(?!e[+-]?\d|(?<=\b0)x)(?P<unit>(?:[^\W\d_]|[%°µ‰])[^\s,;<>]*|)",
    re.IGNORECASE,  # 1e400 and 0x10 have no unit
)

_NONE_WRONG = np.array([], dtype=np.int64)
STATE_MISSING = "add it to 'source.format.missing'"  # remedy where a text of a file is no value


@dataclass(frozen=True, eq=False)
class RawTable:
    """Records as in the source. Shapes: n records.

    Attributes:
        frame: one column per raw column; text, or numbers where the source is not a file of text.
        source: name of the file (or generator) of each record. (n,)
        line: where the record ends in its file, from 1. (n,)
        row: label of each record in a data frame; None where there is none. (n,)
        group: group of each record, for split scheme `given`; empty text without. (n,)
        form: of the files; None where there are none.
    """

    frame: Cells
    source: np.ndarray
    line: Int[np.ndarray, " n"]
    group: np.ndarray
    form: Format | None = None
    row: "pd.Index | None" = None

    def __len__(self) -> int:
        return len(self.frame)

    def place(self, row: int) -> str:
        """Position of a record, for error messages."""
        if self.row is not None:
            return f"row {self.row[row]!r} of the data frame (position {row})"
        return f"{self.source[row]}, line {self.line[row]}"


def raw_from_frame(frame: pd.DataFrame, *, source: str) -> RawTable:
    """A raw table that comes from a generator or a library instead of a file."""
    n = len(frame)
    return RawTable(Cells.of(frame), _same(source, n), np.arange(1, n + 1), _same("", n))


def _same(text: str, n: int) -> np.ndarray:
    """The same text for n records, held once. (n,)"""
    return np.broadcast_to(np.array(text), n)


def parse_files(description: Description, paths: Mapping[str, Path]) -> RawTable:
    """The records of all files of a data set, one file after the other, or joined by a key.

    Args:
        description: names the files, their order and their format.
        paths: file name in the description → where it lies.

    Raises:
        DataError: a file is empty, has duplicate column names or records of unequal length, two
            files that are read one after the other have different columns, or a key is not unique.
        ConfigError: a path is missing, or the encoding is unknown.
    """
    form = description.format
    if form is None:
        raise ConfigError(f"data set {description.name!r} has no files to parse")
    parsed: list[RawTable] = []
    for file in description.source.files:
        if file.name not in paths:
            raise ConfigError(f"data set {description.name!r}: no path given for {file.name!r}")
        cells, line = read_file(paths[file.name], form, source=file.name)
        n = len(cells)
        parsed.append(RawTable(cells, _same(file.name, n), line, _same(file.group or "", n), form))
    key = description.source.join
    return _stacked(parsed) if key is None else side_by_side(parsed, key)


def _stacked(tables: Sequence[RawTable]) -> RawTable:
    """The records of several files of the same columns."""
    first = tables[0]
    if len(tables) == 1:
        return first
    for table in tables:
        if table.frame.columns != first.frame.columns:
            raise DataError(
                f"{table.source[0]} has columns {listed(table.frame.columns)}, but the first file "
                f"has {listed(first.frame.columns)}"
            )
    return RawTable(
        one_after_the_other([t.frame for t in tables]),
        np.concatenate([t.source for t in tables]),
        np.concatenate([t.line for t in tables]),
        np.concatenate([t.group for t in tables]),
        first.form,
    )


def side_by_side(tables: Sequence[RawTable], key: str) -> RawTable:
    """The records of the first table with the columns that the others have for the same key.

    A record that another table lacks has no values there. Of a column that two tables have,
    the first counts.

    Raises:
        DataError: a table lacks the key, has a record without one, or one twice.
    """
    frames = [_by_key(table, key) for table in tables]
    joined = frames[0]
    for frame in frames[1:]:
        new = frame[[c for c in frame.columns if c not in joined.columns]]
        joined = joined.join(new, how="left")
    return replace(tables[0], frame=Cells.of(joined.copy().reset_index()))


def _by_key(table: RawTable, key: str) -> pd.DataFrame:
    values = pd.Series(_cells(table, key, "source.join").to_pylist())
    for fault, rows in (
        ("has no value", values.isna() | (values == "")),
        ("holds a value twice", values.duplicated()),
    ):
        if rows.any():
            row = int(np.argmax(rows))
            raise DataError(
                f"{table.place(row)}: column {key!r} {fault} ({shown_cell(values[row])}); records "
                "are joined by it, so each needs one of its own"
            )
    return table.frame.frame().set_index(key)


def read_file(path: Path, form: Format, *, source: str) -> tuple[Cells, np.ndarray]:
    """Cells of one file unchanged, and the line of each record."""
    if form.kind not in ("xpt", "parquet"):
        return parse_file(path, form, source=source)
    cells = (
        Cells.of(read_transport(path, source=source)) if form.kind == "xpt" else parquet_cells(path)
    )
    return cells, np.arange(1, len(cells) + 1)


def numeric_column(
    raw: RawTable, column: Column, missing: Iterable[str], retained: np.ndarray | None = None
) -> np.ndarray:
    """A raw column as numbers; NaN where it holds a text that denotes a missing value. (n,)

    Raises:
        DataError: the column is not there, or a cell is no finite number (which, and where).
    """
    return numbers_of(raw, column.raw_name, missing, "columns", column=column, retained=retained)


def numbers_of(
    raw: RawTable,
    name: str,
    missing: Iterable[str],
    key: str,
    *,
    column: Column | None = None,
    limits: bool = False,
    remedy: str = f"if it means a missing value, {STATE_MISSING}",
    retained: np.ndarray | None = None,
) -> np.ndarray:
    """A raw column, which `key` of the description names, as numbers; NaN where missing. (n,)

    A number that denotes a missing value does so however it is written: -9 also as -9.0. `column`
    is the feature that is read, if one is: its unit may follow a number, and its `recode` maps
    other texts. With `limits`, half of a limit is read of a value that is only known to be below
    it, see `up_to_limit`. `remedy` is the proposal of the error where a cell is no number. Of
    records that are not `retained` (n,), such a cell is no error, and infinite.

    Raises:
        DataError: the column is not there, or a cell is no number of single precision (which, and
            where).
    """
    cells, missing = _cells(raw, name, key), tuple(missing)
    style = NumberStyle.of(raw.form, column)._replace(limits=limits)
    if pa.types.is_string(cells.type):
        values, start = np.empty(len(cells)), 0
        for chunk in cells.chunks:
            part, wrong = _numbers(chunk, missing, style)
            for k in wrong if retained is None else wrong[retained[start + wrong]]:
                raise DataError(
                    f"{raw.place(start + int(k))}: column {name!r} holds "
                    f"{shown_cell(chunk[int(k)].as_py())}, which is not a number; {remedy}"
                )
            if len(wrong):
                part[wrong] = np.inf
            values[start : start + len(chunk)] = part
            start += len(chunk)
    else:
        values = cells.cast(pa.float64(), safe=False).to_numpy().copy()
    values[_stands_for_missing(values, missing)] = np.nan
    beyond = (values > LARGEST) | (values < -LARGEST)  # False where NaN
    for row in np.flatnonzero(beyond if retained is None else beyond & retained)[:1]:
        raise DataError(  # networks and forests compute in single precision
            f"{raw.place(int(row))}: column {name!r} holds {shown_cell(float(values[row]))}; "
            f"allowed are numbers between -{LARGEST:.2g} and {LARGEST:.2g} (single precision)"
        )
    values[beyond] = np.inf
    return values


def up_to_limit(limit: str, number: float) -> float:
    """The number for a value that is below or above a limit: half the limit, or the limit."""
    return number / 2 if limit[:1] in ("<", "≤") else number


class NumberStyle(NamedTuple):
    """How numbers are written as text: marks of decimals and thousands, a unit, other texts.

    With `limits`, a value may be known up to a limit, as <2.
    """

    decimal: str = "."
    thousands: str | None = None
    unit: str = ""
    recode: Mapping[str, str] = MappingProxyType({})
    limits: bool = False

    @classmethod
    def of(cls, form: Format | None, column: Column | None) -> "NumberStyle":
        """That of a column of files of a format."""
        unit = "" if column is None or column.unit[:1].isdigit() else column.unit
        recode = {} if column is None else dict(column.recode)
        if form is None:
            return cls(unit=unit, recode=recode)
        return cls(form.decimal, form.thousands, unit, recode)

    def plain(self, text: str) -> str:
        """The text as Python writes a number, if it is one in this style."""
        if text in self.recode:
            return self.recode[text]
        if (self.limits or self.recode) and (limit := self.limit(text)) is not None:
            unread = repr(limit) if self.limits else "no number"
            return self.recode.get("".join(text.split()), unread)
        text = text.strip()
        if (
            self.unit
            and text.endswith(self.unit)
            and text[: -len(self.unit)].strip()[-1:].isdigit()
        ):
            text = text[: -len(self.unit)].strip()
        marks = THOUSANDS.get(self.thousands or "", "")
        if any(mark in text for mark in marks):
            grouped = rf"[+-]?\d{{1,3}}([{marks}]\d{{3}})+"
            if not re.fullmatch(rf"{grouped}([{self.decimal}]\d*)?", text):
                return "no number"
            text = re.sub(f"[{marks}]", "", text)
        return text if self.decimal == "." else text.replace(",", ".")

    def limit(self, text: str) -> float | None:
        """The number for a value that is known up to a limit; None where it is none."""
        text = text.strip()
        part = QUANTITY.fullmatch(text) if text[:1] in ("<", ">", "≤", "≥", "=") else None
        if part is None or not part["limit"] or part["unit"] not in ("", self.unit):
            return None
        number = float(self._replace(limits=False, recode={}).numbers([part["number"]])[0])
        return up_to_limit(part["limit"], number) if np.isfinite(number) else None

    @property
    def halves_limits(self) -> bool:
        """Whether limits among the other texts are read as `limit` reads any."""
        limit_of = {text: self.limit(text) for text in self.recode}
        others = ((self.recode[t], limit) for t, limit in limit_of.items() if limit is not None)
        return all(_converted([number])[0] == limit for number, limit in others)

    def numbers(self, texts: Sequence[str | None] | np.ndarray) -> np.ndarray:
        """Texts as numbers, NaN where one is none. (n,)"""
        if self == NumberStyle():
            return _converted(texts)
        return _converted([None if text is None else self.plain(text) for text in texts])


def _numbers(
    cells: pa.Array, missing: tuple[str, ...], style: NumberStyle
) -> tuple[np.ndarray, np.ndarray]:
    """Texts as numbers, NaN where missing, and the positions of those that are no number."""
    as_python = style.decimal == "." and style.thousands is None
    values = _cast(cells) if as_python else None
    if values is not None and np.isfinite(values).all():
        return values, _NONE_WRONG
    absent = pc.is_null(cells)
    if missing:
        absent = pc.or_(absent, pc.is_in(cells, pa.array(missing, pa.string())))
    texts = pc.if_else(absent, None, cells) if absent.true_count else cells
    values = _cast(texts) if as_python else None
    if values is None:  # blanks around one, a sign before it, another style, or no number
        coded = texts.dictionary_encode()
        kinds = np.append(style.numbers(coded.dictionary.to_pylist()), np.nan)
        values = kinds[coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    finite = np.isfinite(values)
    if np.count_nonzero(finite) + absent.true_count == len(cells):
        return values, _NONE_WRONG
    wrong = np.flatnonzero(~finite & ~absent.to_numpy(zero_copy_only=False))
    return values.copy(), wrong


def _cast(cells: pa.Array) -> np.ndarray | None:
    """Texts as numbers, NaN where there is none; None where Arrow takes one for no number."""
    try:
        return pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None


def _converted(texts: np.ndarray | Sequence[str | None]) -> np.ndarray:
    """Texts as finite numbers, else NaN: as pandas takes them, with blanks around. (n,)"""
    values = pd.to_numeric(pd.Series(list(texts), dtype=object), errors="coerce")
    return values.replace([np.inf, -np.inf], np.nan).to_numpy(dtype=np.float64)


def _stands_for_missing(values: np.ndarray, missing: Sequence[str]) -> np.ndarray:
    """True where a number denotes a missing value. (n,)"""
    numbers = _converted(missing)
    return np.isin(values, numbers[~np.isnan(numbers)])


def text_column(raw: RawTable, name: str, missing: Iterable[str], key: str) -> np.ndarray:
    """A raw column as text; None where it holds a text that denotes a missing value. (n,)

    Numbers of a source that is no text become text digit by digit: 2.0 is "2".

    Raises:
        DataError: the column is not there, or a number has lost digits; `key` is the part of
            the description that names it.
    """
    cells, missing = _cells(raw, name, key), tuple(missing)
    if pa.types.is_floating(cells.type):
        require_digits(cells.to_numpy(), f"{raw.source[0]}: column {name!r}")
    coded = cells.combine_chunks().dictionary_encode()
    index = coded.indices.fill_null(-1).to_numpy()
    kinds, absent = coded.dictionary.to_pylist(), set(missing)
    names = [kind if isinstance(kind, str) else number_text(kind) for kind in kinds]
    if not pa.types.is_string(cells.type):
        absent_kinds = _stands_for_missing(_converted(names), missing)
        absent |= {
            name for name, absent_kind in zip(names, absent_kinds, strict=True) if absent_kind
        }
    observed = [None if text in absent else text for text in names]
    return np.array([*observed, None], dtype=object)[index]


def _cells(raw: RawTable, name: str, key: str) -> pa.ChunkedArray:
    """A raw column, which `key` of the description names: numbers, or texts."""
    if name not in raw.frame.columns:
        columns = [str(c) for c in raw.frame.columns]
        raise DataError(
            f"{raw.source[0]} has no column {name!r}, which {key!r} names; "
            f"{columns_listed(columns)}{did_you_mean(name, columns)}"
        )
    return raw.frame.read(name)
