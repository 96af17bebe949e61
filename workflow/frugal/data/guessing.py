"""Types of the columns of an unknown table, guessed from their cells; guesses are reported.

For `frugal init`, which writes a guess for a person to correct. No step of a study reads it. All
questions about a column are evaluated on its different values, each once.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from frugal.config.dataset import NumberEntry
from frugal.core.errors import DataError, shown_cell
from frugal.core.numeric import MOST_VALUES, best_values, cuts_between
from frugal.core.schema_check import columns_listed, did_you_mean, listed
from frugal.data.encoded_columns import (
    MAY_BE_NO_VALUE,
    MOST_LEVELS,
    NO_NUMBER,
    NO_VALUE,
    spelling,
    word,
)
from frugal.data.parsing import AMOUNT, QUANTITY, NumberStyle, up_to_limit
from frugal.data.splits import copied

_REPEATED = (float(str(digit) * times) for times in (1, 2, 3, 4) for digit in (7, 8, 9))
CODES = (-1.0, -7.0, -8.0, -9.0, -99.0, -999.0, -9999.0, 99999.0, *_REPEATED)
MOST_CLASSES = 10
VALUES = 4  # numbers to predict, where none are stated
EACH = 5  # mean rows per value for values to be judged on their own
LEAST_ROWS = 20  # for a column to be suspected of leaking the label
NEARLY = 0.9  # share of the errors of the commonest class that a suspect spares, alone
AGAIN = "names that occur in several rows"
DATES = "holds dates; make a number of them, such as days since an event, if they matter"
_FEW = 10  # different values: no names of units
_FAR = 5.0  # spacings of numbers from the next one on, of a zero that may be a code
_YES = {"yes", "y", "true", "t", "1", "positive", "pos", "ill", "sick", "dead", "died", "present"}
_NO = {"no", "n", "false", "f", "0", "negative", "neg", "well", "healthy", "alive", "absent"}
_DATE = re.compile(
    r"\d{4}[-/]\d{1,2}|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?:[ T].*)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}(?:[ T].*)?"
    r"|\d{1,2}[- ./]?[A-Za-zÀ-ÿ]{3,9}\.?[- ./,]*\d{2,4}(?:[ T].*)?"
    r"|[A-Za-z]{3,9}\.? \d{1,2},? \d{4}"
)
_DAY = re.compile(r"(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])")
_SERIAL = (30_000, 60_000)  # days since 1900, as spreadsheets count them: 1982 to 2064
_YEARS = 12 * 366  # days, within which such days of one table lie
_TIME = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?: ?[AaPp]\.?[Mm]\.?)?")
_COMMA = re.compile(r"[+-]?\d+,\d+")
_ID = re.compile(r"(^|[_\W])(id|ids|uuid|mrn|subject|patient|person)$|ID$", re.I)
_NUMBER = re.compile(r"(^|[_\W])(nr|no|number|key|index|record|case|visit)$", re.I)
# Names that libraries give to the column of row numbers
_NAMELESS = re.compile(
    r"Unnamed: \d+(_level_\d+)?|\.\.\.\d+|row[._ ]?names?|__index_level_\d+__", re.I
)
_EXPONENT = re.compile(r"\d+[eE]\d+")  # 1E2: a number, or the name of a well
_LOOKED_AT = 1000  # values of a column by which dates are found


@dataclass
class Guess:
    """Guessed type of a column.

    Attributes:
        name: in the file.
        kind: numeric, categorical, or `out`: left out.
        levels: of a categorical column, in order.
        missing_share: share of rows without a value.
        codes: numbers that are probably no quantities, and the share of rows with each.
        low, high: of a numeric column.
        remarks: for the terminal and the line of the column.
        unit: of a numeric column.
        recode: text → level or number that replaces it.
        again: its values seem to name units that have several rows.
        constant: all that it holds is one value.
        gap_pattern: number of the columns that have values in the very same rows.
        missing_level: that a missing value becomes; None: it stays missing.
    """

    name: str
    kind: str
    levels: Sequence[str] = ()
    missing_share: float = 0.0
    codes: Mapping[float, float] = field(default_factory=dict)
    low: float = np.nan
    high: float = np.nan
    remarks: list[str] = field(default_factory=list)
    unit: str = "1"
    recode: Mapping[str, str | float] = field(default_factory=dict)
    again: bool = False
    constant: bool = False
    gap_pattern: int = 0
    missing_level: str | None = None


@dataclass(frozen=True)
class TableGuess:
    """Guessed structure of a table.

    Attributes:
        rows: of the file.
        missing: texts that mean "no value".
        columns: all but the label.
        classes: values of the label, with all their spellings, the positive one last.
        label_gaps: rows without a label.
        clusters: columns whose values occur in several rows, and look like names of units; those
            without missing values first, and then the one of most values.
        remarks: on the whole table.
        cuts: ascending numbers that divide the label into the classes; none: they are values of the
            label.
        predict: key of the YAML's label where it is a number to predict, one value for each class.
    """

    rows: int
    missing: tuple[str, ...]
    columns: tuple[Guess, ...]
    classes: Mapping[str, tuple[str, ...]]
    label_gaps: int
    clusters: tuple[Guess, ...]
    remarks: tuple[str, ...]
    cuts: Sequence[float] = ()
    predict: Mapping[str, Any] | None = None

    @property
    def priced_classes(self) -> list[str]:
        """Classes between which each error has a cost; none where a number is predicted."""
        return [] if self.predict else list(self.classes)


@dataclass(frozen=True, eq=False)
class _Values:
    """Different values of a column. Shapes: n rows, k values.

    Attributes:
        name: of the column.
        code: value of each row, in order of appearance; −1 where there is none. (n,)
        kinds: the values. (k,)
        style: in which its numbers are written.
    """

    name: str
    code: np.ndarray
    kinds: Sequence[str]
    style: NumberStyle

    @classmethod
    def of(cls, name: str, code: np.ndarray, kinds: np.ndarray, style: NumberStyle) -> "_Values":
        """The column at some rows, with only the values that occur there."""
        occurs = np.bincount(code[code >= 0], minlength=len(kinds)) > 0
        occurs &= ~np.isin(kinds, NO_VALUE)
        number = np.append(np.where(occurs, np.cumsum(occurs) - 1, -1), -1)
        return cls(name, number[code], list(kinds[occurs]), style)

    @cached_property
    def count(self) -> np.ndarray:
        """Rows of each value. (k,)"""
        return np.bincount(self.code[self.code >= 0], minlength=len(self.kinds))

    @property
    def observed(self) -> np.ndarray:
        """True where there is a value. (n,)"""
        return self.code >= 0

    @property
    def rows(self) -> int:
        """That have a value."""
        return int(self.count.sum())

    @cached_property
    def numbers(self) -> np.ndarray:
        """Each value as a number, NaN where it is none. (k,)"""
        return self.style.numbers(self.kinds)

    def share(self, mask: np.ndarray | list[bool]) -> float:
        """Of the rows with a value, those whose value has the property, True in the mask. (k,)"""
        return float(self.count[np.asarray(mask, dtype=bool)].sum() / self.rows)

    def amount(self) -> str | None:
        """The first amount with a sign of currency, where nearly all values are such or numbers."""
        first = self.kinds[:_LOOKED_AT]
        amounts = [kind for kind in first if AMOUNT.fullmatch(kind)]
        numbers = int(np.isfinite(self.numbers[: len(first)]).sum())
        return amounts[0] if amounts and len(amounts) + numbers > 0.9 * len(first) else None

    def are_mostly(self, form: re.Pattern[str]) -> bool:
        """Whether nine tenths of the first values have a form."""
        first = self.kinds[:_LOOKED_AT]
        return sum(form.fullmatch(kind) is not None for kind in first) > 0.9 * len(first)


def guess_table(
    cells: pd.DataFrame,
    label: str,
    cuts: Sequence[float] = (),
    *,
    marks: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    nameless: Iterable[str] = (),
    positive: str | None = None,
    weigh: bool = False,
    predict: Mapping[str, Any] | None = None,
) -> TableGuess:
    """Guess the type of each column.

    Args:
        cells: texts as in the file, blanks around them taken off.
        label: name of the column to predict.
        cuts: ascending numbers that divide the label into classes; none where its values are them.
        marks: keys `decimal` and `thousands` of the file's format.
        units: of columns, as the file has them.
        levels: of columns that the file declares to be categories.
        nameless: columns that have no name in the file.
        positive: value of a label of two classes that is the positive one; None: guessed.
        weigh: whether rows without a label are kept.
        predict: keys of `NumberEntry` of a label that is a number; `values` may be how many, which
            then lose least.

    Raises:
        ConfigError: `predict` has another key or value.
        DataError: there is no such column, it has no two classes, or none is `positive`; a label
            with cuts or values to predict holds texts, or too few numbers.
    """
    if label not in cells.columns:
        raise DataError(
            f"there is no column {label!r} to predict; {columns_listed(cells.columns)}"
            f"{did_you_mean(label, cells.columns)}"
        )
    units, levels, marks, nameless = units or {}, levels or {}, marks or {}, set(nameless)
    style = NumberStyle(marks.get("decimal", "."), marks.get("thousands"))
    factors = {str(name): _factors(cells[name]) for name in cells.columns}
    words = {name: set(kinds) & set(NO_VALUE) for name, (_, kinds) in factors.items()}
    code, kinds = factors.pop(label)
    answer = _Values.of(label, code, kinds, style)
    entry = None if predict is None else _predicted(answer, predict)
    if positive is not None and (entry is not None or cuts):
        raise DataError(
            f"positive is {positive!r}, and the label is a number; allowed is none: no value is "
            "positive, and of two ranges by --cut the upper one is"
        )
    if entry is not None:
        cuts, names = cuts_between(entry.values), entry.names
        classes, of_row, remarks = _ranges(answer, cuts, names, "values to predict")
    elif cuts:
        between = [f"{low:g} to {high:g}" for low, high in pairwise(cuts)]
        names = [f"below {cuts[0]:g}", *between, f"from {cuts[-1]:g}"]
        classes, of_row, remarks = _ranges(answer, cuts, names, "--cut")
    else:
        classes, of_row, remarks = _classes(answer, positive)
    labelled = of_row >= 0
    if not labelled.all():
        lacking = f"{int((~labelled).sum()):,} of {len(cells):,} rows have no value"
        outcome = "are kept (unlabelled: weigh)" if weigh else "are left out (drop_rows)"
        remarks.append(f"{lacking} of {label!r} and {outcome}")
    used = labelled | weigh
    columns, values_of = [], {}
    for name, (code, kinds) in factors.items():
        unit = units.get(name, "")
        values = _Values.of(name, code[used], kinds, style._replace(unit=unit))
        guess = _column(values, levels.get(name), unit, nameless=name in nameless)
        columns.append(guess)
        if guess.kind != "out":
            recode = {text: str(level) for text, level in guess.recode.items()}
            unit = "" if guess.unit == "1" else guess.unit
            values = replace(values, style=style._replace(unit=unit, recode=recode))
            values_of[name] = values
            of_labelled = _Values.of(name, code[labelled], kinds, values.style) if weigh else values
            _look_for_leak(guess, of_labelled, of_row[labelled], list(classes))
    _compare({guess.name: guess for guess in columns}, values_of)
    remarks += [
        f"{word!r} means no value ({listed(names[:3])}{', …' if len(names) > 3 else ''})"
        for word in NO_VALUE[1:]
        if (names := [name for name, contents in words.items() if word in contents])
    ]
    contents = {n: np.where(np.isin(k, NO_VALUE)[c], np.nan, c) for n, (c, k) in factors.items()}
    if copies := int(copied(pd.DataFrame(contents | {label: of_row})).sum()):
        remarks.append(f"{copies:,} rows are copies of others, in every cell; an error?")
    again = [guess for guess in columns if guess.again]
    again.sort(key=lambda guess: (guess.missing_share > 0, -len(factors[guess.name][1])))
    missing = tuple(
        w for w in NO_VALUE if w == "" or any(w in contents for contents in words.values())
    )
    return TableGuess(
        len(cells),
        missing,
        tuple(columns),
        classes,
        int((~labelled).sum()),
        tuple(again),
        tuple(remarks),
        cuts,
        entry and entry.plain(),
    )


def _factors(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Number of each row's text, in order of appearance, and the texts. ((n,), (k,))"""
    code, kinds = pd.factorize(column)
    return code, np.asarray(kinds, dtype=object)


