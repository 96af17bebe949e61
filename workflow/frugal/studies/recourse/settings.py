"""Settings of the step that labels units, checked by the blocks of the config's own schema.

Serves the recourse study, whose step may be run by hand. Knows nothing of what the settings do.
"""

from collections.abc import Mapping
from typing import Any

from frugal.core.schema_check import SCHEMAS, check_against_schema, load_schema

_SCHEMA = SCHEMAS / "config.schema.yaml"
_LABEL_KEYS = ("source", "most_actions", "max_nodes")


def check_label_settings(settings: Any) -> None:
    """Refuse settings of `label_units` that the config would not allow.

    The files of a source are inputs of the step, so their paths may be left out here.

    Raises:
        ConfigError: the first violation: its key, what was found, what is allowed.
    """
    whole = load_schema(_SCHEMA)
    block = whole["properties"]["recourse"]["properties"]
    source = block["scenarios"]["items"]["properties"]["source"]
    properties = {
        "source": {"oneOf": [_without_files(branch) for branch in source["oneOf"]]},
        **{key: block[key] for key in _LABEL_KEYS if key != "source"},
    }
    check_against_schema(
        settings,
        {
            "type": "object",
            "additionalProperties": False,
            "required": list(_LABEL_KEYS),
            "properties": properties,
            "$defs": whole["$defs"],
        },
        where="settings",
    )


def _without_files(branch: Mapping[str, Any]) -> dict[str, Any]:
    """One kind of source, its texts beside the kind (paths and names of files) not required."""
    files = [k for k, rule in branch["properties"].items() if rule.get("type") == "string"]
    return {**branch, "required": [key for key in branch["required"] if key not in files]}
