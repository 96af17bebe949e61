"""A scenario's table, masks and episodes, block by block, checked before a stage uses them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from frugal.core.errors import DataError
from frugal.core.rows import Partitions, Rows, rows_of, slices_of
from frugal.core.table import Table
from frugal.data.panel_columns import panel_matrix
from frugal.data.stored_table import StoredTable
from frugal.missing.graph import MissingnessGraph
from frugal.missing.graphs import settled
from frugal.studies.afape.laws import require_graph, require_masks
from frugal.studies.shared.frames import EVALUATED

TEST = ("test",)  # the part that policies are judged on


class StoredRecords:
    """The rows of a table with what is recorded of each, in every seed.

    Args:
        table: as `prepare_data` made it, with its catalogue.
        catalogue: likewise.
        masks: as `draw_missingness` made them: block after block, seed after seed in each.
        graph: their law; None where none is asked for.
        identification: what it identifies; likewise.
        seeds: that are asked about; None: all.

    Raises:
        DataError: what is stored is not whole, is of another table, or lacks a seed.
        GraphError: the graph has a cycle.
    """

    def __init__(
        self,
        table: pd.DataFrame | Rows | StoredTable,
        catalogue: Mapping[str, Any],
        masks: pd.DataFrame | Rows,
        graph: Mapping[str, Any] | None = None,
        identification: Mapping[str, Any] | None = None,
        seeds: Sequence[int] | None = None,
    ) -> None:
        self.table = table if isinstance(table, StoredTable) else StoredTable(table, catalogue)
        self._masks, self._graph, self._asked = rows_of(masks), graph, seeds
        if graph is not None and identification is not None:
            require_graph(graph, identification, self.table.layout)
        self._places = slices_of(self._masks, self.table.counts(), "masks")
        self._whole: pd.DataFrame | None = None

    def masks(self, number: int) -> pd.DataFrame:
        """Masks of a block's rows, of the seeds that are asked about.

        Raises:
            DataError: see `require_masks`.
        """
        if self._whole is not None:
            return self._whole
        found = self._masks.read(self._places[number])
        require_masks(found, self.table.block(number).table)
        if self._asked is not None:
            found = found[found["seed"].isin(self._asked)].reset_index(drop=True)
        if len(self._places) == 1:
            self._whole = found
        return found

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds of the study that are asked about, in order."""
        found = list(map(int, self.masks(0)["seed"].unique()))
        if self._asked is not None and found != list(self._asked):
            raise DataError(f"masks were drawn for seeds {found} of {list(self._asked)} alone")
        return found

    def by_seed(self, number: int, parts: Collection[str]) -> Iterator[tuple[int, pd.DataFrame]]:
        """Each seed's masks of the rows of some parts of a block."""
        rows = self.table.block(number).of(parts)
        for seed, masks in self.masks(number).groupby("seed", sort=False):
            yield int(seed), masks.iloc[rows]  # pyright: ignore[reportArgumentType]

    def of_seed(self, number: int, seed: int, parts: Collection[str]) -> pd.DataFrame:
        """The same of one seed."""
        masks = self.masks(number)
        return masks[masks["seed"] == seed].iloc[self.table.block(number).of(parts)]

    def at(self, places: Int[np.ndarray, " m"], seed: int) -> tuple[Table, Bool[np.ndarray, "m a"]]:
        """Rows at given positions, which ascend, and what is recorded of them in one seed."""
        found = []
        for number, rows in enumerate(self.table.blocks):
            first, last = np.searchsorted(places, (rows.start, rows.stop))
            if last > first or not number:
                masks = self.masks(number)
                masks = masks[masks["seed"] == seed].iloc[places[first:last] - rows.start]
                found.append(panel_matrix(masks, "observed", self.table.layout))
        return self.table.at(places), np.concatenate(found)

    @cached_property
    def graph(self) -> dict[str, Any]:
        """The law of the masks, with the scaling of the whole table, for single blocks."""
        assert self._graph is not None, "bug: no law was given"
        law = settled(MissingnessGraph.from_dict(self._graph), self.table.column)
        return law.to_dict() | {"source": self._graph["source"]}


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
        found = self.records.table.clusters(TEST)
        return None if found is None else np.unique(found, return_inverse=True)[1]

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
        """Group of each row of a block; None where the data set tells no groups apart. (n,)"""
        block = self.records.table.block(self.numbers[at])
        return block.belonging.take(block.of(TEST)).group

    def masks(self, seed: int, at: int) -> Any:
        """Masks of the rows of a block, in one seed."""
        return self.records.of_seed(self.numbers[at], seed, TEST)

    def observed(self, seed: int, at: int) -> np.ndarray:
        """What is recorded of them. (n, a)"""
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
        """What every row of a block tells: these columns, and classes but the first."""
        data = self.data(at)
        columns = {name: data.values[:, data.columns.index(name)] for name in names}
        label = {n: (data.label == k).astype(np.float64) for k, n in enumerate(data.classes) if k}
        return columns, label

    def once(self, kind: str, key: tuple[Any, ...], make: Any) -> Any:
        """What was made last of a kind, if it is for the same key; else it is made now."""
        if kind not in self._kept or self._kept[kind][0] != key:
            self._kept[kind] = key, make()
        return self._kept[kind][1]


class StoredEpisodes:
    """What `roll_out` stored as `blocked`, of several agents.

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
        kept = self._kept[1]
        if agent not in kept:
            kept[agent] = self.read(agent, number, columns)
        block = self._table.block(number)
        inside = np.isin(block.part[block.of(EVALUATED)], list(parts))
        return kept[agent][np.resize(inside, len(kept[agent]))]

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
