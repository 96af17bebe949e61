"""Records over time from files: long tables that a YAML describes, and stays of PhysioNet 2012.

Values are put into windows by the time of their order; in a window the latest value of a column
counts, at one time the largest. Units are put into the order of their names: no answer depends on
the order of rows. A row before the start, after the end of its unit or after the last window is
left out and counted in a remark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from frugal.core.errors import ConfigError, DataError, shown_cell
from frugal.core.schema_check import did_you_mean, listed, read_yaml
from frugal.core.stored import arrays_of, declared
from frugal.core.table import Panel, SetUp, SharedCosts
from frugal.data.description import Column, Description
from frugal.data.encoded_columns import unaccented, whole, word
from frugal.data.guessing import are_quantities
from frugal.data.long_files import LongFile, have_zones
from frugal.data.long_formats import long_file
from frugal.data.stays import ARCHIVES, KEY, read_archive, read_outcomes, summarise
from frugal.studies.over_time.config import TimedDataset, TimedLabel
from frugal.studies.over_time.records import CENSORED, TimedCosts, TimedRecords

MOST_LEVELS = 20  # of a static column of texts


@dataclass(frozen=True, eq=False)
class TimedData:
    """Records over time with their costs.

    Attributes:
        name: of the data set, used in paths.
        records: of n units.
        costs: of panels, waiting and errors.
        cost_unit: of the costs.
        remarks: rows that were left out, and other decisions; a sentence each.
        document: the YAML of two long tables; None of stays.
        folder: in which that YAML lies; None where it is unknown.
        levels: texts of each static column that holds texts.
    """

    name: str
    records: TimedRecords
    costs: TimedCosts
    cost_unit: str
    remarks: tuple[str, ...]
    document: Mapping[str, Any] | None = None
    folder: Path | None = None
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def keys(self) -> TimedDataset:
        """The YAML, checked.

        Raises:
            ConfigError: the records are those of stays, which no such YAML describes.
        """
        if self.document is None:
            raise ConfigError(
                "these records are stays of a data set; allowed is a YAML of two long tables, see "
                "docs/how-to/over_time.md"
            )
        return TimedDataset.read(self.document, where="the description")

    def to_arrays(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Arrays, and all else as a document; `from_arrays` is the inverse, but for the folder."""
        arrays = arrays_of(self.records)
        lag = self.costs.delay
        arrays["delay"] = np.zeros(len(self.costs.price), np.int64) if lag is None else lag
        return arrays, {
            "document": self.document,
            "units": self.records.unit.tolist(),
            "static_columns": list(self.records.static_columns),
            "levels": {name: list(levels) for name, levels in self.levels.items()},
            "remarks": list(self.remarks),
        }

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], rest: Mapping[str, Any]) -> "TimedData":
        """The records that `to_arrays` wrote.

        Raises:
            ConfigError, DataError: shapes or numbers do not fit together.
        """
        keys = TimedDataset.read(rest["document"], where="the description")
        records = TimedRecords(
            unit=np.array(rest["units"], dtype=str),
            static_columns=tuple(rest["static_columns"]),
            columns=tuple(keys.columns),
            panels=tuple(keys.panels),
            classes=(keys.units.label.negative, keys.units.label.positive),
            hours=keys.windows.hours,
            needed=_needed(keys),
            **{name: arrays[name] for name in declared(TimedRecords)},
        )
        levels = {name: tuple(of) for name, of in rest["levels"].items()}
        costs, remarks = costs_of(keys, arrays["delay"]), tuple(rest["remarks"])
        parts = (keys.name, records, costs, keys.cost_unit, remarks)
        return TimedData(*parts, rest["document"], levels=levels)


