"""The treatment block of a config: scenarios, their data sets and files, checked before any job.

Read by the Snakefile, so it imports nothing heavy. Knows which files the first steps need and which
settings each step gets; knows nothing of how a step works.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from frugal.core.declarations import declared
from frugal.core.errors import ConfigError
from frugal.core.schema_check import did_you_mean, listed, named_file
from frugal.data.raw import stored_names
from frugal.studies.treatment.data.description import (
    SearchDescription,
    load_search_description,
    locate_search_file,
)
from frugal.studies.treatment.data.keys import SearchFile

_PREPARING = ("prescribing", "test_share")


@dataclass(frozen=True, eq=False)
class TreatmentStudy:
    """A validated treatment block with the descriptions of the data sets that it uses.

    Attributes:
        block: `treatment` of the config.
        data_mirror: folder with the publishers' files, or None.
        descriptions: scenario → description of its data set.
    """

    block: Mapping[str, Any]
    data_mirror: Path | None
    descriptions: Mapping[str, SearchDescription]

    def scenarios(self, *, simulated: bool) -> list[str]:
        """Names of the scenarios whose units are drawn, or of those whose units are read."""
        return [name for name, d in self.descriptions.items() if d.simulated == simulated]

    def files(self, template: str) -> list[str]:
        """One path per scenario; `{dataset}` is its name."""
        return [template.replace("{dataset}", name) for name in self.descriptions]

    def raw_inputs(self, scenario: str) -> dict[str, str]:
        """Inputs of `prepare_searches`: the description and, in its order, the raw files."""
        description = self.descriptions[scenario]
        inputs = {"description": str(description.path)}
        for k, (file, stored) in enumerate(self._stored_files(scenario)):
            path = locate_search_file(description, file, data_mirror=self.data_mirror)
            fetched = f"results/raw/dataset={scenario}/{stored}"
            inputs[f"raw_{k}"] = fetched if path is None else str(path)
        return inputs

    def fetch_settings(self, scenario: str, file: str) -> dict[str, Any] | None:
        """Where a raw file is published, its SHA-256 and size; None of a restricted file."""
        for published, stored in self._stored_files(scenario):
            if stored == file and published.downloadable:
                return {
                    "url": published.url,
                    "sha256": published.sha256[-1],
                    "bytes": published.published_bytes,
                }
        return None

    def _stored_files(self, scenario: str) -> list[tuple[SearchFile, str]]:
        files = self.descriptions[scenario].files if scenario in self.descriptions else ()
        return list(zip(files, stored_names([file.name for file in files]), strict=True))

    def compare_inputs(self, scenario: str) -> dict[str, str]:
        """Inputs of `compare_planners`: a world's description, or the units of a table."""
        description = self.descriptions[scenario]
        if description.simulated:
            return {"description": str(description.path)}
        folder = f"results/searches/dataset={scenario}"
        return {
            "units": f"{folder}/units.parquet",
            "catalogue": f"{folder}/catalogue.json",
            "searches": f"{folder}/searches.parquet",
        }

    def prepare_settings(self, scenario: str) -> dict[str, Any]:
        """Settings of the splits and the simulated prescriptions of a table."""
        entry = self.block["scenarios"][scenario]
        return {"seeds": entry["seeds"]} | {key: self.block[key] for key in _PREPARING}

    def compare_settings(self, scenario: str) -> dict[str, Any]:
        """Settings of the policies of a scenario and of their evaluation."""
        entry = self.block["scenarios"][scenario]
        shared = {
            key: value
            for key, value in self.block.items()
            if key not in (*_PREPARING, "scenarios", "figures")
        }
        return shared | {key: entry[key] for key in ("seeds", "redraw_world", "grids")}

    def figure_settings(self, scenario: str) -> dict[str, Any]:
        """Title, best outcome and grids of a scenario; which policies represent their kind."""
        described = self.descriptions[scenario]
        grids = self.block["scenarios"][scenario]["grids"]
        names = {"title": described.title, "best": described.results[-1]}
        return names | dict(grids) | dict(self.block["figures"])

    def check_settings(self) -> dict[str, Any]:
        """Required content of the summary: seeds and grids of every scenario."""
        return {
            name: {"seeds": entry["seeds"], "grids": entry["grids"]}
            for name, entry in self.block["scenarios"].items()
        }


