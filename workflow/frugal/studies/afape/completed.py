"""Means over completed tables, and their errors, from what blocks tell."""

import numpy as np
from jaxtyping import Float, Int

from frugal.core.blocks import TreeSum
from frugal.core.terms import Terms
from frugal.judge.intervals import standard_error, together


class CompletedSums:
    """Of one method: m completed tables of n rows, o outcomes.

    Args:
        single: all rows are one block.
    """

    def __init__(self, single: bool) -> None:
        self._single = single
        self._sums, self._squares = TreeSum(), TreeSum()
        self._centre: np.ndarray | None = None
        self._rows = 0
        self._whole: tuple[np.ndarray, np.ndarray | None] | None = None
        self._clusters: np.ndarray | None = None

    def add(self, draws: Float[np.ndarray, "m n o"], cluster: Int[np.ndarray, " n"] | None) -> None:
        """Outcomes on the rows of the next block."""
        if self._single:
            self._whole = draws, cluster
        centre = draws.mean(axis=1) if self._centre is None else self._centre
        self._centre = centre
        self._rows += draws.shape[1]
        self._sums.put(draws.sum(axis=1))
        self._squares.put(((draws - centre[:, None]) ** 2).sum(axis=1))
        if cluster is not None and not self._single:
            self._add_clusters(draws, cluster)

    def _add_clusters(self, draws: np.ndarray, cluster: np.ndarray) -> None:
        """Sums of the cost, and rows, of each cluster; only the first outcome is asked about."""
        size = int(cluster.max()) + 1
        each = [np.bincount(cluster, weights=draw[:, 0], minlength=size) for draw in draws]
        new = np.stack([*each, np.bincount(cluster, minlength=size).astype(np.float64)])
        old = self._clusters
        if old is None:
            self._clusters = new
            return
        wide = np.zeros((len(new), max(old.shape[1], size)))
        wide[:, : old.shape[1]] += old
        wide[:, :size] += new
        self._clusters = wide

    @property
    def count(self) -> int:
        """m, completed tables."""
        return len(self._sums.total)

    @property
    def means(self) -> Float[np.ndarray, "m o"]:
        """Of each completed table."""
        if self._whole is not None:
            return self._whole[0].mean(axis=1)
        return self._sums.total / self._rows

    @property
    def squared_errors(self) -> Float[np.ndarray, "m o"]:
        """Squared standard errors of the means; across blocks with clusters, of the first outcome
        for all.
        """
        if self._whole is not None:
            return squared_errors(*self._whole)
        if self._clusters is not None:
            rows = self._clusters[-1]
            each = [standard_error(Terms(one[:, None], rows, rows)) for one in self._clusters[:-1]]
            return np.repeat(np.array(each) ** 2, self.means.shape[1], axis=1)
        assert self._centre is not None, "bug: completed tables without a row"
        about = self._squares.total - self._rows * (self.means - self._centre) ** 2
        return about / (self._rows - 1) / self._rows


def squared_errors(
    draws: Float[np.ndarray, "m n o"], cluster: Int[np.ndarray, " n"] | None
) -> Float[np.ndarray, "m o"]:
    """Squared standard errors of the means of completed tables, whose rows are in memory. (m, o)"""
    if cluster is None:
        return draws.var(axis=1, ddof=1) / draws.shape[1]
    each = np.ones(draws.shape[1])
    return np.stack(
        [standard_error(together(Terms(draw, each, each), cluster)) ** 2 for draw in draws]
    )
