"""Where a policy acts: rows, their values, the panels available there, and how an episode ends.

Serves rollouts, set probabilities and trainers of every study. The World is the only thing that
hides a value. It knows no policy, no trainer, no reward and no classifier.

A state is (unit, set of acquired panels). A set is also written as a code, Σⱼ acquiredⱼ 2ʲ.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, Shaped, UInt8

from frugal.core.errors import DataError
from frugal.core.regions import Hole, closed
from frugal.core.table import SharedCosts, Table

MOST_ACTIONS = 62  # panels that fit into a 64-bit set code
MOST_ENUMERATED = 20  # panels whose 2^a sets are ever listed at once


def set_codes(acquired: Bool[np.ndarray, "m a"]) -> Int[np.ndarray, " m"]:
    """Code of each set, Σⱼ acquiredⱼ 2ʲ, in int64. (m,)

    Raises:
        DataError: more panels than fit into the code.
    """
    m, a = acquired.shape
    if a > MOST_ACTIONS:
        raise DataError(f"{a} panels do not fit a set code; at most {MOST_ACTIONS} are allowed")
    if not a:
        return np.zeros(m, dtype=np.int64)
    packed = np.packbits(acquired, axis=1, bitorder="little")
    if packed.shape[1] == 1:
        return packed[:, 0].astype(np.int64)
    octets = np.zeros((m, 8), dtype=np.uint8)
    octets[:, : packed.shape[1]] = packed
    return octets.view("<i8")[:, 0].astype(np.int64)


def sets_of(codes: Int[np.ndarray, " m"], a: int) -> Bool[np.ndarray, "m a"]:
    """Sets of the given codes; inverse of `set_codes`. (m, a)"""
    octets = codes.astype("<i8")[:, None].view(np.uint8)
    return np.unpackbits(octets, axis=1, count=a, bitorder="little").view(np.bool_)


def set_keys(acquired: Bool[np.ndarray, "m a"]) -> Shaped[np.ndarray, " m"]:
    """Key of each set, for any number of panels: its code, else its octets as a string. (m,)"""
    if acquired.shape[1] <= MOST_ACTIONS:
        return set_codes(acquired)
    packed = packed_sets(acquired)
    return packed.view(f"S{packed.shape[1]}")[:, 0]


def packed_sets(acquired: Bool[np.ndarray, "*m a"]) -> UInt8[np.ndarray, "*m w"]:
    """Sets of any number of panels, one bit a panel. (…, ⌈a/8⌉)"""
    return np.packbits(acquired, axis=-1, bitorder="little")


def unpacked_sets(packed: UInt8[np.ndarray, "*m w"], a: int) -> Bool[np.ndarray, "*m a"]:
    """The inverse of `packed_sets`. (…, a)"""
    return np.unpackbits(packed, axis=-1, count=a, bitorder="little").view(np.bool_)


@dataclass(frozen=True, eq=False)
class Distinct:
    """Distinct sets among n, as `np.unique` over rows returns them.

    Attributes:
        sets: in ascending order, the first panel first. (u, a)
        first: index of its first row. (u,)
        which: number of each row's set. (n,)
        count: rows with each set. (u,)
    """

    sets: Bool[np.ndarray, "u a"]
    first: Int[np.ndarray, " u"]
    which: Int[np.ndarray, " n"]
    count: Int[np.ndarray, " u"]


def distinct_sets(acquired: Bool[np.ndarray, "n a"]) -> Distinct:
    """Result of `np.unique(acquired, axis=0)`, about 20 times as fast, from packed bits."""
    n, a = acquired.shape
    if not a or not n:
        which = np.zeros(n, dtype=np.int64)
        return Distinct(acquired[:1], which[:1], which, np.array([n] * bool(n), dtype=np.int64))
    width = -(-a // 64) * 8
    packed = np.zeros((n, width), dtype=np.uint8)
    packed[:, : -(-a // 8)] = np.packbits(acquired, axis=1)
    words = packed.view(">u8").astype(np.uint64)  # order of the words: that of the rows
    if words.shape[1] == 1:
        _, first, which, count = np.unique(
            words[:, 0], return_index=True, return_inverse=True, return_counts=True
        )
        return Distinct(acquired[first], first, which, count)
    order = np.lexsort(words.T[::-1])
    ordered = words[order]
    new = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    which = np.empty(n, dtype=np.int64)
    which[order] = new.cumsum() - 1
    first = order[new]  # lexsort is stable: the first of equals
    return Distinct(acquired[first], first, which, np.bincount(which))


def all_sets(a: int) -> Bool[np.ndarray, "sets a"]:
    """Every set of a panels, in the order of the codes: row c is the set of code c. (2^a, a)

    Raises:
        DataError: too many panels to list their sets.
    """
    if a > MOST_ENUMERATED:
        raise DataError(
            f"all sets of {a} panels were requested; at most {MOST_ENUMERATED} panels are allowed"
        )
    return sets_of(np.arange(1 << a, dtype=np.int64), a)


MOST_LISTED_SETS = 4096  # sets whose known columns are listed once; beyond it, computed each time


@dataclass(frozen=True, eq=False)
class World:
    """Units of a decision process. Shapes: n units, d columns, a acquirable panels, k classes.

    Actions 0 … a − 1 acquire a panel. Further ones end the episode: either one "stop", or one
    verdict for each class, in the order of the classes.

    Attributes:
        name: of the world: "full", "blocked", or the imputer that completed the values.
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
        shared_costs: set-ups of the panels; None where there are none.
        unsupported: regions of known values in which a panel is not offered.
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
    shared_costs: SharedCosts | None = None
    unsupported: tuple[Hole, ...] = ()

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
        unsupported: tuple[Hole, ...] = (),
    ) -> "World":
        """A table as a world.

        Args:
            table: its units.
            name: of the world.
            draw: of an imputed copy.
            available: panels that may be acquired; None: all.
            terminals: 1, or one for each class.
            unsupported: regions in which a panel is not offered.
        """
        if available is None:
            available = np.ones((len(table), len(table.actions)), dtype=bool)
        return cls(
            name,
            draw,
            table.row_id,
            table.values,
            table.provides,
            table.free_columns,
            available,
            table.label,
            table.action_cost,
            len(table.classes),
            terminals,
            table.shared_costs if table.set_ups else None,
            unsupported,
        )

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

    def price(self, acquired: Bool[np.ndarray, "*m a"]) -> Float[np.ndarray, "*m"]:
        """Cost of sets of panels: prices, and each set-up once. (…,)"""
        if self.shared_costs is None:
            return acquired @ self.action_cost
        return self.shared_costs.price(acquired, self.action_cost)

    @cached_property
    def adds(self) -> Bool[np.ndarray, "a d"]:
        """Columns that each panel adds to the free ones. (a, d)"""
        return self.provides & ~self.free_columns

    def take(self, rows: np.ndarray) -> "World":
        """The same world restricted to units (indices or a boolean mask)."""
        return replace(
            self,
            row_id=self.row_id[rows],
            values=self.values[rows],
            available=self.available[rows],
            label=self.label[rows],
        )

    def known(self, acquired: Bool[np.ndarray, "m a"]) -> Bool[np.ndarray, "m d"]:
        """Columns that are free or revealed by an acquired panel. (m, d)"""
        if self._listed is not None:
            return self._listed[set_codes(acquired)]
        return self._computed(acquired)

    def visible(
        self, row: Int[np.ndarray, " m"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float[np.ndarray, "m d"]:
        """Values observed at m states, NaN where they are hidden or the table has none. (m, d)"""
        return np.where(self.known(acquired), self.values[row], np.nan)

    def offered(
        self, row: Int[np.ndarray, " m"], acquired: Bool[np.ndarray, "m a"]
    ) -> Bool[np.ndarray, "m a"]:
        """Panels that can be had at m states, those acquired already included. (m, a)"""
        available = self.available[row]
        if not self.unsupported:
            return available
        return available & ~closed(self.unsupported, self.visible(row, acquired), self.panels)

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
    reveals = adds.astype(np.float32)
    hidden = (acquired.astype(np.float32) @ reveals) == 0
    return (hidden.astype(np.float32) @ reveals.T) > 0


@runtime_checkable
class StateEncoder(Protocol):
    """Encodes states for a policy network; one call for all states of a step."""

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
