"""The page of config keys: what the schema allows, what config.yaml has, and what it means.

A meaning is the schema's description; where there is none, the comment on the key's line.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from frugal.core.sources import PACKAGE
from frugal.run.config_schema import config_schema
from frugal.run.reference.allowed import allowed, followed
from frugal.run.reference.markdown import code, head, sentence, table

CONFIG = PACKAGE.parents[1] / "config.yaml"
_ELSEWHERE = {  # schemas with a page of their own
    "agent": "[a kind of agent](agents.md)",
    "generator": "[a generator](methods.md#generators)",
    "estimator": "[estimators](methods.md#estimators)",
}
_COMMENT = re.compile(r"\s#\s*(.*)$")
_NAMES = ("kind", "source", "world")  # keys that tell which of several forms a block has


@dataclass(frozen=True)
class Key:
    """One row: path, what is allowed, value in config.yaml, meaning."""

    path: str
    allowed: str
    value: str
    meaning: str


def config_page() -> str:
    """Every key, section by section."""
    schema = config_schema()
    text = CONFIG.read_text(encoding="utf-8")
    values, comments = yaml.safe_load(text), _comments(text)
    reader = _Reader(schema["$defs"], comments)
    parts = [
        head("Config keys", "config"),
        "What [config.yaml](../../config.yaml) holds. A config of one's own has only the keys that "
        "differ ([how](../../config/README.md)). NAME stands for a name that you choose, `[]` for "
        "each entry of a list.\n",
        "## First keys\n",
    ]
    sections = {}
    top = []
    for key, said in schema["properties"].items():
        if "properties" in followed(said, schema["$defs"]):
            sections[key] = said
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
    return table(["key", "allowed", "in config.yaml", "meaning"], rows)


class _Reader:
    """Rows of a schema, in the order of its keys."""

    def __init__(self, defs: Mapping[str, Any], comments: Mapping[str, str]) -> None:
        self._defs, self._comments = defs, comments

    def keys(self, path: str, schema: Mapping[str, Any], value: Any) -> Iterator[Key]:
        """The row of a key, and below it those of its keys."""
        elsewhere = _elsewhere(schema)
        said = followed(schema, self._defs)
        below = [] if elsewhere else list(self._below(path, said, value))
        meaning = schema.get("description") or said.get("description")
        meaning = meaning or self._comments.get(path, "")
        if below and not meaning and not isinstance(value, list):
            yield from below
            return
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
    for one in (schema, schema.get("items", {})):
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


def _comments(text: str) -> dict[str, str]:
    """Path of each key that begins a line → the comment at the line's end and on those after it."""
    lines = text.splitlines()
    found: dict[str, str] = {}
    seen: set[int] = set()

    def walk(node: yaml.Node, path: str) -> None:
        if not isinstance(node, yaml.MappingNode):
            return
        for key, value in node.value:
            name, line = f"{path}.{key.value}".lstrip("."), key.start_mark.line
            in_one_line = isinstance(value, yaml.MappingNode) and value.flow_style
            if line not in seen:
                seen.add(line)
                found[name] = "" if in_one_line else _comment(lines, line)
            walk(value, name)

    node = yaml.compose(text, Loader=yaml.SafeLoader)
    assert node is not None, "config.yaml is not empty"
    walk(node, "")
    return {name: comment for name, comment in found.items() if comment}


def _comment(lines: list[str], at: int) -> str:
    said = _COMMENT.search(lines[at])
    if said is None:
        return ""
    words = [said[1]]
    for line in lines[at + 1 :]:
        if not line.strip().startswith("#"):
            break
        words.append(line.strip().lstrip("# "))
    return " ".join(words)
