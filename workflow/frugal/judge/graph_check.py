"""Do the records contradict the graph by which their gaps are explained?

By the graph whether a panel is recorded depends on its causes alone. So what is left of an
indicator, once its fitted probability is taken off, has nothing to do with the other columns, with
the label, or with what is left of the other indicators. Each product of two such rests has mean
zero (the generalised covariance measure of Shah & Peters, Ann. Stat. 48, 2020), and errors of
either fit count only by their product. Knows no policy and no estimator.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.scaling import fit_scaling

DRAWS = 20_000  # of the law of the largest score
LEAST_ROWS = 30  # on which a score is looked at
LEVEL = 0.05  # below it a graph counts as refuted


@dataclass(frozen=True, eq=False)
class Indicators:
    """Which panels are recorded, and what the graph says of it. Shapes: n rows, a panels.

    Attributes:
        panels: that can be missing.
        observed: whether each is recorded. (n, a)
        probability: fitted by the graph; NaN where a cause is not recorded. (n, a)
        causes: values of the columns that cause each panel's gaps; NaN where not recorded.
        cluster: rows of one number belong together, and their products count as one, their sum;
            None where each stands for itself. (n,)
    """

    panels: Sequence[str]
    observed: Bool[np.ndarray, "n a"]
    probability: Float[np.ndarray, "n a"]
    causes: Sequence[Float[np.ndarray, "n _"]]
    cluster: Int[np.ndarray, " n"] | None = None


@dataclass(frozen=True, eq=False)
class Contrast:
    """One thing that the graph denies.

    Attributes:
        kind: "panels", "column" or "label".
        panel: whose gaps are looked at.
        other: panel, column or class.
        score: in standard errors; by the graph about normal with variance 1.
        rows: on which it stands.
        share: of all rows where both panels are recorded, NaN of a column or label.
        expected: the same by the graph; NaN where some row's cause is not recorded.
    """

    kind: str
    panel: str
    other: str
    score: float
    rows: int
    share: float
    expected: float

    def scored(self, score: float) -> "Contrast":
        """The same with its score."""
        return replace(self, score=score)


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
        """What speaks most against the graph; empty if nothing does."""
        return _words(self.contrasts[0]) if self.refuted else ""


def check_graph(
    indicators: Indicators,
    columns: Mapping[str, Float[np.ndarray, " n"]],
    label: Mapping[str, Float[np.ndarray, " n"]],
    rng: np.random.Generator,
) -> GraphCheck:
    """Every contrast, and their joint test by the largest score.

        e_a = R_a − p̂_a,   ψ = e_a e_b,   or e_a (x − E[x | causes of a]);   score = Σ ψ / √(Σ ψ²)

    Args:
        indicators: of the panels that can be missing.
        columns: name → values that every record holds. (n,)
        label: class → 1 where a unit is of it; one fewer than there are. (n,)
        rng: of the draws of the largest score's law.
    """
    found, terms = [], []
    for contrast, psi in _contrasts(indicators, columns, label):
        found.append(contrast)
        terms.append(psi / np.sqrt((psi**2).sum()))
    if not found:
        return GraphCheck([], float("nan"))
    return joint_test(found, np.array(terms) @ np.array(terms).T, rng)


def joint_test(
    found: Sequence[Contrast], correlation: Float[np.ndarray, "p p"], rng: np.random.Generator
) -> GraphCheck:
    """The contrasts by their scores, and the probability of so large a one among all of them.

    Args:
        found: with scores.
        correlation: of the scores.
        rng: of the draws of the largest score's law.
    """
    if not found:
        return GraphCheck([], float("nan"))
    scores = np.abs([contrast.score for contrast in found])
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    top = np.zeros(DRAWS)
    for start in range(0, DRAWS, 2000):
        drawn = rng.standard_normal((2000, len(found))) @ root.T
        top[start : start + 2000] = np.abs(drawn).max(axis=1)
    p_value = float((1 + (top >= scores.max()).sum()) / (1 + DRAWS))
    order = np.argsort(-scores, kind="stable")
    return GraphCheck([found[k] for k in order], p_value)


def _contrasts(
    given: Indicators,
    columns: Mapping[str, Float[np.ndarray, " n"]],
    label: Mapping[str, Float[np.ndarray, " n"]],
) -> Iterator[tuple[Contrast, Float[np.ndarray, " n"]]]:
    rest = given.observed - given.probability
    for k, panel in enumerate(given.panels):
        rows = np.isfinite(rest[:, k])
        if rows.sum() < LEAST_ROWS or not _varies(given, k, rows):
            continue
        for kind, known in (("column", columns), ("label", label)):
            for name, values in known.items():
                psi = np.where(rows, rest[:, k], 0.0)
                psi[rows] *= _left_over(values[rows], given.causes[k][rows])
                psi = _summed(psi, given.cluster)
                yield from _scored(kind, panel, name, psi, rows, (np.nan, np.nan))
    for a, b in combinations(range(len(given.panels)), 2):
        rows = np.isfinite(rest[:, a] * rest[:, b])
        if not (_varies(given, a, rows) and _varies(given, b, rows)):
            continue
        psi = _summed(np.where(rows, rest[:, a] * rest[:, b], 0.0), given.cluster)
        both = given.observed[:, a] & given.observed[:, b]
        by_graph = given.probability[:, a] * given.probability[:, b]
        shares = (both.mean(), by_graph.mean())  # NaN where some row's cause is not recorded
        yield from _scored("panels", given.panels[a], given.panels[b], psi, rows, shares)


def _summed(psi: np.ndarray, cluster: np.ndarray | None) -> np.ndarray:
    """Sums over rows that belong together. (n or g,)"""
    if cluster is None:
        return psi
    return np.bincount(np.unique(cluster, return_inverse=True)[1], weights=psi)


def _varies(given: Indicators, panel: int, rows: Bool[np.ndarray, " n"]) -> bool:
    """Whether a panel is recorded in some of the rows and missing in others.

    Where it is not, all that is left of it is by how much fitted laws are never sure.
    """
    recorded = given.observed[rows, panel]
    return bool(recorded.any() and not recorded.all())


def _scored(
    kind: str, panel: str, other: str, psi: np.ndarray, rows: np.ndarray, shares: tuple
) -> Iterator[tuple[Contrast, np.ndarray]]:
    """The contrast with its score, unless it stands on too few rows or nothing varies."""
    count, size = int(rows.sum()), float(np.sqrt((psi**2).sum()))
    if count >= LEAST_ROWS and size > 1e-12 * count:
        score = float(psi.sum()) / size
        yield Contrast(kind, panel, other, score, count, *map(float, shares)), psi


def _left_over(
    values: Float[np.ndarray, " m"], causes: Float[np.ndarray, "m c"]
) -> Float[np.ndarray, " m"]:
    """Values less what the causes and their squares say of them, linearly. (m,)"""
    plain = fit_scaling(causes).standardise(causes)
    design = np.hstack([np.ones((len(values), 1)), plain, plain**2])
    return values - design @ np.linalg.lstsq(design, values, rcond=None)[0]


def _words(worst: Contrast) -> str:
    """A sentence on the contrast that speaks most against the graph."""
    size = f"{abs(worst.score):.1f} standard errors"
    if worst.kind == "panels":
        together = "together more" if worst.score > 0 else "together less"
        shares = ""
        if np.isfinite(worst.expected):
            shares = (
                f": both are recorded in {worst.share:.0%} of the rows, by the graph in "
                f"{worst.expected:.0%}"
            )
        return (
            f"gaps of {worst.panel!r} and {worst.other!r} come {together} often than the graph "
            f"allows ({size}){shares}; consider an edge R → R between them"
        )
    what = "the label" if worst.kind == "label" else f"the column {worst.other!r}"
    return (
        f"whether {worst.panel!r} is recorded depends on {what} ({size}), which the graph does not "
        "name as a cause"
    )
