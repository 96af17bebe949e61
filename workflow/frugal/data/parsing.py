"""Raw records as text, and as typed columns: CSV, ARFF, and files of the Adult kind.

Every cell stays text until its column's type is known, so that an error names the line and what
stands there. Other formats (`transport`, `stays`, `mimic_diagnosis`) arrive as frames of numbers.
Knows no panel, no cost and no split.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Int

from frugal.contracts.errors import ConfigError, DataError
from frugal.contracts.table import LARGEST
from frugal.data.description import Column, Description
from frugal.data.description_sources import Format
from frugal.data.packed import unpacked_bytes
from frugal.data.schema_check import did_you_mean, listed, shown
from frugal.data.transport import read_transport

# Encodings of Python that write letters as something else; no file of records is in one
_NO_CHARACTER_SETS = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}
_ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+\S", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class RawTable:
    """Records as they stand in the source. Shapes: n records.

    Attributes:
        frame: one column per raw column; text, or numbers where the source is not a file.
        source: name of the file (or generator) of each record. (n,)
        line: where the record ends in its file, from 1. (n,)
        group: group of each record, for split scheme `given`; empty text without. (n,)
    """

    frame: pd.DataFrame
    source: np.ndarray
    line: Int[np.ndarray, " n"]
    group: np.ndarray

    def __len__(self) -> int:
        return len(self.frame)

    def place(self, row: int) -> str:
        """Where a record stands, for error sentences."""
        return f"{self.source[row]}, line {self.line[row]}"


def raw_from_frame(frame: pd.DataFrame, *, source: str) -> RawTable:
    """A raw table that comes from a generator or a library instead of a file."""
    n = len(frame)
    return RawTable(frame, np.full(n, source), np.arange(1, n + 1), np.full(n, ""))


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
    form = description.source.format
    if form is None:
        raise ConfigError(f"data set {description.name!r} has no files to parse")
    parsed: list[RawTable] = []
    for file in description.source.files:
        if file.name not in paths:
            raise ConfigError(f"data set {description.name!r}: no path given for {file.name!r}")
        frame, line = _read_file(paths[file.name], form, source=file.name)
        parsed.append(
            RawTable(
                frame,
                np.full(len(frame), file.name),
                line,
                np.full(len(frame), file.group or ""),
            )
        )
    key = description.source.join
    return one_after_the_other(parsed) if key is None else side_by_side(parsed, key)


def one_after_the_other(tables: Sequence[RawTable]) -> RawTable:
    """The records of several files of the same columns.

    Raises:
        DataError: two files have different columns.
    """
    first = tables[0]
    for table in tables:
        if list(table.frame.columns) != list(first.frame.columns):
            raise DataError(
                f"{table.source[0]} has columns {listed(table.frame.columns)}, but the first file "
                f"has {listed(first.frame.columns)}"
            )
    return RawTable(
        pd.concat([t.frame for t in tables], ignore_index=True),
        np.concatenate([t.source for t in tables]),
        np.concatenate([t.line for t in tables]),
        np.concatenate([t.group for t in tables]),
    )


def side_by_side(tables: Sequence[RawTable], key: str) -> RawTable:
    """The records of the first table with the columns that the others have for the same key.

    A record that another table lacks has no values there. Of a column that stands in two tables,
    the first counts.

    Raises:
        DataError: a table lacks the key, has a record without one, or one twice.
    """
    frames = [_by_key(table, key) for table in tables]
    joined = frames[0]
    for frame in frames[1:]:
        new = frame[[c for c in frame.columns if c not in joined.columns]]
        joined = joined.join(new, how="left")
    for column in joined.select_dtypes("object"):  # an absent text is no number
        joined[column] = joined[column].where(joined[column].notna(), None)
    first = tables[0]
    return RawTable(joined.copy().reset_index(), first.source, first.line, first.group)


def _by_key(table: RawTable, key: str) -> pd.DataFrame:
    values = pd.Series(_cells(table, key, "source.join"))
    for fault, rows in (("has no value", values.isna() | (values == "")),
                        ("holds a value twice", values.duplicated())):  # fmt: skip
        if rows.any():
            row = int(np.argmax(rows))
            raise DataError(
                f"{table.place(row)}: column {key!r} {fault} ({values[row]}); records are joined "
                "by it, so each needs one of its own"
            )
    return table.frame.set_index(key)


def _read_file(path: Path, form: Format, *, source: str) -> tuple[pd.DataFrame, np.ndarray]:
    if form.kind == "xpt":
        frame = read_transport(path, source=source)
        return frame, np.arange(1, len(frame) + 1)
    return parse_text(text_of_file(path, form), form, source=source)


def parse_text(text: str, form: Format, *, source: str) -> tuple[pd.DataFrame, np.ndarray]:
    """The records of one file as text cells, and the line number of each.

    Raises:
        DataError: no record, duplicate column names, or a record of the wrong length.
    """
    lines = lines_of(text)
    header, header_line = form.header, 0
    if form.kind == "arff":
        header, lines = _arff_header(lines, source)
    records = _records(lines, form, source)
    if header is None:
        header_line, header = next(records, (0, None))
        if header is None:
            raise DataError(f"{source} is empty; a header line with column names is expected")
    twice = [name for name, times in Counter(header).items() if times > 1]
    if twice:
        raise DataError(f"{source} has two columns named {twice[0]!r}; names must be unique")
    kept = _not_personal(header, form, source)
    rows, numbers = [], []
    for number, cells in records:
        if len(cells) != len(header):
            raise DataError(
                f"{source}, line {number} has {len(cells)} cells, but there are {len(header)} "
                f"columns ({listed(header, at_most=6)})"
            )
        rows.append([cells[j] for j in kept])
        numbers.append(number)
    if not rows:
        raise DataError(f"{source} is empty: it holds no record below the column names")
    _require_no_hidden_record(lines, form, header_line or numbers[0], len(header), source)
    columns = zip(*rows, strict=True)
    names = [header[j] for j in kept]
    frame = pd.DataFrame(
        {n: pd.Series(c, dtype=object) for n, c in zip(names, columns, strict=True)}
    )
    return frame, np.array(numbers, dtype=np.int64)


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends; other characters that may end a line are part of it."""
    return io.StringIO(text, newline=None).readlines()


