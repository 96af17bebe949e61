"""Stored arrays spoilt in one place: dropped, added, cut, of another type, out of range, NaN."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from tests.unit.spoiling import sentence_of

Arrays = dict[str, np.ndarray]
WHOLE = (-1, 0, 1, 2, 10**8, np.iinfo(np.int64).min, np.iinfo(np.int64).max)
REAL = (np.nan, np.inf, -np.inf, 0.0, -1.0, 2.0, 1e30, -1e30)
TYPES = (
    "bool",
    "uint8",
    "int16",
    "int32",
    "int64",
    "float16",
    "float32",
    "float64",
    ">f4",
    ">f8",
    ">i8",
    "complex64",
    "U1",
)


def spoilt_arrays(arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[str, Arrays]]:
    """Every copy of the arrays that is wrong in one place, with words for it."""
    yield "one array too many", {**arrays, "zzz": np.zeros(3)}
    yield "nothing", {}
    for name, array in arrays.items():
        yield f"no {name}", {key: own for key, own in arrays.items() if key != name}
        for what, wrong in _spoilt(array):
            yield f"{name}: {what}", {**arrays, name: wrong}


def _spoilt(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    for axis in range(array.ndim):
        yield f"axis {axis} cut", np.take(array, range(array.shape[axis] - 1), axis)
        last = np.take(array, [-1] if array.shape[axis] else [], axis)
        yield f"axis {axis} longer", np.concatenate([array, last], axis)
        yield f"axis {axis} empty", np.take(array, range(0), axis)
    yield "one more axis", array[None]
    yield "flat", array.reshape(-1)
    yield "reversed", array[..., ::-1].copy() if array.ndim else array
    for dtype in TYPES:
        if array.dtype != np.dtype(dtype):
            with np.errstate(all="ignore"):
                yield f"as {dtype}", array.astype(dtype)
    if array.dtype == bool:
        bytes_ = array.view(np.uint8).copy()
        bytes_.reshape(-1)[:1] = 2
        yield "a byte of 2", bytes_.view(bool)
        yield "the other way", ~array
    else:
        yield from _with_entries(array)


def _with_entries(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """One entry, first, in the middle or last, and all of them, of a value that may be wrong."""
    values: tuple[Any, ...] = REAL if array.dtype.kind == "f" else WHOLE
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        values = tuple(v for v in values if limits.min <= v <= limits.max)
    places = dict.fromkeys([0, array.size // 2, array.size - 1] if array.size else [])
    for value in values:
        for at in places:
            wrong = array.copy()
            wrong.reshape(-1)[at] = value
            yield f"{value} at {at}", wrong
        yield f"{value} everywhere", np.full_like(array, value)
    if array.dtype.kind in "iu":
        for at in (at for at in places if at <= np.iinfo(array.dtype).max):
            wrong = array.copy()
            wrong.reshape(-1)[at] = at  # a node that is its own child
            yield f"its own number at {at}", wrong


def outcomes_of(
    arrays: Mapping[str, np.ndarray], use: Callable[[Arrays], list[np.ndarray]], *, every: int = 1
) -> dict[str, str | None]:
    """What is said of each spoilt copy; None where it is used, with finite results as before.

    Args:
        arrays: a model that works.
        use: what is done with it.
        every: one of so many copies, drawn evenly, is tried, where trying takes long.

    Raises:
        AssertionError: a result has another shape or is not finite. Any error but a `FrugalError`
            of one sentence passes through, as a defect.
    """
    plain = [np.shape(result) for result in use(dict(arrays))]
    said: dict[str, str | None] = {}
    rng = np.random.default_rng(0)
    for place, (what, wrong) in enumerate(spoilt_arrays(arrays)):
        if place > 2 and rng.integers(every):
            continue
        kept: list[list[np.ndarray]] = []
        try:
            said[what] = sentence_of(lambda wrong=wrong, kept=kept: kept.append(use(wrong)))
        except Exception as error:
            error.add_note(f"spoilt: {what}")
            raise
        for result, shape in zip(kept[0] if kept else (), plain, strict=bool(kept)):
            assert np.shape(result) == shape, what
            assert np.isfinite(result).all(), what
    return said
