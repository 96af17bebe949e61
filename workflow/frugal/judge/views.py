"""What one record can tell in each view of the problem, and what it needs, for a policy (A.10).

Positivity is that of the true law where the missingness was induced, else that of the fitted one.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.set_probability import rows_in_parts
from frugal.core.blocks import tree_sum
from frugal.core.table import Table
from frugal.core.world import distinct_sets
from frugal.judge.case import Case, acquired_sets
from frugal.judge.data_efficiency import (
    VIEWS,
    NeededSums,
    data_efficiency,
    needed_probability,
)
from frugal.missing.chain import IndicatorChain, chain_of
from frugal.missing.graph import MissingnessGraph
from frugal.missing.law import MOST_SUMMED, factorised_patterns, missable_patterns
from frugal.missing.mechanisms import pattern_probability

MOST_SETS = 1024  # of a policy, looked through where patterns are too many to be listed

Law = Callable[[np.ndarray], np.ndarray]  # rows → p(R = pattern | x), (m, q)


@dataclass(frozen=True, eq=False)
class Seen:
    """What the views read of one policy, small enough to be kept; joined from blocks and seeds.

    Attributes:
        observed: rows with 0, 1, … a panels recorded. (a + 1,)
        fitted: rows in which every fitted factor is known.
        sets: that the policy ends with where nothing is missing: on the full table, or on complete
            cases where that is unknown. (t, a)
    """

    observed: np.ndarray
    fitted: int
    sets: np.ndarray

    @classmethod
    def of(cls, case: Case) -> "Seen":
        """The part of a case that the views read."""
        ended = case.blocked[case.complete] if case.full is None else case.full
        return cls(
            np.bincount(case.observed.sum(axis=1), minlength=case.observed.shape[1] + 1),
            int(np.isfinite(case.factors).all(axis=1).sum()),
            distinct_sets(acquired_sets(ended)).sets,
        )

    def __add__(self, other: "Seen") -> "Seen":
        sets = distinct_sets(np.concatenate([self.sets, other.sets])).sets
        return Seen(self.observed + other.observed, self.fitted + other.fitted, sets)


@dataclass(frozen=True, eq=False)
class ViewRows:
    """Some rows that the views are compared on.

    Attributes:
        data: a block of the table; standardised laws are settled.
        rows: positions in it of its test rows. (n,)
        factors: fitted p(R_j = 1 | its causes) of these rows, in every seed. (m, a)
    """

    data: Table
    rows: np.ndarray
    factors: np.ndarray


def compare_views(
    blocks: Iterable[ViewRows],
    layout: Table,
    graph: Mapping[str, Any],
    seen: Seen,
    identification: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> pd.DataFrame:
    """Table A.1 and the positivity comparison of A.10 for these records and this policy.

    Args:
        blocks: test rows, read only where the positivity follows from them.
        layout: the table's panels.
        graph: with `source`, as `draw_missingness` stored it, settled.
        seen: of the policy, in all blocks and seeds.
        identification: as `draw_missingness` stored it.
        settings: of the stage.
    """
    threshold = settings["positivity_threshold"]
    wide = len(graph["indicators"]) > MOST_SUMMED
    reason = _too_many(seen.sets) if wide else ""
    if not reason and graph["source"] != "induced":
        reason = _unknown(graph, seen.fitted, identification)
    views = data_efficiency(seen.observed)
    support: Sequence[Any] = [None] * len(VIEWS)
    if not reason:
        needed = (_needed(one, layout, graph, seen.sets, wide=wide) for one in blocks)
        told = (NeededSums.of(part, threshold) for part in needed)
        support = tree_sum(told).views()
    return pd.DataFrame(
        {
            "view": view.view,
            "trajectories": view.trajectories,
            "runs": view.runs,
            "minimum_probability": np.nan if one is None else one.minimum,
            "share_below_threshold": np.nan if one is None else one.share_below,
            "threshold": threshold,
            "reason": reason,
        }
        for view, one in zip(views, support, strict=True)
    )


def _needed(
    given: ViewRows, layout: Table, graph: Mapping[str, Any], sets: np.ndarray, *, wide: bool
) -> np.ndarray:
    """What rows need above zero: by the true law, or of every seed by the fitted one. (3, m)"""
    law = MissingnessGraph.from_dict(graph)
    if graph["source"] == "induced":
        if wide:
            return _by_events(chain_of(law, given.data, given.rows), len(given.rows), sets)
        return _by_true_law(given.data, given.rows, law, sets)
    factors = given.factors[np.isfinite(given.factors).all(axis=1)]
    if wide:
        missable = [j for j, p in enumerate(layout.actions) if p.name in graph["indicators"]]
        chain = IndicatorChain(missable, {}, lambda j, at, observed: factors[at, j])
        return _by_events(chain, len(factors), sets)
    return _by_fitted_law(layout, law, factors, sets)


def _too_many(sets: np.ndarray) -> str:
    """Why the positivity of a policy with many sets is not computed; empty if it is."""
    if len(sets) <= MOST_SETS:
        return ""
    return (
        f"The policy ends with {len(sets)} sets of panels; where more than {MOST_SUMMED} panels "
        f"can be missing, at most {MOST_SETS} are looked through."
    )


def _by_events(law: IndicatorChain, n: int, sets: np.ndarray) -> np.ndarray:
    """What each row needs above zero, set by set. (3, n)"""
    rows, a = np.arange(n), sets.shape[1]
    needed = np.ones((3, n))
    needed[1] = law.exactly(rows, np.ones(a, dtype=bool))
    for one in sets:
        needed[0] = np.minimum(needed[0], law.exactly(rows, one))
        wanted = np.broadcast_to(one, (n, a))
        needed[2] = np.fmin(needed[2], law.together(rows, wanted))
    return needed


def _unknown(graph: Mapping[str, Any], fitted: int, identification: Mapping[str, Any]) -> str:
    """Why the positivity of own records is not known; empty if it is."""
    if not identification["propensity_identified"]:
        return " ".join(r for r in identification["reasons"] if "not identified" in r)
    if any(law["indicators"] for law in graph["indicators"].values()):
        return (
            "One missingness indicator causes another, so that the fitted factors give no law of "
            "patterns."
        )
    return "" if fitted else "The law of some panel could not be fitted."


def _by_true_law(
    data: Table, rows: np.ndarray, law: MissingnessGraph, sets: np.ndarray
) -> np.ndarray:
    """What each test row needs above zero, by the law that the masks were drawn from. (3, n)"""
    patterns = missable_patterns(law, data)
    return _in_parts(
        len(rows),
        patterns,
        sets,
        lambda part: pattern_probability(law, data, patterns, rows=rows[part]),
    )


def _by_fitted_law(
    layout: Table, law: MissingnessGraph, factors: np.ndarray, sets: np.ndarray
) -> np.ndarray:
    """The same by the fitted factors, of the rows and seeds with a known X_adj. (3, m)"""
    patterns = missable_patterns(law, layout)
    return _in_parts(
        len(factors), patterns, sets, lambda part: factorised_patterns(factors[part], patterns)
    )


def _in_parts(rows: int, patterns: np.ndarray, sets: np.ndarray, law: Law) -> np.ndarray:
    """What rows need, as many at a time as memory allows. (3, rows)"""
    needed = np.empty((3, rows))
    for part in rows_in_parts(np.zeros((rows, 1), dtype=bool), len(patterns) + len(sets)):
        needed[:, part] = needed_probability(law(part), patterns, sets)
    return needed
