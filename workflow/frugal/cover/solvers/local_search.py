"""Compiled search for a cheap set from a greedy one: what a proof begins with, and no proof itself.

While a set is enough it is told, and the action that helps least for its price is left out; then
actions are exchanged, and features that stay short weigh more and more, so that the search does not
come back to where it was (row weighting, Gao, Weise & Li, IEEE Trans. Cybern. 45, 2015). Its random
choices begin anew with every unit, so that an answer does not depend on the units beside it. Knows
no rules between actions.
"""

from typing import no_type_check

import numba
import numpy as np

_STEPS = 100_000


@numba.njit(cache=True)
@no_type_check
def _loss(i, lack, links, weight):
    """By how much weighted shortage grows if action i is left out."""
    first, feature, gain = links
    total = 0
    for k in range(first[i], first[i + 1]):
        j = feature[k]
        total += weight[j] * (max(lack[j] + gain[k], 0) - max(lack[j], 0))
    return total


@numba.njit(cache=True)
@no_type_check
def _least_needed(members, count, lack, cost, links, weight, since, kept):
    """Place of the member whose loss is least for its price, the longest there of several."""
    place, least = -1, 0
    for m in range(count):
        i = members[m]
        if i == kept:
            continue
        loss = _loss(i, lack, links, weight)
        if place >= 0:
            here, there = loss * cost[members[place]], least * cost[i]
            if here > there or (here == there and since[i] >= since[members[place]]):
                continue
        place, least = m, loss
    return place


@numba.njit(cache=True)
@no_type_check
def _most_helpful(j, taken, shut, lack, cost, links, providers, weight, since, most):
    """The action for feature j that helps most for its price, of those that cost no more."""
    first, feature, gain = links
    best, best_help = -1, 0
    for p in range(providers[0][j], providers[0][j + 1]):
        i = providers[1][p]
        if taken[i] or shut[i] or cost[i] > most:
            continue
        some = 0
        for k in range(first[i], first[i + 1]):
            f = feature[k]
            some += weight[f] * min(max(lack[f], 0), gain[k])
        if best >= 0:
            here, there = some * cost[best], best_help * cost[i]
            if here < there or (here == there and since[i] >= since[best]):
                continue
        best, best_help = i, some
    return best


@numba.njit(cache=True)
@no_type_check
def improve(need, shut, cost, links, providers, state):
    """A set as cheap as that of `state` (1: taken), or cheaper, written there; returns its cost.

    Args:
        need: what each feature lacks. (d,)
        shut: actions that may not be taken. (a,)
        cost: whole numbers above 0. (a,)
        links: of each action its features and gains, see `lagrangian_tree.solve_choices`.
        providers: of each feature its actions.
        state: a set that is enough. (a,)
    """
    first, feature, gain = links
    taken, since = state == 1, np.zeros(len(cost), dtype=np.int64)
    lack, weight = need.copy(), np.ones(len(need), dtype=np.int64)
    members, count, total = np.zeros(len(cost), dtype=np.int64), 0, 0
    short, places = np.zeros(len(need), dtype=np.int64), 0
    for i in range(len(cost)):
        if taken[i]:
            members[count] = i
            count, total = count + 1, total + cost[i]
            for k in range(first[i], first[i + 1]):
                lack[feature[k]] -= gain[k]
    best, kept, drawn = total, -1, np.uint64(88172645463325252)
    for step in range(_STEPS):
        for attempt in range(2):  # to what is not enough, and one further
            while count > 0:
                enough = (lack <= 0).all()
                if enough and total < best:
                    best = total
                    state[:] = taken
                if not enough and attempt == 0:
                    break
                m = _least_needed(members, count, lack, cost, links, weight, since, kept)
                if m < 0:
                    break
                i = members[m]
                count, total, taken[i], since[i] = count - 1, total - cost[i], False, step
                members[m] = members[count]
                for k in range(first[i], first[i + 1]):
                    lack[feature[k]] += gain[k]
                if attempt == 1:
                    break
        while True:
            places = 0
            for j in range(len(need)):
                if lack[j] > 0:
                    short[places] = j
                    places += 1
            if places == 0:
                break
            drawn ^= drawn << np.uint64(13)
            drawn ^= drawn >> np.uint64(7)
            drawn ^= drawn << np.uint64(17)
            j = short[np.int64(drawn % np.uint64(places))]
            i = _most_helpful(
                j, taken, shut, lack, cost, links, providers, weight, since, best - 1 - total
            )
            if i < 0:
                break
            members[count] = i
            count, total, taken[i], since[i], kept = count + 1, total + cost[i], True, step, i
            for k in range(first[i], first[i + 1]):
                lack[feature[k]] -= gain[k]
            for p in range(places):
                weight[short[p]] += lack[short[p]] > 0
    return best
