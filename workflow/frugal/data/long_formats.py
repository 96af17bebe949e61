"""Long files of known formats: a row for each value, by the declarations in `data/presets`.

A preset names the columns of its format; the same rows serve records over time, as they are, and a
table of one row per unit. Knows no format.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.declarations import declared, load_all
from frugal.core.errors import DataError
from frugal.core.schema_check import did_you_mean, listed
from frugal.data.cell_texts import as_texts
from frugal.data.long_files import LongFile
from frugal.data.opening import Opened, open_frame
from frugal.data.parsing import NumberStyle
from frugal.data.raw_cells import number_text

# Of all long files: unit, visit of that unit, times, name, value and the value's unit of measure
COLUMNS = ("unit", "stay", "time", "result", "name", "value", "measure")
ROLES = {"item": "name", "value": "value", "ordered": "time"}  # over time → of these columns
MOST_CELLS = 100_000_000  # of a table of one row per unit
_CELL = ["unit", "name"]  # of a table of one row per unit


@dataclass(frozen=True)
class Preset:
    """A format of long files.

    Attributes:
        name: word of `--from`.
        holds: its rows, in words.
        lacks: unit, name → that a row has none, in refusals.
        read: of a file, its rows with some of `COLUMNS`.
    """

    name: str
    holds: str
    lacks: Mapping[str, str]
    read: Callable[[Path], LongFile]


def presets() -> tuple[str, ...]:
    """Names of all formats."""
    return tuple(declared("frugal.data.presets", "Preset"))


def _preset(name: str) -> Preset:
    if name not in presets():
        raise DataError(
            f"the format is {name!r}; allowed are {listed(presets())}"
            f"{did_you_mean(name, presets())}"
        )
    return load_all("frugal.data.presets", "Preset")[name]  # a job's code are all of them


def rows_of(
    path: Path, rows: Iterable[tuple[int, Mapping[str, str]]], remarks: Callable[[], Iterable[str]]
) -> LongFile:
    """Rows that are read one by one as a file; a text that occurs again is kept once."""
    texts: dict[str, str] = {}
    columns: dict[str, list[str]] = {name: [] for name in COLUMNS}
    lines: list[int] = []
    for line, row in rows:
        lines.append(line)
        for name, cells in columns.items():
            text = row.get(name, "")
            cells.append(texts.setdefault(text, text))
    cells = pd.DataFrame(columns, dtype=object)
    return LongFile(path.name, cells, np.array(lines, dtype=np.int64), remarks=tuple(remarks()))


def by_words(codes: pd.Series, words: Mapping[str, str]) -> pd.Series:
    """The word of each code, with the code where several have that word; else the code."""
    kinds = {code: words.get(code, "") for code in codes.unique()}
    count = pd.Series(list(kinds.values())).value_counts()
    names = {
        code: code if not word else word if count[word] == 1 else f"{word} ({code})"
        for code, word in kinds.items()
    }
    return codes.map(names)


def long_file(
    path: Path,
    form: str,
    *,
    names: Collection[str] | None = None,
    without: Collection[str] = (),
    none_yet: bool = False,
) -> LongFile:
    """The rows of a file of a known format, with all of `COLUMNS`.

    Args:
        path: of the file.
        form: name of a preset.
        names: whose units of measure count; None: all.
        without: names whose units of measure do not count.
        none_yet: it may hold no row.

    Raises:
        DataError: the file is none of that format, or values of one name have several units.
    """
    preset = _preset(form)
    if not path.is_file():
        raise DataError(f"there is no file {path}")
    rows = preset.read(path)
    cells = rows.cells.reindex(columns=list(COLUMNS), fill_value="")
    texts, _ = as_texts(cells)
    long = replace(rows, cells=texts.astype(object), quantities=("value",))
    if not len(texts) and not none_yet:
        raise DataError(f"{path} holds no {preset.holds} with a value")
    long.refuse(long.absent("unit"), "unit", preset.lacks["unit"])
    long.refuse((texts["name"] == "").to_numpy(), "name", preset.lacks["name"])  # NA is sodium
    long = _with_points(long)
    of_measure = _require_one_measure(
        long, lambda name: name not in without and (names is None or name in names)
    )
    return _with_points(replace(long, remarks=(*long.remarks, *of_measure)))


def _with_points(long: LongFile) -> LongFile:
    """The file, whose numbers have decimal points: presets write them so, and none is guessed."""
    long.__dict__["style"] = NumberStyle(limits=True)
    return long


def _measures(long: LongFile) -> dict[str, dict[str, int]]:
    """Name → unit of measure of its numbers → how many, the most first."""
    is_number = ~np.isnan(long.quantities_in("value")[0])
    counts: dict[str, dict[str, int]] = {}
    pairs: Any = long.cells.loc[is_number, ["name", "measure"]].value_counts()
    for (name, measure), count in pairs.items():
        of = counts.setdefault(name, {})
        same = next((unit for unit in of if _litres(unit) == _litres(measure)), measure)
        of[same] = of.get(same, 0) + int(count)
    return counts


def _litres(unit: str) -> str:
    """A unit of measure with one spelling of the litre: mg/dl is mg/dL."""
    return unit.replace("l", "L")


def _require_one_measure(long: LongFile, counted: Callable[[str], bool]) -> list[str]:
    """Sentences on numbers without a unit of measure where others of their name have one.

    Raises:
        DataError: numbers of one name have several.
    """
    remarks = []
    for name, of in _measures(long).items():
        stated = {unit: n for unit, n in of.items() if unit}
        if not counted(name) or not stated:
            continue
        if len(stated) > 1:
            amounts = listed(f"{n:,} in {unit}" for unit, n in stated.items())
            raise DataError(
                f"{long.name}: numbers of {name!r} have several units of measure ({amounts}); "
                "convert them to one, or leave that name out"
            )
        if "" in of:
            remarks.append(
                f"{long.name}: {of['']:,} of {sum(of.values()):,} numbers of {name!r} have no unit "
                f"of measure; they count as {next(iter(stated))}"
            )
    return remarks


def open_long(
    path: Path, place: Path, form: str, holds: Collection[str], without: Collection[str]
) -> Opened:
    """The file as a table: a row for each unit, with the last value of each name.

    Of several values at one time the mean counts, as over time. Values recorded after the label
    was does not count: it is not known when a decision is made.

    Args:
        path: of the file.
        place: of the plain CSV that it is converted to.
        form: name of a preset.
        holds: names that end the record of a unit, such as its label.
        without: names that are left out.

    Raises:
        DataError: as `long_file`; or texts of one unit, name and time differ.
    """
    long = long_file(path, form, without=without)
    unit, subjects = pd.factorize(long.cells["unit"])
    time = long.times("time")
    time = np.where(np.isnan(time), -np.inf, time)  # known at the start
    has_value = ~long.absent("value")
    name, names = pd.factorize(long.cells["name"].where(has_value))
    if len(subjects) * len(names) > MOST_CELLS:
        raise DataError(
            f"{path} has {len(subjects):,} units and {len(names):,} names; a table holds at most "
            f"{MOST_CELLS:,} cells: keep the rows of the names that count"
        )
    end = np.full(len(subjects), np.inf)
    is_label = has_value & long.cells["name"].isin([*holds]).to_numpy()
    if np.isfinite(time[is_label]).any():
        last = pd.Series(time[is_label]).groupby(unit[is_label]).max()
        end[last.index] = np.where(np.isinf(last), np.inf, last)
    late = time > end[unit]
    rows = {"unit": unit, "name": name, "time": time, "value": long.cells["value"]}
    frame = pd.DataFrame(rows)[has_value & ~late]
    frame = frame[frame["time"] == frame.groupby(_CELL)["time"].transform("max")]
    frame, of_times = _one_value(long, frame)
    table = np.full((len(subjects), len(names)), "", dtype=object)
    table[frame["unit"], frame["name"]] = frame["value"]
    opened = open_frame(pd.DataFrame(table, columns=names), place)
    unit_of = {name: next(filter(None, of), "") for name, of in _measures(long).items()}
    shown = dict(zip(names, map(str, opened.cells.columns), strict=True))
    size = f"{int(has_value.sum()):,} values of {len(subjects):,} units"
    remarks = [
        f"{path.name} holds {size} ({form}), of each name the last: written anew as {place}",
        *(remark.removeprefix(f"{path.name}: ") for remark in long.remarks),
        *of_times,
    ]
    if late.any():
        remarks.append(f"{int(late.sum()):,} values are later than the label, and left out")
    return replace(
        opened,
        remarks=(*remarks, *opened.remarks),
        where=str(path),
        units={shown[name]: unit for name, unit in unit_of.items() if unit},
    )


def _one_value(long: LongFile, frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """One value for each unit and name, of values at one time; and a sentence on means.

    Raises:
        DataError: they differ, and not all are numbers.
    """
    again = frame.groupby(_CELL)["value"].transform("nunique") > 1
    first = frame.drop_duplicates(_CELL)
    if not again.any():
        return first, []
    several = frame[again]
    several = several.assign(value=long.quantities_in("value")[0][several.index])
    wrong = np.zeros(len(long.lines), dtype=bool)
    wrong[several.index[several["value"].isna()]] = True
    problem = "CELL is one of several values of its unit, name and time; keep one"
    long.refuse(wrong, "value", problem)
    means = several.groupby(_CELL)["value"].transform("mean").map(number_text)
    first = first.assign(value=means.reindex(first.index).fillna(first["value"]))
    count = len(several) - len(several.drop_duplicates(_CELL))
    return first, [f"{count:,} values differ from another of their unit and time; the mean counts"]
