"""Planners that promise near-optimality: exact dynamic programming, and greedy.

The two algorithms of `treatment` (Håkansson et al. 2020). They know a model of the outcomes and the
stopping statistic; they must not know where either came from.
"""

import numpy as np
from jaxtyping import Float64

from frugal.core.errors import ConfigError
from frugal.search.planning.kernels import greedy_pass, optimal_pass, trials_pass
from frugal.search.planning.stopping import SLACK, may_stop
from frugal.search.records import OutcomeTable, SearchPolicy


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


def expected_trials(table: OutcomeTable, policy: SearchPolicy) -> Float64[np.ndarray, " x"]:
    """E[T | x] of any policy if outcomes follow the model.                [treatment, eq. 1]

    Args:
        table: model of the outcomes; it may be another than the one the policy was planned with.
        policy: to be judged; same contexts, actions and outcomes.

    Returns:
        Expected number of trials by context. (x,)

    Raises:
        ConfigError: the policy is for other contexts, actions or outcomes.
    """
    trials = np.empty(policy.action.shape)
    expected = (table.n_contexts, table.n_outcomes**table.n_actions)
    if policy.action.shape != expected or policy.n_actions != table.n_actions:
        raise ConfigError(
            f"the policy has {policy.action.shape} contexts and histories, the model {expected}"
        )
    trials_pass(table.probability, policy.action, trials)
    return trials[:, 0]
