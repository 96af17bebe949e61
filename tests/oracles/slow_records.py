"""Records of a text file row by row, and cells one by one; shares nothing with the package.

The reader of Frugal's first edition: slow, obvious, and right. It tells what a file holds as rows
of cells with line numbers, or the sentence that refuses it.
"""

import csv
import gzip
import io
import math
import re
from itertools import chain

_NUMBER = re.compile(r"[ \t\n\v\f\r]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t\n\v\f\r]*", re.ASCII)


class SlowError(Exception):
    """A sentence that refuses a file."""


def slow_text(content, encoding, *, path):
    """The text of a file, unpacked where it is gzipped; every end of a line is a line feed."""
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    codec = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    try:
        text = content.decode(codec)
    except UnicodeDecodeError as error:
        at = f"at byte {error.start}; see 'source.format'"
        raise SlowError(f"{path} is not {encoding} text {at}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def slow_records(
    text, *, separator=",", comment=None, strip=True, header=None, personal=(), skip_lines=0
):
    """Names of the columns, rows of cells, and the line in which each row ends."""
    lines = io.StringIO(text).readlines()
    lines[:skip_lines] = ["\n" for _ in lines[:skip_lines]]
    if separator == " " and strip:  # a blank at the end is no empty cell
        lines = [line.rstrip(" \n") + "\n" for line in lines]
    records = _records(lines, separator, comment, strip)
    header_line = 0
    if header is None:
        header_line, header = next(records, (0, None))
        if header is None:
            raise SlowError("f is empty; a header line with column names is expected")
    for name in header:
        if header.count(name) > 1:
            if any(re.fullmatch(r"[+-]?\d+([.,]\d+)?", other.strip()) for other in header):
                one, two = [at for at, other in enumerate(header, start=1) if other == name][:2]
                raise SlowError(f"f: columns {one} and {two} have one name; names must be unique")
            raise SlowError(f"f has two columns named {name!r}; names must be unique")
    rows, numbers = [], []
    for number, cells in records:
        if len(cells) != len(header):
            raise SlowError(f"f, line {number} has {len(cells)} cells, but there are {len(header)}")
        rows.append([c for c, name in zip(cells, header, strict=True) if name not in personal])
        numbers.append(number)
    if not rows:
        raise SlowError("f is empty: it holds no record below the column names")
    first = header_line or numbers[0]
    for number, line in enumerate(lines[first:], start=first + 1):
        bare = line.lstrip()
        wide = len(header) > 1 and bare.count(separator) == len(header) - 1
        if comment and wide and bare.startswith(comment):
            raise SlowError(f"f, line {number} begins with {comment!r}, the")
    return [name for name in header if name not in personal], rows, numbers


def _records(lines, separator, comment, strip):
    kept = ("\n" if comment and line.lstrip().startswith(comment) else line for line in lines)
    reader = csv.reader(
        chain(kept, ["\n"]), delimiter=separator, skipinitialspace=strip, quotechar='"'
    )
    begins = 1
    try:
        for cells in reader:
            if begins <= len(lines) < reader.line_num:
                raise SlowError(f"f, line {begins} opens a quote that is never closed")
            record = "".join((*lines, "\n")[begins - 1 : reader.line_num])
            if not (comment and record.lstrip().startswith(comment)):
                _require_closed(record, separator, strip, begins)
            begins = reader.line_num + 1
            cells = [c.strip() for c in cells] if strip else cells
            if cells and cells != [""]:
                yield reader.line_num, cells
    except csv.Error as error:
        raise SlowError(f"f, line {begins} is no record: {error}") from None


def _require_closed(record, separator, strip, line):
    """Refuses a record in which text follows a closing quote: one character after the other."""
    blanks = " \t".replace(separator, "") if strip and separator != " " else ""
    state = "start"  # of a cell; or inside quotes, behind them, or in plain text
    for at, letter in enumerate(record):
        if state == "start":
            state = "quoted" if letter == '"' else "start" if letter in blanks else "plain"
            state = "start" if letter in (separator, "\n") else state
        elif state == "quoted":
            state = "behind" if letter == '"' else "quoted"
        elif letter in (separator, "\n"):
            state = "start"
        elif state == "behind" and letter == '"' and record[at - 1] == '"':
            state = "quoted"
        elif state == "behind" and letter not in blanks:
            raise SlowError(f"f, line {line} is no record: text follows a closing quote")


def slow_numbers(cells, missing):
    """Each cell as Python's `float` reads it, NaN where missing; None for what is no number.

    A number stands for missing however it is written.
    """
    numbers = []
    absent = [float(word) for word in missing if _NUMBER.fullmatch(word)]
    for cell in cells:
        if cell in missing:
            numbers.append(math.nan)
        elif _NUMBER.fullmatch(cell) and math.isfinite(float(cell)):
            numbers.append(math.nan if float(cell) in absent else float(cell))
        else:
            numbers.append(None)
    return numbers
