"""Compiled branch and bound over bit sets: one weighted set cover after the other.

A branch takes one action for the feature with the fewest allowed actions, and forbids the actions
of that feature that were tried before; each irredundant cover is thus reached by one path, and
optima can be counted. Works on packed integers only: knows no unit, no catalogue and no error.
"""

from typing import no_type_check

import numba
import numpy as np

from frugal.studies.recourse.solvers.bitsets import NOTHING_LEFT, comes_before, lowest_bit, popcount


@numba.njit(cache=True)
@no_type_check
def _prepare(lack, allowed, gain, cost, budget):
    """Feature with fewest affordable actions, and a bound on the cost of completion.

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
def _amounts_is_irredundant(need, gain, chosen, count):
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
def _amounts_search(need, cost, gain, work, best_set, max_nodes):
    """Cheapest set that meets `need`, which all actions together do. Actions ascend in cost.

    Returns its cost, number of actions, number of irredundant optima, the least cost of branches
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
            if _amounts_is_irredundant(need, gain, chosen, below):
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
        need: of each feature, from 0. (n, d)
        cost: whole numbers, ascending. (a,)
        gain: amount that each action adds, from 0. (a, d)
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
            found[u], size, optima[u], unsearched[u], nodes[u] = _amounts_search(
                need[u], cost, gain, work, best_set, max_nodes
            )
            action_set[u, :size] = best_set[:size]
    return found, action_set, optima, unsearched, nodes


@numba.njit(cache=True)
@no_type_check
def _greedy(cost, covers, need, chosen):
    """Actions by cost per newly covered feature, then without expensive ones that became idle.

    Writes them to `chosen` and returns how many; `need` must be coverable.
    """
    left = need.copy()
    count = 0
    while left.any():
        best, best_hits = -1, 0
        for i in range(len(cost)):
            hits = 0
            for v in range(len(left)):
                hits += popcount(covers[i, v] & left[v])
            if hits > 0 and (best < 0 or cost[i] * best_hits < cost[best] * hits):
                best, best_hits = i, hits
        chosen[count] = best
        count += 1
        for v in range(len(left)):
            left[v] &= ~covers[best, v]
    return _without_idle(covers, need, chosen, count)


@numba.njit(cache=True)
@no_type_check
def _without_idle(covers, need, chosen, count):
    """Drop actions, most expensive (last) index first, whose features the others cover as well."""
    kept = np.sort(chosen[:count])
    alive = np.ones(count, dtype=np.bool_)
    for drop in range(count - 1, -1, -1):
        alive[drop] = False
        for v in range(len(need)):
            left = need[v]
            for k in range(count):
                if alive[k]:
                    left &= ~covers[kept[k], v]
            if left != 0:
                alive[drop] = True
                break
    total = 0
    for k in range(count):
        if alive[k]:
            chosen[total] = kept[k]
            total += 1
    return total


@numba.njit(cache=True)
@no_type_check
def _is_irredundant(covers, need, chosen, count):
    """True if every chosen action covers a feature that no other chosen action covers."""
    for drop in range(count):
        needed = False
        for v in range(len(need)):
            left = need[v]
            for k in range(count):
                if k != drop:
                    left &= ~covers[chosen[k], v]
            if left != 0:
                needed = True
                break
        if not needed:
            return False
    return True


@numba.njit(cache=True)
@no_type_check
def _narrowest(left, allowed, options, at, prefix, top, providers):
    """Options at a node: the affordable actions of the feature with fewest; False if it has none.

    Rows `at` of the first three arrays are the node; arrays are passed whole, as slicing them in
    the inner loop costs more than the work.
    """
    fewest, narrow = 1 << 60, -1
    for v in range(left.shape[1]):
        word = left[at, v]
        while word != 0:
            j = 64 * v + lowest_bit(word)
            word &= word - np.uint64(1)
            count = 0
            for w in range(allowed.shape[1]):
                count += popcount(allowed[at, w] & prefix[top, w] & providers[j, w])
            if count == 0:
                return False
            if count < fewest:
                fewest, narrow = count, j
    for w in range(allowed.shape[1]):
        options[at, w] = allowed[at, w] & prefix[top, w] & providers[narrow, w]
    return True


@numba.njit(cache=True)
@no_type_check
def _sole_finishers(left, allowed, options, at, prefix, top, providers):
    """Options at a node: the affordable actions that cover all that is left; False if none do."""
    for w in range(allowed.shape[1]):
        options[at, w] = allowed[at, w] & prefix[top, w]
    for v in range(left.shape[1]):
        word = left[at, v]
        while word != 0:
            j = 64 * v + lowest_bit(word)
            word &= word - np.uint64(1)
            alive = np.uint64(0)
            for w in range(allowed.shape[1]):
                options[at, w] &= providers[j, w]
                alive |= options[at, w]
            if alive == 0:
                return False
    return True


@numba.njit(cache=True)
@no_type_check
def _first_option(options, at):
    """Smallest index in row `at` of the options, or −1 if it is empty."""
    for w in range(options.shape[1]):
        if options[at, w] != 0:
            return 64 * w + lowest_bit(options[at, w])
    return -1


