"""Compiled table of the cheapest sets of actions in order of cost, looked up for all units at once.

All units of a group share their actions, so the sets up to some cost are listed once; the first of
them that covers a unit is its optimum, and the covers of equal cost beside it are its ties. Units
that none of them covers are left to the branch and bound. Works on packed integers only.
"""

from typing import no_type_check

import numba
import numpy as np

from frugal.cover.solvers.bitsets import lowest_bit


@numba.njit(cache=True)
@no_type_check
def _walk(cost, horizon, most, sets, total):
    """Every nonempty set of at most `horizon` cost: how many, and the most actions in one.

    Writes them to `sets` and their costs to `total` where these have rows; stops above `most`.
    """
    a, count, deepest, at = len(cost), 0, 0, 0
    stack = np.zeros(a + 1, dtype=np.int64)
    spent = np.zeros(a + 2, dtype=np.int64)
    while at >= 0:
        i = stack[at]
        if i >= a or spent[at] + cost[i] > horizon:  # actions ascend in cost
            at -= 1
            if at >= 0:
                stack[at] += 1
            continue
        if count < len(sets):
            sets[count, : at + 1] = stack[: at + 1]
            total[count] = spent[at] + cost[i]
        count += 1
        deepest = max(deepest, at + 1)
        if count > most:
            break
        spent[at + 1] = spent[at] + cost[i]
        at += 1
        stack[at] = i + 1
    return count, deepest


@numba.njit(cache=True)
@no_type_check
def sets_in_cost_order(cost, most):
    """All sets of actions up to the largest cost at which there are at most `most` of them.

    Args:
        cost: whole numbers above zero, ascending. (a,)
        most: sets at most.

    Returns:
        the sets, padded with −1 (r, m), and their costs, ascending (r,); equal ones as in `ties`.
    """
    none, no_cost = np.zeros((0, 0), dtype=np.int16), np.zeros(0, dtype=np.int64)
    low, high = np.int64(0), cost.sum()
    while low < high:
        middle = low + (high - low + 1) // 2
        if _walk(cost, middle, most, none, no_cost)[0] > most:
            high = middle - 1
        else:
            low = middle
    count, deepest = _walk(cost, low, most, none, no_cost)
    sets = np.full((count, max(deepest, 1)), -1, dtype=np.int16)
    total = np.zeros(count, dtype=np.int64)
    _walk(cost, low, most, sets, total)
    size = np.zeros(count, dtype=np.int64)
    for r in range(count):
        size[r] = (sets[r] >= 0).sum()
    order = np.argsort(size, kind="mergesort")  # the walk is in the order of the actions' numbers
    order = order[np.argsort(total[order], kind="mergesort")]
    return sets[order], total[order]


@numba.njit(cache=True)
@no_type_check
def covers_by_feature(sets, covers, features):
    """Word w of feature j: which of sets 64·w … 64·w + 63 provide j. (⌈r/64⌉, d)"""
    words = (len(sets) + 63) // 64
    table = np.zeros((words, features), dtype=np.uint64)
    for r in range(len(sets)):
        for v in range(covers.shape[1]):
            union = np.uint64(0)
            for i in sets[r]:
                if i >= 0:
                    union |= covers[i, v]
            while union != 0:
                table[r // 64, 64 * v + lowest_bit(union)] |= np.uint64(1) << np.uint64(r % 64)
                union &= union - np.uint64(1)
    return table


@numba.njit(cache=True)
@no_type_check
def look_up(need, table, total):
    """First set in cost order that covers each unit, and how many of that cost do.

    Args:
        need: features to be covered. (n, v) words
        table: from `covers_by_feature`.
        total: cost of each set, ascending; all sets of a cost that occurs are there. (r,)

    Returns:
        rank of the set, −1 if none covers the unit or it lacks nothing (n,), and number of covers
        of that cost (n,).
    """
    first = np.full(len(need), -1, dtype=np.int64)
    ties = np.zeros(len(need), dtype=np.int64)
    wanted = np.zeros(table.shape[1], dtype=np.int64)
    for u in range(len(need)):
        count = 0
        for v in range(need.shape[1]):
            word = need[u, v]
            while word != 0:
                wanted[count] = 64 * v + lowest_bit(word)
                word &= word - np.uint64(1)
                count += 1
        for w in range(len(table) if count > 0 else 0):
            if first[u] >= 0 and total[64 * w] > total[first[u]]:
                break
            alive = ~np.uint64(0)
            for k in range(count):
                alive &= table[w, wanted[k]]
                if alive == 0:
                    break
            while alive != 0:
                rank = 64 * w + lowest_bit(alive)
                alive &= alive - np.uint64(1)
                if first[u] < 0:
                    first[u] = rank
                elif total[rank] > total[first[u]]:
                    break
                ties[u] += 1
    return first, ties
