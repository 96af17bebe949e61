"""What a schema allows, in words."""

import json
import re
from collections.abc import Mapping
from typing import Any

_KINDS = {
    "integer": "whole number", "number": "number", "string": "text", "boolean": "true or false",
    "null": "null", "object": "keys", "array": "list",
}  # fmt: skip
_DEEPEST = 2  # lists in lists
_PLURAL = re.compile(r"\b(number|text|list)\b")


def allowed(schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int = 0) -> str:
    """Words for the values that a key may have."""
    schema = followed(schema, defs)
    if "enum" in schema:
        return ", ".join(f"`{_shown(one)}`" for one in schema["enum"])
    if "const" in schema:
        return f"`{_shown(schema['const'])}`"
    if "oneOf" in schema:
        words = [allowed(one, defs, depth + 1) for one in schema["oneOf"]]
        return " or ".join(dict.fromkeys(words))
    types = schema.get("type", "object" if "properties" in schema else None)
    named = types if isinstance(types, list) else [types]
    return " or ".join(_of_type(str(one), schema, defs, depth) for one in named if one)


def followed(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema that a reference names, with what stands beside the reference."""
    while "$ref" in schema:
        named = defs[schema["$ref"].rsplit("/", 1)[1]]
        schema = {**named, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def _of_type(name: str, schema: Mapping[str, Any], defs: Mapping[str, Any], depth: int) -> str:
    if name == "array" and isinstance(schema.get("items"), Mapping) and depth < _DEEPEST:
        inner = followed(schema["items"], defs)
        words = allowed(inner, defs, depth + 1) if inner else ""
        words = _PLURAL.sub(r"\1s", words)
        return f"list of {words}" if words else "list"
    word = _KINDS.get(name, name)
    return word + _range(schema) if name in ("integer", "number") else word


def _range(schema: Mapping[str, Any]) -> str:
    """Bounds of a number."""
    low, above = schema.get("minimum"), schema.get("exclusiveMinimum")
    high, below = schema.get("maximum"), schema.get("exclusiveMaximum")
    words = []
    if low is not None:
        words.append(f"from {low:g}")
    if above is not None:
        words.append(f"above {above:g}")
    if high is not None:
        words.append(f"to {high:g}")
    if below is not None:
        words.append(f"below {below:g}")
    return f" {' '.join(words)}" if words else ""


def _shown(value: Any) -> str:
    return json.dumps(value) if value is None or isinstance(value, bool) else str(value)
