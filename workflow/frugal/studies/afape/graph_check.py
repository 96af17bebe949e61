"""Do the records contradict the graph of their missingness?

By the graph whether a panel is recorded depends on its causes alone. So the residual of its
indicator, R less the fitted probability, has nothing to do with the columns, with the label, or
with the indicators that are no effects of it. Its products with each of these, less a regression on
the causes, have mean zero (the generalised covariance measure of Shah & Peters, Ann. Stat. 48,
2020), and errors of either fit count only by their product.

A panel's probability holds on records that show the panels by which its law is conditioned: those
whose indicators cause it, and those that reveal the values that cause it. Others are left out.
Blocks of rows are gone through twice: for the regressions on causes, then for the products. Knows
no policy and no estimator.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.blocks import TreeSum
from frugal.core.scaling import Scaling, fit_scaling

DRAWS = 20_000  # of the law of the largest score
LEAST_ROWS = 30  # on which a score is looked at
LEVEL = 0.05  # below it a graph counts as refuted
ENTRIES_AT_ONCE = 1 << 24  # products held at a time: bounds memory
GRAM_ROUNDING = 1e-10  # of the largest eigenvalue: smaller ones are zero


@dataclass(frozen=True, eq=False)
class Indicators:
    """Which panels are recorded, and its implications by the graph. Shapes: n rows, a panels.

    Attributes:
        panels: that can be missing.
        observed: whether each is recorded. (n, a)
        probability: fitted by the graph; NaN where it is not known, or a row does not count. (n, a)
        causes: values of the columns that cause each panel's missingness; NaN where not recorded.
        conditions: True where the row's panel has a law on records with the column's panel. (a, a)
        cluster: rows of one number belong together, and their products count as one, their sum;
            numbered from 0 on over all blocks. None: each row is its own cluster. (n,)
    """

    panels: Sequence[str]
    observed: Bool[np.ndarray, "n a"]
    probability: Float[np.ndarray, "n a"]
    causes: Sequence[Float[np.ndarray, "n _"]]
    conditions: Bool[np.ndarray, "a a"]
    cluster: Int[np.ndarray, " n"] | None = None

    @cached_property
    def valid(self) -> Bool[np.ndarray, "n a"]:
        """Rows in which a panel's probability holds."""
        lacking = (~self.observed).astype(np.float64) @ self.conditions.T.astype(np.float64)
        return np.isfinite(self.probability) & (lacking == 0)

    @cached_property
    def effects(self) -> Bool[np.ndarray, "a a"]:
        """True where the column's panel may follow from the row's; every panel from itself."""
        reached = np.eye(len(self.panels), dtype=bool) | self.conditions.T
        for _ in range(len(self.panels).bit_length()):
            reached = reached | (reached.astype(np.float64) @ reached.astype(np.float64) > 0)
        return reached


@dataclass(frozen=True, eq=False)
class GraphRows:
    """Some rows.

    Attributes:
        indicators: of the panels that can be missing.
        columns: name → values that every record holds. (n,)
        label: class → 1 where a unit is of it; one fewer than there are. (n,)
    """

    indicators: Indicators
    columns: Mapping[str, Float[np.ndarray, " n"]]
    label: Mapping[str, Float[np.ndarray, " n"]]

    @cached_property
    def known(self) -> Float[np.ndarray, "n v"]:
        """Fully observed variables: columns, classes, indicators."""
        variables = [*self.columns.values(), *self.label.values()]
        return np.column_stack(
            [np.empty((len(self.indicators.observed), 0)), *variables, self.indicators.observed]
        )


@dataclass(frozen=True, eq=False)
class Contrast:
    """One thing that the graph denies.

    Attributes:
        kind: "panels", "column" or "label".
        panel: whose missingness is tested.
        other: panel, column or class.
        score: in standard errors; by the graph about normal with variance 1.
        rows: on which it is based.
        share: of these rows where both panels are recorded, NaN of a column or label.
        expected: the same by the graph.
    """

    kind: str
    panel: str
    other: str
    score: float
    rows: int
    share: float
    expected: float


@dataclass(frozen=True, eq=False)
class GraphCheck:
    """All contrasts, and the probability of so large a score if the graph holds.

    Attributes:
        contrasts: the largest score first.
        p_value: of the largest score, all being looked at together; NaN without a contrast.
    """

    contrasts: list[Contrast]
    p_value: float

    @property
    def refuted(self) -> bool:
        """Whether the records contradict the graph."""
        return self.p_value < LEVEL

    @property
    def sentence(self) -> str:
        """Strongest evidence against the graph; empty without any."""
        return _words(self.contrasts[0]) if self.refuted else ""


