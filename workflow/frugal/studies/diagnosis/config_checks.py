"""Checks of the `diagnosis` block beyond its schema: one sentence with the key, or the study.

Read by the Snakefile, so it imports nothing heavy.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from frugal.config.declared import kinds_with
from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed
from frugal.data.description import Description
from frugal.studies.diagnosis.spec import PARTS, DiagnosisStudy


def load_diagnosis_study(
    config: Mapping[str, Any], descriptions: Mapping[str, Description]
) -> DiagnosisStudy:
    """Check the diagnosis block beyond its schema.

    Args:
        config: as Snakemake merged it, checked against its schema.
        descriptions: of every data set that the config uses.

    Raises:
        ConfigError: one sentence with the key, what was found and what is allowed.
    """
    block = config["diagnosis"]
    study = DiagnosisStudy(block, descriptions)
    for k, entry in enumerate(block["scenarios"]):
        at, described = f"config: diagnosis.scenarios[{k}]", descriptions[entry["dataset"]]
        _check_description(described, at)
        panels = [panel.name for panel in described.panels if not panel.free]
        for panel in entry["fixed_panels"]:
            _require_among(panel, panels, f"{at}.fixed_panels", "its panels with a cost")
    _check_trees(block)
    return study


def _check_trees(block: Mapping[str, Any]) -> None:
    """Agents made of trees are of kinds that learn a whole front, under a name of their own."""
    for name, agent in block["trees"].items():
        key = f"config: diagnosis.trees.{name}"
        kind, known = (agent or {}).get("kind"), kinds_with("front")
        _require_among(kind, known, f"{key}.kind", "kinds made of trees")


def _check_description(described: Description, at: str) -> None:
    """The data set has the five parts of the study and two classes."""
    given = set(described.split.parts)
    for fractions in described.split.groups.values():
        given |= set(fractions)
    if lacking := [part for part in PARTS if part not in given]:
        raise ConfigError(
            f"{at}: {described.path} has no part {lacking[0]!r} under 'split'; diagnosis needs "
            f"{listed(PARTS)}"
        )
    if len(described.label.classes) != 2:
        raise ConfigError(
            f"{at}: the label of {described.path} has {len(described.label.classes)} classes; "
            "diagnosis needs two, of which the second is the positive one"
        )


def _require_among(name: Any, known: Iterable[Any], key: str, what: str) -> None:
    known = list(known)
    if name not in known:
        hint = did_you_mean(str(name), [str(other) for other in known])
        raise ConfigError(f"{key} names {name!r}; {what} are {listed(known)}{hint}")
