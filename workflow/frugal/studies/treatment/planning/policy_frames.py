"""A search policy as a table for people: after this history, that action.

Every learned policy of `treatment` can be opened as such a table. It must not know how the policy
was planned or how it fares.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool

from frugal.studies.treatment.data.records import SearchPolicy, history_count, outcomes_of


def policy_cells(policy: SearchPolicy, *, reachable_only: bool) -> dict[str, np.ndarray]:
    """One entry per context and history without the best outcome, sorted, as numbers.

    Args:
        policy: to be kept.
        reachable_only: leave out histories that the policy itself never comes to.

    Returns:
        context, history_index, action (k for "stop"), value, better_untried.
    """
    shown = reachable(policy) if reachable_only else np.ones(policy.action.shape, dtype=bool)
    x, h = np.nonzero(shown)
    return {
        "context": x,
        "history_index": h,
        "action": policy.action[x, h],
        "value": policy.value[x, h],
        "better_untried": np.where(h > 0, policy.statistic[x, h], np.nan),
    }


def name_cells(
    cells: Mapping[str, np.ndarray],
    *,
    contexts: Sequence[str],
    actions: Sequence[str],
    outcomes: Sequence[str],
) -> pd.DataFrame:
    """Cells of any number of policies with names for their numbers, in the same order."""
    distinct, inverse = np.unique(cells["history_index"], return_inverse=True)
    tried = outcomes_of(distinct, len(actions), len(outcomes))
    history = [
        ", ".join(f"{actions[a]}: {outcomes[y]}" for a, y in enumerate(row) if y >= 0)
        for row in tried.tolist()
    ]
    best = np.append(np.asarray(outcomes, dtype=object), "")[tried.max(axis=1)]
    return pd.DataFrame(
        {
            "context": np.asarray(contexts, dtype=object)[cells["context"]],
            "history_index": cells["history_index"],
            "history": np.asarray(history, dtype=object)[inverse],
            "trials": (tried >= 0).sum(axis=1)[inverse],
            "best": best[inverse],
            "action": np.append(np.asarray(actions, dtype=object), "stop")[cells["action"]],
            "value": cells["value"],
            "better_untried": cells["better_untried"],
        }
    )


def reachable(policy: SearchPolicy) -> Bool[np.ndarray, "x h"]:
    """True for histories that a search under the policy can come to, in each context. (x, h)"""
    k, base = policy.n_actions, policy.n_outcomes
    histories = history_count(k, base)
    result = np.zeros(policy.action.shape, dtype=bool)
    x, h = np.arange(len(result)), np.zeros(len(result), dtype=np.int64)
    while len(x):
        result[x, h] = True
        action = policy.action[x, h].astype(np.int64)
        going = action < k
        x, h, place = x[going], h[going], base ** action[going]
        h = (h[:, None] + place[:, None] * np.arange(1, base)).ravel()
        cell = np.unique(np.repeat(x, base - 1) * histories + h)  # two ways to one history
        x, h = np.divmod(cell, histories)
    return result