def _ranges(
    values: _Values, cuts: Sequence[float], names: Sequence[str], argument: str
) -> tuple[dict[str, tuple[str, ...]], np.ndarray, list[str]]:
    """Classes, the class of each row, and no remark: below a number, between two, from one on."""
    _require_numbers(values, argument)
    of_kind = np.searchsorted(cuts, values.numbers, side="right")
    if empty := [name for k, name in enumerate(names) if k not in of_kind]:
        raise DataError(
            f"no number of the column {values.name!r} falls in the class {empty[0]!r}; each class "
            f"by {argument} needs one"
        )
    return dict.fromkeys(names, ()), np.append(of_kind, -1)[values.code], []


def _require_numbers(values: _Values, argument: str) -> None:
    wrong = np.flatnonzero(np.isnan(values.numbers))
    if len(wrong):
        raise DataError(
            f"the column {values.name!r} holds {shown_cell(values.kinds[wrong[0]])}, which is no "
            f"number that {argument} could divide"
        )


def _predicted(values: _Values, predict: Mapping[str, Any]) -> NumberEntry:
    """The keys of a number to predict; of a count of values, those that lose least."""
    values_wanted, most = predict.get("values", VALUES), min(len(values.kinds), MOST_VALUES)
    if isinstance(values_wanted, int | np.integer):
        _require_numbers(values, "values to predict")
    if isinstance(values_wanted, int | np.integer) and 2 <= values_wanted <= most:
        finite = np.isfinite(values.numbers)
        numbers = np.repeat(values.numbers[finite], values.count[finite])
        best = best_values(numbers, int(values_wanted), str(predict.get("loss")))
        values_wanted = sorted({float(f"{value:.4g}") for value in best})
    elif isinstance(values_wanted, int | np.integer):
        raise DataError(
            f"predict.values is {values_wanted}, and the column {values.name!r} holds "
            f"{len(values.kinds)} different values; allowed are 2 to {most}, or a list of numbers"
        )
    return NumberEntry.read({"unit": "1", **predict, "values": values_wanted}, where="predict")


