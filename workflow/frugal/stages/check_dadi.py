"""Stage `check_dadi`: the tables hold what the config promised, in range; or the run stops."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.contracts import DataError, Streams


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
        "each data set has a front": means.groupby("dataset")["on_front"].any(),
        "no solution of a family is as accurate as asked and fairer than the one that is named": (
            _none_is_fairer(means, least_disparity, settings)
        ),
        "a coin has the AUC asked and the disparity of its sides": (
            _coins_are_between(means, least_disparity, settings)
        ),
    }
    for what, holds in checks.items():
        if not np.all(holds):
            raise DataError(f"dadi: it does not hold that {what}")
    return {"checks": {"rows": len(summary), "passed": list(checks)}}


def _none_is_fairer(
    means: pd.DataFrame, least: pd.DataFrame, settings: Mapping[str, Any]
) -> list[bool]:
    """Of each data set and family: whether the table of means knows no better answer."""
    family = means["method"].map(dict(settings["families"]))
    found = []
    for _, row in least.iterrows():
        here = means["dataset"] == row["dataset"]
        auc = means.loc[here & (means["method"] == settings["reference"]), "auc"].item()
        enough = means["auc"] >= auc - settings["auc_slack"]
        best = means.loc[here & enough & (family == row["family"]), "disparity"].min()
        found.append(bool(np.isclose(best, row["disparity"], atol=1e-9, equal_nan=True)))
    return found


def _coins_are_between(
    means: pd.DataFrame, least: pd.DataFrame, settings: Mapping[str, Any]
) -> list[bool]:
    """Of each coin: whether the table of means gives the AUC asked and the disparity said."""
    at = means.fillna({"gamma": -1.0}).set_index(["dataset", "method", "gamma"])
    found = []
    for _, row in least.fillna({"coin_gamma": -1.0, "coin_other_gamma": -1.0}).iterrows():
        if pd.isna(row["coin_share"]):
            continue
        measures = ["auc", "disparity"]
        side = at.loc[(row["dataset"], row["coin_method"], row["coin_gamma"]), measures]
        other = at.loc[
            (row["dataset"], row["coin_other_method"], row["coin_other_gamma"]), measures
        ]
        auc = at.loc[(row["dataset"], settings["reference"], -1.0), "auc"]
        line = row["coin_share"] * side + (1 - row["coin_share"]) * other
        said = [auc - settings["auc_slack"], row["coin_disparity"]]
        found.append(bool(np.allclose(line.to_numpy(dtype=float), said, atol=1e-9)))
    return found
