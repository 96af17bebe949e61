"""The behaviour policy of the records, imitated, and the value of its first step.

Baselines of `treatment` (Håkansson et al. 2020, sec. 6.2). They know the records only.
"""

import numpy as np
from jaxtyping import Bool, Float64, Int

from frugal.core.errors import DataError
from frugal.studies.treatment.data.records import (
    SearchPolicy,
    TrialRecords,
    check_outcome_values,
    history_count,
    insert_untried,
    require_search_memory,
)
from frugal.studies.treatment.models.outcome_counts import OutcomeCounts


def plan_emulated(
    counts: OutcomeCounts, *, outcome_value: Float64[np.ndarray, " y"], memory_gib: float
) -> SearchPolicy:
    """The action most often taken after each history; stops at the best outcome only.

    "Emulated doctor" [treatment, sec. 6.2]. Where no record has the history, the reading here is
    the untried action that was most often taken in that context, then the one most often taken at
    all. Ties go to the lowest index.

    Args:
        counts: trials by context, action and history.
        outcome_value: value of each outcome, ascending. (y,)
        memory_gib: limit of all tables of the search.

    Returns:
        The policy; value and statistic are NaN.

    Raises:
        SearchSizeError: the tables would take more than `memory_gib`.
        ConfigError: outcome values that do not ascend.
    """
    k, base = counts.n_actions, counts.n_outcomes
    check_outcome_values(outcome_value, base)
    require_search_memory(
        n_contexts=counts.n_contexts, n_actions=k, n_outcomes=base, memory_gib=memory_gib
    )
    total = counts.count.sum(axis=1)
    overall = np.bincount(counts.action, weights=total, minlength=k)
    by_context = np.zeros((counts.n_contexts, k))
    np.add.at(by_context, (counts.context, counts.action), total)
    action = np.full((counts.n_contexts, history_count(k, base)), k, dtype=np.int8)
    for x in range(counts.n_contexts):
        least_first = np.lexsort((-np.arange(k), overall, by_context[x]))
        for a in least_first:
            action[x, _untried(int(a), k, base)] = a
    order = np.lexsort((-counts.action, total))  # the last to be written is the most frequent
    history = insert_untried(counts.history, counts.action, base)
    action[counts.context[order], history[order]] = counts.action[order]
    nothing = np.full(action.shape, np.nan)
    return SearchPolicy(action, nothing, nothing, outcome_value, k)


def _untried(action: int, n_actions: int, n_outcomes: int) -> Bool[np.ndarray, " h"]:
    """True for histories without that action. (h,)"""
    place = n_outcomes**action
    block = np.repeat(np.arange(n_outcomes) == 0, place)
    return np.tile(block, n_outcomes ** (n_actions - action - 1))


def first_step_outcome(
    records: TrialRecords, *, outcome_value: Float64[np.ndarray, " y"]
) -> tuple[float, float]:
    """Mean outcome of the first trial of the records, and its standard error.

    "Doctor" [treatment, sec. 6.2]: later trials are seen for the units that needed them and were
    not censored, so only the first is comparable with a policy.

    Args:
        records: earlier searches.
        outcome_value: value of each outcome, ascending. (y,)

    Returns:
        Mean and standard error, unit of the outcome.

    Raises:
        DataError: fewer than two units have a trial.
    """
    first: Int[np.ndarray, " m"] = records.outcome[records.outcome[:, 0] >= 0, 0]
    if len(first) < 2:
        raise DataError(f"{len(first)} units have a trial; a standard error needs at least 2")
    outcome = outcome_value[first]
    return float(outcome.mean()), float(outcome.std(ddof=1) / np.sqrt(len(outcome)))
