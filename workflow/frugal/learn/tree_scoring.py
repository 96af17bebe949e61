"""Class probabilities of a `TreeEnsemble` at any set of acquired panels, and the decision on them.

Policies are judged on many sets of panels of the same rows [afape]: this module scores each
distinct (row, set) once, or all sets of a row at once. A set of panels is a bit code: bit j denotes
action j. Must not know how trees are fitted, policies, or files.
"""

from functools import cache
from importlib.util import find_spec

import numpy as np
from jaxtyping import Bool, Float, Float32, Int, UInt32

from frugal.core.errors import DataError
from frugal.learn.trees import TreeEnsemble, masked_float32

BLOCK = 8192  # rows that are masked at a time
MAX_ACTIONS_IN_CODE = 32
MAX_ACTIONS_TABULATED = 10


def predict_proba(
    ensemble: TreeEnsemble, values: Float[np.ndarray, "n d"], observed: Bool[np.ndarray, "n d"]
) -> Float[np.ndarray, "n k"]:
    """Class probabilities f(R̂, X) of each row given its observed entries [afape, sec. A.11].

    Args:
        ensemble: trees over d columns.
        values: features; unobserved entries are not read. (n, d)
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
        masked = masked_float32(values[part], observed[part])
        _add_leaves(ensemble, masked, total[part])
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
    row_of_pair, codes = (distinct >> np.uint64(32)).astype(np.int64), distinct.astype(np.uint32)
    for start in range(0, len(distinct), BLOCK):
        part = slice(start, start + BLOCK)
        observed = free | ((providers & codes[part, None]) != 0)
        _add_leaves(ensemble, masked_float32(values[row_of_pair[part]], observed), total[part])
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
        observed = free | (acquired[part].astype(np.float32) @ provides.astype(np.float32) > 0)
        result[part] = predict_proba(ensemble, values[rows[part]], observed)
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
        raise DataError(f"all sets of {a} panels were requested; allowed: {MAX_ACTIONS_TABULATED}")
    from frugal.learn.tree_kernels import add_leaves_of_all_sets

    total = np.zeros((len(values), 1 << a, ensemble.classes))
    add_leaves_of_all_sets(
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


def _add_leaves(
    ensemble: TreeEnsemble, inputs: Float32[np.ndarray, "n d"], total: Float[np.ndarray, "n k"]
) -> None:
    """Add the leaf rows that each row reaches, tree by tree: the same sums with and without numba.

    scikit-learn's walk is half as fast, and sends NaN where the node directs, as numba's does.
    """
    if _has_numba():
        from frugal.learn.tree_kernels import add_leaves

        add_leaves(ensemble.nodes, ensemble.root, ensemble.leaf_value, inputs, total)
        return
    for tree in ensemble.sklearn_trees:
        total += tree.predict(inputs)


@cache
def _has_numba() -> bool:
    return find_spec("numba") is not None
