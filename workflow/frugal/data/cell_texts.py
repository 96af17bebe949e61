"""Cells of a table as texts, and the marks of decimals and thousands in its numbers.

Knows no file.
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from frugal.core.errors import DataError, shown_cell
from frugal.core.schema_check import listed
from frugal.data.encoded_columns import NO_VALUE
from frugal.data.parsing import AMOUNT, THOUSANDS
from frugal.data.raw_cells import number_text, require_digits

MOST_KINDS = 2000  # different texts of a column by which its marks are guessed
MARKS = ("decimal", "thousands")  # keys of a format
_NUMBER_CHARACTERS = set("0123456789.+-eE")
_BLANK = THOUSANDS[" "]
_WRITTEN_WITH_UNIT = re.compile(rf"[<>≤≥]?=?\s*([+-]?\d(?:[\d.,'’{_BLANK}]*\d)?)\s*[^\d\s.,:/-]*")


def number_marks(
    cells: pd.DataFrame, decimal: str | None = None, otherwise: Mapping[str, str] | None = None
) -> tuple[dict[str, str], list[str]]:
    """Keys `decimal` and `thousands` of a format, where they are no points, and a sentence each.

    A comma before three digits is a mark of thousands where another column has decimal points, or
    where only smaller numbers lack it. A point before three digits is one where a column has
    decimal commas, or where only smaller numbers, up to three digits long, lack it.

    Args:
        cells: texts.
        decimal: mark of decimals; None: guessed.
        otherwise: the choice where the cells are ambiguous; None: they are points, and cells that
            leave it open are refused.

    Raises:
        DataError: the cells leave open whether a comma is one of decimals or of thousands.
    """
    numbers = {str(name): _numbers_in(cells[name]) for name in cells.columns}
    grouped = {name for name, texts in numbers.items() if _larger_alone_have_points(texts)}
    usual = not grouped and not any(set("".join(t)) - _NUMBER_CHARACTERS for t in numbers.values())
    if otherwise is None and usual:
        return {}, []
    by: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, texts in numbers.items():
        for fact in set().union(*map(marks_in, texts)):
            by[fact].append(name)
    if otherwise is not None and not any(role != "either" for role, _ in by):
        return dict(otherwise), []
    commas, points = by["decimal", ","], by["decimal", "."]
    open_ones = by["either", ","]
    if decimal is None and not (commas and points and open_ones):
        if commas or (grouped and not points):
            decimal = ","
        elif points or by["thousands", ","] or not open_ones:
            decimal = "."
        else:
            digits_only = [t for name in open_ones for t in numbers[name] if t.isdigit()]
            decimal = "." if digits_only and max(map(len, digits_only)) < 4 else None
    if decimal is not None:
        return _marks(decimal, by)
    if otherwise is not None:
        return dict(otherwise), []
    at = next(t for t in numbers[open_ones[0]] if ("either", ",") in marks_in(t))
    raise DataError(
        f"column {open_ones[0]!r} holds {shown_cell(at)}, whose comma may be one of decimals or of "
        "thousands; set --decimal , or --decimal ."
    )


def _marks(
    decimal: str, by: Mapping[tuple[str, str], list[str]]
) -> tuple[dict[str, str], list[str]]:
    """Keys of a format, and sentences, by which columns have which marks."""
    marks, remarks = {}, []
    if decimal == ",":
        marks["decimal"] = ","
        names = by["decimal", ","] + by["either", ","]
        points = f", with points in {listed(by['decimal', '.'])}" if by["decimal", "."] else ""
        if names:
            remarks.append(f"numbers with decimal commas ({listed(names[:3])}){points}")
    grouped = {mark: list(by["thousands", mark]) for mark in THOUSANDS}
    other = {".": ",", ",": "."}[decimal]
    if other == "," or not by["decimal", "."]:
        grouped[other] += by["either", other]
    grouped = {mark: names for mark, names in grouped.items() if names}
    if len(grouped) > 1 or decimal in grouped:
        names = [name for names in grouped.values() for name in names[:1]]
        raise DataError(
            f"numbers are written in several ways (columns {listed(names)}); write them with "
            "decimal points and without marks of thousands"
        )
    for mark, names in grouped.items():
        marks["thousands"] = mark
        remarks.append(f"numbers with {mark!r} between thousands ({listed(names[:3])})")
    return marks, remarks


def _numbers_in(column: pd.Series) -> list[str]:
    """Different numbers of a column in any style; none where few of its texts are any."""
    kinds = [text for text in pd.unique(column)[:MOST_KINDS] if text not in NO_VALUE]
    if any(map(AMOUNT.fullmatch, kinds)):
        return []
    numbers = [match[1] for match in map(_WRITTEN_WITH_UNIT.fullmatch, kinds) if match]
    return numbers if 2 * len(numbers) >= len(kinds) else []


def _larger_alone_have_points(texts: Sequence[str]) -> bool:
    """Whether all points precede three digits, and numbers without one have up to three."""
    longest = max((len(text) for text in texts if text.isdigit()), default=0)
    pointed = [text for text in texts if "." in text] if longest == 3 else []
    return bool(pointed) and all(("either", ".") in marks_in(text) for text in pointed)


def marks_in(number: str) -> set[tuple[str, str]]:
    """Roles of the marks in a number: decimal, thousands, or either of both."""
    parts = re.split(rf"([.,'’{_BLANK}])", number.lstrip("+-"))
    groups = parts[::2]
    marks = [
        next(key for key, characters in THOUSANDS.items() if mark in characters)
        for mark in parts[1::2]
    ]
    ends = [len(group) == 3 for group in groups[1:]]
    grouped = 1 <= len(groups[0]) <= 3 and groups[0][:1] != "0"
    if not marks or "" in groups:
        return set()
    if len(set(marks)) == 1:
        if grouped and all(ends):
            either = len(marks) == 1 and marks[0] in ".,"
            return {("either" if either else "thousands", marks[0])}
        return {("decimal", marks[0])} if len(marks) == 1 and marks[0] in ".," else set()
    first, last = marks[0], marks[-1]
    if grouped and all(ends[:-1]) and set(marks[:-1]) == {first} and last in ".,":
        return {("decimal", last), ("thousands", first)}
    return set()


def plain_name(text: str) -> str:
    """The text with one blank for unprintable characters, and none around it."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def as_texts(frame: pd.DataFrame, names_of: str = "") -> tuple[pd.DataFrame, frozenset[str]]:
    """Cells as texts without blanks around them, and the columns where more had to be cleaned.

    No value is an empty text; an unprintable character is a blank.

    Args:
        frame: cells of any type.
        names_of: the file, where numbers may be names, which must not lose digits.

    Raises:
        DataError: one has, or a cell is no single value, or bytes that are no UTF-8.
    """
    texts, cleaned = {}, set()
    for name in frame.columns:
        column = frame[name]
        try:
            code, kinds = pd.factorize(column)
            listed_cells = [kind for kind in kinds if isinstance(kind, tuple | frozenset)]
        except TypeError:  # cells that Python cannot compare
            listed_cells = [cell for cell in column if not isinstance(cell, Hashable)] or [*column]
        if listed_cells:
            raise DataError(
                f"column {str(name)!r} holds {shown_cell(listed_cells[0])}, which is no single "
                "value; make columns of its parts, or leave it out of the table"
            )
        if names_of and column.dtype == np.float64:
            require_digits(np.asarray(kinds), f"{names_of}: column {name!r}")
        try:
            as_written = [plain_text(kind) for kind in kinds]
        except UnicodeDecodeError as error:
            raise DataError(
                f"column {str(name)!r} holds {shown_cell(error.object)}, bytes that are no UTF-8 "
                "text; decode them, or leave the column out of the table"
            ) from None
        shown = list(map(printable, as_written))
        if shown != as_written:
            cleaned.add(str(name))
        texts[str(name)] = np.array([*shown, ""], dtype=object)[code]
    return pd.DataFrame(texts), frozenset(cleaned)


def printable(text: str) -> str:
    """The text with a blank for each unprintable character."""
    return text if text.isprintable() else plain_name(text)


def plain_text(cell: object) -> str:
    """A cell of a frame as written to a CSV; bytes are UTF-8."""
    if isinstance(cell, bytes):
        return cell.decode().strip()
    if isinstance(cell, float | np.floating):
        return number_text(float(cell)) or ""
    return str(cell).strip()
