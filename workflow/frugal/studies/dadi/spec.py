"""The dadi block of a config: its scenarios, the settings of each step, the rows it promises.

Read by the Snakefile, so it imports nothing heavy. Knows nothing of how a step works.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frugal.core.declarations import declared
from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed
from frugal.data.description import Description

_KINDS = declared("frugal.studies.dadi.fair_baselines", "FairBaseline")
FAMILIES = tuple(dict.fromkeys(f for kind in _KINDS.values() for f in kind.literals["families"]))
LABEL_SHARE = "label_share"  # as a threshold: as many are decided 1 as have the label


@dataclass(frozen=True, eq=False)
class DadiStudy:
    """A validated dadi block.

    Attributes:
        block: of the config.
    """

    block: Mapping[str, Any]

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets, in the config's order."""
        return [entry["dataset"] for entry in self.block["scenarios"]]

    @property
    def baselines(self) -> dict[str, Any]:
        """Name → settings of every baseline, without those that an overlay left out."""
        return {k: dict(v) for k, v in self.block["baselines"].items() if v is not None}

    @property
    def agents(self) -> dict[str, Any]:
        """Name → settings of every agent of another kind, without those that were left out."""
        return {k: dict(v) for k, v in self.block["agents"].items() if v is not None}

    def scenario(self, dataset: str) -> Mapping[str, Any]:
        """Settings of one data set."""
        for entry in self.block["scenarios"]:
            if entry["dataset"] == dataset:
                return entry
        raise ConfigError(f"dadi.scenarios has no {dataset}")

    def gammas(self, dataset: str) -> list[float]:
        """Every γ of a data set: its own, or those of the study."""
        listed = self.scenario(dataset)["gammas"]
        return [float(gamma) for gamma in (self.block["gammas"] if listed is None else listed)]

    def _common(self, dataset: str) -> dict[str, Any]:
        """Inputs of every step of a fold: which rows and panels, and the agents' settings."""
        entry = self.scenario(dataset)
        folds = self.block["folds"]
        return {
            "design": {
                "rows": entry["rows"],
                "withheld_panels": list(entry["withheld_panels"]),
                "folds": folds["count"],
                "validation_share": folds["validation_share"],
            },
            "training": dict(self.block["training"]) | dict(entry["networks"]),
        }

    def train_settings(self, dataset: str) -> dict[str, Any]:
        """Settings of `train_dadi`."""
        return self._common(dataset) | {"gammas": self.gammas(dataset)}

    def fair_agent_settings(self, dataset: str, agent: str) -> dict[str, Any]:
        """Settings of `train_fair_agent`."""
        design = self._common(dataset)["design"]
        return {
            "design": design,
            "agent": self.agents[agent],
            "error_weight": self.block["error_weight"],
            "classifier": self.block["classifier"],
        }

    def agent_files(self, fold: str) -> dict[str, str]:
        """Inputs of `roll_out_dadi`: agents of other kinds, and their classifiers."""
        return {
            f"{kind}_{k}": f"results/agents/{fold}/agent={name}/{kind}.safetensors"
            for k, name in enumerate(self.agents)
            for kind in ("policy", "classifier")
        }

    def roll_out_settings(self, dataset: str) -> dict[str, Any]:
        """Settings of `roll_out_dadi`."""
        return self._common(dataset) | {
            "gammas": self.gammas(dataset),
            "threshold": self.block["threshold"],
            "audited_rows": self.block["audit"]["rows"],
            "selection_by": self.scenario(dataset)["selection_by"],
            "agents": self.agents,
        }

    def audit_settings(self, dataset: str) -> dict[str, Any]:
        """Settings of `audit_fairness`."""
        audit = {k: self.block["audit"][k] for k in ("logistic", "boosting", "set_network")}
        return self._common(dataset) | {"audit": audit}

    def baseline_settings(self, dataset: str) -> dict[str, Any]:
        """Settings of `fit_fair_baselines`."""
        return self._common(dataset) | {
            "baselines": self.baselines,
            "baseline_options": dict(self.block["baseline_options"]),
            "threshold": self.block["threshold"],
        }

    def score_settings(self) -> dict[str, Any]:
        """Settings of `score_dadi`."""
        reads_all = [
            name
            for name, chosen in self.baselines.items()
            if _KINDS[chosen["kind"]].has("reads_all") and not chosen.get("withheld", False)
        ]
        return {
            "objective": self.block["training"]["objective"],
            "resamples": self.block["resamples"],
            "reads_all": reads_all,
        }

    def summary_settings(self) -> dict[str, Any]:
        """Settings of `summarise_dadi`: who is compared with whom, each method with its family."""
        compared = self.block["comparison"]
        others = [name for name in self.baselines if name != compared["reference"]]
        families = {"dadi": "dadi"} | {name: family_of(name) for name in others}
        families |= {name: name for name in self.agents}
        return {
            "reference": compared["reference"],
            "auc_slack": compared["auc_slack"],
            "families": families,
        }

    def answer_settings(self, dataset: str) -> dict[str, Any]:
        """Settings of `write_dadi_answer`: the rule of the choice, and links."""
        compared, folder = self.block["comparison"], f"results/dadi/dataset={dataset}"
        return {
            "reference": compared["reference"],
            "auc_slack": compared["auc_slack"],
            "threshold": self.block["threshold"],
            "reading": {
                "A new case": "python -m frugal advise "
                f"results/bundles/study=dadi/dataset={dataset} cases.csv",
                "All on one page": f"{folder}/answer.html",
                "Every number": "results/summary/dadi.parquet",
                "Columns": "docs/reference/dadi.md",
            },
        }

    def bundle_weights(self, dataset: str) -> str:
        """The agents of which a bundle is made: those of the first fold that is run."""
        fold = min(self.block["folds"]["run"])
        return f"results/agents/dataset={dataset}/fold={fold}/weights.safetensors"

    def bundle_settings(self, dataset: str) -> dict[str, Any]:
        """Settings of `bundle_dadi`."""
        return self._common(dataset)

    def answer_files(self, name: str) -> list[str]:
        """One path per data set, of the outputs of `write_dadi_answer`."""
        return [f"results/dadi/dataset={dataset}/{name}" for dataset in self.datasets]

    def figure_settings(self, dataset: str) -> dict[str, Any]:
        """Settings of `draw_dadi_figures`."""
        entry = self.scenario(dataset)
        return {
            "shown_gammas": [float(gamma) for gamma in entry["shown_gammas"]],
            "by_stratum": entry["selection_by"],
            "caution": entry["caution"],
        }

    def fold_files(self, name: str) -> list[str]:
        """One path per data set and fold."""
        return [
            f"results/dadi/dataset={dataset}/fold={fold}/{name}"
            for dataset in self.datasets
            for fold in self.block["folds"]["run"]
        ]

    def wanted_rows(self) -> list[list[Any]]:
        """[data set, method, γ or None, fold] of every result that the config requests."""
        methods = [(None, name) for name in (*self.agents, *self.baselines)]
        return [
            [dataset, method, gamma, fold]
            for dataset in self.datasets
            for fold in self.block["folds"]["run"]
            for gamma, method in [*((g, "dadi") for g in self.gammas(dataset)), *methods]
        ]


