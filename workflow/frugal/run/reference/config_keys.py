"""The page of config keys: what the models allow, defaults, and what each key means."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from frugal.config.blocks import schema_of
from frugal.config.root import Config, effective
from frugal.core.declarations import PROJECT
from frugal.run.reference.allowed import allowed, followed
from frugal.run.reference.markdown import code, head, sentence, table

CONFIG = PROJECT / "config.yaml"
_ELSEWHERE = {  # schemas with a page of their own
    "Agent": "[a kind of agent](agents.md)",
    "Generator": "[a generator](methods.md#generators)",
    "Estimator": "[estimators](methods.md#estimators)",
}
_NAMES = ("kind", "source", "world")  # keys that tell which of several forms a block has


@dataclass(frozen=True)
class Key:
    """One row: path, what is allowed, default, meaning."""

    path: str
    allowed: str
    value: str
    meaning: str


def config_page() -> str:
    """Every key, section by section."""
    schema = schema_of(Config)
    values = effective(yaml.safe_load(CONFIG.read_text(encoding="utf-8")))
    reader = _Reader(schema["$defs"])
    parts = [
        head("Config keys", "config"),
        "What a config may hold, and what each key is where nothing is written. Only keys that "
        "differ are written ([how](../../config/README.md)). NAME stands for a name that you "
        "choose, `[]` for each entry of a list.\n",
        "## First keys\n",
    ]
    sections = {}
    top = []
    for key, said in schema["properties"].items():
        if "properties" in followed(said, schema["$defs"]):
            sections[key] = followed(said, schema["$defs"])
        else:
            top += reader.keys(key, said, values.get(key))
    parts.append(_rows(top))
    for section, said in sections.items():
        parts.append(f"## {section}\n")
        if said.get("description"):
            parts.append(f"{sentence(said['description'])}\n")
        parts += _section(reader, section, said, values[section])
    return "\n".join(parts)


def _section(reader: "_Reader", section: str, said: Mapping[str, Any], values: Any) -> list[str]:
    """Tables of a section: its plain keys, then each block under a heading of its own."""
    plain: list[Key] = []
    blocks = []
    for key, one in said["properties"].items():
        rows = list(reader.keys(f"{section}.{key}", one, values.get(key)))
        if len(rows) == 1:
            plain += rows
        else:
            blocks.append(f"### {section}: {key}\n\n{_rows(rows)}")
    return [*([_rows(plain)] if plain else []), *blocks]


def _rows(keys: list[Key]) -> str:
    rows = [(f"`{one.path}`", one.allowed, code(one.value), one.meaning) for one in keys]
    return table(["key", "allowed", "default", "meaning"], rows)


class _Reader:
    """Rows of a schema, in the order of its keys."""

    def __init__(self, defs: Mapping[str, Any]) -> None:
        self._defs = defs

    def keys(self, path: str, schema: Mapping[str, Any], value: Any) -> Iterator[Key]:
        """The row of a key, and below it those of its keys."""
        elsewhere = _elsewhere(schema)
        said = followed(schema, self._defs)
        below = [] if elsewhere else list(self._below(path, said, value))
        meaning = schema.get("description") or said.get("description", "")
        if below and not meaning and not isinstance(value, list):
            yield from below
            return
        value = schema.get("default", _ABSENT) if value is _ABSENT else value
        shown = "" if below or value is _ABSENT else json.dumps(value, ensure_ascii=False)
        words = elsewhere or allowed(said, self._defs)
        yield Key(path, words, shown, "" if elsewhere else meaning)
        yield from below

    def _below(self, path: str, said: Mapping[str, Any], value: Any) -> Iterator[Key]:
        given = value if isinstance(value, Mapping) else {}
        for key, one in said.get("properties", {}).items():
            if "const" in one and f"({key}: " in path:
                continue  # the path tells it
            yield from self.keys(f"{path}.{key}", one, given.get(key, _ABSENT))
        if isinstance(said.get("additionalProperties"), Mapping):
            inner = said["additionalProperties"]
            if inner.get("type") != "string":
                yield from self.keys(f"{path}.NAME", inner, _ABSENT)
        if isinstance(said.get("items"), Mapping):
            inner = followed(said["items"], self._defs)
            if "properties" in inner or "oneOf" in inner:
                yield from self._below(f"{path}[]", inner, _ABSENT)
        for one in said.get("oneOf", ()):
            form = followed(one, self._defs)
            yield from self._below(f"{path}{_form(form)}", form, value)


_ABSENT: Any = object()


def _elsewhere(schema: Mapping[str, Any]) -> str | None:
    """The page that has the schema, where another one does; of a list that of its entries."""
    for one in (schema, schema.get("items", {}), *schema.get("oneOf", ())):
        name = str(one.get("$ref", "")).rsplit("/", 1)[-1]
        if name in _ELSEWHERE:
            return _ELSEWHERE[name]
    return None


def _form(schema: Mapping[str, Any]) -> str:
    """By which of several forms a key is read, for example ` (kind: mean)`."""
    for key in _NAMES:
        said = schema.get("properties", {}).get(key, {})
        if "const" in said:
            return f" ({key}: {said['const']})"
        if "enum" in said:
            return f" ({key}: {', '.join(map(str, said['enum']))})"
    return ""
