"""Stage `check_dadi`: the tables hold what the config promised, in range; or the run stops."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.streams import Streams


def check_dadi(
    *,
    summary: pd.DataFrame,
    means: pd.DataFrame,
    selection: pd.DataFrame,
    least_disparity: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, dict[str, Any]]:
    """Count rows, check ranges, search again for the fairest of each family, weigh its coin again.

    Raises:
        DataError: the first check that fails.
    """
    del streams, progress
    wanted = {(d, m, -1.0 if g is None else float(g), f) for d, m, g, f in settings["rows"]}
    keys = summary[["dataset", "method", "gamma", "fold"]].fillna({"gamma": -1.0})
    found = set(keys.itertuples(index=False, name=None))
    if found != wanted or len(summary) != len(wanted):
        lost = sorted(wanted - found) or sorted(found - wanted)
        raise DataError(f"the dadi summary lacks or adds {len(lost)} rows, first {lost[:1]}")
    gaps = ["disparity", "equal_opportunity_gap", "equalised_odds_gap"]
    checks = {
        "an AUC is a share": summary["auc"].between(0, 1),
        "an AUC lies in its interval": summary["auc"].between(
            summary["auc_low"] - 1e-9, summary["auc_high"] + 1e-9
        ),
        "a gap is a share": ((summary[gaps] >= 0) & (summary[gaps] <= 1)) | summary[gaps].isna(),
        "costs and numbers of features are not below zero": (summary["cost"] >= 0)
        & (summary["features_acquired"] >= 0),
        "a frequency is a share": selection["frequency"].between(0, 1),
        "each data set has a front, or decisions that are nearly all alike": (
            means["on_front"] | means["degenerate"]
        )
        .groupby(means["dataset"])
        .any(),
        "no degenerate decisions are on a front": ~(means["on_front"] & means["degenerate"]),
        "no solution of a family is as accurate as asked and fairer than the one that is named": (
            _none_is_fairer(means, least_disparity, settings)
        ),
        "a coin is the one that the means give": (
            _coins_are_between(means, least_disparity, settings)
        ),
    }
    for what, holds in checks.items():
        if not np.all(holds):
            raise DataError(f"dadi: it does not hold that {what}")
    return {"checks": {"rows": len(summary), "passed": list(checks)}}


def _families(
    means: pd.DataFrame, least: pd.DataFrame, settings: Mapping[str, Any]
) -> Iterator[tuple[pd.Series, pd.DataFrame, pd.Series]]:
    """Each row of the table, with the means of its family's solutions and of the reference."""
    family = means["method"].map(dict(settings["families"]))
    for _, row in least.iterrows():
        here = means["dataset"] == row["dataset"]
        own = means[here & (family == row["family"]) & ~means["degenerate"]]
        own = own.dropna(subset=["auc", "disparity"])
        yield row, own, means[here & (means["method"] == settings["reference"])].iloc[0]


def _none_is_fairer(
    means: pd.DataFrame, least: pd.DataFrame, settings: Mapping[str, Any]
) -> list[bool]:
    """Of each data set and family: whether the table of means knows no better answer."""
    found = []
    for row, own, whole in _families(means, least, settings):
        best = own.loc[own["auc"] >= whole["auc"] - settings["auc_slack"], "disparity"].min()
        found.append(bool(np.isclose(best, row["disparity"], atol=1e-9, equal_nan=True)))
    return found


def _coins_are_between(
    means: pd.DataFrame, least: pd.DataFrame, settings: Mapping[str, Any]
) -> list[bool]:
    """Of each data set and family: whether the table of means gives the same coin, or none."""
    found = []
    for row, own, whole in _families(means, least, settings):
        wanted = whole["auc"] - settings["auc_slack"]
        unbeaten = [not _beaten(one, own) for _, one in own.iterrows()]
        front = own[np.array(unbeaten, dtype=bool)]
        below, above = front[front["auc"] < wanted], front[front["auc"] >= wanted]
        if below.empty or above.empty:
            found.append(bool(pd.isna(row["coin_share"])))
            continue
        other, side = below.loc[below["auc"].idxmax()], above.loc[above["auc"].idxmin()]
        same = _are(row["coin_method"], row["coin_gamma"], own, side)
        same &= _are(row["coin_other_method"], row["coin_other_gamma"], own, other)
        share = (wanted - other["auc"]) / (side["auc"] - other["auc"])
        line = share * side["disparity"] + (1 - share) * other["disparity"]
        numbers = row[["coin_share", "coin_disparity", "coin_cut"]].to_numpy(dtype=float)
        near = np.allclose(numbers, [share, line, whole["disparity"] - line], rtol=0, atol=1e-9)
        found.append(same and near)
    return found


def _are(method: Any, gamma: float, solutions: pd.DataFrame, one: pd.Series) -> bool:
    """Whether the solution named is this one, or another with the same accuracy and fairness."""
    at_gamma = solutions["gamma"].isna() if np.isnan(gamma) else solutions["gamma"] == gamma
    named = solutions[(solutions["method"] == method) & at_gamma]
    measures = ["auc", "disparity"]
    return len(named) == 1 and bool((named[measures].iloc[0] == one[measures]).all())


def _beaten(one: pd.Series, others: pd.DataFrame) -> bool:
    """Whether a solution is as accurate and as fair, and better in one of the two."""
    auc, gap = others["auc"], others["disparity"]
    no_worse = (auc >= one["auc"]) & (gap <= one["disparity"])
    return bool((no_worse & ((auc > one["auc"]) | (gap < one["disparity"]))).any())
