"""Requirements on a model read from a file: names, types, shapes and ranges of its arrays.

A file may have been edited, cut or made by another program; compiled loops trust their input. A
model declares its arrays once, on its fields or as `Array`s by name, and `Stored.require` refuses
all else in one sentence that names the file. The shape of a JSON document is written as the
document itself would be, with types in place of values. Must not know any model or document.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np

from frugal.core.errors import DataError
from frugal.core.table import LARGEST

_WORDS: dict[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    list: "a list",
}


@dataclass(frozen=True)
class Each:
    """A mapping from any texts to values of one shape."""

    shape: Any


@dataclass(frozen=True)
class OrNull:
    """A value of a shape, or null."""

    shape: Any


def require_document(document: Any, shape: Any, subject: str) -> None:
    """A document has a shape.

    Args:
        document: as JSON gives it.
        shape: `str`, `bool`, `int`, `float` (a finite number), `[shape]` for a list of any length,
            `{key: shape}` for a mapping with exactly these keys, `Each`, `OrNull`; `dict` and
            `object` for values that are not checked.
        subject: the document is, for the sentence.

    Raises:
        DataError: names the first place that differs, its value and the values allowed.
    """
    _require(document, shape, f"the stored {subject}", "")


def _require(value: Any, shape: Any, subject: str, at: str) -> None:
    if isinstance(shape, OrNull):
        if value is not None:
            _require(value, shape.shape, subject, at)
        return
    where = f"{subject} at {at}" if at else subject
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise DataError(f"{where} is {_shown(value)}; a list is needed")
        for i, entry in enumerate(value):
            _require(entry, shape[0], subject, f"{at}[{i}]")
    elif isinstance(shape, Each | Mapping) or shape is dict:
        if not isinstance(value, Mapping):
            raise DataError(f"{where} is {_shown(value)}; a mapping is needed")
        if shape is not dict:
            _require_entries(value, shape, subject, at)
    elif not _is(value, shape):
        raise DataError(f"{where} is {_shown(value)}; {_WORDS[shape]} is needed")


def _require_entries(value: Mapping[Any, Any], shape: Any, subject: str, at: str) -> None:
    start = f"{at}." if at else ""
    if isinstance(shape, Each):
        for key, entry in value.items():
            if not isinstance(key, str):
                raise DataError(
                    f"{subject}{f' at {at}' if at else ''} has the key {_shown(key)}; a text is "
                    "needed"
                )
            _require(entry, shape.shape, subject, f"{start}{str(key)[:60]}")
        return
    if odd := [*(k for k in shape if k not in value), *(k for k in value if k not in shape)]:
        raise DataError(
            f"{subject}{f' at {at}' if at else ''} lacks or adds {str(odd[0])[:60]!r}; its keys "
            f"are {', '.join(shape)}"
        )
    for key, inner in shape.items():
        _require(value[key], inner, subject, f"{start}{key}")


def _is(value: Any, shape: type) -> bool:
    if shape is object:
        return True
    if shape is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and _finite(value)
    return isinstance(value, shape) and (shape is bool or not isinstance(value, bool))


def _finite(value: float | int) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond any float
        return False


def _shown(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return "a mapping" if isinstance(value, Mapping) else "a list"
    return "null" if value is None else f"{str(value)[:60]!r}"


Number = float | int
_SHOWN = 12  # names that a sentence lists


class StoredArrays(dict[str, np.ndarray]):
    """Arrays by name, with the file that they were read from.

    Attributes:
        source: path of the file, for sentences.
        header: the file's own metadata; None where it has none.
    """

    def __init__(
        self, arrays: Mapping[str, np.ndarray], source: str, header: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(arrays)
        self.source, self.header = source, header


def part_of(arrays: Mapping[str, np.ndarray], names: Mapping[str, str]) -> Mapping[str, np.ndarray]:
    """Some arrays under other names, which still know their file.

    Args:
        arrays: all.
        names: new name → name in `arrays`.

    Raises:
        DataError: one is not there.
    """
    if absent := [old for old in names.values() if old not in arrays]:
        raise DataError(f"{_source(arrays) or 'the stored arrays'} lacks {absent[0]!r}")
    return StoredArrays({new: arrays[old] for new, old in names.items()}, _source(arrays))


def under(arrays: Mapping[str, np.ndarray], prefix: str) -> Mapping[str, np.ndarray]:
    """The arrays whose names begin with a prefix, without it; they still know their file."""
    return part_of(
        arrays, {name.removeprefix(prefix): name for name in arrays if name.startswith(prefix)}
    )


def apart(arrays: Mapping[str, np.ndarray], *prefixes: str) -> Mapping[str, np.ndarray]:
    """The arrays whose names begin with none of some prefixes; they still know their file."""
    return part_of(arrays, {name: name for name in arrays if not name.startswith(prefixes)})


def _source(arrays: Mapping[str, np.ndarray]) -> str:
    return arrays.source if isinstance(arrays, StoredArrays) else ""


@dataclass(frozen=True)
class Array:
    """Requirements on one stored array.

    Attributes:
        dtype: name of its NumPy type; or names, where several are allowed.
        shape: of each axis its size: a number, or a letter that denotes the same size everywhere.
        low: smallest entry; −LARGEST for floats that may be anything finite.
        high: largest entry.
        above: entries are larger than this number.
    """

    dtype: str | tuple[str, ...]
    shape: tuple[int | str, ...]
    low: Number = -LARGEST
    high: Number = LARGEST
    above: Number = -np.inf

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The allowed types."""
        return (self.dtype,) if isinstance(self.dtype, str) else self.dtype


