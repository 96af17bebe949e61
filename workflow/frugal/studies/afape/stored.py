"""The evaluated rows of a scenario and their episodes, block by block, as estimators read them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from frugal.answer.frames import EVALUATED
from frugal.answer.stored import StoredRecords
from frugal.core.errors import DataError
from frugal.core.rows import Partitions, Rows, rows_of, slices_of
from frugal.core.table import Table
from frugal.data.tables import StoredTable, panel_columns, panel_matrix
from frugal.judge.case import Case, build_case
from frugal.judge.cost_cells import KnownRows
from frugal.judge.views import ViewRows

TEST = ("test",)  # the part that policies are evaluated on


class JudgedRows:
    """Test rows of those blocks that have any; of a table of one block, of that.

    Args:
        records: table and masks.
    """

    def __init__(self, records: StoredRecords) -> None:
        self.records = records
        self.counts = records.table.counts(TEST)
        self.numbers = records.table.blocks_with(TEST)
        self.sizes = [self.counts[k] for k in self.numbers]
        self._kept: dict[str, tuple[tuple[Any, ...], Any]] = {}

    @cached_property
    def cluster(self) -> np.ndarray | None:
        """Cluster of each row, numbered from 0 on; None: each row is its own cluster. (n,)"""
        clusters = self.records.table.clusters(TEST)
        return None if clusters is None else np.unique(clusters, return_inverse=True)[1]

    @cached_property
    def clusters(self) -> int:
        """How many there are; 0: each row is its own."""
        return 0 if self.cluster is None else int(self.cluster.max(initial=-1)) + 1

    def rows(self, at: int) -> slice:
        """Which of the rows the at-th of these blocks has."""
        start = sum(self.sizes[:at])
        return slice(start, start + self.sizes[at])

    def cluster_of(self, at: int) -> np.ndarray | None:
        """Cluster of each row of a block. (n,)"""
        return None if self.cluster is None else self.cluster[self.rows(at)]

    def data(self, at: int) -> Table:
        """The rows of a block."""
        return self.once("data", (at,), lambda: self._taken(at))

    def _taken(self, at: int) -> Table:
        block = self.records.table.block(self.numbers[at])
        return block.table.take(block.of(TEST))

    def group(self, at: int) -> np.ndarray | None:
        """Group of each row of a block; None where the data set defines no groups. (n,)"""
        block = self.records.table.block(self.numbers[at])
        return block.belonging.take(block.of(TEST)).group

    def masks(self, seed: int, at: int) -> Any:
        """Masks of the rows of a block, in one seed."""
        return self.records.of_seed(self.numbers[at], seed, TEST)

    def observed(self, seed: int, at: int) -> np.ndarray:
        """Recorded panels of these rows. (n, a)"""
        return panel_matrix(self.masks(seed, at), "observed", self.records.table.layout)

    def always_known(self, seed: int) -> list[str]:
        """Columns that every record of a seed holds, and that vary."""
        names = self.records.table.columns
        low, high = np.full(len(names), np.inf), np.full(len(names), -np.inf)
        for at in range(len(self.numbers)):
            data = self.data(at)
            values = np.where(data.columns_observed(self.observed(seed, at)), data.values, np.nan)
            low = np.minimum(low, values.min(axis=0, initial=np.inf))  # NaN stays
            high = np.maximum(high, values.max(axis=0, initial=-np.inf))
        return [name for name, a, b in zip(names, low, high, strict=True) if b > a]

    def known(self, names: list[str], at: int) -> tuple[Mapping[str, np.ndarray], ...]:
        """Fully observed variables of a block: these columns, and classes but the first."""
        data = self.data(at)
        columns = {name: data.values[:, data.columns.index(name)] for name in names}
        label = {n: (data.label == k).astype(np.float64) for k, n in enumerate(data.classes) if k}
        return columns, label

    def once(self, kind: str, key: tuple[Any, ...], make: Any) -> Any:
        """The last object of a kind, if it has the same key; else a new one."""
        if kind not in self._kept or self._kept[kind][0] != key:
            self._kept[kind] = key, make()
        return self._kept[kind][1]


class StoredEpisodes:
    """The `blocked` output of `roll_out`, of several agents.

    Args:
        blocked: by agent.
        table: the rows.
    """

    def __init__(self, blocked: Partitions, table: StoredTable) -> None:
        self.agents = blocked.values("agent")
        self._blocked, self._table = blocked, table
        self._kept: tuple[int, dict[str, pd.DataFrame]] = (-1, {})

    def block(
        self, agent: str, number: int, parts: Collection[str], columns: Sequence[str]
    ) -> pd.DataFrame:
        """Episodes of a block's rows of some parts, seed after seed, each in the table's order.

        Raises:
            DataError: the episodes are of other rows.
        """
        if self._kept[0] != number:
            self._kept = (number, {})
        in_memory = self._kept[1]
        if agent not in in_memory:
            in_memory[agent] = self.read(agent, number, columns)
        block = self._table.block(number)
        inside = np.isin(block.part[block.of(EVALUATED)], list(parts))
        return in_memory[agent][np.resize(inside, len(in_memory[agent]))]

    def read(self, agent: str, number: int, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Episodes of all evaluated rows of a block, some columns or all.

        Raises:
            DataError: the episodes are of other rows.
        """
        named = None if columns is None else ["seed", "row_id", *columns]
        rows = self._blocked.rows("agent", agent)
        places = slices_of(rows, self._table.counts(EVALUATED), f"episodes of agent {agent!r}")
        frame = rows.read(places[number], named)
        block = self._table.block(number)
        evaluated = block.of(EVALUATED)
        seeds, rest = divmod(len(frame), len(evaluated)) if len(evaluated) else (0, 0)
        ids = np.tile(block.table.row_id[evaluated], seeds)
        if rest or not np.array_equal(frame["row_id"].to_numpy(), ids):
            raise DataError(
                f"the stored episodes of agent {agent!r} are not of the rows of the table, in "
                "their order, once for each seed"
            )
        return frame


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
            self.data(at),
            identification=self._identification,
            cluster=self.cluster_of(at),
            masks=self.masks(seed, at),
            propensities=self.propensities(seed, at),
            **self.frames(agent, seed, at),
        )

    def frames(self, agent: str, seed: int, at: int) -> dict[str, pd.DataFrame]:
        """Episodes and fits of one policy and seed: `blocked`, `worlds`, `agents`."""
        place = self._fits_at[self.numbers[at]]
        order = self.seeds().index(seed) * len(self.agents) + self.agents.index(agent)
        start = place.start + order * self.sizes[at]
        fits = self._fits.read(slice(start, start + self.sizes[at]))
        assert (fits["agent"] == agent).all(), "bug: order of agents"
        stored = {
            "blocked": self.once("blocked", (agent, at), lambda: self._episodes(agent, at)),
            "worlds": self.once("worlds", (agent, at), lambda: self._elsewhere(agent, at)),
            "agents": fits,
        }
        return {name: frame[frame["seed"] == seed] for name, frame in stored.items()}

    def _episodes(self, agent: str, at: int) -> pd.DataFrame:
        episodes = self._blocked.read(agent, self.numbers[at])
        return episodes[episodes["row_id"].isin(self.data(at).row_id)]

    def _elsewhere(self, agent: str, at: int) -> pd.DataFrame:
        rows = self._worlds.rows("agent", agent)
        places = slices_of(rows, self.counts, f"episodes of agent {agent!r}")
        return rows.read(places[self.numbers[at]])

    def propensities(self, seed: int, at: int) -> pd.DataFrame:
        """Fitted results of the records of one seed."""
        place = self._fitted_at[self.numbers[at]]
        propensities = self.once("fitted", (at,), lambda: self._propensities.read(place))
        return propensities[propensities["seed"] == seed]

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
        """Fully observed variables of test rows: columns, and classes but the first."""
        names = self.once("names", (seed,), lambda: self.always_known(seed))

        def read(at: int) -> np.ndarray:
            observed = [values for columns in self.known(names, at) for values in columns.values()]
            return np.column_stack([np.empty((self.sizes[at], 0)), *observed])

        return KnownRows([self.rows(at) for at in range(len(self.numbers))], read)
