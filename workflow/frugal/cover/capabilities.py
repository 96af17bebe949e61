"""A recourse catalogue on a real table: bins of columns are capabilities, actions give them.

Serves the recourse study. What a catalogue's YAML says, and which capabilities each raw record has.
Costs in such a file are assumptions and stand beside the reason for them; knows no solver.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from frugal.core.errors import ConfigError, DataError
from frugal.core.schema_check import (
    SCHEMAS,
    check_against_schema,
    did_you_mean,
    listed,
    load_schema,
    read_yaml,
)
from frugal.cover.catalogue import EVERYONE, Catalogue
from frugal.cover.instance import CoverInstance
from frugal.data.description import Column
from frugal.data.parsing import RawTable, numeric_column, text_column

_SCHEMA_PATH = SCHEMAS / "recourse_catalogue.schema.json"


@dataclass(frozen=True)
class Capability:
    """A yes/no feature: a column's text is one of `levels`, or its number is within bounds."""

    name: str
    column: str
    levels: tuple[str, ...]
    at_least: float | None
    at_most: float | None


@dataclass(frozen=True, eq=False)
class CapabilityRules:
    """What the YAML of a real catalogue says.

    Attributes:
        dataset: name of the data set whose raw records it reads.
        cost_unit: unit of the costs, which are assumptions.
        capabilities: the features; all are needed for a positive decision.
        catalogue: actions with cost and the capabilities they give.
    """

    dataset: str
    cost_unit: str
    capabilities: tuple[Capability, ...]
    catalogue: Catalogue


def load_capability_rules(path: Path) -> CapabilityRules:
    """The catalogue that a YAML describes.

    Raises:
        ConfigError: an unknown or missing key, a name written twice, or an action that gives a
            capability which the file does not define.
    """
    document = read_yaml(path)
    check_against_schema(document, load_schema(_SCHEMA_PATH), where=str(path))
    capabilities = tuple(_capability(c, path) for c in document["capabilities"])
    names = tuple(c.name for c in capabilities)
    actions = tuple(a["name"] for a in document["actions"])
    for kind, given in (("capability", names), ("action", actions)):
        twice = [name for name in given if given.count(name) > 1]
        if twice:
            raise ConfigError(f"{path}: {kind} {twice[0]!r} is written twice")
    for action in document["actions"]:
        for given in action["provides"]:
            if given not in names:
                raise ConfigError(
                    f"{path}: action {action['name']!r} provides {given!r}, which is no "
                    f"capability; there are {listed(names)}{did_you_mean(given, names)}"
                )
    instance = CoverInstance(
        cost=np.array([float(a["cost"]) for a in document["actions"]]),
        provides=np.array([[n in a["provides"] for n in names] for a in document["actions"]]),
        thresholds=np.ones(len(names), dtype=np.int64),
        access=np.ones((1, len(actions)), dtype=bool),
    )
    catalogue = Catalogue(actions, names, (EVERYONE,), instance)
    return CapabilityRules(document["dataset"], document["cost_unit"], capabilities, catalogue)


def capabilities_of(raw: RawTable, rules: CapabilityRules) -> Bool[np.ndarray, "n d"]:
    """Which capabilities each raw record has, in the order of the rules. (n, d)

    Raises:
        DataError: a column is missing, or no record has a level that a rule names.
    """
    has = np.zeros((len(raw), len(rules.capabilities)), dtype=bool)
    for j, capability in enumerate(rules.capabilities):
        if capability.levels:
            cells = text_column(raw, capability.column, (), "capabilities")
            absent = [level for level in capability.levels if level not in set(cells)]
            if absent:
                raise DataError(
                    f"capability {capability.name!r}: no record has {absent[0]!r} in column "
                    f"{capability.column!r}"
                )
            has[:, j] = np.isin(cells.astype(str), capability.levels)
        else:
            column = Column(capability.column, capability.column, "numeric", "1", None, None, ())
            values = numeric_column(raw, column, ())
            low = -np.inf if capability.at_least is None else capability.at_least
            high = np.inf if capability.at_most is None else capability.at_most
            has[:, j] = (low <= values) & (values <= high)
    return has


def _capability(rule: Mapping[str, Any], path: Path) -> Capability:
    bounds = [key for key in ("at_least", "at_most") if key in rule]
    if ("levels" in rule) == bool(bounds):
        raise ConfigError(
            f"{path}: capability {rule['name']!r} needs either 'levels' or bounds ('at_least', "
            "'at_most'), and not both"
        )
    return Capability(
        rule["name"],
        rule["column"],
        tuple(str(level) for level in rule.get("levels", ())),
        float(rule["at_least"]) if "at_least" in rule else None,
        float(rule["at_most"]) if "at_most" in rule else None,
    )
