"""Stage `estimate_costs`: every estimator on the same stored rollouts, with intervals, warnings.

Rows are read block by block; what is held of all rows at once are two bytes a row, and a few
numbers a row of one estimate at a time.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.blocks import WHOLE, Portion, tree_sum
from frugal.core.rows import Partitions, Rows, Scratch
from frugal.core.streams import Streams
from frugal.judge.by_group import (
    GroupTerms,
    by_group,
    no_groups,
    plain_ratios,
    plain_sums,
    ratios,
)
from frugal.judge.case import COSTS
from frugal.judge.cost_intervals import CostInterval
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.summary import OK
from frugal.judge.views import Seen, compare_views
from frugal.studies.afape.cases import StoredCases
from frugal.studies.afape.hidden_causes import Shifted, tipping
from frugal.studies.afape.judging import (
    Fits,
    Judged,
    convergence,
    divides,
    frequencies,
    judge_blocks,
    resampled,
    summary_rows,
)
from frugal.studies.afape.pairs import pairs
from frugal.studies.afape.stored import StoredRecords

OWN_TRUTH = ("frequencies", "groups")  # tables to which the true cost says nothing


def estimate_costs(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    graph: Mapping[str, Any],
    identification: Mapping[str, Any],
    blocked: Partitions,
    worlds: Partitions,
    propensities: pd.DataFrame | Rows,
    agents: pd.DataFrame | Rows,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    portion: Portion = WHOLE,
) -> dict[str, pd.DataFrame]:
    """Judge every policy by every estimator, for every seed."""
    records = StoredRecords(table, catalogue, masks, graph, identification, portion.seeds)
    cases = StoredCases(records, identification, (blocked, worlds), (propensities, agents))
    fitted_apart = int(records.table.part_rows(["nuisance"]).sum())
    found: dict[str, list[pd.DataFrame]] = {}
    intervals: dict[tuple[int, str, str], CostInterval] = {}
    with Scratch() as kept:
        fits = Fits(cases, kept, fitted_apart)
        for agent in progress(cases.agents, desc="agents"):
            # each agent's draws are its own, whoever is judged beside it
            own = replace(streams, wildcards={**streams.wildcards, "agent": agent})
            judging = _Judging(cases, agent, settings, own, kept, fits)
            judged = judging.tables()
            intervals |= judging.intervals
            judged["efficiency"] = compare_views(
                cases.view_rows(), records.table.layout, records.graph, judging.seen,
                identification, settings,
            )  # fmt: skip
            for name, frame in judged.items():
                frame.insert(0, "agent", agent)
                found.setdefault(name, []).append(frame)
        tables = {name: pd.concat(frames, ignore_index=True) for name, frames in found.items()}
        if "groups" not in tables:
            tables["groups"] = no_groups().assign(agent="", seed=0, estimator="")
        tables["comparisons"], tables["estimates"] = pairs(
            tables["estimates"], intervals, kept, streams
        )
        tables["tipping"] = tipping(
            tables["estimates"], kept, float(max(settings["hidden_causes"]["gammas"]))
        )
    return tables


class _Judging:
    """One policy in all seeds."""

    def __init__(
        self,
        cases: StoredCases,
        agent: str,
        settings: Mapping[str, Any],
        streams: Streams,
        kept: Scratch,
        fits: Fits,
    ) -> None:
        self._cases, self._agent, self._settings = cases, agent, settings
        self._streams, self._kept, self._fits = streams, kept, fits
        self._seen: list[Seen] = []
        self.intervals: dict[tuple[int, str, str], CostInterval] = {}

    @property
    def seen(self) -> Seen:
        """What the views read, of all seeds."""
        return tree_sum(self._seen)

    def tables(self) -> dict[str, pd.DataFrame]:
        """The policy's tables over all seeds."""
        found: dict[str, list[pd.DataFrame]] = {}
        for seed in self._cases.seeds():
            with Scratch() as own:
                for name, frame in self._of_seed(seed, own).items():
                    found.setdefault(name, []).append(frame)
        return {name: pd.concat(frames, ignore_index=True) for name, frames in found.items()}

    def _of_seed(self, seed: int, own: Scratch) -> dict[str, pd.DataFrame]:
        cases, settings, at = self._cases, self._settings, (seed, self._agent)
        layout = cases.records.table.layout
        shifted = Shifted(self._kept, at, cases.cluster)
        judged = judge_blocks(cases, (self._agent, seed), own, shifted)
        self._seen.append(judged.views)
        rows = summary_rows(judged, self._fits.of(self._agent, seed), self._kept)
        tables = {"resamples": resampled(judged, rows, layout, settings, self._streams)}
        tables = {"estimates": pd.DataFrame(rows.values()), **tables}
        self.intervals |= {(seed, n, self._agent): one for n, one in judged.intervals.items()}
        self._keep(judged, rows, shifted)
        tables["sensitivity"] = shifted.ranges(
            layout, cases.known_rows(seed), judged.terms, settings["hidden_causes"],
            self._streams.generator("hidden_causes", seed),
        )  # fmt: skip
        tables["convergence"] = convergence(judged, settings["convergence_sizes"], self._streams)
        tables["frequencies"] = frequencies(judged, layout)
        if cases.group(0) is not None:
            tables["groups"] = self._by_group(judged)
        truth = rows["ground_truth"]["estimate"] if "ground_truth" in rows else np.nan
        return {
            name: frame.assign(seed=seed, **({} if name in OWN_TRUTH else {"truth": truth}))
            for name, frame in tables.items()
        }

    def _keep(self, judged: Judged, rows: Mapping[str, Any], shifted: Shifted) -> None:
        """Keep what pairs with these estimates are compared by, of those that are `ok`."""
        for name, row in rows.items():
            if row["status"] != OK:
                shifted.forget(name)
                continue
            method = ESTIMATORS[name].imputation
            if method is not None:
                drawn = judged.completed.tally(method).estimate
                self._kept.put(("draws", judged.seed, name, self._agent), drawn)

    def _by_group(self, judged: Judged) -> pd.DataFrame:
        """Costs, error rates and gaps by group, by every estimator that verdicts may read."""
        cases, seed = self._cases, judged.seed
        rng = self._streams.generator("groups", seed)
        names, layout = cases.records.table.group_names, cases.records.table.layout
        asked = [name for name in READ if name in judged.terms.names]
        found = [no_groups().assign(estimator="")]
        with Scratch() as own:
            apart = {n: GroupTerms(own, cases.sizes, names, cases.cluster) for n in asked}
            truth = [self._groups_of(judged, at, apart) for at in range(len(cases.numbers))]
            sums = tree_sum(truth, lambda a, b: {k: a[k] + b[k] for k in a})
            for name, terms in apart.items():
                told = by_group(
                    terms, layout, truth=plain_ratios(sums), rng=rng,
                    fit=self._fits.of(self._agent, seed) if divides(name, judged) else None,
                )  # fmt: skip
                found.append(told.assign(estimator=name))
        return pd.concat(found[1:] or found, ignore_index=True)

    def _groups_of(
        self, judged: Judged, at: int, apart: Mapping[str, GroupTerms]
    ) -> dict[str, np.ndarray]:
        """Hand a block to the groups of each estimator; sums on the full table, if it is known."""
        cases, data = self._cases, self._cases.data(at)
        frames, group = cases.frames(self._agent, judged.seed, at), cases.group(at)
        assert group is not None, "bug: no groups"
        done = ratios(frames["blocked"], data)
        for name, terms in apart.items():
            terms.add(done, judged.terms.weight(name, at), group)
        full = frames["worlds"][frames["worlds"]["world"] == "full"]
        if not len(full):
            return {}
        names = cases.records.table.group_names
        return {
            name: plain_sums(one, group, len(names)) for name, one in ratios(full, data).items()
        }


assert COSTS[0] == "cost"  # the first outcome, of which influence terms are kept
