"""When a search may stop: the statistic ρ(h), its bounds, and the rule applied to it.

Part of `treatment` (Håkansson et al. 2020). Knows a model of the outcomes; it must not know how the
next action is chosen.
"""

import numpy as np
from jaxtyping import Bool, Float64, Int64

from frugal.core.errors import ConfigError
from frugal.search.planning.kernels import LOWER, UPPER, bound_pass, exact_pass
from frugal.search.records import OutcomeTable, history_count

SLACK = 1e-12  # of a comparison between sums of probabilities that are equal on paper


def stopping_statistic(
    table: OutcomeTable, *, bound: str, epsilon: float
) -> Float64[np.ndarray, "x h"]:
    """ρ(h): probability that an untried action is better by more than ε.  [treatment, eq. 2]

        exact   Pr[maxₐ Y(a) > μ(h) + ε | h]                         [treatment, eq. 4]
        upper   Σₐ p(Y(a) > μ(h) + ε | h)                            [treatment, eqs. 10, S2]
        lower   maxₐ p(Y(a) > μ(h) + ε | h)                          [treatment, eq. S2]

    Where the model is coherent, the conditional law of one joint law of all outcomes, lower ≤ exact
    ≤ upper. A table estimated cell by cell is not: there the names say how the numbers are made,
    and neither bounds anything.

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
        stop_rule: `<=` or `<` for all of them; `release`: what the authors' program compares with,
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

    α ≥ 1 bounds the influence of unmeasured confounding on what was tried    [treatment, thm. 2].
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
