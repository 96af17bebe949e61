"""A scenario's table and masks, block by block, checked before a stage uses them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from frugal.core.errors import DataError
from frugal.core.regions import HOLE, Hole, holes_of
from frugal.core.rows import Rows, rows_of, slices_of
from frugal.core.stored import Each, OrNull, require_document
from frugal.core.table import Table
from frugal.data.tables import StoredTable, panel_columns, panel_matrix
from frugal.missing.graphs import MissingnessGraph, settled, topological_order


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
        self._masks, self._graph, self._only = rows_of(masks), graph, seeds
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
        if self._only is not None:
            masks = masks[masks["seed"].isin(self._only)].reset_index(drop=True)
        if len(self._places) == 1:
            self._whole = masks
        return masks

    @cached_property
    def seeds(self) -> list[int]:
        """Seeds of the study in question, in order."""
        seeds = list(map(int, self.masks(0)["seed"].unique()))
        if self._only is not None and seeds != list(self._only):
            raise DataError(f"masks were drawn for seeds {seeds} of {list(self._only)} alone")
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
