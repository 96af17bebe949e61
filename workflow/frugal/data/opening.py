"""How the file of an unknown table is read, guessed from its bytes; every guess is reported.

For `frugal init`, and for files of new cases. Packing, encoding, separator, lines around the
table, lines of names or units, and the marks in numbers are found here; the types of columns are
`guessing`'s. Writes no file.
"""

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.schema_check import did_you_mean, listed
from frugal.data.cell_texts import MARKS, as_texts, number_marks, plain_name, plain_text, printable
from frugal.data.description import Format
from frugal.data.encoded_columns import MOST_LEVELS, NO_VALUE
from frugal.data.packed import unpacked_bytes, unpacked_stream
from frugal.data.parsing import THOUSANDS, read_file
from frugal.data.raw_cells import SUFFIXES, Sheet, Workbook, parquet_cells, require_digits
from frugal.data.records import arff_attributes, arff_levels, lines_of, parse_text

SEPARATORS = ",;\t|"
SAMPLE = 1 << 16  # characters from which the separator is guessed
LINES = 50  # of them
MOST_SKIPPED = 20  # lines above a table
_MOST = 0.9  # share of lines that have as many cells as most
_NAMED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "blanks"}
_PACKED = {b"PK": "zip", b"BZ": "bzip2", b"\xfd7": "xz", b"(\xb5": "zstandard"}  # first two bytes
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_UNITS = "{} holds units"
_BLANK = THOUSANDS[" "]
_WRITTEN = re.compile(rf"[+-]?\.?\d[\d.,'’{_BLANK}]*(?:[eE][+-]?\d+)?")
_ARFF = re.compile(rb"(\xef\xbb\xbf)?(\s|%[^\n]*\n)*@relation\b", re.IGNORECASE)
_NO_TEXT = "is no text; allowed are CSV, TSV, ARFF, Parquet, Excel and XPT"


@dataclass(frozen=True)
class Opened:
    """A table as texts, and how it is read.

    Attributes:
        path: of the file that the YAML names: the table, or the file converted from it.
        cells: texts.
        form: the block `format` of the YAML.
        remarks: assumptions, a sentence each.
        line: in which each record ends, from 1; of what is no text, its number. (n,)
        where: the file, and its sheet, for refusals; empty for a data frame.
        below: lines below the table, which are left out.
        nameless: columns that have no name in the file.
        floats: the largest number of each column of floating-point numbers, in its precision.
        converted: whether `path` is to be written, from the cells.
        named: whether a line of the file holds the names of the columns.
        units: of columns, where a line of the file holds them.
        levels: of columns that the file declares to be categories.
        cleaned: columns in whose cells characters that are not printed became blanks.
    """

    path: Path
    cells: pd.DataFrame
    form: dict[str, Any]
    remarks: tuple[str, ...]
    line: np.ndarray
    where: str
    below: int = 0
    nameless: frozenset[str] = frozenset()
    floats: Mapping[str, np.floating] = field(default_factory=dict)
    converted: bool = False
    named: bool = True
    units: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cleaned: frozenset[str] = frozenset()

    def cited(self, sentence: str) -> str:
        """A sentence about its columns, with the place of the table."""
        return f"{self.where}: {sentence}" if self.where else sentence

    def require_exact(self, names: Iterable[str]) -> None:
        """Refuse columns whose cells are names, and of which one has lost digits.

        Raises:
            DataError: with the column and the number.
        """
        for name in names:
            if name in self.floats:
                require_digits(np.array([self.floats[name]]), self.cited(f"column {name!r}"))

    def as_csv(self, place: Path, why: str) -> "Opened":
        """The same, written anew as a plain CSV next to the YAML."""
        form = {
            "kind": "csv",
            "separator": ",",
            "header": True,
            "comment": None,
            "strip": True,
            "encoding": "utf-8",
            **{k: self.form[k] for k in MARKS if k in self.form},
        }
        remarks = (f"{self.path.name} {why}: written anew as {place}", *self.remarks)
        return replace(self, path=place, form=form, remarks=remarks, converted=True)