def check_graph(blocks: Iterable[GraphRows], clusters: int, rng: np.random.Generator) -> GraphCheck:
    """Every contrast, and their joint test by the largest score.

        ψ = (R_a − p̂_a) (z − E[z | causes of a]),   score = Σ ψ / √(Σ ψ²)

    with z a column, a class, or the indicator of a panel that is no effect of a, in the rows in
    which p̂_a holds.

    Args:
        blocks: in order; gone through twice.
        clusters: how many there are; 0: each row is its own.
        rng: of the draws of the largest score's law.
    """
    regressions: list[_Regression] = []
    counts, head = _Counts(0), None
    for block in blocks:
        indicators = block.indicators
        if head is None:
            head, counts = block, _Counts(len(indicators.panels))
            regressions = [_Regression() for _ in indicators.panels]
        counts.add(indicators)
        for k, regression in enumerate(regressions):
            rows = indicators.valid[:, k]
            regression.add(indicators.causes[k][rows], block.known[rows])
    if head is None:
        return GraphCheck([], float("nan"))
    tests = _ContrastTests(head, counts, regressions)
    if not tests.contrasts:
        return GraphCheck([], float("nan"))
    total, gram = _products(blocks, tests, clusters)
    size = np.sqrt(np.diag(gram))
    varying = np.flatnonzero(
        size > 1e-12 * np.array([contrast.rows for contrast in tests.contrasts])
    )
    scores = total[varying] / size[varying]
    correlation = gram[np.ix_(varying, varying)] / np.outer(size[varying], size[varying])
    contrasts = [
        replace(tests.contrasts[k], score=float(score))
        for k, score in zip(varying, scores, strict=True)
    ]
    return joint_test(contrasts, correlation, rng)


def joint_test(
    contrasts: Sequence[Contrast], correlation: Float[np.ndarray, "p p"], rng: np.random.Generator
) -> GraphCheck:
    """The contrasts by their scores, and the probability of so large a one among all of them.

    Args:
        contrasts: with scores.
        correlation: of the scores.
        rng: of the draws of the largest score's law.
    """
    if not contrasts:
        return GraphCheck([], float("nan"))
    scores = np.abs([contrast.score for contrast in contrasts])
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    top = np.zeros(DRAWS)
    for start in range(0, DRAWS, 2000):
        drawn = rng.standard_normal((2000, len(contrasts))) @ root.T
        top[start : start + 2000] = np.abs(drawn).max(axis=1)
    p_value = float((1 + (top >= scores.max()).sum()) / (1 + DRAWS))
    order = np.argsort(-scores, kind="stable")
    return GraphCheck([contrasts[k] for k in order], p_value)


@dataclass(eq=False)
class _Regression:
    """Linear fit of all fully observed variables on the causes of one panel and their squares."""

    scaling: Scaling | None = None
    gram: Any = None
    crossed: Any = None
    slopes: Any = None

    def design(self, causes: Float[np.ndarray, "m c"]) -> Float[np.ndarray, "m w"]:
        """1, causes, squares; scaled as in the first block with rows."""
        if self.scaling is None:
            self.scaling = fit_scaling(causes)
            self.gram, self.crossed = TreeSum(), TreeSum()
        scaled = self.scaling.standardise(causes)
        return np.hstack([np.ones((len(causes), 1)), scaled, scaled**2])

    def add(self, causes: np.ndarray, targets: np.ndarray) -> None:
        """The rows of a block on which the panel's law is known."""
        if len(causes):
            design = self.design(causes)
            self.gram.put(design.T @ design)
            self.crossed.put(design.T @ targets)

    def left_over(self, causes: np.ndarray, targets: np.ndarray) -> Float[np.ndarray, "m v"]:
        """Residuals of known values given the causes, once all blocks were added."""
        if self.slopes is None:
            inverse = np.linalg.pinv(self.gram.total, rcond=GRAM_ROUNDING, hermitian=True)
            self.slopes = inverse @ self.crossed.total
        return targets - self.design(causes) @ self.slopes


class _Counts:
    """Rows in which the row's panel has a law; of these, rows with the column's panel. (a, a)"""

    def __init__(self, panels: int) -> None:
        self.rows = np.zeros(panels, dtype=np.int64)
        self.recorded = np.zeros((panels, panels), dtype=np.int64)
        self.both = np.zeros((panels, panels), dtype=np.int64)  # with either panel
        self.expected = TreeSum()  # the same by the graph

    def add(self, indicators: Indicators) -> None:
        """The next block."""
        valid, observed = (
            indicators.valid.astype(np.float64),
            indicators.observed.astype(np.float64),
        )
        self.rows += indicators.valid.sum(axis=0)
        self.recorded += (valid.T @ observed).astype(np.int64)
        self.both += ((valid * observed).T @ observed).astype(np.int64)
        self.expected.put(np.where(indicators.valid, indicators.probability, 0.0).T @ observed)

    def vary(self, panel: int, other: int) -> bool:
        """Enough rows in which some have, and some lack, either panel.

        Where all have it, all that is left of it is by how much fitted laws are never sure.
        """
        rows = self.rows[panel]
        return bool(rows >= LEAST_ROWS) and all(
            0 < self.recorded[panel, member] < rows for member in (panel, other)
        )


