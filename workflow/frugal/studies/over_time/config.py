"""Keys of the YAML of records over time: files, windows, columns, panels, costs, label, plans."""

from collections.abc import Collection, Iterator
from typing import Annotated, Literal

from annotated_types import Ge, Le, Len
from pydantic import Strict

from frugal.config.blocks import (
    Block,
    FileName,
    Filled,
    Maybe,
    Name,
    NonNegative,
    Text,
    Tuple,
    maybe,
    not_among,
    repeated,
    required,
    setting,
)
from frugal.config.panels import SetUpEntry


class MeasurementFile(Block):
    """A file with a row for each value."""

    file: FileName = required("CSV or Parquet, relative to this YAML; or of another format")
    format: Maybe[Text] = maybe(
        "of a long file: fhir, jsonl, meds or omop; its columns are then unit, stay, time, result, "
        "name and value, see docs/how-to/long_files.md"
    )
    unit: Text = required("column that names the unit")
    item: Text = required("column that names the quantity")
    value: Text = required("column of the value; a row without one is no result")
    ordered: Text = required(
        "column of the time of the order: hours after the start, or a date and time"
    )
    result: Maybe[Text] = maybe(
        "column of the time of the result; the delay of a panel is the median of its rows, in "
        "windows, rounded up"
    )


class TimedLabel(Block):
    """The label of each unit; an empty cell means that follow-up ended before it was known."""

    column: Text = required("of the file of units")
    negative: Text = required("cell of the first class")
    positive: Text = required("cell of the second class, whose predictions are an alarm")


class UnitFile(Block):
    """A file with a row for each unit."""

    file: FileName = required("CSV or Parquet, relative to this YAML")
    unit: Text = required("column that names the unit")
    static: Tuple[Text] = setting((), "columns known at the start; texts become one column a level")
    start: Maybe[Text] = maybe(
        "column of the date and time from which hours count; without it times are hours"
    )
    end: Maybe[Text] = maybe(
        "column of the end (discharge, event, end of follow-up): hours after the start, or a date "
        "and time; empty: after the last window"
    )
    cluster: Maybe[Text] = maybe("column of those whom units belong to, such as a patient")
    label: TimedLabel = required()


class Windows(Block):
    """Windows of equal length, in each of which panels are ordered once."""

    hours: Annotated[float, Ge(0.001), Le(1e9)] = required("length of a window")
    number: Annotated[int, Ge(1), Le(1000)] = required("of windows from the start")


class TimedColumn(Block):
    """A quantity."""

    item: Text = required("its name in the file of measurements")
    valid: Maybe[Annotated[Tuple[float], Len(2, 2)]] = maybe(
        "least and largest value; others count as missing values of a panel that was ordered"
    )


class TimedPanel(Block):
    """Columns that are ordered together."""

    columns: Filled[Text] = required("names; a column of no panel is free")
    price: NonNegative = required("of each order, in `cost_unit`")
    delay: Maybe[Annotated[int, Ge(0)]] = maybe(
        "windows for which a result is unknown after that of its order; by default 0, or as "
        "`measurements.result` has it"
    )


class TimedErrors(Block):
    """Costs of errors."""

    missed: NonNegative = required("the label is positive, the decision negative; in `cost_unit`")
    false_alarm: NonNegative = required(
        "the label is negative, the decision positive; in `cost_unit`"
    )

    def _refusals(self) -> Iterator[str]:
        if not self.missed and not self.false_alarm:
            yield (
                " are zero, so no acquisition could pay; state how much a missed case and a false "
                "alarm cost, in 'cost_unit'"
            )


Window = Annotated[int, Ge(0)]
Limit = Annotated[tuple[str, float], Strict(False)]


class OrderEntry(Block):
    """Panels that are ordered in some windows."""

    windows: Filled[Window] = required("numbers, from 0 on")
    panels: Filled[Text] = required("names")


