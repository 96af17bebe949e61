"""The check of a graph on rows in several blocks: what `graph_check` tells of all of them at once.

Blocks are gone through twice: once for what the causes of each panel say of the other columns, a
regression by its sums of products, and once for the products that the graph denies. Knows no policy
and no estimator.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.blocks import TreeSum
from frugal.core.scaling import Scaling, fit_scaling
from frugal.judge.graph_check import LEAST_ROWS, Contrast, GraphCheck, Indicators, joint_test

ENTRIES_AT_ONCE = 1 << 24  # products held at a time: bounds memory
GRAM_ROUNDING = 1e-10  # of the largest eigenvalue: smaller ones are zero


@dataclass(frozen=True, eq=False)
class GraphRows:
    """Some rows. Clusters of `indicators` are numbered from 0 on over all blocks.

    Attributes:
        indicators: of the panels that can be missing.
        columns: name → values that every record holds. (n,)
        label: class → 1 where a unit is of it; one fewer than there are. (n,)
    """

    indicators: Indicators
    columns: Mapping[str, Float[np.ndarray, " n"]]
    label: Mapping[str, Float[np.ndarray, " n"]]

    @property
    def rest(self) -> Float[np.ndarray, "n a"]:
        """R_a − p̂_a; NaN where a cause is not recorded."""
        return self.indicators.observed - self.indicators.probability

    @property
    def known(self) -> Float[np.ndarray, "n v"]:
        """What every row tells, columns first."""
        told = [*self.columns.values(), *self.label.values()]
        return np.column_stack([np.empty((len(self.indicators.observed), 0)), *told])


@dataclass(eq=False)
class _Regression:
    """What the causes of one panel and their squares say of all that every row tells, linearly."""

    scaling: Scaling | None = None
    gram: Any = None
    crossed: Any = None
    slopes: Any = None

    def design(self, causes: Float[np.ndarray, "m c"]) -> Float[np.ndarray, "m w"]:
        """1, causes, squares; scaled as in the first block with rows."""
        if self.scaling is None:
            self.scaling = fit_scaling(causes)
            self.gram, self.crossed = TreeSum(), TreeSum()
        plain = self.scaling.standardise(causes)
        return np.hstack([np.ones((len(causes), 1)), plain, plain**2])

    def add(self, causes: np.ndarray, known: np.ndarray) -> None:
        """The rows of a block on which the panel's law is known."""
        if len(causes):
            design = self.design(causes)
            self.gram.put(design.T @ design)
            self.crossed.put(design.T @ known)

    def left_over(self, causes: np.ndarray, known: np.ndarray) -> Float[np.ndarray, "m v"]:
        """Known values less what the causes say of them, once all blocks were added."""
        if self.slopes is None:
            inverse = np.linalg.pinv(self.gram.total, rcond=GRAM_ROUNDING, hermitian=True)
            self.slopes = inverse @ self.crossed.total
        return known - self.design(causes) @ self.slopes


class _Counts:
    """Rows, and recorded ones, of each panel and of each pair of panels."""

    def __init__(self, panels: int) -> None:
        self.pairs = list(combinations(range(panels), 2))
        self.n = 0
        self.rows = np.zeros((panels, panels), dtype=np.int64)  # where both laws are known
        self.recorded = np.zeros((panels, panels), dtype=np.int64)  # the first of them, in these
        self.both = np.zeros((panels, panels), dtype=np.int64)
        self.expected = TreeSum()

    def add(self, given: Indicators, finite: Bool[np.ndarray, "n a"]) -> None:
        """The next block."""
        known = finite.astype(np.float64)
        observed = given.observed.astype(np.float64)
        self.n += len(known)
        self.rows += (known.T @ known).astype(np.int64)
        self.recorded += ((known * observed).T @ known).astype(np.int64)
        self.both += (observed.T @ observed).astype(np.int64)
        self.expected.put(given.probability.T @ given.probability)

    def varies(self, panel: int, beside: int) -> bool:
        """Whether a panel is recorded in some of the rows and missing in others."""
        return bool(0 < self.recorded[panel, beside] < self.rows[panel, beside])


