"""Pages on the config: its keys, and the declarations of a folder's files.

The models are read by their JSON schema, methods and kinds of agents from their declarations,
without importing one of them.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import yaml

from frugal.config.blocks import Block, schema_of
from frugal.config.declared import block_of, declared_block, placed
from frugal.config.root import Config, effective
from frugal.core.declarations import PROJECT, Declared
from frugal.core.studies import declared_by_studies
from frugal.run.reference.parts import (
    ABSENT,
    KEYS,
    VALUES,
    allowed,
    followed,
    head,
    line,
    sentence,
    table,
)

CONFIG = PROJECT / "config.yaml"
_ELSEWHERE = {  # schemas with a page of their own
    "Agent": "[a kind of agent](agents.md)",
    "Generator": "[a generator](methods.md#generators)",
    "Estimator": "[estimators](methods.md#estimators)",
}
WIDEST = 60  # characters of a default
_NAMES = ("kind", "source", "world")  # keys that tell which of several forms a block has


@dataclass(frozen=True)
class Key:
    """One line: path, values allowed, default, meaning."""

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
        "All keys of a config, as `key: default`; only keys that differ are written "
        "([how](../../config/README.md)). NAME is a name that you choose, `[]` each entry of a "
        "list; the meaning of a key that is there again under the same heading is left out. "
        f"{VALUES} `--config` may give a number of `decide` and `choose` as a text.\n",
        "## First keys\n",
    ]
    sections = {}
    top = []
    for key, entry in schema["properties"].items():
        if "properties" in followed(entry, schema["$defs"]):
            sections[key] = followed(entry, schema["$defs"])
        else:
            top += reader.keys(key, entry, values.get(key))
    parts.append(_rows(top))
    for section, entry in sections.items():
        parts.append(f"## {section}\n")
        if entry.get("description"):
            parts.append(f"{sentence(entry['description'])}\n")
        parts += _section(reader, section, entry, values[section])
    return "\n".join(parts)


def _section(
    reader: "_Reader", section: str, section_schema: Mapping[str, Any], values: Any
) -> list[str]:
    """Keys of a section: its plain ones, then each block under a heading of its own."""
    single: list[Key] = []
    blocks = []
    for key, entry in section_schema["properties"].items():
        rows = list(reader.keys(f"{section}.{key}", entry, values.get(key)))
        if len(rows) == 1:
            single += rows
        else:
            blocks.append(f"### {section}: {key}\n\n{_block(rows)}")
    return [*([_rows(single)] if single else []), *blocks]


def _rows(keys: list[Key]) -> str:
    lines, stated = [], set()
    for key in keys:
        same = (key.path.rpartition(".")[2], key.meaning)
        lines.append(line(key.path, key.allowed, key.value, "" if same in stated else key.meaning))
        stated.add(same)
    return "\n".join(lines) + "\n"


def _block(keys: list[Key]) -> str:
    """The meaning of a block as a sentence, then its keys."""
    first, *rest = keys
    if first.value or first.allowed:
        return _rows(keys)
    return f"{sentence(first.meaning)}\n\n{_rows(rest)}" if first.meaning else _rows(rest)


class _Reader:
    """Lines of a schema, in the order of its keys."""

    def __init__(self, defs: Mapping[str, Any]) -> None:
        self._defs = defs
        self._seen: dict[tuple[tuple[str, str, str, str], ...], str] = {}  # keys → first path

    def keys(self, path: str, schema: Mapping[str, Any], value: Any) -> Iterator[Key]:
        """The line of a key, and below it those of its keys."""
        elsewhere = _elsewhere(schema)
        resolved = followed(schema, self._defs)
        below = [] if elsewhere else self._once(path, list(self._below(path, resolved, value)))
        meaning = schema.get("description") or resolved.get("description", "")
        if [key.path for key in below] == [path]:
            words = f"{meaning.rstrip('.')}; {below[0].meaning}" if meaning else below[0].meaning
            yield Key(path, "", "", words)
            return
        if below and not meaning and not isinstance(value, list):
            yield from below
            return
        value = schema.get("default", ABSENT) if value is ABSENT else value
        is_leaf = not below and value is not ABSENT
        shown = _cut(json.dumps(value, ensure_ascii=False)) if is_leaf else ""
        words = elsewhere or allowed(resolved, self._defs, value if is_leaf else ABSENT)
        words = "" if below and words.endswith(KEYS) else words
        yield Key(
            path,
            words,
            shown,
            "" if elsewhere else meaning.removesuffix(_AS_TEXT).removesuffix("; "),
        )
        yield from below

    def _once(self, path: str, keys: list[Key]) -> list[Key]:
        """The keys below a path, or where the same ones were listed before."""
        same = tuple((k.path[len(path) :], k.allowed, k.value, k.meaning) for k in keys)
        first = self._seen.setdefault(same, path) if len(keys) > 1 else path
        return keys if first == path else [Key(path, "", "", f"as `{first}`")]

    def _below(self, path: str, resolved: Mapping[str, Any], value: Any) -> Iterator[Key]:
        values = value if isinstance(value, Mapping) else {}
        for key, entry in resolved.get("properties", {}).items():
            if "const" in entry and f"({key}=" in path:
                continue  # the path has it
            yield from self.keys(f"{path}.{key}", entry, values.get(key, ABSENT))
        if isinstance(resolved.get("additionalProperties"), Mapping):
            inner = resolved["additionalProperties"]
            if inner.get("type") != "string":
                yield from self.keys(f"{path}.NAME", inner, ABSENT)
        if isinstance(resolved.get("items"), Mapping):
            inner = followed(resolved["items"], self._defs)
            if "properties" in inner or "oneOf" in inner:
                yield from self._below(f"{path}[]", inner, ABSENT)
        for entry in resolved.get("oneOf", ()):
            form = followed(entry, self._defs)
            named = f"{path}{_form(form)}"
            yield from self._once(named, list(self._below(named, form, value)))


def _cut(value: str) -> str:
    """A long default ends early."""
    return value if len(value) <= WIDEST else f"{value[: WIDEST - 1]}…"


_AS_TEXT = "a text where it comes from --config"


def _elsewhere(schema: Mapping[str, Any]) -> str | None:
    """The page that has the schema, where another one does; of a list that of its entries."""
    for part in (schema, schema.get("items", {}), *schema.get("oneOf", ())):
        name = str(part.get("$ref", "")).rsplit("/", 1)[-1]
        if name in _ELSEWHERE:
            return _ELSEWHERE[name]
    return None


def _form(schema: Mapping[str, Any]) -> str:
    """By which of several forms a key is read, for example `(kind=mean)`."""
    for key in _NAMES:
        form = schema.get("properties", {}).get(key, {})
        if "const" in form:
            return f"({key}={form['const']})"
        if "enum" in form:
            return f"({key}={','.join(map(str, form['enum']))})"
    return ""


_Literals = Mapping[str, Any]
_TO_ADD = "\nHow to add one: [extending](../../CONTRIBUTING.md).\n"


def methods_page() -> str:
    """Estimators, and the tables of studies, declared in their `methods.py`."""
    declarations = declared_by_studies("methods", "MethodTable")
    tables = {name: entry.literals for name, entry in declarations.items()}
    title = ", ".join(["Estimators", *map(str.lower, tables)])
    estimators = _listed(
        "Estimators",
        "Rows of `results/summary/afape.parquet`, words of `afape.figures.estimators`.",
        {
            "estimator": _name,
            "in figures": _of("label"),
            "description": _of("doc"),
            "source": lambda _, literals: f"`{literals['equation']}`",
        },
        placed("frugal.judge.estimators", "Estimator"),
    )
    listed = [
        _listed(
            name,
            of["words"],
            {column: _cell(argument, of) for column, argument in of["columns"].items()},
            placed(of["package"], of["of"]),
        )
        for name, of in tables.items()
    ]
    return "\n".join([head(title, "methods") + _TO_ADD, estimators, *listed])


def _cell(argument: str, of_table: _Literals) -> Callable[[str, _Literals], str]:
    """What a column of a study's table shows: the name, the settings, or another argument."""
    if argument == "settings":
        return partial(_names_of_settings, more=of_table.get("more", {}))
    return _name if argument == "name" else _of(argument)


