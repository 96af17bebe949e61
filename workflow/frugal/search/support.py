"""What stands behind each step of a search policy: records, and what else could be tried.

Serves tables and words of `treatment`. Knows policies and records; must not know how either came
to be.
"""

import numpy as np
from jaxtyping import Float, Int

from frugal.search.off_policy import model_value
from frugal.search.outcome_counts import OutcomeCounts
from frugal.search.records import OutcomeTable, SearchPolicy, history_count, outcomes_of


def records_behind(counts: OutcomeCounts, *, contexts: int) -> Float[np.ndarray, "x h a"]:
    """How many records came to each history, as a set, and tried each action next. (x, h, a)"""
    k, base = counts.n_actions, counts.n_outcomes
    behind = np.zeros((contexts, history_count(k, base), k))
    power = base ** counts.action.astype(np.int64)
    history = counts.history // power * (power * base) + counts.history % power
    np.add.at(behind, (counts.context, history, counts.action), counts.count.sum(axis=1))
    return behind


def trials_left(policy: SearchPolicy, table: OutcomeTable) -> Float[np.ndarray, "x h"]:
    """Expected trials of the policy from every history on, by a model of the outcomes. (x, h)"""
    return model_value(table, policy, step=1.0, end=np.zeros(policy.n_outcomes))


def step_values(
    policy: SearchPolicy,
    table: OutcomeTable,
    trials: Float[np.ndarray, "x h"],
    x: Int[np.ndarray, " m"],
    h: Int[np.ndarray, " m"],
) -> Float[np.ndarray, "m a"]:
    """Expected trials left, this one counted, if an action is tried next and the policy goes on.

    By a model of the outcomes and its `trials_left`; NaN for actions that were tried. (m, a)
    """
    k, base = policy.n_actions, policy.n_outcomes
    tried = outcomes_of(h, k, base) >= 0
    values = np.full((len(h), k), np.nan)
    for a in range(k):
        power = base**a
        law = table.probability[x, a, h // (power * base) * power + h % power]
        later = trials[
            x[:, None], np.where(tried[:, [a]], 0, h[:, None] + power * np.arange(1, base))
        ]
        values[:, a] = np.where(tried[:, a], np.nan, 1 + (law[:, :-1] * later).sum(axis=1))
    return values