def _classes(
    values: _Values, positive: str | None
) -> tuple[dict[str, tuple[str, ...]], np.ndarray, list[str]]:
    """Classes with their spellings, the class of each row, and the assumptions.

    The positive one of two is last: as stated, else by its name, or the rarer.
    """
    spellings = _spellings(values)
    if len(spellings) < 2:
        alone = f"holds {shown_cell(values.kinds[0])} alone" if values.kinds else "is empty"
        raise DataError(f"the column {values.name!r} {alone}; a label needs two classes")
    if len(spellings) > MOST_CLASSES:
        raise DataError(
            f"the column {values.name!r} holds {len(spellings)} different values; a label has 2 to "
            f"{MOST_CLASSES} classes: {_remedy(values)}"
        )
    rows = {name: int(values.count[kinds].sum()) for name, kinds in spellings.items()}
    order = sorted(rows, key=lambda name: -rows[name])
    if len(order) == 2 and _is_negative(order[1], of=order[0]):
        order = order[::-1]
    if positive is not None:
        order = _ending_in(positive, order, values.name)
    share = rows[order[-1]] / values.rows
    remarks = _spelling_remarks(values, spellings) + _doubts(values, spellings)
    if len(order) == 2 and positive is None:
        remarks.append(
            f"{order[-1]!r} is the positive class ({share:.0%} of the rows); exchange the two "
            "under 'label' if the other is meant"
        )
    of_kind = np.full(len(values.kinds) + 1, -1)
    for number, name in enumerate(order):
        of_kind[spellings[name]] = number
    classes = {name: tuple(values.kinds[k] for k in spellings[name]) for name in order}
    return classes, of_kind[values.code], remarks


