"""Every policy's episodes on the records, block by block."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.partitions import Partitions
from frugal.core.rows import Rows, slices_of
from frugal.data.stored_table import StoredTable
from frugal.studies.shared.frames import EVALUATED


class StoredEpisodes:
    """What `roll_out` stored as `blocked`, of several agents.

    Args:
        blocked: by agent.
        table: the rows.

    Raises:
        DataError: an agent's episodes are not of these rows.
    """

    def __init__(self, blocked: Partitions, table: StoredTable) -> None:
        self.agents = blocked.values("agent")
        self._rows: Mapping[str, Rows] = {a: blocked.rows("agent", a) for a in self.agents}
        self._table = table
        counts = table.counts(EVALUATED)
        self._places: Mapping[str, Sequence[slice]] = {
            agent: slices_of(rows, counts, f"episodes of agent {agent!r}")
            for agent, rows in self._rows.items()
        }
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
            kept[agent] = self._read(agent, number, columns)
        block = self._table.block(number)
        inside = np.isin(block.part[block.of(EVALUATED)], list(parts))
        return kept[agent][np.resize(inside, len(kept[agent]))]

    def _read(self, agent: str, number: int, columns: Sequence[str]) -> pd.DataFrame:
        """Episodes of all evaluated rows of a block."""
        named = ["seed", "row_id", *columns]
        frame = self._rows[agent].read(self._places[agent][number], named)
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
