"""Checks of the `diagnosis` block beyond its schema: one sentence with the key, or the study.

Read by the Snakefile, so it imports nothing heavy.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed
from frugal.data.description import Description
from frugal.studies.diagnosis.spec import EVERY, PARTS, TREE_KINDS, DiagnosisStudy


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
    seen = set()
    for k, entry in enumerate(block["scenarios"]):
        at, name = f"config: diagnosis.scenarios[{k}]", entry["dataset"]
        if name in seen:
            raise ConfigError(f"{at}: {name} stands there twice")
        seen.add(name)
        _require_among(entry["encoder"], block["encoders"], f"{at}.encoder", "encoders")
        for key in ("methods", "selection", "baselines", "trees"):
            for chosen in entry[key]:
                _require_among(chosen, block[key], f"{at}.{key}", f"those under diagnosis.{key}")
        _check_description(descriptions[name], at)
        panels = [panel.name for panel in descriptions[name].panels if not panel.free]
        for panel in entry["fixed_panels"]:
            _require_among(panel, panels, f"{at}.fixed_panels", "its panels with a cost")
    if "boosting" in block["training"]["classifier"]:
        raise ConfigError(
            "config: 'diagnosis.training.classifier' is boosted; there a network is needed, which "
            "'diagnosis.selection' uses, too; a boosted one stands under a method of "
            "'diagnosis.methods'"
        )
    _check_trees(block)
    _check_shown(study)
    return study


def _check_trees(block: Mapping[str, Any]) -> None:
    """Agents made of trees are of kinds that learn a whole front, under a name of their own."""
    for name, agent in block["trees"].items():
        key = f"config: diagnosis.trees.{name}"
        _require_among((agent or {}).get("kind"), TREE_KINDS, f"{key}.kind", "kinds made of trees")
        if name in block["methods"]:
            raise ConfigError(f"{key}: {name} is a name under diagnosis.methods, too; take another")


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


def _check_shown(study: DiagnosisStudy) -> None:
    """What is drawn and chosen is among what is trained."""
    for block in ("figures", "choose"):
        shown, at = study.block[block], f"config: diagnosis.{block}"
        names = [entry["dataset"] for entry in study.block["scenarios"]]
        _require_among(shown["dataset"], names, f"{at}.dataset", "the scenarios' data sets")
        entry = study.scenario(shown["dataset"])
        known = list(entry["methods"])
        if block == "choose":
            known += [*entry["trees"], EVERY]
        _require_among(shown["method"], known, f"{at}.method", "the scenario's methods")
        _require_among(
            shown["criterion"], entry["criteria"], f"{at}.criterion", "the scenario's criteria"
        )
        seed = int(shown["seed"])
        _require_among(seed, entry["seeds"], f"{at}.seed", "the scenario's seeds")


def _require_among(name: Any, known: Iterable[Any], key: str, what: str) -> None:
    known = list(known)
    if name not in known:
        hint = did_you_mean(str(name), [str(other) for other in known])
        raise ConfigError(f"{key} names {name!r}; {what} are {listed(known)}{hint}")
