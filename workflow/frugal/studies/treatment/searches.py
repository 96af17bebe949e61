"""Shared parts of the stages of the treatment study: options from settings, repeats from inputs."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.streams import Streams
from frugal.studies.treatment.data.description import SearchDescription, load_search_description
from frugal.studies.treatment.data.records import TrialRecords, require_search_memory
from frugal.studies.treatment.data.susceptibility import SusceptibilityTable
from frugal.studies.treatment.data.tables import records_from_trials, table_from_units
from frugal.studies.treatment.models.outcome_forest import ForestOptions
from frugal.studies.treatment.search.repeats import SearchRepeat, table_repeats, world_repeat
from frugal.studies.treatment.search.searches import ComparisonOptions
from frugal.studies.treatment.search.simulated_worlds import WorldOptions

IDENTITY = ["planner", "outcome_model", "bound", "threshold"]


class Searches:
    """The repeats of one scenario, whether its units are drawn or read.

    Attributes:
        actions: name of each action.
        results: name of each outcome, from the worst to the best.
        contexts: name of each context.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        streams: Streams,
        *,
        description: Path | None,
        units: pd.DataFrame | None,
        catalogue: Mapping[str, Any] | None,
        searches: pd.DataFrame | None,
    ) -> None:
        self._settings = settings
        # one stream for all stages: the timed policies are those that are compared
        self.streams = Streams(streams.root, "compare_planners", streams.wildcards)
        self._searches = searches
        self._world: SearchDescription | None = None
        self._table: SusceptibilityTable | None = None
        if description is not None:
            world = self._world = load_search_description(description)
            bits = world.options["covariates"]
            require_search_memory(  # before 2^bits contexts are named
                n_contexts=2**bits,
                n_actions=len(world.actions),
                n_outcomes=len(world.results),
                memory_gib=settings["memory_gib"],
            )
            self.actions, self.results = tuple(world.actions), world.results
            self.contexts = tuple(f"X = {x:0{bits}b}" for x in range(2**bits))
            self._worth = np.arange(len(self.results), dtype=np.float64)
        else:
            assert units is not None, "bug: neither a world nor a table"
            assert catalogue is not None, "bug: units without their catalogue"
            table = self._table = table_from_units(units, catalogue)
            self.actions, self.results = table.actions, table.results
            self.contexts, self._worth = table.contexts.names, table.outcome_value

    def options(self, grid: Mapping[str, Any]) -> ComparisonOptions:
        """Settings of the study and of a grid as options of a comparison."""
        settings = self._settings
        return ComparisonOptions(
            planners=tuple(grid["planners"]),
            outcome_models=tuple(grid["outcome_models"]),
            bounds=tuple(grid["bounds"]),
            deltas=tuple(float(v) for v in grid["deltas"]),
            trial_prices=tuple(float(v) for v in grid["trial_prices"]),
            forest=ForestOptions(**settings["forest"]),
            outcome_value=self._worth,
            **{
                key: settings[key]
                for key in (
                    "price_offset",
                    "epsilon",
                    "alpha",
                    "stop_rule",
                    "ties",
                    "smoothing",
                    "pseudo_count",
                    "memory_gib",
                )
            },
        )

    def sizes(self, grid: Mapping[str, Any], repeat: SearchRepeat) -> list[int]:
        """Training units of a grid: those named, or all that the repeat has."""
        return [len(repeat.records)] if grid["n_train"] is None else list(grid["n_train"])

    def repeats(self, seeds: int) -> Iterator[SearchRepeat]:
        """The first so many realisations or splits."""
        if self._table is not None:
            yield from table_repeats(
                self._table.context,
                self._table.outcome,
                self._table.contexts.features,
                [self._split(self._table, seed) for seed in range(seeds)],
            )
            return
        grids = self._settings["grids"].values()
        assert self._world is not None
        for seed in range(seeds):
            options = self._world.options
            yield world_repeat(
                self.streams,
                seed,
                world_options=WorldOptions(
                    form=options["form"],
                    n_actions=len(self._world.actions),
                    n_outcomes=len(self._world.results),
                    n_covariates=options["covariates"],
                    n_moderators=options["moderators"],
                    covariate_scale=float(options["covariate_scale"]),
                    p_stop=float(options["p_stop"]),
                    p_stop_best=float(options["p_stop_best"]),
                    redraw_parameters=self._settings["redraw_world"],
                ),
                options=self.options(next(iter(grids))),
                n_train=max(max(grid["n_train"]) for grid in grids),
                n_test=self._world.options["test_units"],
            )

    def _split(self, table: SusceptibilityTable, seed: int) -> tuple[int, np.ndarray, TrialRecords]:
        """Test units of a split, and the treatments of all units."""
        assert self._searches is not None
        rows = self._searches[self._searches["seed"] == seed]
        tested = rows.loc[rows["part"] == "test", "row_id"]
        return seed, np.isin(table.row_id, tested), records_from_trials(rows, table)


def sized(rows: pd.DataFrame, group: list[str]) -> pd.DataFrame:
    """With the rank of the training size: a table's splits differ by a few units in size."""
    rank = rows.groupby(group)["n_train"].rank(method="dense").astype(int)
    return rows.assign(size=rank)
