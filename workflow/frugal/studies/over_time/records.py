"""Records over time: units, windows of equal length, panels that may be ordered in each window.

Serves rollouts, estimators and readers. Shapes: n units, t windows, a panels, d columns, w static
columns, k classes. It knows no policy, no estimator and no file.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from frugal.core.errors import DataError
from frugal.core.stored import Within
from frugal.core.table import SharedCosts

CENSORED = -1  # label of a unit whose follow-up ended before its label was known


@dataclass(frozen=True, eq=False)
class TimedRecords:
    """Recorded panels and values of n units in t windows.

    A column belongs to one panel, or to none: then it is free, and recorded without an order.

    Attributes:
        unit: name of each unit. (n,)
        static: columns known at the start; NaN where missing. (n, w)
        static_columns: their names.
        values: of each column in each window; NaN where there is none. (n, t, d)
        columns: their names.
        panels: names of the panels.
        provides: columns of each panel. (a, d)
        recorded: panels whose result the record holds, by the window of the order. (n, t, a)
        end: windows of each unit until discharge, event or end of follow-up, 1 to t. (n,)
        label: class index; `CENSORED` where follow-up ended first. (n,)
        classes: their names.
        cluster: of each unit, numbered from 0 on; units of one cluster count as one in errors. (n,)
        hours: length of a window.
        needed: panels that a record must hold in each window, too, for a policy to be followed
            further: later orders depend on their values, recorded or not. None: none. (t, a)

    Raises:
        DataError: shapes or numbers do not fit together.
    """

    unit: Shaped[np.ndarray, " n"]
    static: Annotated[Float[np.ndarray, "n w"], Within()]
    static_columns: tuple[str, ...]
    values: Annotated[Float[np.ndarray, "n t d"], Within()]
    columns: tuple[str, ...]
    panels: tuple[str, ...]
    provides: Annotated[Bool[np.ndarray, "a d"], Within()]
    recorded: Annotated[Bool[np.ndarray, "n t a"], Within()]
    end: Annotated[Int[np.ndarray, " n"], Within()]
    label: Annotated[Int[np.ndarray, " n"], Within()]
    classes: tuple[str, ...]
    cluster: Annotated[Int[np.ndarray, " n"], Within()]
    hours: float = 1.0
    needed: Bool[np.ndarray, "t a"] | None = None

    def __post_init__(self) -> None:
        if (self.provides.sum(axis=0) > 1).any():
            column = self.columns[int((self.provides.sum(axis=0) > 1).argmax())]
            raise DataError(f"column {column!r} belongs to two panels; over time it has one")
        wrong = (self.end < 1) | (self.end > self.windows)
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"unit {self.unit[row]} ends after {self.end[row]} windows; allowed are 1 to "
                f"{self.windows}"
            )
        if ((self.label < CENSORED) | (self.label >= len(self.classes))).any():
            raise DataError(f"a label is no index of the classes {', '.join(self.classes)}")
        beyond = np.arange(self.windows) >= self.end[:, None]
        if (self.recorded & beyond[:, :, None]).any():
            row = int((self.recorded & beyond[:, :, None]).any(axis=(1, 2)).argmax())
            raise DataError(f"unit {self.unit[row]} has a panel recorded after its end")

    def __len__(self) -> int:
        return len(self.unit)

    @property
    def windows(self) -> int:
        """Number of windows, t."""
        return self.recorded.shape[1]

    @property
    def free(self) -> Bool[np.ndarray, " d"]:
        """Columns that are recorded without an order. (d,)"""
        return ~np.asarray(self.provides.any(axis=0))

    @property
    def censored(self) -> Bool[np.ndarray, " n"]:
        """Units whose label is unknown. (n,)"""
        return self.label == CENSORED

    def take(self, rows: Shaped[np.ndarray, " m"]) -> "TimedRecords":
        """Some of the units, by index or truth value; an index may occur again. m units."""
        per_unit = ("unit", "static", "values", "recorded", "end", "label")
        parts = {name: getattr(self, name)[rows] for name in per_unit}
        cluster = np.unique(self.cluster[rows], return_inverse=True)[1].ravel()
        return replace(self, **parts, cluster=cluster)


@dataclass(frozen=True, eq=False)
class TimedCosts:
    """Costs of acquisition, waiting and errors, in one unit.

    Attributes:
        price: of an order of each panel. (a,)
        errors: cost of deciding for a class (column) where another (row) is true. (k, k)
        shared: costs shared by panels that are ordered in one window; None without.
        waiting: of each window before the decision.
        delay: windows for which the result of each panel is still unknown after the window of its
            order; 0: known at the next decision. (a,)
    """

    price: Float[np.ndarray, " a"]
    errors: Float[np.ndarray, "k k"]
    shared: SharedCosts | None = None
    waiting: float = 0.0
    delay: Int[np.ndarray, " a"] | None = None

    def acquisition(
        self, acquired: Bool[np.ndarray, "n t a"], windows: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """Price of all orders of a unit, and of waiting. (n,)

        Args:
            acquired: panels acquired in each window.
            windows: before the decision of each unit.
        """
        by_window = (
            acquired @ self.price
            if self.shared is None
            else self.shared.price(acquired, self.price)
        )
        return by_window.sum(axis=1) + self.waiting * windows

    def verdict(self, probability: Float[np.ndarray, "n k"]) -> Int[np.ndarray, " n"]:
        """The class of least expected cost. (n,)"""
        return (probability @ self.errors).argmin(axis=1)


@dataclass(frozen=True, eq=False)
class TimedState:
    """Values and orders of a policy before a window, for m units.

    Attributes:
        window: number of the window, from 0 on.
        static: columns known at the start. (m, w)
        last: last value of each column that the policy has acquired; NaN without. (m, d)
        age: windows since that value was taken; infinite without. (m, d)
        since: windows since the policy last ordered each panel; infinite where it never did. (m, a)
    """

    window: int
    static: Float[np.ndarray, "m w"]
    last: Float[np.ndarray, "m d"]
    age: Float[np.ndarray, "m d"]
    since: Float[np.ndarray, "m a"]


@runtime_checkable
class TimedPolicy(Protocol):
    """Orders a set of panels for the next window, or stops; deterministic, without memory."""

    @property
    def name(self) -> str:
        """Name, in tables."""
        ...

    def order(self, state: TimedState) -> Bool[np.ndarray, "m a1"]:
        """Panels ordered for the next window; the last column is "stop and decide". (m, a + 1)"""
        ...
