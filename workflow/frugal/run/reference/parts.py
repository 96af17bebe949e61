"""Parts of reference pages: tables of Markdown, and words for the values a schema allows."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

VALUES = (
    "Where no type is given, a value has that of the default: 1 is an integer, 1.0 a number. "
    "Where no range is given, an integer is at least 1, a number above 0."
)


def head(title: str, page: str) -> str:
    """Title of a derived page, and the command that makes it."""
    return (
        f"# {title}\n\n"
        f"Reference. Made from the declarations by `python -m frugal reference {page}`.\n"
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; characters that would end a cell are escaped."""
    lines = [row(columns), row("---" for _ in columns)]
    return "\n".join([*lines, *(row(map(in_cell, cells)) for cells in rows)]) + "\n"


def row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def in_cell(text: str) -> str:
    """A text on one line, without a bar that would end its cell."""
    return " ".join(text.split()).replace("|", "\\|")


def line(key: str, words: str, value: str, meaning: str) -> str:
    """An entry of a list: key, default, values allowed, meaning."""
    named = f"`{key}: {value}`" if value else f"`{key}`"
    before = ", ".join(part for part in (named, words) if part)
    return f"- {before}: {' '.join(meaning.split())}" if meaning else f"- {before}"


def sentence(text: str) -> str:
    """A description as a sentence; one that begins with a path keeps its letter."""
    begins_with_path = "/" in text.partition(" ")[0]
    text = text if begins_with_path else text[:1].upper() + text[1:]
    return text if text.endswith((".", "?")) else f"{text}."


ABSENT: Any = object()  # no default
KEYS = "keys"
_KINDS = {
    "integer": "integer",
    "number": "number",
    "string": "text",
    "boolean": "true/false",
    "null": "null",
    "object": KEYS,
    "array": "list",
}
_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
_SHOWN_TYPES = {  # types that a default of theirs shows
    "boolean": bool,
    "integer": int,
    "number": float,
    "string": str,
}
_DEEPEST = 2  # lists in lists
_PLURAL = re.compile(r"\b(integer|number|text|list)\b")


def allowed(
    schema: Mapping[str, Any], defs: Mapping[str, Any], default: Any = ABSENT, depth: int = 0
) -> str:
    """Words for the values that a key may have, without those that its default shows."""
    schema = followed(schema, defs)
    if "enum" in schema:
        options = [f"`{_shown(option)}`" for option in schema["enum"] if option != default]
        return ("" if default is ABSENT else "or ") + ", ".join(options)
    if "const" in schema:
        return f"`{_shown(schema['const'])}`"
    if "oneOf" in schema:
        words = [allowed(option, defs, depth=depth + 1) for option in schema["oneOf"]]
        return _with_null(dict.fromkeys(words), default)
    types = schema.get("type", "object" if "properties" in schema else None)
    if isinstance(types, str) and isinstance(default, _SHOWN_TYPES.get(types, ())):
        return _range(schema)
    if isinstance(default, list) and default and isinstance(schema.get("items"), Mapping):
        of = followed(schema["items"], defs)
        each = allowed(of, defs, ABSENT if "enum" in of else default[0], depth + 1)
        return ("each of " if "enum" in of else "each ") + each if each else ""
    named = types if isinstance(types, list) else [types]
    return _with_null((_of_type(str(each), schema, defs, depth) for each in named if each), default)


def _with_null(words: Iterable[str], default: Any) -> str:
    """Joined, but for null where that is the default."""
    if default is not None:
        return " or ".join(words)
    return "or " + " or ".join(word for word in words if word != "null")


def followed(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a reference names, with the keys next to the reference."""
    while "$ref" in schema:
        named = defs[schema["$ref"].rsplit("/", 1)[1]]
        schema = {**named, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _of_type(name: str, schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> str:
    if name == "array" and isinstance(schema.get("items"), Mapping) and depth < _DEEPEST:
        inner = followed(schema["items"], defs)
        words = allowed(inner, defs, depth=depth + 1) if inner else ""
        words = _PLURAL.sub(r"\1s", words)
        return f"list of {words}" if words else "list"
    word = _KINDS.get(name, name)
    return f"{word} {_range(schema)}".strip() if name in ("integer", "number") else word


def _range(schema: Mapping[str, Any]) -> str:
    """Bounds of a number: those of most are in `VALUES`, two are an interval."""
    if schema.get("type") in ("string", "boolean"):
        return ""
    bounds = {key: schema[key] for key in _BOUNDS if key in schema}
    if bounds in ({"exclusiveMinimum": 0}, {"minimum": 1}):
        return ""
    if len(bounds) == 2:
        opens, closes = ("(["["minimum" in bounds], ")]"["maximum" in bounds])
        low, high = bounds.values()
        return f"{opens}{low:.15g},{high:.15g}{closes}"
    return " ".join(f"{_BOUNDS[key]}{bound:.15g}" for key, bound in bounds.items()) or "any sign"


def _shown(value: Any) -> str:
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)
