"""Compiled branch and bound with a Lagrangian bound: the k cheapest sets of actions under rules.

The tree of the bit sets (take one action for the feature with fewest choices, shut those tried
before, so each lean set lies on one path), with the need of each feature in place of a bit, a
bound near that of the linear program at each node, and actions shut that no set as cheap can hold.
A set is lean if no action can be left out. Rules: an action may require others, exclude others, be
taken or shut from the start; a set may have at most so many actions, and cost at most so much.
Works on whole numbers only: knows no unit, no catalogue and no error.

Sets of equal cost are in the order of `ties`; an answer depends on nothing but the unit's own
numbers.
"""

from typing import no_type_check

import numba
import numpy as np

from frugal.studies.recourse.solvers.bitsets import NOTHING_LEFT, comes_before
from frugal.studies.recourse.solvers.lagrangian_bound import (
    first_prices,
    improve,
    least_cost,
    mark_dominated,
    raise_bound,
    rounding_error,
)

FREE, TAKEN, SHUT = 0, 1, -1  # state of an action
MOST_TIES = 1000  # sets of one cost that are distinguished; beyond, only cheaper ones are sought
_ROOT_STEPS, _NODE_STEPS, _ROOT_LENGTH, _NODE_LENGTH = 300, 10, 1.0, 0.3
_PROOF_STEPS = 40  # at a node where no tie is counted: these searches are long


@numba.njit(cache=True)
@no_type_check
def _shut(state, i, dependents):
    """Shut action i and all that require it."""
    first, other = dependents
    state[i] = SHUT
    for k in range(first[i], first[i + 1]):
        state[other[k]] = SHUT


@numba.njit(cache=True)
@no_type_check
def _take_one(lack, state, i, links, rules):
    """Take action i alone; False if a rule forbids it."""
    _, dependents, (first_rival, rival) = rules
    first, feature, gain = links
    if state[i] == SHUT:
        return False
    state[i] = TAKEN
    for k in range(first[i], first[i + 1]):
        lack[feature[k]] -= gain[k]
    for k in range(first_rival[i], first_rival[i + 1]):
        if state[rival[k]] == TAKEN:
            return False
        _shut(state, rival[k], dependents)
    return True


@numba.njit(cache=True)
@no_type_check
def _take(lack, state, i, cost, links, rules):
    """Take action i and all that it requires: their cost and number; −1 if a rule forbids it."""
    (first, other), _, _ = rules
    total, count = np.int64(0), np.int64(0)
    for k in range(first[i], first[i + 1]):
        if state[other[k]] != TAKEN:
            if not _take_one(lack, state, other[k], links, rules):
                return np.int64(-1), count
            total, count = total + cost[other[k]], count + 1
    if not _take_one(lack, state, i, links, rules):
        return np.int64(-1), count
    return total + cost[i], count + 1


@numba.njit(cache=True)
@no_type_check
def _is_lean(lack, state, required, links, dependents):
    """True if no action can be left out: each is required, or another needs it, or a feature."""
    first, feature, gain = links
    first_dependent, dependent = dependents
    for i in range(len(state)):
        if state[i] != TAKEN or required[i]:
            continue
        needed = False
        for k in range(first[i], first[i + 1]):
            needed = needed or lack[feature[k]] + gain[k] > 0
        for k in range(first_dependent[i], first_dependent[i + 1]):
            needed = needed or state[dependent[k]] == TAKEN
        if not needed:
            return False
    return True


@numba.njit(cache=True)
@no_type_check
def _keep(state, total, best):
    """Put a set among the cheapest if it belongs there and is not there yet."""
    cost, sets, size, known = best
    members = np.flatnonzero(state == TAKEN)
    place = known[0]
    while place > 0 and (
        total < cost[place - 1]
        or (
            total == cost[place - 1]
            and comes_before(members, len(members), sets[place - 1], size[place - 1])
        )
    ):
        place -= 1
    if place == len(cost):
        return
    known[0] = min(known[0] + 1, len(cost))
    for k in range(known[0] - 1, place, -1):
        cost[k], size[k] = cost[k - 1], size[k - 1]
        sets[k] = sets[k - 1]
    cost[place], size[place] = total, len(members)
    sets[place] = -1
    sets[place, : len(members)] = members