def kind_of(path: Path) -> str:
    """The file's suffix in small letters, that before `.gz` where it is packed so."""
    unpacked = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return unpacked.suffix.lower()


def open_table(
    path: Path,
    place: Path,
    header: bool | None,
    decimal: str | None = None,
    without: Sequence[str] = (),
    *,
    sheet: str | None = None,
    holds: Collection[str] = (),
    form: str | None = None,
) -> Opened:
    """The table, by its suffix, and the marks in its numbers.

    Args:
        path: of the file.
        place: of the plain CSV that a table is converted to where it cannot be read as it is.
        header: whether the first line of a text or sheet holds names; None: guessed.
        decimal: mark of decimals; None: guessed.
        without: columns whose numbers are not read.
        sheet: of a spreadsheet; None: the first that is shown and holds the columns `holds`.
        holds: columns that the table has.
        form: of a long file, see `data/presets`; None: the file is a table.

    Raises:
        DataError: it cannot be read as a table; the message names a remedy.
    """
    if form is not None:
        from frugal.data.long_formats import open_long  # reads its own files as texts

        if header is not None or decimal is not None or sheet is not None:
            raise DataError(f"{path} is read as {form}; header, decimal and sheet are of a table")
        return open_long(path, place, form, holds, without)
    opened = open_cells(path, place, header, sheet=sheet, holds=holds)
    cells = opened.cells.drop(columns=[name for name in without if name in opened.cells])
    marks, remarks = ({}, []) if kind_of(path) == ".xpt" else number_marks(cells, decimal)
    remarks = [*opened.remarks, *remarks]
    return replace(opened, form={**opened.form, **marks}, remarks=tuple(remarks))


def open_cells(
    path: Path,
    place: Path,
    header: bool | None,
    *,
    sheet: str | None = None,
    holds: Collection[str] = (),
) -> Opened:
    """The table as texts, the marks in its numbers as they are written; see `open_table`."""
    kind = kind_of(path)
    if sheet is not None and kind not in SUFFIXES:
        raise DataError(f"sheet is {sheet!r}, and {path} is no spreadsheet, which has sheets")
    if is_stored(path) and path.suffix.lower() == ".gz":
        raise DataError(f"{path} is packed; unpack it: {kind[1:]} files are packed already")
    if kind in SUFFIXES:
        return _spreadsheet(path, place, header, sheet, holds)
    if kind == ".parquet":
        return _parquet(path, place)
    if kind == ".xpt":
        return _transport(path)
    with unpacked_stream(path) as stream:
        declares = kind == ".arff" or _ARFF.match(stream.read(SAMPLE))
    return _declared(path, place) if declares else _text_file(path, place, header, holds)


def is_stored(path: Path) -> bool:
    """Whether a file is a spreadsheet or Parquet by its suffix."""
    return kind_of(path) in (*SUFFIXES, ".parquet")


def _declared(path: Path, place: Path) -> Opened:
    """A text that declares its columns: ARFF, or KEEL's .dat."""
    text, encoding = _decoded(path)
    form = Format("arff", (), ",", None, "%", True, "utf-8")
    read, line = parse_text(text, form, source=path.name)
    declared = arff_attributes(text, path.name)
    nominal = {plain_name(name): arff_levels(of) for name, of in declared.items()}
    levels = {name: tuple(map(printable, of)) for name, of in nominal.items() if of is not None}
    texts, cleaned = as_texts(read.frame())
    opened = Opened(
        path, texts, {"kind": "arff"}, (), line, str(path), levels=levels, cleaned=cleaned
    )
    return opened if encoding == "utf-8" else opened.as_csv(place, f"is read as {encoding}")