def load_treatment_study(config: Mapping[str, Any], base: Path) -> TreatmentStudy:
    """Check the treatment block and load the descriptions that its scenarios name.

    Args:
        config: the whole config, valid by its schema.
        base: the project's folder; relative paths of descriptions are tried here first, then in the
            working folder.

    Raises:
        ConfigError: one sentence with the key, the value found and the values allowed.
    """
    block, descriptions = config["treatment"], {}
    for name, entry in block["scenarios"].items():
        at = f"config: treatment.scenarios.{name}"
        dataset = entry["dataset"]
        if dataset not in config["datasets"]:
            raise ConfigError(
                f"{at} names data set {dataset!r}; under 'datasets' there are "
                f"{listed(config['datasets'])}{did_you_mean(dataset, config['datasets'])}"
            )
        path = Path(config["datasets"][dataset])
        located = named_file(path, base)
        if located is None:
            raise ConfigError(f"config: datasets.{dataset} is {str(path)!r}; there is no such file")
        descriptions[name] = load_search_description(located)
        simulated = descriptions[name].simulated
        if entry["redraw_world"] and not simulated:
            raise ConfigError(f"{at}.redraw_world is true; a table has no world, so write false")
        _check_grids(at, entry["grids"], simulated=simulated)
        _check_figures(at, entry["grids"]["sweep"], block["figures"], simulated=simulated)
    mirror = config["data_mirror"]
    return TreatmentStudy(block, None if mirror is None else Path(mirror), descriptions)


def _check_grids(at: str, grids: Mapping[str, Any], *, simulated: bool) -> None:
    """A world needs sizes of training sets; a table has one size and no true model."""
    if simulated != ("sizes" in grids):
        raise ConfigError(
            f"{at}.grids has {listed(grids)}; a world needs 'sizes' and 'sweep', a table 'sweep'"
        )
    for grid, entry in grids.items():
        if simulated == (entry["n_train"] is None):
            raise ConfigError(
                f"{at}.grids.{grid}.n_train is {entry['n_train']}; a world needs a list of sizes, "
                "a table null: all units of its training patients"
            )
        if "true" in entry["outcome_models"] and not simulated:
            raise ConfigError(f"{at}.grids.{grid} names the true model, which no table knows")


def _check_figures(
    at: str, sweep: Mapping[str, Any], figures: Mapping[str, Any], *, simulated: bool
) -> None:
    """The policies that represent their kind in the figures must be in every sweep."""
    tree = figures["tree"]
    used = [(f"tree.{key}", tree[key], f"{key}s") for key in ("planner", "outcome_model")]
    used += [("tree.bound", tree["bound"], "bounds"), ("tree.delta", tree["delta"], "deltas")]
    if not simulated:  # Fig. 3a
        used.append(("delta", figures["delta"], "deltas"))
        planners = declared("frugal.studies.treatment.planners", "SearchPlanner")
        if any(
            planners[name].literals["thresholds"] == "trial_prices" for name in sweep["planners"]
        ):
            used.append(("trial_price", figures["trial_price"], "trial_prices"))
    for key, value, grid in used:
        if not any(_equal(value, in_sweep) for in_sweep in sweep[grid]):
            raise ConfigError(
                f"config: treatment.figures.{key} is {value!r}, but {at}.grids.sweep.{grid} has "
                f"{', '.join(map(str, sweep[grid]))}"
            )


def _equal(value: Any, other: Any) -> bool:
    """Equal texts, or numbers that agree up to the last digits of their decimal form."""
    if isinstance(value, str):
        return value == other
    return math.isclose(value, other, rel_tol=1e-5, abs_tol=1e-8)
