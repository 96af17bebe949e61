"""The cells of one column as encoded columns, and columns set aside until they are a table.

Levels and codes become indicators, of tables and of new cases in the same way. The table in memory
is one column of all rows, or all columns of one block. Knows no panel and no file.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.blocks import block_slices
from frugal.core.errors import DataError, shown_cell
from frugal.core.rows import ScratchFile
from frugal.core.schema_check import cell_hint, listed
from frugal.data.description import Column
from frugal.data.parsing import RawTable

MOST_LEVELS = 30  # of a categorical column that is guessed
# Texts that mean no value, as databases, libraries and spreadsheets write them
NO_VALUE = (
    *("", "NA", "na", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", ".", "#N/A", "missing"),
    *("\\N", "<NA>", "<na>", "NaT", "nat", "(null)", "(NULL)", "<null>", "<NULL>", "#NULL!"),
    *("NAN", "Nan", "Null", "Missing", "MISSING", "-nan", "-NaN", "#NA", "#N/A N/A", "1.#QNAN"),
)
# Spellings that may mean no value, and may be a level: asked about, never decided
MAY_BE_NO_VALUE = re.compile(
    r"[-–—*_]+|n[./ ]{0,2}[ad]\.?|[<(]?(none|nil|empty|blank|void|unk|unknown|undefined)[>)]?"
    r"|(not|no|un)[ _-]?(recorded|known|done|measured|tested|available|applicable|reported"
    r"|performed|specified|stated|value|data|result|answer|entry)|#[a-z]+(/0)?[!?]"
    r"|(nicht|un)[ _-]?(gemacht|gemessen|durchgeführt|erhoben|bekannt|bestimmt|getestet|verfügbar)"
    r"|k\.? ?a\.?|keine? (angaben?|werte?|daten)|inconnue?|non[ _-](fait|réalisé|mesuré)e?"
    r"|(sin|no) (datos?|valor|realizad[oa]|medid[oa])|desconocid[oa]|sconosciut[oa]|onbekend"
)
# Those that among numbers mean no value; others, such as "none", may be the lowest number
NO_NUMBER = re.compile(r"[-–—*_]+|n[./ ]{0,2}[ad]\.?|not[ _-]?\w+|un(recorded|known|tested)")
_INTEGER_WITH_DECIMALS = re.compile(r"([+-]?\d+)[.,]0+")
_TRUTH = {"true": True, "yes": True, "on": True, "1": True}
_TRUTH |= {"false": False, "no": False, "off": False, "0": False}


def spelling(text: str) -> str:
    """Normal form of a text, without differences in blanks, case and Unicode composition."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def levels_of(text: np.ndarray, column: Column) -> np.ndarray:
    """Raw texts under the names of their levels, with the level that denotes a missing value. (n,)

    A text that is no level becomes the one that it denotes, see `same_level`.
    """
    levels, recode = column.levels or (), dict(column.recode)
    for unlisted in set(text) - {None, *levels, *recode}:
        level = same_level(unlisted, levels)
        recode |= {} if level is None else {unlisted: level}
    text = np.array([recode.get(t, t) for t in text], dtype=object)
    if column.missing_level is not None:
        text[is_absent(text)] = column.missing_level
    return text


def same_level(text: str, levels: Sequence[str]) -> str | None:
    """The only level that a text denotes; None where it is none, or could be several.

    It is the text itself, the same whole number (1.0 is 1, as a column with missing values may be
    written), the same word in other capitals and blanks, or, where the levels are a yes and a no,
    the other word for it: TRUE is yes.
    """
    if text in levels:
        return text
    if text != text.strip():  # a table that keeps blanks means them
        return None
    for form in (whole, word, truth):
        same = [level for level in levels if form(level) is not None and form(level) == form(text)]
        if same:
            distinct_words = form is not truth or {*map(truth, levels)} == {True, False}
            return same[0] if len(same) == 1 and distinct_words else None
    return None


def word(text: str) -> str:
    """A text without differences in blanks, case, Unicode composition and a last period."""
    return spelling(text).rstrip(".") or text


def unaccented(text: str) -> str:
    """The spelling of a text without accents."""
    letters = unicodedata.normalize("NFKD", spelling(text))
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def truth(text: str) -> bool | None:
    """Truth of a text that means yes or no; None of any other text."""
    return _TRUTH.get(spelling(whole(text)))


def no_name(text: str) -> bool:
    """Whether a text names nothing: a word for no value, or without a letter and digit."""
    may_be = text if len(text) < 3 else text.casefold()  # Na is sodium
    return (
        text in NO_VALUE
        or MAY_BE_NO_VALUE.fullmatch(may_be) is not None
        or not any(map(str.isalnum, text))
    )


def whole(text: str) -> str:
    """A whole number without decimals; any other text as it is."""
    match = _INTEGER_WITH_DECIMALS.fullmatch(text)
    return match[1] if match else text


