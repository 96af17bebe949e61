"""Columns on their way from raw cells to a table, set aside one by one and read block by block.

What is in memory is one column of all rows, or all columns of one block. Knows no description.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from frugal.core.blocks import block_slices
from frugal.core.rows import Scratch


class TypedColumns:
    """Numbers, or levels as texts, of each feature in every record."""

    def __init__(self) -> None:
        self._kept = Scratch()
        self._levels: dict[str, np.ndarray] = {}
        self._names: list[str] = []

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[name] for name in self._names)

    @property
    def names(self) -> list[str]:
        """Features, in the order in which they came."""
        return list(self._names)

    def put(self, name: str, values: np.ndarray) -> None:
        """A feature in every record; texts are None where there is none. (records,)"""
        self._names.append(name)
        if values.dtype == object:
            import pandas as pd

            code, levels = pd.factorize(values)
            self._levels[name] = np.array([*levels, None], dtype=object)
            values = code.astype(np.int32)
        self._kept.put(name, values)

    def __getitem__(self, name: str) -> np.ndarray:
        values = self._kept.column(name)
        return self._levels[name][values] if name in self._levels else values


@dataclass(frozen=True)
class EncodedColumn:
    """What is said of the encoded columns of one feature: their names and units, whether they are a
    one-hot code, and how often each special value was found.
    """

    names: tuple[str, ...]
    unit: tuple[str, ...]
    onehot: bool
    codes: dict[str, int]


class EncodedColumns:
    """Encoded columns of n rows, d of them.

    Args:
        rows: n.
    """

    def __init__(self, rows: int) -> None:
        self._kept = Scratch()
        self.rows, self.width = rows, 0
        self.blocks = block_slices(rows)

    def put(self, values: Float[np.ndarray, "n c"]) -> None:
        """The next columns."""
        for column in values.T:
            for rows in self.blocks:
                self._kept.put(self.width, column[rows])
            self.width += 1

    def block(self, number: int) -> Float[np.ndarray, "n d"]:
        """All columns of one block, column by column in memory. (n, d)"""
        rows = self.blocks[number]
        values = np.empty((rows.stop - rows.start, self.width), order="F")
        for j in range(self.width):
            values[:, j] = self._kept.block(j, number)
        return values

    def whole(self) -> Float[np.ndarray, "n d"]:
        """All columns of all rows, in memory. (n, d)"""
        values = np.empty((self.rows, self.width), order="F")
        for j in range(self.width):
            values[:, j] = self._kept.column(j)
        return values


def onehot_groups(columns: Sequence[EncodedColumn]) -> tuple[tuple[int, ...], ...]:
    """Places of the columns of each one-hot code."""
    groups, start = [], 0
    for column in columns:
        stop = start + len(column.names)
        if column.onehot:
            groups.append(tuple(range(start, stop)))
        start = stop
    return tuple(groups)
