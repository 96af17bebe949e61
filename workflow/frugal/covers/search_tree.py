"""Compiled branch and bound over bit sets: one weighted set cover after the other.

A branch takes one action for the feature with the fewest allowed actions, and forbids the actions
of that feature that were tried before; each irredundant cover is thus reached by one path, and
optima can be counted. Works on packed integers only: knows no unit, no catalogue and no error.
"""

import numba
import numpy as np

from frugal.covers.bitsets import first_member, lowest_bit, popcount


@numba.njit(cache=True)
def _greedy(cost, covers, need, chosen):
    """Actions by cost per newly covered feature, then without the dear ones that became idle.

    Writes them to `chosen` and returns how many; `need` must be coverable.
    """
    left = need.copy()
    count = 0
    while first_member(left) >= 0:
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
def _without_idle(covers, need, chosen, count):
    """Drop actions, dearest (last) index first, whose features the others cover as well."""
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
def _narrowest(left, allowed, affordable, providers, options):
    """Fill `options` with the affordable actions of the feature that has fewest; False if none."""
    fewest = 1 << 60
    for v in range(len(left)):
        word = left[v]
        while word != 0:
            j = 64 * v + lowest_bit(word)
            word &= word - np.uint64(1)
            count = 0
            for w in range(len(allowed)):
                count += popcount(allowed[w] & affordable[w] & providers[j, w])
            if count == 0:
                return False
            if count < fewest:
                fewest = count
                for w in range(len(allowed)):
                    options[w] = allowed[w] & affordable[w] & providers[j, w]
    return True


@numba.njit(cache=True)
def _sole_finishers(left, allowed, affordable, providers, options):
    """Fill `options` with the affordable actions that cover all that is left; False if none."""
    for w in range(len(allowed)):
        options[w] = allowed[w] & affordable[w]
    for v in range(len(left)):
        word = left[v]
        while word != 0:
            j = 64 * v + lowest_bit(word)
            word &= word - np.uint64(1)
            alive = np.uint64(0)
            for w in range(len(allowed)):
                options[w] &= providers[j, w]
                alive |= options[w]
            if alive == 0:
                return False
    return True


@numba.njit(cache=True)
def _open_node(depth, budget, cost, prefix, providers, left, allowed, options):
    """Options of a node that may spend `budget`; False if no completion can be that cheap."""
    affordable = prefix[np.searchsorted(cost, budget, side="right")]
    cheapest = -1
    for w in range(prefix.shape[1]):
        hit = allowed[depth, w] & affordable[w]
        if hit != 0:
            cheapest = 64 * w + lowest_bit(hit)
            break
    if cheapest < 0:
        return False
    if 2 * cost[cheapest] > budget:  # one action must do it all
        return _sole_finishers(left[depth], allowed[depth], affordable, providers, options[depth])
    return _narrowest(left[depth], allowed[depth], affordable, providers, options[depth])


@numba.njit(cache=True)
def _search(need, cost, covers, providers, prefix, work, best_set, max_nodes):
    """Cheapest cover of `need`, which must be coverable. Actions ascend in cost.

    Returns its cost, number of actions, number of irredundant optima, lower bound, and nodes.
    """
    left, allowed, options, spent, chosen = work
    best_size = _greedy(cost, covers, need, best_set)
    best = cost[best_set[:best_size]].sum()
    optima, nodes, open_bound = 0, 1, best
    left[0] = need
    allowed[0] = prefix[len(cost)]
    spent[0] = 0
    depth = 0
    if not _open_node(0, best, cost, prefix, providers, left, allowed, options):
        depth = -1
    while depth >= 0:
        i = first_member(options[depth])
        if i < 0 or spent[depth] + cost[i] > best:  # options ascend in cost
            depth -= 1
            continue
        if nodes >= max_nodes:
            open_bound = min(open_bound, spent[depth] + cost[i])
            depth -= 1
            continue
        bit = np.uint64(1) << np.uint64(i % 64)
        options[depth, i // 64] &= ~bit
        allowed[depth, i // 64] &= ~bit
        chosen[depth] = i
        total = spent[depth] + cost[i]
        below = depth + 1
        finished = True
        for v in range(len(need)):
            left[below, v] = left[depth, v] & ~covers[i, v]
            finished = finished and left[below, v] == 0
        if finished:
            # only an idle action that costs nothing can be part of an optimum
            if cost[0] > 0 or _is_irredundant(covers, need, chosen, below):
                if total < best or optima == 0:
                    best_size = below
                    best_set[:below] = chosen[:below]
                optima = optima + 1 if total == best else 1
                best = total
            continue
        nodes += 1
        spent[below] = total
        allowed[below] = allowed[depth]
        if _open_node(below, best - total, cost, prefix, providers, left, allowed, options):
            depth = below
    return best, best_size, optima, min(open_bound, best), nodes


@numba.njit(cache=True)
def solve_batch(need, cost, covers, providers, prefix, max_nodes):
    """Cheapest covers of n bit sets; actions ascend in cost and are the same for all of them.

    Args:
        need: features to be covered. (n, v) words
        cost: whole numbers, ascending. (a,)
        covers: features of each action. (a, v) words
        providers: actions of each feature. (d, w) words
        prefix: the k cheapest actions, in row k. (a + 1, w) words
        max_nodes: branches at which the search of one unit stops with an unproven bound.

    Returns:
        cost (−1 if uncoverable), actions (n, m) padded with −1, optima, lower bound and nodes.
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
    )
    best_set = np.zeros(deepest + 1, dtype=np.int64)
    found = np.full(n, -1, dtype=np.int64)
    action_set = np.full((n, max(deepest, 1)), -1, dtype=np.int32)
    optima = np.zeros(n, dtype=np.int64)
    bound = np.full(n, -1, dtype=np.int64)
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
            found[u], optima[u], bound[u] = 0, 1, 0
        elif coverable:
            found[u], size, optima[u], bound[u], nodes[u] = _search(
                need[u], cost, covers, providers, prefix, work, best_set, max_nodes
            )
            action_set[u, :size] = best_set[:size]
    return found, action_set, optima, bound, nodes