def agents_page() -> str:
    """Kinds of agents, and the settings of each."""
    kinds = placed("frugal.acquire.policies", "AgentKind")
    parts = [
        head("Agents", "agents") + _TO_ADD,
        _listed(
            "Kinds",
            "Kinds of `afape.agents`. How to use one: [any policy](../how-to/policies.md). Their "
            f"settings follow, as `setting: default`. {VALUES}",
            {
                "kind": lambda name, _: f"[`{name}`](#{name})",
                "description": _of("doc"),
                "learns": lambda _, literals: "no" if "fit" in literals else "yes",
                "classes": lambda _, literals: "two" if "two_classes" in literals else "any",
            },
            kinds,
        ),
    ]
    for name in sorted(kinds):
        block = block_of(name)
        lines = [
            line(key, words, _default(block, key), text) for key, words, text in _settings(block)
        ]
        parts.append("\n".join([f"## `{name}`\n", *(lines or ["No settings."]), ""]))
    return "\n".join(parts)


def _listed(
    title: str,
    words: str,
    columns: Mapping[str, Callable[[str, _Literals], str]],
    declarations: Mapping[str, Declared],
) -> str:
    """A heading, a sentence and a table, one row per declaration in the order of their places."""
    rows = [
        [cell(name, declaration.literals) for cell in columns.values()]
        for name, declaration in declarations.items()
    ]
    return "\n\n".join([f"## {title}", *([words] if words else []), table([*columns], rows)])


def _name(name: str, literals: _Literals) -> str:
    return f"`{name}`"


def _of(key: str) -> Callable[[str, _Literals], str]:
    return lambda _, literals: str(literals.get(key) or "none")


def _names_of_settings(name: str, literals: _Literals, *, more: Mapping[str, Any]) -> str:
    declared_settings = literals["settings"]
    block = declared_block(name, literals, named="Settings", more=more)
    texts = [(key, text if key in declared_settings else "") for key, _, text in _settings(block)]
    return "; ".join(f"`{key}`: {text}" if text else f"`{key}`" for key, text in texts) or "none"


def _default(block: type[Block], key: str) -> str:
    """The default of a setting; of a block of settings, those that differ from its own."""
    field = block.model_fields[key]
    if field.is_required():
        return ""
    value = field.default
    if isinstance(value, Block):
        changed = {k: v for k, v in value.plain().items() if k in value.model_fields_set}
        return f"{{{', '.join(f'{k}: {_json(v)}' for k, v in changed.items())}}}"
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _settings(block: type[Block]) -> list[tuple[str, str, str]]:
    """Key, values allowed, and meaning of each setting of a kind."""
    schema = schema_of(block)
    defs = schema.get("$defs", {})
    return [
        (
            key,
            allowed(entry, defs, entry.get("default", ABSENT)).removesuffix(KEYS),
            entry.get("description", ""),
        )
        for key, entry in schema["properties"].items()
        if key != "kind"
    ]
