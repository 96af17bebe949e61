"""Stage `check_recourse`: the tables hold what the config promised, in range; or the run stops."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.studies.recourse.stages.summarise_recourse import KEYS


def check_recourse(
    *,
    summary: pd.DataFrame,
    outcomes: pd.DataFrame,
    labels: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, dict[str, Any]]:
    """Count rows, check certificates and ranges.

    Raises:
        DataError: the first check that fails.
    """
    del streams, progress
    wanted = {tuple(row) for row in settings["rows"]}
    whole = summary[summary["actions"] == "all"].astype({"seed": str})
    found = set(whole[KEYS].itertuples(index=False, name=None))
    if found != wanted:
        lost = sorted(wanted - found) or sorted(found - wanted)
        raise DataError(f"the recourse summary lacks or adds {len(lost)} results, first {lost[0]}")
    solved = labels[
        labels["label_status"].isin(["labelled", "tied", "positive", "too_many_actions"])
    ]
    wrong = outcomes[~outcomes["correct"]]
    checks = {
        "every cost of a solved unit meets its lower bound": np.isclose(
            solved["cheapest_cost"], solved["lower_bound"]
        ),
        "a labelled unit has one cheapest set": labels.loc[
            labels["label_status"] == "labelled", "optima"
        ]
        == 1,
        "a unit that cannot be covered has a reason": labels.loc[
            labels["label_status"] == "uncoverable", "refusal"
        ]
        != "",
        "a right answer works": outcomes.loc[outcomes["correct"], "feasible"],
        "no wrong answer that works is cheaper": wrong.loc[wrong["feasible"], "answer_cost"]
        >= wrong.loc[wrong["feasible"], "true_cost"],
        "a repaired answer works": outcomes["repaired_feasible"],
        "no repaired answer is cheaper than the cheapest": outcomes["repaired_cost"]
        >= outcomes["true_cost"],
        "an accuracy is a share": summary["accuracy"].between(0, 1),
    }
    for what, holds in checks.items():
        if not np.all(holds):
            raise DataError(f"recourse: it does not hold that {what}")
    return {"checks": {"rows": len(summary), "units": len(labels), "passed": list(checks)}}
