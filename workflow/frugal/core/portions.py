"""Portions of a large job, each a job of its own: some seeds of a scenario, or some rows.

What a portion makes lies in a folder `seeds=0-9` or `rows=0-1048575`. Its draws are named by seed
and block, never by portion, so that its numbers are those of the whole. Read by the Snakefile, so
it imports nothing heavy. Knows no stage.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from frugal.core.errors import ConfigError

BLOCK_ROWS = 1 << 17  # of a micro-block, see `blocks`
SEEDS, ROWS = "seeds", "rows"  # wildcards that name a portion
KEYS = (SEEDS, ROWS)
_MOST_SEEDS = 100_000  # of one run of them
_ON = "on"  # to the last row


@dataclass(frozen=True)
class Portion:
    """What one job is to do.

    Attributes:
        seeds: of the scenario; None: all.
        rows: of the table; None: all.
    """

    seeds: tuple[int, ...] | None = None
    rows: slice | None = None

    @classmethod
    def of(cls, wildcards: Mapping[str, str]) -> "Portion":
        """What a job's wildcards name.

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


WHOLE = Portion()


def whole(wildcards: Mapping[str, str]) -> dict[str, str]:
    """The identity of the job that a portion is of."""
    return {key: value for key, value in wildcards.items() if key not in KEYS}


def keys_of(wildcards: Mapping[str, str]) -> dict[str, str]:
    """What tells a job apart, from a rule's wildcards, where a portion is `/seeds=0-9` or empty."""
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
    found: list[int] = []
    for run in name.split("+"):
        first, dash, last = run.partition("-")
        known = first.isdecimal() and (not dash or last.isdecimal())
        if not known or not 0 <= int(last or first) - int(first) < _MOST_SEEDS:
            raise ConfigError(f"--wildcard seeds={name}: allowed are seeds as in 0-9 or 0-2+7")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _rows_of(name: str) -> slice:
    first, _, last = name.partition("-")
    known = first.isdecimal() and (last == _ON or last.isdecimal())
    if not known or (last != _ON and int(last) < int(first)):
        raise ConfigError(f"--wildcard rows={name}: allowed are rows as in 0-131071 or 131072-on")
    return slice(int(first), None if last == _ON else int(last) + 1)
