"""Stays in intensive care, each a text file of timed measurements in an archive (PhysioNet 2012).

One record per stay: the first value of each measurement in the hours that the description gives,
its further summaries, and the columns of the tables of outcomes. Archives are read where they lie,
nothing is extracted. Knows no panel, no label and no plausible range.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.config.dataset import StaySummary
from frugal.core.errors import ConfigError, DataError, shown_cell
from frugal.data.description import Description, Format
from frugal.data.packed import archive_members, unpacked_bytes
from frugal.data.parsing import RawTable, side_by_side
from frugal.data.raw import LARGEST_MEMBER_BYTES
from frugal.data.raw_cells import Cells
from frugal.data.records import parse_text

ARCHIVES = (".tar.gz", ".tgz", ".tar")
KEY = "RecordID"
_HEADER = b"Time,Parameter,Value\n"
_OUTCOMES = Format("csv", (), ",", None, None, True, "utf-8")


@dataclass(frozen=True, eq=False)
class Measurements:
    """Measurements of all stays in the order of the files. Shapes: n stays, m measurements.

    Attributes:
        stay: index of the stay. (m,)
        parameter: index of the quantity measured; −1 where the file gives no name. (m,)
        hour: hours after admission. (m,)
        value: NaN where the text denotes a missing value. (m,)
        parameters: names, sorted.
        record_id: identity of each stay. (n,)
    """

    stay: Int[np.ndarray, " m"]
    parameter: Int[np.ndarray, " m"]
    hour: Float[np.ndarray, " m"]
    value: Float[np.ndarray, " m"]
    parameters: tuple[str, ...]
    record_id: Int[np.ndarray, " n"]


def read_stays(description: Description, paths: Mapping[str, Path]) -> RawTable:
    """One record per stay of all archives, with the outcomes of the other files.

    Columns: `RecordID`; one per measurement, its first value within `format.hours`; the summaries;
    the outcomes' columns as numbers. NaN where there is no value.

    Args:
        description: names the files; those that end like a tar archive hold stays.
        paths: file name in the description → where it lies.

    Raises:
        DataError: a file is damaged or holds something else; the sentence names member and line.
        ConfigError: a path is missing, or a summary names a measurement that no stay has.
    """
    form = description.format
    if form is None or form.hours is None:
        raise ConfigError(f"data set {description.name!r} has no 'source.format.hours'")
    stays, outcomes = [], []
    for file in description.source.files:
        if file.name not in paths:
            raise ConfigError(f"data set {description.name!r}: no path given for {file.name!r}")
        if file.name.endswith(ARCHIVES):
            measured = read_archive(paths[file.name], missing=form.missing, source=file.name)
            frame = summarise(measured, hours=form.hours, summaries=form.summaries)
            stays.append((file, frame))
        else:
            outcomes.append((file, read_outcomes(paths[file.name], file.name)))
    if not stays:
        raise ConfigError(
            f"data set {description.name!r} names no archive of stays; its name ends in "
            f"{' or '.join(ARCHIVES)}"
        )
    table = _stacked([(f.name, f.group or "", frame) for f, frame in stays])
    if not outcomes:
        return table
    outcome_table = _stacked([(f.name, f.group or "", frame) for f, frame in outcomes])
    return side_by_side([table, outcome_table], KEY)


def read_archive(path: Path, *, missing: tuple[str, ...], source: str) -> Measurements:
    """All measurements of an archive of stays.

    Args:
        path: the archive.
        missing: texts that denote a missing value.
        source: name of the archive, for error sentences.

    Raises:
        DataError: a member is no file of measurements, or has a line that is none.
    """
    names, texts = [], []
    for name, content in archive_members(path, largest_bytes=LARGEST_MEMBER_BYTES):
        if not name.endswith(".txt"):
            continue
        names.append(name)
        texts.append(_checked(content.replace(b"\r\n", b"\n"), f"{source}, {name}"))
    if not names:
        raise DataError(f"{source} holds no file of measurements (*.txt)")
    try:
        lines = pd.read_csv(
            io.BytesIO(b"".join(texts)),
            dtype="category",
            keep_default_na=False,
            header=None,
            names=["time", "parameter", "value"],
            quoting=3,
            encoding="latin-1",
        )
    except (pd.errors.ParserError, ValueError) as error:
        for name, content in zip(names, texts, strict=True):
            _require_cells(content, f"{source}, {name}")
        raise DataError(f"{source} is damaged: {error}") from None
    is_header = (lines["time"] == "Time").to_numpy()
    stay = np.cumsum(is_header) - 1
    if stay[-1] != len(names) - 1:
        raise DataError(f"{source}: a member holds the line of column names twice")
    return _Lines(lines[~is_header], stay[~is_header], source, names).measurements(missing)


def summarise(
    measured: Measurements, *, hours: float, summaries: tuple[StaySummary, ...]
) -> pd.DataFrame:
    """One row per stay: first value of every measurement in some hours, and further summaries.

    Raises:
        ConfigError: a summary names a measurement that no stay has.
    """
    everything = [
        StaySummary(name=p, measurement=p, statistic="first", from_hour=0.0, to_hour=hours)
        for p in measured.parameters
        if p != KEY
    ] + list(summaries)
    columns: dict[str, np.ndarray] = {KEY: measured.record_id}
    for summary in everything:
        if summary.measurement not in measured.parameters:
            raise ConfigError(
                f"'source.format.summaries' names measurement {summary.measurement!r}; the files "
                f"have {', '.join(measured.parameters)}"
            )
        columns[summary.name] = _summary(measured, summary)
    return pd.DataFrame(columns)


def _summary(measured: Measurements, summary: StaySummary) -> Float[np.ndarray, " n"]:
    chosen = np.flatnonzero(
        (measured.parameter == measured.parameters.index(summary.measurement))
        & (measured.hour >= summary.from_hour)
        & (measured.hour < summary.to_hour)
        & ~np.isnan(measured.value)
    )
    stay, value = measured.stay[chosen], measured.value[chosen]
    result = np.full(len(measured.record_id), np.nan)
    match summary.statistic:
        case "lowest":
            np.fmin.at(result, stay, value)
        case "highest":
            np.fmax.at(result, stay, value)
        case _:  # earliest; at one time, the first in the file
            order = np.lexsort((chosen, measured.hour[chosen], stay))
            first = np.unique(stay[order], return_index=True)[1]
            result[stay[order[first]]] = value[order[first]]
    return result


@dataclass(frozen=True, eq=False)
class _Lines:
    """The lines of all members of an archive below their headers. Shapes: m lines."""

    frame: pd.DataFrame
    stay: Int[np.ndarray, " m"]
    source: str
    names: list[str]

    def measurements(self, missing: tuple[str, ...]) -> Measurements:
        code, texts = self._coded("value")
        absent = np.isin(texts, list(missing))
        numbers = pd.to_numeric(pd.Series(np.where(absent, "nan", texts)), errors="coerce")
        number = numbers.to_numpy(dtype=np.float64, copy=True)
        self._refuse("value", ~absent & ~np.isfinite(number), "a number")
        value = number[code]
        code, texts = self._coded("parameter")
        names = sorted(set(texts[np.unique(code)]) - {""})  # some published lines name nothing
        place = {name: k for k, name in enumerate(names)}
        parameter = np.array([place.get(t, -1) for t in texts], dtype=np.int64)[code]
        return Measurements(
            self.stay, parameter, self._hours(), value, tuple(names), self._identity(value)
        )

    def _coded(self, column: str) -> tuple[np.ndarray, np.ndarray]:
        """Index of each line's text, and the texts. ((m,), (texts,))"""
        cells: Any = self.frame[column].cat
        return cells.codes.to_numpy(), np.array([str(t) for t in cells.categories], dtype=object)

    def _refuse(self, column: str, wrong: Bool[np.ndarray, " texts"], expected: str) -> None:
        """One sentence if a line holds a text that is wrong; the headers' own do not count."""
        code, texts = self._coded(column)
        hit = wrong[code] if wrong.any() else np.zeros(0, dtype=bool)
        if hit.any():
            k = int(np.argmax(hit))
            line = k - int(np.searchsorted(self.stay, self.stay[k])) + 2  # 1 is the header
            raise DataError(
                f"{self.source}, {self.names[self.stay[k]]}, line {line}: {column} is "
                f"{shown_cell(texts[code[k]])}, which is not {expected}"
            )

    def _hours(self) -> Float[np.ndarray, " m"]:
        code, texts = self._coded("time")
        parts = pd.Series(texts, dtype=object).str.extract(r"^(\d{1,3}):([0-5]\d)$")
        hours = parts[0].astype(float) + parts[1].astype(float) / 60
        hour = hours.to_numpy(dtype=np.float64)
        self._refuse("time", np.isnan(hour), "hours and minutes (HH:MM)")
        return hour[code]

    def _identity(self, value: Float[np.ndarray, " m"]) -> Int[np.ndarray, " n"]:
        """The record identity that each member states, which must be that of its name."""
        stated = np.flatnonzero((self.frame["parameter"] == KEY).to_numpy())
        record_id = np.full(len(self.names), -1, dtype=np.int64)
        record_id[self.stay[stated]] = np.nan_to_num(value[stated], nan=-1.0).astype(np.int64)
        for name, identity in zip(self.names, record_id.tolist(), strict=True):
            if Path(name).stem != str(identity):
                shown = "none" if identity < 0 else str(identity)
                raise DataError(
                    f"{self.source}, {name}: its {KEY} is {shown}; that of its name is expected"
                )
        return record_id


