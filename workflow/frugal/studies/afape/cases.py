"""What estimators read of each policy and seed, block by block, from what stages before stored."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.partitions import Partitions
from frugal.core.rows import Rows, rows_of, slices_of
from frugal.core.table import Table
from frugal.data.panel_columns import panel_matrix
from frugal.judge.case import Case, build_case
from frugal.judge.cost_cells import KnownRows
from frugal.judge.records import always_known
from frugal.studies.afape.stored import StoredRecords
from frugal.studies.shared.frames import EVALUATED

TEST = ("test",)


class StoredCases:
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
        self.records, self._identification = records, identification
        self._blocked, self._worlds = episodes
        self._propensities, self._fits = map(rows_of, fitted)
        self.agents = self._blocked.values("agent")
        counts = records.table.counts(TEST)
        self.numbers = [k for k, count in enumerate(counts) if count or len(counts) == 1]
        self.sizes = [counts[k] for k in self.numbers]
        self._fitted_at = slices_of(self._propensities, counts, "propensities")
        self._fits_at = slices_of(self._fits, counts, "propensities of agents")
        self._kept: dict[Any, Any] = {}

    @property
    def single(self) -> bool:
        """The table is one block."""
        return len(self.records.table.blocks) == 1

    @cached_property
    def cluster(self) -> np.ndarray | None:
        """Cluster of each test row, from 0 on where there are several blocks. (n,)"""
        found = self.records.table.clusters(TEST)
        if found is None or self.single:
            return found
        return np.unique(found, return_inverse=True)[1]

    def seeds(self) -> list[int]:
        """Seeds of the study, in order."""
        return self.records.seeds

    def rows(self, at: int) -> slice:
        """Which of the test rows the at-th block has."""
        start = sum(self.sizes[:at])
        return slice(start, start + self.sizes[at])

    def data(self, at: int) -> Table:
        """Test rows of the at-th block that has any."""
        return self._once(("data", at), lambda: self._taken(at))

    def group(self, at: int) -> np.ndarray | None:
        """Group of each of these rows; None where the data set tells no groups apart. (n,)"""
        block = self.records.table.block(self.numbers[at])
        return block.belonging.take(block.of(TEST)).group

    def _taken(self, at: int) -> Table:
        block = self.records.table.block(self.numbers[at])
        return block.table.take(block.of(TEST))

    def _once(self, key: tuple[Any, ...], make: Any) -> Any:
        """What was made before of the same kind for the same block, or made now."""
        kind = key[0]
        if kind not in self._kept or self._kept[kind][0] != key:
            self._kept[kind] = key, make()
        return self._kept[kind][1]

    def case(self, agent: str, seed: int, at: int) -> Case:
        """One policy and seed on the rows of the at-th block."""
        return self._once(("case", agent, seed, at), lambda: self._case(agent, seed, at))

    def _case(self, agent: str, seed: int, at: int) -> Case:
        frames = self.frames(agent, seed, at)
        cluster = None if self.cluster is None else self.cluster[self.rows(at)]
        return build_case(
            self.data(at), identification=self._identification, cluster=cluster,
            masks=self.records.of_seed(self.numbers[at], seed, TEST),
            propensities=self.propensities(seed, at), **frames,
        )  # fmt: skip

    def frames(self, agent: str, seed: int, at: int) -> dict[str, pd.DataFrame]:
        """Episodes and fits of one policy and seed: `blocked`, `worlds`, `agents`."""
        stored = {
            "blocked": self._once(("blocked", agent, at), lambda: self._episodes(agent, at)),
            "worlds": self._once(("worlds", agent, at), lambda: self._elsewhere(agent, at)),
            "agents": self._fits_of(agent, seed, at),
        }
        return {name: frame[frame["seed"] == seed] for name, frame in stored.items()}

    def _episodes(self, agent: str, at: int) -> pd.DataFrame:
        table, number = self.records.table, self.numbers[at]
        rows = self._blocked.rows("agent", agent)
        places = slices_of(rows, table.counts(EVALUATED), f"episodes of agent {agent!r}")
        found = rows.read(places[number])
        return found[found["row_id"].isin(self.data(at).row_id)]

    def _elsewhere(self, agent: str, at: int) -> pd.DataFrame:
        rows = self._worlds.rows("agent", agent)
        counts = self.records.table.counts(TEST)
        return rows.read(slices_of(rows, counts, f"episodes of agent {agent!r}")[self.numbers[at]])

    def _fits_of(self, agent: str, seed: int, at: int) -> pd.DataFrame:
        """Of a single block all are read at once; else seed after seed, and agent after agent."""
        place = self._fits_at[self.numbers[at]]
        if self.single:
            found = self._once(("fits", at), lambda: self._fits.read(place))
            return found[found["agent"] == agent]
        order = self.seeds().index(seed) * len(self.agents) + self.agents.index(agent)
        start = place.start + order * self.sizes[at]
        found = self._fits.read(slice(start, start + self.sizes[at]))
        assert (found["agent"] == agent).all(), "bug: order of agents"
        return found

    def propensities(self, seed: int, at: int) -> pd.DataFrame:
        """What was fitted of the records of one seed."""
        place = self._fitted_at[self.numbers[at]]
        found = self._once(("fitted", at), lambda: self._propensities.read(place))
        return found[found["seed"] == seed]

    def known(self, seed: int) -> KnownRows:
        """What every test row tells: columns that each record holds, and classes but the first."""
        names = self._once(("names", seed), lambda: self._always_known(seed))
        return KnownRows(
            [self.rows(at) for at in range(len(self.numbers))],
            lambda at: self._known_of(seed, at, names),
        )

    def _observed(self, seed: int, at: int) -> np.ndarray:
        mask = self.records.of_seed(self.numbers[at], seed, TEST)
        return panel_matrix(mask, "observed", self.data(at))

    def _always_known(self, seed: int) -> list[str]:
        """Columns that every record holds, and that vary."""
        names = self.records.table.columns
        low, high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
        for at in range(len(self.numbers)):
            data = self.data(at)
            values = np.where(data.columns_observed(self._observed(seed, at)), data.values, np.nan)
            low = np.minimum(low, values.min(axis=0, initial=np.inf))  # NaN stays
            high = np.maximum(high, values.max(axis=0, initial=-np.inf))
        return [name for name, a, b in zip(names, low, high, strict=True) if b > a]

    def _known_of(self, seed: int, at: int, names: Sequence[str]) -> np.ndarray:
        data = self.data(at)
        if self.single:
            columns, label = always_known(data, self._observed(seed, at))
            return np.column_stack([np.empty((len(data), 0)), *columns.values(), *label.values()])
        label = [(data.label == k).astype(np.float64) for k in range(1, len(data.classes))]
        columns = [data.values[:, data.columns.index(name)] for name in names]
        return np.column_stack([np.empty((len(data), 0)), *columns, *label])
