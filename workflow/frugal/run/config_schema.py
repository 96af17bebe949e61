"""The schema of a config: `config.schema.yaml`, and what declarations say of themselves.

Read by the Snakefile, so it imports no declaration.
"""

import copy
from collections.abc import Collection, Mapping
from functools import cache
from typing import Any

from frugal.core.declarations import Declared, declared
from frugal.core.schema_check import SCHEMAS, load_schema

ACTING = ("cascade", "lattice")  # kinds whose way of acting `stacked` may take
_JSON_TYPES = ("boolean", "integer", "number", "object", "string")


@cache
def config_schema() -> dict[str, Any]:
    """The whole schema, with all that is declared: agents, estimators, planners, generators.

    Made once in a process; not to be changed.
    """
    schema = copy.deepcopy(load_schema(SCHEMAS / "config.schema.yaml"))
    defs = schema["$defs"]
    agents = [_block(name, one, defs) for name, one in _kinds().items()]
    defs["agent"]["oneOf"] = [{"type": "null"}, *agents]
    defs["acting_on_beliefs"]["oneOf"] = [
        _block(name, _kinds()[name], defs, without=("boosting", "linear")) for name in ACTING
    ]
    estimators = declared("frugal.judge.estimators", "Estimator")
    defs["estimator"]["enum"] = _placed(estimators)
    planners = declared("frugal.search.planners", "SearchPlanner")
    defs["planner"]["enum"] = _placed(planners)
    bounded = {name: one for name, one in planners.items() if one.says["reads"] == "bound"}
    defs["bounded_planner"]["enum"] = _placed(bounded)
    generators = declared("frugal.cover.generators", "GeneratorKind")
    augmentation = {"augmentation": {"enum": ["none", "ag1", "ag2"]}}
    defs["generator"]["oneOf"] = [
        _block(name, generators[name], defs, augmentation) for name in _placed(generators)
    ]
    return schema


def _placed(found: Mapping[str, Declared]) -> list[str]:
    """Names in the order in which tables and figures list them."""
    return sorted(found, key=lambda name: (found[name].says["place"], name))


def learns(kind: str) -> bool:
    """Whether agents of that kind are trained, on the part `agent` of the table."""
    return "fit" not in _kinds()[kind].says


def is_filed(kind: str) -> bool:
    """Whether the policy is a file of one's own."""
    return bool(_kinds()[kind].says.get("file", False))


@cache
def _kinds() -> dict[str, Declared]:
    return dict(declared("frugal.acquire.policies", "AgentKind"))


def _block(
    kind: str,
    one: Declared,
    defs: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
    without: Collection[str] = (),
) -> dict[str, Any]:
    """The schema of a block `{kind: …, …}`: settings of the kind's own, shared ones, and more."""
    settings, own = dict(more or {}), one.says["settings"]
    settings |= {key: _setting(value) for key, value in own.items() if key not in without}
    for group in one.says.get("shares", ()):
        settings |= defs[group]["properties"]
    return {
        "type": "object",
        "description": one.says["doc"],
        "additionalProperties": False,
        "required": ["kind", *settings],
        "properties": {"kind": {"const": kind}, **settings},
    }


def _setting(said: Any) -> dict[str, Any]:
    """The schema of one setting: as it is declared, or of a type and a description."""
    if isinstance(said, dict):
        return said
    word, description = said
    if word in _JSON_TYPES:
        return {"type": word, "description": description}
    return {"$ref": f"#/$defs/{word}", "description": description}
