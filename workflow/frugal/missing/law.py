"""True probabilities of recorded patterns and subsets, for judging fitted ones. [afape, A.2, A.10]

Knows the law that masks were drawn from; must not know what was fitted to them, or any policy.
"""

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.table import Mask, Table
from frugal.missing.graph import MissingnessGraph
from frugal.missing.mechanisms import pattern_probability

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
    law = np.ones((len(factors), len(patterns)))
    for j in range(factors.shape[1]):
        one = factors[:, j : j + 1]
        law *= np.where(patterns[:, j], one, 1.0 - one)
    return law
