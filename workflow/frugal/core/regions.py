"""Regions of a table, and the panels that records in a region (almost) never hold.

A policy cannot be evaluated where it would order a panel that nobody there has, so the panel is
not offered in such a region. Knows no statistic and no file.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.stored import OrNull

HOLE = {
    "panel": str,
    "conditions": [{"column": str, "low": OrNull(float), "high": OrNull(float)}],
    "rows": int,
    "recorded": int,
    "group": OrNull(str),
}


@dataclass(frozen=True)
class Interval:
    """Low ≤ value of an encoded column ≤ high; an end of ±∞ is open."""

    column: int
    low: float
    high: float

    @property
    def open(self) -> bool:
        """Whether any known value lies in it."""
        return bool(np.isneginf(self.low) and np.isposinf(self.high))

    def may_hold(self, x: Any) -> Any:
        """Where a value, or one that is not known yet, lies in it; in an open one, a known one."""
        return (x >= 0) | (x < 0) if self.open else ~(x < self.low) & ~(x > self.high)


@dataclass(frozen=True)
class Hole:
    """A region, and how many of its records hold a panel.

    Attributes:
        panel: by index.
        conditions: that all hold in it, of different columns.
        rows: records in it, of those that hold every column of the conditions.
        recorded: of these, with the panel.
        group: of units, where the region is a group that policies do not see; it has no conditions,
            and closes the panel to everyone.
    """

    panel: int
    conditions: tuple[Interval, ...]
    rows: int
    recorded: int
    group: str | None = None

    def contains(self, values: Float[np.ndarray, "n d"]) -> Bool[np.ndarray, " n"]:
        """Whether units are known to lie in it; NaN is a value that is not known. (n,)"""
        if not self.conditions:
            return np.zeros(len(values), dtype=bool)
        has_values = np.isfinite(values[:, [c.column for c in self.conditions]]).all(axis=1)
        return has_values & self.closes(lambda column: values[:, column])

    def closes(self, of_column: Callable[[int], Any]) -> Any:
        """Whether states are not known to lie outside, so that the panel is not offered there.

        Where records with a high value of one panel never hold another, those with any value may
        be among the cases of which the first is not known yet.

        Args:
            of_column: values of a column, NaN where unknown: an array, or a node of a graph.
        """
        ends = [each.may_hold(of_column(each.column)) for each in self.conditions]
        return functools.reduce(operator.and_, ends) if ends else True

    def document(self, columns: Sequence[str], panels: Sequence[str]) -> dict[str, Any]:
        """As JSON can hold it, see `HOLE`."""
        conditions = [
            {"column": columns[c.column], "low": _finite(c.low), "high": _finite(c.high)}
            for c in self.conditions
        ]
        return {
            "panel": panels[self.panel],
            "conditions": conditions,
            "rows": self.rows,
            "recorded": self.recorded,
            "group": self.group,
        }


def holes_of(
    documents: Iterable[Mapping[str, Any]], columns: Sequence[str], panels: Sequence[str]
) -> tuple[Hole, ...]:
    """The inverse of `Hole.document`, of several."""
    return tuple(
        Hole(
            panels.index(entry["panel"]),
            tuple(
                Interval(
                    columns.index(c["column"]),
                    -np.inf if c["low"] is None else float(c["low"]),
                    np.inf if c["high"] is None else float(c["high"]),
                )
                for c in entry["conditions"]
            ),
            entry["rows"],
            entry["recorded"],
            entry["group"],
        )
        for entry in documents
    )


def closed(
    holes: Sequence[Hole], values: Float[np.ndarray, "n d"], panels: int
) -> Bool[np.ndarray, "n a"]:
    """Panels that are not offered in each state, by the values that are known in it. (n, a)"""
    result = np.zeros((len(values), panels), dtype=bool)
    for hole in holes:
        result[:, hole.panel] |= hole.closes(lambda column: values[:, column])
    return result


def inside(
    holes: Sequence[Hole], values: Float[np.ndarray, "n d"], panels: int
) -> Bool[np.ndarray, "n a"]:
    """Panels of which each record is known to lie in a region without them. (n, a)"""
    result = np.zeros((len(values), panels), dtype=bool)
    for hole in holes:
        result[:, hole.panel] |= hole.contains(values)
    return result


def _finite(end: float) -> float | None:
    return float(end) if np.isfinite(end) else None
