"""The study that a config describes: scenarios, data sets and their files, checked before any job.

Read by the Snakefile, so it imports nothing heavy. Knows which files the first steps need; knows
nothing of how a step works.
"""

import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.answer.requirements import (
    remark_on_error_costs,
    require_candidates,
    require_error_costs,
    require_known_agent,
    require_known_names,
)
from frugal.config.declared import is_filed, kinds_with, learns
from frugal.config.parts import further_paths, requested
from frugal.config.root import effective, most_missed_of
from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed, named_file
from frugal.core.studies import of_studies
from frugal.data.description import Description, load_description
from frugal.data.raw import fetch_settings, raw_paths


def table_studies(config: Mapping[str, Any]) -> list[str]:
    """Studies whose scenarios name data sets, and whose block has agents that act on them."""
    return [study for study in of_studies("config") if "agents" in config.get(study, ())]


@dataclass(frozen=True, eq=False)
class Study:
    """A validated config with the descriptions of the data sets that it uses.

    Attributes:
        config: the whole config.
        paths: data set → its YAML.
        descriptions: data set → its description.
        own_files: agent → file of one's own function.
    """

    config: Mapping[str, Any]
    paths: Mapping[str, Path]
    descriptions: Mapping[str, Description]
    own_files: Mapping[str, Path]

    @property
    def agents(self) -> dict[str, Any]:
        """Name → settings of every acquisition policy, without those that an overlay left out."""
        agents = self.config["afape"]["agents"]
        return {name: settings for name, settings in agents.items() if settings is not None}

    @property
    def trained_agents(self) -> list[str]:
        """Names of the agents that learn."""
        return [name for name, chosen in self.agents.items() if learns(chosen["kind"])]

    @property
    def filed_agents(self) -> list[str]:
        """Names of the agents that act by a file: those that learn, and one's own functions."""
        return [
            name
            for name, chosen in self.agents.items()
            if learns(chosen["kind"]) or is_filed(chosen["kind"])
        ]

    def scenario(self, dataset: str, mechanism: str) -> Mapping[str, Any]:
        """Settings of one data set × mechanism."""
        for entry in self.config["afape"]["scenarios"]:
            if (entry["dataset"], entry["mechanism"]) == (dataset, mechanism):
                return entry
        raise ConfigError(f"afape.scenarios has no {dataset} with {mechanism}")

    def missingness_settings(self, dataset: str, mechanism: str) -> dict[str, Any]:
        """Settings of `draw_missingness`."""
        entry = self.scenario(dataset, mechanism)
        seeds = self.config["afape"]["seeds"]
        return {
            "name": mechanism,
            "seeds": seeds,
            "missingness": entry["missingness"],
            "s": entry["s"],
        }

    def causes_input(self, dataset: str, mechanism: str) -> dict[str, str]:
        """Input of `draw_missingness`: the YAML of causes, where the scenario names none itself."""
        path, law = self.config["causes"], self.scenario(dataset, mechanism)["missingness"]
        return {} if path is None or law["panels"] is not None else {"causes": str(path)}

    def folds(self, dataset: str) -> list[str]:
        """Folds of a data set's rows; none where it is divided otherwise."""
        split = self.descriptions[dataset].split
        return list(split.parts) if split.scheme == "folds" else []

    @property
    def candidates(self) -> dict[str, Any]:
        """The policies that an answer chooses from, in the order in which they are preferred."""
        prefer = self.config["afape"]["answer"]["prefer"]
        rest = [name for name in self.agents if name not in prefer]
        return {name: self.agents[name] for name in (*prefer, *rest) if name in self.agents}

    def candidate_settings(self) -> dict[str, Any]:
        """Settings of `learn_candidates`.

        Raises:
            ConfigError: the answer names policies that are not there.
        """
        block = self.config["afape"]
        if any(self.folds(name) for name in self.judged_datasets):
            able = self.agents if self.config["objective"] == "cost" else self.trained_agents
            require_candidates(block, able)
        return {
            "agents": self.candidates,
            "practice": block["answer"]["practice"],
            "classifier": block["classifier"],
            "objective": self.config["objective"],
            "budgets": self.config["afape"]["answer"]["budgets"],
            "repeats": self.config["afape"]["answer"]["repeats"],
            "also": further_paths(self.config),
        }

    def judging_settings(self) -> dict[str, Any]:
        """Settings of `judge_candidates`."""
        return {
            "agents": list(self.candidates),
            "margin": float(self.config["margin"]),
            "gamma": self.config["afape"]["answer"]["gamma"],
            "objective": self.config["objective"],
            "budgets": self.config["afape"]["answer"]["budgets"],
            "recorded": self.config["afape"]["answer"]["recorded"],
            "most_missed": most_missed_of(self.config),
            "parts": requested(self.config),
        }

    def verdict_settings(self) -> dict[str, Any]:
        """Settings of `give_verdicts`."""
        causes = self.config["afape"]["evaluation"]["hidden_causes"]
        margin = float(self.config["margin"])
        return {"cost_units": self.cost_units(), "gammas": causes["gammas"], "margin": margin}

    def nuisance_settings(self, dataset: str, mechanism: str) -> dict[str, Any]:
        """Settings of `fit_nuisances`, with the scenario's own method where it has one."""
        settings = dict(self.config["afape"]["nuisance"])
        settings |= {"agents": self.agents, "filed": self.filed_agents}
        method = self.scenario(dataset, mechanism)["nuisance_method"]
        return settings if method is None else settings | {"method": method}

    @property
    def judged_datasets(self) -> list[str]:
        """Data sets of the scenarios and of the grid, each once."""
        block = self.config["afape"]
        named = [entry["dataset"] for entry in block["scenarios"]]
        return list(dict.fromkeys([*named, *block["grid"]["datasets"]]))

    def scenario_names(self) -> list[list[str]]:
        """[data set, mechanism] of every scenario, in the config's order."""
        return [[e["dataset"], e["mechanism"]] for e in self.config["afape"]["scenarios"]]

    def scenario_files(self, template: str) -> list[str]:
        """One path per scenario; `{scenario}` is replaced by its two folders."""
        return [
            template.replace("{scenario}", f"dataset={d}/mechanism={m}")
            for d, m in self.scenario_names()
        ]

    def policy_inputs(self, dataset: str, mechanism: str, agents: list[str]) -> dict[str, str]:
        """Files of those of these agents that have one: policy_0, policy_1, …"""
        folder = f"results/agents/dataset={dataset}/mechanism={mechanism}"
        filed = [name for name in agents if name in self.filed_agents]
        return {
            f"policy_{k}": str(self.own_files[agent])
            if agent in self.own_files
            else f"{folder}/agent={agent}/policy.safetensors"
            for k, agent in enumerate(filed)
        }

    def raw_inputs(self, dataset: str) -> dict[str, str]:
        """Inputs of `prepare_data`: the description and, in its order, the raw files."""
        inputs = self.described_input(dataset)
        mirror = self.config["data_mirror"]
        folder = None if mirror is None else Path(mirror)
        for k, path in enumerate(raw_paths(self.descriptions[dataset], dataset, folder)):
            inputs[f"raw_{k}"] = path
        return inputs

    def prepare_settings(self, dataset: str) -> dict[str, Any] | None:
        """Settings of `prepare_data`: keys that replace those of the YAML, but for files."""
        instead = dict(self.config["afape"]["answer"]["instead"].get(dataset, {}))
        instead.pop("source", None)  # inputs
        return instead or None

    def described_input(self, dataset: str) -> dict[str, str]:
        """The description alone."""
        return {"description": str(self.paths[dataset])}

    def bundle_files(self) -> list[str]:
        """A file of the bundle of every agent that has an answer to new cases, by scenario."""
        template = "results/bundles/{scenario}/agent={agent}/cases.json"
        return [
            path
            for agent, chosen in self.agents.items()
            if chosen["kind"] not in kinds_with("rows_only")
            for path in self.scenario_files(template.replace("{agent}", agent))
        ]

    def fetch_settings(self, dataset: str, file: str) -> dict[str, Any] | None:
        """Where a raw file is published, its size, and the SHA-256 of it or of its content."""
        return fetch_settings(self.descriptions.get(dataset), file)

    def cost_unit(self) -> str:
        """The unit that all data sets of `afape` share, or a phrase where they differ."""
        used = {entry["dataset"] for entry in self.config["afape"]["scenarios"]}
        units = {self.descriptions[name].cost_unit for name in used}
        return units.pop() if len(units) == 1 else "unit of each data set"

    def cost_units(self) -> dict[str, str]:
        """The unit of cost of each data set of `afape`."""
        used = dict.fromkeys(entry["dataset"] for entry in self.config["afape"]["scenarios"])
        return {name: self.descriptions[name].cost_unit for name in used}

    def remarks(self) -> list[str]:
        """Warnings of probably unintended settings: a sentence each, for the start of a run."""
        remark_of = {
            entry["dataset"]: remark_on_error_costs(
                f"afape.scenarios[{k}]", self.descriptions[entry["dataset"]]
            )
            for k, entry in enumerate(self.config["afape"]["scenarios"])
        }
        return [sentence for sentence in remark_of.values() if sentence is not None]

    def outside_folders(self) -> str:
        """Words for `audit`: the folders in which files from outside are looked for."""
        folders = {str(path.parent) for path in self.paths.values()}
        if self.config["data_mirror"] is not None:
            folders.add(str(self.config["data_mirror"]))
        return shlex.join([word for f in sorted(folders) for word in ("--look-in", f)])


