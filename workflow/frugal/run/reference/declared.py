"""Pages of what files of a folder declare: methods, kinds of agents, figures.

Read from the declarations without importing one of them.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from frugal.config.blocks import Block, schema_of
from frugal.config.declared import block_of, declared_block, placed
from frugal.config.kinds import AUGMENTED
from frugal.core.declarations import PACKAGE, Declared
from frugal.run.reference.allowed import allowed
from frugal.run.reference.markdown import head, sentence, table

_Says = Mapping[str, Any]
_TO_ADD = "\nHow to add one: [extending](../../CONTRIBUTING.md).\n"


def methods_page() -> str:
    """Estimators, planners, and generators of recourse."""
    return "\n".join([
        head("Estimators, planners, generators", "methods") + _TO_ADD,
        _listed(
            "Estimators",
            "Rows of `results/summary/afape.parquet`, words of `afape.figures.estimators`.",
            {"estimator": _name, "in figures": _of("label"), "what it does": _of("doc"),
             "source": lambda _, says: f"`{says['equation']}`"},
            placed("frugal.judge.estimators", "Estimator"),
        ),
        _listed(
            "Planners",
            "Words of `planners` in the grids of `treatment.scenarios`.",
            {"planner": _name, "in figures": _of("label"), "what it does": _of("doc"),
             "reads": _of("reads"), "thresholds": _of("thresholds")},
            placed("frugal.search.planners", "SearchPlanner"),
        ),
        _listed(
            "Generators",
            "Kinds of `recourse.generators`.",
            {"kind": _name, "in figures": _of("label"), "what it does": _of("doc"),
             "settings": _names_of_settings},
            placed("frugal.cover.generators", "GeneratorKind"),
        ),
    ])  # fmt: skip


def agents_page() -> str:
    """Kinds of agents, and the settings of each."""
    kinds = placed("frugal.acquire.policies", "AgentKind")
    parts = [
        head("Agents", "agents") + _TO_ADD,
        _listed(
            "Kinds",
            "Kinds of `afape.agents`. How to use one: [any policy](../how-to/policies.md).",
            {"kind": lambda name, _: f"[`{name}`](#{name})", "what it is": _of("doc"),
             "learns": lambda _, says: "no" if "fit" in says else "yes"},
            kinds,
        ),
    ]  # fmt: skip
    for name in sorted(kinds):
        parts.append(f"## `{name}`\n\n{sentence(kinds[name].says['doc'])}\n")
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
    for folder in sorted(PACKAGE.glob("studies/*/figures")):
        study = folder.parent.name
        found = placed(f"frugal.studies.{study}.figures", "PrintedFigure")
        columns = {"figure": _name, "what it shows": _of("doc"), "drawn by": _stages}
        parts.append(_listed(study, "", columns, found))
    return "\n".join(parts)


def _listed(
    title: str,
    words: str,
    columns: Mapping[str, Callable[[str, _Says], str]],
    found: Mapping[str, Declared],
) -> str:
    """A heading, a sentence and a table, one row per declaration in the order of their places."""
    rows = [[cell(name, one.says) for cell in columns.values()] for name, one in found.items()]
    return "\n\n".join([f"## {title}", *([words] if words else []), table([*columns], rows)])


def _name(name: str, says: _Says) -> str:
    del says
    return f"`{name}`"


def _of(key: str) -> Callable[[str, _Says], str]:
    return lambda _, says: str(says.get(key) or "none")


def _stages(name: str, says: _Says) -> str:
    del name
    return ", ".join(f"`{stage}`" for stage in says["stages"])


def _names_of_settings(name: str, says: _Says) -> str:
    own = says["settings"]
    block = declared_block(name, says, named="Generator", more=AUGMENTED)
    told = [(key, text if key in own else "") for key, _, text in _settings(block)]
    return "; ".join(f"`{key}`: {text}" if text else f"`{key}`" for key, text in told) or "none"


def _default(block: type[Block], key: str) -> str:
    """The default of a setting in words; of a block of settings what differs from its own."""
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
    """Key, what is allowed, and meaning of each setting of a kind."""
    schema = schema_of(block)
    return [
        (key, allowed(said, schema.get("$defs", {})), said.get("description", ""))
        for key, said in schema["properties"].items()
        if key != "kind"
    ]