def long_tables(data: TimedData) -> tuple[dict[str, Any], pd.DataFrame, pd.DataFrame]:
    """Records of stays as a YAML and two long tables, which `read_over_time` reads as the same.

    No stay ends before the last window. A value is ordered at the start of its window. A panel that
    was recorded without a valid value has one row beyond the valid range.

    Returns:
        The YAML, but for its plans; a row for each value; a row for each unit.
    """
    records, costs = data.records, data.costs
    unit, window, column = np.nonzero(~np.isnan(records.values))
    value = records.values[unit, window, column]
    of_column = [value[column == k] for k in range(len(records.columns))]
    valid = [(v.min().item(), v.max().item()) if len(v) else (0.0, 0.0) for v in of_column]
    results = (~np.isnan(records.values)).astype(np.float32) @ records.provides.T.astype(np.float32)
    empty = np.nonzero(records.recorded & (results == 0))
    first = records.provides.argmax(axis=1)[empty[2]]
    beyond = np.array([high + 1 for _, high in valid])[first]
    parts = zip((unit, window, column, value), (*empty[:2], first, beyond), strict=True)
    unit, window, column, value = (np.concatenate(pair) for pair in parts)
    units = records.unit.astype(str)
    measurements = pd.DataFrame(
        {
            "unit": units[unit],
            "item": np.array(records.columns)[column],
            "value": value,
            "ordered": window * records.hours,
        }
    )
    label = np.array(records.classes)[records.label]
    table = pd.DataFrame(records.static, columns=list(records.static_columns))
    table = table.assign(unit=units, label=label)
    layout = zip(records.panels, records.provides, costs.price.tolist(), strict=True)
    names, set_ups = np.array(records.columns), costs.shared
    document = {
        "name": data.name,
        "cost_unit": data.cost_unit,
        "measurements": {"file": f"{data.name}.parquet", **{k: k for k in measurements.columns}},
        "units": {
            "file": f"{data.name}_units.parquet",
            "unit": "unit",
            "static": list(records.static_columns),
            "label": {
                "column": "label",
                "negative": records.classes[0],
                "positive": records.classes[1],
            },
        },
        "windows": {"hours": records.hours, "number": records.windows},
        "columns": {c: {"item": c, "valid": list(valid[k])} for k, c in enumerate(names.tolist())},
        "panels": {p: {"columns": names[of].tolist(), "price": price} for p, of, price in layout},
        "waiting": float(costs.waiting),
        "errors": {"missed": costs.errors[1, 0].item(), "false_alarm": costs.errors[0, 1].item()},
    }
    if set_ups is not None:
        panels, shared = np.array(records.panels), zip(set_ups.shares, set_ups.cost, strict=True)
        document["set_ups"] = [{"panels": panels[s].tolist(), "cost": c.item()} for s, c in shared]
    return document, measurements, table


LONGEST = 1e9  # hours, over 100,000 years
EXACT = 6  # decimals of hours and windows, beyond which differences are rounding


@dataclass(frozen=True, eq=False)
class _Events:
    """Values of columns of units at hours after their start; NaN is not known yet. m events."""

    unit: Int[np.ndarray, " m"]
    column: Int[np.ndarray, " m"]
    hour: Float[np.ndarray, " m"]
    value: Float[np.ndarray, " m"]


def read_over_time(path: Path, files: tuple[Path, Path] | None = None) -> TimedData:
    """The records that a YAML describes, see `docs/how-to/over_time.md`.

    Args:
        path: the YAML.
        files: measurements and units; None: those that it names.

    Raises:
        ConfigError: a key of the YAML is unknown, missing or of another layout.
        DataError: a file lacks a column or holds a cell that is none; which, and where.
    """
    document = read_yaml(path)
    keys = TimedDataset.read(document, where=str(path))
    measurements, file = files or (
        path.parent / keys.measurements.file,
        path.parent / keys.units.file,
    )
    units, long = units_file(keys, file), _measurements_file(keys, measurements)
    form, label = keys.units, keys.units.label
    others = (form.unit, form.start, form.end, form.cluster, label.column)
    for k, column in enumerate(form.static):
        if column in (*others, *form.static[:k]):
            raise ConfigError(
                f"{path}: 'units.static' names {column!r}, which has another role or is named "
                "twice; allowed are columns that are known at the start"
            )
    units.require_columns(form.end, form.cluster, label.column)
    names, start = _unit_names(units, keys)
    events, result, of_events = _events_of(keys, long, units.name, names, start)
    end = np.full(len(names), np.inf)
    if form.end is not None:
        hours = _hours(units, form.end, start, np.arange(len(names)), empty=True)
        units.refuse(hours < 0, form.end, f"column {form.end!r} is before the start")
        end = np.where(np.isnan(hours), np.inf, hours)
    delay = np.array([panel.delay or 0 for panel in keys.panels.values()], dtype=np.int64)
    if result is not None:
        delay = _delays(keys, events, result)
    static, static_names, levels, of_static = _static(units, form.static)
    named = names if form.cluster is None else units.names(form.cluster)
    cluster = np.unique(named, return_inverse=True)[1]
    records, remarks = _windowed(
        events,
        *_layout(keys),
        names,
        (static, static_names),
        (keys.windows.number, keys.windows.hours),
        end,
        (_labels(units, label), (label.negative, label.positive)),
        cluster.ravel(),
    )
    records = replace(records.take(np.argsort(names)), needed=_needed(keys))  # in any file's order
    costs = costs_of(keys, delay)
    texts = [label.negative, label.positive, *(text for of in levels.values() for text in of)]
    of_units = units.remarks_on((*form.static, form.start, form.end, label.column), texts)
    remarks = (*units.remarks, *long.remarks, *of_units, *of_static, *of_events, *remarks)
    parts = (keys.name, records, costs, keys.cost_unit, remarks)
    return TimedData(*parts, document, path.parent.absolute(), levels)


