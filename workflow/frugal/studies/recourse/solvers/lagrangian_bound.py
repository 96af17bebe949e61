"""Compiled lower bound on the cost of covering: prices of features, and remaining costs of actions.

    L(u) = Σⱼ uⱼ bⱼ + Σᵢ min(0, cᵢ − Σⱼ uⱼ min(dᵢⱼ, bⱼ)),    u ≥ 0

with b the remaining needs of the features. No set costs less, for any prices u; the largest L is
that of the linear program. An action outside a set of cost C with reduced cost rᵢ > C − L can be in
no set as cheap. Costs are whole numbers and L is computed in doubles, so a search compares L
less a bound of its rounding error [Neumaier & Shcherbina, Math. Program. 99, 2004]: no set is lost
at any price. Works on plain arrays: knows no catalogue and no error.
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
def _least_needed(members, count, lack, cost, links, weight, since, last_added):
    """Place of the member whose loss is least for its price, the longest there of several."""
    place, least = -1, 0
    for m in range(count):
        i = members[m]
        if i == last_added:
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
        need: of each feature. (d,)
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
    best, last_added, drawn = total, -1, np.uint64(88172645463325252)
    for step in range(_STEPS):
        for attempt in range(2):  # to what is not enough, and one further
            while count > 0:
                enough = (lack <= 0).all()
                if enough and total < best:
                    best = total
                    state[:] = taken
                if not enough and attempt == 0:
                    break
                m = _least_needed(members, count, lack, cost, links, weight, since, last_added)
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
            count, total, taken[i], since[i], last_added = count + 1, total + cost[i], True, step, i
            for k in range(first[i], first[i + 1]):
                lack[feature[k]] -= gain[k]
            for p in range(places):
                weight[short[p]] += lack[short[p]] > 0
    return best


@numba.njit(cache=True)
@no_type_check
def mark_dominated(lack, free, cost, links, providers, state, effect, shut_mark):
    """Mark in `state` free actions that give nothing, or no more than another that is as cheap.

    Args:
        lack: remaining need of each feature; from 0 down where it is met. (d,)
        free: actions that may be taken, whose state is 0. (f,)
        cost: whole numbers, ascending. (a,)
        links: of each action its features and gains, see `lagrangian_tree.solve_choices`.
        providers: of each feature its actions.
        state: written. (a,)
        effect: zeros, and zeros again at the end. (d,)
        shut_mark: the value written.
    """
    first, feature, gain = links
    for i in free:
        rarest, wanted = -1, 0
        for k in range(first[i], first[i + 1]):
            j = feature[k]
            if lack[j] > 0:
                effect[j] = min(gain[k], lack[j])
                wanted += 1
                size = providers[0][j + 1] - providers[0][j]
                if rarest < 0 or size < providers[0][rarest + 1] - providers[0][rarest]:
                    rarest = j
        if wanted == 0:
            state[i] = shut_mark
            continue
        for p in range(providers[0][rarest], providers[0][rarest + 1]):
            other = providers[1][p]
            if cost[other] > cost[i]:
                break  # providers ascend in cost
            if other == i or state[other] != 0:
                continue
            met, more = 0, cost[other] < cost[i] or other < i
            for k in range(first[other], first[other + 1]):
                j = feature[k]
                if lack[j] > 0:
                    some = min(gain[k], lack[j])
                    met += effect[j] > 0 and some >= effect[j]
                    more = more or some > effect[j]
            if met == wanted and more:
                state[i] = shut_mark
                break
        for k in range(first[i], first[i + 1]):
            effect[feature[k]] = 0


_PATIENCE = 10  # steps without a better bound, after which steps are halved
_EPSILON, _MOST = 2.0**-52, 2.0**60  # twice the unit of rounding; above any cost


@numba.njit(cache=True)
@no_type_check
def reduced_costs(lack, free, cost, links, price, reduced, short):
    """L(u) of the free actions; writes their reduced costs and the remaining need of each feature.

    Args:
        lack: remaining need of each feature; from 0 down where it is met. (d,)
        free: actions that may be taken. (f,)
        cost: whole numbers. (a,)
        links: of each action the place of its first feature, features and gains. (a + 1,), (m,) × 2
        price: u. (d,)
        reduced: written: cᵢ − Σⱼ uⱼ min(dᵢⱼ, bⱼ). (a,)
        short: written: the subgradient. (d,)
    """
    first, feature, gain = links
    bound = 0.0
    for j in range(len(lack)):
        short[j] = max(lack[j], 0)
        bound += price[j] * short[j]
    for i in free:
        rest = float(cost[i])
        for k in range(first[i], first[i + 1]):
            j = feature[k]
            if lack[j] > 0:
                rest -= price[j] * min(gain[k], lack[j])
        reduced[i] = rest
        if rest < 0:
            bound += rest
            for k in range(first[i], first[i + 1]):
                j = feature[k]
                if lack[j] > 0:
                    short[j] -= min(gain[k], lack[j])
    return bound


@numba.njit(cache=True)
@no_type_check
def rounding_error(lack, free, cost, price, reduced):
    """By how much L(u), or a reduced cost, may be off at most; arguments of `reduced_costs`.

    A sum of k terms is off by less than k ε Σ|term| (ε twice the unit of rounding). Of an action
    the terms come to less than 2 cᵢ − rᵢ.
    """
    terms = 0.0
    for j in range(len(lack)):
        terms += price[j] * max(lack[j], 0)
    for i in free:
        terms += 2.0 * cost[i] - reduced[i]
    return (4 * len(lack) + len(free) + 8) * _EPSILON * terms


@numba.njit(cache=True)
@no_type_check
def least_cost(bound):
    """The least whole cost that is not below a bound, from 0."""
    return np.int64(np.ceil(min(max(bound, 0.0), _MOST)))


@numba.njit(cache=True)
@no_type_check
def raise_bound(lack, free, cost, links, price, work, aim, steps, length):
    """Better prices by subgradient steps towards `aim`; returns the best bound met.

    Prices and reduced costs are those of that bound. Ends early above `aim`.
    """
    reduced, short, saved = work
    best, since = -1e300, 0
    for _ in range(steps):
        bound = reduced_costs(lack, free, cost, links, price, reduced, short)
        if bound > best:
            since = since + 1 if bound <= best + 1e-9 * abs(best) else 0
            best = bound
            saved[:] = price
        else:
            since += 1
        if best > aim:
            break
        if since >= _PATIENCE:
            length, since = 0.5 * length, 0
            price[:] = saved
            continue
        norm = 0.0
        for j in range(len(lack)):
            if lack[j] > 0 and (short[j] > 0 or price[j] > 0):
                norm += short[j] * short[j]
        step = length * (1.02 * aim - bound) / norm if norm > 0 else 0.0
        if step <= 0:
            break
        for j in range(len(lack)):
            if lack[j] > 0:
                price[j] = max(0.0, price[j] + step * short[j])
    price[:] = saved
    return reduced_costs(lack, free, cost, links, price, reduced, short)


@numba.njit(cache=True)
@no_type_check
def first_prices(lack, cost, links, price):
    """Prices to begin with: of each feature, the least that an action costs per unit it gives."""
    first, feature, gain = links
    price[:] = 1e300
    for i in range(len(cost)):
        total = 0
        for k in range(first[i], first[i + 1]):
            if lack[feature[k]] > 0:
                total += min(gain[k], lack[feature[k]])
        for k in range(first[i], first[i + 1]):
            if lack[feature[k]] > 0:
                price[feature[k]] = min(price[feature[k]], cost[i] / total)
    for j in range(len(lack)):
        if price[j] == 1e300:
            price[j] = 0.0


@numba.njit(cache=True)
@no_type_check
def too_dear(need, shut, cost, links, best, price):
    """Actions that no set cheaper than `best` can hold, shut ones too, and the least cost of a set.

    The bound, from these prices, is the least whole number that a set may cost.
    """
    reduced, short = np.zeros(len(cost)), np.zeros(len(need))
    free = np.flatnonzero(~shut).astype(np.int32)
    bound = reduced_costs(need, free, cost, links, price, reduced, short)
    bound -= rounding_error(need, free, cost, price, reduced)
    answer = shut.copy()
    for i in free:
        answer[i] = reduced[i] + bound > best - 1
    return answer, least_cost(bound)
