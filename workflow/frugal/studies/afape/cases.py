"""What estimators read of each policy and seed, block by block, from what stages before stored."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.rows import Partitions, Rows, rows_of, slices_of
from frugal.data.panel_columns import panel_columns
from frugal.judge.case import Case, build_case
from frugal.judge.cost_cells import KnownRows
from frugal.judge.views import ViewRows
from frugal.studies.afape.stored import TEST, JudgedRows, StoredEpisodes, StoredRecords


class StoredCases(JudgedRows):
    """Cases of the test rows.

    Args:
        records: table and masks.
        identification: as `draw_missingness` stored it.
        episodes: `blocked` and `worlds` of every agent, as `roll_out` stored them.
        fitted: `propensities` and `agents`, as `fit_nuisances` stored them.
    """

    def __init__(
        self,
        records: StoredRecords,
        identification: Mapping[str, Any],
        episodes: tuple[Partitions, Partitions],
        fitted: tuple[pd.DataFrame | Rows, pd.DataFrame | Rows],
    ) -> None:
        super().__init__(records)
        self._identification = identification
        blocked, self._worlds = episodes
        self._blocked = StoredEpisodes(blocked, records.table)
        self._propensities, self._fits = map(rows_of, fitted)
        self.agents = self._blocked.agents
        self._fitted_at = slices_of(self._propensities, self.counts, "propensities")
        self._fits_at = slices_of(self._fits, self.counts, "propensities of agents")

    def seeds(self) -> list[int]:
        """Seeds of the study, in order."""
        return self.records.seeds

    def case(self, agent: str, seed: int, at: int) -> Case:
        """One policy and seed on the rows of the at-th block."""
        return self.once("case", (agent, seed, at), lambda: self._case(agent, seed, at))

    def _case(self, agent: str, seed: int, at: int) -> Case:
        return build_case(
            self.data(at), identification=self._identification, cluster=self.cluster_of(at),
            masks=self.masks(seed, at), propensities=self.propensities(seed, at),
            **self.frames(agent, seed, at),
        )  # fmt: skip

    def frames(self, agent: str, seed: int, at: int) -> dict[str, pd.DataFrame]:
        """Episodes and fits of one policy and seed: `blocked`, `worlds`, `agents`."""
        stored = {
            "blocked": self.once("blocked", (agent, at), lambda: self._episodes(agent, at)),
            "worlds": self.once("worlds", (agent, at), lambda: self._elsewhere(agent, at)),
            "agents": self._fits_of(agent, seed, at),
        }
        return {name: frame[frame["seed"] == seed] for name, frame in stored.items()}

    def _episodes(self, agent: str, at: int) -> pd.DataFrame:
        found = self._blocked.read(agent, self.numbers[at])
        return found[found["row_id"].isin(self.data(at).row_id)]

    def _elsewhere(self, agent: str, at: int) -> pd.DataFrame:
        rows = self._worlds.rows("agent", agent)
        places = slices_of(rows, self.counts, f"episodes of agent {agent!r}")
        return rows.read(places[self.numbers[at]])

    def _fits_of(self, agent: str, seed: int, at: int) -> pd.DataFrame:
        """Rows of a block stand seed after seed, and agent after agent."""
        place = self._fits_at[self.numbers[at]]
        order = self.seeds().index(seed) * len(self.agents) + self.agents.index(agent)
        start = place.start + order * self.sizes[at]
        found = self._fits.read(slice(start, start + self.sizes[at]))
        assert (found["agent"] == agent).all(), "bug: order of agents"
        return found

    def propensities(self, seed: int, at: int) -> pd.DataFrame:
        """What was fitted of the records of one seed."""
        place = self._fitted_at[self.numbers[at]]
        found = self.once("fitted", (at,), lambda: self._propensities.read(place))
        return found[found["seed"] == seed]

    def view_rows(self) -> Iterator[ViewRows]:
        """Test rows with the fitted factors of every seed, block by block."""
        for at, number in enumerate(self.numbers):
            block = self.records.table.block(number)
            factors = [
                self.propensities(seed, at)[panel_columns("factor", block.table)].to_numpy()
                for seed in self.seeds()
            ]
            yield ViewRows(block.table, block.of(TEST), np.concatenate(factors))

    def known_rows(self, seed: int) -> KnownRows:
        """What every test row tells: columns that each record holds, and classes but the first."""
        names = self.once("names", (seed,), lambda: self.always_known(seed))

        def read(at: int) -> np.ndarray:
            told = [values for columns in self.known(names, at) for values in columns.values()]
            return np.column_stack([np.empty((self.sizes[at], 0)), *told])

        return KnownRows([self.rows(at) for at in range(len(self.numbers))], read)
