"""Compiled lower bound on what covering costs: prices of features, and what actions cost beside.

    L(u) = Σⱼ uⱼ bⱼ + Σᵢ min(0, cᵢ − Σⱼ uⱼ min(dᵢⱼ, bⱼ)),    u ≥ 0

with b what the features still lack. No set costs less, for any prices u; the largest L is that of
the linear program. An action outside a set of cost C with reduced cost rᵢ > C − L can be in no set
as cheap. Costs are whole numbers and L is computed in doubles, so that a search compares L less a
bound of its rounding error [Neumaier & Shcherbina, Math. Program. 99, 2004]: no set is lost at any
price. Works on plain arrays: knows no catalogue and no error.
"""

from typing import no_type_check

import numba
import numpy as np

_PATIENCE = 10  # steps without a better bound, after which steps are halved
_EPSILON, _MOST = 2.0**-52, 2.0**60  # twice the unit of rounding; above any cost


@numba.njit(cache=True)
@no_type_check
def reduced_costs(lack, free, cost, links, price, reduced, short):
    """L(u) of the free actions; writes their reduced costs and what each feature is short of.

    Args:
        lack: what each feature lacks; from 0 down where it is met. (d,)
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
    reduced, short, kept = work
    best, since = -1e300, 0
    for _ in range(steps):
        bound = reduced_costs(lack, free, cost, links, price, reduced, short)
        if bound > best:
            since = since + 1 if bound <= best + 1e-9 * abs(best) else 0
            best = bound
            kept[:] = price
        else:
            since += 1
        if best > aim:
            break
        if since >= _PATIENCE:
            length, since = 0.5 * length, 0
            price[:] = kept
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
    price[:] = kept
    return reduced_costs(lack, free, cost, links, price, reduced, short)


@numba.njit(cache=True)
@no_type_check
def first_prices(lack, cost, links, price):
    """Prices to begin with: of each feature, the least that an action asks per unit it gives."""
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
    """Actions that no set cheaper than `best` can hold, shut ones too, and what any set costs.

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
