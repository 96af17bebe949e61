"""Stage `summarise_recourse`: the study's tables over all scenarios (recourse, tables 2 to 5)."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.cover.accuracy import accuracy_rows, confidence_rows, frequency_rows, group_rows
from frugal.studies.recourse.frames import SCENARIO, keyed

KEYS = [*SCENARIO, "generator"]
FRONT = ["dataset", "variant", "generator", "subset", "actions"]
NUMBERS = ["n", "accuracy", "accuracy_se", "feasible_share_of_mistakes", "cost_gap"]


def summarise_recourse(
    *,
    outcomes: pd.DataFrame,
    labels: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """Accuracies, groups, confidence, frequencies, and what became of the units of each group."""
    del streams, progress
    outcomes, labels = (
        t.assign(seed=t["seed"].astype(str).astype(int)) for t in (outcomes, labels)
    )
    tables: dict[str, list[pd.DataFrame]] = {
        "summary": [], "groups": [], "confidence": [], "frequencies": [],
    }  # fmt: skip
    edges = tuple(settings["frequency_edges"])
    for key, rows in outcomes.groupby(KEYS, sort=False):
        made = {
            "summary": accuracy_rows(rows),
            "groups": group_rows(rows),
            "confidence": confidence_rows(rows, bins=settings["bins"]),
            "frequencies": frequency_rows(rows, edges=edges),
        }
        for name, table in made.items():
            tables[name].append(keyed(table, KEYS, key))
    found = {name: pd.concat(parts, ignore_index=True) for name, parts in tables.items()}
    summary = found["summary"]
    further = [c for c in summary.columns if c not in FRONT + NUMBERS]
    counts = labels.groupby(
        ["dataset", "variant", "seed", "group", "label_status", "size"], sort=False
    )
    return found | {
        "summary": summary[FRONT + NUMBERS + further],
        "sizes": counts.size().rename("n").reset_index(),
    }