def check_graph_blocks(
    blocks: Iterable[GraphRows], clusters: int | None, rng: np.random.Generator
) -> GraphCheck:
    """As `graph_check.check_graph`.

    Args:
        blocks: in order; gone through twice.
        clusters: how many there are; None where each row stands for itself.
        rng: of the draws of the largest score's law.
    """
    regressions: list[_Regression] = []
    counts, head = _Counts(0), None
    for block in blocks:
        given, rest = block.indicators, block.rest
        if head is None:
            head, counts = block, _Counts(len(given.panels))
            regressions = [_Regression() for _ in given.panels]
        finite, known = np.isfinite(rest), block.known
        counts.add(given, finite)
        for k, regression in enumerate(regressions):
            regression.add(given.causes[k][finite[:, k]], known[finite[:, k]])
    if head is None:
        return GraphCheck([], float("nan"))
    asked = _Asked(head, counts, regressions)
    if not asked.contrasts:
        return GraphCheck([], float("nan"))
    total, gram = _products(blocks, asked, clusters)
    size = np.sqrt(np.diag(gram))
    rows = np.array([contrast.rows for contrast in asked.contrasts])
    told = np.flatnonzero((rows >= LEAST_ROWS) & (size > 1e-12 * rows))
    scores = total[told] / size[told]
    correlation = gram[np.ix_(told, told)] / np.outer(size[told], size[told])
    found = [asked.contrasts[k].scored(float(s)) for k, s in zip(told, scores, strict=True)]
    return joint_test(found, correlation, rng)


class _Asked:
    """The contrasts that are looked at, in order, and their products on a block."""

    def __init__(self, head: GraphRows, counts: _Counts, regressions: list[_Regression]) -> None:
        self._regressions = regressions
        given, nan = head.indicators, float("nan")
        kinds = [("column", name) for name in head.columns]
        kinds += [("label", name) for name in head.label]
        self._panels = [
            k for k in range(len(given.panels))
            if counts.rows[k, k] >= LEAST_ROWS and counts.varies(k, k)
        ]  # fmt: skip
        self._pairs = [
            (a, b) for a, b in counts.pairs if counts.varies(a, b) and counts.varies(b, a)
        ]
        self.contrasts = [
            Contrast(kind, given.panels[k], name, nan, int(counts.rows[k, k]), nan, nan)
            for k in self._panels
            for kind, name in kinds
        ]
        for a, b in self._pairs:
            share, expected = counts.both[a, b] / counts.n, counts.expected.total[a, b] / counts.n
            self.contrasts.append(
                Contrast("panels", given.panels[a], given.panels[b], nan, int(counts.rows[a, b]),
                         float(share), float(expected))
            )  # fmt: skip

    def products(self, block: GraphRows, rows: slice) -> Float[np.ndarray, "p n"]:
        """ψ of every contrast in some rows of a block; 0 where a law is not known."""
        rest, known = block.rest[rows], block.known[rows]
        parts = []
        for k in self._panels:
            told = np.isfinite(rest[:, k])
            psi = np.zeros(known.shape)
            causes = block.indicators.causes[k][rows][told]
            if told.any():
                left = self._regressions[k].left_over(causes, known[told])
                psi[told] = rest[told, k][:, None] * left
            parts.append(psi.T)
        for a, b in self._pairs:
            both = rest[:, a] * rest[:, b]
            parts.append(np.where(np.isfinite(both), both, 0.0)[None])
        return np.vstack(parts)


def _products(
    blocks: Iterable[GraphRows], asked: _Asked, clusters: int | None
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
    """Σ ψ of every contrast, and Σ ψ ψᵀ; over clusters, whose products count as one."""
    at_once = max(1, ENTRIES_AT_ONCE // len(asked.contrasts))
    total, gram = TreeSum(), TreeSum()
    summed = None if clusters is None else np.zeros((len(asked.contrasts), clusters))
    for block in blocks:
        n = len(block.indicators.observed)
        for start in range(0, n, at_once):
            rows = slice(start, start + at_once)
            psi = asked.products(block, rows)
            if summed is None:
                total.put(psi.sum(axis=1))
                gram.put(psi @ psi.T)
            else:
                cluster = block.indicators.cluster
                assert cluster is not None, "bug: clusters of no rows"
                for into, one in zip(summed, psi, strict=True):
                    into += np.bincount(cluster[rows], weights=one, minlength=len(into))
    if summed is not None:
        return summed.sum(axis=1), summed @ summed.T
    return total.total, gram.total