def _require_no_hidden_record(
    lines: Sequence[str], form: Format, first: int, width: int, source: str
) -> None:
    """Refuse a record that begins with the mark of comments: below line `first`, as wide as others.

    `#N/A`, say, is an error of a spreadsheet, and no comment on its record.
    """
    if form.kind != "csv" or not form.comment or width < 2:
        return
    for number, line in enumerate(lines[first:], start=first + 1):
        text = line.lstrip()
        if text.startswith(form.comment) and text.count(form.separator) == width - 1:
            raise DataError(
                f"{source}, line {number} begins with {shown(form.comment, at_most=20)}, the "
                f"'comment' of 'source.format', and has {width} cells, as many as a record: remove "
                "the line, write its first cell in quotes, or set 'comment: null'"
            )


def _not_personal(header: Sequence[str], form: Format, source: str) -> list[int]:
    """Positions of the columns that are kept: all but those that name people."""
    unknown = [name for name in form.personal if name not in header]
    if unknown:
        raise DataError(
            f"{source} has no column {unknown[0]!r}, which 'source.format.personal' names; "
            f"its columns are {listed(header, at_most=60)}{did_you_mean(unknown[0], header)}"
        )
    return [j for j, name in enumerate(header) if name not in form.personal]


def numeric_column(raw: RawTable, column: Column, missing: Iterable[str]) -> np.ndarray:
    """A raw column as numbers; NaN where it holds a text that stands for missing. (n,)

    Raises:
        DataError: the column is not there, or a cell is no finite number (which, and where).
    """
    return numbers_of(raw, column.raw_name, missing, "columns")


def numbers_of(raw: RawTable, name: str, missing: Iterable[str], key: str) -> np.ndarray:
    """A raw column, which `key` of the description names, as numbers; NaN where missing. (n,)

    Raises:
        DataError: the column is not there, or a cell is no number of single precision (which, and
            where).
    """
    cells = _cells(raw, name, key)
    if np.issubdtype(cells.dtype, np.number):
        values = cells.astype(np.float64)
        _require_single_precision(raw, name, values)
        return values
    absent = np.isin(cells, list(missing)) | np.array([c is None for c in cells], dtype=bool)
    values = pd.to_numeric(pd.Series(np.where(absent, "nan", cells)), errors="coerce")
    values = values.to_numpy(dtype=np.float64, copy=True)
    wrong = ~absent & ~np.isfinite(values)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{raw.place(row)}: column {name!r} holds {shown(cells[row], at_most=60)}, which is "
            "not a number; if it means a missing value, add it to 'source.format.missing'"
        )
    _require_single_precision(raw, name, values)
    return values


