"""What one record can tell in each view of the problem, and what it needs, for a policy (A.10).

Positivity is that of the true law where the missingness was induced, else that of the fitted one.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.contracts import MissingnessGraph, Table
from frugal.data.panel_columns import panel_columns, panel_matrix
from frugal.environments.set_probability import rows_in_parts
from frugal.evaluation.data_efficiency import (
    VIEWS,
    data_efficiency,
    needed_probability,
    summarise_positivity,
)
from frugal.missingness.law import factorised_patterns, missable_patterns
from frugal.missingness.mechanisms import pattern_probability

Law = Callable[[np.ndarray], np.ndarray]  # rows → p(R = pattern | x), (m, q)


def compare_views(
    data: Table,
    rows: np.ndarray,
    graph: Mapping[str, Any],
    observed: pd.DataFrame,
    blocked: pd.DataFrame,
    worlds: pd.DataFrame,
    propensities: pd.DataFrame,
    identification: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> pd.DataFrame:
    """Table A.1 and the positivity comparison of A.10 for these records and this policy.

    Args:
        data: the whole table, on which standardised laws are scaled.
        rows: the test rows in it. (n,)
        graph: with `source`, as `draw_missingness` stored it.
        observed: masks of the test rows, all seeds under each other; so the next three.
        blocked: episodes on the records.
        worlds: episodes elsewhere.
        propensities: fitted, with each panel's factor.
        identification: as `draw_missingness` stored it.
        settings: of the stage.
    """
    known = panel_matrix(observed, "observed", data)
    threshold, reason = settings["positivity_threshold"], ""
    if graph["source"] == "induced":
        sets = panel_matrix(worlds[worlds["world"] == "full"], "acquired", data)
        needed = _by_true_law(data, rows, graph, np.unique(sets, axis=0))
    elif reason := _unknown(data, graph, propensities, identification):
        needed = np.full((3, 1), np.nan)
    else:  # what the policy does unblocked is seen on the complete cases
        sets = panel_matrix(blocked, "acquired", data)[known.all(axis=1)]
        needed = _by_fitted_law(data, graph, propensities, np.unique(sets, axis=0))
    views = data_efficiency(known)
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


def _unknown(
    data: Table,
    graph: Mapping[str, Any],
    propensities: pd.DataFrame,
    identification: Mapping[str, Any],
) -> str:
    """Why the positivity of own records is not known; empty if it is."""
    if not identification["propensity_identified"]:
        return " ".join(r for r in identification["reasons"] if "not identified" in r)
    if any(law["indicators"] for law in graph["indicators"].values()):
        return (
            "One missingness indicator causes another, so that the fitted factors give no law of "
            "patterns."
        )
    known = propensities[panel_columns("factor", data)].notna().all(axis=1)
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
    data: Table, graph: Mapping[str, Any], propensities: pd.DataFrame, sets: np.ndarray
) -> np.ndarray:
    """The same by the fitted factors, of the rows and seeds with a known X_adj. (3, m)"""
    law = MissingnessGraph.from_dict(graph)
    patterns = missable_patterns(law, data)
    factors = propensities[panel_columns("factor", data)].to_numpy()
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
