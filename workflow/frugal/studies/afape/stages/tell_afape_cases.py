"""Stage `tell_afape_cases`: some units of a scenario step by step, under every policy.

Of the logs only the rows of these units are held.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.blocks import block_slices
from frugal.core.rows import Partitions, Rows, rows_where
from frugal.core.streams import Streams
from frugal.data.stored_table import StoredTable
from frugal.draw.explorer.patients import Course, patients, spread_units


def tell_afape_cases(
    *,
    table: pd.DataFrame | Rows,
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
    logs = _Logs(decisions, worlds, blocked, int(settings["seed"]))
    agents = decisions.values("agent")
    chosen = logs.units(agents[0], int(settings["units"]))
    courses = [
        Course(agent, settings["kinds"].get(agent, ""), *logs.of(agent, chosen), agent)
        for agent in progress(agents, desc="policies")
    ]
    stored = StoredTable(table, catalogue)
    data = stored.at(stored.places(chosen))
    units = {column["name"]: column["unit"] or "" for column in catalogue["columns"]}
    scope = {key: streams.wildcards[key] for key in ("dataset", "mechanism")}
    report = catalogue["report"]
    return {
        "cases": {
            "kind": "cases", "study": "afape", "title": report["title"],
            "scope": scope | {"seed": str(settings["seed"])},
            "cost_unit": report["cost_unit"],
            "logs": {"input": "decisions", "key": "agent"},
            "patients": patients(data, units, courses, chosen),
        }
    }  # fmt: skip


class _Logs:
    """Decisions and outcomes of every policy, in one seed."""

    def __init__(
        self, decisions: Partitions, worlds: Partitions, blocked: Partitions, seed: int
    ) -> None:
        self._decisions, self._worlds, self._blocked = decisions, worlds, blocked
        self._seed = seed

    def _ends(self, agent: str) -> tuple[Rows, str]:
        """Outcomes of a policy, and the world that is shown."""
        worlds = self._worlds.rows("agent", agent)
        blocks = (worlds.read(rows, ["world"])["world"] for rows in block_slices(len(worlds)))
        if any((world == "full").any() for world in blocks):
            return worlds, "full"
        return self._blocked.rows("agent", agent), "blocked"

    def units(self, agent: str, count: int) -> list[int]:
        """Units of every class, from the rows of one policy."""
        ends, world = self._ends(agent)
        named = ["world", "seed", "row_id", "label"]
        found = rows_where(ends, lambda frame: self._here(frame, world), named)
        return spread_units(found["row_id"].to_numpy(), found["label"].to_numpy(), count)

    def of(self, agent: str, units: list[int]) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Decisions and outcomes of some units."""
        ends, world = self._ends(agent)

        def asked(frame: pd.DataFrame) -> np.ndarray:
            return self._here(frame, world) & frame["row_id"].isin(units).to_numpy()

        return rows_where(self._decisions.rows("agent", agent), asked), rows_where(ends, asked)

    def _here(self, frame: pd.DataFrame, world: str) -> np.ndarray:
        """Rows of one world and draw."""
        return ((frame["world"] == world) & (frame["seed"] == self._seed)).to_numpy()
