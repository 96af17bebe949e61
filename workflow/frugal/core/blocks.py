"""Portions of a large job, and micro-blocks: the rows that stages work on at a time.

A portion is a job of its own: some seeds of a scenario, or some rows. Its output lies in a
folder `seeds=0-9` or `rows=0-1048575`. Its draws are named by seed and block, never by portion, so
that its numbers are those of the whole. Read by the Snakefile, so it imports nothing heavy.

Blocks are cut by the number of a row alone, and sums of blocks are joined pair by pair in a fixed
tree, so the result does not depend on how many blocks a job takes at a time. A job that fits
into one block gives the same result as without blocks. Knows no stage, no table and no file.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import add
from typing import TYPE_CHECKING, Any

from frugal.core.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np


BLOCK_ROWS = 1 << 17  # of a micro-block
SEEDS, ROWS = "seeds", "rows"  # wildcards that name a portion
KEYS = (SEEDS, ROWS)
_MOST_SEEDS = 100_000  # of one run of them
_ON = "on"  # to the last row


@dataclass(frozen=True)
class Portion:
    """Rows and seeds that one job processes.

    Attributes:
        seeds: of the scenario; None: all.
        rows: of the table; None: all.
    """

    seeds: tuple[int, ...] | None = None
    rows: slice | None = None

    @classmethod
    def of(cls, wildcards: Mapping[str, str]) -> "Portion":
        """Portion named by a job's wildcards.

        Raises:
            ConfigError: a name is none of a portion.
        """
        seeds, rows = (wildcards.get(key) for key in KEYS)
        return cls(
            None if seeds is None else _seeds_of(seeds), None if rows is None else _rows_of(rows)
        )

    def blocks(self, slices: Sequence[slice]) -> list[int]:
        """Numbers of the blocks that begin in these rows.

        Raises:
            ConfigError: the rows begin inside a block.
        """
        if self.rows is None:
            return list(range(len(slices)))
        start, stop = self.rows.start, self.rows.stop
        inside = [rows for rows in slices if rows.start < start < rows.stop]
        if inside:
            raise ConfigError(
                f"--wildcard rows={start}-…: rows begin where a block does, the next ones at "
                f"{inside[0].start} and {inside[0].stop}"
            )
        return [
            number
            for number, rows in enumerate(slices)
            if start <= rows.start and (stop is None or rows.start < stop)
        ]


FULL_PORTION = Portion()


def whole(wildcards: Mapping[str, str]) -> dict[str, str]:
    """The identity of the job that a portion is of."""
    return {key: value for key, value in wildcards.items() if key not in KEYS}


def keys_of(wildcards: Mapping[str, str]) -> dict[str, str]:
    """Identity of a job, from a rule's wildcards, where a portion is `/seeds=0-9` or empty."""
    return {
        key: value.removeprefix(f"/{key}=")
        for key, value in wildcards.items()
        if value or key not in KEYS
    }


def seeds_name(seeds: Sequence[int]) -> str:
    """Seeds in their order, runs of them as `first-last`: `0-9`, `3+1`.

    Without a comma, which Snakemake would take for the end of a wildcard of a submitted job.
    """
    cuts = [k for k, (a, b) in enumerate(pairwise(seeds), start=1) if b != a + 1]
    runs = [seeds[a:b] for a, b in pairwise([0, *cuts, len(seeds)])]
    return "+".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def rows_names(rows: int, each: int) -> list[str]:
    """Names of portions of whole blocks of at most so many rows; the last one goes on to the end.

    Args:
        rows: about as many as the table has; more or fewer change no number.
        each: rows of a portion; of one block at the least.
    """
    step = max(each // BLOCK_ROWS, 1) * BLOCK_ROWS
    starts = list(range(0, max(rows, 1), step))
    return [f"{start}-{start + step - 1}" for start in starts[:-1]] + [f"{starts[-1]}-{_ON}"]


def _seeds_of(name: str) -> tuple[int, ...]:
    seeds: list[int] = []
    for run in name.split("+"):
        first, dash, last = run.partition("-")
        valid = first.isdecimal() and (not dash or last.isdecimal())
        if not valid or not 0 <= int(last or first) - int(first) < _MOST_SEEDS:
            raise ConfigError(f"--wildcard seeds={name}: allowed are seeds as in 0-9 or 0-2+7")
        seeds += range(int(first), int(last or first) + 1)
    return tuple(seeds)


def _rows_of(name: str) -> slice:
    first, _, last = name.partition("-")
    valid = first.isdecimal() and (last == _ON or last.isdecimal())
    if not valid or (last != _ON and int(last) < int(first)):
        raise ConfigError(f"--wildcard rows={name}: allowed are rows as in 0-131071 or 131072-on")
    return slice(int(first), None if last == _ON else int(last) + 1)


def block_slices(rows: int) -> list[slice]:
    """The rows of each block, in order; one empty block where there is no row."""
    return [
        slice(start, min(start + BLOCK_ROWS, rows)) for start in range(0, max(rows, 1), BLOCK_ROWS)
    ]


class TreeSum:
    """Sum over blocks, joined pairwise by the number of the block.

    Block 2k is joined with block 2k + 1, that pair with the next one, and so on: the order of
    additions follows from how many blocks there are. The sum of one block is its value.
    """

    def __init__(self, join: Callable[[Any, Any], Any] = add) -> None:
        self._join = join
        self._waiting: list[tuple[int, Any]] = []  # height of each part of the tree, and its sum

    def put(self, part: Any) -> None:
        """Add the value of the next block."""
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
    """Sum of the values of all blocks, in their order; see `TreeSum`."""
    summed = TreeSum(join)
    for part in parts:
        summed.put(part)
    return summed.total


class BlockDraws:
    """Numbers in [0, 1) that a generator would draw for all rows at once, block by block.

    Each uniform number of PCG64 takes one step, so a block's draws are found by steps forward.
    """

    def __init__(self, generator: "np.random.Generator", width: int) -> None:
        self._state = generator.bit_generator.state
        self._width = width

    def of(self, rows: slice) -> "np.ndarray":
        """Those of some rows: rows `start` to `stop` of `generator.random((n, width))`."""
        import numpy as np

        bits: Any = np.random.PCG64()
        bits.state = self._state
        bits.advance(rows.start * self._width)
        return np.random.Generator(bits).random((rows.stop - rows.start, self._width))


def sample_of(rows: int, most: int, rng: "np.random.Generator") -> "np.ndarray":
    """Numbers of at most so many rows, ascending: all of them, or a random sample. (m,)"""
    import numpy as np

    if rows <= most:
        return np.arange(rows)
    return np.sort(rng.choice(rows, most, replace=False, shuffle=False))