def _transport(path: Path) -> Opened:
    form = Format("xpt", (), ",", None, "%", True, "utf-8")
    read, line = read_file(path, form, source=path.name)
    frame = read.frame()
    texts, cleaned = as_texts(frame)
    where, floats = str(path), _largest(frame)
    return Opened(path, texts, {"kind": "xpt"}, (), line, where, floats=floats, cleaned=cleaned)


def _parquet(path: Path, place: Path) -> Opened:
    opened = _opened_frame(parquet_cells(path).frame(), path)
    return opened.as_csv(place, "has names that a YAML cannot hold") if opened.remarks else opened


def _opened_frame(frame: pd.DataFrame, path: Path) -> Opened:
    """A frame as texts, with names that a YAML can hold."""
    written = [plain_text(name) for name in frame.columns]
    names, _, remarks = _names(written, (), True)
    frame = frame.set_axis(names, axis=1)
    texts, cleaned = as_texts(frame)
    return Opened(
        path,
        texts,
        {"kind": "parquet"},
        tuple(remarks),
        np.arange(1, len(texts) + 1),
        str(path),
        nameless=_nameless(names, written),
        floats=_largest(frame),
        cleaned=cleaned,
    )


def _nameless(names: Sequence[str], written: Sequence[str]) -> frozenset[str]:
    """Names of the columns that have none as they are written."""
    return frozenset(name for name, text in zip(names, written, strict=True) if not text)


def _largest(frame: pd.DataFrame) -> dict[str, np.floating]:
    """The number of largest size of each column of floating-point numbers."""
    largest = {}
    for name, column in frame.items():
        kinds = pd.unique(column) if column.dtype == object else column
        numbers = (
            np.array([kind for kind in kinds if isinstance(kind, float)])
            if column.dtype == object
            else column.to_numpy(na_value=np.nan)
            if pd.api.types.is_float_dtype(column.dtype)
            else np.array([])
        )
        finite = numbers[np.isfinite(numbers)]
        largest |= {str(name): finite[np.abs(finite).argmax()]} if len(finite) else {}
    return largest


def open_frame(frame: pd.DataFrame, place: Path) -> Opened:
    """A data frame as the plain CSV that its YAML names; categories of a column are its levels.

    Raises:
        DataError: a cell is no single value.
    """
    opened, levels = _opened_frame(frame, place), {}
    for name, kind in zip(opened.cells.columns, frame.dtypes, strict=True):
        if isinstance(kind, pd.CategoricalDtype) and len(kind.categories) <= MOST_LEVELS:
            texts = as_texts(kind.categories.to_frame(name=name))[0][name]
            levels[name] = tuple(text for text in texts if text not in NO_VALUE)
    written = replace(opened, levels=levels, where="").as_csv(place, "")
    return replace(written, remarks=opened.remarks)


