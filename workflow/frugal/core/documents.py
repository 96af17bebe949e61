"""What a JSON document read from a file must be, before a step takes numbers and names from it.

A shape is written as the document itself would be, with types in place of values. Must not know any
document.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frugal.core.errors import DataError

_WORDS: dict[type, str] = {
    str: "a text", bool: "true or false", int: "a whole number", float: "a finite number",
    list: "a list",
}  # fmt: skip


@dataclass(frozen=True)
class Each:
    """A mapping from any texts to values of one shape."""

    shape: Any


@dataclass(frozen=True)
class OrNull:
    """A value of a shape, or null."""

    shape: Any


def require_document(document: Any, shape: Any, what: str) -> None:
    """A document has a shape.

    Args:
        document: as JSON gives it.
        shape: `str`, `bool`, `int`, `float` (a finite number), `[shape]` for a list of any length,
            `{key: shape}` for a mapping with exactly these keys, `Each`, `OrNull`; `dict` and
            `object` for what is not looked into.
        what: the document is, for the sentence.

    Raises:
        DataError: names the first place that has another, what is there and what is allowed.
    """
    _require(document, shape, f"the stored {what}", "")


def _require(value: Any, shape: Any, what: str, at: str) -> None:
    if isinstance(shape, OrNull):
        if value is not None:
            _require(value, shape.shape, what, at)
        return
    where = f"{what} at {at}" if at else what
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise DataError(f"{where} is {_shown(value)}; a list is needed")
        for i, entry in enumerate(value):
            _require(entry, shape[0], what, f"{at}[{i}]")
    elif isinstance(shape, Each | Mapping) or shape is dict:
        if not isinstance(value, Mapping):
            raise DataError(f"{where} is {_shown(value)}; a mapping is needed")
        if shape is not dict:
            _require_entries(value, shape, what, at)
    elif not _is(value, shape):
        raise DataError(f"{where} is {_shown(value)}; {_WORDS[shape]} is needed")


def _require_entries(value: Mapping[Any, Any], shape: Any, what: str, at: str) -> None:
    start = f"{at}." if at else ""
    if isinstance(shape, Each):
        for key, entry in value.items():
            if not isinstance(key, str):
                raise DataError(f"{what}{f' at {at}' if at else ''} has the key {_shown(key)}; "
                                "a text is needed")  # fmt: skip
            _require(entry, shape.shape, what, f"{start}{str(key)[:60]}")
        return
    if odd := [*(k for k in shape if k not in value), *(k for k in value if k not in shape)]:
        raise DataError(
            f"{what}{f' at {at}' if at else ''} lacks or adds {str(odd[0])[:60]!r}; its keys are "
            f"{', '.join(shape)}"
        )
    for key, inner in shape.items():
        _require(value[key], inner, what, f"{start}{key}")


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
