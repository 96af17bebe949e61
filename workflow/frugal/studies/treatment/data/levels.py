"""Columns of one's own records as levels, and their combinations as contexts and strata.

Errors name the cell that is no level. Knows no trial.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from frugal.core.errors import DataError, shown_cell
from frugal.data.long_files import LongFile

MISSING = "missing"  # level of a covariate that the file leaves empty


@dataclass(frozen=True)
class ColumnLevels:
    """A column as levels: those of its texts, or intervals between edges.

    Attributes:
        column: of the file.
        names: of the levels, for people; of outcomes from the worst on.
        texts: of each level in the file; empty where numbers are cut.
        edges: at which numbers are cut, ascending.
        falling: True where lower numbers are later levels.
    """

    column: str
    names: tuple[str, ...]
    texts: tuple[str, ...]
    edges: tuple[float, ...]
    falling: bool = False

    def code(self, file: LongFile) -> Int[np.ndarray, " n"]:
        """Index of the level of each cell of a file; −1 where there is no value.

        Raises:
            DataError: a cell is none of the levels, or no number; which, and where.
        """
        if self.texts:
            return file.levels(self.column, self.texts)
        numbers = file.numbers(self.column, empty=True)
        place = np.searchsorted(self.edges, numbers, side="right")
        place = len(self.edges) - place if self.falling else place
        return np.where(np.isnan(numbers), -1, place)


@dataclass(frozen=True, eq=False)
class Strata:
    """Combinations of the levels of some columns. Shapes: x combinations, f indicators.

    Every combination has an index, seen or not.

    Attributes:
        kinds: the columns.
        missing_levels: True where `missing` is a level of a column.
        names: of the combinations, for people.
        features: indicators of each column's levels. (x, f)
    """

    kinds: tuple[ColumnLevels, ...]
    missing_levels: tuple[bool, ...]
    names: tuple[str, ...]
    features: Float[np.ndarray, "x f"]

    def index(self, levels: Int[np.ndarray, "n c"], units: Sequence[str]) -> Int[np.ndarray, " n"]:
        """Combination of each unit. (n,)

        Raises:
            DataError: a column is empty that no record lacked.
        """
        if not self.kinds:
            return np.zeros(len(levels), dtype=np.int64)
        for c, (level, has_missing) in enumerate(zip(self.kinds, self.missing_levels, strict=True)):
            empty = np.flatnonzero(levels[:, c] == len(level.names))
            if len(empty) and not has_missing:
                raise DataError(
                    f"unit {shown_cell(units[empty[0]])} has no {level.column!r}, which no record "
                    "lacks"
                )
        lengths = [len(k.names) + g for k, g in zip(self.kinds, self.missing_levels, strict=True)]
        return np.asarray(np.ravel_multi_index(list(levels.T), lengths), dtype=np.int64)


def strata_of(levels: Int[np.ndarray, "n c"], kinds: tuple[ColumnLevels, ...]) -> Strata:
    """Combinations of columns; `missing` is a level of those that lack a value somewhere."""
    missing_levels = tuple(bool((levels[:, c] == len(k.names)).any()) for c, k in enumerate(kinds))
    return combined(kinds, missing_levels)


def combined(kinds: tuple[ColumnLevels, ...], missing_levels: tuple[bool, ...]) -> Strata:
    """The combinations of these columns' levels, the first column slowest."""
    if not kinds:
        return Strata((), (), ("all",), np.zeros((1, 0)))
    texts_by_column = [
        [*k.names, *[MISSING] * g] for k, g in zip(kinds, missing_levels, strict=True)
    ]
    names = [""]
    for level, texts in zip(kinds, texts_by_column, strict=True):
        names = [
            f"{n}, {level.column} {v}" if n else f"{level.column} {v}" for n in names for v in texts
        ]
    lengths = [len(texts) for texts in texts_by_column]
    grid = np.indices(lengths).reshape(len(lengths), -1)
    features = np.concatenate([np.eye(m)[grid[f]] for f, m in enumerate(lengths)], axis=1)
    return Strata(kinds, missing_levels, tuple(names), features)