class RepeatEntry(Block):
    """Panels that are ordered again and again."""

    panels: Filled[Text] = required("names")
    every: Annotated[int, Ge(1)] = required("windows between two orders")
    above: Maybe[Limit] = maybe(
        "column and limit: only while its last value is above, such as [lactate, 2]"
    )
    below: Maybe[Limit] = maybe("the same, while it is below; allowed is one of both")

    def _refusals(self) -> Iterator[str]:
        if self.above and self.below:
            yield " repeats panels with 'above' and 'below'; allowed is one of them"


class PlanEntry(Block):
    """A schedule or rule."""

    at: Tuple[OrderEntry] = setting((), "panels that are ordered in some windows")
    again: Tuple[RepeatEntry] = setting((), "panels that are repeated")
    stop: Maybe[Window] = maybe("window before which it decides; without it after the last one")

    def lacking(
        self, key: str, panels: Collection[str], columns: Collection[str], windows: int
    ) -> Iterator[str]:
        """Sentences on each panel, column and window that records lack, and on late orders."""
        for entry in (*self.at, *self.again):
            for panel in entry.panels:
                yield from not_among(panel, panels, key, "panels")
        for window in (w for entry in self.at for w in entry.windows):
            if window >= windows:
                yield f".{key} orders in window {window}; windows are 0 to {windows - 1}"
            if self.stop is not None and window >= self.stop:
                yield f".{key} orders in window {window}, and decides before window {self.stop}"
        for limit in (e.above or e.below for e in self.again):
            yield from not_among(limit[0], columns, key, "columns") if limit else ()


class TimedSettings(Block):
    """How policies are learned and judged."""

    learned: bool = setting(
        False, "also learn a policy, which orders one of the sets of panels of the plans, or none"
    )
    learner: Literal["trees", "network"] = setting(
        "trees", "of that policy: boosted trees of each window, or networks that windows share"
    )
    method: Literal["boosting", "linear"] = setting(
        "boosting", "of the nuisances: boosted trees, or logistic and ridge regressions"
    )
    folds: Annotated[int, Ge(2), Le(20)] = setting(3, "of cross-fitting")
    fold_draws: Annotated[int, Ge(1), Le(100)] = setting(
        5, "of folds, over which estimates are medians"
    )


class TimedDataset(TimedSettings):
    """Records over time, in two files."""

    name: Name = required("short, used in paths")
    cost_unit: Text = required("of prices and errors")
    measurements: MeasurementFile = required()
    units: UnitFile = required()
    windows: Windows = required()
    columns: Annotated[dict[str, TimedColumn], Len(1)] = required("name → quantity")
    panels: Annotated[dict[str, TimedPanel], Len(1)] = required("name → panel")
    set_ups: Tuple[SetUpEntry] = setting(
        (), "costs shared by panels that are ordered in one window"
    )
    waiting: NonNegative = setting(0.0, "cost of each window before the decision")
    errors: TimedErrors = required()
    plans: dict[Text, PlanEntry] = setting({}, "name → schedule or rule to be judged")
    needed: Tuple[OrderEntry] = setting(
        (),
        "panels that records must hold in some windows, too, to be followed: later orders depend "
        "on their values, recorded or not; no plan pays for them",
    )

    def _refusals(self) -> Iterator[str]:
        for name, panel in self.panels.items():
            for column in panel.columns:
                yield from not_among(column, self.columns, f"panels.{name}.columns", "columns")
        yield from repeated([c for p in self.panels.values() for c in p.columns], "panels")
        yield from repeated([c.item for c in self.columns.values()], "columns")
        for k, shared in enumerate(self.set_ups):
            for panel in shared.panels:
                yield from not_among(panel, self.panels, f"set_ups[{k}].panels", "panels")
        for name, column in self.columns.items():
            if column.valid and column.valid[0] > column.valid[1]:
                yield f".columns.{name}.valid has its least value above the largest"
        plans = {f"plans.{name}": plan for name, plan in self.plans.items()}
        for key, plan in (plans | {"needed": PlanEntry(at=self.needed)}).items():
            yield from plan.lacking(key, self.panels, self.columns, self.windows.number)
        label = self.units.label
        if label.negative == label.positive:
            yield f".units.label has {label.negative!r} for both classes; each has its own cell"
