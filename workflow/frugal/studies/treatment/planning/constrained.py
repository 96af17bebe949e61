"""Planners that promise near-optimality: exact dynamic programming, and greedy.

The two algorithms of `treatment` (Håkansson et al. 2020). They know a model of the outcomes and the
stopping statistic; they must not know where either came from.
"""

from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float64, Int64
from numba import njit

from frugal.core.errors import ConfigError
from frugal.studies.treatment.data.records import OutcomeTable, SearchPolicy, history_count

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


def plan_constrained(
    table: OutcomeTable,
    statistic: Float64[np.ndarray, "x h"],
    *,
    delta: float,
    alpha: float,
    stop_rule: str,
    ties: str,
) -> SearchPolicy:
    """Shortest expected search that stops near-optimally, "CDP".    [treatment, eqs. 6, 7; thm. 3]

        Q(h, a) = −1 + Σ_y p(Y(a) = y | h) V(h ∪ {(a, y)}),   Q(h, stop) = 0 if γ(h) else −∞
        V(h) = max Q(h, ·),   E[T] = −V(x, ∅)

    Exact under its model: the recursion runs over every history, backwards.

    Args:
        table: model of the outcomes.
        statistic: ρ(h) or a bound on it, see `stopping_statistic`.
        delta: confidence parameter δ ≥ 0.
        alpha: sensitivity parameter α ≥ 1.
        stop_rule: `<=` or `<`.
        ties: among equally short searches, the first trial is that of the lowest index, later ones
            are the most likely to improve (`improving`, the release) or the lowest (`lowest`).

    Returns:
        The policy; its value is minus the expected number of further trials.

    Raises:
        ConfigError: see `may_stop`; unknown tie rule.
    """
    allowed = may_stop(
        statistic,
        n_actions=table.n_actions,
        n_outcomes=table.n_outcomes,
        delta=delta,
        alpha=alpha,
        stop_rule=stop_rule,
    )
    stop_reward = np.where(allowed, 0.0, -np.inf)
    return backward_induction(
        table, statistic, stop_reward=stop_reward, step_cost=1.0, best_reward=0.0, ties=ties
    )


def backward_induction(
    table: OutcomeTable,
    statistic: Float64[np.ndarray, "x h"],
    *,
    stop_reward: Float64[np.ndarray, "x h"],
    step_cost: float,
    best_reward: float,
    ties: str,
) -> SearchPolicy:
    """Policy of largest expected return for given rewards of stopping.      [treatment, eq. 6]

    Args:
        table: model of the outcomes.
        statistic: kept with the policy for its reader; not used here.
        stop_reward: reward of stopping at each history, −∞ where it is forbidden. (x, h)
        step_cost: of each trial.
        best_reward: of stopping once the best outcome is reached.
        ties: see `plan_constrained`.

    Returns:
        The policy; its value is the expected return.

    Raises:
        ConfigError: unknown tie rule.
    """
    if ties not in ("improving", "lowest"):
        raise ConfigError(f"the tie rule is {ties!r}; allowed are improving and lowest")
    value = np.empty_like(stop_reward)
    action = np.empty(stop_reward.shape, dtype=np.int8)
    optimal_pass(
        table.probability,
        stop_reward,
        float(step_cost),
        float(best_reward),
        SLACK,
        ties == "improving",
        value,
        action,
    )
    return SearchPolicy(action, value, statistic, table.outcome_value, table.n_actions)


def plan_greedy(
    table: OutcomeTable,
    statistic: Float64[np.ndarray, "x h"],
    *,
    delta: float,
    alpha: float,
    stop_rule: str,
) -> SearchPolicy:
    """Always the most promising action, until the search may stop, "CG".  [treatment, eqs. 8, 9]

        f(h, a) = E[1{Y(a) > μ(h)} Y(a) | h],   π(h) = stop if γ(h), else argmax over untried a

    Ties go to the lowest index.

    Args:
        table: model of the outcomes; outcomes are weighted by their value.
        statistic: ρ(h) or a bound on it, see `stopping_statistic`.
        delta: confidence parameter δ ≥ 0.
        alpha: sensitivity parameter α ≥ 1.
        stop_rule: `<=` or `<`.

    Returns:
        The policy; its value is minus the expected number of further trials under the model.

    Raises:
        ConfigError: see `may_stop`.
    """
    allowed = may_stop(
        statistic,
        n_actions=table.n_actions,
        n_outcomes=table.n_outcomes,
        delta=delta,
        alpha=alpha,
        stop_rule=stop_rule,
    )
    value = np.empty_like(statistic)
    action = np.empty(statistic.shape, dtype=np.int8)
    greedy_pass(table.probability, table.outcome_value, allowed, SLACK, value, action)
    return SearchPolicy(action, value, statistic, table.outcome_value, table.n_actions)


SLACK = 1e-12  # of a comparison between sums of probabilities that are equal on paper