@numba.njit(cache=True)
@no_type_check
def _more_actions(lack, free, links):
    """How many more actions a set needs at least."""
    first, feature, gain = links
    left, most = 0, 0
    for j in range(len(lack)):
        left += max(lack[j], 0)
    for i in free:
        some = 0
        for k in range(first[i], first[i + 1]):
            some += max(min(gain[k], lack[feature[k]]), 0)
        most = max(most, some)
    return -(-left // most) if most > 0 else left + 1


@numba.njit(cache=True)
@no_type_check
def _narrowest(lack, state, providers, reduced, options):
    """Free actions of the lacking feature that has fewest, by reduced cost; how many."""
    first, action = providers
    fewest, narrow = len(state) + 1, -1
    for j in range(len(lack)):
        if lack[j] > 0:
            count = 0
            for k in range(first[j], first[j + 1]):
                count += state[action[k]] == FREE
            if count < fewest:
                fewest, narrow = count, j
    count = 0
    for k in range(first[narrow], first[narrow + 1]):
        if state[action[k]] == FREE:
            place = count
            while place > 0 and reduced[options[place - 1]] > reduced[action[k]]:
                options[place] = options[place - 1]
                place -= 1
            options[place] = action[k]
            count += 1
    return count


@numba.njit(cache=True)
@no_type_check
def _shut_dear(state, free, reduced, bound, spare, dependents):
    """Shut the free actions whose reduced cost no set as cheap as allowed can bear."""
    for i in free:
        if reduced[i] + bound > spare:
            _shut(state, i, dependents)


@numba.njit(cache=True)
@no_type_check
def _still_free(state, above, free):
    """Those of the actions above that are free, written to `free`; how many."""
    count = 0
    for i in above:
        if state[i] == FREE:
            free[count] = i
            count += 1
    return count


@numba.njit(cache=True)
@no_type_check
def _search(need, cost, links, providers, rules, own, nodes_of, best, max_nodes, start):
    """Cheapest lean sets of one unit. Longer than a page: the walk is one loop over one state.

    With prices to `start` from, sets cheaper than the one known are sought, and no tie is counted.
    Returns number of lean sets of the least cost (at most `MOST_TIES`), least cost of the branches
    left unsearched (`NOTHING_LEFT` if nothing was), and nodes.
    """
    required, shut, most_actions, budget, aim = own
    lack, state, price, free, frees, spent, taken, begin, end, options, work = nodes_of
    reduced, dependents = work[0], rules[1]
    costs, known = best[0], best[3]
    optima, ties, nodes, at = 0, 0, 0, 0
    lack[0], state[0], spent[0], taken[0], begin[0] = need, FREE, 0, 0, 0
    prove = len(start) > 0
    if prove:
        price[0] = start
    else:
        first_prices(need, cost, links, price[0])
    floor = np.zeros(len(spent), dtype=np.int64)
    for i in range(len(cost)):
        if shut[i]:
            _shut(state[0], i, dependents)
    for i in range(len(cost)):
        if required[i] and state[0, i] != TAKEN:
            total, count = _take(lack[0], state[0], i, cost, links, rules)
            if total < 0:
                return 0, NOTHING_LEFT, 0
            spent[0], taken[0] = spent[0] + total, taken[0] + count
    every, effect = np.arange(len(cost)).astype(np.int32), np.zeros_like(need)
    opening = True
    while at >= 0:
        if opening:
            opening = False
            full = known[0] == len(costs)
            limit = min(costs[-1], budget) if full else budget
            if spent[at] > limit or taken[at] > most_actions:
                at -= 1
                continue
            if (lack[at] <= 0).all():
                if _is_lean(lack[at], state[at], required, links, dependents):
                    before = costs[-1] if full else NOTHING_LEFT
                    if known[0] > 0 and spent[at] < costs[0]:
                        optima = 0
                    _keep(state[at], spent[at], best)
                    optima = min(optima + (spent[at] == costs[0]), MOST_TIES)
                    if known[0] == len(costs):
                        ties = ties + 1 if costs[-1] == before else (costs == costs[-1]).sum()
                at -= 1
                continue
            above = free[at - 1, : frees[at - 1]] if at else every
            frees[at] = _still_free(state[at], above, free[at])
            nodes += 1
            if nodes > 2 * max_nodes:
                for k in range(at):
                    floor[at] = min(floor[at], floor[k]) if begin[k] < end[k] else floor[at]
                return optima, min(floor[at], costs[0]) if known[0] > 0 else floor[at], nodes
            strict = full and (prove or ties >= MOST_TIES or nodes > max_nodes)
            if prove and full:
                some = free[at, : frees[at]]
                mark_dominated(lack[at], some, cost, links, providers, state[at], effect, SHUT)
                frees[at] = _still_free(state[at], some.copy(), free[at])
            spare = limit - spent[at] - (1 if strict else 0)
            hoped = spare if limit < NOTHING_LEFT else max(aim - spent[at], 1)
            bound = raise_bound(
                lack[at],
                free[at, : frees[at]],
                cost,
                links,
                price[at],
                work,
                hoped,
                (_PROOF_STEPS if prove else _NODE_STEPS) if at else _ROOT_STEPS,
                _NODE_LENGTH if at else _ROOT_LENGTH,
            )
            bound -= rounding_error(lack[at], free[at, : frees[at]], cost, price[at], reduced)
            floor[at] = spent[at] + least_cost(bound)
            if bound > spare or (
                most_actions < len(cost)
                and taken[at] + _more_actions(lack[at], free[at, : frees[at]], links) > most_actions
            ):
                at -= 1
                continue
            _shut_dear(state[at], free[at, : frees[at]], reduced, bound, spare, dependents)
            place = begin[at]
            end[at] = place + _narrowest(lack[at], state[at], providers, reduced, options[place:])
        if begin[at] >= end[at]:
            at -= 1
            continue
        i = options[begin[at]]
        begin[at] += 1
        if state[at, i] != FREE:  # shut since, with an action that it requires
            continue
        lack[at + 1], state[at + 1], price[at + 1] = lack[at], state[at], price[at]
        total, count = _take(lack[at + 1], state[at + 1], i, cost, links, rules)
        _shut(state[at], i, dependents)
        if total < 0:
            continue
        spent[at + 1], taken[at + 1], begin[at + 1] = spent[at] + total, taken[at] + count, end[at]
        floor[at + 1] = floor[at]
        at, opening = at + 1, True
    counted = nodes <= max_nodes and ties < MOST_TIES and not prove
    return optima, NOTHING_LEFT if counted or known[0] == 0 else costs[0], nodes


@numba.njit(cache=True)
@no_type_check
def _greedy(need, shut, cost, links, state):
    """Actions by price for the remaining needs, without expensive ones that became idle.

    Marks them in `state` and returns their cost; −1 if no set is enough.
    """
    first, feature, gain = links
    left = need.copy()
    state[:] = FREE
    while (left > 0).any():
        best, best_gain = -1, 0
        for i in range(len(cost)):
            some = 0
            if state[i] == FREE and not shut[i]:
                for k in range(first[i], first[i + 1]):
                    some += max(min(gain[k], left[feature[k]]), 0)
            if some > 0 and (best < 0 or cost[i] * best_gain < cost[best] * some):
                best, best_gain = i, some
        if best < 0:
            return np.int64(-1)
        state[best] = TAKEN
        for k in range(first[best], first[best + 1]):
            left[feature[k]] -= gain[k]
    total = np.int64(0)
    for i in range(len(cost) - 1, -1, -1):
        if state[i] == TAKEN:
            needed = False
            for k in range(first[i], first[i + 1]):
                needed = needed or left[feature[k]] + gain[k] > 0
            if needed:
                total += cost[i]
            else:
                state[i] = FREE
                for k in range(first[i], first[i + 1]):
                    left[feature[k]] += gain[k]
    return total


@numba.njit(cache=True)
@no_type_check
def solve_choices(need, cost, links, providers, rules, own, keep, max_nodes, start):
    """The `keep` cheapest lean sets of n units; actions ascend in cost, the same for all of them.

    Args:
        need: of each feature, from 0. (n, d)
        cost: whole numbers, ascending. (a,)
        links: of each action the place of its first feature, features and gains. (a + 1,), (m,) × 2
        providers: of each feature the place of its first action, and actions. (d + 1,), (m,)
        rules: of each action the place of the first and indices, of those that it requires, those
            that require it (both with all that follows), and those that it excludes.
        own: of each unit: required and shut actions (n, a), most actions, and most cost (n,).
        keep: k.
        max_nodes: branches after which sets of equal cost are no longer distinguished; after twice
            as many the search of one unit stops.
        start: prices of features that a proof begins with, for one cheapest set of each unit
            without a count of ties; no rules then. Else no rows. (n, d) or (0, d)

    Returns:
        costs, −1 where there is no such set (n, k), sets (n, k, a) padded with −1, lean sets of the
        least cost, the least that a set not looked at may cost (`NOTHING_LEFT` if there is none),
        and nodes.
    """
    required, shut, most_actions, budget = own
    n, d, a = len(need), need.shape[1], len(cost)
    deepest = np.int64(1)
    for u in range(n):
        deepest = max(deepest, min(need[u].sum(), a) + 2)
    widest = np.int64(1)
    for j in range(d):
        widest = max(widest, providers[0][j + 1] - providers[0][j])
    nodes_of = (
        np.zeros((deepest, d), dtype=np.int64),
        np.zeros((deepest, a), dtype=np.int8),
        np.zeros((deepest, d)),
        np.zeros((deepest, a), dtype=np.int32),
        np.zeros(deepest, dtype=np.int64),
        np.zeros(deepest, dtype=np.int64),
        np.zeros(deepest, dtype=np.int64),
        np.zeros(deepest, dtype=np.int64),
        np.zeros(deepest, dtype=np.int64),
        np.zeros(deepest * widest, dtype=np.int32),
        (np.zeros(a), np.zeros(d), np.zeros(d)),
    )
    best = (
        np.zeros(keep, dtype=np.int64),
        np.full((keep, max(a, 1)), -1, dtype=np.int32),
        np.zeros(keep, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )
    found = np.full((n, keep), -1, dtype=np.int64)
    free_choice = len(rules[0][1]) + len(rules[2][1]) == 0 and not required.any()
    width = max(min(a, deepest) if free_choice else a, 1)
    sets = np.full((n, keep, width), -1, dtype=np.int32)
    optima, nodes = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    unsearched = np.full(n, NOTHING_LEFT, dtype=np.int64)
    for u in range(n):
        best[3][0] = 0
        aim = _greedy(need[u], shut[u], cost, links, nodes_of[1][0])
        if free_choice and keep == 1 and 0 <= aim <= budget[u] and most_actions[u] >= a:
            if len(start):
                aim = improve(need[u], shut[u], cost, links, providers, nodes_of[1][0])
            _keep(nodes_of[1][0], aim, best)
        mine = (required[u], shut[u], most_actions[u], budget[u], aim)
        optima[u], unsearched[u], nodes[u] = _search(
            need[u],
            cost,
            links,
            providers,
            rules,
            mine,
            nodes_of,
            best,
            max_nodes,
            start[u] if len(start) else np.zeros(0),
        )
        for k in range(best[3][0]):
            found[u, k] = best[0][k]
            sets[u, k] = best[1][k, :width]
    return found, sets, optima, unsearched, nodes
