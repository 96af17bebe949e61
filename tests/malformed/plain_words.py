"""A change of a document in the words of its writer."""

from typing import Any

from tests.unit.spoiling import DELETE

_LONGEST = 60


def of_change(place: tuple[Any, ...], value: Any) -> str:
    """`` `afape.seeds: []` ``, or ``without `seed` ``."""
    key = ""
    for part in place:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else str(part)
    if value is DELETE:
        return f"without `{key}`"
    shown = (
        "null" if value is None else repr(value).lower() if isinstance(value, bool) else repr(value)
    )
    if len(shown) > _LONGEST:
        shown = f"{shown[:20]}…, {len(shown)} characters"
    return f"`{key}: {shown}`"
