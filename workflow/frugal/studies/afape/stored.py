"""A scenario's table and masks, block by block, checked before a stage uses them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.rows import Rows, rows_of, slices_of
from frugal.data.stored_table import StoredTable
from frugal.missing.graph import MissingnessGraph
from frugal.missing.graphs import settled
from frugal.studies.afape.laws import require_graph, require_masks
from frugal.studies.shared.frames import by_seed


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
        return by_seed(self.masks(number), self.table.block(number).of(parts))

    def of_seed(self, number: int, seed: int, parts: Collection[str]) -> pd.DataFrame:
        """The same of one seed."""
        masks = self.masks(number)
        return masks[masks["seed"] == seed].iloc[self.table.block(number).of(parts)]

    @cached_property
    def graph(self) -> dict[str, Any]:
        """The law of the masks, with the scaling of the whole table, for single blocks."""
        assert self._graph is not None, "bug: no law was given"
        law = settled(MissingnessGraph.from_dict(self._graph), self.table.column)
        return law.to_dict() | {"source": self._graph["source"]}


def positions(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each wanted identity stands among others. (m,)"""
    return pd.Series(np.arange(len(ids)), index=ids).loc[wanted].to_numpy()