def possible(
    values: Float[np.ndarray, " n"], column: Column
) -> tuple[Float[np.ndarray, " n"], int]:
    """Values with NaN for those that cannot be, and how many these are; codes are left alone."""
    if column.valid is None:
        return values, 0
    codes = [code for code, _ in column.special_values]
    low, high = column.valid
    wrong = ((values < low) | (values > high)) & ~np.isin(values, codes)
    return np.where(wrong, np.nan, values), int(wrong.sum())


def is_absent(values: np.ndarray) -> Bool[np.ndarray, " n"]:
    """True where a column of numbers or of texts has no value. (n,)"""
    if values.dtype == object:
        return np.array([v is None for v in values], dtype=bool)
    return np.isnan(values)


def coded_cells(
    values: Float[np.ndarray, " n"], codes: Float[np.ndarray, " c"], instead: float
) -> Float[np.ndarray, "n c+1"]:
    """Numbers, one of them in place of every code, then an indicator of each code. (n, c + 1)

    Args:
        values: NaN where there is none, and then all over. (n,)
        codes: numbers that are no quantities. (c,)
        instead: the number that replaces a code.
    """
    is_code = values[:, None] == codes  # NaN equals none
    cleaned = np.where(is_code.any(axis=1), instead, values)
    indicators = np.where(np.isnan(values)[:, None], np.nan, is_code.astype(np.float64))
    return np.column_stack([cleaned, indicators])


def level_cells(
    raw: RawTable, rows: np.ndarray, text: np.ndarray, column: Column, *, strict: bool = True
) -> Float[np.ndarray, "n c"]:
    """An indicator of each level; NaN all over where there is no value. (n, c)

    Args:
        raw: the records, for the sentence.
        rows: which of them these are. (n,)
        text: levels of a column. (n,)
        column: names its levels.
        strict: refuse a text that is no level; without, it is none of them: zeros.

    Raises:
        DataError: a text is no level of the column.
    """
    levels, absent = column.levels or (), is_absent(text)
    unknown = set(text[~absent]) - set(levels) if strict else set()
    if unknown:
        row = int(np.argmax([t in unknown for t in text]))
        raise DataError(
            f"{raw.place(int(rows[row]))}: column {column.name!r} holds "
            f"{shown_cell(text[row])}, which 'levels' lacks: {listed(levels)}"
            f"{cell_hint(text[row], levels)}"
        )
    indicators = (text[:, None] == np.array(levels, dtype=object)).astype(np.float64)
    indicators[absent] = np.nan
    return indicators


class TypedColumns:
    """Numbers, or levels as texts, of each feature in every record."""

    def __init__(self) -> None:
        self._kept = ScratchFile()
        self._levels: dict[str, np.ndarray] = {}
        self._names: list[str] = []

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[name] for name in self._names)

    @property
    def names(self) -> list[str]:
        """Features, in the order in which they came."""
        return list(self._names)

    def put(self, name: str, values: np.ndarray) -> None:
        """A feature in every record; texts are None where there is none. (records,)"""
        self._names.append(name)
        if values.dtype == object:
            import pandas as pd

            code, levels = pd.factorize(values)
            self._levels[name] = np.array([*levels, None], dtype=object)
            values = code.astype(np.int32)
        self._kept.put(name, values)

    def __getitem__(self, name: str) -> np.ndarray:
        values = self._kept.column(name)
        return self._levels[name][values] if name in self._levels else values


@dataclass(frozen=True)
class EncodedColumn:
    """Metadata of the encoded columns of one feature: their names and units, whether they are a
    one-hot code, and how often each special value was found.
    """

    names: tuple[str, ...]
    unit: tuple[str, ...]
    onehot: bool
    codes: dict[str, int]


class EncodedColumns:
    """Encoded columns of n rows, d of them.

    Args:
        rows: n.
    """

    def __init__(self, rows: int) -> None:
        self._kept = ScratchFile()
        self.rows, self.width = rows, 0
        self.blocks = block_slices(rows)

    def put(self, values: Float[np.ndarray, "n c"]) -> None:
        """The next columns."""
        for column in values.T:
            for rows in self.blocks:
                self._kept.put(self.width, column[rows])
            self.width += 1

    def block(self, number: int) -> Float[np.ndarray, "n d"]:
        """All columns of one block, column by column in memory. (n, d)"""
        rows = self.blocks[number]
        values = np.empty((rows.stop - rows.start, self.width), order="F")
        for j in range(self.width):
            values[:, j] = self._kept.block(j, number)
        return values

    def whole(self) -> Float[np.ndarray, "n d"]:
        """All columns of all rows, in memory. (n, d)"""
        values = np.empty((self.rows, self.width), order="F")
        for j in range(self.width):
            values[:, j] = self._kept.column(j)
        return values


def onehot_groups(columns: Sequence[EncodedColumn]) -> tuple[tuple[int, ...], ...]:
    """Places of the columns of each one-hot code."""
    groups, start = [], 0
    for column in columns:
        stop = start + len(column.names)
        if column.onehot:
            groups.append(tuple(range(start, stop)))
        start = stop
    return tuple(groups)
