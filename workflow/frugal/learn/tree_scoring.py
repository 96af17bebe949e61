"""Class probabilities of a `TreeEnsemble` at any set of acquired panels, and the decision on them.

Policies are judged on many sets of panels of the same rows [afape]: this module scores each
distinct (row, set) once, or all sets of a row at once. A set of panels is a bit code: bit j stands
for action j. Must not know how trees are fitted, what a policy is, or files.
"""

from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Bool, Float, Int, UInt32

from frugal.core.errors import DataError
from frugal.learn.trees import TreeEnsemble, masked_float32

# Compiled in as they stand, and cached on disk so: no test may patch them.
BLOCK = 8192  # rows that walk one tree before the next: the tree stays in the cache
TABLE_BLOCK = 2**16  # entries of the table of all sets that one tree is added to before the next
MAX_ACTIONS_IN_CODE = 32
MAX_ACTIONS_TABULATED = 10


def predict_proba(
    ensemble: TreeEnsemble, values: Float[np.ndarray, "n d"], observed: Bool[np.ndarray, "n d"]
) -> Float[np.ndarray, "n k"]:
    """Class probabilities f(R̂, X) of each row given its observed entries [afape, sec. A.11].

    Args:
        ensemble: trees over d columns.
        values: features; whatever stands at unobserved entries is not read. (n, d)
        observed: True where a value is known; NaN counts as unknown. (n, d)

    Returns:
        Rows sum to 1. (n, k)

    Raises:
        DataError: the ensemble was fitted on another number of columns.
    """
    return _apply_link(ensemble, leaf_sums(ensemble, values, observed))


def leaf_sums(
    ensemble: TreeEnsemble, values: Float[np.ndarray, "n d"], observed: Bool[np.ndarray, "n d"]
) -> Float[np.ndarray, "n k"]:
    """Sum of the leaf rows that each row reaches, one per tree. (n, k)

    Raises:
        DataError: the ensemble was fitted on another number of columns.
    """
    _check_columns(ensemble, values)
    total = np.zeros((len(values), ensemble.classes))
    for start in range(0, len(values), BLOCK):
        part = slice(start, start + BLOCK)
        seen = masked_float32(values[part], observed[part])
        _add_leaves(ensemble.nodes, ensemble.root, ensemble.leaf_value, seen, total[part])
    return total


def predict_proba_sets(
    ensemble: TreeEnsemble,
    values: Float[np.ndarray, "n d"],
    provides: Bool[np.ndarray, "a d"],
    free: Bool[np.ndarray, " d"],
    rows: Int[np.ndarray, " q"],
    sets: UInt32[np.ndarray, " q"],
) -> Float[np.ndarray, "q k"]:
    """Class probabilities of row rows[i] once the panels of sets[i] are acquired.

    Equal (row, set) pairs are scored once: agents that end at the same set share the answer.

    Args:
        ensemble: trees over d columns.
        values: features, NaN where the record has none. (n, d)
        provides: True where an action reveals a column; panels may overlap. (a, d)
        free: True where a column is known before the first decision. (d,)
        rows: row of each query. (q,)
        sets: panels acquired, as bit code (see `set_codes`). (q,)

    Raises:
        DataError: more than 32 actions, a row or set out of range, or another number of columns.
    """
    _check_columns(ensemble, values)
    providers = _provider_bits(provides, free)
    if len(rows) == 0:
        return np.zeros((0, ensemble.classes))
    if rows.min() < 0 or rows.max() >= len(values):
        raise DataError(
            f"queried rows run {rows.min()}..{rows.max()}; allowed: 0..{len(values) - 1}"
        )
    if int(sets.max()) >> len(provides):
        raise DataError(
            f"panel set {int(sets.max())} names an action beyond the {len(provides)} known"
        )
    pair = rows.astype(np.uint64) << np.uint64(32) | sets
    distinct, inverse = np.unique(pair, return_inverse=True)
    total = np.zeros((len(distinct), ensemble.classes))
    _add_leaves_of_pairs(
        ensemble.nodes,
        ensemble.root,
        ensemble.leaf_value,
        values.astype(np.float32),
        providers,
        free,
        (distinct >> np.uint64(32)).astype(np.int64),
        distinct.astype(np.uint32),
        total,
    )
    return _apply_link(ensemble, total)[inverse]


