"""The recourse block of a config: its scenarios, the files they start from, settings of each step.

Read by the Snakefile, so it imports nothing heavy. Knows nothing of how a step works.
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.errors import ConfigError
from frugal.core.schema_check import named_file, read_yaml
from frugal.data.description import Description, load_description
from frugal.data.raw import fetch_settings, raw_paths
from frugal.studies.recourse.config import FILES, RecourseRules


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
        paths = raw_paths(described, dataset, self.mirror)
        return inputs | {f"raw_{k}": path for k, path in enumerate(paths)}

    def outside_folders(self) -> str:
        """Words for `audit`: the folders in which files from outside are looked for."""
        folders = {str(path.parent) for path, _ in self.descriptions.values()}
        for entry in self.block["scenarios"]:
            keys = [key for key in ("rules", "catalogue", "units") if key in entry["source"]]
            folders |= {str(self.find(entry["source"][key]).parent) for key in keys}
        return shlex.join([word for folder in sorted(folders) for word in ("--look-in", folder)])

    def fetch_settings(self, dataset: str, file: str) -> dict[str, Any] | None:
        """Where a raw file is published, its size, and the SHA-256 of it or of its content."""
        _, described = self.descriptions.get(dataset, (None, None))
        return fetch_settings(described, file)

    def label_settings(self, dataset: str, variant: str) -> dict[str, Any]:
        """Settings of `label_units`."""
        common = {k: self.block[k] for k in ("max_nodes", "most_actions")}
        return common | {"source": dict(self.scenario(dataset, variant)["source"])}

    def answer_settings(self, dataset: str, variant: str, subset: str) -> dict[str, Any]:
        """Settings of `answer_units`: the scenario's generators, and its units' stored parts."""
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
        """[dataset, variant, seed, subset, generator] of every result that the config requests."""
        return [
            [e["dataset"], e["variant"], str(seed), subset, generator]
            for e in self.block["scenarios"]
            for seed in e["seeds"]
            for subset in e["subsets"]
            for generator in e["generators"]
        ]

    def find(self, path: str) -> Path:
        """A path of the config, from the project's folder or the working folder."""
        located = named_file(path, self.base)
        if located is None:
            raise ConfigError(f"config: recourse names {path!r}, and there is no such file")
        return located


def load_recourse_study(config: Mapping[str, Any], base: Path) -> RecourseStudy:
    """Check the recourse block against the files that it names, and read descriptions and rules.

    Raises:
        ConfigError: one sentence with the key, the value found and the values allowed.
    """
    block = config["recourse"]
    mirror = config["data_mirror"]
    study = RecourseStudy(block, None if mirror is None else Path(mirror), base, {})
    descriptions = {}
    for k, entry in enumerate(block["scenarios"]):
        at, source = f"config: recourse.scenarios[{k}].source", entry["source"]
        for key in FILES.get(source["kind"], ()):
            if named_file(source[key], base) is None:
                raise ConfigError(f"{at}.{key} names {source[key]!r}, and there is no such file")
        if source["kind"] == "table":
            path, rules = study.find(source["description"]), study.find(source["rules"])
            described = load_description(path)
            written = RecourseRules.read(read_yaml(rules), where=str(rules)).dataset
            for key, relation, name in (
                ("description", "describes", described.name),
                ("rules", "is written for", written),
            ):
                if name != entry["dataset"]:
                    raise ConfigError(
                        f"{at}.{key} {relation} the data set {name!r}, but the scenario's dataset "
                        f"is {entry['dataset']!r}; write one name in both"
                    )
            descriptions[entry["dataset"]] = (path, described)
    return RecourseStudy(block, study.mirror, base, descriptions)
