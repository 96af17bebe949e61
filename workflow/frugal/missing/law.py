"""True probabilities of recorded patterns and subsets, for judging fitted ones. [afape, A.2, A.10]

Knows the law that masks were drawn from; must not know models fitted to them, or any policy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit, logit

from frugal.core.blocks import tree_sum
from frugal.core.errors import ConfigError, DataError
from frugal.core.scaling import fit_scaling
from frugal.core.table import Mask, Table
from frugal.missing.graphs import (
    MissingnessGraph,
    indicator_logit,
    indicator_probability,
    topological_order,
    value_logit,
)

MECHANISMS = ("mcar", "mar", "mnar", "self")
COMMONEST = 0.9  # share of the rows that one value of a cause may hold
WEIGHT = 1.0  # of a cause, per standard deviation; its sign alternates from panel to panel
Mechanism = Literal["mcar", "mar", "mnar", "self"]


def grid_law(
    table: Table, mechanism: Mechanism, *, missing_share: float, panels: int
) -> dict[str, Any]:
    """The block `missingness` of a world.

    The first panels of the table can be missing, each in `missing_share` of the rows. The causes of
    its gaps: mcar: nothing; mar: an always-known column; mnar: a column of the panel before it that
    is none of its own (of the first panel, an always-known one); self: its own first column.

    Args:
        table: complete.
        mechanism: one of `MECHANISMS`.
        missing_share: of the rows, in each panel that can be missing.
        panels: how many can be missing, at most; one panel always stays recorded where the table
            has no free column.

    Raises:
        ConfigError: the table has no column to cause gaps of this mechanism.
    """
    actions = list(table.actions)
    varies = [c for k, c in enumerate(table.columns) if _varies(table.values[:, k])]
    shown = {c for panel in actions for c in panel.columns}
    always_observed = [c for c in varies if c not in shown]
    missable = actions[:panels]
    if not always_observed and mechanism in ("mar", "mnar"):
        missable = actions[:-1][:panels]
        always_observed = [c for c in actions[-1].columns if c in varies]
        if not always_observed or not missable:
            raise ConfigError(
                f"a table of {len(actions)} panels has no column that is always known, so nothing "
                f"can cause gaps of the mechanism {mechanism!r}; name another table under "
                "afape.grid.datasets"
            )
    laws: dict[str, Any] = {}
    before: list[str] = []
    for k, panel in enumerate(missable):
        own_columns = [c for c in panel.columns if c in varies]
        others = [c for c in before if c not in panel.columns]  # panels may share columns
        causes: dict[str, list[str]] = {
            "mcar": [],
            "mar": always_observed[k % max(len(always_observed), 1) :],
            "mnar": others or always_observed,
            "self": own_columns,
        }
        weight = WEIGHT if k % 2 == 0 else -WEIGHT
        weights = dict.fromkeys(causes[mechanism][:1], weight)
        laws[panel.name] = {
            "intercept": _intercept(table, weights, missing_share),
            "values": weights,
        }
        before = own_columns or before
    return {"source": "induced", "standardise": True, "complete_share": None, "panels": laws}


def _varies(values: Float[np.ndarray, " n"]) -> bool:
    """Whether no value holds nearly all rows, so a draw of a few hundred shows several."""
    return bool(np.unique(values, return_counts=True)[1].max() <= COMMONEST * len(values))


def _intercept(table: Table, weights: Mapping[str, float], missing_share: float) -> float:
    """At which the panel is missing in that share of the rows."""
    logit = np.zeros(len(table))
    for column, weight in weights.items():
        values = table.values[:, table.columns.index(column)]
        logit += weight * fit_scaling(values, constant=0.0).standardise(values)
    from scipy.optimize import root_scalar  # a quarter of a second to import

    observed_share = 1 - missing_share
    return float(
        root_scalar(lambda at: expit(at + logit).mean() - observed_share, bracket=(-30, 30)).root
    )


def draw_mask(table: Table, graph: MissingnessGraph, uniforms: Float[np.ndarray, "n a"]) -> Mask:
    """One draw R ~ p(R | X) for some units, causes before effects.

    Each unit and panel has its own uniform number under any graph, so two mechanisms drawn
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
        rows: units in question; None for all. (m,)

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
    graph: MissingnessGraph, logits: Iterable[Float[np.ndarray, "n m"]], *, complete_share: float
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
            f"mechanism {graph.name!r} needs a complete share of {complete_share}; "
            "allowed is more than 0 and less than 1"
        )
    if not graph.indicators:
        raise ConfigError(
            f"mechanism {graph.name!r} needs a complete share of {complete_share} "
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
        panel: replace(model, intercept=model.intercept + shift)
        for panel, model in graph.indicators.items()
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


def require_free_known(table: Table, missing_counts: Int[np.ndarray, " d"], rows: int) -> None:
    """Refuse a free column without a value.

    Args:
        table: its columns count.
        missing_counts: number of missing values per column. (d,)
        rows: of the whole table.

    Raises:
        DataError: names the column.
    """
    for j in np.flatnonzero(table.free_columns & (missing_counts > 0)):
        raise DataError(
            f"column {table.columns[j]!r} is free, so known for every unit, "
            f"but lacks {missing_counts[j]} of {rows} values"
        )


def require_complete(
    table: Table, graph: MissingnessGraph, missing_counts: Int[np.ndarray, " d"], rows: int
) -> None:
    """Refuse to hide panels of a table that hides some itself: `observed` would then be untrue.

    Args:
        table: its columns count.
        graph: of the mechanism.
        missing_counts: number of missing values per column. (d,)
        rows: of the whole table.

    Raises:
        ConfigError: names the column.
    """
    for j in np.flatnonzero(missing_counts):
        raise ConfigError(
            f"mechanism {graph.name!r} is to be drawn, but column {table.columns[j]!r} lacks "
            f"{missing_counts[j]} of {rows} values; induced missingness needs complete values"
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


MOST_SUMMED = 16  # panels that can be missing whose 2^m patterns are listed and summed
CELLS_AT_ONCE = 1 << 21  # (row, pattern) pairs held at a time: bounds memory, changes no result


def recorded_probability(mask: Mask) -> Float[np.ndarray, " n"]:
    """True probability of the pattern that each row has.

        p(R = r | x) = Π_j p_j^{r_j} (1 − p_j)^{1 − r_j}      [afape, sec. A.2]

    Args:
        mask: with true propensities, each given the drawn values of its parent indicators.

    Returns:
        In (0, 1]. (n,)
    """
    assert mask.propensity is not None
    return np.where(mask.observed, mask.propensity, 1.0 - mask.propensity).prod(axis=1)


def missable_patterns(graph: MissingnessGraph, table: Table) -> Bool[np.ndarray, "q a"]:
    """All patterns with positive probability: every subset of the m panels that can be missing.

    Args:
        graph: laws of the panels that can be missing; their weights are not read.
        table: its actions count, its values are not read.

    Returns:
        Each pattern once; True where observed. (2^m, a)
    """
    can_be_missing = np.array([p.name in graph.indicators for p in table.actions], dtype=bool)
    subsets = every_subset(int(can_be_missing.sum()))
    patterns = np.ones((len(subsets), len(can_be_missing)), dtype=bool)
    patterns[:, can_be_missing] = subsets
    return patterns


def every_subset(panels: int) -> Bool[np.ndarray, "q m"]:
    """Every subset of m panels, all of them first, none last. (2^m, m)"""
    lacks = np.arange(2**panels)[:, None] >> np.arange(panels)[::-1]
    return lacks % 2 == 0


def subset_probability(
    graph: MissingnessGraph, table: Table, subset: Bool[np.ndarray, " a"]
) -> Float[np.ndarray, " n"]:
    """True p(R_s = 1 | x): the patterns that contain s, summed.  [afape, sec. A.9]

    Args:
        graph: laws of the panels that can be missing.
        table: the whole table; only columns that are parents are read.
        subset: True for the panels of s. (a,)

    Returns:
        In (0, 1]; 1 where no panel of s can be missing. (n,)
    """
    patterns = missable_patterns(graph, table)
    patterns = patterns[patterns[:, subset].all(axis=1)]
    at_once = max(1, CELLS_AT_ONCE // len(patterns))
    parts = [
        pattern_probability(graph, table, patterns, rows=rows).sum(axis=1)
        for rows in np.split(np.arange(len(table)), range(at_once, len(table), at_once))
    ]
    return np.concatenate(parts)


def factorised_patterns(
    factors: Float[np.ndarray, "n m"], patterns: Bool[np.ndarray, "q m"]
) -> Float[np.ndarray, "n q"]:
    """p(R = r | X_adj) as a product of factors, where no indicator causes another.

        p(R = r | x) = Π_j p_j(x)^{r_j} (1 − p_j(x))^{1 − r_j}      [afape, eq. A.6]

    Args:
        factors: p_j(x), fitted or true, of the m panels that can be missing. (n, m)
        patterns: indicators of the same panels. (q, m)

    Returns:
        NaN in rows where a factor is NaN. (n, q)
    """
    probability = np.ones((len(factors), len(patterns)))
    for j in range(factors.shape[1]):
        factor = factors[:, j : j + 1]
        probability *= np.where(patterns[:, j], factor, 1.0 - factor)
    return probability