def units_file(keys: TimedDataset, file: Path) -> LongFile:
    """The file of units, opened."""
    form = keys.units
    counted = (*form.static, form.start, form.end)
    return LongFile.of(file, form.unit, form.label.column, *counted, quantities=counted)


def _measurements_file(keys: TimedDataset, file: Path, *, none_yet: bool = False) -> LongFile:
    """The file of measurements, opened; `none_yet`: it may hold no row."""
    form = keys.measurements
    if form.format is not None:
        items = [column.item for column in keys.columns.values()]
        return long_file(file, form.format, names=items, none_yet=none_yet)
    counted = (form.value, form.ordered, form.result)
    columns = (form.unit, form.item, *counted)
    return LongFile.of(file, *columns, quantities=counted, none_yet=none_yet)


def read_running(
    keys: TimedDataset,
    files: tuple[Path, Path],
    levels: Mapping[str, tuple[str, ...]],
    hours: float | int | None = None,
) -> tuple[TimedRecords, Int[np.ndarray, " n"]]:
    """Records of units whose label is not known yet, and the window in which each of them is.

    Args:
        keys: of the records that a policy was learned from.
        files: measurements and units; of the latter, label, end and cluster are not read.
        levels: texts of each static column that holds texts.
        hours: since the start of each unit; None: the window after that of its last value.

    Returns:
        Records with the values of earlier windows, and the windows. (n,)

    Raises:
        DataError: a file lacks a column or holds a cell that is none; which, and where.
    """
    measurements, file = files
    units, values = units_file(keys, file), _measurements_file(keys, measurements, none_yet=True)
    names, start = _unit_names(units, keys)
    events, result, _ = _events_of(keys, values, units.name, names, start)
    number, length = keys.windows.number, keys.windows.hours
    if hours is not None and not 0 <= hours <= LONGEST:  # also of whole numbers of any size
        raise DataError(f"hours is {str(hours)[:50]}; allowed is a number from 0 to {LONGEST:g}")
    if hours is not None and result is not None:
        events = replace(events, value=np.where(result > hours, np.nan, events.value))
    since = np.full(len(names), min(hours or 0.0, number * length))
    now = _floor(since, length).astype(np.int64)
    if hours is None:
        np.maximum.at(now, events.unit, _floor(events.hour, length).astype(np.int64) + 1)
    now = np.clip(now, 0, number)
    static, static_names, _, _ = _static(units, keys.units.static, levels)
    records, _ = _windowed(
        events,
        *_layout(keys),
        names,
        (static, static_names),
        (number, length),
        now * length,
        (
            np.full(len(names), CENSORED, dtype=np.int64),
            (keys.units.label.negative, keys.units.label.positive),
        ),
        np.arange(len(names)),
    )
    return records, now


def _layout(keys: TimedDataset) -> tuple[list[Column], list[Panel]]:
    columns = [
        Column(name, c.item, "numeric", "", None, None, (), valid=_pair(c.valid))
        for name, c in keys.columns.items()
    ]
    return columns, [Panel(name, p.columns, p.price, False) for name, p in keys.panels.items()]


def _needed(keys: TimedDataset) -> np.ndarray | None:
    needed = np.zeros((keys.windows.number, len(keys.panels)), dtype=bool)
    for entry in keys.needed:
        needed[np.ix_(entry.windows, [list(keys.panels).index(p) for p in entry.panels])] = True
    return needed if keys.needed else None