def published_file(
    sources: Iterable[Callable[[str, str], dict[str, Any] | None]], dataset: str, file: str
) -> dict[str, Any]:
    """Where a raw file is published, and its digests.

    Args:
        sources: `fetch_settings` of every study that may declare it.
        dataset: whose file it is.
        file: the name under which it is stored.

    Raises:
        ConfigError: none does, or two disagree on it.
    """
    answers = [settings_of(dataset, file) for settings_of in sources]
    matches = [settings for settings in answers if settings is not None]
    if not matches:
        raise ConfigError(f"data set {dataset!r} declares no file {file!r} to download")
    if any(settings != matches[0] for settings in matches):
        raise ConfigError(
            f"the file {file!r} of data set {dataset!r} is declared by two studies with different "
            "addresses or digests; give one of the data sets another name"
        )
    return matches[0]


def load_study(config: Mapping[str, Any], base: Path, loaded: Study | None = None) -> Study:
    """Check a config and load the descriptions that its scenarios name.

    Args:
        config: as Snakemake merged it from config.yaml, `--configfile` and `--config`.
        base: the project's folder; relative paths of descriptions are tried here and in the
            working folder.
        loaded: of the same data sets; its descriptions and own files are not read again.

    Raises:
        ConfigError: one sentence with the key, the value found and the values allowed.
    """
    config = effective(config)
    loaded = loaded or Study(config, {}, {}, {})
    paths: dict[str, Path] = {}
    for name in _used_datasets(config):
        path = config["datasets"][name]
        if name in loaded.paths:
            paths[name] = loaded.paths[name]
            continue
        if (file := named_file(path, base)) is None:
            raise ConfigError(f"config: datasets.{name} is {path!r}, and there is no such file")
        paths[name] = file
    instead = config["afape"]["answer"]["instead"]
    descriptions = {
        name: loaded.descriptions.get(name) or load_description(path, instead.get(name))
        for name, path in paths.items()
    }
    for name, description in descriptions.items():
        if description.name != name:
            raise ConfigError(
                f"config: 'datasets.{name}' is {str(paths[name])!r}, which describes the data set "
                f"{description.name!r}; write one name in both"
            )
        _require_plain_costs(name, description, f1=config["objective"] == "f1")
    own_files = _own_files(config["afape"]["agents"], base, loaded.own_files)
    study = Study(config, paths, descriptions, own_files)
    for k, entry in enumerate(config["afape"]["scenarios"]):
        at = f"config: afape.scenarios[{k}]"
        description = study.descriptions[entry["dataset"]]
        require_known_names(at, entry, description)
        if description.missing_values == "partial":  # no study of masks knows such R
            raise ConfigError(
                f"{at} names data set {description.name!r}, whose 'missing_values' is partial; "
                "afape knows a panel as recorded or missing as a whole, so allowed there are own "
                "(a panel that lacks any value is missing) and induced (the table is complete)"
            )
        _require_labels(at, description, decides=config.get("table") is not None, losses=True)
        require_error_costs(at, description)
        for name, agent in study.agents.items():
            require_known_agent(f"config: afape.agents.{name}", agent, description)
    for block in table_studies(config):
        for entry in config[block]["scenarios"]:
            agents = config[block]["agents"]
            _require_labels(f"config: {block}.scenarios", descriptions[entry["dataset"]])
            for name in entry.get("agents", agents):
                if agents.get(name) is not None:
                    at = f"config: {block}.agents.{name}"
                    require_known_agent(at, agents[name], descriptions[entry["dataset"]])
    _require_agent_rows(study)
    return study


