"""Stage `tell_dadi_cases`: some people of a fold, and what every agent collected from them."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.data.tables import table_from_frames
from frugal.draw.explorer.patients import Course, patients, spread_units


def tell_dadi_cases(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    decisions: pd.DataFrame,
    outcomes: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Test people of the fold, under the agent of every γ.

    Settings: `units` (how many), `fold`.
    """
    del progress
    data, _ = table_from_frames(table, catalogue)
    ends = outcomes[outcomes["part"] == "test"]
    first = ends[ends["member"] == ends["member"].min()]
    chosen = spread_units(
        first["row_id"].to_numpy(), first["label"].to_numpy(), int(settings["units"])
    )
    ends, logs = ends[ends["row_id"].isin(chosen)], decisions[decisions["row_id"].isin(chosen)]
    courses = [
        Course(f"γ = {gamma:g}", _why(gamma), logs[logs["member"] == member],
               rows.assign(probability=rows.get("label_probability", rows["probability"])))
        for (member, gamma), rows in ends.groupby(["member", "gamma"], sort=True)
    ]  # fmt: skip
    units = {column["name"]: column["unit"] or "" for column in catalogue["columns"]}
    report = catalogue["report"]
    return {
        "cases": {
            "kind": "cases", "study": "dadi", "title": report["title"],
            "scope": {"dataset": streams.wildcards["dataset"], "fold": str(settings["fold"])},
            "cost_unit": report["cost_unit"],
            "logs": {"input": "decisions", "key": "fold"},
            "patients": patients(data, units, courses, chosen),
        }
    }  # fmt: skip


def _why(gamma: object) -> str:
    """What an agent of that γ goes by."""
    return (
        f"With γ = {gamma:g} it weighs what a panel tells of the label against what it tells of "
        "the group."
    )