def costs_of(keys: TimedDataset, delay: Int[np.ndarray, " a"]) -> TimedCosts:
    """The costs that a YAML describes, with a delay in windows for each panel. (a,)"""
    errors = np.array([[0.0, keys.errors.false_alarm], [keys.errors.missed, 0.0]])
    shared = [SetUp(s.panels, s.cost) for s in keys.set_ups]
    return _costs(_layout(keys)[1], errors, shared, keys.waiting, delay)


def _events_of(
    keys: TimedDataset, long: LongFile, units: str, names: np.ndarray, start: "_Start | None"
) -> tuple[_Events, Float[np.ndarray, " m"] | None, list[str]]:
    """Values of the described columns, the hour of their results, if it is known, and remarks."""
    form = keys.measurements
    long.require_columns(form.unit, form.item, form.value, form.ordered, form.result)
    named, item = pd.Series(long.names(form.unit)), pd.Series(long.names(form.item, empty=True))
    place = named.map({name: k for k, name in enumerate(names)})
    long.refuse(place.isna().to_numpy(), form.unit, f"unit CELL is none of {units}")
    items = {column.item: k for k, column in enumerate(keys.columns.values())}
    item = item.map({kind: kind if kind in items else whole(kind) for kind in item.unique()})
    remarks = _require_items(long, form.item, item, list(items))
    column = item.map(items)
    described = column.notna().to_numpy() & ~long.absent(form.value)
    long, unit = long.take(described), place[described].to_numpy(dtype=np.int64)
    remarks += long.remarks_on((form.value, form.ordered, form.result))
    events = _Events(
        unit,
        column[described].to_numpy(dtype=np.int64),
        _hours(long, form.ordered, start, unit),
        long.numbers(form.value),
    )
    result = None
    if form.result is not None:
        result = _hours(long, form.result, start, unit)
        early = f"column {form.result!r} is before {form.ordered!r}"
        long.refuse(result < events.hour, form.result, early)
    events, result, several = _one_value_each(keys, events, result)
    return events, result, remarks + several


def _require_items(
    long: LongFile, column: str, item: pd.Series, described: Sequence[str]
) -> list[str]:
    """Refuse items that are likely one of the described; remarks on those that never occur."""
    by_spelling = {unaccented(name): name for name in described}
    kinds = [kind for kind in item.unique() if kind not in described]
    for kind in kinds:
        if (similar := by_spelling.get(unaccented(kind))) is not None:
            long.refuse(
                (item == kind).to_numpy(),
                column,
                f"column {column!r} holds CELL, which differs from the item {similar!r} by blanks, "
                "capitals or accents only; write an item always in the same way",
            )
    return [
        f"{long.name}: no row has the item {name!r}{did_you_mean(name, kinds)}"
        for name in described
        if not (item == name).any()
    ]


def _one_value_each(
    keys: TimedDataset, events: _Events, result: np.ndarray | None
) -> tuple[_Events, np.ndarray | None, list[str]]:
    """One value for a unit, column and hour, whatever the order of the lines, and remarks.

    The later result counts, as it corrects the earlier; of several at one time, the mean of those
    in the valid range.
    """
    if result is not None:
        order = np.argsort(result, kind="stable")
        parts = (part[order] for part in (events.unit, events.column, events.hour, events.value))
        events, result = _Events(*parts), result[order]
    at = {"unit": events.unit, "column": events.column, "hour": events.hour}
    frame = pd.DataFrame(at | ({} if result is None else {"result": result}))
    by = list(frame.columns)
    again = frame.duplicated(keep=False).to_numpy()
    if not again.any():
        return events, result, []
    value = events.value.copy()
    for k, column in enumerate(keys.columns.values()):
        rows = again & (events.column == k)
        value[rows] = _within(value[rows], _pair(column.valid))
    means = frame[again].assign(value=value[again]).groupby(by)["value"].transform("mean")
    value[again] = np.where(means.isna(), events.value[again], means)
    differ = int((value != events.value).sum())
    remark = f"{differ} values differ from another of their unit, item and time; the mean counts"
    return replace(events, value=value), result, [remark] if differ else []


