"""A recourse catalogue on a real table: bins of columns are capabilities, actions give them.

Serves the recourse study. Reads a catalogue's YAML, and which capabilities each raw record has.
Costs in such a file are assumptions and are listed with their reasons; knows no solver.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Bool

from frugal.core.errors import DataError
from frugal.core.schema_check import read_yaml
from frugal.data.description import Column
from frugal.data.parsing import RawTable, numeric_column, text_column
from frugal.studies.recourse.catalogue import EVERYONE, Catalogue
from frugal.studies.recourse.config import Capability, RecourseRules
from frugal.studies.recourse.instance import CoverInstance


@dataclass(frozen=True, eq=False)
class CapabilityRules:
    """Content of the YAML of a real catalogue.

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
    document = RecourseRules.read(read_yaml(path), where=str(path))
    names = tuple(capability.name for capability in document.capabilities)
    actions = tuple(action.name for action in document.actions)
    instance = CoverInstance(
        cost=np.array([a.cost for a in document.actions]),
        provides=np.array([[n in a.provides for n in names] for a in document.actions]),
        thresholds=np.ones(len(names), dtype=np.int64),
        access=np.ones((1, len(actions)), dtype=bool),
    )
    catalogue = Catalogue(actions, names, (EVERYONE,), instance)
    return CapabilityRules(document.dataset, document.cost_unit, document.capabilities, catalogue)


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