def _checked(content: bytes, place: str) -> bytes:
    """A member with a final line end, if each of its lines has three cells."""
    if not content.startswith(_HEADER):
        raise DataError(
            f"{place}: it does not begin with the line Time,Parameter,Value, which is expected"
        )
    if not content.endswith(b"\n"):
        content += b"\n"
    if content.count(b",") != 2 * content.count(b"\n") or b"\n\n" in content:
        _require_cells(content, place)
    return content


def _require_cells(content: bytes, place: str) -> None:
    for k, line in enumerate(content.split(b"\n")[:-1]):
        if line.count(b",") != 2:
            raise DataError(
                f"{place}, line {k + 1} has {line.count(b',') + 1} cells; "
                "three are expected (time, parameter, value)"
            )


def read_outcomes(path: Path, source: str) -> pd.DataFrame:
    """A table of outcomes as numbers.

    Args:
        path: of the table.
        source: its name, for error sentences.

    Raises:
        DataError: it is no text, lacks the identity of stays, or a cell is no number.
    """
    try:
        text = unpacked_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{source} is no text; a table of outcomes is expected") from None
    cells, line = parse_text(text, _OUTCOMES, source=source)
    frame = cells.frame()
    numbers = frame.astype(object).apply(pd.to_numeric, errors="coerce")
    if KEY not in numbers.columns:
        raise DataError(f"{source} has no column {KEY!r}; a table of outcomes is expected")
    wrong = numbers.isna().to_numpy()
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise DataError(
            f"{source}, line {line[row]}: column {frame.columns[column]!r} holds "
            f"{shown_cell(frame.iat[row, column])}, which is not a number"
        )
    return numbers


def _stacked(parts: list[tuple[str, str, pd.DataFrame]]) -> RawTable:
    """Records of several files, one after the other; a column that one lacks is missing there."""
    return RawTable(
        Cells.of(pd.concat([frame for _, _, frame in parts], ignore_index=True)),
        np.concatenate([np.full(len(frame), name) for name, _, frame in parts]),
        np.concatenate([np.arange(1, len(frame) + 1) for _, _, frame in parts]),
        np.concatenate([np.full(len(frame), group) for _, group, frame in parts]),
    )
