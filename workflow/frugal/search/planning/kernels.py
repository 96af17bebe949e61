"""Compiled passes over all histories of a treatment search, last history first.

A history's successors have a larger index, so one backward loop is the whole dynamic program. All
compiled functions of the planners stand in this one file, because numba's cache does not see edits
of a callee in another file. They know arrays only: `probability` (x, a, r, y) of
`search.records.OutcomeTable` and (x, h) tables; best outcomes are never stored, see there.
`tests/oracles` holds each recursion written from its definition over plain dictionaries.
"""

from typing import no_type_check

import numpy as np
from numba import njit

UPPER, LOWER = 0, 1


@njit(cache=True, error_model="numpy", inline="always")
@no_type_check
def _read(h, k, base, place, digit):
    """Fill the digits of a history; the largest digit: 0 if empty, else 1 + index of its best."""
    top = 0
    for a in range(k):
        digit[a] = h // place[a] % base
        top = max(top, digit[a])
    return top


@njit(cache=True, error_model="numpy", inline="always")
@no_type_check
def _without(h, place, base):
    """Index of a history without an untried action."""
    return h // (place * base) * place + h % place


@njit(cache=True, error_model="numpy")
@no_type_check
def bound_pass(probability, level, kind, statistic):
    """Sum or maximum over untried actions of P(Y(a) > level of the best outcome so far | h)."""
    contexts, k, reduced, base = probability.shape
    place = base ** np.arange(k)
    digit = np.empty(k, dtype=np.int64)
    for h in range(1, reduced * base):
        limit = level[_read(h, k, base, place, digit) - 1]
        for x in range(contexts):
            total = 0.0
            for a in range(k):
                if digit[a] == 0:
                    row = probability[x, a, _without(h, place[a], base)]
                    better = 0.0
                    for y in range(limit + 1, base):
                        better += row[y]
                    total = total + better if kind == UPPER else max(total, better)
            statistic[x, h] = total


@njit(cache=True, error_model="numpy")
@no_type_check
def exact_pass(probability, level, limit, none_better, statistic):
    """P(some untried outcome > limit | h), uniform over orders, where the level of h is `limit`.

    `none_better` (x, h) is work space: the probability that no untried outcome exceeds the limit.
    """
    contexts, k, reduced, base = probability.shape
    place = base ** np.arange(k)
    digit = np.empty(k, dtype=np.int64)
    for h in range(reduced * base - 1, 0, -1):
        top = _read(h, k, base, place, digit)
        if top - 1 > limit:
            continue
        for x in range(contexts):
            total = 0.0
            untried = 0
            for a in range(k):
                if digit[a] == 0:
                    untried += 1
                    row = probability[x, a, _without(h, place[a], base)]
                    for y in range(limit + 1):
                        total += row[y] * none_better[x, h + (y + 1) * place[a]]
            none_better[x, h] = total / untried if untried else 1.0
            if level[top - 1] == limit:
                statistic[x, h] = 1.0 - none_better[x, h]


@njit(cache=True, error_model="numpy")
@no_type_check
def optimal_pass(
    probability, stop_reward, step_cost, best_reward, slack, by_improvement, value, action
):
    """Bellman backup: V(h) = max of stopping and of each untried action; fills value and action.

    Ties within `slack`: at the empty history the lowest index; later stopping first, then (if
    `by_improvement`) the action most likely to exceed the best outcome so far, then the lowest.
    """
    contexts, k, reduced, base = probability.shape
    place = base ** np.arange(k)
    digit = np.empty(k, dtype=np.int64)
    q = np.empty(k)
    for h in range(reduced * base - 1, -1, -1):
        top = _read(h, k, base, place, digit)
        for x in range(contexts):
            best = stop_reward[x, h]
            for a in range(k):
                if digit[a] == 0:
                    row = probability[x, a, _without(h, place[a], base)]
                    q[a] = row[base - 1] * best_reward - step_cost
                    for y in range(base - 1):
                        q[a] += row[y] * value[x, h + (y + 1) * place[a]]
                    best = max(best, q[a])
            value[x, h] = best
            action[x, h] = k
            if h > 0 and stop_reward[x, h] >= best - slack:
                continue
            most = -1.0
            for a in range(k):
                if digit[a] == 0 and q[a] >= best - slack:
                    better = 0.0
                    if h > 0 and by_improvement:
                        row = probability[x, a, _without(h, place[a], base)]
                        for y in range(top, base):
                            better += row[y]
                    if better > most + slack:
                        most = better
                        action[x, h] = a


@njit(cache=True, error_model="numpy")
@no_type_check
def greedy_pass(probability, outcome_value, may_stop, slack, value, action):
    """Action of the largest E[1{Y(a) > best so far} Y(a)]; value = minus expected trials."""
    contexts, k, reduced, base = probability.shape
    place = base ** np.arange(k)
    digit = np.empty(k, dtype=np.int64)
    for h in range(reduced * base - 1, -1, -1):
        top = _read(h, k, base, place, digit)
        for x in range(contexts):
            action[x, h] = k
            value[x, h] = 0.0
            if may_stop[x, h]:
                continue
            most = -np.inf
            for a in range(k):
                if digit[a] == 0:
                    row = probability[x, a, _without(h, place[a], base)]
                    gain = 0.0
                    for y in range(top, base):
                        gain += row[y] * outcome_value[y]
                    if gain > most + slack:
                        most = gain
                        action[x, h] = a
            a = action[x, h]
            row = probability[x, a, _without(h, place[a], base)]
            value[x, h] = -1.0
            for y in range(base - 1):
                value[x, h] += row[y] * value[x, h + (y + 1) * place[a]]


@njit(cache=True, error_model="numpy")
@no_type_check
def trials_pass(probability, action, trials):
    """Expected number of further trials of a policy under a model of the outcomes."""
    contexts, k, reduced, base = probability.shape
    place = base ** np.arange(k)
    for h in range(reduced * base - 1, -1, -1):
        for x in range(contexts):
            trials[x, h] = 0.0
            a = action[x, h]
            if a < k:
                row = probability[x, a, _without(h, place[a], base)]
                trials[x, h] = 1.0
                for y in range(base - 1):
                    trials[x, h] += row[y] * trials[x, h + (y + 1) * place[a]]
