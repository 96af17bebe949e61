"""How a method of `dadi` does on the test rows of a fold, and means over folds with intervals.

One row per method and fold from label, group, probability and decision of each unit; then Student's
intervals over folds and the front of their means. Knows neither agents nor files.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.judge.fairness import (
    auc_interval,
    bootstrap_disparity,
    coin_at,
    contingency,
    equal_opportunity_gap,
    equalised_odds_gap,
    fold_interval,
    least_disparity,
)
from frugal.judge.fronts import non_dominated

KEYS = ("dataset", "method", "gamma", "fold")
MEASURES = (
    "auc",
    "disparity",
    "features_acquired",
    "cost",
    "equal_opportunity_gap",
    "equalised_odds_gap",
    "adversary_auc",
    "audit_auc",
    "positive_share",
)
DEGENERATE_SHARE = 0.1  # of the rarer label's share, below which the rarer decision is next to none
RANGES = {
    "features_acquired": (0.0, np.inf),
    "cost": (0.0, np.inf),
    "disparity_cut": (-1.0, 1.0),
    "coin_cut": (-1.0, 1.0),
}
SHARE = (0.0, 1.0)  # range of every other measure


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
    disparity = bootstrap_disparity(counts, resamples=resamples, level=level, rng=rng)
    return {
        "auc": auc.value,
        "auc_low": auc.low,
        "auc_high": auc.high,
        "disparity": disparity.value,
        "disparity_low": disparity.low,
        "disparity_high": disparity.high,
        "equal_opportunity_gap": float(equal_opportunity_gap(counts)),
        "equalised_odds_gap": float(equalised_odds_gap(counts)),
        "positive_share": float(decision.mean()),
        "degenerate": _rarer(decision) < DEGENERATE_SHARE * _rarer(label),
        "n": len(label),
    }


def _rarer(values: np.ndarray) -> float:
    """Share of the rarer of two values."""
    share = float(values.mean())
    return min(share, 1 - share)


def over_folds(
    table: pd.DataFrame, keys: Sequence[str], measures: Sequence[str], *, level: float
) -> pd.DataFrame:
    """Mean of each measure over folds; Student's interval, `<measure>_low`, `_high`, cut to what
    the measure can be; the range of the folds, for where they are too few for an interval, as
    `_least`, `_most`.

    Args:
        table: one row per key and fold.
        keys: columns that name a row of the result; NaN is a value like any other.
        measures: columns to be averaged; NaN in any fold gives NaN.
        level: of the intervals.
    """
    rows = []
    for key, group in table.groupby(list(keys), sort=False, dropna=False):
        row = dict(zip(keys, key if isinstance(key, tuple) else (key,), strict=True))
        ends = {f"{m}_least": group[m].min(skipna=False) for m in measures}
        ends |= {f"{m}_most": group[m].max(skipna=False) for m in measures}
        rows.append(row | _intervals(group, measures, level=level) | ends | {"folds": len(group)})
    return pd.DataFrame(rows)


def with_front(means: pd.DataFrame) -> pd.DataFrame:
    """Whether a method is on its data set's front of AUC and disparity  [dadi, fig. 2].

    A point is on the front if no other has at least its AUC and at most its disparity, and more or
    less of one. Baselines and agents compete; a degenerate one, which decides nearly all the same,
    is neither on the front nor beats another.
    """
    on_front = np.zeros(len(means), dtype=bool)
    for _, rows in means.groupby("dataset", sort=False).indices.items():
        part = means.iloc[rows]
        disparity = part["disparity"].to_numpy(dtype=np.float64)
        eligible = np.isfinite(disparity) & ~part["degenerate"].to_numpy(dtype=bool)
        on_front[np.asarray(rows)[eligible]] = non_dominated(
            disparity[eligible], part["auc"].to_numpy(dtype=np.float64)[eligible]
        )
    return means.assign(on_front=on_front)


def least_disparities(
    summary: pd.DataFrame,
    families: Mapping[str, str],
    *,
    reference: str,
    auc_slack: float,
    level: float,
) -> pd.DataFrame:
    """The fairest solution of each family that is nearly as accurate as a reference.

    Among the solutions of a family (methods, or agents by γ) whose AUC, as a mean over folds, is at
    most `auc_slack` below that of the reference: the one with the least mean disparity, plus the
    reference. `disparity_cut` is the difference, fold by fold. A solution without a score in one of
    its folds, or that decides nearly all the same there (`degenerate`), is not among them. And, to
    compare at an equal AUC, a random mixture of two solutions of the family whose AUC is
    `auc_slack` below the reference's on the line between theirs (`coin_at`). Chosen and judged on
    the same folds, so the best of many solutions looks a little fairer than it is.

    Args:
        summary: one row per data set, method, γ and fold.
        families: method → family, in the order of the result; without the reference.
        reference: the method that is compared with.
        auc_slack: AUC that may be given up.
        level: of the intervals over folds.

    Returns:
        One row per data set and family; without a solution, `method` is None and numbers are NaN.
    """
    rows = []
    for dataset, part in summary.groupby("dataset", sort=False):
        reference_rows = part[part["method"] == reference].sort_values("fold")
        reference_scores = _intervals(reference_rows, ("auc", "disparity"), level=level)
        of_reference = {f"reference_{name}": value for name, value in reference_scores.items()}
        least_auc = reference_scores["auc"] - auc_slack
        for family in dict.fromkeys(families.values()):
            names = [name for name, other in families.items() if other == family]
            members = part[part["method"].isin(names)].sort_values("fold")
            solutions = [
                solution
                for _, solution in members.groupby(["method", "gamma"], dropna=False)
                if not solution["degenerate"].any()
            ]
            auc, disparity = (
                np.array([solution[name].mean(skipna=False) for solution in solutions])
                for name in ("auc", "disparity")
            )
            best = least_disparity(auc, disparity, least_auc=least_auc)
            mixture = coin_at(auc, disparity, auc_wanted=least_auc)
            rows.append(
                {
                    "dataset": dataset,
                    "family": family,
                    "solutions": len(solutions),
                    **of_reference,
                    **_next_to(
                        None if best is None else solutions[best], reference_rows, level=level
                    ),
                    **_coin_next_to(solutions, mixture, reference_rows, level=level),
                }
            )
    texts = dict.fromkeys(("method", "coin_method", "coin_other_method"), object)
    return pd.DataFrame(rows).astype(texts)


def _next_to(
    solution: pd.DataFrame | None, reference: pd.DataFrame, *, level: float
) -> dict[str, Any]:
    """A solution, its means over folds, its cut of the reference's disparity, or differences."""
    measures = ("auc", "disparity", "disparity_cut", "features_acquired", "cost")
    if solution is None:
        named = {"method": None, "gamma": np.nan, "folds": 0}
        return named | _gaps(measures)
    first = solution.iloc[0]
    named = {"method": first["method"], "gamma": float(first["gamma"]), "folds": len(solution)}
    cut = _by_fold(reference, "disparity") - _by_fold(solution, "disparity")
    saved = solution.assign(disparity_cut=cut.reindex(solution["fold"]).to_numpy())
    return named | _intervals(saved, measures, level=level)