def stopping_statistic(
    table: OutcomeTable, *, bound: str, epsilon: float
) -> Float64[np.ndarray, "x h"]:
    """ρ(h): probability that an untried action is better by more than ε.  [treatment, eq. 2]

        exact   Pr[maxₐ Y(a) > μ(h) + ε | h]                         [treatment, eq. 4]
        upper   Σₐ p(Y(a) > μ(h) + ε | h)                            [treatment, eqs. 10, S2]
        lower   maxₐ p(Y(a) > μ(h) + ε | h)                          [treatment, eq. S2]

    Where the model is coherent, the conditional distribution of one joint distribution of all
    outcomes, lower ≤ exact ≤ upper. A table estimated cell by cell is not: there the names state
    how the numbers are made, and neither bounds anything.

    a runs over untried actions, μ(h) is the best outcome so far, μ(∅) = −∞. The upper bound is not
    cut off at 1. The exact statistic is the mean of eq. 4 over all orders of the remaining actions:
    under a true model all orders agree, under an estimated one they do not.

    Args:
        table: model of the outcomes.
        bound: which of the three.
        epsilon: slack ε ≥ 0, unit of the outcome.

    Returns:
        One number per context and history; at the empty history the k, 1 and 1 of the convention.

    Raises:
        ConfigError: unknown bound or negative ε.
    """
    if bound not in ("upper", "lower", "exact"):
        raise ConfigError(f"the stopping bound is {bound!r}; allowed are upper, lower and exact")
    if not epsilon >= 0:
        raise ConfigError(f"epsilon is {epsilon}; it must be ≥ 0, in the unit of the outcome")
    level = _levels(table.outcome_value, epsilon)
    shape = (table.n_contexts, history_count(table.n_actions, table.n_outcomes))
    statistic = np.zeros(shape)
    statistic[:, 0] = table.n_actions if bound == "upper" else 1.0
    if bound == "exact":
        none_better = np.empty(shape)
        for limit in np.unique(level[level < table.n_outcomes - 1]):
            exact_pass(table.probability, level, limit, none_better, statistic)
    else:
        kind = UPPER if bound == "upper" else LOWER
        bound_pass(table.probability, level, kind, statistic)
    return statistic


def _levels(outcome_value: Float64[np.ndarray, " y"], epsilon: float) -> Int64[np.ndarray, " y"]:
    """Index of the largest outcome that is not better than each outcome by more than ε. (y,)"""
    return np.searchsorted(outcome_value, outcome_value + epsilon + SLACK, side="right") - 1


def rule_for(bound: str, *, stop_rule: str) -> str:
    """The comparison that a setting means for one of the statistics.    [treatment, sec. 5.1]

    Args:
        bound: `upper`, `lower` or `exact`.
        stop_rule: `<=` or `<` for all of them; `release`: the rule of the authors' program,
            `<` for the two bounds and `<=` for the exact statistic.

    Raises:
        ConfigError: the setting is none of the three.
    """
    if stop_rule not in ("<=", "<", "release"):
        raise ConfigError(f"the stop rule is {stop_rule!r}; allowed are <=, < and release")
    if stop_rule != "release":
        return stop_rule
    return "<=" if bound == "exact" else "<"


def may_stop(
    statistic: Float64[np.ndarray, "x h"],
    *,
    n_actions: int,
    n_outcomes: int,
    delta: float,
    alpha: float,
    stop_rule: str,
) -> Bool[np.ndarray, "x h"]:
    """γ(h): a near-optimal action has been found with enough certainty.    [treatment, eq. 7]

        γ(h) = 1[ρ(h) ≤ δ/α]   or   1[ρ(h) < δ/α]              [treatment, eq. 1; sec. 5.1]

    α ≥ 1 bounds the influence of unmeasured confounding on the treatments    [treatment, thm. 2].
    A search in which everything was tried may stop under either rule; one that has not begun may
    not: with δ ≥ 1 the definition would end it before its first trial (a reading; the release does
    the same).

    Args:
        statistic: ρ(h) or a bound on it.
        n_actions: k.
        n_outcomes: |Y|.
        delta: confidence parameter δ ≥ 0.
        alpha: sensitivity parameter; 1 means no unmeasured confounding.
        stop_rule: `<=` as in the problem's statement, `<` as in γ and for bounds in the release.

    Returns:
        True where stopping is allowed.

    Raises:
        ConfigError: negative δ, α below 1, or an unknown rule.
    """
    if not delta >= 0 or not alpha >= 1:
        raise ConfigError(f"delta is {delta} and alpha {alpha}; they must be ≥ 0 and ≥ 1")
    if stop_rule not in ("<=", "<"):
        raise ConfigError(f"the stop rule is {stop_rule!r}; allowed are <= and <")
    limit = delta / alpha
    allowed = statistic <= limit + SLACK if stop_rule == "<=" else statistic < limit - SLACK
    allowed[:, 0] = False
    allowed[:, _complete(n_actions, n_outcomes)] = True
    return allowed


def _complete(n_actions: int, n_outcomes: int) -> Int64[np.ndarray, " c"]:
    """Histories in which every action was tried. ((|Y| − 1)^k,)"""
    index = np.zeros(1, dtype=np.int64)
    for a in range(n_actions):
        index = (index + np.arange(1, n_outcomes)[:, None] * n_outcomes**a).ravel()
    return index
