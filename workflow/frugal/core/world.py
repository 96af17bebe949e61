"""Where a policy acts: rows, their values, what may be acquired there, and how an episode ends.

Serves rollouts, set probabilities and trainers of every study. The World is the only thing that
hides a value. It knows no policy, no trainer, no reward and no classifier.

A state is (unit, set of acquired panels). A set is also written as a code, Σⱼ acquiredⱼ 2ʲ.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.core.errors import DataError
from frugal.core.state_codes import all_sets, set_codes
from frugal.core.table import Table

MOST_LISTED_SETS = 4096  # sets whose known columns are listed once; beyond it, computed each time


@dataclass(frozen=True, eq=False)
class World:
    """Units of a decision process. Shapes: n units, d columns, a acquirable panels, k classes.

    Actions 0 … a − 1 acquire a panel. Further ones end the episode: either one "stop", or one
    verdict for each class, in the order of the classes.

    Attributes:
        name: of the world: "full", "blocked", or what completed the values.
        draw: number of the imputed copy; 0 where there is one only.
        row_id: identity of each unit in the raw data. (n,)
        values: encoded features; NaN where the table has none. (n, d)
        provides: columns that a panel reveals. (a, d)
        free_columns: known before the first decision. (d,)
        available: True where the panel can be had for the unit at all. (n, a)
        label: class index. (n,)
        action_cost: price of each panel, in the data set's unit; never below zero. (a,)
        classes: number of classes k.
        terminals: 1 ("stop"), or k (a verdict for each class).
    """

    name: str
    draw: int
    row_id: Int[np.ndarray, " n"]
    values: Float[np.ndarray, "n d"]
    provides: Bool[np.ndarray, "a d"]
    free_columns: Bool[np.ndarray, " d"]
    available: Bool[np.ndarray, "n a"]
    label: Int[np.ndarray, " n"]
    action_cost: Float[np.ndarray, " a"]
    classes: int
    terminals: int

    def __post_init__(self) -> None:
        if (self.action_cost < 0).any() or not np.isfinite(self.action_cost).all():
            raise DataError("the cost of a panel is below zero or not a number")
        if self.terminals not in (1, self.classes):
            raise DataError(
                f"a decision process ends in {self.terminals} ways; allowed are 1 (stop) and "
                f"{self.classes} (one diagnosis for each class)"
            )

    @classmethod
    def of_table(
        cls,
        table: Table,
        *,
        name: str = "full",
        draw: int = 0,
        available: Bool[np.ndarray, "n a"] | None = None,
        terminals: int = 1,
    ) -> "World":
        """A table as a world.

        Args:
            table: its units.
            name: of the world.
            draw: of an imputed copy.
            available: what may be acquired; None: everything.
            terminals: 1, or one for each class.
        """
        if available is None:
            available = np.ones((len(table), len(table.actions)), dtype=bool)
        return cls(
            name, draw, table.row_id, table.values, table.provides, table.free_columns, available,
            table.label, table.action_cost, len(table.classes), terminals,
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.values)

    @property
    def panels(self) -> int:
        """Number of panels that can be acquired, a."""
        return len(self.action_cost)

    @property
    def actions(self) -> int:
        """Number of actions, a + terminals."""
        return self.panels + self.terminals

    @cached_property
    def adds(self) -> Bool[np.ndarray, "a d"]:
        """Columns that each panel adds to the free ones. (a, d)"""
        return self.provides & ~self.free_columns

    def take(self, rows: np.ndarray) -> "World":
        """The same world restricted to units (indices or a boolean mask)."""
        return replace(
            self, row_id=self.row_id[rows], values=self.values[rows],
            available=self.available[rows], label=self.label[rows],
        )  # fmt: skip

    def known(self, acquired: Bool[np.ndarray, "m a"]) -> Bool[np.ndarray, "m d"]:
        """Columns that are free or revealed by an acquired panel. (m, d)"""
        if self._listed is not None:
            return self._listed[set_codes(acquired)]
        return self._computed(acquired)

    def visible(
        self, row: Int[np.ndarray, " m"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float[np.ndarray, "m d"]:
        """What m states show: values, NaN where they are hidden or the table has none. (m, d)"""
        return np.where(self.known(acquired), self.values[row], np.nan)

    def _computed(self, acquired: Bool[np.ndarray, "m a"]) -> Bool[np.ndarray, "m d"]:
        revealed = acquired.astype(np.float32) @ self.provides.astype(np.float32)
        return self.free_columns | (revealed > 0)

    @cached_property
    def _listed(self) -> Bool[np.ndarray, "sets d"] | None:
        if self.panels >= MOST_LISTED_SETS.bit_length():
            return None
        return self._computed(all_sets(self.panels))


def adds_column(
    adds: Bool[np.ndarray, "a d"], acquired: Bool[np.ndarray, "*m a"]
) -> Bool[np.ndarray, "*m a"]:
    """Panels that reveal a column beyond those that acquired panels reveal. (…, a)

    Args:
        adds: columns that each panel adds to the free ones.
        acquired: panels, of each state.
    """
    own = adds.astype(np.float32)
    hidden = (acquired.astype(np.float32) @ own) == 0
    return (hidden.astype(np.float32) @ own.T) > 0


@runtime_checkable
class StateEncoder(Protocol):
    """Turns states into what a policy network reads; one call for all states of a step."""

    @property
    def width(self) -> int:
        """Entries of an observation, w."""
        ...

    def encode(
        self, row: Int[np.ndarray, " m"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float32[np.ndarray, "m w"]:
        """Observation of m states: unit (index into the world's units) and acquired panels. (m, w)

        It reads nothing of a unit but free columns and those that an acquired panel reveals.
        """
        ...
