"""Means over realisations or splits of a comparison of planners, with their standard errors.

Part of `treatment` (Håkansson et al. 2020, sec. 6). Takes tidy rows and returns tidy rows; it must
not know how they were made.
"""

from collections.abc import Sequence

import pandas as pd

from frugal.core.errors import DataError

MEASURES = ("efficacy", "mean_trials", "mean_outcome")
IDENTITY = ("planner", "outcome_model", "bound", "threshold")


def summarise_searches(rows: pd.DataFrame, *, repeat: str, by: Sequence[str]) -> pd.DataFrame:
    """Mean, standard error and variance over repeats of each policy.    [treatment, sec. C.1.1]

        se = sqrt(σ̂²/m),   σ̂² = Σ (xᵢ − x̄)²/(m − 1)

    Args:
        rows: scores of `search_repeat`, with a column for the repeat.
        repeat: name of that column, for example `realisation` or `split`.
        by: further columns that identify policies, for example `n_train`.

    Returns:
        One row per policy: the columns of `by`, planner, outcome_model, bound, threshold, repeats;
        for each of `MEASURES` its mean, `…_se` and `…_variance` (NaN for a single repeat);
        `worst_case`, the most trials in any repeat. Nothing is left out of a mean: it is NaN where
        a repeat is, as `mean_outcome` of ndp where a trial costs too much.

    Raises:
        DataError: a policy occurs twice in one repeat.
    """
    identity = [*by, *IDENTITY]
    twice = rows.duplicated([*identity, repeat])
    if twice.any():
        raise DataError(
            f"{int(twice.sum())} rows repeat a policy within one {repeat}; each may occur once"
        )
    grouped = rows.groupby(identity, dropna=False, sort=True)
    result = grouped.agg(repeats=(repeat, "nunique"), worst_case=("worst_case", "max"))
    for measure in MEASURES:
        result[measure] = grouped[measure].mean(skipna=False)
        result[f"{measure}_se"] = grouped[measure].sem(skipna=False)
        result[f"{measure}_variance"] = grouped[measure].var(skipna=False)
    return result.reset_index()


def best_so_far(best_after: pd.DataFrame, *, repeat: str, by: Sequence[str]) -> pd.DataFrame:
    """Mean best outcome after each number of trials, over repeats.         [treatment, fig. 3a]

    Args:
        best_after: one row per policy, repeat and number of `trials`, with `outcome`: the mean
            value of the best outcome after that many trials, or at termination if earlier.
        repeat: name of the column of repeats.
        by: columns that identify policies.

    Returns:
        One row per policy and number of trials: mean, `outcome_se`, repeats; NaN where a repeat is.
    """
    grouped = best_after.groupby([*by, "trials"], dropna=False, sort=True)
    result = grouped.agg(repeats=(repeat, "nunique"))
    result["outcome"] = grouped["outcome"].mean(skipna=False)
    result["outcome_se"] = grouped["outcome"].sem(skipna=False)
    return result.reset_index()
