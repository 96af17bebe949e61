"""What the columns of an unknown table are, guessed from their cells; every guess is told.

For `frugal init`, which writes a guess for a person to correct. No step of a study reads it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.schema_check import did_you_mean, listed

NO_VALUE = ("", "NA", "na", "N/A", "n/a", "NaN", "nan", "NULL", "null", "?", ".", "#N/A", "missing")
CODES = (-1.0, -7.0, -8.0, -9.0, -99.0, -999.0, -9999.0, 99.0, 999.0, 9999.0, 99999.0)
MOST_LEVELS = 30  # of a categorical column
MOST_CLASSES = 10
EACH = 5  # rows that a value stands in, on average, to be judged on its own
LEAST_ROWS = 20  # by which a column can be suspected to tell the label
NEARLY = 0.9  # share of the errors of the commonest class that a suspect spares, alone
AGAIN = "names that stand in several rows"
_DATE = r"\d{4}-\d{1,2}-\d{1,2}(?:[ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}(?:[ T].*)?"
_ID = re.compile(
    r"(^|[_\W])(id|ids|uuid|nr|no|number|key|index|mrn|record|subject|patient)$|ID$", re.I
)


@dataclass
class Guess:
    """What a column seems to be.

    Attributes:
        name: in the file.
        kind: numeric, categorical, or `out`: left out.
        levels: of a categorical column, in order.
        gaps: share of rows without a value.
        codes: numbers that are probably no quantities.
        low, high: of a numeric column.
        remarks: to be told on the terminal and beside the column.
    """

    name: str
    kind: str
    levels: Sequence[str] = ()
    gaps: float = 0.0
    codes: Sequence[float] = ()
    low: float = np.nan
    high: float = np.nan
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class TableGuess:
    """What a table seems to be.

    Attributes:
        rows: of the file.
        missing: texts that mean "no value".
        columns: all but the label.
        classes: values of the label, the one of fewest rows last.
        label_gaps: rows without a label.
        clusters: columns whose values stand in several rows, and look like names of units.
        remarks: on the whole table.
        cut: number that divides the label into the classes below it and from it on; None: they are
            values of the label.
    """

    rows: int
    missing: tuple[str, ...]
    columns: tuple[Guess, ...]
    classes: tuple[str, ...]
    label_gaps: int
    clusters: tuple[str, ...]
    remarks: tuple[str, ...]
    cut: float | None = None


def guess_table(cells: pd.DataFrame, label: str, cut: float | None = None) -> TableGuess:
    """Guess what the columns are.

    Args:
        cells: texts as they stand in the file, blanks around them taken off.
        label: name of the column to predict.
        cut: number that divides the label into two classes; None where its values are classes.

    Raises:
        DataError: there is no such column, or it has no two classes.
    """
    if label not in cells.columns:
        raise DataError(
            f"there is no column {label!r} to predict; the table has {listed(cells.columns)}"
            f"{did_you_mean(label, cells.columns)}"
        )
    missing = tuple(word for word in NO_VALUE if word == "" or (cells == word).any(axis=None))
    known = cells.mask(cells.isin(missing))
    if cut is not None:
        known[label] = _cut(known[label], label, cut)
    classes = _classes(known[label], label)
    unlabelled = int(known[label].isna().sum())
    known = known[known[label].notna()]
    columns = [_column(known[name]) for name in cells.columns if name != label]
    target = known[label]
    for guess in columns:
        if guess.kind != "out":
            _look_for_leak(guess, known[guess.name], target)
    remarks = []
    if twice := int(cells.duplicated().sum()):
        remarks.append(f"{twice:,} rows stand twice, in every cell; an error?")
    clusters = [
        one.name for one in columns if one.kind == "out" and "several rows" in one.remarks[0]
    ]
    return TableGuess(
        len(cells), missing, tuple(columns), classes, unlabelled, tuple(clusters),
        tuple(remarks), cut,
    )  # fmt: skip


def _cut(values: pd.Series, label: str, cut: float) -> pd.Series:
    """The class of each row: below a number, or from it on."""
    numbers = pd.to_numeric(values, errors="coerce")
    wrong = values[values.notna() & numbers.isna()]
    if len(wrong):
        raise DataError(
            f"the column {label!r} holds {listed(map(repr, wrong.unique()), at_most=3)}, which is "
            "no number that --cut could divide"
        )
    names = np.where(numbers < cut, f"below {cut:g}", f"from {cut:g}")
    return pd.Series(names, index=values.index, dtype=object).mask(numbers.isna())


def _classes(values: pd.Series, label: str) -> tuple[str, ...]:
    """Values of the label, the rarest last."""
    count = values.value_counts()
    if len(count) < 2:
        found = f"holds {count.index[0]!r} alone" if len(count) else "is empty"
        raise DataError(f"the column {label!r} {found}; a label needs two classes")
    if len(count) > MOST_CLASSES:
        raise DataError(
            f"the column {label!r} holds {len(count)} different values, {listed(count.index[:5])}, "
            f"…; a label has 2 to {MOST_CLASSES} classes: {_remedy(count)}"
        )
    return tuple(str(name) for name in count.index)


def _remedy(count: pd.Series) -> str:
    """What to do with a label of many values."""
    numbers = pd.to_numeric(pd.Series(count.index), errors="coerce")
    if numbers.notna().all():
        return "--cut NUMBER makes two of them, below a number and from it on"
    return "put them together into few in a column of its own"


def _column(values: pd.Series) -> Guess:
    """One column."""
    name, told = str(values.name), values.dropna()
    gaps = float(values.isna().mean())
    if told.nunique() < 2:
        found = f"holds {told.iloc[0]!r} alone" if len(told) else "is empty"
        return Guess(name, "out", gaps=gaps, remarks=[found])
    numbers = pd.to_numeric(told, errors="coerce")
    share = float(numbers.notna().mean())
    if share > 0.9:
        return _numeric(name, told, numbers, gaps)
    if told.str.fullmatch(_DATE).mean() > 0.9:
        return Guess(name, "out", gaps=gaps, remarks=["holds dates; make a number of them"])
    levels = sorted(told.unique())
    if _ID.search(name) and len(levels) > 0.2 * len(told):
        what = AGAIN if len(levels) < len(told) else "names the rows"
        return Guess(name, "out", gaps=gaps, remarks=[what])
    if len(levels) > MOST_LEVELS or len(levels) > 0.5 * len(told):
        what = f"holds {len(levels)} different texts"
        return Guess(name, "out", gaps=gaps, remarks=[what])
    return Guess(name, "categorical", levels=levels, gaps=gaps)


def _numeric(name: str, told: pd.Series, numbers: pd.Series, gaps: float) -> Guess:
    """A column most of whose cells are numbers."""
    held = numbers.dropna()
    whole = bool((held == held.round()).all())
    if _ID.search(name) and whole and held.nunique() > 0.2 * len(held):
        if held.nunique() == len(held):
            return Guess(name, "out", gaps=gaps, remarks=["numbers the rows"])
        return Guess(name, "out", gaps=gaps, remarks=[AGAIN])
    if whole and held.nunique() == len(held) and held.is_monotonic_increasing and len(held) > 20:
        return Guess(name, "out", gaps=gaps, remarks=["numbers the rows"])
    found = Guess(name, "numeric", gaps=gaps, low=float(held.min()), high=float(held.max()))
    if len(texts := told[numbers.isna()].unique()):
        found.remarks.append(
            f"holds text among its numbers ({listed(texts, at_most=3)}); correct the file, or add "
            "the text to 'missing' if it means no value"
        )
    found.codes = _codes(held)
    return found


def _codes(held: pd.Series) -> list[float]:
    """Numbers that stand for something else: far from all others, and round in the way of codes."""
    found, rest = [], held[~held.isin(CODES)]
    for code in CODES:
        if not (held == code).any() or rest.nunique() < 3:
            continue
        wide = float(rest.max() - rest.min())
        beyond = max(float(rest.min()) - code, code - float(rest.max()))
        if (code < 0 <= rest.min()) or beyond > wide:
            found.append(code)
    return found


def _look_for_leak(guess: Guess, values: pd.Series, target: pd.Series) -> None:
    """Remark on a column that tells the label in all or nearly all rows that have both."""
    known = values.notna() & target.notna()
    numbers = pd.to_numeric(values, errors="coerce") if guess.kind == "numeric" else values
    if told := label_told(numbers[known], target[known]):
        guess.remarks.append(
            f"tells the label in {told_in(told)} of {int(known.sum()):,} rows: if it is known only "
            "afterwards, leave it out"
        )


def label_told(values: pd.Series, label: pd.Series) -> float:
    """Share of the rows whose label a column tells by itself; 0 where that is no suspicion.

    Each value, or where there are many each range of numbers, stands for its commonest label. A
    suspect spares nearly all errors of a guess at the commonest label of all.

    Returns:
        0 too where fewer than 20 rows, or one label, could tell.
    """
    both = pd.DataFrame({"value": values.to_numpy(), "label": label.to_numpy()}).dropna()
    if len(both) < LEAST_ROWS or both["label"].nunique() < 2:
        return 0.0
    value = both["value"]
    if value.nunique() * EACH > len(both):
        if not pd.api.types.is_numeric_dtype(value):
            return 0.0
        ordered = both.sort_values("value")["label"]
        if int((ordered != ordered.shift()).sum()) == both["label"].nunique():
            return 1.0
        value = pd.qcut(value, max(len(both) // LEAST_ROWS, 2), labels=False, duplicates="drop")
    right = both.groupby(value)["label"].agg(lambda labels: labels.value_counts().iloc[0]).sum()
    wrong, guessed = len(both) - int(right), len(both) - int(both["label"].value_counts().iloc[0])
    return int(right) / len(both) if wrong <= (1 - NEARLY) * guessed else 0.0


def told_in(share: float) -> str:
    """A share of rows in words: all, or percent that are never rounded to all."""
    return "all" if share == 1 else f"{np.floor(1000 * share) / 10:g}%"


def grouped(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Names by what stands before their first `_`, `.` or blank; alone where no other shares it."""
    stems: dict[str, list[str]] = {}
    for name in names:
        stems.setdefault(re.split(r"[_. ]", name, maxsplit=1)[0], []).append(name)
    return {stem if len(group) > 1 else group[0]: group for stem, group in stems.items()}
