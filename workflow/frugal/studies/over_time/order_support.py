"""Regions in which records over time never hold a panel that a policy would order there.

Two looks: whether a record holds a panel in any window, by static columns; and in each window in
which some policy orders it, by static columns and last values of columns that need no order. These
are known to each policy as to the record. Values of panels are not looked at: few records hold
them, and regions of them were false alarms in 24 of 40 draws. A policy that orders a panel in such
a region has no estimate; within support it goes on without the panel there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.region_words import condition_text, hole_sentence, records_needed
from frugal.core.regions import Hole, Interval
from frugal.core.stored import Array, Stored
from frugal.core.table import LARGEST
from frugal.judge.support import find_holes
from frugal.studies.over_time.orders import TimedPaths, WithinSupport, follow
from frugal.studies.over_time.records import TimedCosts, TimedPolicy, TimedRecords, TimedState

ANY = -1  # window of a region in which no window holds the panel


@dataclass(frozen=True)
class TimedHole:
    """A region of one window, or of all.

    Attributes:
        window: number, or `ANY`.
        hole: its panel, its conditions on static columns and last values, and its records.
        total: records that have the window.
        where: its conditions in words.
        panel: name of the panel.
    """

    window: int
    hole: Hole
    total: int
    where: str
    panel: str

    @property
    def sentence(self) -> str:
        """What was never recorded, for whom, and what to record."""
        at = "" if self.window == ANY else f" in window {self.window}"
        rows, recorded = self.hole.rows, self.hole.recorded
        needed = records_needed(recorded)
        return hole_sentence(
            f"{self.panel}{at}", self.where, recorded, rows, needed, total=self.total
        )

    def document(self) -> dict[str, Any]:
        """For readers of JSON."""
        window = None if self.window == ANY else self.window
        counts = {"recorded": self.hole.recorded, "records": self.hole.rows, "of": self.total}
        needed = records_needed(self.hole.recorded)
        return {
            "panel": self.panel,
            "window": window,
            "where": self.where,
            **counts,
            "record": needed,
        }


@dataclass(frozen=True)
class Unsupported:
    """A plan that orders panels where no record holds them.

    Attributes:
        share: of the units for which it does not.
        panels: names.
        contained: records that contain its panels.
        equal: that hold no other.
    """

    share: float
    panels: tuple[str, ...]
    contained: int
    equal: int

    @property
    def row(self) -> dict[str, Any]:
        """Of a table of outcomes."""
        why = (
            f"it orders {' and '.join(self.panels)} where records never hold it; it can be judged "
            f"for {100 * self.share:.0f} % of the units"
        )
        return {"contained": self.contained, "equal": self.equal, "reason": why}


@dataclass(frozen=True, eq=False)
class OrderSupport:
    """Regions without records, and the plans that order there.

    Attributes:
        holes: the regions.
        plans: that order in a region, by name.
    """

    holes: tuple[TimedHole, ...] = ()
    plans: Mapping[str, Unsupported] = field(default_factory=dict)

    def barred(self, state: TimedState) -> Bool[np.ndarray, "m a"]:
        """Panels that are not offered in a state. (m, a)"""
        values = np.column_stack([state.static, state.last])
        inside = np.zeros(state.since.shape, dtype=bool)
        for each in self.holes:
            if each.window in (ANY, state.window):
                inside[:, each.hole.panel] |= each.hole.contains(values)
        return inside

    def missing(self, states: Sequence[TimedState]) -> Bool[np.ndarray, "n t a"]:
        """The same before each of some windows. (n, t, a)"""
        return np.stack([self.barred(state) for state in states], axis=1)

    @property
    def sentences(self) -> list[str]:
        """One for each region."""
        return [each.sentence for each in self.holes]

    def of_plans(
        self, records: TimedRecords, costs: TimedCosts, policies: Sequence[TimedPolicy]
    ) -> "OrderSupport":
        """The same, with the plans that order in a region while records contain their orders."""
        plans = {}
        for policy in policies if self.holes else ():
            path = follow(records, policy, costs)
            missing = self.missing(path.states(records)[:-1])
            out = path.ordered & missing & reached(records, path)[:, :, None]
            if out.any():
                at = np.flatnonzero(out.any(axis=(0, 1)))
                plans[policy.name] = Unsupported(
                    1 - float(out.any(axis=(1, 2)).mean()),
                    tuple(records.panels[k] for k in at),
                    int(path.complete.sum()),
                    int(path.exact.sum()),
                )
        return replace(self, plans=plans)

    def within(self, policies: Sequence[TimedPolicy]) -> list[TimedPolicy]:
        """The policies; those that order in a region go on without these orders."""
        return [WithinSupport(p, self) if p.name in self.plans else p for p in policies]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The regions; `from_arrays` is the inverse."""
        rows = [[e.window, e.hole.panel, e.hole.rows, e.hole.recorded, e.total] for e in self.holes]
        conditions = [
            (k, c.column, *np.clip((c.low, c.high), -LARGEST, LARGEST))
            for k, each in enumerate(self.holes)
            for c in each.hole.conditions
        ]
        return {
            "regions": np.array(rows, dtype=np.int64).reshape(-1, 5),
            "conditions": np.array(conditions, dtype=np.float64).reshape(-1, 4),
        }

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, np.ndarray], records: TimedRecords, levels: Mapping[str, Sequence[str]]
    ) -> "OrderSupport":
        """The regions that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such regions.
        """
        stored = Stored("regions without records", arrays)
        stored.require(
            {
                "regions": Array("int64", ("h", 5), low=ANY),
                "conditions": Array("float64", ("c", 4)),
            },
            empty=("h", "c"),
        )
        regions, rows = arrays["regions"], arrays["conditions"]
        columns = len(records.static_columns) + len(records.columns)
        sizes = ((regions[:, 1], len(records.panels)), (rows[:, 0], len(regions)))
        for index, size in (*sizes, (rows[:, 1], columns)):
            if ((index < 0) | (index >= size) | (index != np.floor(index))).any():
                raise stored.refusal("names a panel, region or column that does not exist")
        holes = []
        for k, (window, panel, count, recorded, total) in enumerate(regions.tolist()):
            bounds = [(int(c), *_open(low, high)) for _, c, low, high in rows[rows[:, 0] == k]]
            conditions = tuple(Interval(*bound) for bound in bounds)
            hole = Hole(panel, conditions, count, recorded)
            holes.append(_named(window, hole, total, records, levels))
        return OrderSupport(tuple(holes))