def _is_negative(name: str, of: str) -> bool:
    """Whether the names of two classes say that the first is the negative one, as `notill`."""
    name, of = (each.casefold().rstrip(".") for each in (name, of))
    negated = re.fullmatch(rf"(not|non|no)[ _-]?{re.escape(of)}", name)
    return bool(negated) or (name in _NO and of in _YES)


def _ending_in(positive: str, classes: Sequence[str], label: str) -> list[str]:
    """Two classes, the positive one last."""
    if len(classes) != 2 or positive not in classes:
        raise DataError(
            f"positive is {positive!r}; allowed is one of two classes, and those of column "
            f"{label!r} are {listed(map(repr, classes))}"
        )
    return sorted(classes, key=lambda name: name == positive)


def _spellings(values: _Values) -> dict[str, list[int]]:
    """Values that differ by capitals, blanks or a last period only, under the commonest of them."""
    by_spelling: dict[str, list[int]] = defaultdict(list)
    for k, kind in enumerate(values.kinds):
        by_spelling[word(kind)].append(k)
    groups = (sorted(group, key=lambda k: -values.count[k]) for group in by_spelling.values())
    return {values.kinds[group[0]]: group for group in groups}


def _spelling_remarks(values: _Values, spellings: Mapping[str, Sequence[int]]) -> list[str]:
    """That spellings were put together."""
    several = [[values.kinds[k] for k in group] for group in spellings.values() if len(group) > 1]
    if not several:
        return []
    pairs = "; ".join(" and ".join(map(repr, group)) for group in several[:3])
    return [f"{pairs} are taken for one value"]


