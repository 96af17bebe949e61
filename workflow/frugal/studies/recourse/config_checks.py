"""What a recourse block may not say, although its schema allows it: checks before any job.

Serves the recourse study. Read by the Snakefile, so it imports nothing heavy. Knows no generator,
only the names of their kinds.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from frugal.config.recourse_rules import RecourseRules
from frugal.core.errors import ConfigError
from frugal.core.schema_check import read_yaml
from frugal.data.description import Description


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
    found = RecourseRules.read(read_yaml(rules), where=str(rules))
    if found.dataset != dataset:
        raise ConfigError(
            f"{at}.source.rules is written for the data set {found.dataset!r}, but the "
            f"scenario's dataset is {dataset!r}; write one name in both"
        )
