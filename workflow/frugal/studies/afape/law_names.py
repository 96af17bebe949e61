"""The panels and columns that a scenario of afape names, held against the data set's description.

A misspelt name is found before any job starts. Knows names only; whether a graph is acyclic or
identifies anything is for `missingness`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed
from frugal.data.description import Description


def require_known_names(at: str, entry: Mapping[str, Any], description: Description) -> None:
    """Refuse a scenario that names panels or columns which its data set does not have.

    Args:
        at: where the scenario stands, as the sentence begins.
        entry: the scenario, valid by the schema.
        description: of its data set.

    Raises:
        ConfigError: the key, the name found, and those that there are.
    """
    panels = [panel.name for panel in description.panels if not panel.free]
    columns = [column.name for column in description.columns]
    categorical = {c.name: c.levels for c in description.columns if c.kind == "categorical"}
    for key, kind, name in _names(entry):
        known = columns if kind == "column" else panels
        found = description.column_of(name) if kind == "column" else name
        if found not in known:
            raise ConfigError(
                f"{at}.{key} names {kind} {name!r}; data set {description.name!r} has "
                f"{listed(known)}{did_you_mean(name, known)}"
            )
        if kind == "column" and name in categorical:
            example = (categorical[name] or ("…",))[-1]
            raise ConfigError(
                f"{at}.{key} names column {name!r}, which is categorical and becomes one 0/1 "
                f"column per level; name a level, for example '{name}={example}'"
            )


def _names(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Key, kind (panel or column) and name, of every name in a scenario."""
    for panel, law in entry["missingness"]["panels"].items():
        at = "missingness.panels"
        yield at, "panel", panel
        for kind, key in (("column", "values"), ("panel", "indicators")):
            causes: Iterable[str] = law.get(key) or ()
            for cause in causes:
                yield f"{at}.{panel}.{key}", kind, cause
    for panel in entry["s"] or ():
        yield "s", "panel", panel