def _doubts(values: _Values, spellings: Mapping[str, Sequence[int]]) -> list[str]:
    """That levels may mean no value."""
    doubted = [level for level in spellings if MAY_BE_NO_VALUE.fullmatch(spelling(level))]
    if not doubted:
        return []
    rows = sum(int(values.count[k]) for level in doubted for k in spellings[level])
    named = " and ".join(map(shown_cell, doubted[:3])) + (", …" if len(doubted) > 3 else "")
    return [
        f"{named} ({rows / values.rows:.0%} of its rows) may mean no value: add it to 'missing', "
        "or replace it in the table, if it does"
    ]


def _remedy(values: _Values) -> str:
    """Remedy for a label with many values."""
    if np.isfinite(values.numbers).all():
        return (
            "--predict loss=absolute,price=… predicts the number at a price of its error, and "
            "--cut NUMBER,… makes classes of ranges (docs/how-to/library.md)"
        )
    return "put them together into few in a column of its own"


def _column(values: _Values, declared: Sequence[str] | None, unit: str, *, nameless: bool) -> Guess:
    """One column."""
    name, kinds = values.name, values.kinds
    missing_share = float(1 - values.observed.mean())

    def out(remark: str, *, again: bool = False) -> Guess:
        return Guess(name, "out", missing_share=missing_share, remarks=[remark], again=again)

    if not kinds:
        return out("is empty")
    if len(kinds) == 1:
        return replace(out(f"holds {shown_cell(kinds[0])} alone"), constant=True)
    if declared is not None:
        return _declared(values, declared, missing_share)
    if values.are_mostly(_DATE):
        return out(DATES)
    if values.are_mostly(_TIME):
        return out("holds times of day; make a number of them, such as hours, if they matter")
    if values.are_mostly(_COMMA) and not np.isfinite(values.numbers).any():
        return out(
            f"holds numbers with a comma, such as {values.kinds[0]!r}; write a point instead"
        )
    if amount := values.amount():
        return out(f"holds amounts such as {amount!r}; write the numbers without the sign")
    codes = _codes_in_digits(kinds)
    quantities = None if codes else _quantities(values, unit)
    numbers = values.numbers if quantities is None else quantities.numbers
    if reason := _names_of_units(values, numbers, nameless=nameless):
        return out(reason, again=reason == AGAIN)
    if quantities is not None:
        return _numeric(values, quantities, missing_share)
    return _category(values, missing_share, codes)


def _codes_in_digits(kinds: Sequence[str]) -> str:
    """What numbers that are names have, in words; empty where these are none.

    All shorter ones are filled up by zeros in front; or all are written as wells are, such as 1E2.
    """
    first = kinds[:_LOOKED_AT]
    filled = {len(kind) for kind in first if kind[0] == "0" and len(kind) > 1}
    if len(filled) == 1 and all(map(str.isdigit, first)) and min(map(len, first)) in filled:
        return "numbers with a zero in front, as a code has"
    if all(map(_EXPONENT.fullmatch, first)):
        return f"texts such as {first[0]!r}, which are read as names and no powers of ten"
    return ""


def _number_doubts(values: _Values) -> list[str]:
    """That a few numbers of a column are written as codes are."""
    for kind in values.kinds[:_LOOKED_AT]:
        if _EXPONENT.fullmatch(kind) or (len(kind) > 1 and kind[0] == "0" and kind.isdigit()):
            number = float(values.style.numbers([kind])[0])
            return [f"holds {shown_cell(kind)}, which is read as the number {number:g}"]
    return []


def _declared(values: _Values, declared: Sequence[str], missing_share: float) -> Guess:
    """A column whose file declares its levels: in their order, put together as texts are."""
    count = dict(zip(values.kinds, values.count, strict=True))
    stated = [level for level in declared if level not in NO_VALUE]
    undeclared = [kind for kind in values.kinds if kind not in stated]
    by_spelling: dict[str, list[str]] = defaultdict(list)
    for level in dict.fromkeys([*stated, *undeclared]):
        by_spelling[spelling(level).rstrip(".") or level].append(level)
    groups = [sorted(group, key=lambda t: -count.get(t, 0)) for group in by_spelling.values()]
    present = [[text for text in group if text in count] for group in groups]
    merged = {group[0]: list(map(values.kinds.index, group)) for group in present if group}
    remarks = _spelling_remarks(values, merged) + _doubts(values, merged)
    new = [group[0] for group in groups if not set(group) & set(stated)]
    if new:
        remarks.append(f"holds {listed(map(shown_cell, new))}, which its declaration lacks")
    return Guess(
        values.name,
        "categorical",
        levels=[group[0] for group in groups],
        missing_share=missing_share,
        recode={text: group[0] for group in groups for text in group[1:]},
        remarks=remarks,
    )