def predict_proba_acquired(
    ensemble: TreeEnsemble,
    values: Float[np.ndarray, "n d"],
    provides: Bool[np.ndarray, "a d"],
    free: Bool[np.ndarray, " d"],
    rows: Int[np.ndarray, " q"],
    acquired: Bool[np.ndarray, "q a"],
) -> Float[np.ndarray, "q k"]:
    """As `predict_proba_sets`, for sets that are written out, of any number of panels. (q, k)"""
    if len(provides) <= MAX_ACTIONS_IN_CODE:
        return predict_proba_sets(ensemble, values, provides, free, rows, set_codes(acquired))
    result = np.empty((len(rows), ensemble.classes))
    for start in range(0, len(rows), BLOCK):
        part = slice(start, start + BLOCK)
        known = free | (acquired[part].astype(np.float32) @ provides.astype(np.float32) > 0)
        result[part] = predict_proba(ensemble, values[rows[part]], known)
    return result


def predict_proba_all_sets(
    ensemble: TreeEnsemble,
    values: Float[np.ndarray, "n d"],
    provides: Bool[np.ndarray, "a d"],
    free: Bool[np.ndarray, " d"],
) -> Float[np.ndarray, "n sets k"]:
    """Class probabilities of every row at every one of the 2^a sets of panels.

    A walk down a tree forks only where the observed and the unobserved direction differ, and only
    on panels not yet decided on that walk: exact for overlapping panels too.

    Args:
        ensemble: trees over d columns.
        values: features, NaN where the record has none. (n, d)
        provides: True where an action reveals a column. (a, d)
        free: True where a column is known before the first decision. (d,)

    Returns:
        Indexed by row, bit code of the set, class: 8·n·2^a·k bytes. (n, 2^a, k)

    Raises:
        DataError: more than 10 actions, or another number of columns.
    """
    _check_columns(ensemble, values)
    a = len(provides)
    if a > MAX_ACTIONS_TABULATED:
        raise DataError(f"all sets of {a} panels were asked for; allowed: {MAX_ACTIONS_TABULATED}")
    total = np.zeros((len(values), 1 << a, ensemble.classes))
    _add_leaves_of_all_sets(
        ensemble.nodes,
        ensemble.root,
        ensemble.leaf_value,
        values.astype(np.float32),
        _provider_bits(provides, free),
        free,
        (1 << a) - 1,
        total,
    )
    flat = total.reshape(-1, ensemble.classes)
    return _apply_link(ensemble, flat).reshape(total.shape)


def set_codes(acquired: Bool[np.ndarray, "n a"]) -> UInt32[np.ndarray, " n"]:
    """Bit code of each row's acquired panels: Σⱼ 2ʲ·acquiredⱼ, for at most 32 actions. (n,)"""
    a = acquired.shape[1]
    if a > MAX_ACTIONS_IN_CODE:
        raise DataError(f"{a} actions do not fit a panel-set code; allowed: {MAX_ACTIONS_IN_CODE}")
    weight = np.left_shift(np.uint32(1), np.arange(a, dtype=np.uint32))
    return (acquired * weight).sum(axis=1, dtype=np.uint32)


def expected_cost_prediction(
    proba: Float[np.ndarray, "n k"], misclassification_cost: Float[np.ndarray, "k k"]
) -> Int[np.ndarray, " n"]:
    """Bayes decision: the class of least expected misclassification cost.

        Ỹ = argminⱼ Σᵢ p(Y = i | observed) · c(i, j)

    Args:
        proba: class probabilities. (n, k)
        misclassification_cost: cost of predicting column j where row i is true. (k, k)

    Returns:
        Predicted class; among equal costs the lowest index. (n,)
    """
    return (proba @ misclassification_cost).argmin(axis=1)


def _check_columns(ensemble: TreeEnsemble, values: np.ndarray) -> None:
    if values.shape[1] != ensemble.columns:
        raise DataError(
            f"the classifier was fitted on {ensemble.columns} columns; got {values.shape[1]}"
        )