class _ContrastTests:
    """The contrasts that are looked at, panel by panel, and their products on a block."""

    def __init__(self, head: GraphRows, counts: _Counts, regressions: list[_Regression]) -> None:
        self._regressions, self._counts = regressions, counts
        panels, nan = head.indicators.panels, float("nan")
        named = [("column", name) for name in head.columns]
        named += [("label", name) for name in head.label]
        partners: list[list[int]] = [[] for _ in panels]
        for a, b in combinations(range(len(panels)), 2):
            for panel, other in self._direction(head.indicators.effects, a, b):
                partners[panel].append(other)
        self._places: list[tuple[int, list[int]]] = []  # panel, and what it is multiplied with
        self.contrasts: list[Contrast] = []
        for k in [k for k in range(len(panels)) if counts.vary(k, k)]:
            rows = int(counts.rows[k])
            self._places.append((k, [*range(len(named)), *(len(named) + j for j in partners[k])]))
            self.contrasts += [
                Contrast(kind, panels[k], name, nan, rows, nan, nan) for kind, name in named
            ]
            for j in partners[k]:
                first, second = sorted((j, k))
                shares = counts.both[k, j] / rows, counts.expected.total[k, j] / rows
                self.contrasts.append(
                    Contrast(
                        "panels", panels[first], panels[second], nan, rows, *map(float, shares)
                    )
                )

    def _direction(self, effects: np.ndarray, a: int, b: int) -> list[tuple[int, int]]:
        """Whose residual is multiplied with whose indicator: that with more rows, if either.

        The other must be no effect: a recorded effect is informative about the residual.
        """
        able = [
            (k, other)
            for k, other in ((b, a), (a, b))
            if not effects[k, other] and self._counts.vary(k, other)
        ]
        return sorted(able, key=lambda pair: -self._counts.rows[pair[0]])[:1]

    def products(self, block: GraphRows, rows: slice) -> Float[np.ndarray, "p n"]:
        """ψ of every contrast in some rows of a block; 0 where a law does not hold."""
        indicators, targets = block.indicators, block.known[rows]
        parts = []
        for k, places in self._places:
            valid = indicators.valid[rows, k]
            psi = np.zeros((len(targets), len(places)))
            if valid.any():
                rest = indicators.observed[rows, k][valid] - indicators.probability[rows, k][valid]
                left = self._regressions[k].left_over(
                    indicators.causes[k][rows][valid], targets[valid]
                )
                psi[valid] = rest[:, None] * left[:, places]
            parts.append(psi.T)
        return np.vstack(parts)


def _products(
    blocks: Iterable[GraphRows], tests: _ContrastTests, clusters: int
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
    """Σ ψ of every contrast, and Σ ψ ψᵀ; over clusters, whose products count as one."""
    at_once = max(1, ENTRIES_AT_ONCE // len(tests.contrasts))
    total, gram = TreeSum(), TreeSum()
    summed = np.zeros((len(tests.contrasts), clusters))
    for block in blocks:
        n = len(block.indicators.observed)
        for start in range(0, n, at_once):
            rows = slice(start, start + at_once)
            psi = tests.products(block, rows)
            if not clusters:
                total.put(psi.sum(axis=1))
                gram.put(psi @ psi.T)
            else:
                cluster = block.indicators.cluster
                assert cluster is not None, "bug: clusters of no rows"
                for into, terms in zip(summed, psi, strict=True):
                    into += np.bincount(cluster[rows], weights=terms, minlength=len(into))
    if clusters:
        return summed.sum(axis=1), summed @ summed.T
    return total.total, gram.total


def _words(worst: Contrast) -> str:
    """A sentence on the contrast that speaks most against the graph."""
    size = f"{abs(worst.score):.1f} standard errors"
    if worst.kind == "panels":
        how_often = "together more" if worst.score > 0 else "together less"
        return (
            f"gaps of {worst.panel!r} and {worst.other!r} come {how_often} often than the graph "
            f"allows ({size}): both are recorded in {worst.share:.0%} of the rows, by the graph in "
            f"{worst.expected:.0%}; consider an edge R → R between them"
        )
    cause = "the label" if worst.kind == "label" else f"the column {worst.other!r}"
    return (
        f"whether {worst.panel!r} is recorded depends on {cause} ({size}), which the graph does "
        "not name as a cause"
    )
