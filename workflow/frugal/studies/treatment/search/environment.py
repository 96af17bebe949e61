"""A search policy played against units whose every outcome is known, all units at once.

The evaluation of `treatment` (Håkansson et al. 2020, sec. 6). Outcomes do not change over time, so
a table of potential outcomes is the whole environment. It must not know how a policy was planned.
"""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Bool, Float64, Int
from numba import njit

from frugal.core.errors import DataError
from frugal.studies.treatment.data.records import SearchPolicy


@dataclass(frozen=True, eq=False)
class SearchOutcome:
    """Finished searches. Shapes: n units, a actions.

    Attributes:
        action: actions in the order of trial, −1 after the last. (n, a)
        trials: T, how many were tried. (n,)
        best: index of the best outcome found; −1 if nothing was tried. (n,)
        best_after: best outcome index after 1 … k trials; a finished search keeps its own. (n, a)
    """

    action: Int[np.ndarray, "n a"]
    trials: Int[np.ndarray, " n"]
    best: Int[np.ndarray, " n"]
    best_after: Int[np.ndarray, "n a"]


@njit(cache=True, error_model="numpy")
@no_type_check
def _play(policy, context, outcome, base, action, trials, best, best_after):
    """Follow the table for each unit until it stops or the best outcome is reached."""
    n, k = outcome.shape
    place = base ** np.arange(k)
    for i in range(n):
        h = 0
        t = 0
        top = -1
        while t < k and top < base - 1:
            a = policy[context[i], h]
            if a == k:
                break
            y = outcome[i, a]
            action[i, t] = a
            top = max(top, y)
            best_after[i, t] = top
            h += (y + 1) * place[a]
            t += 1
        trials[i] = t
        best[i] = top
        best_after[i, t:] = top


def play_policy(
    policy: SearchPolicy, *, context: Int[np.ndarray, " n"], outcome: Int[np.ndarray, "n a"]
) -> SearchOutcome:
    """One search per unit.                                             [treatment, sec. 6]

    Args:
        policy: next treatments.
        context: index of the covariates. (n,)
        outcome: index of every potential outcome. (n, a)

    Returns:
        Treatments tried, the number of trials and the best outcome found.

    Raises:
        DataError: units have other actions, outcomes or contexts than the policy.
    """
    n, k = outcome.shape
    contexts, base = policy.action.shape[0], policy.n_outcomes
    if k != policy.n_actions:
        raise DataError(f"units have {k} outcomes each, the policy has {policy.n_actions} actions")
    if n and (outcome.min() < 0 or outcome.max() >= base):
        raise DataError(f"outcomes are {outcome.min()} … {outcome.max()}, allowed 0 … {base - 1}")
    if n and (context.min() < 0 or context.max() >= contexts):
        raise DataError(
            f"contexts are {context.min()} … {context.max()}, the policy has 0 … {contexts - 1}"
        )
    action = np.full((n, k), -1, dtype=np.int64)
    best_after = np.full((n, k), -1, dtype=np.int64)
    trials, best = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    _play(policy.action, context, outcome, base, action, trials, best, best_after)
    return SearchOutcome(action, trials, best, best_after)


def found_near_optimal(
    best: Int[np.ndarray, " n"],
    outcome: Int[np.ndarray, "n a"],
    *,
    outcome_value: Float64[np.ndarray, " y"],
    epsilon: float,
) -> Bool[np.ndarray, " n"]:
    """True where no action of the unit is better than the best outcome found by more than ε.

        maxₐ Y(a) ≤ max found + ε                             [treatment, eq. 1; efficacy, sec. 6]

    Args:
        best: index of the best outcome found, −1 for none. (n,)
        outcome: index of every potential outcome. (n, a)
        outcome_value: value of each outcome, ascending. (y,)
        epsilon: slack ε ≥ 0, unit of the outcome.

    Returns:
        One answer per unit; False if nothing was tried.
    """
    rounding = 1e-12
    value = np.append(outcome_value, -np.inf)[best]
    return outcome_value[outcome.max(axis=1)] <= value + epsilon + rounding
