"""Compiled walks down the trees of a `TreeEnsemble`, for `tree_scoring`.

In one file, because numba's cache does not see edits of a callee in another one.
"""

from typing import no_type_check

import numba
import numpy as np

# Compiled in as constants and cached on disk: no test may patch them.
CODE_BITS = 32  # panels of a set's code; a walk forks on each of them once at most
BLOCK = 8192  # rows that walk one tree before the next: the tree stays in the cache
TABLE_BLOCK = 2**16  # entries of the table of all sets that one tree is added to before the next


@numba.njit(cache=True, inline="always")
@no_type_check
def _leaf(nodes, j, row):
    """Leaf that a row reaches from node j; NaN is "unobserved" and fails both comparisons."""
    while True:
        node = nodes[j]
        if node.feature < 0:
            return node.right
        x = row[node.feature]
        left = not x > node.threshold if node.missing_left else x <= node.threshold
        j = j + 1 if left else node.right


@numba.njit(cache=True)
@no_type_check
def add_leaves(nodes, root, leaf_value, values, total):
    """Adds each row's leaf rows, tree by tree, into `total`. (n, k)"""
    for start in range(0, len(values), BLOCK):
        stop = min(len(values), start + BLOCK)
        for j in root:
            for i in range(start, stop):
                leaf = _leaf(nodes, j, values[i])
                for c in range(leaf_value.shape[1]):
                    total[i, c] += leaf_value[leaf, c]


@numba.njit(cache=True)
@no_type_check
def add_leaves_of_all_sets(nodes, root, leaf_value, values, providers, free, every, total):
    """Adds each row's leaf rows at every set of panels into `total`. (n, 2^a, k)"""
    waiting = np.empty((CODE_BITS + 1, 3), dtype=np.int64)  # node, decided, acquired
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
            goes_left = missing if np.isnan(row[f]) else row[f] <= node.threshold
            open_panels = np.int64(providers[f]) & ~decided
            if goes_left == missing or free[f] or (np.int64(providers[f]) & acquired):
                left = goes_left
            elif open_panels == 0:
                left = missing
            else:  # fork on one panel: the walk without it asks this node again
                panel = open_panels & -open_panels
                decided |= panel
                waiting[top, 0], waiting[top, 1], waiting[top, 2] = j, decided, acquired
                top += 1
                acquired |= panel
                left = goes_left
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
