"""A scenario's table, masks and episodes, block by block, checked before a stage uses them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from frugal.answer.frames import EVALUATED
from frugal.core.errors import DataError
from frugal.core.regions import HOLE, Hole, holes_of
from frugal.core.rows import Partitions, Rows, rows_of, slices_of
from frugal.core.stored import Each, OrNull, require_document
from frugal.core.table import Table
from frugal.data.tables import StoredTable, panel_columns, panel_matrix
from frugal.judge.case import Case, build_case
from frugal.judge.cost_cells import KnownRows
from frugal.judge.views import ViewRows
from frugal.missing.graphs import MissingnessGraph, settled, topological_order

TEST = ("test",)  # the part that policies are evaluated on


class StoredRecords:
    """The rows of a table with the recorded panels of each, in every seed.

    Args:
        table: as `prepare_data` made it, with its catalogue.
        catalogue: likewise.
        masks: as `draw_missingness` made them: block after block, seed after seed in each.
        graph: their law; None where none is requested.
        identification: the quantities that it identifies; likewise.
        seeds: in question; None: all.

    Raises:
        DataError: the stored table is not whole, is of another table, or lacks a seed.
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
        """Masks of a block's rows, of the seeds in question.

        Raises:
            DataError: see `require_masks`.
        """
        if self._whole is not None:
            return self._whole
        masks = self._masks.read(self._places[number])
        require_masks(masks, self.table.block(number).table)
        if self._asked is not None:
            masks = masks[masks["seed"].isin(self._asked)].reset_index(drop=True)
        if len(self._places) == 1:
            self._whole = masks
        return masks

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds of the study in question, in order."""
        seeds = list(map(int, self.masks(0)["seed"].unique()))
        if self._asked is not None and seeds != list(self._asked):
            raise DataError(f"masks were drawn for seeds {seeds} of {list(self._asked)} alone")
        return seeds

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
        """Rows at given positions, which ascend, and their recorded panels in one seed."""
        observed = []
        for number, rows in enumerate(self.table.blocks):
            first, last = np.searchsorted(places, (rows.start, rows.stop))
            if last > first or not number:
                masks = self.masks(number)
                masks = masks[masks["seed"] == seed].iloc[places[first:last] - rows.start]
                observed.append(panel_matrix(masks, "observed", self.table.layout))
        return self.table.at(places), np.concatenate(observed)

    @cached_property
    def graph(self) -> dict[str, Any]:
        """The missingness model, with the scaling of the whole table, for single blocks."""
        assert self._graph is not None, "bug: no missingness model was given"
        missingness = settled(MissingnessGraph.from_dict(self._graph), self.table.column)
        return missingness.to_dict() | {"source": self._graph["source"]}

    @property
    def unsupported(self) -> tuple[Hole, ...]:
        """Regions in which records (almost) never hold a panel, so that none is offered it."""
        assert self._graph is not None, "bug: no missingness model was given"
        layout = self.table.layout
        panels = [panel.name for panel in layout.actions]
        return holes_of(self._graph["unsupported"], layout.columns, panels)


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


_INDICATOR = {
    "intercept": float,
    "values": Each(float),
    "indicators": Each(float),
    "standardise": bool,
}
_GRAPH = {
    "name": str,
    "indicators": Each(_INDICATOR),
    "source": str,
    "unsupported": [HOLE],
    "fewest_recorded": [HOLE],
}
_FACTOR = {"panel": str, "columns": [str], "condition_panels": [str]}
_IDENTIFICATION = {
    "mechanism_class": str,
    "adjustment_columns": [str],
    "missable_panels": [str],
    "factors": [_FACTOR],
    "propensity_identified": bool,
    "afais_identified": bool,
    "s": OrNull([str]),
    "reasons": [str],
}
_ROUNDING = 1e-6  # of sums of the probabilities of many patterns
_SOURCES = ("induced", "own")


def require_graph(graph: Mapping[str, Any], identification: Mapping[str, Any], data: Table) -> None:
    """The documents of `draw_missingness` are whole, and of this table, whose rows do not count.

    Raises:
        DataError: a document has another shape, or names columns that the table lacks.
        GraphError: the graph has a cycle.
    """
    require_document(graph, _GRAPH, "missingness graph")
    require_document(identification, _IDENTIFICATION, "identification")
    if graph["source"] not in _SOURCES:
        raise DataError(
            f"the stored missingness graph has the source {graph['source'][:60]!r}; allowed are "
            f"{', '.join(_SOURCES)}"
        )
    _require_names(graph, identification, data)
    topological_order(MissingnessGraph.from_dict(graph))


def _require_names(
    graph: Mapping[str, Any], identification: Mapping[str, Any], data: Table
) -> None:
    panels, columns = {panel.name for panel in data.actions}, set(data.columns)
    indicators, factors = graph["indicators"], identification["factors"]
    missable = identification["missable_panels"]
    named = [
        ("panel that can be missing", [*indicators, *missable], panels),
        (
            "panel that causes missingness",
            [p for indicator in indicators.values() for p in indicator["indicators"]],
            set(indicators),
        ),
        (
            "column that causes missingness",
            [c for indicator in indicators.values() for c in indicator["values"]],
            columns,
        ),
        ("column to adjust for", identification["adjustment_columns"], columns),
        ("panel of s", identification["s"] or [], panels),
        ("panel of a factor", [f["panel"] for f in factors], set(missable)),
        ("column of a factor", [c for f in factors for c in f["columns"]], columns),
        ("panel of a condition", [p for f in factors for p in f["condition_panels"]], panels),
    ]
    for kind, names, allowed in named:
        for name in names:
            if name not in allowed:
                raise DataError(
                    f"the stored missingness graph and identification name the {kind} "
                    f"{name[:60]!r}; allowed are {', '.join(sorted(allowed)) or 'none'}"
                )
    if set(missable) != set(indicators):
        raise DataError(
            f"the stored missingness graph has laws of {', '.join(indicators) or 'no panel'}, and "
            f"the identification states that {', '.join(missable) or 'none'} can be missing"
        )
    factored = [f["panel"] for f in factors]
    if identification["propensity_identified"] and sorted(factored) != sorted(missable):
        raise DataError(
            f"the stored identification has factors for {', '.join(factored) or 'no panel'}; the "
            f"panels that can be missing are {', '.join(missable) or 'none'}, one factor each"
        )


def require_masks(masks: pd.DataFrame, data: Table) -> None:
    """Stored masks list every row of the table once for each seed, true or false for each panel.

    Raises:
        DataError: they do not, or a probability is none.
    """
    required = ["seed", "row_id", *panel_columns("observed", data)]
    absent = [name for name in required if name not in masks.columns]
    if absent:
        raise DataError(f"the stored masks lack the column {absent[0]!r}")
    for name in required[2:]:
        if masks[name].dtype != bool:
            raise DataError(
                f"column {name!r} of the stored masks is of type {masks[name].dtype}; allowed: bool"
            )
    for name in [c for c in masks.columns if "probability" in str(c)]:
        share = pd.to_numeric(masks[name], errors="coerce").to_numpy(dtype=np.float64)
        if not ((share >= 0) & (share <= 1 + _ROUNDING)).all():
            raise DataError(f"column {name!r} of the stored masks leaves 0 to 1")
    for seed, rows in masks.groupby("seed", sort=False):
        if not np.array_equal(rows["row_id"].to_numpy(), data.row_id):
            raise DataError(
                f"seed {seed} of the stored masks has {len(rows)} rows that are not the "
                f"{len(data)} rows of the table in their order"
            )


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
