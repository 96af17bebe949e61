"""What the arrays of a stored `TreeEnsemble` must be, so that no walk leaves them or never ends.

Compiled loops follow children and leaf rows without a look at bounds. Everything is checked on
whole arrays: 10⁶ nodes take milliseconds. Must not know how trees are fitted or scored.
"""

from collections.abc import Mapping

import numpy as np

from frugal.core.stored import Array, Stored

LINKS = ("mean", "softmax")
MOST_COLUMNS = int(np.iinfo(np.int16).max)
_ROUNDING = 1e-6  # of the sum of a leaf's class shares
_EXPECTED = {
    "root": Array("int32", ("e",), low=0),
    "feature": Array("int16", ("m",), low=-1),
    "threshold": Array("float32", ("m",)),
    "right": Array("int32", ("m",), low=0),
    "missing_left": Array("bool", ("m",)),
    "leaf_value": Array("float64", ("l", "k")),
    "link": Array("uint8", (1,), low=0, high=len(LINKS) - 1),
    "columns": Array("int64", (1,), low=1, high=MOST_COLUMNS),
}


def require_ensemble(arrays: Mapping[str, np.ndarray]) -> None:
    """The arrays are a `TreeEnsemble`: each tree depth first, every node reached exactly once.

    Raises:
        DataError: they are not; the sentence names array and entry.
    """
    stored = Stored("tree ensemble", arrays)
    size = stored.require(_EXPECTED)
    stored.require_between("feature", -1, int(arrays["columns"][0]) - 1)
    stored.require_between("root", 0, size["m"] - 1)
    stored.require_rising("root")
    _require_children(stored, size["m"])
    leaf = arrays["feature"] < 0
    _require_leaf_rows(stored, arrays["right"][leaf], np.flatnonzero(leaf), size["l"])
    if LINKS[int(arrays["link"][0])] == "mean":
        _require_shares(stored)


def _require_children(stored: Stored, nodes: int) -> None:
    """Left child j + 1, right child beyond it, both in j's own tree, each with one parent.

    Children come after their parents, so that every walk ends; all nodes but the roots are
    somebody's child, so that every leaf is reached.
    """
    root, feature, right = (stored.arrays[name] for name in ("root", "feature", "right"))
    if root[0] != 0:
        raise stored.refusal(f"has its first root at node {root[0]}; allowed: 0")
    inner = np.flatnonzero(feature >= 0)
    ends = np.append(root[1:], nodes)
    end = np.repeat(ends, ends - root)[inner]
    child = right[inner]
    wrong = np.flatnonzero((child <= inner + 1) | (child >= end))
    if wrong.size:
        at = int(wrong[0])
        raise stored.refusal(
            f"has {child[at]} in the array 'right' at [{inner[at]}], a node of the tree that ends "
            f"at node {end[at] - 1}; allowed are later nodes of that tree, from {inner[at] + 2}"
        )
    reached = np.zeros(nodes, dtype=bool)
    for entered in (root, inner + 1, child):
        reached[entered] = True
    if not reached.all():
        raise stored.refusal(
            f"has a node {int(np.argmin(reached))} that is neither a root nor a child; allowed are "
            "nodes that a walk can come to"
        )
    if len(root) + 2 * len(inner) != nodes:  # as many ways to nodes as nodes: none has two
        ways = np.bincount(np.concatenate([root, inner + 1, child]))
        raise stored.refusal(
            f"has a node {int(np.argmax(ways > 1))} with several parents; allowed is one"
        )


def _require_leaf_rows(stored: Stored, row: np.ndarray, node: np.ndarray, rows: int) -> None:
    """Each leaf names a row of `leaf_value`, and each row has a leaf."""
    wrong = np.flatnonzero(row >= rows)
    if wrong.size:
        at = int(wrong[0])
        raise stored.refusal(
            f"has {row[at]} in the array 'right' at the leaf [{node[at]}]; allowed are the rows of "
            f"'leaf_value', 0 to {rows - 1}"
        )
    unused = np.flatnonzero(np.bincount(row, minlength=rows) == 0)
    if unused.size:
        raise stored.refusal(f"has a row {unused[0]} in the array 'leaf_value' that no leaf names")


def _require_shares(stored: Stored) -> None:
    """With the link "mean" every row of `leaf_value` holds class shares."""
    stored.require_between("leaf_value", 0.0, 1.0 + _ROUNDING)
    share = stored.arrays["leaf_value"]
    total = share @ np.ones(share.shape[1])  # ten times as fast as a sum over so short an axis
    wrong = np.flatnonzero(np.abs(total - 1) > _ROUNDING)
    if wrong.size:
        raise stored.refusal(
            f"has class shares that sum to {total[wrong[0]]:.9g} in row {wrong[0]} of the array "
            "'leaf_value'; allowed: 1"
        )
