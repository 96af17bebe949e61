"""The rows that policies are judged on, the part `test`, block by block."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from frugal.core.table import Table
from frugal.data.panel_columns import panel_matrix
from frugal.studies.afape.stored import StoredRecords

TEST = ("test",)


class JudgedRows:
    """Test rows of those blocks that have any; of a table of one block, of that.

    Args:
        records: table and masks.
    """

    def __init__(self, records: StoredRecords) -> None:
        self.records = records
        self.counts = records.table.counts(TEST)
        self.numbers = [k for k, n in enumerate(self.counts) if n or len(self.counts) == 1]
        self.sizes = [self.counts[k] for k in self.numbers]
        self._kept: dict[str, tuple[tuple[Any, ...], Any]] = {}

    @cached_property
    def cluster(self) -> np.ndarray | None:
        """Cluster of each row, numbered from 0 on; None where each stands for itself. (n,)"""
        found = self.records.table.clusters(TEST)
        return None if found is None else np.unique(found, return_inverse=True)[1]

    @cached_property
    def clusters(self) -> int:
        """How many there are; 0 where each row stands for itself."""
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
