"""Records of a text file as columns of text cells: CSV, ARFF, and files of the Adult kind.

A file is read in blocks of lines. Arrow takes a block whose lines are plainly one record each;
Python's csv module takes any other, and reports the line of an error. Both give the same
cells. Knows no type of a column.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as arrow_csv

from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import (
    columns_listed,
    did_you_mean,
    listed,
    may_be_record,
    require_unique_names,
    shown,
)
from frugal.data.description import Format
from frugal.data.packed import unpacked_bytes, unpacked_stream
from frugal.data.raw_cells import Cells, TextAside

pc: Any = pyarrow.compute  # its functions are made when it is imported
_BLOCK = 1 << 22  # characters
# Encodings of Python that write letters as something else; no file of records is in one
_NO_CHARACTER_SETS = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"}
_QUOTED = r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|\S+)\s+(\S.*)", re.IGNORECASE)
# A cell of ARFF with the comma or the end behind it; blanks around it do not count.
_ARFF_CELL = re.compile(rf"\s*(?:({_QUOTED})\s*|([^,]*))(,|$)")
_NOMINAL = re.compile(rf"\{{((?:{_QUOTED}|[^'\"}}])*)\}}")
_SPARSE = re.compile(r"^\s*\{", re.MULTILINE)
_NEWLINE = ord("\n")
_BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace())  # no blank is beyond
_ASCII_BLANKS = tuple(c for c in _BLANKS if c.isascii() and c != "\n")
_BYTE_ORDER_MARK = "\ufeff"
_LARGEST_BLOCK = (1 << 31) - 2  # bytes that offsets of 32 bits reach


def parse_file(path: Path, form: Format, *, source: str) -> tuple[Cells, np.ndarray]:
    """The records of one file as text cells, and the line in which each ends.

    A file that is damaged or in another encoding is refused as such, before any other error.

    Raises:
        ConfigError: the encoding is unknown.
        DataError: the file cannot be read, is in another encoding, or see `parse_text`.
    """
    _require_character_set(form.encoding)
    try:
        with unpacked_stream(path) as content:
            stream = io.TextIOWrapper(content, encoding=_codec(form))
            return parse_text(stream, form, source=source)
    except DataError:
        text_of_file(path, form)
        raise
    except UnicodeError:
        text_of_file(path, form)
        raise DataError(f"{path} is not {form.encoding} text; see 'source.format'") from None


def parse_text(text: str | io.TextIOBase, form: Format, *, source: str) -> tuple[Cells, np.ndarray]:
    """The records of a text as text cells, and the line in which each ends.

    Raises:
        DataError: no record, duplicate column names, a record of the wrong length, a quote that is
            never closed, or a comment that looks like a record.
    """
    stream = io.StringIO(text, newline=None) if isinstance(text, str) else text
    header, skipped = form.header, 0
    if form.kind == "arff":
        attributes, skipped, stream = _arff_header(stream, source)
        header = tuple(name for name, _ in attributes)
    while skipped < form.skip_lines and stream.readline():
        skipped += 1
    records = _Records(stream, form, source, skipped)
    if header is None:
        header = records.first()
        if header is None:
            raise DataError(f"{source} is empty; a header line with column names is expected")
    require_unique_names(header, source)
    positions = _not_personal(header, form, source)
    cells, numbers = TextAside([header[j] for j in positions]), []
    for columns, number in records.blocks(header, positions):
        cells.append(columns)
        numbers.append(number)
    if not numbers:
        raise DataError(f"{source} is empty: it holds no record below the column names")
    records.require_none_hidden(len(header))
    return cells.finished(), np.concatenate(numbers)


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends; other characters that may end a line are part of it."""
    return io.StringIO(text, newline=None).readlines()


def text_of_file(path: Path, form: Format) -> str:
    """The text of a file, unpacked if it is gzipped.

    Raises:
        ConfigError: the encoding is unknown.
        DataError: the file cannot be read, or is in another encoding.
    """
    _require_character_set(form.encoding)
    try:
        content = unpacked_bytes(path)
        return io.TextIOWrapper(io.BytesIO(content), encoding=_codec(form)).read()
    except UnicodeError as error:  # without a place where a mark at the beginning lacks
        at = f" at byte {error.start}" if isinstance(error, UnicodeDecodeError) else ""
        raise DataError(f"{path} is not {form.encoding} text{at}; see 'source.format'") from None