def stays_over_time(
    description: Description,
    paths: Mapping[str, Path],
    *,
    hours: float | int,
    static: Sequence[str],
) -> TimedData:
    """Stays of PhysioNet 2012 in windows, with the columns, panels and costs of a data set's YAML.

    Args:
        description: of the data set, whose files are archives of stays.
        paths: file name in the description → where it lies.
        hours: length of a window; those of `source.format.hours` are divided.
        static: columns known at the start, by name; their first value counts.

    Raises:
        ConfigError: the description is none of stays, or a column does not exist.
        DataError: a file is damaged or holds something else.
    """
    form = description.format
    if form is None or form.hours is None:
        raise ConfigError(f"data set {description.name!r} has no 'source.format.hours'")
    for name in static:
        if name not in [c.name for c in description.columns]:
            raise ConfigError(f"static: data set {description.name!r} has no column {name!r}")
    timed = [c for c in description.columns if c.name not in static]
    place = {c.raw_name: k for k, c in enumerate(timed)}
    parts, stays, outcomes = [], [], []
    for file in description.source.files:
        if not file.name.endswith(ARCHIVES):
            outcomes.append(read_outcomes(paths[file.name], file.name))
            continue
        measured = read_archive(paths[file.name], missing=form.missing, source=file.name)
        code = np.array([place.get(p, -1) for p in measured.parameters] + [-1])
        column = code[measured.parameter]
        use = (column >= 0) & ~np.isnan(measured.value)
        unit = measured.stay[use] + sum(map(len, stays))
        parts.append(_Events(unit, column[use], measured.hour[use], measured.value[use]))
        stays.append(summarise(measured, hours=form.hours, summaries=()))
    if not stays or not outcomes:
        raise ConfigError(f"data set {description.name!r} names no archive or no table of outcomes")
    events = _Events(*(np.concatenate([getattr(p, f) for p in parts]) for f in vars(parts[0])))
    table = pd.concat(stays, ignore_index=True)
    table = table.merge(pd.concat(outcomes), on=KEY, how="left", validate="one_to_one")
    label = table[description.label.column]
    if label.isna().any():
        raise DataError(f"stay {table[KEY][label.isna().argmax()]} has no outcome in any table")
    codes = {float(v): k for k, values in enumerate(description.label.values) for v in values}
    panels = []
    for entry in description.panels:
        if entry.cost is None or entry.delay:
            raise ConfigError(
                f"panel {entry.name!r} has a cost of each case, a drawn one or a delay; over time "
                "a panel has one price, and no delay here"
            )
        panels.append(Panel(entry.name, entry.columns, float(entry.cost), entry.free))
    paid = [panel for panel in panels if not panel.free]
    n = len(table)
    records, remarks = _windowed(
        events,
        timed,
        paid,
        table[KEY].to_numpy(),
        _static_of_stays(table, [c for c in description.columns if c.name in static]),
        (round(form.hours / hours), float(hours)),
        np.full(n, np.inf),
        (label.map(codes).to_numpy(dtype=np.int64), description.label.classes),
        np.arange(n),
    )
    errors = np.array(description.misclassification_cost, dtype=np.float64)
    if not errors.any():
        raise ConfigError(
            f"{description.path}: 'misclassification_cost' is zero everywhere, so no acquisition "
            "could pay"
        )
    costs = _costs(paid, errors, description.set_ups, description.waiting_cost, None)
    return TimedData(description.name, records, costs, description.cost_unit, remarks)


def _static_of_stays(
    table: pd.DataFrame, columns: Sequence[Column]
) -> tuple[np.ndarray, tuple[str, ...]]:
    values, names = [], []
    for column in columns:
        value = pd.to_numeric(table[column.raw_name], errors="coerce").to_numpy(dtype=np.float64)
        if column.kind == "numeric":
            values.append(_within(value, column.valid))
            names.append(column.name)
            continue
        for text, level in column.recode[1:]:
            values.append(np.where(np.isnan(value), np.nan, value == float(text)))
            names.append(f"{column.name}: {level}")
    return np.column_stack(values), tuple(names)


