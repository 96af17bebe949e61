"""The schema of a config: `config.schema.yaml`, and what declarations say of themselves.

Read by the Snakefile, so it imports no declaration.
"""

from functools import cache
from typing import Any

from frugal.core.declarations import Declared, declared
from frugal.core.schema_check import SCHEMAS, read_yaml

_JSON_TYPES = ("boolean", "integer", "number", "object", "string")


def config_schema() -> dict[str, Any]:
    """The whole schema, with every kind of agent and every estimator that is declared."""
    schema = read_yaml(SCHEMAS / "config.schema.yaml")
    agents = [_agent(name, one) for name, one in _kinds().items()]
    schema["$defs"]["agent"]["oneOf"] = [{"type": "null"}, *agents]
    estimators = declared("frugal.judge.estimators", "Estimator")
    schema["$defs"]["estimator"]["enum"] = sorted(
        estimators, key=lambda name: (estimators[name].says["place"], name)
    )
    return schema


def learns(kind: str) -> bool:
    """Whether agents of that kind are trained, on the part `agent` of the table."""
    return "fit" not in _kinds()[kind].says


def is_filed(kind: str) -> bool:
    """Whether the policy is a file of one's own."""
    return bool(_kinds()[kind].says.get("file", False))


@cache
def _kinds() -> dict[str, Declared]:
    return dict(declared("frugal.acquire.policies", "AgentKind"))


def _agent(name: str, one: Declared) -> dict[str, Any]:
    settings = {key: _setting(value) for key, value in one.says["settings"].items()}
    return {
        "type": "object",
        "description": one.says["doc"],
        "additionalProperties": False,
        "required": ["kind", *settings],
        "properties": {"kind": {"const": name}, **settings},
    }


def _setting(said: Any) -> dict[str, Any]:
    """The schema of one setting: as it is declared, or of a type and a description."""
    if isinstance(said, dict):
        return said
    word, description = said
    if word in _JSON_TYPES:
        return {"type": word, "description": description}
    return {"$ref": f"#/$defs/{word}", "description": description}
