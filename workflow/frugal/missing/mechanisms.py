"""Draws of the retrospective missingness, with true probabilities. [afape, sec. A.2 and sec. A.11]

Masks are drawn from a graph over a complete table, or read off a table's own missing values. This
module must not know what a graph identifies, nor any agent or estimator.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit, logit

from frugal.core.blocks import tree_sum
from frugal.core.errors import ConfigError, DataError
from frugal.core.table import Mask, Table
from frugal.missing.graph import MissingnessGraph
from frugal.missing.graphs import (
    indicator_logit,
    indicator_probability,
    topological_order,
    value_logit,
)


def draw_mask(table: Table, graph: MissingnessGraph, uniforms: Float[np.ndarray, "n a"]) -> Mask:
    """One draw R ~ p(R | X) for some units, causes before effects.

    Each unit and panel has its own uniform number whatever the graph, so that two mechanisms drawn
    from equal numbers differ only where their laws do.

    Args:
        table: the units, complete.
        graph: laws of the panels that can be missing.
        uniforms: numbers in [0, 1). (n, a)

    Returns:
        The mask and the true p(R_j = 1 | its parents) with the drawn indicators among the parents;
        1 for panels without a law.

    Raises:
        ConfigError: the table lacks values of its own.
        GraphError: the graph is cyclic.
    """
    require_complete(table, graph, np.isnan(table.values).sum(axis=0), len(table))
    observed = np.ones(uniforms.shape, dtype=bool)
    propensity = np.ones(uniforms.shape)
    position = {action.name: i for i, action in enumerate(table.actions)}
    for panel in topological_order(graph):
        j = position[panel]
        propensity[:, j] = indicator_probability(graph, table, observed, panel)
        observed[:, j] = uniforms[:, j] < propensity[:, j]
    return Mask(table.row_id, observed, propensity)


def pattern_probability(
    graph: MissingnessGraph,
    table: Table,
    patterns: Bool[np.ndarray, "q a"],
    *,
    rows: Int[np.ndarray, " m"] | None = None,
) -> Float[np.ndarray, "m q"]:
    """True probability of each pattern for each unit. [afape, sec. A.2]

        p(R = r | x) = Π_j p(R_j = r_j | x, r_parents)

    Args:
        graph: laws of the panels that can be missing.
        table: the whole table; only columns that are parents are read.
        patterns: True where observed; a pattern that lacks a panel without a law has probability
            0. (q, a)
        rows: units that are asked about; None for all. (m,)

    Returns:
        Rows sum to 1 over all 2^a patterns. (m, q)

    Raises:
        ConfigError: see `graphs.value_logit`.
    """
    position = {action.name: i for i, action in enumerate(table.actions)}
    lawless = [i for panel, i in position.items() if panel not in graph.indicators]
    possible = patterns[:, lawless].all(axis=1)
    rows = np.arange(len(table)) if rows is None else rows
    probability = np.tile(possible.astype(np.float64), (len(rows), 1))
    for panel in graph.indicators:
        # patterns differ in few parent settings: σ is taken once for each, then spread
        by_parents, setting = np.unique(
            indicator_logit(graph, table, patterns, panel), return_inverse=True
        )
        log_odds = value_logit(graph, table, panel)[rows, None] + by_parents
        shown = patterns[:, position[panel]]
        probability[:, shown] *= expit(log_odds)[:, setting[shown]]
        probability[:, ~shown] *= expit(-log_odds)[:, setting[~shown]]  # 1 − σ would round
    return probability


def complete_probability(graph: MissingnessGraph, table: Table) -> Float[np.ndarray, " n"]:
    """The true propensity score p(R = 1 | x) of each unit. (n,) [afape, eq. 3]

    Raises:
        ConfigError: see `graphs.value_logit`.
    """
    return _complete_from_logits(complete_logits(graph, table))


def calibrate(
    graph: MissingnessGraph,
    logits: Iterable[Float[np.ndarray, "n m"]],
    *,
    complete_share: float,
) -> MissingnessGraph:
    """The graph whose expected share of complete cases is `complete_share`.

    All intercepts move by one common amount δ, the root of mean_i p_δ(R = 1 | x_i) = share. Each
    factor rises with δ from 0 to 1, so there is exactly one root, inside the bracket where every
    factor is at most the share and where every factor is at least its m-th root.

    Args:
        graph: laws whose intercepts are to move.
        logits: `complete_logits` of each block of rows; gone through several times.
        complete_share: in (0, 1); the paper's synthetic study has 0.12.

    Raises:
        ConfigError: the share is outside (0, 1), or no panel can be missing.
    """
    if not 0 < complete_share < 1:
        raise ConfigError(
            f"mechanism {graph.name!r} asks for a complete share of {complete_share}; "
            "allowed is more than 0 and less than 1"
        )
    if not graph.indicators:
        raise ConfigError(
            f"mechanism {graph.name!r} asks for a complete share of {complete_share} "
            "but no panel can be missing, so the share is 1"
        )
    per_panel = -np.log(complete_share) / len(graph.indicators)
    rows = sum(len(part) for part in logits)
    low = logit(complete_share) - max(part.max() for part in logits) - 1.0
    high = -np.log(np.expm1(per_panel)) - min(part.min() for part in logits) + 1.0

    def excess(shift: float) -> float:
        total = tree_sum(_complete_from_logits(part + shift).sum() for part in logits)
        return float(total / rows) - complete_share

    from scipy.optimize import brentq

    root = brentq(excess, low, high, xtol=1e-13)
    shift = float(root)  # pyright: ignore[reportArgumentType]  # full_output=False: a number
    laws = {
        panel: replace(law, intercept=law.intercept + shift)
        for panel, law in graph.indicators.items()
    }
    return MissingnessGraph(graph.name, laws)


def own_mask(table: Table) -> Mask:
    """The data set's own missingness: a panel is observed if all its columns are present.

    Returns:
        A mask without propensities, for nobody knows the law.

    Raises:
        DataError: a free column has missing values.
    """
    require_free_known(table, np.isnan(table.values).sum(axis=0), len(table))
    return Mask(table.row_id, panels_present(table), None)


def panels_present(table: Table) -> Bool[np.ndarray, "n a"]:
    """True where no column of a panel lacks its value. (n, a)"""
    lacking = np.isnan(table.values).astype(np.uint8) @ table.provides.T.astype(np.float64)
    return lacking == 0


def require_free_known(table: Table, gaps: Int[np.ndarray, " d"], rows: int) -> None:
    """Refuse a free column without a value.

    Args:
        table: its columns count.
        gaps: values that each column lacks. (d,)
        rows: of the whole table.

    Raises:
        DataError: names the column.
    """
    for j in np.flatnonzero(table.free_columns & (gaps > 0)):
        raise DataError(
            f"column {table.columns[j]!r} is free, so known for every unit, "
            f"but lacks {gaps[j]} of {rows} values"
        )


def require_complete(
    table: Table, graph: MissingnessGraph, gaps: Int[np.ndarray, " d"], rows: int
) -> None:
    """Refuse to hide panels of a table that hides some itself: `observed` would then be untrue.

    Args:
        table: its columns count.
        graph: of the mechanism.
        gaps: values that each column lacks. (d,)
        rows: of the whole table.

    Raises:
        ConfigError: names the column.
    """
    for j in np.flatnonzero(gaps):
        raise ConfigError(
            f"mechanism {graph.name!r} is to be drawn, but column {table.columns[j]!r} lacks "
            f"{gaps[j]} of {rows} values; induced missingness needs complete values"
        )


def complete_logits(graph: MissingnessGraph, table: Table) -> Float[np.ndarray, "n m"]:
    """Logit of each of the m laws with all parent indicators 1. (n, m)

    Raises:
        ConfigError: see `graphs.value_logit`.
    """
    every = np.ones((1, len(table.actions)), dtype=bool)
    logits = [
        value_logit(graph, table, panel) + indicator_logit(graph, table, every, panel)
        for panel in graph.indicators
    ]
    return np.stack(logits, axis=1) if logits else np.empty((len(table), 0))


def _complete_from_logits(logits: Float[np.ndarray, "n m"]) -> Float[np.ndarray, " n"]:
    return expit(logits).prod(axis=1)