def _provider_bits(
    provides: Bool[np.ndarray, "a d"], free: Bool[np.ndarray, " d"]
) -> UInt32[np.ndarray, " d"]:
    """Bit code of the actions that reveal each column. (d,)"""
    assert provides.shape[1] == len(free)
    return set_codes(np.ascontiguousarray(provides.T))


def _apply_link(ensemble: TreeEnsemble, total: np.ndarray) -> np.ndarray:
    """Probabilities from summed leaf rows, in place. (n, k)"""
    if ensemble.link == "mean":
        total /= len(ensemble.root)
        return total
    total -= total.max(axis=1, keepdims=True, initial=-np.inf)
    np.exp(total, out=total)
    total /= total.sum(axis=1, keepdims=True)
    return total


@numba.njit(cache=True, inline="always")
@no_type_check
def _leaf(nodes, j, seen):
    """Leaf that a row reaches from node j; NaN is "unobserved" and fails both comparisons."""
    while True:
        node = nodes[j]
        if node.feature < 0:
            return node.right
        x = seen[node.feature]
        left = not x > node.threshold if node.missing_left else x <= node.threshold
        j = j + 1 if left else node.right


@numba.njit(cache=True)
@no_type_check
def _add_leaves(nodes, root, leaf_value, seen, total):
    for start in range(0, len(seen), BLOCK):
        stop = min(len(seen), start + BLOCK)
        for j in root:
            for i in range(start, stop):
                leaf = _leaf(nodes, j, seen[i])
                for c in range(leaf_value.shape[1]):
                    total[i, c] += leaf_value[leaf, c]


@numba.njit(cache=True)
@no_type_check
def _add_leaves_of_pairs(nodes, root, leaf_value, values, providers, free, rows, sets, total):
    d = values.shape[1]
    seen = np.empty((BLOCK, d), dtype=np.float32)
    for start in range(0, len(rows), BLOCK):
        size = min(BLOCK, len(rows) - start)
        for i in range(size):
            for f in range(d):
                known = free[f] or (providers[f] & sets[start + i]) != 0
                seen[i, f] = values[rows[start + i], f] if known else np.nan
        _add_leaves(nodes, root, leaf_value, seen[:size], total[start : start + size])


@numba.njit(cache=True)
@no_type_check
def _add_leaves_of_all_sets(nodes, root, leaf_value, values, providers, free, every, total):
    waiting = np.empty((MAX_ACTIONS_TABULATED + 1, 3), dtype=np.int64)  # node, decided, acquired
    block = max(1, TABLE_BLOCK // (every + 1))
    for start in range(0, len(values), block):
        for first in root:
            for i in range(start, min(len(values), start + block)):
                _fork(
                    nodes, first, leaf_value, values[i], providers, free, every, waiting, total[i]
                )


@numba.njit(cache=True)
@no_type_check
def _fork(nodes, first, leaf_value, row, providers, free, every, waiting, total):
    """Adds one tree's leaf rows for one row of data at every set of panels. (2^a, k)"""
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = first, 0, 0
    top = 1
    while top > 0:
        top -= 1
        j, decided, acquired = waiting[top, 0], waiting[top, 1], waiting[top, 2]
        while nodes[j].feature >= 0:
            node = nodes[j]
            f = node.feature
            missing = node.missing_left != 0
            seen = missing if np.isnan(row[f]) else row[f] <= node.threshold
            open_panels = np.int64(providers[f]) & ~decided
            if seen == missing or free[f] or (np.int64(providers[f]) & acquired):
                left = seen
            elif open_panels == 0:
                left = missing
            else:  # fork on one panel: the walk without it asks this node again
                panel = open_panels & -open_panels
                decided |= panel
                waiting[top, 0], waiting[top, 1], waiting[top, 2] = j, decided, acquired
                top += 1
                acquired |= panel
                left = seen
            j = j + 1 if left else node.right
        leaf = nodes[j].right
        undecided = every & ~decided
        rest = undecided
        while True:  # every set that agrees with the decided panels ends at this leaf
            for c in range(leaf_value.shape[1]):
                total[acquired | rest, c] += leaf_value[leaf, c]
            if rest == 0:
                break
            rest = (rest - 1) & undecided