def _category(values: _Values, missing_share: float, codes: str) -> Guess:
    """A column of texts; `codes` names the kind of numbers in words, if all are numbers."""
    name, kinds = values.name, values.kinds
    named = f"holds {len(kinds):,} different {codes or 'texts'}"
    spellings = _spellings(values)
    if len(spellings) > MOST_LEVELS or len(spellings) > 0.5 * values.rows:
        return Guess(name, "out", missing_share=missing_share, remarks=[named])
    variants = {
        kinds[k]: level for level, group in spellings.items() for k in group if kinds[k] != level
    }
    remarks = _spelling_remarks(values, spellings) + _doubts(values, spellings)
    remarks += [named] if codes else []
    rare = [level for level, group in spellings.items() if values.count[group].sum() < EACH]
    if rare:
        remarks.append(
            f"fewer than {EACH} rows have {shown_cell(rare[0])}"
            + (f" (and each of {len(rare) - 1} other levels)" if len(rare) > 1 else "")
            + ": put rare levels together by 'recode'"
        )
    return Guess(
        name,
        "categorical",
        levels=sorted(spellings),
        missing_share=missing_share,
        recode=variants,
        remarks=remarks,
    )


@dataclass
class _Quantities:
    """A column of numbers, some with a unit, a limit, or words among them. (k,)

    Attributes:
        numbers: of each value; of one below a limit half of it; NaN for words.
        unit: written after them; empty for none.
        limits: text of a value that is only known to be below or above, and the number for it.
        words: texts that are no number.
    """

    numbers: np.ndarray
    unit: str
    limits: dict[str, float]
    words: list[str]


def _quantities(values: _Values, unit: str) -> _Quantities | None:
    """The numbers of a column; None where it has too few of them to be one of numbers."""
    numbers = values.numbers.copy()
    others = np.flatnonzero(~np.isfinite(numbers)).tolist()
    if not others:
        return _Quantities(numbers, unit, {}, [])
    parts = {k: m for k in others if (m := QUANTITY.fullmatch(values.kinds[k]))}
    behind = Counter(m["unit"] for m in parts.values() if m["unit"])
    common, times = behind.most_common(1)[0] if behind else ("", 0)
    unit = unit or (common if times > 0.9 * behind.total() else "")
    limits = {}
    for k, part in parts.items():
        number = float(values.style.numbers([part["number"]])[0])
        if part["unit"] in ("", unit) and np.isfinite(number):
            numbers[k] = number = up_to_limit(part["limit"], number)
            if part["limit"]:
                limits[values.kinds[k]] = number
    others = np.flatnonzero(~np.isfinite(numbers)).tolist()
    words = [values.kinds[k] for k in others]
    counts = values.count.copy()
    counts[[k for k in others if NO_NUMBER.fullmatch(spelling(values.kinds[k]))]] = 0
    numeric = are_quantities(numbers[counts > 0], counts[counts > 0])
    return _Quantities(numbers, unit, limits, words) if numeric else None


def are_quantities(numbers: np.ndarray, count: np.ndarray) -> bool:
    """Whether the texts of a column are numbers, but for a few words among many of them.

    Args:
        numbers: each different text as a number; NaN for a word. (k,)
        count: rows of each. (k,)
    """
    is_number = np.isfinite(numbers)
    finite, share = numbers[is_number], count[is_number].sum() / count.sum()
    many = len(finite) >= 10 or bool((finite != finite.round()).any())
    few = len(finite) >= max(3, 3 * int((~is_number).sum())) and share > 0.3
    return bool(share > 0.9 or is_number.all() or (many and few))