Within = partial(Array, dtype="", shape=())  # bounds of a field whose type has the rest


def declared(model: type) -> dict[str, Array]:
    """Requirements on the arrays of a dataclass, by name of field.

    A field that is stored has a type such as `Annotated[Float[np.ndarray, "n d"], Within(low=0)]`.
    Axes and numbers are those of jaxtyping, in 64 bits where it allows any width.
    """
    expected: dict[str, Array] = {}
    for each in fields(model):
        for bounds in getattr(each.type, "__metadata__", ()):
            of: Any = getattr(each.type, "__origin__", None)
            dtype = next(t for t in ("bool", "int64", "float64", *of.dtypes) if t in of.dtypes)
            shape = tuple(int(a) if a.isdecimal() else a.strip("*") for a in of.dim_str.split())
            expected[each.name] = replace(bounds, dtype=bounds.dtype or dtype, shape=shape)
    return expected


def arrays_of(model: Any) -> dict[str, np.ndarray]:
    """The arrays that the fields of a dataclass declare as stored, by name."""
    return {name: getattr(model, name) for name in declared(type(model))}


@dataclass(frozen=True, eq=False)
class Stored:
    """The arrays of one stored model, to be checked.

    Attributes:
        subject: kind of model, as sentences name it.
        arrays: by name.
    """

    subject: str
    arrays: Mapping[str, np.ndarray]

    def refusal(self, reason: str) -> DataError:
        """The error to raise: which file, which model, which defect."""
        source = _source(self.arrays)
        return DataError(f"{source + ': ' if source else ''}the stored {self.subject} {reason}")

    def require(
        self, expected: Mapping[str, Array], *, empty: Collection[str] = (), **sizes: int
    ) -> dict[str, int]:
        """Every array is there, no other is, and each has its type and shape.

        Args:
            expected: by name.
            empty: letters whose size may be 0; all others are at least 1.
            sizes: letters whose size is known.

        Returns:
            Size denoted by each letter.

        Raises:
            DataError: names the first array that is not as expected, its value, and the values
                allowed.
        """
        self._require_names(expected)
        for name, array in expected.items():
            actual = self.arrays[name].dtype
            if actual not in [np.dtype(dtype) for dtype in array.dtypes]:
                allowed = " or ".join(array.dtypes)
                raise self.refusal(
                    f"has an array {name!r} of {actual.str} numbers; allowed: {allowed}"
                )
            self._require_shape(name, array, sizes, empty)
            self.require_between(name, array.low, array.high, above=array.above)
        return sizes

    def _require_names(self, expected: Mapping[str, Array]) -> None:
        for name in expected:
            if name not in self.arrays:
                raise self.refusal(f"lacks the array {name!r}")
        for name in self.arrays:
            if name not in expected:
                allowed = ", ".join([*expected][:_SHOWN]) + (
                    ", …" if len(expected) > _SHOWN else ""
                )
                raise self.refusal(f"has the array {str(name)[:80]!r}; allowed are {allowed}")

    def _require_shape(
        self, name: str, expected: Array, sizes: dict[str, int], empty: Collection[str]
    ) -> None:
        """The array's shape; letters that are met for the first time get their size."""
        actual = self.arrays[name].shape
        if len(actual) == len(expected.shape):
            for axis, size in zip(expected.shape, actual, strict=True):
                if isinstance(axis, str) and (size > 0 or axis in empty):
                    sizes.setdefault(axis, size)
        required = tuple(
            sizes.get(axis, axis) if isinstance(axis, str) else axis for axis in expected.shape
        )
        if actual != required:
            raise self.refusal(
                f"has an array {name!r} of shape {_listed(actual)}; allowed: {_listed(required)}"
                f"{', each at least 1' if any(isinstance(axis, str) for axis in required) else ''}"
            )

    def require_between(
        self, name: str, low: Number, high: Number, *, above: Number = -np.inf
    ) -> None:
        """Every entry of an array lies from low to high, and above `above`; none is NaN.

        Raises:
            DataError: names the first that does not.
        """
        array = self.arrays[name]
        if array.dtype == bool:  # a byte of a file may be 2, which compiled code would trust
            array, low, high = np.ascontiguousarray(array).view(np.uint8), 0, 1
        if array.size == 0:
            return
        least, most = array.min(), array.max()  # NaN if any entry is
        if low <= least and most <= high and least > above:
            return
        at = np.argwhere(~((array >= low) & (array <= high) & (array > above)))[0]
        raise self.refusal(
            f"has {array[tuple(at)]} in the array {name!r} at {at.tolist()}; allowed are "
            f"{_range(array.dtype, low, high, above)}"
        )

    def require_equal(self, name: str, derived: np.ndarray, because: str) -> None:
        """A derivable array equals the derived one.

        Raises:
            DataError: it is another.
        """
        if not np.array_equal(self.arrays[name], derived):
            raise self.refusal(f"has an array {name!r} that is not {because}")

    def require_rising(self, name: str) -> None:
        """Each entry of a vector is larger than the one before.

        Raises:
            DataError: names the first that is not.
        """
        array = self.arrays[name]
        wrong = np.flatnonzero(array[1:] <= array[:-1])
        if wrong.size:
            at = int(wrong[0]) + 1
            raise self.refusal(
                f"has {array[at]} after {array[at - 1]} in the array {name!r} at [{at}]; allowed "
                "are entries that rise"
            )


def _listed(shape: Sequence[Any]) -> str:
    return "(" + ", ".join(str(axis) for axis in shape) + ")"


def _range(dtype: np.dtype, low: Number, high: Number, above: Number) -> str:
    kind = "finite numbers" if dtype.kind == "f" else "whole numbers"
    if above > -np.inf:
        return f"{kind} above {above:g}"
    if low == high:
        return f"{low:g} alone"
    bounds = (
        f"from {low:.9g}" if low > -LARGEST else "",
        f"to {high:.9g}" if high < LARGEST else "",
    )
    return " ".join([kind, *filter(None, bounds)])