def _require_labels(
    at: str, description: Description, *, decides: bool = False, losses: bool = False
) -> None:
    """Refuse rows without a label where nothing weighs them, and numbers where classes are read."""
    if description.label.numeric is not None and not losses:
        raise ConfigError(
            f"{at} names data set {description.name!r}, whose label is a number ('label.predict'); "
            "afape and `decide` count its loss, and other studies need 'classes'"
        )
    if description.label.weighed and not decides:
        raise ConfigError(
            f"{at} names data set {description.name!r}, which keeps rows without a label "
            "('label.unlabelled: weigh'); `decide` alone weighs them, so drop them here: {rule: "
            "label_missing, reason: …} under 'drop_rows'"
        )


def _own_files(
    agents: Mapping[str, Any], base: Path, loaded: Mapping[str, Path]
) -> dict[str, Path]:
    """Agent → file of one's own function, found beside the project or in the working folder."""
    files = {}
    for name, chosen in agents.items():
        if chosen is None or not is_filed(chosen["kind"]):
            continue
        path = loaded.get(name) or named_file(chosen["file"], base)
        if path is None:
            raise ConfigError(
                f"config: afape.agents.{name}.file is {chosen['file']!r}, and there is no such file"
            )
        files[name] = path
    return files


def _used_datasets(config: Mapping[str, Any]) -> list[str]:
    """The data sets that scenarios of any study on tables name, each once, in order."""
    datasets = config["datasets"]
    used = [
        (f"{block}.scenarios[{k}] names data set", entry["dataset"])
        for block in ("afape", *table_studies(config))
        for k, entry in enumerate(config[block].get("scenarios", ()))
    ]
    used += [("afape.grid.datasets names", name) for name in config["afape"]["grid"]["datasets"]]
    for names, name in used:
        if name not in datasets:
            raise ConfigError(
                f"config: {names} {name!r}; under 'datasets' there are {listed(datasets)}"
                f"{did_you_mean(name, datasets)}"
            )
    return list(dict.fromkeys(name for _, name in used))


def _require_plain_costs(name: str, description: Description, *, f1: bool) -> None:
    """Refuse set-ups and costs by case wherever only a price for each panel is read."""
    key = "set_ups" if description.set_ups else "cost: {column: …}"
    by_case = any(panel.fee is not None for panel in description.panels)
    if (description.set_ups or by_case) and (f1 or description.split.scheme != "folds"):
        raise ConfigError(
            f"config: data set {name!r} ({description.path}) has '{key}', which only `decide` with "
            "objective=cost reads; everywhere else a panel has one price for every case"
        )


def _require_agent_rows(study: Study) -> None:
    """Refuse a data set without rows for agents that learn."""
    for dataset in study.judged_datasets:
        split = study.descriptions[dataset].split
        grouped = (part for group in split.groups.values() for part in group)
        parts = list(dict.fromkeys([*split.parts, *grouped]))
        if study.trained_agents and "agent" not in parts and split.scheme != "folds":
            without = listed(f"`{agent}: null`" for agent in study.trained_agents)
            raise ConfigError(
                f"config: afape.agents.{study.trained_agents[0]} learns on the part 'agent', and "
                f"the split of {study.paths[dataset]} has only {listed(parts)}; add it there, "
                f"or write {without} under 'afape.agents'"
            )