def _codec(form: Format) -> str:
    return "utf-8-sig" if form.encoding.lower() in ("utf-8", "utf8") else form.encoding


def _require_character_set(encoding: str) -> None:
    """Refuse a name of no text encoding."""
    try:
        codec = codecs.lookup(encoding)
        io.TextIOWrapper(io.BytesIO(), encoding=encoding)  # refuses codecs of bytes to bytes
    except (LookupError, ValueError):
        codec = None
    if codec is None or codec.name.replace("_", "-") in _NO_CHARACTER_SETS:
        raise ConfigError(f"encoding {encoding!r} is unknown; try utf-8 or latin-1")


class _Records:
    """The records of a stream of lines, block by block.

    Attributes:
        number: lines that have been read.
        ended: the stream ended inside a record.
        top: line of the column names, or of the first record where no line holds the names.
        suspects: lines below it that begin with the mark of comments, and separators in each.
    """

    def __init__(self, stream: io.TextIOBase, form: Format, source: str, number: int) -> None:
        self._stream, self._form, self._source = stream, form, source
        self._quote = "'" if form.kind == "arff" else '"'
        self.number, self.ended, self.top = number, False, 0
        self.suspects: dict[int, list[int]] = {}

    def first(self) -> tuple[str, ...] | None:
        """The cells of the first record; None where there is none."""
        while line := self._stream.readline():
            for _, cells in self._line_by_line([line]):
                return cells
        return None

    def blocks(
        self, header: Sequence[str], positions: Sequence[int]
    ) -> Iterator[tuple[list[pa.Array], np.ndarray]]:
        """Cells of the kept columns, and line numbers, of the records of each block."""
        while block := self._stream.read(_BLOCK):
            if not block.endswith("\n"):
                block += self._stream.readline()
            columns = None
            if not (self._form.kind == "arff" and ('"' in block or "\\" in block)):
                columns = _plain_cells(block, self._form, self._quote, len(header), positions)
            if columns is not None:
                n = len(columns[0])
                yield columns, np.arange(self.number + 1, self.number + n + 1)
                self.top = self.top or self.number + 1
                self.number += n
                continue
            numbers, rows = [], []
            for number, cells in self._line_by_line(io.StringIO(block).readlines()):
                if len(cells) != len(header):
                    names_shown = not may_be_record(header)
                    named = f" ({listed(header, at_most=6)})" if names_shown else ""
                    raise DataError(
                        f"{self._source}, line {number} has {len(cells)} cells, but there are "
                        f"{len(header)} columns{named}"
                    )
                numbers.append(number)
                rows.append([cells[j] for j in positions])
            if rows:
                columns = zip(*rows, strict=True)
                yield [pa.array(c, pa.string()) for c in columns], np.array(numbers, dtype=np.int64)

    def _line_by_line(self, lines: Sequence[str]) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Line number and cells of each record that begins in these lines, the next to be read."""
        above, strip = self.number, self._form.strip
        self.text: list[str] = []  # of the record that is read
        reader: Any = (
            _ArffReader(self._without_comments(lines))
            if self._form.kind == "arff"
            else csv.reader(
                self._without_comments(lines),
                delimiter=self._form.separator,
                skipinitialspace=strip,
                quotechar=self._quote,
            )
        )
        begins = above + 1
        try:
            while reader.line_num < len(lines):
                self.text.clear()
                cells = next(reader)
                if self.ended:
                    raise DataError(
                        f"{self._source}, line {begins} opens a quote that is never closed"
                    )
                number = above + reader.line_num
                if self._form.kind != "arff":
                    self._require_closed("".join(self.text), begins)
                begins = number + 1
                if strip:
                    cells = [c.strip() for c in cells]
                if cells and cells != [""]:
                    self.top = self.top or number
                    yield number, tuple(cells)
        except csv.Error as error:
            raise DataError(f"{self._source}, line {begins} is no record: {error}") from None

    def _without_comments(self, lines: Sequence[str]) -> Iterator[str]:
        """These lines and those that a record goes on in; comments become blank lines."""
        comment = self._form.comment
        for line in chain(lines, iter(self._stream.readline, "")):
            self.number += 1
            if comment and line.lstrip().startswith(comment):
                if self.top:
                    separators = line.lstrip().count(self._form.separator)
                    self.suspects.setdefault(separators, []).append(self.number)
                yield "\n"
            else:
                if self._form.separator == " " and self._form.strip:  # a last blank ends no cell
                    line = line.rstrip(" \n") + "\n"
                self.text.append(line)
                yield line
        self.ended = True
        yield "\n"

    def _require_closed(self, record: str, line: int) -> None:
        """Refuse text behind a closing quote, which Python's csv module adds to the cell."""
        if self._quote not in record:
            return
        mark, strip = re.escape(self._form.separator), self._form.strip
        blank = r"[ \t]*" if strip and self._form.separator not in " \t" else " *" if strip else ""
        blank = "" if self._form.separator == " " else blank
        cell = rf"{blank}\"(?:[^\"]|\"\")*\"{blank}(?=[\n]|{mark}|$)|(?!{blank}\")[^\n{mark}]*"
        if not re.fullmatch(rf"(?:{cell})(?:{mark}(?:{cell}))*\n*", record):
            raise DataError(
                f"{self._source}, line {line} is no record: text follows a closing quote; a quote "
                "within a cell in quotes is written twice"
            )

    def require_none_hidden(self, width: int) -> None:
        """Refuse a record that begins with the mark of comments: one as wide as the others.

        `#N/A`, for example, is an error of a spreadsheet, and no comment on its record.
        """
        lines = self.suspects.get(width - 1)
        if self._form.kind != "csv" or width < 2 or not lines:
            return
        comment = shown(str(self._form.comment), at_most=20)
        raise DataError(
            f"{self._source}, line {lines[0]} begins with {comment}, the "
            f"'comment' of 'source.format', and has {width} cells, as many as a record: remove "
            "the line, write its first cell in quotes, or set 'comment: null'"
        )


