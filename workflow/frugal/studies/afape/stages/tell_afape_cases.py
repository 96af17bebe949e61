"""Stage `tell_afape_cases`: some units of a scenario step by step, under every policy."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.partitions import Partitions
from frugal.core.streams import Streams
from frugal.data.tables import table_from_frames
from frugal.draw.explorer.patients import Course, patients, spread_units


def tell_afape_cases(
    *,
    table: pd.DataFrame,
    catalogue: Mapping[str, Any],
    decisions: Partitions,
    worlds: Partitions,
    blocked: Partitions,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Units with all panels on record, as a policy meets them at run time.

    Where the table has gaps of its own, no unit is whole: what is shown is blocked, so that a panel
    that is not recorded is not acquired.

    Settings: `units` (how many), `seed` (of the draw), `kinds` (agent → what its kind does).
    """
    data, _ = table_from_frames(table, catalogue)
    courses = []
    for agent in progress(decisions.values("agent"), desc="policies"):
        log, ends = decisions.table("agent", agent), worlds.table("agent", agent)
        world = "full" if (ends["world"] == "full").any() else "blocked"
        ends = ends if world == "full" else blocked.table("agent", agent)
        log, ends = (_in_world(frame, world, settings["seed"]) for frame in (log, ends))
        courses.append(Course(agent, settings["kinds"].get(agent, ""), log, ends, agent))
    first = courses[0].outcomes
    chosen = spread_units(
        first["row_id"].to_numpy(), first["label"].to_numpy(), int(settings["units"])
    )
    units = {column["name"]: column["unit"] or "" for column in catalogue["columns"]}
    scope = {key: streams.wildcards[key] for key in ("dataset", "mechanism")}
    report = catalogue["report"]
    return {
        "cases": {
            "kind": "cases", "study": "afape", "title": report["title"],
            "scope": scope | {"seed": str(settings["seed"])}, "cost_unit": report["cost_unit"],
            "logs": {"input": "decisions", "key": "agent"},
            "patients": patients(data, units, courses, chosen),
        }
    }  # fmt: skip


def _in_world(frame: pd.DataFrame, world: str, seed: int) -> pd.DataFrame:
    """Rows of one world and draw."""
    return frame[(frame["world"] == world) & (frame["seed"] == seed)].reset_index(drop=True)
