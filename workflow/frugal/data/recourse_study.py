"""The recourse block of a config: its scenarios, the files they start from, settings of each step.

Read by the Snakefile, so it imports nothing heavy. Knows nothing of how a step works.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.contracts.errors import ConfigError
from frugal.data.description import Description, load_description
from frugal.data.raw import locate_file
from frugal.data.schema_check import did_you_mean, listed


@dataclass(frozen=True, eq=False)
class RecourseStudy:
    """A validated recourse block.

    Attributes:
        block: of the config.
        mirror: folder of the publishers' files, or None.
        base: the project's folder, where paths of the config are looked for second.
        descriptions: data set → description, of scenarios on real tables.
    """

    block: Mapping[str, Any]
    mirror: Path | None
    base: Path
    descriptions: Mapping[str, tuple[Path, Description]]

    def scenario(self, dataset: str, variant: str) -> Mapping[str, Any]:
        """Settings of one data set and variant."""
        for entry in self.block["scenarios"]:
            if (entry["dataset"], entry["variant"]) == (dataset, variant):
                return entry
        raise ConfigError(f"recourse.scenarios has no {dataset} with variant {variant}")

    def label_inputs(self, dataset: str, variant: str) -> dict[str, str]:
        """Files that the labels start from: none for a simulated world."""
        source = self.scenario(dataset, variant)["source"]
        if source["kind"] == "simulated":
            return {}
        if source["kind"] == "own":
            return {name: str(self.find(source[name])) for name in ("catalogue", "units")}
        path, described = self.descriptions[dataset]
        inputs = {"rules": str(self.find(source["rules"])), "description": str(path)}
        for k, file in enumerate(described.source.files):
            found = locate_file(described, file.name, data_mirror=self.mirror)
            fetched = f"results/raw_recourse/dataset={dataset}/{Path(file.name).name}"
            inputs[f"raw_{k}"] = fetched if found is None else str(found)
        return inputs

    def outside_folders(self) -> str:
        """Words for `audit`: the folders in which files from outside are looked for."""
        given = {str(path.parent) for path, _ in self.descriptions.values()}
        for entry in self.block["scenarios"]:
            keys = [key for key in ("rules", "catalogue", "units") if key in entry["source"]]
            given |= {str(self.find(entry["source"][key]).parent) for key in keys}
        return shlex.join([word for folder in sorted(given) for word in ("--look-in", folder)])

    def fetch_settings(self, dataset: str, file: str) -> dict[str, Any]:
        """Where a raw file is published, and its SHA-256."""
        for declared in self.descriptions[dataset][1].source.files:
            if Path(declared.name).name == file:
                return {"url": declared.url, "sha256": declared.sha256}
        raise ConfigError(f"data set {dataset} declares no file {file!r}")

    def label_settings(self, dataset: str, variant: str) -> dict[str, Any]:
        """Settings of `label_units`."""
        common = {k: self.block[k] for k in ("max_nodes", "most_actions")}
        return common | {"source": dict(self.scenario(dataset, variant)["source"])}

    def answer_settings(self, dataset: str, variant: str, subset: str) -> dict[str, Any]:
        """Settings of `answer_units`: the scenario's generators, and what is kept of its units."""
        names = self.scenario(dataset, variant)["generators"]
        return {
            "train_share": self.block["train_share"],
            "max_nodes": self.block["max_nodes"],
            "more_than": self.block["subsets"][subset],
            "augmentation": self.block["augmentation"],
            "generators": {name: self.block["generators"][name] for name in names},
        }

    def outcome_files(self, name: str) -> list[str]:
        """One path per scenario, seed and subset."""
        return [
            f"results/recourse/dataset={e['dataset']}/variant={e['variant']}/seed={seed}"
            f"/subset={subset}/{name}"
            for e in self.block["scenarios"]
            for seed in e["seeds"]
            for subset in e["subsets"]
        ]

    def label_files(self, name: str) -> list[str]:
        """One path per scenario and seed."""
        return [
            f"results/recourse/dataset={e['dataset']}/variant={e['variant']}/seed={seed}/{name}"
            for e in self.block["scenarios"]
            for seed in e["seeds"]
        ]

    def wanted_rows(self) -> list[list[str]]:
        """[dataset, variant, seed, subset, generator] of every result that the config asks for."""
        return [
            [e["dataset"], e["variant"], str(seed), subset, generator]
            for e in self.block["scenarios"]
            for seed in e["seeds"]
            for subset in e["subsets"]
            for generator in e["generators"]
        ]

    def find(self, path: str) -> Path:
        """A path of the config, from the working folder or from the project's."""
        for candidate in (Path(path), self.base / path):
            if candidate.is_file():
                return candidate
        raise ConfigError(f"config: recourse names {path!r}, and there is no such file")


def load_recourse_study(config: Mapping[str, Any], base: Path) -> RecourseStudy:
    """Check the recourse block beyond its schema, and load the descriptions it names.

    Raises:
        ConfigError: one sentence with the key, what was found and what is allowed.
    """
    block = config["recourse"]
    mirror = config["data_mirror"]
    study = RecourseStudy(block, None if mirror is None else Path(mirror), base, {})
    seen, descriptions = set(), {}
    for k, entry in enumerate(block["scenarios"]):
        at, pair = f"config: recourse.scenarios[{k}]", (entry["dataset"], entry["variant"])
        if pair in seen:
            raise ConfigError(f"{at}: {pair[0]} with variant {pair[1]} stands there twice")
        seen.add(pair)
        for key in ("generators", "subsets"):
            for name in entry[key]:
                if name not in block[key]:
                    raise ConfigError(
                        f"{at}.{key} names {name!r}; under recourse.{key} there are "
                        f"{listed(block[key])}{did_you_mean(name, block[key])}"
                    )
        if entry["source"]["kind"] == "table":
            path = study.find(entry["source"]["description"])
            descriptions[entry["dataset"]] = (path, load_description(path))
        if entry["source"]["kind"] != "simulated":
            study.find(entry["source"].get("rules") or entry["source"]["catalogue"])
    return RecourseStudy(block, study.mirror, base, descriptions)
