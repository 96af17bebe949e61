"""What a recourse block may not say, although its schema allows it: checks before any job.

Serves the recourse study. Read by the Snakefile, so it imports nothing heavy. Knows no generator,
only the names of their kinds.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from frugal.core.declarations import declared
from frugal.core.errors import ConfigError
from frugal.core.schema_check import SCHEMAS, check_against_schema, load_schema, read_yaml
from frugal.data.description import Description

_RULES_SCHEMA = SCHEMAS / "recourse_catalogue.schema.json"
MANUAL_GROUPS = 5


def check_generators(generators: Mapping[str, Mapping[str, Any]]) -> None:
    """Every name begins with its kind, by which figures know it.

    Raises:
        ConfigError: one sentence with the key, what was found and what is allowed.
    """
    kinds = declared("frugal.cover.generators", "GeneratorKind")
    for name, settings in generators.items():
        at, kind = f"config: recourse.generators.{name}", settings["kind"]
        begins = [k for k in kinds if name == k or name.startswith(f"{k}_")]
        if not begins:
            raise ConfigError(
                f"{at} has a name that figures do not know; it begins with its kind: call it "
                f"{kind!r} or {f'{kind}_{name}'!r}"
            )
        if (said := max(begins, key=len)) != kind:
            raise ConfigError(
                f"{at} is of kind {kind!r}, but by its name figures would show it as {said!r}; a "
                f"name begins with its kind: {kind!r}, or {kind}_ and more"
            )


def check_edges(edges: list[int]) -> None:
    """Classes of training frequency begin at 0 and ascend.

    Raises:
        ConfigError: they do not.
    """
    if edges[0] != 0 or list(edges) != sorted(set(edges)):
        raise ConfigError(
            f"config: recourse.frequency_edges is {list(edges)}; allowed are whole numbers that "
            "begin with 0 and ascend"
        )


def check_source(at: str, entry: Mapping[str, Any], find: Callable[[str], Path | None]) -> None:
    """The files of a scenario's source are there, and its world has actions for every group.

    Args:
        at: key of the scenario.
        entry: the scenario.
        find: a path of the config → where the file is, None if there is none.

    Raises:
        ConfigError: one sentence with the key, what was found and what is allowed.
    """
    source = entry["source"]
    for key in ("description", "rules", "catalogue", "units"):
        if key in source and find(source[key]) is None:
            raise ConfigError(f"{at}.source.{key} names {source[key]!r}, and there is no such file")
    if source.get("world") == "manual_groups" and source["actions"] < MANUAL_GROUPS:
        raise ConfigError(
            f"{at}.source.actions is {source['actions']}; each manual group may take a fifth of "
            f"the actions, so allowed are values from {MANUAL_GROUPS} on"
        )


def check_table(at: str, dataset: str, described: Description, rules: Path) -> None:
    """A real table, its description and its rules bear one name.

    Raises:
        ConfigError: they do not, or the rules are not what their schema says.
    """
    if described.name != dataset:
        raise ConfigError(
            f"{at}.source.description describes the data set {described.name!r}, but the "
            f"scenario's dataset is {dataset!r}; write one name in both"
        )
    document = read_yaml(rules)
    check_against_schema(document, load_schema(_RULES_SCHEMA), where=str(rules))
    if document["dataset"] != dataset:
        raise ConfigError(
            f"{at}.source.rules is written for the data set {document['dataset']!r}, but the "
            f"scenario's dataset is {dataset!r}; write one name in both"
        )
