"""Stage `join_seeds`: tables of a scenario whose seeds were judged by several jobs, as of one job.

Each table's rows stand in the order that one job for all seeds gives them. What the views of the
problem need is asked of all seeds together, so it is asked anew.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

import pandas as pd

from frugal.core.blocks import tree_sum
from frugal.core.partitions import Partitions
from frugal.core.portions import KEYS, Portion
from frugal.core.rows import Rows
from frugal.core.streams import Streams
from frugal.judge.views import Seen, compare_views
from frugal.studies.afape.cases import StoredCases
from frugal.studies.afape.hidden_causes import tipped
from frugal.studies.afape.pairs import compared
from frugal.studies.afape.stored import StoredRecords

SEEDS = KEYS[0]
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
    names = propensities.values(SEEDS)
    portions = [
        StoredCases(
            StoredRecords(table, catalogue, masks, graph, identification, _seeds(name)),
            identification,
            (blocked.where(SEEDS, name), worlds.where(SEEDS, name)),
            (propensities.rows(SEEDS, name), agents.rows(SEEDS, name)),
        )
        for name in names
    ]
    joined = {name: _together(parts) for name, parts in tables.items()}
    order = portions[0].agents
    for name in BY_AGENT:
        joined[name] = _sorted(joined[name], ["agent"], [(agent,) for agent in order])
    for name, those in BY_ESTIMATE.items():
        told = those(joined["estimates"])[["seed", "estimator"]].drop_duplicates()
        keys = list(told.itertuples(index=False, name=None))
        joined[name] = _sorted(joined[name], ["seed", "estimator"], keys)
    views = [
        _views(portions, agent, settings, identification).assign(agent=agent)
        for agent in progress(order, desc="agents")
    ]
    found = pd.concat(views, ignore_index=True)
    joined["efficiency"] = found[["agent", *found.columns.drop("agent")]]
    return joined


def _seeds(name: str) -> tuple[int, ...] | None:
    return Portion.of({SEEDS: name}).seeds


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


def _views(
    portions: list[StoredCases],
    agent: str,
    settings: Mapping[str, Any],
    identification: Mapping[str, Any],
) -> pd.DataFrame:
    """What the views need of one policy, by all seeds."""
    first = portions[0].records
    seen = tree_sum(one for cases in portions for one in _seen(cases, agent))
    known = first.graph["source"] == "induced"  # of the rows, whatever the seed
    rows = chain.from_iterable(cases.view_rows() for cases in portions[: 1 if known else None])
    return compare_views(rows, first.table.layout, first.graph, seen, identification, settings)


def _seen(cases: StoredCases, agent: str) -> Iterator[Seen]:
    for seed in cases.seeds():
        for at in range(len(cases.numbers)):
            yield Seen.of(cases.case(agent, seed, at))
