"""Pages on the config: its keys, and the declarations of a folder's files.

The models are read by their JSON schema, methods, kinds of agents and figures from their
declarations, without importing one of them.
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
from frugal.core.declarations import PACKAGE, PROJECT, Declared
from frugal.core.studies import declared_by_studies
from frugal.run.reference.parts import allowed, code, followed, head, sentence, table

CONFIG = PROJECT / "config.yaml"
_ELSEWHERE = {  # schemas with a page of their own
    "Agent": "[a kind of agent](agents.md)",
    "Generator": "[a generator](methods.md#generators)",
    "Estimator": "[estimators](methods.md#estimators)",
}
_NAMES = ("kind", "source", "world")  # keys that tell which of several forms a block has


@dataclass(frozen=True)
class Key:
    """One row: path, values allowed, default, meaning."""

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
        "All keys of a config with their defaults. Only keys that "
        "differ are written ([how](../../config/README.md)). NAME is a name that you "
        "choose, `[]` for each entry of a list.\n",
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
    """Tables of a section: its plain keys, then each block under a heading of its own."""
    single: list[Key] = []
    blocks = []
    for key, entry in section_schema["properties"].items():
        rows = list(reader.keys(f"{section}.{key}", entry, values.get(key)))
        if len(rows) == 1:
            single += rows
        else:
            blocks.append(f"### {section}: {key}\n\n{_folded(rows)}")
    return [*([_rows(single)] if single else []), *blocks]


def _rows(keys: list[Key]) -> str:
    rows = [(f"`{key.path}`", key.allowed, code(key.value), key.meaning) for key in keys]
    return table(["key", "allowed", "default", "meaning"], rows)


def _folded(keys: list[Key]) -> str:
    """The rows, which a click opens: on a phone all of them would be 80 screens."""
    summary = f"<details><summary>{len(keys)} keys</summary>"
    return f"{summary}\n\n{_rows(keys).rstrip()}\n\n</details>\n"


class _Reader:
    """Rows of a schema, in the order of its keys."""

    def __init__(self, defs: Mapping[str, Any]) -> None:
        self._defs = defs

    def keys(self, path: str, schema: Mapping[str, Any], value: Any) -> Iterator[Key]:
        """The row of a key, and below it those of its keys."""
        elsewhere = _elsewhere(schema)
        resolved = followed(schema, self._defs)
        below = [] if elsewhere else list(self._below(path, resolved, value))
        meaning = schema.get("description") or resolved.get("description", "")
        if below and not meaning and not isinstance(value, list):
            yield from below
            return
        value = schema.get("default", _ABSENT) if value is _ABSENT else value
        shown = "" if below or value is _ABSENT else json.dumps(value, ensure_ascii=False)
        words = elsewhere or allowed(resolved, self._defs)
        yield Key(path, words, shown, "" if elsewhere else meaning)
        yield from below

    def _below(self, path: str, resolved: Mapping[str, Any], value: Any) -> Iterator[Key]:
        values = value if isinstance(value, Mapping) else {}
        for key, entry in resolved.get("properties", {}).items():
            if "const" in entry and f"({key}: " in path:
                continue  # the path has it
            yield from self.keys(f"{path}.{key}", entry, values.get(key, _ABSENT))
        if isinstance(resolved.get("additionalProperties"), Mapping):
            inner = resolved["additionalProperties"]
            if inner.get("type") != "string":
                yield from self.keys(f"{path}.NAME", inner, _ABSENT)
        if isinstance(resolved.get("items"), Mapping):
            inner = followed(resolved["items"], self._defs)
            if "properties" in inner or "oneOf" in inner:
                yield from self._below(f"{path}[]", inner, _ABSENT)
        for entry in resolved.get("oneOf", ()):
            form = followed(entry, self._defs)
            yield from self._below(f"{path}{_form(form)}", form, value)


_ABSENT: Any = object()


def _elsewhere(schema: Mapping[str, Any]) -> str | None:
    """The page that has the schema, where another one does; of a list that of its entries."""
    for part in (schema, schema.get("items", {}), *schema.get("oneOf", ())):
        name = str(part.get("$ref", "")).rsplit("/", 1)[-1]
        if name in _ELSEWHERE:
            return _ELSEWHERE[name]
    return None


def _form(schema: Mapping[str, Any]) -> str:
    """By which of several forms a key is read, for example ` (kind: mean)`."""
    for key in _NAMES:
        form = schema.get("properties", {}).get(key, {})
        if "const" in form:
            return f" ({key}: {form['const']})"
        if "enum" in form:
            return f" ({key}: {', '.join(map(str, form['enum']))})"
    return ""


_Literals = Mapping[str, Any]
_TO_ADD = "\nHow to add one: [extending](../../CONTRIBUTING.md).\n"


def methods_page() -> str:
    """Estimators, and what studies declare in their `methods.py`."""
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
            "Kinds of `afape.agents`. How to use one: [any policy](../how-to/policies.md).",
            {
                "kind": lambda name, _: f"[`{name}`](#{name})",
                "what it is": _of("doc"),
                "learns": lambda _, literals: "no" if "fit" in literals else "yes",
                "classes": lambda _, literals: "two" if "two_classes" in literals else "any",
            },
            kinds,
        ),
    ]
    for name in sorted(kinds):
        parts.append(f"## `{name}`\n\n{sentence(kinds[name].literals['doc'])}\n")
        block = block_of(name)
        rows = [
            (f"`{key}`", words, _default(block, key), text) for key, words, text in _settings(block)
        ]
        parts.append(
            table(["setting", "allowed", "default", "meaning"], rows) if rows else "No settings.\n"
        )
    return "\n".join(parts)


def figures_page() -> str:
    """Figures of every study."""
    parts = [
        head("Figures", "figures")
        + "\nEach is a PNG, a PDF, and the table that is shown, under `results/figures/`.\n"
    ]
    for study in sorted({path.parent.name for path in PACKAGE.glob("studies/*/figures*")}):
        figures = placed(f"frugal.studies.{study}.figures", "PrintedFigure")
        columns = {"figure": _name, "what it shows": _of("doc"), "drawn by": _stages}
        parts.append(_listed(study, "", columns, figures))
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
    del literals
    return f"`{name}`"


def _of(key: str) -> Callable[[str, _Literals], str]:
    return lambda _, literals: str(literals.get(key) or "none")


def _stages(name: str, literals: _Literals) -> str:
    del name
    return ", ".join(f"`{stage}`" for stage in literals["stages"])


def _names_of_settings(name: str, literals: _Literals, *, more: Mapping[str, Any]) -> str:
    declared_settings = literals["settings"]
    block = declared_block(name, literals, named="Settings", more=more)
    texts = [(key, text if key in declared_settings else "") for key, _, text in _settings(block)]
    return "; ".join(f"`{key}`: {text}" if text else f"`{key}`" for key, text in texts) or "none"


def _default(block: type[Block], key: str) -> str:
    """The default of a setting in words; of a block of settings, those that differ from its own."""
    field = block.model_fields[key]
    if field.is_required():
        return "none"
    value = field.default
    if isinstance(value, Block):
        return (
            ", ".join(
                f"`{k}: {_json(v)}`"
                for k, v in value.plain().items()
                if k in value.model_fields_set
            )
            or "its own"
        )
    return f"`{_json(value)}`"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _settings(block: type[Block]) -> list[tuple[str, str, str]]:
    """Key, values allowed, and meaning of each setting of a kind."""
    schema = schema_of(block)
    return [
        (key, allowed(entry, schema.get("$defs", {})), entry.get("description", ""))
        for key, entry in schema["properties"].items()
        if key != "kind"
    ]
