"""How a method of `dadi` does on the test rows of a fold, and means over folds with intervals.

One row per method and fold from label, group, probability and decision of each unit; then Student's
intervals over folds and the front of their means. Knows neither agents nor files.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.evaluation.fairness import (
    auc_interval,
    bootstrap_disparity,
    contingency,
    equal_opportunity_gap,
    equalised_odds_gap,
    fold_interval,
)
from frugal.evaluation.fronts import non_dominated

KEYS = ("dataset", "method", "gamma", "fold")
MEASURES = (
    "auc", "disparity", "features_acquired", "cost", "equal_opportunity_gap",
    "equalised_odds_gap", "adversary_auc", "audit_auc",
)  # fmt: skip


def fairness_row(
    label: Int[np.ndarray, " n"],
    sensitive: Int[np.ndarray, " n"],
    probability: Float[np.ndarray, " n"],
    decision: Bool[np.ndarray, " n"],
    *,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Accuracy and fairness of one method on one fold, with intervals over rows.

    Args:
        label: y. (n,)
        sensitive: b. (n,)
        probability: P(y = 1). (n,)
        decision: ŷ. (n,)
        level: of the intervals.
        resamples: of the bootstrap.
        rng: draws the resamples.
    """
    counts = contingency(label, sensitive, decision)
    auc = auc_interval(label, probability, level=level)
    gap = bootstrap_disparity(counts, resamples=resamples, level=level, rng=rng)
    return {
        "auc": auc.value,
        "auc_low": auc.low,
        "auc_high": auc.high,
        "disparity": gap.value,
        "disparity_low": gap.low,
        "disparity_high": gap.high,
        "equal_opportunity_gap": float(equal_opportunity_gap(counts)),
        "equalised_odds_gap": float(equalised_odds_gap(counts)),
        "positive_share": float(decision.mean()),
        "n": len(label),
    }


def over_folds(
    table: pd.DataFrame, keys: Sequence[str], measures: Sequence[str], *, level: float
) -> pd.DataFrame:
    """Mean of each measure over folds, with Student's interval as `<measure>_low`, `_high`.

    Args:
        table: one row per key and fold.
        keys: columns that name a row of the result; NaN is a value like any other.
        measures: columns to be averaged; NaN in any fold gives NaN.
        level: of the intervals.
    """
    rows = []
    for key, group in table.groupby(list(keys), sort=False, dropna=False):
        row = dict(zip(keys, key if isinstance(key, tuple) else (key,), strict=True))
        for measure in measures:
            found = fold_interval(group[measure].to_numpy(dtype=np.float64), level=level)
            row |= {
                measure: found.value,
                f"{measure}_low": found.low,
                f"{measure}_high": found.high,
            }
        rows.append(row | {"folds": len(group)})
    return pd.DataFrame(rows)


def with_front(means: pd.DataFrame) -> pd.DataFrame:
    """Whether a method is on its data set's front of AUC and disparity  [dadi, fig. 2].

    A point is on the front if no other has at least its AUC and at most its disparity, and more or
    less of one. Baselines and agents compete.
    """
    on_front = np.zeros(len(means), dtype=bool)
    for _, rows in means.groupby("dataset", sort=False).indices.items():
        part = means.iloc[rows]
        disparity = part["disparity"].to_numpy(dtype=np.float64)
        known = np.isfinite(disparity)
        on_front[np.asarray(rows)[known]] = non_dominated(
            disparity[known], part["auc"].to_numpy(dtype=np.float64)[known]
        )
    return means.assign(on_front=on_front)


def selection_rows(
    episodes: pd.DataFrame, panels: Mapping[str, str], by: Sequence[str]
) -> pd.DataFrame:
    """Share of units for which each panel is acquired, by agent and stratum  [dadi, fig. 3].

    Args:
        episodes: one row per unit, with the columns `by` and one 0/1 column per panel.
        panels: column → name of the panel.
        by: columns that name agent and stratum.
    """
    means = episodes.groupby(list(by), sort=False)[list(panels)].mean().reset_index()
    long = means.melt(id_vars=list(by), var_name="panel", value_name="frequency")
    return long.assign(panel=long["panel"].map(dict(panels)))