def _plain_cells(
    block: str, form: Format, quote: str, width: int, positions: Sequence[int]
) -> list[pa.Array] | None:
    """The cells of the kept columns as Arrow reads them, one for each line, without any error.

    None where a line is not plainly a record: blank lines, comments, cells that go on in the next
    line, quotes elsewhere than around a cell, records of another length.

    Args:
        block: whole lines, ended by a line feed; the last may lack it.
        form: separator, mark of comments, and whether blanks around a cell are left out.
        quote: quotation mark around a cell.
        width: cells of a record.
        positions: positions of the columns that are requested.
    """
    separator = form.separator
    if not separator.isascii() or separator in f" \n\r{quote}" or not positions:
        return None
    if form.comment and form.comment in block:
        return None
    if block.startswith(_BYTE_ORDER_MARK):  # Arrow would drop it
        return None
    content = block.encode()
    if len(content) > _LARGEST_BLOCK or not _lines_are_short(content):
        return None
    quoted = quote in block
    if quoted and not _quotes_are_plain(content, ord(separator), ord(quote)):
        return None
    try:
        table = _read(content, separator, quote if quoted else False, width, positions)
    except pa.ArrowInvalid:  # a record of another length
        return None
    if len(table) != block.count("\n") + (not block.endswith("\n")):  # blank, or a cell of two
        return None
    columns = [c.chunk(0) if c.num_chunks == 1 else c.combine_chunks() for c in table.columns]
    if form.strip and (not block.isascii() or any(c in block for c in _ASCII_BLANKS)):
        columns = [pc.utf8_trim(column, characters=_BLANKS) for column in columns]
    if width == 1 and pc.any(pc.equal(columns[0], "")).as_py():  # a blank line, and no record
        return None
    return columns


