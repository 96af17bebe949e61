"""Stage `recount_diagnoses`: a run's scores counted again, from its rows and by other means.

Shares no code with the scores that it is compared with: it groups rows and counts.
"""

from collections.abc import Callable
from typing import Any

import pandas as pd

from frugal.core.streams import Streams

KEYS = ["policy", "member", "part"]


def recount_diagnoses(
    *,
    outcomes: pd.DataFrame,
    decisions: pd.DataFrame,
    settings: Any,
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """F1, AM and cost of every solution: F1 and AM from counts, cost from the log of decisions.

    Also counted: units, units with a decision, final decisions, and panels ordered twice.
    """
    del settings, streams, progress
    rows = outcomes.astype({"policy": str, "part": str})
    log = decisions.astype({"policy": str, "part": str})
    ill, said = rows["label"] == 1, rows["verdict"] == 1
    rows = rows.assign(
        tp=ill & said, fp=~ill & said, fn=ill & ~said, tn=~ill & ~said
    )  # fmt: skip
    counts = rows.groupby(KEYS, sort=False)[["tp", "fp", "fn", "tn"]].sum()
    hit, miss = counts["tp"], counts["fn"]
    recounted = pd.DataFrame(
        {
            "f1": 2 * hit / (2 * hit + counts["fp"] + miss),
            "am": (hit / (hit + miss) + counts["tn"] / (counts["tn"] + counts["fp"])) / 2,
            "n": counts.sum(axis=1),
        }
    )
    by_solution = log.groupby(KEYS, sort=False)
    recounted["cost"] = by_solution["cost"].sum() / recounted["n"]
    recounted["units"] = by_solution["row_id"].nunique()
    last = log.drop_duplicates([*KEYS, "row_id"], keep="last")
    recounted["unpaid_ends"] = (last["cost"] == 0).groupby([last[k] for k in KEYS]).sum()
    repeated = log.duplicated([*KEYS, "row_id", "action"])
    recounted["repeated"] = repeated.groupby([log[k] for k in KEYS]).sum()
    names = {"policy": "method", "member": "pair", "part": "split"}
    return {"recounted": recounted.reset_index().rename(columns=names)}
