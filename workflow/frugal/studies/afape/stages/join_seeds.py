"""Stage `join_seeds`: tables of a scenario whose seeds were judged by several jobs, as of one job.

Each table's rows stand in the order that one job for all seeds gives them. What the views of the
problem need is asked of all seeds together, so it is asked anew.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from frugal.core.blocks import SEEDS, Portion
from frugal.core.errors import DataError
from frugal.core.rows import Partitions, Rows
from frugal.core.streams import Streams
from frugal.data.stored_table import StoredTable
from frugal.judge.views import Seen, compare_views
from frugal.studies.afape.cases import StoredCases
from frugal.studies.afape.hidden_causes import tipped
from frugal.studies.afape.pairs import compared
from frugal.studies.afape.stored import StoredRecords

BY_AGENT = (
    "estimates", "resamples", "convergence", "frequencies", "groups", "sensitivity",
)  # fmt: skip
BY_ESTIMATE = {"comparisons": compared, "tipping": tipped}


def join_seeds(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    graph: Mapping[str, Any],
    identification: Mapping[str, Any],
    blocked: Partitions,
    worlds: Partitions,
    propensities: Partitions,
    agents: Partitions,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    **tables: Partitions,
) -> dict[str, pd.DataFrame]:
    """Join what `estimate_costs`, `fit_nuisances` and `check_graph` told of portions of the seeds.

    `tables` are theirs, by name, portion after portion.
    """
    del streams
    portions = _Portions(
        (StoredTable(table, catalogue), catalogue, masks, graph, identification),
        (blocked, worlds), (propensities, agents),
    )  # fmt: skip
    portions.require_all_seeds()
    joined = {name: _together(parts) for name, parts in tables.items()}
    order = blocked.values("agent")
    for name in BY_AGENT:
        joined[name] = _sorted(joined[name], ["agent"], [(agent,) for agent in order])
    for name, those in BY_ESTIMATE.items():
        told = those(joined["estimates"])[["seed", "estimator"]].drop_duplicates()
        keys = list(told.itertuples(index=False, name=None))
        joined[name] = _sorted(joined[name], ["seed", "estimator"], keys)
    seen = portions.seen(progress)
    found = pd.concat(
        [portions.views(seen[agent], settings).assign(agent=agent) for agent in order],
        ignore_index=True,
    )
    joined["efficiency"] = found[["agent", *found.columns.drop("agent")]]
    return joined


@dataclass(frozen=True, eq=False)
class _Portions:
    """The portions of a scenario's seeds, of which one at a time is held.

    Attributes:
        stored: table, catalogue, masks, graph and identification.
        episodes: of every agent and portion: `blocked`, `worlds`.
        fitted: of every portion: `propensities`, `agents`.
    """

    stored: tuple[Any, ...]
    episodes: tuple[Partitions, Partitions]
    fitted: tuple[Partitions, Partitions]

    @property
    def names(self) -> list[str]:
        """Of the portions, in order."""
        return self.fitted[0].values(SEEDS)

    @cached_property
    def records(self) -> StoredRecords:
        """Of all seeds."""
        return StoredRecords(*self.stored)

    def cases(self, name: str) -> StoredCases:
        """What was judged of one portion."""
        blocked, worlds = (one.where(SEEDS, name) for one in self.episodes)
        propensities, agents = (one.rows(SEEDS, name) for one in self.fitted)
        records = StoredRecords(*self.stored, seeds=Portion.of({SEEDS: name}).seeds)
        return StoredCases(records, self.stored[-1], (blocked, worlds), (propensities, agents))

    def require_all_seeds(self) -> None:
        """Refuse to join what is not the whole.

        Raises:
            DataError: the seeds of the portions are not those of the masks.
        """
        given = [seed for name in self.names for seed in Portion.of({SEEDS: name}).seeds or ()]
        if given != self.records.seeds:
            raise DataError(
                f"portions of seeds {given} were given; allowed are those of the masks, in their "
                f"order: {self.records.seeds}"
            )

    def seen(self, progress: Callable[..., Any]) -> dict[str, Seen]:
        """What the views read of each agent, in all seeds."""
        found: dict[str, Seen] = {}
        for name in progress(self.names, desc="seeds"):
            cases = self.cases(name)
            for agent in cases.agents:
                for seed in cases.seeds():
                    for at in range(len(cases.numbers)):
                        one = Seen.of(cases.case(agent, seed, at))
                        found[agent] = found[agent] + one if agent in found else one
        return found

    def views(self, seen: Seen, settings: Mapping[str, Any]) -> pd.DataFrame:
        """What the views need of one policy."""
        graph, layout = self.records.graph, self.records.table.layout
        known = graph["source"] == "induced"  # of the rows, whatever the seed
        names = self.names[: 1 if known else None]
        rows = (one for name in names for one in self.cases(name).view_rows())
        return compare_views(rows, layout, graph, seen, self.stored[-1], settings)


def _together(parts: Partitions) -> pd.DataFrame:
    """Portion after portion; one without a row says nothing of its columns' types."""
    frames = [parts.open(k).read() for k in range(len(parts.folders))]
    return pd.concat([f for f in frames if len(f)] or frames[:1], ignore_index=True)


def _sorted(frame: pd.DataFrame, keys: list[str], order: list[tuple[Any, ...]]) -> pd.DataFrame:
    """Rows in the order of their keys, else as they stand."""
    place = {key: k for k, key in enumerate(order)}
    at = [place.get(key, len(place)) for key in frame[keys].itertuples(index=False, name=None)]
    ranks = pd.Series(at, index=frame.index, dtype="int64")
    return frame.loc[ranks.sort_values(kind="stable").index].reset_index(drop=True)
