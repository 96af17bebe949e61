"""Micro-blocks: a fixed number of rows that stages work on at a time, and sums joined in one order.

Blocks are cut by the number of a row alone, and sums of blocks are joined pair by pair in a fixed
tree, so that what follows does not depend on how many blocks a job takes at a time. What fits into
one block is what it would be without any. Knows no table and no file.
"""

from collections.abc import Callable, Iterable
from operator import add
from typing import Any

import numpy as np

from frugal.core.portions import BLOCK_ROWS


def block_slices(rows: int) -> list[slice]:
    """The rows of each block, in order; one empty block where there is no row."""
    return [
        slice(start, min(start + BLOCK_ROWS, rows)) for start in range(0, max(rows, 1), BLOCK_ROWS)
    ]


class TreeSum:
    """A sum of what blocks give, joined pairwise by the number of the block.

    Block 2k is joined with block 2k + 1, that pair with the next one, and so on: the order of
    additions follows from how many blocks there are. Of one block it is what the block gave.
    """

    def __init__(self, join: Callable[[Any, Any], Any] = add) -> None:
        self._join = join
        self._waiting: list[tuple[int, Any]] = []  # height of each part of the tree, and its sum

    def put(self, part: Any) -> None:
        """Add what the next block gives."""
        height = 0
        while self._waiting and self._waiting[-1][0] == height:
            part = self._join(self._waiting.pop()[1], part)
            height += 1
        self._waiting.append((height, part))

    @property
    def total(self) -> Any:
        """Of all blocks so far, of which there must be one."""
        assert self._waiting, "bug: a sum over no block"
        waiting = [part for _, part in self._waiting]
        total = waiting.pop()
        while waiting:
            total = self._join(waiting.pop(), total)
        return total


def tree_sum(parts: Iterable[Any], join: Callable[[Any, Any], Any] = add) -> Any:
    """Sum of what all blocks give, in their order; see `TreeSum`."""
    found = TreeSum(join)
    for part in parts:
        found.put(part)
    return found.total


class BlockDraws:
    """Numbers in [0, 1) that a generator would draw for all rows at once, block by block.

    Each uniform number of PCG64 takes one step, so that a block's draws are found by steps forward.
    """

    def __init__(self, generator: np.random.Generator, width: int) -> None:
        self._state = generator.bit_generator.state
        self._width = width

    def of(self, rows: slice) -> np.ndarray:
        """Those of some rows: rows `start` to `stop` of `generator.random((n, width))`."""
        bits: Any = np.random.PCG64()
        bits.state = self._state
        bits.advance(rows.start * self._width)
        return np.random.Generator(bits).random((rows.stop - rows.start, self._width))


def sample_of(rows: int, most: int, rng: np.random.Generator) -> np.ndarray:
    """Numbers of at most so many rows, ascending: all of them, or a random sample. (m,)"""
    if rows <= most:
        return np.arange(rows)
    return np.sort(rng.choice(rows, most, replace=False, shuffle=False))