def _windowed(
    events: _Events,
    columns: Sequence[Column],
    panels: Sequence[Panel],
    names: np.ndarray,
    static: tuple[np.ndarray, tuple[str, ...]],
    windows: tuple[int, float],
    end: Float[np.ndarray, " n"],
    label: tuple[np.ndarray, tuple[str, ...]],
    cluster: Int[np.ndarray, " n"],
) -> tuple[TimedRecords, tuple[str, ...]]:
    """Events in windows; a panel is recorded where one of its columns has a result."""
    number, hours = windows
    last = np.clip(_ceil(np.minimum(end, number * hours), hours), 1, number).astype(np.int64)
    window = _floor(events.hour, hours)
    ended = (window >= last[events.unit]) | (events.hour > end[events.unit])
    outside = {
        "before the start": events.hour < 0,
        "after the last window": window >= number,
        "after the end of their unit": ended & (window < number),
    }
    remarks = [
        f"{int(left.sum())} of {len(left)} values were recorded {where} and are left out"
        for where, left in outside.items()
        if left.any()
    ]
    use = ~np.any(list(outside.values()), axis=0)
    keys = (events.value, events.hour, events.column, events.unit)
    order = np.flatnonzero(use)[np.lexsort([key[use] for key in keys])]  # the latest value stays
    at = (events.unit[order], window[order].astype(np.int64), events.column[order])
    values = np.full((len(names), number, len(columns)), np.nan)
    value, present = events.value[order].copy(), np.zeros(values.shape, dtype=bool)
    for k, column in enumerate(columns):
        value[at[2] == k] = _within(value[at[2] == k], column.valid)
    finite, present[at] = ~np.isnan(value), True
    values[tuple(part[finite] for part in at)] = value[finite]
    at_once = np.array([np.diff(key[order][finite]) == 0 for key in keys[1:]]).all(axis=0)
    if clashes := int((at_once & (np.diff(value[finite]) > 0)).sum()):
        remarks.append(f"{clashes} values differ from another of their unit and item at one time")
        remarks[-1] += "; the largest counts"
    provides = np.array([[c.name in p.columns for c in columns] for p in panels], dtype=bool)
    recorded = (present.astype(np.float32) @ provides.T.astype(np.float32)) > 0
    if invalid := int((~finite & ~np.isnan(events.value[order])).sum()):
        remarks.append(f"{invalid} values lie outside the valid range and count as missing")
    return TimedRecords(
        np.asarray(names),
        static[0],
        static[1],
        values,
        tuple(c.name for c in columns),
        tuple(p.name for p in panels),
        provides,
        recorded,
        last,
        label[0],
        label[1],
        cluster,
        hours,
    ), tuple(remarks)


def _floor(hour: np.ndarray, length: float) -> np.ndarray:
    """Windows of hours; an hour that is a whole number of windows but for rounding is one."""
    return np.floor(np.round(hour / length, EXACT))


def _ceil(hour: np.ndarray, length: float) -> np.ndarray:
    return np.ceil(np.round(hour / length, EXACT))


def _within(value: np.ndarray, valid: tuple[float, float] | None) -> np.ndarray:
    if valid is None:
        return value
    return np.where((value >= valid[0]) & (value <= valid[1]), value, np.nan)


def _pair(valid: tuple[float, ...] | None) -> tuple[float, float] | None:
    return None if valid is None else (valid[0], valid[1])


def _costs(
    panels: Sequence[Panel],
    errors: np.ndarray,
    set_ups: Sequence[SetUp],
    waiting: float,
    delay: np.ndarray | None,
) -> TimedCosts:
    shared = SharedCosts.of(set_ups, panels) if set_ups else None
    return TimedCosts(np.array([p.cost for p in panels]), errors, shared, waiting, delay)


@dataclass(frozen=True, eq=False)
class _Start:
    """Column of the start of each unit: its days, and whether they have a zone."""

    column: str
    days: Float[np.ndarray, " n"]
    zoned: bool


def _unit_names(units: LongFile, keys: TimedDataset) -> tuple[np.ndarray, _Start | None]:
    """Name of each unit, and its start; None where times are hours."""
    form = keys.units
    units.require_columns(form.unit, form.start, *form.static)
    names = units.names(form.unit)
    twice = pd.Series(names).duplicated().to_numpy()
    units.refuse(
        twice, form.unit, "unit CELL is empty or occurs before; each row is a unit of its own"
    )
    if form.start is None:
        return names, None
    days = _days(units, form.start)
    units.refuse(np.isnan(days), form.start, f"column {form.start!r} is empty")
    return names, _Start(form.start, days, bool(have_zones(units.cells[form.start]).any()))


