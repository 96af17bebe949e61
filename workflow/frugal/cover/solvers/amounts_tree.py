"""Compiled branch and bound where features need amounts: several actions may raise one feature.

The same tree as for bit sets (take one action for the feature with fewest choices, forbid those
tried before), with what each feature still lacks in place of a bit. Slower and more general; works
on whole numbers only and knows no unit, no catalogue and no error.
"""

from typing import no_type_check

import numba
import numpy as np

from frugal.cover.solvers.bitsets import NOTHING_LEFT
from frugal.cover.solvers.ties import comes_before


@numba.njit(cache=True)
@no_type_check
def _prepare(lack, allowed, gain, cost, budget):
    """Feature with fewest affordable actions, and a bound on what completing costs.

    The bound is the largest, over features, of the cheapest cost per amount times the amount
    lacking, rounded up, and of the cheapest action. Returns (−1, 0) if some feature cannot be met.
    """
    narrow, fewest, bound = -1, 1 << 60, 0
    for j in range(len(lack)):
        if lack[j] <= 0:
            continue
        count, reach, cheapest, rate = 0, 0, np.int64(-1), np.inf
        for i in range(len(cost)):
            if allowed[i] and gain[i, j] > 0 and cost[i] <= budget:
                count += 1
                reach += gain[i, j]
                if cheapest < 0:
                    cheapest = cost[i]
                rate = min(rate, cost[i] / min(gain[i, j], lack[j]))
        if reach < lack[j]:
            return -1, 0
        # costs are below 2⁵³, so the product's rounding error is far below one unit of 10⁻⁶ · ½
        bound = max(bound, cheapest, np.int64(np.ceil(rate * lack[j] * (1 - 1e-15) - 0.5)))
        if count < fewest:
            narrow, fewest = j, count
    return narrow, bound


@numba.njit(cache=True)
@no_type_check
def _is_irredundant(need, gain, chosen, count):
    """True if the set falls short of `need` without any one of its actions."""
    for drop in range(count):
        enough = True
        for j in range(len(need)):
            total = 0
            for k in range(count):
                if k != drop:
                    total += gain[chosen[k], j]
            if total < need[j]:
                enough = False
                break
        if enough:
            return False
    return True


@numba.njit(cache=True)
@no_type_check
def _search(need, cost, gain, work, best_set, max_nodes):
    """Cheapest set that meets `need`, which all actions together do. Actions ascend in cost.

    Returns its cost, number of actions, number of irredundant optima, the least cost of what was
    left unsearched (`NOTHING_LEFT` if nothing was), and nodes.
    """
    lack, allowed, feature, place, spent, chosen = work
    best, best_size = cost.sum(), len(cost)
    best_set[: len(cost)] = np.arange(len(cost))
    optima, nodes, open_bound, depth = 0, 1, NOTHING_LEFT, 0
    lack[0], allowed[0], spent[0], place[0] = need, True, 0, 0
    feature[0], _ = _prepare(lack[0], allowed[0], gain, cost, best)
    while depth >= 0:
        i = place[depth]
        while i < len(cost) and not (allowed[depth, i] and gain[i, feature[depth]] > 0):
            i += 1
        if i == len(cost) or spent[depth] + cost[i] > best:  # actions ascend in cost
            depth -= 1
            continue
        if nodes >= max_nodes:
            open_bound = min(open_bound, spent[depth] + cost[i])
            depth -= 1
            continue
        place[depth], allowed[depth, i], chosen[depth] = i + 1, False, i
        total, below = spent[depth] + cost[i], depth + 1
        lack[below] = lack[depth] - gain[i]
        if (lack[below] <= 0).all():
            if _is_irredundant(need, gain, chosen, below):
                if total < best or optima == 0 or comes_before(chosen, below, best_set, best_size):
                    best_size = below
                    best_set[:below] = chosen[:below]
                optima = optima + 1 if total == best else 1
                best = total
            continue
        nodes += 1
        narrow, bound = _prepare(lack[below], allowed[depth], gain, cost, best - total)
        if narrow >= 0 and total + bound <= best:
            depth, feature[below], place[below], spent[below] = below, narrow, 0, total
            allowed[below] = allowed[below - 1]
    return best, best_size, optima, open_bound, nodes


@numba.njit(cache=True)
@no_type_check
def solve_amounts(need, cost, gain, max_nodes):
    """Cheapest sets of n units; actions ascend in cost and are the same for all of them.

    Args:
        need: what each feature lacks, from 0. (n, d)
        cost: whole numbers, ascending. (a,)
        gain: what each action adds, from 0. (a, d)
        max_nodes: branches at which the search of one unit stops.

    Returns:
        cost (−1 if uncoverable), actions (n, a) padded with −1, optima, the least that a set not
        looked at may cost (`NOTHING_LEFT` if there is none), and nodes.
    """
    n, d, a = len(need), need.shape[1], len(cost)
    work = (
        np.zeros((a + 1, d), dtype=np.int64),
        np.zeros((a + 1, a), dtype=np.bool_),
        np.zeros(a + 1, dtype=np.int64),
        np.zeros(a + 1, dtype=np.int64),
        np.zeros(a + 1, dtype=np.int64),
        np.zeros(a + 1, dtype=np.int64),
    )
    best_set = np.zeros(a + 1, dtype=np.int64)
    found = np.full(n, -1, dtype=np.int64)
    unsearched = np.full(n, NOTHING_LEFT, dtype=np.int64)
    action_set = np.full((n, max(a, 1)), -1, dtype=np.int32)
    optima, nodes = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    reach = gain.sum(axis=0)
    for u in range(n):
        if (need[u] <= 0).all():
            found[u], optima[u] = 0, 1
        elif (need[u] <= reach).all():
            found[u], size, optima[u], unsearched[u], nodes[u] = _search(
                need[u], cost, gain, work, best_set, max_nodes
            )
            action_set[u, :size] = best_set[:size]
    return found, action_set, optima, unsearched, nodes