def family_of(name: str) -> str:
    """The family of which a baseline's name is made: `lasso_fair_4` → lasso_fair.

    Raises:
        ConfigError: it is no family, alone or with one ending of letters, digits, "." and "-".
    """
    if name in FAMILIES:
        return name
    begun, _, ending = name.rpartition("_")
    if begun in FAMILIES and re.fullmatch(r"[A-Za-z0-9.-]+", ending):
        return begun
    raise ConfigError(
        f"config: dadi.baselines has {name!r}; a baseline's name is one of {listed(FAMILIES)}, "
        "alone or with one ending such as _8"
        f"{did_you_mean(name, FAMILIES) or did_you_mean(begun, FAMILIES)}"
    )


def load_dadi_study(
    config: Mapping[str, Any], descriptions: Mapping[str, Description]
) -> DadiStudy:
    """Check the dadi block beyond its schema.

    Args:
        config: the whole config, accepted by its schema.
        descriptions: of the data sets that scenarios name.

    Raises:
        ConfigError: one sentence with the key, the value found and the values allowed.
    """
    block = config["dadi"]
    study = DadiStudy(block)
    for name, chosen in study.baselines.items():
        kind, at = chosen["kind"], f"config: dadi.baselines.{name}"
        families = _KINDS[kind].literals["families"]
        if family_of(name) not in families:
            raise ConfigError(
                f"{at} is of kind {kind!r}; names of that kind begin with {' or '.join(families)}"
            )
    if (reference := block["comparison"]["reference"]) not in study.baselines:
        raise ConfigError(
            f"config: dadi.comparison.reference names {reference!r}; the baselines are "
            f"{listed(study.baselines)}"
        )
    for k, entry in enumerate(block["scenarios"]):
        _check_scenario(f"config: dadi.scenarios[{k}]", entry, descriptions[entry["dataset"]])
    return study


def _check_scenario(at: str, entry: Mapping[str, Any], described: Description) -> None:
    if described.groups is None:
        raise ConfigError(
            f"{at}: {described.path} has no groups of a protected attribute; it needs "
            "'sensitive' with 'column' and two 'groups'"
        )
    names = [panel.name for panel in described.panels]
    for name in entry["withheld_panels"]:
        if name not in names:
            raise ConfigError(
                f"{at}.withheld_panels names {name!r}; the panels of {described.name} are "
                f"{listed(names)}{did_you_mean(name, names)}"
            )
    if set(names) <= set(entry["withheld_panels"]):
        raise ConfigError(
            f"{at}.withheld_panels withholds every panel of {described.name}; none is left to be "
            "acquired"
        )
    if described.sensitive == described.label.column:
        raise ConfigError(
            f"{at}: {described.path} has {described.sensitive!r} as label and as protected "
            "attribute; dadi needs two columns"
        )
    by = entry["selection_by"]
    if by is not None:
        levels = {c.name: c.kind for c in described.columns}
        columns = next((p.columns for p in described.panels if p.name == by), ())
        if len(columns) != 1 or levels[columns[0]] != "categorical":
            able = [
                p.name
                for p in described.panels
                if len(p.columns) == 1 and levels[p.columns[0]] == "categorical"
            ]
            raise ConfigError(
                f"{at}.selection_by names {by!r}; it must be a panel of {described.name} with one "
                f"categorical column: {listed(able) or 'it has none'}{did_you_mean(by, able)}"
            )
        if by in entry["withheld_panels"]:
            raise ConfigError(
                f"{at}.selection_by names {by!r}, which withheld_panels withholds; selection is "
                "shown by a panel that can be acquired"
            )
