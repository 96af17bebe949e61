"""Inputs of a policy network: values and panel bits, any function of them, or a table.

Encoders of the decision process of [diagnosis] and of the trained agents of [afape]; all keep the
contract of `frugal.core.world.StateEncoder`. They know no reward, no trainer and no label.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float32, Int

from frugal.core.episodes import RowPanels, RowReadings, RowValues
from frugal.core.errors import DataError
from frugal.core.world import MOST_ENUMERATED, StateEncoder, World, all_sets, set_codes

STATES_AT_ONCE = 1 << 15  # states that are encoded at a time for a table: bounds memory
GIB = 1 << 30

VisibleFunction = Callable[[RowValues, RowPanels], RowReadings]


@dataclass(frozen=True, eq=False)
class TabulatedEncoder:
    """Observations of every unit at every set of panels, computed once.

    Attributes:
        table: indexed by unit, code of the set, and entry of the observation. (n, 2^a, w)
    """

    table: Float32[np.ndarray, "n sets w"]

    @property
    def width(self) -> int:
        """Entries of an observation, w."""
        return self.table.shape[2]

    def encode(self, row: Int[np.ndarray, " m"], acquired: RowPanels) -> RowReadings:
        """Observations of m states, looked up. (m, w)"""
        return self.encode_codes(row, set_codes(acquired))

    def encode_codes(self, row: Int[np.ndarray, " m"], code: Int[np.ndarray, " m"]) -> RowReadings:
        """The same for sets given by code. (m, w)"""
        return self._flat.take(row * self.table.shape[1] + code, axis=0)

    @cached_property
    def _flat(self) -> Float32[np.ndarray, "states w"]:
        return self.table.reshape(-1, self.table.shape[2])


def fits(n: int, a: int, width: int, max_gib: float) -> bool:
    """A table of n units at all sets of a panels takes no more than this, in GiB."""
    return a <= MOST_ENUMERATED and 4 * n * 2**a * width <= max_gib * GIB


def tabulate(encoder: StateEncoder, n: int, a: int, *, max_gib: float) -> TabulatedEncoder:
    """Exact table of an encoder: each of n units at each of 2^a sets is encoded once.

    A set is encoded for a batch of units, in the order of the codes.

    Args:
        encoder: whose answers are stored.
        n: number of units.
        a: number of panels.
        max_gib: limit of the table, in GiB.

    Raises:
        DataError: the table would be larger.
    """
    need = 4 * n * 2**a * encoder.width / GIB
    if need > max_gib:
        raise DataError(
            f"a table of all {2**a} panel sets of {n} units takes {need:.2f} GiB; "
            f"allowed are {max_gib} GiB"
        )
    sets = all_sets(a)
    table = np.empty((n, len(sets), encoder.width), dtype=np.float32)
    for start in range(0, n, STATES_AT_ONCE):
        row = np.arange(start, min(start + STATES_AT_ONCE, n))
        for code, acquired in enumerate(sets):
            table[row, code] = encoder.encode(row, np.broadcast_to(acquired, (len(row), a)))
    return TabulatedEncoder(table)


@dataclass(frozen=True, eq=False)
class ValuesEncoder:
    """[values with 0 where unknown, known bits of columns, panel bits]: observation of a Q-network.

    A missing value (NaN) reads 0, and its bit stays 0 when its panel is acquired.

    Attributes:
        world: its values standardised by the caller.
        column_bits: whether the known bits of columns are part of the observation.
    """

    world: World
    column_bits: bool

    @classmethod
    def of(cls, world: World) -> "ValuesEncoder":
        """With bits of columns only if some unit has no value somewhere."""
        return cls(world, bool(np.isnan(world.values).any()))

    @property
    def width(self) -> int:
        """Entries of an observation: d + a, or 2d + a with bits of columns."""
        a, d = self.world.provides.shape
        return d * (1 + self.column_bits) + a

    def encode(self, row: Int[np.ndarray, " m"], acquired: RowPanels) -> RowReadings:
        """Observations of m states. (m, w)"""
        observed = self.world.known(acquired)
        d = observed.shape[1]
        result = np.empty((len(row), self.width), dtype=np.float32)
        np.multiply(self._filled[row], observed, out=result[:, :d])
        if self.column_bits:
            np.multiply(self._has_value[row], observed, out=result[:, d : 2 * d])
        result[:, result.shape[1] - acquired.shape[1] :] = acquired
        return result

    @cached_property
    def _filled(self) -> Float32[np.ndarray, "n d"]:
        return np.nan_to_num(self.world.values, nan=0.0).astype(np.float32)

    @cached_property
    def _has_value(self) -> Bool[np.ndarray, "n d"]:
        return ~np.isnan(self.world.values)


def observe_values(visible: RowValues, acquired: RowPanels, *, column_bits: bool) -> RowReadings:
    """Output of `ValuesEncoder` for visible values, NaN where unknown; bit for bit. (m, w)"""
    parts = [np.nan_to_num(visible, nan=0.0), acquired]
    if column_bits:
        parts.insert(1, ~np.isnan(visible))
    return np.hstack([part.astype(np.float32) for part in parts])


@dataclass(frozen=True, eq=False)
class CallableEncoder:
    """Any function of a state's values, evaluated once for all states of a step.

    Attributes:
        world: shows the values.
        function: (visible values, NaN where unknown (m, d); acquired (m, a)) → (m, w).
        width: w.
    """

    world: World
    function: VisibleFunction
    width: int

    def encode(self, row: Int[np.ndarray, " m"], acquired: RowPanels) -> RowReadings:
        """Observations of m states. (m, w)"""
        return self.function(self.world.visible(row, acquired), acquired)
