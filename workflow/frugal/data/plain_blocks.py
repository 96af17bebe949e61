"""Lines of a text file that are plainly one record each, read as a whole by Arrow.

What is not plain is left to a slower reader: blank lines, comments, cells that go on in the next
line, quotes elsewhere than around a cell, records of another length. No error is said here.
"""

import csv
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as arrow_csv

from frugal.data.description import Format

pc: Any = pyarrow.compute  # its functions are made when it is imported
_NEWLINE = ord("\n")
_BLANKS = "".join(c for c in map(chr, range(0x3001)) if c.isspace())  # no blank is beyond
_ASCII_BLANKS = tuple(c for c in _BLANKS if c.isascii() and c != "\n")
_BYTE_ORDER_MARK = "\ufeff"
_LARGEST_BLOCK = (1 << 31) - 2  # bytes that offsets of 32 bits reach


def plain_cells(
    block: str, form: Format, quote: str, width: int, kept: Sequence[int]
) -> list[pa.Array] | None:
    """The cells of the kept columns, one for each line; None where a line is not plainly a record.

    Args:
        block: whole lines, ended by a line feed; the last may lack it.
        form: separator, mark of comments, and whether blanks around a cell are left out.
        quote: what may stand around a cell.
        width: cells of a record.
        kept: positions of the columns that are asked for.
    """
    separator = form.separator
    if not separator.isascii() or separator in f" \n\r{quote}" or not kept:
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
        table = _read(content, separator, quote if quoted else False, width, kept)
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
    content: bytes, separator: str, quote: str | bool, width: int, kept: Sequence[int]
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
            include_columns=[names[j] for j in kept],
        ),
    )


def _lines_are_short(content: bytes) -> bool:
    """Whether no line is longer than what Python's csv module takes as a cell."""
    limit, start = csv.field_size_limit(), 0
    while len(content) - start > limit:
        end = content.rfind(b"\n", start, start + limit + 1)
        if end < 0:
            return False
        start = end + 1
    return True


def _quotes_are_plain(content: bytes, separator: int, quote: int) -> bool:
    """Whether quotes stand around whole cells or twice inside one."""
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
