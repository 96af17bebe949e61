"""Stage `check_afape`: the summary holds what the config promised, in range, or the run stops."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.judge.registry import ESTIMATORS

STATUSES = {"ok", "no_support", "not_identified", "not_available"}


def check_afape(
    *,
    summary: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, dict[str, Any]]:
    """Count rows and check ranges.

    Raises:
        DataError: the first check that fails, with the row.
    """
    del streams, progress
    keys = ["dataset", "mechanism", "agent", "estimator", "seed"]
    wanted = {
        (dataset, mechanism, agent, estimator, seed)
        for dataset, mechanism in settings["scenarios"]
        for agent in settings["agents"]
        for estimator in ESTIMATORS
        for seed in settings["seeds"]
    }
    found = set(summary[keys].itertuples(index=False, name=None))
    if lost := sorted(wanted - found):
        raise DataError(
            f"the afape summary lacks {len(lost)} of {len(wanted)} rows, first {lost[0]}"
        )
    if len(summary) != len(wanted):
        raise DataError(f"the afape summary has {len(summary)} rows, {len(wanted)} were asked for")
    checks = _checks(summary)
    for what, holds in checks.items():
        if not holds.all():
            row = summary.loc[holds.index[~holds][0]]
            raise DataError(f"afape summary: it does not hold that {what}, at {dict(row[keys])}")
    return {
        "checks": {
            "rows": len(summary),
            "status": summary["status"].value_counts().to_dict(),
            "passed": ["every row that was asked for is there", *checks],
        }
    }


def _checks(summary: pd.DataFrame) -> dict[str, pd.Series]:
    """What must hold → where it holds."""
    done = summary[summary["status"] == "ok"]
    return {
        "a status is known": summary["status"].isin(STATUSES),
        "what is not ok has a reason": (summary["status"] == "ok") | (summary["reason"] != ""),
        "what is not ok has no estimate": (summary["status"] == "ok")
        == summary["estimate"].notna(),
        "a cost is finite": done["estimate"].abs() < np.inf,
        "an interval holds its estimate, or a warning says that no cost can be so": (
            done["ci_low"] <= done["ci_high"]
        )
        & (_holds_estimate(done) | done["warning"].str.contains("outside_range")),
        "an interval for all policies at once holds that of one": (
            done["simultaneous_low"] <= done["ci_low"]
        )
        & (done["ci_high"] <= done["simultaneous_high"]),
        "the effective sample size is at most the usable rows": done["ess"]
        <= done["usable_rows"] + 1e-6,
        "the parts sum to the cost": np.abs(
            done["acquisition_cost"] + done["misclassification_cost"] - done["estimate"]
        )
        <= 1e-9 * (1 + done["estimate"].abs()),
    }


def _holds_estimate(done: pd.DataFrame) -> pd.Series:
    """True where the estimate is within its interval, but for rounding."""
    slack = 1e-9 * (1 + done["estimate"].abs())
    above = done["ci_low"] <= done["estimate"] + slack
    return above & (done["estimate"] - slack <= done["ci_high"])