def _coin_next_to(
    solutions: Sequence[pd.DataFrame],
    mixture: tuple[int, int, float] | None,
    reference: pd.DataFrame,
    *,
    level: float,
) -> dict[str, Any]:
    """The two parts of a random mixture and its saving over folds, or their differences."""
    measures = ("coin_disparity", "coin_cut")
    if mixture is None:
        named = {"coin_method": None, "coin_gamma": np.nan}
        named |= {"coin_other_method": None, "coin_other_gamma": np.nan, "coin_share": np.nan}
        return named | _gaps(measures)
    first, second, share = solutions[mixture[0]], solutions[mixture[1]], mixture[2]
    disparity = share * _by_fold(second, "disparity") + (1 - share) * _by_fold(first, "disparity")
    disparity = disparity.dropna()  # a fold that one side lacks
    before = _by_fold(reference, "disparity").reindex(disparity.index)
    tossed = pd.DataFrame({"coin_disparity": disparity, "coin_cut": before - disparity})
    return {
        "coin_method": second["method"].iloc[0],
        "coin_gamma": float(second["gamma"].iloc[0]),
        "coin_other_method": first["method"].iloc[0],
        "coin_other_gamma": float(first["gamma"].iloc[0]),
        "coin_share": share,
        **_intervals(tossed, measures, level=level),
    }


def _by_fold(rows: pd.DataFrame, name: str) -> pd.Series:
    """A column of one solution, one value for each fold."""
    return rows.set_index("fold")[name]


def _gaps(measures: Sequence[str]) -> dict[str, float]:
    """The columns of `_intervals` without a number."""
    return {f"{name}{end}": np.nan for name in measures for end in ("", "_low", "_high")}


def _intervals(rows: pd.DataFrame, measures: Sequence[str], *, level: float) -> dict[str, float]:
    """Means over the rows, one for each fold, with Student's intervals."""
    columns = {}
    for measure in measures:
        least, most = RANGES.get(measure, SHARE)
        values = rows[measure].to_numpy(dtype=np.float64)
        interval = fold_interval(values, level=level, least=least, most=most)
        columns |= {
            measure: interval.value,
            f"{measure}_low": interval.low,
            f"{measure}_high": interval.high,
        }
    return columns


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