def reached(records: TimedRecords, path: TimedPaths) -> Bool[np.ndarray, "n t"]:
    """Windows of a record before which it contains all that was ordered. (n, t)"""
    window = np.arange(records.windows)
    return (window < records.end[:, None]) & (path.answered[:, None] >= window)


def _open(low: float, high: float) -> tuple[float, float]:
    """Ends of an interval, infinite where they were stored as the largest number."""
    return (-np.inf if low <= -LARGEST else float(low), np.inf if high >= LARGEST else float(high))


def _named(
    window: int, hole: Hole, total: int, records: TimedRecords, levels: Mapping[str, Sequence[str]]
) -> TimedHole:
    static = len(records.static_columns)

    def describe(column: int) -> tuple[str, str | tuple[str, str] | None]:
        if column >= static:
            return f"last {records.columns[column - static]}", None
        name, _, level = records.static_columns[column].partition(": ")
        pair = tuple(levels.get(name, ()))
        return name, (pair[0], pair[1]) if level and len(pair) == 2 else level or None

    where = condition_text(hole.conditions, describe)
    return TimedHole(window, hole, total, where, records.panels[hole.panel])


def find_support(
    records: TimedRecords,
    costs: TimedCosts,
    policies: Sequence[TimedPolicy],
    levels: Mapping[str, Sequence[str]],
    *,
    learned: bool,
) -> OrderSupport:
    """Regions in which some policy orders what no record holds.

    Args:
        records: with recorded panels.
        costs: of the policies.
        policies: fixed ones.
        levels: texts of static columns.
        learned: a policy is learned, too, which may order in any window.
    """
    practice = follow(records, None, costs)
    needed = np.zeros(records.recorded.shape[1:], dtype=bool)
    for path in (follow(records, policy, costs) for policy in policies):
        needed |= (path.ordered & reached(records, path)[:, :, None]).any(axis=0)
    if learned:
        needed[:] = needed.any(axis=0)
    return OrderSupport(tuple(_holes_of(records, practice, needed, levels)))


def _holes_of(
    records: TimedRecords,
    practice: TimedPaths,
    needed: Bool[np.ndarray, "t a"],
    levels: Mapping[str, Sequence[str]],
) -> list[TimedHole]:
    every, recorded = np.ones(len(records), dtype=bool), np.asarray(records.recorded.any(axis=1))
    some = np.asarray(needed.any(axis=0))
    holes = _look(ANY, records, records.static, recorded, some, every, levels)
    barred = OrderSupport(tuple(holes)).missing(practice.states(records)[:-1])
    for window in range(records.windows):
        last = np.where(records.free, practice.last[window], np.nan)  # never a condition
        values = np.column_stack([records.static, last])
        for panel in np.flatnonzero(needed[window]):
            rows = (records.end > window) & ~barred[:, window, panel]
            alone = np.arange(needed.shape[1]) == panel
            recorded = records.recorded[:, window]
            holes += _look(window, records, values, recorded, alone, rows, levels)
    return holes


def _look(
    window: int,
    records: TimedRecords,
    values: Float[np.ndarray, "n c"],
    recorded: Bool[np.ndarray, "n a"],
    panels: Bool[np.ndarray, " a"],
    rows: Bool[np.ndarray, " n"],
    levels: Mapping[str, Sequence[str]],
) -> list[TimedHole]:
    at, varied = np.flatnonzero(panels), np.array([_varies(c) for c in values[rows].T], dtype=bool)
    if not len(at) or not varied.any():
        return []
    columns = np.flatnonzero(varied)
    provides = np.zeros((len(at), len(columns)), dtype=bool)
    holes = find_holes(values[rows][:, columns], recorded[rows][:, at], provides)
    named = []
    for hole in holes:
        conditions = tuple(replace(c, column=int(columns[c.column])) for c in hole.conditions)
        moved = replace(hole, panel=int(at[hole.panel]), conditions=conditions)
        named.append(_named(window, moved, int(rows.sum()), records, levels))
    return named


def _varies(column: np.ndarray) -> bool:
    finite = column[~np.isnan(column)]
    return bool(len(finite) and finite.min() < finite.max())
