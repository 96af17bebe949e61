"""Which named class or group a raw value means: by its text, or by the range its number is in.

Serves the label and the sensitive attribute of every data set. Knows no panel and no file format.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int


@dataclass(frozen=True)
class Bounds:
    """Half-open range [low, high) of a number; each end may differ by the text of another column.

    An end is None (open), one number for every row, or a number for each text.
    """

    low: float | Mapping[str, float] | None
    high: float | Mapping[str, float] | None


@dataclass(frozen=True)
class Classes:
    """Names of classes in order, and how a raw value tells them apart.

    Attributes:
        column: raw column.
        by: raw column whose text chooses among the bounds, or None.
        names: of the k classes.
        values: texts that mean each class; empty tuples where bounds decide.
        bounds: range that means each class; empty where texts decide.
    """

    column: str
    by: str | None
    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    bounds: tuple[Bounds, ...]

    def index_of_text(self, text: np.ndarray) -> Int[np.ndarray, " n"]:
        """Class index of each text, −1 where it means none. (n,)"""
        meaning = {value: k for k, values in enumerate(self.values) for value in values}
        import pandas as pd  # the description alone must stay light

        kind, kinds = pd.factorize(text)  # −1 for None
        return np.array([*(meaning.get(one, -1) for one in kinds), -1], dtype=np.int64)[kind]

    def index_of_number(self, number: np.ndarray, by: np.ndarray | None) -> Int[np.ndarray, " n"]:
        """Class index of each number, −1 where it lies in no range (or is NaN). (n,)

        Args:
            number: values of the column, NaN where missing. (n,)
            by: texts that choose among bounds; None where no bound depends on one. (n,)
        """
        index = np.full(len(number), -1, dtype=np.int64)
        for k, bounds in enumerate(self.bounds):
            low, high = _end(bounds.low, by, -np.inf), _end(bounds.high, by, np.inf)
            index[(number >= low) & (number < high)] = k
        return index


def classes_from(entry: Mapping[str, Any], *, key: str) -> Classes:
    """Classes of a checked part of a description; `key` holds the list of classes."""
    listed = entry[key]
    ends = [tuple(_bound(c.get(end)) for end in ("from", "below")) for c in listed]
    ranged = any(end is not None for pair in ends for end in pair)
    return Classes(
        column=entry["column"],
        by=entry.get("by"),
        names=tuple(c["name"] for c in listed),
        values=tuple(tuple(str(v) for v in c.get("values") or ()) for c in listed),
        bounds=tuple(Bounds(*pair) for pair in ends) if ranged else (),
    )


def _bound(value: Any) -> float | dict[str, float] | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return {str(text): float(number) for text, number in value.items()}
    return float(value)


def _end(
    bound: float | Mapping[str, float] | None, by: np.ndarray | None, otherwise: float
) -> float | np.ndarray:
    """The end of a range for each row; NaN, which no number meets, where its text is unknown."""
    if bound is None:
        return otherwise
    if not isinstance(bound, Mapping):
        return bound
    assert by is not None, "bug: bounds that depend on a column need its texts"
    return np.array([bound.get(one, np.nan) for one in by])
