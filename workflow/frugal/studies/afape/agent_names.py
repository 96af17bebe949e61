"""The panels, columns and levels that agents of afape name, held against a data set's description.

A misspelt name, or a condition that could never hold, is found before any job starts. Knows names
only, and nothing of how an agent acts.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from frugal.config.declared import declared_kinds
from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed
from frugal.data.description import Column, Description

PRACTICE = "practice"  # what records show was done, among the policies of an answer


def candidate(name: object) -> str:
    """The name in the config, without the number of a version."""
    head, dot, tail = str(name).rpartition(".")
    return head if dot and tail.isdecimal() else str(name)


def require_candidates(block: Mapping[str, Any], able: Collection[str]) -> None:
    """Refuse an answer that names policies which are not there, and names that it cannot hold.

    Args:
        block: the config's block `afape`.
        able: policies that can be candidates.

    Raises:
        ConfigError: the key, what was found, and what there is.
    """
    answer, agents = block["answer"], block["agents"]
    for key, names, allowed in (
        ("practice", [answer["practice"]], able), ("prefer", answer["prefer"], agents),
    ):  # fmt: skip
        for name in names:
            if name not in allowed:
                raise ConfigError(
                    f"config: afape.answer.{key} names {name!r}; the answer chooses from "
                    f"{listed(able)}{did_you_mean(name, able)}"
                )
    for name in able:
        if name == PRACTICE or candidate(name) != name:
            raise ConfigError(
                f"config: 'afape.agents' has {name!r}; a policy of an answer has another name than "
                f"{PRACTICE!r}, and none that ends in a dot and a number"
            )


def require_known_agent(at: str, agent: Mapping[str, Any], description: Description) -> None:
    """Refuse an agent that speaks of what a data set does not have.

    Args:
        at: where the agent stands, as the sentence begins.
        agent: its settings, valid by the schema.
        description: of the data set.

    Raises:
        ConfigError: the key, what was found, and what there is.
    """
    for key, what in declared_kinds()[agent["kind"]].says.get("names", {}).items():
        _NAMED[what](f"{at}.{key}", agent[key], description)


def _require_panels(at: str, panels: str | list[str], description: Description) -> None:
    """Refuse unknown panels of a list; a word that stands for some of them names none."""
    for panel in [] if isinstance(panels, str) else panels:
        _require_panel(at, panel, description)


def _require_dataset(at: str, dataset: str, description: Description) -> None:
    """Refuse another data set."""
    if dataset != description.name:
        raise ConfigError(
            f"{at} is {dataset!r}, whose rows the table tells of, but a scenario is of "
            f"{description.name!r}; every agent runs in every scenario, so let a config of "
            "its own have the scenarios of that data set"
        )


def _require_steps(at: str, steps: list[Mapping[str, Any]], description: Description) -> None:
    """Refuse steps of unknown panels, and conditions that could never hold."""
    known = {c for panel in description.panels if panel.free for c in panel.columns}
    shown = {panel.name: panel.columns for panel in description.panels}
    for k, step in enumerate(steps):
        _require_panel(f"{at}[{k}].panel", step["panel"], description)
        when = step.get("when", ())
        for condition in [when] if isinstance(when, Mapping) else when:
            _require_condition(f"{at}[{k}].when", condition, description)
            if condition["column"] not in known:
                raise ConfigError(
                    f"{at}[{k}].when asks for column {condition['column']!r}, which is not "
                    "free and which no earlier step can acquire, so that it never holds; known by "
                    f"then can be {listed(sorted(known)) or 'none'}"
                )
        known |= {*shown[step["panel"]]}


def _require_panel(at: str, panel: str, description: Description) -> None:
    """Refuse a panel that there is not to acquire."""
    panels = [one.name for one in description.panels if not one.free]
    if panel not in panels:
        raise ConfigError(
            f"{at} names panel {panel!r}; data set {description.name!r} has to acquire "
            f"{listed(panels)}{did_you_mean(panel, panels)}"
        )


def _require_condition(at: str, condition: Mapping[str, Any], description: Description) -> None:
    """Refuse an unknown column or level, and a question that the column cannot answer."""
    columns = {column.name: column for column in description.columns}
    name = condition["column"]
    if name not in columns:
        raise ConfigError(
            f"{at} names column {name!r}; data set {description.name!r} has {listed(columns)}"
            f"{did_you_mean(name, columns)}"
        )
    asked = [key for key in ("above", "below", "is") if key in condition]
    if not asked or (len(asked) > 1 and "is" in asked):
        raise ConfigError(
            f"{at} asks of column {name!r} {' and '.join(asked) or 'nothing'}; allowed is above, "
            "below or both, or is alone"
        )
    if "is" in asked:
        _require_levels(at, condition["is"], columns[name])
    elif columns[name].kind != "numeric":
        raise ConfigError(
            f"{at} asks whether column {name!r} is {asked[0]} a number, but it is categorical; "
            f"write is: [{listed(columns[name].levels or ('…',))}] with the levels that you mean"
        )
    elif len(asked) == 2 and not condition["above"] < condition["below"]:
        raise ConfigError(
            f"{at} asks for column {name!r} above {condition['above']} and below "
            f"{condition['below']}, which no number is"
        )


def _require_levels(at: str, asked: list[str], column: Column) -> None:
    """Refuse a level that is not among those which the description lists, if it lists them."""
    codes = [f"{code:g}" for code, _ in column.special_values]
    if column.kind == "numeric" and not codes:
        raise ConfigError(
            f"{at} asks whether column {column.name!r} is {listed(asked)}, but it is numeric; "
            "allowed are above and below"
        )
    levels = codes if column.kind == "numeric" else column.levels
    for level in asked:
        if levels is not None and level not in levels:
            raise ConfigError(
                f"{at} asks whether column {column.name!r} is {level!r}; it can be "
                f"{listed(levels)}{did_you_mean(level, levels)}"
            )


_NAMED: Mapping[str, Callable[[str, Any, Description], None]] = {
    "panels": _require_panels,
    "dataset": _require_dataset,
    "steps": _require_steps,
}  # by the words of declarations, see `AgentKind.names`