def _require_single_precision(raw: RawTable, name: str, values: np.ndarray) -> None:
    """Refuse a number that networks and forests, which compute in single precision, cannot hold."""
    beyond = np.abs(values) > LARGEST  # False where NaN
    if beyond.any():
        row = int(np.argmax(beyond))
        raise DataError(
            f"{raw.place(row)}: column {name!r} holds {values[row]:g}; allowed are numbers between "
            f"-{LARGEST:.2g} and {LARGEST:.2g} (single precision)"
        )


def text_column(raw: RawTable, name: str, missing: Iterable[str], key: str) -> np.ndarray:
    """A raw column as text; None where it holds a text that stands for missing. (n,)

    Numbers of a source that is no text become text without needless decimals: 2.0 is "2".

    Raises:
        DataError: the column is not there; `key` says which part of the description names it.
    """
    cells = _cells(raw, name, key)
    if np.issubdtype(cells.dtype, np.number):
        kinds, index = np.unique(cells, return_inverse=True)  # NaN are one kind
        names = [None if np.isnan(k) else f"{k:.15g}" for k in kinds]
        text = np.array([*names, None], dtype=object)[index]
    else:
        text = np.array([None if c is None else str(c) for c in cells], dtype=object)
    text[np.isin(text, list(missing))] = None
    return text


def _cells(raw: RawTable, name: str, key: str) -> np.ndarray:
    if name not in raw.frame.columns:
        known = [str(c) for c in raw.frame.columns]
        raise DataError(
            f"{raw.source[0]} has no column {name!r}, which {key!r} names; "
            f"its columns are {listed(known, at_most=60)}{did_you_mean(name, known)}"
        )
    return raw.frame[name].to_numpy()


def text_of_file(path: Path, form: Format) -> str:
    """The text of a file, unpacked if it is gzipped.

    Raises:
        ConfigError: the encoding is unknown.
        DataError: the file cannot be read, or is in another encoding.
    """
    _require_character_set(form.encoding)
    encoding = "utf-8-sig" if form.encoding.lower() in ("utf-8", "utf8") else form.encoding
    try:
        content = unpacked_bytes(path)
        return io.TextIOWrapper(io.BytesIO(content), encoding=encoding).read()
    except UnicodeError as error:  # without a place where a mark at the beginning lacks
        at = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise DataError(f"{path} is not {form.encoding} text{at}; see 'source.format'") from None


def _require_character_set(encoding: str) -> None:
    """Refuse what is no name of an encoding of text.

    Raises:
        ConfigError: names it.
    """
    try:
        found = codecs.lookup(encoding)
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # refuses codecs of bytes to bytes
    except (LookupError, ValueError):
        found = None
    if found is None or found.name.replace("_", "-") in _NO_CHARACTER_SETS:
        raise ConfigError(f"encoding {encoding!r} is unknown; try utf-8 or latin-1")


def _records(
    lines: Sequence[str], form: Format, source: str
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line number and cells of each record; comments become blank lines, so that numbers hold."""
    comment = form.comment
    kept = ("\n" if comment and line.lstrip().startswith(comment) else line for line in lines)
    quote = "'" if form.kind == "arff" else '"'
    reader = csv.reader(
        chain(kept, ["\n"]), delimiter=form.separator, skipinitialspace=form.strip, quotechar=quote
    )
    begins = 1
    try:
        for cells in reader:
            if begins <= len(lines) < reader.line_num:  # the line put behind the last is inside it
                raise DataError(f"{source}, line {begins} opens a quote that is never closed")
            begins = reader.line_num + 1
            if form.strip:
                cells = [c.strip() for c in cells]
            if cells and cells != [""]:
                yield reader.line_num, tuple(cells)
    except csv.Error as error:
        raise DataError(f"{source}, line {begins} is no record: {error}") from None


def _arff_header(lines: list[str], source: str) -> tuple[tuple[str, ...], list[str]]:
    """Attribute names, and the file with its header lines blanked."""
    names = []
    for number, line in enumerate(lines):
        text = line.strip()
        if found := _ATTRIBUTE.match(text):
            names.append(found.group(1).strip("'\""))
        elif text.lower().startswith("@data"):
            if any(rest.lstrip().startswith("{") for rest in lines[number + 1 :]):
                raise DataError(f"{source} is a sparse ARFF file; only dense ones are read")
            return tuple(names), list(io.StringIO("\n" * (number + 1))) + lines[number + 1 :]
    raise DataError(f"{source} has no '@data' line; an ARFF file is expected")
