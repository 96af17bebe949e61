"""What one record can tell in each view of the problem, and what it needs, for a policy (A.10).

Positivity is that of the true law where the missingness was induced, else that of the fitted one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.set_probability import rows_in_parts
from frugal.core.state_codes import distinct_sets
from frugal.core.table import Table
from frugal.judge.case import Case, acquired_sets
from frugal.judge.data_efficiency import (
    VIEWS,
    data_efficiency,
    needed_probability,
    summarise_positivity,
)
from frugal.missing.chain import IndicatorChain, chain_of
from frugal.missing.graph import MissingnessGraph
from frugal.missing.law import MOST_SUMMED, factorised_patterns, missable_patterns
from frugal.missing.mechanisms import pattern_probability

MOST_SETS = 1024  # of a policy, looked through where patterns are too many to be listed

Law = Callable[[np.ndarray], np.ndarray]  # rows → p(R = pattern | x), (m, q)


@dataclass(frozen=True, eq=False)
class Seen:
    """What the views read of one case, small enough to be kept of every seed.

    Attributes:
        observed: R. (n, a)
        factors: fitted p(R_j = 1 | its causes) of each panel. (n, a)
        sets: that the policy ends with where nothing is missing: on the full table, or on complete
            cases where that is unknown. (t, a)
    """

    observed: np.ndarray
    factors: np.ndarray
    sets: np.ndarray

    @classmethod
    def of(cls, case: Case) -> "Seen":
        """The part of a case that the views read."""
        ended = case.blocked[case.complete] if case.full is None else case.full
        return cls(case.observed, case.factors, distinct_sets(acquired_sets(ended)).sets)


def compare_views(
    data: Table,
    rows: np.ndarray,
    graph: Mapping[str, Any],
    seen: Sequence[Seen],
    identification: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> pd.DataFrame:
    """Table A.1 and the positivity comparison of A.10 for these records and this policy.

    Args:
        data: the whole table, on which standardised laws are scaled.
        rows: the test rows in it. (n,)
        graph: with `source`, as `draw_missingness` stored it.
        seen: of the policy's case in each seed.
        identification: as `draw_missingness` stored it.
        settings: of the stage.
    """
    observed, factors, sets = (
        np.concatenate([getattr(one, name) for one in seen])
        for name in ("observed", "factors", "sets")
    )
    sets = distinct_sets(sets).sets
    threshold, reason = settings["positivity_threshold"], ""
    wide = len(graph["indicators"]) > MOST_SUMMED
    if reason := _too_many(sets) if wide else "":
        needed = np.full((3, 1), np.nan)
    elif graph["source"] == "induced" and wide:
        law = chain_of(MissingnessGraph.from_dict(graph), data, rows)
        needed = _by_events(law, len(rows), sets)
    elif graph["source"] == "induced":
        needed = _by_true_law(data, rows, graph, sets)
    elif reason := _unknown(graph, factors, identification):
        needed = np.full((3, 1), np.nan)
    elif wide:
        known = factors[np.isfinite(factors).all(axis=1)]
        missable = [j for j, p in enumerate(data.actions) if p.name in graph["indicators"]]
        law = IndicatorChain(missable, {}, lambda j, at, observed: known[at, j])
        needed = _by_events(law, len(known), sets)
    else:
        needed = _by_fitted_law(data, graph, factors, sets)
    views = data_efficiency(observed)
    support = [None] * len(VIEWS) if reason else summarise_positivity(needed, threshold=threshold)
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


def _unknown(
    graph: Mapping[str, Any], factors: np.ndarray, identification: Mapping[str, Any]
) -> str:
    """Why the positivity of own records is not known; empty if it is."""
    if not identification["propensity_identified"]:
        return " ".join(r for r in identification["reasons"] if "not identified" in r)
    if any(law["indicators"] for law in graph["indicators"].values()):
        return (
            "One missingness indicator causes another, so that the fitted factors give no law of "
            "patterns."
        )
    known = np.isfinite(factors).all(axis=1)
    return "" if known.any() else "The law of some panel could not be fitted."


def _by_true_law(
    data: Table, rows: np.ndarray, graph: Mapping[str, Any], sets: np.ndarray
) -> np.ndarray:
    """What each test row needs above zero, by the law that the masks were drawn from. (3, n)"""
    law = MissingnessGraph.from_dict(graph)
    patterns = missable_patterns(law, data)
    return _in_parts(
        len(rows),
        patterns,
        sets,
        lambda part: pattern_probability(law, data, patterns, rows=rows[part]),
    )


def _by_fitted_law(
    data: Table, graph: Mapping[str, Any], factors: np.ndarray, sets: np.ndarray
) -> np.ndarray:
    """The same by the fitted factors, of the rows and seeds with a known X_adj. (3, m)"""
    law = MissingnessGraph.from_dict(graph)
    patterns = missable_patterns(law, data)
    factors = factors[np.isfinite(factors).all(axis=1)]
    return _in_parts(
        len(factors), patterns, sets, lambda part: factorised_patterns(factors[part], patterns)
    )


def _in_parts(rows: int, patterns: np.ndarray, sets: np.ndarray, law: Law) -> np.ndarray:
    """What rows need, as many at a time as memory allows. (3, rows)"""
    needed = np.empty((3, rows))
    for part in rows_in_parts(np.zeros((rows, 1), dtype=bool), len(patterns) + len(sets)):
        needed[:, part] = needed_probability(law(part), patterns, sets)
    return needed
