"""What a policy of one's own answers, read and checked: refused in a sentence with file and line.

Knows what a function returned and nothing of how it was called.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from frugal.core.errors import DataError, printable

STOP = "stop"
ROUNDING = 1e-6  # by which the sum of a row may miss 1, and two answers may differ
TELLING = 160  # characters of a foreign error, or of an answer, that a sentence repeats


@dataclass(frozen=True)
class Origin:
    """Where a function stands, for sentences.

    Attributes:
        path: of the file, as the config names it.
        name: of the function.
        line: of its definition.
    """

    path: str
    name: str
    line: int

    def refuse(self, reason: str, *, line: int | None = None) -> NoReturn:
        """Raise a sentence with file, line and function."""
        raise DataError(
            f"{printable(self.path)}, line {self.line if line is None else line}: the policy "
            f"{self.name!r} {reason}"
        )


def read_answer(
    origin: Origin, answer: Any, m: int, panels: Sequence[str]
) -> Float[np.ndarray, "m A"]:
    """An answer as probabilities, its shape and names checked. (m, a + 1)"""
    names = (*panels, STOP)
    if isinstance(answer, pd.DataFrame | pd.Series):
        answer = _in_order(origin, answer, m, names)
    elif not isinstance(answer, np.ndarray | list | tuple):
        origin.refuse(
            f"returns {shown(answer)}; allowed are probabilities as an array or a frame, or the "
            "name of a panel or 'stop' for each row"
        )
    try:
        array = np.asarray(answer)
    except Exception:
        origin.refuse("returns rows of different lengths, or no numbers")
    if array.ndim == 1 and array.dtype.kind in "OUT":
        return _law_of_names(origin, array, m, names)
    if array.shape != (m, len(names)):
        origin.refuse(
            f"returns an array of shape {array.shape}; allowed are {(m, len(names))} for {m} "
            f"states, {len(panels)} panels and 'stop', or {m} names"
        )
    if array.dtype.kind == "O":
        array = _numbers(origin, array)
    if array.dtype.kind not in "fiub":
        origin.refuse(f"returns entries of type {array.dtype}; allowed are numbers")
    return array.astype(np.float64)


def _in_order(
    origin: Origin, answer: pd.DataFrame | pd.Series, m: int, names: Sequence[str]
) -> np.ndarray:
    """Rows of a frame or series, which must be those asked for; columns sorted by name."""
    if not answer.index.equals(pd.RangeIndex(m)):
        origin.refuse(
            f"returns {len(answer)} rows for {m} states, or rows with another index than those of "
            "its arguments"
        )
    if isinstance(answer, pd.Series):
        return answer.to_numpy()
    if len(answer.columns) != len(names) or set(answer.columns) != set(names):
        origin.refuse(
            f"returns a frame of the columns {shown([*answer.columns])}; allowed are "
            f"{', '.join(names)}"
        )
    return answer[[*names]].to_numpy()


def _numbers(origin: Origin, array: np.ndarray) -> np.ndarray:
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        origin.refuse("returns entries that are not numbers")


def _law_of_names(
    origin: Origin, array: np.ndarray, m: int, names: Sequence[str]
) -> Float[np.ndarray, "m A"]:
    """1 for the action that is named. (m, a + 1)"""
    if len(array) != m:
        origin.refuse(f"returns {len(array)} names for {m} states")
    number = {name: i for i, name in enumerate(names)}
    for row, said in enumerate(array):
        if not isinstance(said, str) or said not in number:
            said = str(said) if isinstance(said, str) else said  # NumPy shows its own otherwise
            origin.refuse(f"names {shown(said)} for row {row}; allowed are {', '.join(names)}")
    return np.eye(len(names))[[number[said] for said in array]]


def require_law(
    origin: Origin,
    law: Float[np.ndarray, "m A"],
    acquired: Bool[np.ndarray, "m a"],
    available: Bool[np.ndarray, "m a"],
    panels: Sequence[str],
) -> None:
    """Rows are probabilities, of panels that are available and not acquired, and of "stop"."""
    names = (*panels, STOP)
    for wrong, said in (
        (~np.isfinite(law), "is no finite number"),
        (law < 0, "is below zero"),
        (law > 1 + ROUNDING, "is above 1"),
    ):
        if wrong.any():
            row, action = np.argwhere(wrong)[0]
            origin.refuse(
                f"gives {names[action]!r} the probability {law[row, action]:.6g} in row {row}, "
                f"which {said}"
            )
    total = law.sum(axis=1)
    off = np.abs(total - 1) > ROUNDING
    if off.any():
        row = int(off.argmax())
        origin.refuse(f"gives row {row} probabilities that sum to {total[row]:.6g}; allowed is 1")
    closed = (law[:, :-1] > 0) & (acquired | ~available)
    if closed.any():
        row, action = np.argwhere(closed)[0]
        why = "is acquired already" if acquired[row, action] else "is not available"
        origin.refuse(
            f"gives the panel {names[action]!r} the probability {law[row, action]:.6g} in row "
            f"{row}, where it {why}"
        )


def shown(thing: Any) -> str:
    """A thing of foreign code in few words, whatever its own words are."""
    try:
        return short(repr(thing))
    except Exception:
        return f"a {type(thing).__name__}"


def short(said: Any) -> str:
    """First line of a text, cut."""
    try:
        lines = [line.strip() for line in str(said).splitlines() if line.strip()]
    except Exception:
        lines = []
    text = printable(lines[0]) if lines else "no reason given"
    return text if len(text) <= TELLING else text[: TELLING - 1] + "…"