@numba.njit(cache=True)
@no_type_check
def _open_node(left, allowed, options, at, prefix, top, providers, cost, budget):
    """Options of a node that may spend `budget`, which buys any of the `top` cheapest actions.

    Returns False if no completion is that cheap.
    """
    for w in range(allowed.shape[1]):
        hit = allowed[at, w] & prefix[top, w]
        if hit != 0:
            if 2 * cost[64 * w + lowest_bit(hit)] > budget:  # one action must do it all
                return _sole_finishers(left, allowed, options, at, prefix, top, providers)
            return _narrowest(left, allowed, options, at, prefix, top, providers)
    return False


@numba.njit(cache=True)
@no_type_check
def _take(left, allowed, options, covers, at, i):
    """Take action i at node `at`: write the node below, and forbid i from here on.

    Returns True if nothing is left to cover.
    """
    bit = ~(np.uint64(1) << np.uint64(i % 64))
    options[at, i // 64] &= bit
    allowed[at, i // 64] &= bit
    for w in range(allowed.shape[1]):
        allowed[at + 1, w] = allowed[at, w]
    remaining = np.uint64(0)
    for v in range(left.shape[1]):
        left[at + 1, v] = left[at, v] & ~covers[i, v]
        remaining |= left[at + 1, v]
    return remaining == 0


@numba.njit(cache=True)
@no_type_check
def _search(need, cost, covers, providers, prefix, work, best_set, max_nodes):
    """Cheapest cover of `need`, which must be coverable. Actions ascend in cost.

    Longer than a page because the depth-first walk is one loop over one state.

    Returns its cost, number of actions, number of irredundant optima, the least cost of branches
    left unsearched (`NOTHING_LEFT` if nothing was), and nodes.
    """
    left, allowed, options, spent, chosen, top = work
    best_size = _greedy(cost, covers, need, best_set)
    best = cost[best_set[:best_size]].sum()
    optima, nodes, open_bound, at = 0, 1, NOTHING_LEFT, 0
    left[0], allowed[0], spent[0] = need, prefix[len(cost)], 0
    top[0] = len(cost)
    if not _open_node(left, allowed, options, 0, prefix, top[0], providers, cost, best):
        at = -1
    while at >= 0:
        i = _first_option(options, at)
        if i < 0 or spent[at] + cost[i] > best:  # options ascend in cost
            at -= 1
            continue
        if nodes >= max_nodes:
            open_bound = min(open_bound, spent[at] + cost[i])
            at -= 1
            continue
        total = spent[at] + cost[i]
        chosen[at] = i
        if _take(left, allowed, options, covers, at, i):
            # only an idle action that costs nothing can be part of an optimum
            if cost[0] > 0 or _is_irredundant(covers, need, chosen, at + 1):
                if total < best or optima == 0 or comes_before(chosen, at + 1, best_set, best_size):
                    best_size = at + 1
                    best_set[:best_size] = chosen[:best_size]
                optima = optima + 1 if total == best else 1
                best = total
            continue
        nodes += 1
        while top[at] > 0 and cost[top[at] - 1] > best - total:
            top[at] -= 1  # what is left to spend only shrinks while a node is worked off
        if _open_node(
            left, allowed, options, at + 1, prefix, top[at], providers, cost, best - total
        ):
            spent[at + 1], top[at + 1] = total, top[at]
            at += 1
    return best, best_size, optima, open_bound, nodes


@numba.njit(cache=True)
@no_type_check
def solve_batch(need, cost, covers, providers, prefix, max_nodes):
    """Cheapest covers of n bit sets; actions ascend in cost and are the same for all of them.

    Args:
        need: features to be covered. (n, v) words
        cost: whole numbers, ascending. (a,)
        covers: features of each action. (a, v) words
        providers: actions of each feature. (d, w) words
        prefix: the k cheapest actions, in row k. (a + 1, w) words
        max_nodes: branches at which the search of one unit stops.

    Returns:
        cost (−1 if uncoverable), actions (n, m) padded with −1, optima, the least that a set not
        looked at may cost (`NOTHING_LEFT` if there is none), and nodes.
    """
    n, d = len(need), len(providers)
    v, w = covers.shape[1], prefix.shape[1]
    deepest = min(d, len(cost))
    work = (
        np.zeros((deepest + 1, v), dtype=np.uint64),
        np.zeros((deepest + 1, w), dtype=np.uint64),
        np.zeros((deepest + 1, w), dtype=np.uint64),
        np.zeros(deepest + 1, dtype=np.int64),
        np.zeros(deepest + 1, dtype=np.int64),
        np.zeros(deepest + 1, dtype=np.int64),
    )
    best_set = np.zeros(deepest + 1, dtype=np.int64)
    found = np.full(n, -1, dtype=np.int64)
    action_set = np.full((n, max(deepest, 1)), -1, dtype=np.int32)
    optima = np.zeros(n, dtype=np.int64)
    unsearched = np.full(n, NOTHING_LEFT, dtype=np.int64)
    nodes = np.zeros(n, dtype=np.int64)
    reach = np.zeros(v, dtype=np.uint64)
    for i in range(len(cost)):
        reach |= covers[i]
    for u in range(n):
        coverable, empty = True, True
        for k in range(v):
            coverable = coverable and (need[u, k] & ~reach[k]) == 0
            empty = empty and need[u, k] == 0
        if empty:
            found[u], optima[u] = 0, 1
        elif coverable:
            found[u], size, optima[u], unsearched[u], nodes[u] = _search(
                need[u], cost, covers, providers, prefix, work, best_set, max_nodes
            )
            action_set[u, :size] = best_set[:size]
    return found, action_set, optima, unsearched, nodes