def parquet_texts(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Cells of a Parquet file as text, in which numbers may be names, and rows counted from 1.

    Raises:
        DataError: it is none, would not fit into memory, or a number has lost digits.
    """
    cells, _ = as_texts(parquet_cells(path).frame(), names_of=path.name)
    return cells.astype(object), np.arange(1, len(cells) + 1)


def _spreadsheet(
    path: Path, place: Path, header: bool | None, sheet: str | None, holds: Collection[str]
) -> Opened:
    """A sheet of a spreadsheet: that of the name, or the first shown one that holds the columns."""
    book = Workbook(path)
    names = [*book.names, *book.hidden]
    if sheet is not None and sheet not in names:
        raise DataError(
            f"sheet is {sheet!r}; the sheets of {path} are {listed(map(repr, names))}"
            f"{did_you_mean(sheet, names)}"
        )
    table = None
    for name in book.names if sheet is None else [sheet]:
        page = book.sheet(name)
        opened = _of_sheet(path, page, header) if len(page.rows) > 1 else None
        if opened is not None and set(holds) <= set(opened.cells.columns):
            table = page, opened
            break
        table = table or (opened and (page, opened))
    if table is None:
        which = "sheet" if sheet is None else f"sheet {sheet!r}"
        raise DataError(f"{path} has no {which} with cells; a table has a head and rows")
    chosen, opened = table
    book.require_values(chosen)
    if len(names) > 1:
        hidden = f" ({listed(map(repr, book.hidden))}: hidden)" if book.hidden else ""
        remark = f"of {len(names)} sheets{hidden} {chosen.name!r} is read"
        opened = replace(opened, remarks=(remark, *opened.remarks))
    others = [repr(name) for name in names if name != chosen.name]
    more = f" (others: {listed(others)})" if others else ""
    opened = replace(opened, where=f"{path}, sheet {chosen.name!r}{more}")
    return opened.as_csv(place, "has an Excel sheet")


def _of_sheet(path: Path, sheet: Sheet, header: bool | None) -> Opened:
    """The table in a sheet."""
    rows = sheet.rows
    skipped = _head_row([sum(cell != "" for cell in row) for row in rows])
    names, named, remarks = _names(rows[skipped], rows[skipped + 1 :], header)
    below = rows[skipped + named :]
    units = _units(names, below) if named else {}
    frame = pd.DataFrame(below[bool(units) :], columns=names)
    if skipped:
        remarks.append(f"{skipped} rows above the table are passed over")
    if units:
        remarks.append(_UNITS.format("the row below the names"))
    remarks += [f"merged cells of {names[k]!r} are filled downwards" for k in sorted(sheet.merged)]
    texts, cleaned = as_texts(frame)
    line = np.arange(1, len(texts) + 1) + skipped + named + bool(units)
    return Opened(
        path,
        texts,
        {},
        tuple(remarks),
        line,
        str(path),
        nameless=_nameless(names, rows[skipped]) if named else frozenset(),
        named=named,
        units=units,
        cleaned=cleaned,
    )


def _head_row(filled: Sequence[int]) -> int:
    """Number of the row that holds the names: the first that is filled nearly as far as any.

    Records have gaps; a title above has few cells; of an index, the name may lack.
    """
    top = filled[: MOST_SKIPPED + 1]
    most = max(top)
    enough = max(2, min(most - 1, -(-4 * most // 5)))
    return next((k for k, count in enumerate(top) if count >= enough), 0)


def _text_file(
    path: Path, place: Path, header: bool | None, holds: Collection[str], *, ends: bool = True
) -> Opened:
    """A text file with a separator, packed by gzip or not.

    Args:
        path: of the file.
        place: of a CSV that it is converted to.
        header: see `open_table`.
        holds: see `open_table`.
        ends: whether columns at the end without a name and a value may be none, but separators at
            the end of each record.
    """
    text, encoding = _decoded(path)
    remarks = [f"read as {encoding}"] if encoding != "utf-8" else []
    separator, skipped, rows, above = _divided(text, path, holds, alone=header is True)
    if separator != ",":
        remarks.append(f"separated by {_NAMED[separator]}")
    empty = _empty_at_end(rows) if ends else 0
    head, end = _head(rows, above, header, empty)
    names_above = head != rows[0]
    names, named, of_names = _names(head, rows if names_above else rows[1:], names_above or header)
    first = rows[named and not names_above :]
    if skipped and not names_above:
        lines = "line 1 is" if skipped == 1 else f"lines 1 to {skipped} are"
        remarks.append(f"{lines} passed over, as the table begins below")
    if end:
        of_names = of_names[: -end if named else None]
        remarks.append("a separator at the end of each record begins no column")
    remarks += of_names
    units = _units(names, first) if named else {}
    as_written = named and list(rows[0]) == names and not units
    if not as_written:
        records = (named and not names_above) + bool(units)
        skipped += _lines_of(text, skipped, separator, records)
    if units:
        remarks.append(_UNITS.format(f"line {skipped}"))
    described: dict[str, Any] = {
        "kind": "csv",
        "separator": separator,
        "header": True if as_written else names,
        "comment": None,
        "strip": True,
        "encoding": encoding,
    } | ({"skip_lines": skipped} if skipped else {})
    form = Format(
        "csv",
        (),
        separator,
        None if as_written else tuple(names),
        None,
        True,
        encoding,
        skip_lines=skipped,
    )
    below = _lines_below(text, separator, len(names))
    read, line = (
        parse_text("".join(lines_of(text)[:-below]), form, source=path.name)
        if below
        else read_file(path, form, source=path.name)
    )
    frame = read.frame()
    if end and (frame[names[-end:]] != "").any(axis=None):
        return _text_file(path, place, header, holds, ends=False)
    texts, cleaned = as_texts(frame[names[: len(names) - end]])
    opened = Opened(
        path,
        texts,
        described,
        tuple(remarks),
        line,
        str(path),
        below,
        _nameless(names, head) if named else frozenset(),
        named=named,
        units=units,
        cleaned=cleaned,
    )
    lines = "a line" if below == 1 else f"{below} lines"
    return opened.as_csv(place, f"has {lines} below the table, left out") if below else opened


def _empty_at_end(rows: Sequence[Sequence[str]]) -> int:
    """Columns at the end that are empty in all records."""
    used = (k for k, cells in enumerate(zip(*rows, strict=True), start=1) if any(cells))
    return len(rows[0]) - max(used, default=len(rows[0]))


def _head(
    rows: Sequence[tuple[str, ...]], above: Sequence[str], header: bool | None, empty: int
) -> tuple[tuple[str, ...], int]:
    """The row that may hold the names, and how many columns at the end are none.

    The line above the records has fewer cells where each record ends in a separator, and one less
    where R wrote a table with the names of its rows; there, the last column has values.

    Args:
        rows: records of equally many cells; the first may hold the names.
        above: the line above them; empty where there is none.
        header: whether the first line holds names; None: guessed.
        empty: columns at the end without a value.
    """
    width = len(rows[0])
    names = tuple(above[: len(above) - next((k for k, n in enumerate(above[::-1]) if n), 0)])
    surplus = width - len(names)
    if names and header is not False and 0 <= surplus <= empty:
        head = (*names, *[""] * surplus)
        if header or _holds_names(names, [row[: len(names)] for row in rows]):
            return head, surplus
    as_r_writes = (
        surplus == 1 and 0 < len(above) == len(names) and header is not False and not empty
    )
    if as_r_writes and (header or _holds_names(("", *above), rows)):
        return ("", *above), 0
    unnamed = next((k for k, name in enumerate(rows[0][::-1]) if name), 0)
    return rows[0], min(unnamed, empty) if header is not False else 0


def _lines_below(text: str, separator: str, width: int) -> int:
    """Lines at the end that are no records: words in few cells, as an export adds them."""
    end = 0
    tail = lines_of(text[-SAMPLE:])[1:]
    for k, line in enumerate(reversed(tail[-MOST_SKIPPED:]), start=1):
        cells = [cell.strip() for cell in line.split(separator)]
        words = sum(cell != "" for cell in cells)
        if words and (words > max(1, min(2, width // 3)) or len(cells) == width or '"' in line):
            break
        if words and re.fullmatch(r"[\d.,+-]*", cells[0]):
            break
        end = k if words else end
    return end


def _decoded(path: Path) -> tuple[str, str]:
    """The text of a file, and its encoding."""
    raw = unpacked_bytes(path)
    if packed := _PACKED.get(raw[:2]):
        excel = "; an Excel file is named .xlsx" if packed == "zip" else ""
        raise DataError(f"{path} is packed by {packed}: unpack it first (gzip is read){excel}")
    marked = (encoding for mark, encoding in _MARKS.items() if raw.startswith(mark))
    encoding = next(marked, None) or _unmarked(raw)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        raise DataError(f"{path} {_NO_TEXT}") from None
    if "\0" in text[:SAMPLE]:
        raise DataError(f"{path} {_NO_TEXT}")
    return text, encoding


def _unmarked(raw: bytes) -> str:
    """The encoding of a text without a mark at its beginning."""
    empty = np.frombuffer(raw[:SAMPLE], np.uint8) == 0
    even, odd = (empty[k::2].sum() / max(len(empty[k::2]), 1) for k in (0, 1))
    if odd > 0.3 > even:
        return "utf-16-le"
    if even > 0.3 > odd:
        return "utf-16-be"
    for encoding in ("utf-8", "cp1252"):
        try:
            raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        # without a letter of its own, cp1252 is latin-1
        has_own_letter = encoding == "cp1252" and any(0x80 <= b < 0xA0 for b in set(raw))
        return encoding if encoding == "utf-8" or has_own_letter else "latin-1"
    return "latin-1"


def _divided(
    text: str, path: Path, holds: Collection[str], *, alone: bool
) -> tuple[str, int, list[tuple[str, ...]], tuple[str, ...]]:
    """Best separator; lines above, records, and the line above them.

    It divides nearly all lines into equally many cells; of several, the one that gives most of the
    names that the table holds, and then most cells.
    """
    lines = lines_of(text[:SAMPLE])
    complete_lines = lines[:-1] if len(text) > SAMPLE else lines
    if sum(bool(line.strip()) for line in complete_lines) < 2:
        count = len([line for line in lines if line.strip()])
        raise DataError(f"{path} has {count} lines; a table has a head and rows")
    by_mark: dict[str, tuple[tuple[int, int], int, list[tuple[str, ...]], tuple[str, ...]]] = {}
    by_head: dict[str, tuple[int, list[tuple[str, ...]], tuple[str, ...]]] = {}
    for mark in (*SEPARATORS, " "):
        if mark == " " and (by_mark or by_head):
            break
        records = _records(complete_lines, mark)[: LINES + MOST_SKIPPED]
        sizes = [len(cells) for _, cells in records]
        above, needed = _rows_above(sizes), {*holds}
        tops = enumerate(cells for _, cells in records[: MOST_SKIPPED + 1])
        head = next((k for k, cells in tops if needed and needed <= {*cells}), None)
        if head is not None and sizes[head] == sizes[above]:
            above = head  # the lines above are as wide
        below = sizes[above:]
        if below[0] > 1 and sum(n == below[0] for n in below) > _MOST * len(below):
            skipped, last = records[above - 1] if above else (0, ())
            last = () if above == head else last
            equal_width = [cells for _, cells in records[above:] if len(cells) == below[0]]
            names = len({*equal_width[0], *last} & set(holds))
            by_mark[mark] = ((names, below[0]), skipped, equal_width, last)
        elif alone and head is not None:  # one column, or lines that the table's reader reports
            skipped = records[head - 1][0] if head else 0
            rows = [cells for _, cells in records[head:] if len(cells) == sizes[head]]
            by_head.setdefault(mark, (skipped, rows, ()))
    if by_head and not by_mark:
        return next(iter(by_head.items()))[0], *next(iter(by_head.values()))
    if not by_mark:
        raise DataError(
            f"{path}: no separator among comma, semicolon, tab, | and blank divides its lines "
            "into equally many cells; save it as CSV"
        )
    separator = max(by_mark, key=lambda mark: by_mark[mark][0])
    return separator, *by_mark[separator][1:]


def _records(lines: Sequence[str], separator: str) -> list[tuple[int, tuple[str, ...]]]:
    """Line in which each record ends, and its cells without blanks around them."""
    stripped = [line.strip(" \n") for line in lines] if separator == " " else lines
    reader = csv.reader(stripped, delimiter=separator, skipinitialspace=True)
    records = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                records.append((reader.line_num, tuple(cell.strip() for cell in cells)))
    except csv.Error:
        pass  # the reader of the table reports the line
    return records or [(1, ("",))]


def _rows_above(sizes: Sequence[int]) -> int:
    """Rows at the top that have another number of cells than most."""
    usual = Counter(sizes).most_common(1)[0][0]
    above = next(k for k, size in enumerate(sizes) if size == usual)
    return above if above <= MOST_SKIPPED else 0


def _lines_of(text: str, skipped: int, separator: str, records: int) -> int:
    """Lines of the first records below the skipped ones, blank ones above them included."""
    lines = lines_of(text[: 2 * SAMPLE])[skipped:]
    return _records(lines, separator)[records - 1][0] if records else 0


def _names(
    first: Sequence[str], rows: Sequence[Sequence[str]], header: bool | None
) -> tuple[list[str], bool, list[str]]:
    """Names of the columns, each another; whether the first row holds them; the guesses."""
    named = _holds_names(first, rows) if header is None else header
    numbered = [f"column_{k + 1}" for k in range(len(first))]
    if not named:
        hint = "" if header is False else "; set --header if it does"
        return (
            numbered,
            False,
            [
                "the first line holds no names, so columns are column_1 to "
                f"column_{len(first)}{hint}"
            ],
        )
    names: list[str] = []
    remarks = []
    for name, number in zip(first, numbered, strict=True):
        new = plain_name(name) or number
        times = 1
        while new in names or (new != name and new in first):
            times += 1
            new = f"{plain_name(name) or number}_{times}"
        if new != name:
            described = "a column without a name"
            if name:
                described = f"a second column {name!r}" if times > 1 else f"the column {name!r}"
            remarks.append(f"{described} is called {new!r} here")
        names.append(new)
    return names, True, remarks


def _holds_names(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a row is unlike those below it: no number where they have numbers, no text of theirs.

    A column speaks for names where its cells below are numbers and the first is none; against,
    where the first is a number too; without any such column, where the first occurs below again.
    """
    below, numeric = _numeric(rows, len(first))
    if numeric:
        absent = [first[k] in NO_VALUE[1:] or _is_number(first[k]) for k in numeric]
        return bool(np.mean(absent) <= 0.5)
    again = [name != "" and bool((below[k] == name).any()) for k, name in enumerate(first)]
    return bool(np.mean(again) < 0.5)


def _numeric(rows: Sequence[Sequence[str]], width: int) -> tuple[pd.DataFrame, list[int]]:
    """Rows as a frame, and which of its columns hold numbers."""
    below = pd.DataFrame(list(rows), columns=range(width))
    stated = [below[k][~below[k].isin(NO_VALUE)] for k in range(width)]
    numeric = [k for k, cells in enumerate(stated) if len(cells) and _share(cells) > _MOST]
    return below, numeric


def _share(cells: pd.Series) -> float:
    return float(cells.map(_is_number).mean())


def _is_number(text: str) -> bool:
    return bool(_WRITTEN.fullmatch(text.strip()))


def _units(names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """Column → unit, where the first row holds units: words above numbers that never come again."""
    if len(rows) < 4:
        return {}
    below, numeric = _numeric(rows[1:], len(names))
    words = [k for k in numeric if rows[0][k] and rows[0][k] not in NO_VALUE]
    words = [k for k in words if not _is_number(rows[0][k]) and not (below[k] == rows[0][k]).any()]
    if len(words) < 2 or len(words) <= len(numeric) / 2:
        return {}
    return {names[k]: plain_name(rows[0][k]) for k in words}


def rows_of_file(path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """Line and cells of each row of a small file that may lack a head, such as a list of prices.

    Raises:
        DataError: it cannot be read.
    """
    if is_stored(path):
        cells = open_cells(path, path, True).cells
        return list(enumerate([tuple(cells.columns), *map(tuple, cells.to_numpy())], start=1))
    lines = lines_of(_decoded(path)[0])
    first = next((line for line in lines if line.strip()), "")
    reader = csv.reader(lines, delimiter=next((mark for mark in ";\t|" if mark in first), ","))
    try:
        return [(reader.line_num, tuple(cells)) for cells in reader if any(map(str.strip, cells))]
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num} is no record: {error}") from None