def _names_of_units(values: _Values, numbers: np.ndarray, *, nameless: bool) -> str:
    """Why a column seems to name rows, or units with several rows; empty where it does not."""
    finite, k, rows = numbers[np.isfinite(numbers)], len(values.kinds), values.rows
    numeric = len(finite) == k
    if numeric and (reason := _days(values, finite)):
        return reason
    if numeric and (finite != finite.round()).any():
        return ""
    strong, weak = bool(_ID.search(values.name)), bool(_NUMBER.search(values.name))
    ascending = numeric and k == rows > 20 and bool((np.diff(finite) > 0).all())
    digits = {len(kind.partition(".")[0]) for kind in values.kinds}  # 45.000000 has two
    long = numeric and len(digits) == 1 and min(digits) >= 8 and k > MOST_LEVELS
    nameless = numeric and (nameless or bool(_NAMELESS.fullmatch(values.name)))
    if k == rows and (nameless or ascending or strong or weak or (long and rows > 20)):
        return "numbers the rows" if numeric else "names the rows"
    if (strong and k > _FEW) or ((strong or weak) and k > 0.2 * rows) or long:
        return AGAIN
    if not len(finite) and k > MOST_LEVELS and rows >= 2 * k:
        return f"holds {k:,} different texts, in {rows / k:.0f} rows each"
    return ""


def _days(values: _Values, finite: np.ndarray) -> str:
    """That whole numbers are dates; empty where they are not."""
    if len(finite) < 10 or (finite != finite.round()).any():
        return ""
    if all(map(_DAY.fullmatch, values.kinds)):
        return DATES
    low, high = _SERIAL
    if finite.min() >= low and finite.max() <= high and np.ptp(finite) <= _YEARS:
        return f"{DATES} (they are counted in days, as spreadsheets do)"
    return ""


def _numeric(values: _Values, quantities: _Quantities, missing_share: float) -> Guess:
    """A column most of whose cells are numbers."""
    name, numbers, words = values.name, quantities.numbers, quantities.words
    finite = numbers[np.isfinite(numbers)]
    guess = Guess(
        name,
        "numeric",
        missing_share=missing_share,
        low=float(finite.min()),
        high=float(finite.max()),
    )
    guess.remarks += _number_doubts(values)
    if quantities.unit:
        guess.unit = quantities.unit
        if any(kind.endswith(quantities.unit) for kind in values.kinds):
            guess.remarks.append(f"numbers with the unit {quantities.unit!r}, which is read off")
    if quantities.limits:
        guess.recode = quantities.limits
        share = values.share([kind in quantities.limits for kind in values.kinds])
        guess.remarks.append(
            f"known up to a limit in {share:.0%} of its rows ({next(iter(quantities.limits))}): "
            "half the limit replaces values below it, and the limit those above"
        )
    if words:
        share = values.share([kind in words for kind in values.kinds])
        more = f" and {len(words) - 1} other texts" if len(words) > 1 else ""
        guess.remarks.append(
            f"holds text among its numbers ({shown_cell(words[0])}{more}, in {share:.0%} of its "
            "rows); add it to 'missing' if it means no value, else correct the file"
        )
        guess.missing_share = 1 - (1 - missing_share) * (1 - share)
    guess.codes = {code: values.share(numbers == code) for code in _codes(np.unique(finite))}
    return guess