def _read(
    content: bytes, separator: str, quote: str | bool, width: int, positions: Sequence[int]
) -> pa.Table:
    names = [str(j) for j in range(width)]
    return arrow_csv.read_csv(
        pa.BufferReader(content),
        arrow_csv.ReadOptions(use_threads=False, block_size=len(content) + 1, column_names=names),
        arrow_csv.ParseOptions(delimiter=separator, quote_char=quote, double_quote=True),
        arrow_csv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=False,
            include_columns=[names[j] for j in positions],
        ),
    )


def _lines_are_short(content: bytes) -> bool:
    """Whether no line exceeds the cell size of Python's csv module."""
    limit, start = csv.field_size_limit(), 0
    while len(content) - start > limit:
        end = content.rfind(b"\n", start, start + limit + 1)
        if end < 0:
            return False
        start = end + 1
    return True


def _quotes_are_plain(content: bytes, separator: int, quote: int) -> bool:
    """Whether quotes enclose whole cells or are doubled inside one."""
    text = np.frombuffer(b"\n" + content + b"\n", np.uint8)
    at = np.flatnonzero(text == quote)
    if len(at) % 2:
        return False
    opens, closes = at[::2], at[1::2]
    doubled = opens[1:] == closes[:-1] + 1
    edges = (separator, _NEWLINE)
    may_open, may_close = np.isin(text[opens - 1], edges), np.isin(text[closes + 1], edges)
    may_open[1:] |= doubled
    may_close[:-1] |= doubled
    return bool(may_open.all() and may_close.all())


def _not_personal(header: Sequence[str], form: Format, source: str) -> list[int]:
    """Positions of the columns that are kept: all but those that name people."""
    unknown = [name for name in form.personal if name not in header]
    if unknown:
        raise DataError(
            f"{source} has no column {unknown[0]!r}, which 'source.format.personal' names; "
            f"{columns_listed(header)}{did_you_mean(unknown[0], header)}"
        )
    return [j for j, name in enumerate(header) if name not in form.personal]


class _ArffReader:
    """Cells of each line of ARFF: in quotes of either kind with escapes, or plain.

    Attributes:
        line_num: lines that have been read.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self.line_num = lines, 0

    def __next__(self) -> list[str]:
        line, at, cells = next(self._lines).strip(), 0, []
        self.line_num += 1
        while cell := _ARFF_CELL.match(line, at):
            quoted, unquoted, end = cell.groups()
            if unquoted and unquoted.strip()[:1] in ("'", '"'):
                raise csv.Error("a quote is opened and not closed, or text follows it")
            cells.append(_unquoted(quoted) if quoted else unquoted.strip())
            at = cell.end()
            if not end:
                break
        return cells


def _unquoted(text: str) -> str:
    """Text within quotes of ARFF; the same text where none are around it."""
    if text[:1] not in ("'", '"') or len(text) < 2:
        return text
    inner = text[1:-1].replace(2 * text[0], text[0])
    return re.sub(r"\\(.)", r"\1", inner)


def arff_attributes(text: str, source: str) -> dict[str, str]:
    """Name and type of each attribute of an ARFF file, as the type is written.

    Raises:
        DataError: it has no data line.
    """
    return dict(_arff_header(io.StringIO(text, newline=None), source)[0])


def arff_levels(kind: str) -> tuple[str, ...] | None:
    """Levels of a nominal type, {a, b}; None of any other."""
    match = _NOMINAL.match(kind)
    return None if match is None else tuple(next(_ArffReader(iter([match[1]]))))


def _arff_header(
    stream: io.TextIOBase, source: str
) -> tuple[list[tuple[str, str]], int, io.TextIOBase]:
    """Attributes with their types, the number of lines of the header, and the lines below it."""
    attributes, number = [], 0
    while line := stream.readline():
        number += 1
        text = line.strip()
        if match := _ATTRIBUTE.match(text):
            attributes.append((_unquoted(match[1]), match[2]))
        elif text.lower().startswith("@data"):
            data = stream.read()
            if _SPARSE.search(data):
                raise DataError(f"{source} is a sparse ARFF file; only dense ones are read")
            return attributes, number, io.StringIO(data)
    raise DataError(f"{source} has no '@data' line; an ARFF file is expected")
