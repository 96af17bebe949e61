"""A search policy as a table for people: after this history, that action.

Every learned policy of `treatment` can be opened as such a table. It must not know how the policy
was planned or how it fares.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool

from frugal.contracts.errors import ConfigError
from frugal.contracts.search import SearchPolicy

COLUMNS = {
    "context": "covariates x of the unit",
    "history_index": "index of the history; 0 is empty",
    "history": "tried actions with their outcomes, in the order of actions, not of trials",
    "trials": "number of tried actions",
    "best": "best outcome so far; empty if nothing was tried",
    "action": "what to do next: an action's name, or stop",
    "value": "expected return from here; for cdp and cg minus the expected number of trials left",
    "stop_statistic": "bound on, or estimate of, the probability that an untried action is better",
}


def policy_frame(
    policy: SearchPolicy,
    *,
    contexts: Sequence[str],
    actions: Sequence[str],
    outcomes: Sequence[str],
    reachable_only: bool,
) -> pd.DataFrame:
    """One row per context and history, sorted; the columns are described in `COLUMNS`.

    Histories with the best outcome have no row: there every search ends.

    Args:
        policy: to be shown.
        contexts: name of each context.
        actions: name of each action.
        outcomes: name of each outcome, worst first.
        reachable_only: leave out histories that the policy itself never comes to.

    Returns:
        The table.

    Raises:
        ConfigError: the names are not one for each context, action and outcome.
    """
    found = (len(contexts), len(actions), len(outcomes))
    wanted = (len(policy.action), policy.n_actions, policy.n_outcomes)
    if found != wanted:
        raise ConfigError(
            f"there are names for {found} contexts, actions and outcomes; the policy has {wanted}"
        )
    shown = reachable(policy) if reachable_only else np.ones(policy.action.shape, dtype=bool)
    x, h = np.nonzero(shown)
    tried = policy.outcomes_tried[h]
    best = np.append(np.asarray(outcomes, dtype=object), "")[tried.max(axis=1)]
    return pd.DataFrame(
        {
            "context": np.asarray(contexts, dtype=object)[x],
            "history_index": h,
            "history": _history_names(policy, h, actions, outcomes),
            "trials": (tried >= 0).sum(axis=1),
            "best": best,
            "action": np.append(np.asarray(actions, dtype=object), "stop")[policy.action[x, h]],
            "value": policy.value[x, h],
            "stop_statistic": policy.statistic[x, h],
        },
        columns=list(COLUMNS),
    )


def _history_names(
    policy: SearchPolicy, index: np.ndarray, actions: Sequence[str], outcomes: Sequence[str]
) -> np.ndarray:
    """`gentamicin: R, cefepime: I` for each history; empty for the empty one."""
    distinct, inverse = np.unique(index, return_inverse=True)
    names = [
        ", ".join(f"{actions[a]}: {outcomes[y]}" for a, y in enumerate(row) if y >= 0)
        for row in policy.outcomes_tried[distinct].tolist()
    ]
    return np.asarray(names, dtype=object)[inverse]


def reachable(policy: SearchPolicy) -> Bool[np.ndarray, "x h"]:
    """True for histories that a search under the policy can come to, in each context. (x, h)"""
    k, base = policy.n_actions, policy.n_outcomes
    result = np.zeros(policy.action.shape, dtype=bool)
    x, h = np.arange(len(result)), np.zeros(len(result), dtype=np.int64)
    while len(x):
        result[x, h] = True
        action = policy.action[x, h].astype(np.int64)
        going = action < k
        x, h, place = x[going], h[going], base ** action[going]
        h = (h[:, None] + place[:, None] * np.arange(1, base)).ravel()
        x = np.repeat(x, base - 1)
        x, h = np.unique(np.stack([x, h]), axis=1)  # two outcomes may lead to one history only once
    return result
