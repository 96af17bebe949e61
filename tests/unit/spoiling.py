"""Valid documents spoilt in one place, and what every refusal must be: one clear sentence."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

from frugal.core.errors import FrugalError

# Each is wrong somewhere: of another type, out of range, not finite, too long, not a name.
NASTY: tuple[Any, ...] = (
    *(None, True, -1, 0, 1.5, -0.0, 1e308, float("nan"), float("inf"), 10**30),
    *("", "x", "../../etc/passwd", "/tmp/x", "a b", "ü" * 300, "x\ny", "{}", "null", "!!python"),
    *([], [None], [[]], ["x", "x"], {}, {"x": 1}, {"": ""}, {1: 2}, [{}]),
)
DELETE = object()


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in a document, itself excluded."""
    items = document.items() if isinstance(document, dict) else enumerate(document)
    for key, value in items:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))


def spoilt(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A copy with one value replaced, or, for DELETE, gone."""
    new = copy.deepcopy(document)
    parent = new
    for key in place[:-1]:
        parent = parent[key]
    if value is DELETE:
        del parent[place[-1]]
    else:
        parent[place[-1]] = copy.deepcopy(value)
    return new


def sentence_of(work: Callable[[], Any]) -> str | None:
    """What is said of bad input: one clear sentence; None where the input is allowed after all.

    Raises:
        AssertionError: the sentence is not one; any other error passes through, as a defect.
    """
    try:
        work()
    except FrugalError as error:
        said = str(error)
        assert said, "a refusal without a word"
        assert "\n" not in said.strip(), f"more than one line: {said!r}"
        assert len(said) < 1500, f"{len(said)} characters: {said[:200]!r}…"
        assert "Traceback" not in said
        assert "object at 0x" not in said
        return said
    return None