def _days(file: LongFile, column: str) -> Float[np.ndarray, " m"]:
    """Dates as days, since with `units.start` all times are dates; NaN where the cell is empty."""
    cells = file.cells[column].astype(object)
    numbers = pd.to_numeric(cells, errors="coerce").notna().to_numpy()
    allowed = "with 'units.start', times are dates such as 2024-03-31 08:00"
    file.refuse(numbers, column, f"column {column!r} holds CELL; {allowed}")
    return file.times(column)


def _hours(
    file: LongFile, column: str, start: _Start | None, unit: np.ndarray, *, empty: bool = False
) -> Float[np.ndarray, " m"]:
    """Hours after the start of each unit; NaN where the cell is empty, if that is allowed."""
    if start is None:
        hours = file.numbers(column, empty=empty)
    else:
        days, zoned = _days(file, column), bool(have_zones(file.cells[column]).any())
        if zoned != start.zoned and not np.isnan(days).all():
            have = ("none", "a zone")
            raise DataError(
                f"{file.name}: column {column!r} has {have[zoned]}, and column {start.column!r} of "
                f"the units has {have[start.zoned]}; write all times with a zone, or none"
            )
        hours = np.round(24 * (days - start.days[unit]), EXACT)
    if not empty:
        file.refuse(np.isnan(hours), column, f"column {column!r} is empty")
    return hours


def _delays(keys: TimedDataset, events: _Events, result: np.ndarray) -> Int[np.ndarray, " a"]:
    """Windows after that of the order until half of the results of a panel are known. (a,)"""
    hours, names = keys.windows.hours, list(keys.columns)
    late = np.maximum(_ceil(result, hours) - 1 - _floor(events.hour, hours), 0)
    delays = []
    for panel in keys.panels.values():
        rows = np.isin(events.column, [names.index(c) for c in panel.columns])
        median = int(np.ceil(np.median(late[rows]))) if rows.any() else 0
        delays.append(median if panel.delay is None else panel.delay)
    return np.array(delays, dtype=np.int64)


def _labels(units: LongFile, label: TimedLabel) -> Int[np.ndarray, " n"]:
    classes = (label.negative, label.positive)
    allowed = f"allowed are {listed(map(repr, classes))}, and nothing where follow-up ended first"
    codes = units.levels(label.column, classes, allowed)
    return np.where(codes < 0, CENSORED, codes)


def _static(
    units: LongFile, names: Sequence[str], levels: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[np.ndarray, tuple[str, ...], dict[str, tuple[str, ...]], list[str]]:
    """Numbers as they are; texts with a column for each level but the first; remarks. (n, w)

    Args:
        units: a row for each unit.
        names: of the columns.
        levels: of the columns that hold texts; None: those of the file.
    """
    values: list[Any] = [np.zeros((len(units.cells), 0))]
    columns, of_column, remarks = [], {}, []
    for name in names:
        numbers, absent = units.quantities_in(name)
        kinds = units.cells[name][~absent].value_counts()
        holds_texts = not are_quantities(units.style.numbers(list(kinds.index)), kinds.to_numpy())
        if not (holds_texts and len(kinds) if levels is None else name in levels):
            allowed = "allowed is a number, or nothing where there is no value"
            words = np.isnan(numbers) & ~absent
            units.refuse(words, name, f"column {name!r} holds CELL; {allowed}")
            values.append(numbers[:, None])
            columns.append(name)
            continue
        if levels is None:
            by_word: dict[str, list[str]] = {}
            for kind in kinds.index:  # the commonest first
                by_word.setdefault(word(kind), []).append(kind)
            texts = sorted(group[0] for group in by_word.values())
            merged = [" and ".join(map(shown_cell, g)) for g in by_word.values() if len(g) > 1]
            remarks += [f"{units.name}: {name}: {pair} are taken for one value" for pair in merged]
        else:
            texts = list(levels[name])
        if len(texts) > MOST_LEVELS:
            raise DataError(
                f"static column {name!r} has {len(texts)} texts ({listed(texts, at_most=3)}); "
                f"allowed are numbers, or at most {MOST_LEVELS} texts"
            )
        code = units.levels(name, texts, f"known are {listed(texts)}")
        of_column[name] = tuple(map(str, texts))
        for k, level in enumerate(texts[1:], start=1):
            values.append((code == k).astype(np.float64)[:, None])
            columns.append(f"{name}: {level}")
    return np.concatenate(values, axis=1), tuple(columns), of_column, remarks
