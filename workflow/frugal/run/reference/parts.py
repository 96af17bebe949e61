"""Parts of reference pages: tables of Markdown, and words for the values a schema allows."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

VALUES = "Where no type is given, a value has that of the default: 1 is an integer, 1.0 any number."


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
_SEEN = {  # types that a default of theirs shows
    "boolean": bool,
    "integer": int,
    "number": float,
    "string": str,
}
_DEEPEST = 2  # lists in lists
_PLURAL = re.compile(r"\b(integer|number|text|list)\b")


def allowed(
    schema: Mapping[str, Any], defs: Mapping[str, Any], default: Any = None, depth: int = 0
) -> str:
    """Words for the values that a key may have; what its default shows is left out."""
    schema = followed(schema, defs)
    if "enum" in schema:
        options = [option for option in schema["enum"] if default is None or option != default]
        return ("" if default is None else "or ") + ", ".join(f"`{_shown(o)}`" for o in options)
    if "const" in schema:
        return f"`{_shown(schema['const'])}`"
    if "oneOf" in schema:
        words = [allowed(option, defs, depth=depth + 1) for option in schema["oneOf"]]
        return " or ".join(dict.fromkeys(words))
    types = schema.get("type", "object" if "properties" in schema else None)
    if isinstance(types, str) and isinstance(default, _SEEN.get(types, ())):
        return _range(schema)
    if types == "array" and default and isinstance(schema.get("items"), Mapping):
        of = followed(schema["items"], defs)
        each = allowed(of, defs, None if "enum" in of else default[0], depth + 1)
        return ("each of " if "enum" in of else "each ") + each if each else ""
    named = types if isinstance(types, list) else [types]
    return " or ".join(_of_type(str(option), schema, defs, depth) for option in named if option)


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
    """Bounds of a number."""
    return " ".join(f"{sign}{schema[key]:.15g}" for key, sign in _BOUNDS.items() if key in schema)


def _shown(value: Any) -> str:
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)