def _codes(values: np.ndarray) -> list[float]:
    """Which of some ascending numbers are codes: far from all others, and in the
    form of a code, or 0.
    """
    codes = []
    rest = values[~np.isin(values, CODES)]
    for code in CODES:
        if code in values and len(rest) >= 2:
            beyond = max(rest[0] - code, code - rest[-1])
            if (code < 0 <= rest[0]) or beyond > rest[-1] - rest[0]:
                codes.append(code)
    others = values[(values != 0) & ~np.isin(values, codes)]
    if (values == 0).any() and len(others) >= 10 and others[0] > 0:
        spacing = np.median(np.diff(others[: len(others) // 2 + 1]))
        if others[0] > _FAR * spacing:
            codes.append(0.0)
    return codes


def _look_for_leak(guess: Guess, values: _Values, label: np.ndarray, classes: list[str]) -> None:
    """Remark on a column that predicts the label, by its values or its missingness."""
    observed = values.observed
    of_rows = pd.Series(values.code[observed], dtype=object)
    if guess.kind == "numeric":
        of_rows = pd.Series(values.numbers[values.code[observed]])
    if share := label_stated(of_rows, pd.Series(label[observed])):
        guess.remarks.append(
            f"predicts the label in {stated_in(share)} of {int(observed.sum()):,} rows: if it is "
            "known only afterwards, leave it out"
        )
    labels, counts = np.unique(label[observed], return_counts=True)
    if len(labels) == 1 and guess.missing_share:
        chance = float((label == labels[0]).mean()) ** int(counts[0])
        if chance < 0.01:
            guess.remarks.append(
                f"has a value only where the label is {classes[labels[0]]!r} ({counts[0]:,} rows): "
                "if it is measured only afterwards, leave it out"
            )


def _compare(guesses: Mapping[str, Guess], values_of: Mapping[str, _Values]) -> None:
    """Remark on redundant columns, and number those that have values in the same rows."""
    first: dict[bytes, str] = {}
    places: dict[bytes, int] = {}
    for name, values in values_of.items():
        other = first.setdefault(values.code.tobytes(), name)
        if other != name:
            same = list(values.kinds) == list(values_of[other].kinds)
            relation = "is the same as" if same else "has the same information as"
            guesses[name].remarks.append(
                f"{relation} {other} in every row: leave one of the two out"
            )
        if guesses[name].missing_share:
            observed = values.observed  # words among numbers are no value, either
            if guesses[name].kind == "numeric":
                observed = np.isfinite(np.append(values.numbers, np.nan))[values.code]
            number = places.setdefault(observed.tobytes(), len(places) + 1)
            guesses[name].gap_pattern = number


def label_stated(values: pd.Series, label: pd.Series) -> float:
    """Share of the rows whose label a column alone predicts; 0 where it is no suspect.

    Each value, or where there are many each range of numbers, predicts its commonest label. A
    suspect spares nearly all errors of a guess at the commonest label of all.

    Returns:
        0 too where fewer than 20 rows, or one label, would suffice to predict.
    """
    code, kinds = pd.factorize(values.to_numpy())
    answer, labels = pd.factorize(label.to_numpy())
    observed = (code >= 0) & (answer >= 0)
    code, answer = code[observed], answer[observed]
    size = np.bincount(answer, minlength=len(labels))
    if len(code) < LEAST_ROWS or (size > 0).sum() < 2:
        return 0.0
    if (np.bincount(code) > 0).sum() * EACH > len(code):
        if not pd.api.types.is_numeric_dtype(values):
            return 0.0
        numbers = np.asarray(kinds)[code]
        ordered = answer[np.argsort(numbers, kind="stable")]
        if int((np.diff(ordered) != 0).sum()) + 1 == (size > 0).sum():
            return 1.0
        parts = max(len(code) // LEAST_ROWS, 2)
        code = np.asarray(pd.qcut(numbers, parts, labels=False, duplicates="drop"))
    counts = np.zeros((code.max() + 1, len(labels)), dtype=np.int64)
    np.add.at(counts, (code, answer), 1)
    right = int(counts.max(axis=1).sum())
    wrong, guessed = len(code) - right, len(code) - int(size.max())
    return right / len(code) if wrong <= (1 - NEARLY) * guessed else 0.0


def stated_in(share: float) -> str:
    """A share of rows in words: all, or percent that are never rounded to all."""
    return "all" if share == 1 else f"{np.floor(1000 * share) / 10:g}%"


def known_at_start(guess: TableGuess, free: Iterable[str]) -> TableGuess:
    """The guess if each row knows these columns: no value is a level of a categorical one."""
    columns = tuple(_known(c) if c.name in free else c for c in guess.columns)
    return replace(guess, columns=columns)


def left_out(guess: TableGuess, names: Sequence[str], option: str = "--leave-out") -> TableGuess:
    """The guess without some columns, which an option or argument names.

    Raises:
        DataError: the table has no such column.
    """
    columns = {column.name: column for column in guess.columns}
    for name in names:
        if name not in columns:
            raise DataError(
                f"{option}: the table has no feature {name!r}; "
                f"{columns_listed(columns)}{did_you_mean(name, columns)}"
            )
        columns[name] = replace(columns[name], kind="out", remarks=[f"as {option} names it"])
    return replace(guess, columns=tuple(columns.values()))


def _known(column: Guess) -> Guess:
    if not column.missing_share or column.kind == "out":
        return column
    gaps = f"is known at the start, but {column.missing_share:.1%} of the rows have no value"
    if column.kind == "numeric":
        remark = f"{gaps}: fill them in, or price the column"
        return replace(column, remarks=[*column.remarks, remark])
    remarks = [*column.remarks, f"{gaps}, which becomes the level 'unknown'"]
    levels = list(dict.fromkeys([*column.levels, "unknown"]))
    return replace(column, levels=levels, missing_level="unknown", remarks=remarks)


def grouped(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Names by the text before their first `_`, `.` or blank; alone where no other shares it."""
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(re.split(r"[_. ]", name, maxsplit=1)[0], []).append(name)
    return {stem if len(group) > 1 else group[0]: group for stem, group in stems.items()}
