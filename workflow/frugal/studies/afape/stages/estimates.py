"""Stages of estimates: nuisances, costs, and the seeds of several portions together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import build_policy
from frugal.answer.frames import EVALUATED, bars
from frugal.answer.stored import StoredRecords
from frugal.core.blocks import FULL_PORTION, SEEDS, Portion, sample_of, tree_sum
from frugal.core.context import Context
from frugal.core.episodes import Policy
from frugal.core.errors import DataError
from frugal.core.rows import Partitions, Rows, ScratchFile
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.core.table import random_folds
from frugal.data.tables import StoredTable, panel_columns
from frugal.judge.case import COSTS, PARTS, Records
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.views import Seen, compare_views
from frugal.learn.nuisance_choice import FittedHead
from frugal.results.replacing import Growing
from frugal.studies.afape.by_group import (
    GroupTerms,
    by_group,
    no_groups,
    plain_ratios,
    plain_sums,
    ratios,
)
from frugal.studies.afape.cost_intervals import CostInterval
from frugal.studies.afape.hidden_causes import Shifted, tipped, tipping
from frugal.studies.afape.judging import (
    Fits,
    JudgedPolicy,
    compared,
    convergence,
    divides,
    frequencies,
    judge_blocks,
    pairs,
    resampled,
    summary_rows,
)
from frugal.studies.afape.nuisances import (
    SEPARATE_STREAMS,
    Nuisances,
    NuisanceTables,
    Quality,
    fit_nuisances_of,
    nothing_fitted,
    nuisance_tables,
)
from frugal.studies.afape.stored import TEST, StoredCases, StoredEpisodes
from frugal.studies.afape.summary import OK


def fit_nuisances(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    graph: Mapping[str, Any],
    identification: Mapping[str, Any],
    blocked: Partitions,
    context: Context,
    portion: Portion = FULL_PORTION,
    **policies: StoredArrays | Path | pd.DataFrame,
) -> Growing:
    """Fit on the part `nuisance` where the data set has one, else cross-fit on the test rows.

    `policies` are the files of agents that act by one, in the order of `settings["filed"]`.

    All regressions of a seed, over agents and folds, are handed down at once, so networks
    train in lock-step. They learn from the part `nuisance`, or from the test rows, at most so many
    as the config sets; predictions for test rows are made block by block.
    """
    records = StoredRecords(table, catalogue, masks, graph, identification, portion.seeds)
    stored = dict(zip(context.settings["filed"], policies.values(), strict=True))
    built = {
        agent: build_policy(chosen, table=records.table.layout, stored=stored.get(agent))
        for agent, chosen in context.settings["agents"].items()
    }
    fit_inputs = _FitInputs(records, StoredEpisodes(blocked, records.table), graph, identification)
    fits = {}
    outer, _ = bars(context.progress, len(records.table.blocks))
    for seed in context.progress(records.seeds, desc="seeds"):
        fits[seed] = _Seed.fit(fit_inputs, seed, context.settings, context.streams)
    qualities = {seed: Quality(context.settings["bins"]) for seed in fits}
    for number in outer(records.table.blocks_with(TEST), desc="blocks"):
        fitted = {
            seed: of_seed.nuisance_tables(fit_inputs, number, built, context.streams)
            for seed, of_seed in fits.items()
        }
        for seed, result in fitted.items():
            qualities[seed].add(result.curves)
        agents = _joined({s: of_seed.agents for s, of_seed in fitted.items()})
        parts = [agents]
        if len(records.table.blocks) > 1:  # so that one agent's rows of a block are read alone
            each = agents.groupby(["seed", "agent"], sort=False)
            parts = [part.reset_index(drop=True) for _, part in each]
        yield {
            "propensities": _joined({s: of_seed.propensities for s, of_seed in fitted.items()}),
            "agents": parts[0],
        }
        for part in parts[1:]:
            yield {"agents": part}
    diagnostics = {seed: of_seed.tables(fits[seed].methods) for seed, of_seed in qualities.items()}
    return {
        "calibration": _joined({s: tables["calibration"] for s, tables in diagnostics.items()}),
        "overlap": _joined({s: tables["overlap"] for s, tables in diagnostics.items()}),
        "losses": _joined({seed: _losses(of_seed.fits) for seed, of_seed in fits.items()}),
    }


def _joined(frames: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
    """Tables of all seeds, one below the other."""
    return pd.concat([f.assign(seed=seed) for seed, f in frames.items()], ignore_index=True)


@dataclass(frozen=True, eq=False)
class _FitInputs:
    """Table, masks and episodes of a scenario."""

    records: StoredRecords
    episodes: StoredEpisodes
    graph: Mapping[str, Any]
    identification: Mapping[str, Any]

    def at(self, seed: int, parts: Sequence[str], selected: np.ndarray) -> Records:
        """Records of some rows of parts of the split, with the graph's causes of each indicator.

        `selected` are those of these parts, ascending. (m,)
        """
        table = self.records.table
        data, observed = self.records.at(table.positions(parts)[selected], seed)
        columns = [*panel_columns("acquired", data), *PARTS]
        played: dict[str, list[pd.DataFrame]] = {agent: [] for agent in self.episodes.agents}
        starts = np.cumsum([0, *table.counts(parts)])
        for number, start in enumerate(starts[:-1]):
            first, last = np.searchsorted(selected, starts[number : number + 2])
            for agent, frames in played.items() if last > first or not number else ():
                frame = self.episodes.block(agent, number, parts, columns)
                frames.append(frame[frame["seed"] == seed].iloc[selected[first:last] - start])
        return Records(
            data,
            observed,
            self.identification,
            {
                panel: set(mechanism["indicators"])
                for panel, mechanism in self.graph["indicators"].items()
            },
            {agent: pd.concat(frames, ignore_index=True) for agent, frames in played.items()},
        )


@dataclass(frozen=True, eq=False)
class _Seed:
    """Fitted results of one seed.

    Attributes:
        seed: of the study.
        nuisances: the models; None where the graph does not identify the propensity.
        fold: of each test row, or one number for all where they were not learned from. (n,)
        learned: the test rows that were learned from; None where all were, or none. (n,)
    """

    seed: int
    nuisances: Nuisances | None
    fold: np.ndarray
    learned: np.ndarray | None
    starts: np.ndarray

    @classmethod
    def fit(
        cls, fit_inputs: _FitInputs, seed: int, settings: Mapping[str, Any], streams: Streams
    ) -> "_Seed":
        """All regressions of one seed."""
        table = fit_inputs.records.table
        separate = bool(table.parts(["nuisance"]))
        parts = list(EVALUATED) if separate else ["test"]
        inside = table.part_rows(parts)
        test = table.part_rows(["test"])[inside]
        rng = streams.generator("nuisance", seed)
        fold = random_folds(table.clusters(parts), len(test), settings["folds"], rng).astype(
            np.int8
        )
        some = np.flatnonzero(~test)
        learned = None
        if not separate:
            some = sample_of(len(test), settings["rows"], streams.generator("sample", seed))
            learned = np.isin(np.arange(len(test)), some) if len(some) < len(test) else None
        starts = np.cumsum([0, *table.counts(["test"])])
        nuisances = None
        if fit_inputs.identification["propensity_identified"]:
            generators = {stream: streams.generator(stream, seed) for stream in SEPARATE_STREAMS}
            every = np.ones(len(some), dtype=bool)
            rule = {"fold": fold[some]}
            rule |= {"train": every, "predict": ~every} if separate else {}
            learn_from = fit_inputs.at(seed, parts, some)
            nuisances = fit_nuisances_of(learn_from, rule, settings, {"heads": rng} | generators)
        return cls(seed, nuisances, fold[test], learned, starts)

    @property
    def fits(self) -> Mapping[str, FittedHead]:
        """Every regression by its name."""
        return {} if self.nuisances is None else self.nuisances.fits

    @property
    def methods(self) -> dict[str, str]:
        """Regression → the method that was taken."""
        return {name: fit.method for name, fit in self.fits.items()}

    def nuisance_tables(
        self, fit_inputs: _FitInputs, number: int, policies: Mapping[str, Policy], streams: Streams
    ) -> NuisanceTables:
        """Fitted results for the test rows of a block."""
        start, stop = self.starts[number : number + 2]
        records = fit_inputs.at(self.seed, TEST, np.arange(start, stop))
        if self.nuisances is None:
            return nothing_fitted(records, policies)
        rng = streams.of_block(number, "patterns", self.seed)
        fitted = nuisance_tables(self.nuisances, records, policies, self.fold[start:stop], rng)
        if self.learned is not None:
            fitted.propensities["learned_from"] = self.learned[start:stop]
        return fitted


def _losses(fits: Mapping[str, FittedHead]) -> pd.DataFrame:
    """Cross-fitted loss of every method that was tried for a regression, and which was taken."""
    rows = [
        {
            "nuisance": name,
            "method": method,
            "loss": loss,
            "n": fit.rows,
            "taken": method == fit.method,
        }
        for name, fit in fits.items()
        for method, loss in fit.losses.items()
    ]
    columns = {"nuisance": "", "method": "", "loss": 0.0, "n": 0, "taken": False}
    return pd.DataFrame(rows) if rows else pd.DataFrame([columns]).iloc[:0]


OWN_TRUTH = ("frequencies", "groups")  # tables to which the true cost adds no rows


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
    context: Context,
    portion: Portion = FULL_PORTION,
) -> dict[str, pd.DataFrame]:
    """Evaluate every policy by every estimator, for every seed.

    Rows are read block by block; of all rows at once, two bytes a row are held, and a few
    numbers a row of one estimate at a time.
    """
    streams = context.streams
    records = StoredRecords(table, catalogue, masks, graph, identification, portion.seeds)
    cases = StoredCases(records, identification, (blocked, worlds), (propensities, agents))
    fitted_apart = int(records.table.part_rows(["nuisance"]).sum())
    frames_by_table: dict[str, list[pd.DataFrame]] = {}
    intervals: dict[tuple[int, str, str], CostInterval] = {}
    with ScratchFile() as scratch:
        fits = Fits(cases, scratch, fitted_apart)
        for agent in context.progress(cases.agents, desc="agents"):
            # each agent's draws are its own, whichever others are evaluated
            agent_streams = replace(streams, wildcards={**streams.wildcards, "agent": agent})
            judging = _PolicyEstimates(cases, agent, context.settings, agent_streams, scratch, fits)
            judged = judging.tables()
            intervals |= judging.intervals
            judged["efficiency"] = compare_views(
                cases.view_rows(),
                records.table.layout,
                records.graph,
                judging.view_inputs,
                identification,
                context.settings,
            )
            for name, frame in judged.items():
                frame.insert(0, "agent", agent)
                frames_by_table.setdefault(name, []).append(frame)
        tables = {
            name: pd.concat(frames, ignore_index=True) for name, frames in frames_by_table.items()
        }
        if "groups" not in tables:
            tables["groups"] = no_groups().assign(agent="", seed=0, estimator="")
        tables["comparisons"], tables["estimates"] = pairs(
            tables["estimates"], intervals, scratch, streams
        )
        tables["tipping"] = tipping(
            tables["estimates"], scratch, float(max(context.settings["hidden_causes"]["gammas"]))
        )
    return tables


class _PolicyEstimates:
    """One policy in all seeds."""

    def __init__(
        self,
        cases: StoredCases,
        agent: str,
        settings: Mapping[str, Any],
        streams: Streams,
        scratch: ScratchFile,
        fits: Fits,
    ) -> None:
        self._cases, self._agent, self._settings = cases, agent, settings
        self._streams, self._kept, self._fits = streams, scratch, fits
        self._seen: list[Seen] = []
        self.intervals: dict[tuple[int, str, str], CostInterval] = {}

    @property
    def view_inputs(self) -> Seen:
        """Inputs of the views, of all seeds."""
        return tree_sum(self._seen)

    def tables(self) -> dict[str, pd.DataFrame]:
        """The policy's tables over all seeds."""
        frames_by_table: dict[str, list[pd.DataFrame]] = {}
        for seed in self._cases.seeds():
            with ScratchFile() as seed_scratch:
                for name, frame in self._of_seed(seed, seed_scratch).items():
                    frames_by_table.setdefault(name, []).append(frame)
        return {
            name: pd.concat(frames, ignore_index=True) for name, frames in frames_by_table.items()
        }

    def _of_seed(self, seed: int, seed_scratch: ScratchFile) -> dict[str, pd.DataFrame]:
        cases, settings, at = self._cases, self._settings, (seed, self._agent)
        layout = cases.records.table.layout
        shifted = Shifted(self._kept, at, cases.cluster)
        judged = judge_blocks(cases, (self._agent, seed), seed_scratch, shifted)
        self._seen.append(judged.views)
        rows = summary_rows(judged, self._fits.of(self._agent, seed), self._kept)
        tables = {"resamples": resampled(judged, rows, layout, settings, self._streams)}
        tables = {"estimates": pd.DataFrame(rows.values()), **tables}
        self.intervals |= {
            (seed, n, self._agent): interval for n, interval in judged.intervals.items()
        }
        self._keep(judged, rows, shifted)
        tables["sensitivity"] = shifted.ranges(
            layout,
            cases.known_rows(seed),
            judged.terms,
            settings["hidden_causes"],
            self._streams.generator("hidden_causes", seed),
        )
        tables["convergence"] = convergence(judged, settings["convergence_sizes"], self._streams)
        tables["frequencies"] = frequencies(judged, layout)
        if cases.group(0) is not None:
            tables["groups"] = self._by_group(judged)
        truth = rows["ground_truth"]["estimate"] if "ground_truth" in rows else np.nan
        return {
            name: frame.assign(seed=seed, **({} if name in OWN_TRUTH else {"truth": truth}))
            for name, frame in tables.items()
        }

    def _keep(self, judged: JudgedPolicy, rows: Mapping[str, Any], shifted: Shifted) -> None:
        """Keep the terms by which pairs of these estimates are compared, if they are `ok`."""
        for name, row in rows.items():
            if row["status"] != OK:
                shifted.forget(name)
                continue
            method = ESTIMATORS[name].imputation
            if method is not None:
                drawn = judged.completed.tally(method).estimate
                self._kept.put(("draws", judged.seed, name, self._agent), drawn)

    def _by_group(self, judged: JudgedPolicy) -> pd.DataFrame:
        """Costs, error rates and their differences by group, by estimators of verdicts."""
        cases, seed = self._cases, judged.seed
        rng = self._streams.generator("groups", seed)
        names, layout = cases.records.table.group_names, cases.records.table.layout
        readable = [name for name in READ if name in judged.terms.names]
        group_frames = [no_groups().assign(estimator="")]
        with ScratchFile() as group_scratch:
            apart = {
                n: GroupTerms(group_scratch, cases.sizes, names, cases.cluster) for n in readable
            }
            truth = [self._groups_of(judged, at, apart) for at in range(len(cases.numbers))]
            sums = tree_sum(truth, lambda a, b: {k: a[k] + b[k] for k in a})
            for name, terms in apart.items():
                groups = by_group(
                    terms,
                    layout,
                    truth=plain_ratios(sums),
                    rng=rng,
                    fit=self._fits.of(self._agent, seed) if divides(name, judged) else None,
                )
                group_frames.append(groups.assign(estimator=name))
        return pd.concat(group_frames[1:] or group_frames, ignore_index=True)

    def _groups_of(
        self, judged: JudgedPolicy, at: int, apart: Mapping[str, GroupTerms]
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
            name: plain_sums(ratio, group, len(names)) for name, ratio in ratios(full, data).items()
        }


assert COSTS[0] == "cost"  # the first outcome, of which influence terms are kept


BY_AGENT = ("estimates", "resamples", "convergence", "frequencies", "groups", "sensitivity")
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
    context: Context,
    **tables: Partitions,
) -> dict[str, pd.DataFrame]:
    """Join results of `estimate_costs`, `fit_nuisances` and `check_graph` on portions of the seeds.

    `tables` are theirs, by name, portion after portion.

    Each table's rows are in the order that one job for all seeds gives them. The views of
    the problem need all seeds together, so their input is computed anew.
    """
    portions = _Portions(
        (StoredTable(table, catalogue), catalogue, masks, graph, identification),
        (blocked, worlds),
        (propensities, agents),
    )
    portions.require_all_seeds()
    joined = {name: _all_portions(parts) for name, parts in tables.items()}
    order = blocked.values("agent")
    for name in BY_AGENT:
        joined[name] = _sorted(joined[name], ["agent"], [(agent,) for agent in order])
    for name, select in BY_ESTIMATE.items():
        selected = select(joined["estimates"])[["seed", "estimator"]].drop_duplicates()
        keys = list(selected.itertuples(index=False, name=None))
        joined[name] = _sorted(joined[name], ["seed", "estimator"], keys)
    view_inputs = portions.view_inputs(context.progress)
    efficiency = pd.concat(
        [
            portions.views(view_inputs[agent], context.settings).assign(agent=agent)
            for agent in order
        ],
        ignore_index=True,
    )
    joined["efficiency"] = efficiency[["agent", *efficiency.columns.drop("agent")]]
    return joined


@dataclass(frozen=True, eq=False)
class _Portions:
    """The portions of a scenario's seeds, of which one at a time is held.

    `stored` is table, catalogue, masks, graph and identification; `episodes` are `blocked` and
    `worlds` of every agent, `fitted` `propensities` and `agents`, of each portion.
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
        """Results of one portion."""
        blocked, worlds = (stored.where(SEEDS, name) for stored in self.episodes)
        propensities, agents = (stored.rows(SEEDS, name) for stored in self.fitted)
        records = StoredRecords(*self.stored, seeds=Portion.of({SEEDS: name}).seeds)
        return StoredCases(records, self.stored[-1], (blocked, worlds), (propensities, agents))

    def require_all_seeds(self) -> None:
        """Refuse to join parts that are not the whole.

        Raises:
            DataError: the seeds of the portions are not those of the masks.
        """
        seeds = [seed for name in self.names for seed in Portion.of({SEEDS: name}).seeds or ()]
        if seeds != self.records.seeds:
            raise DataError(
                f"portions of seeds {seeds} were given; allowed are those of the masks, in their "
                f"order: {self.records.seeds}"
            )

    def view_inputs(self, progress: Callable[..., Any]) -> dict[str, Seen]:
        """Inputs of the views for each agent, in all seeds."""
        inputs_by_agent: dict[str, Seen] = {}
        for name in progress(self.names, desc="seeds"):
            cases = self.cases(name)
            for agent in cases.agents:
                for seed in cases.seeds():
                    for at in range(len(cases.numbers)):
                        inputs = Seen.of(cases.case(agent, seed, at))
                        inputs_by_agent[agent] = (
                            inputs_by_agent[agent] + inputs if agent in inputs_by_agent else inputs
                        )
        return inputs_by_agent

    def views(self, inputs: Seen, settings: Mapping[str, Any]) -> pd.DataFrame:
        """Needs of the views for one policy."""
        graph, layout = self.records.graph, self.records.table.layout
        graph_known = graph["source"] == "induced"  # of the rows, for any seed
        names = self.names[: 1 if graph_known else None]
        rows = (row for name in names for row in self.cases(name).view_rows())
        return compare_views(rows, layout, graph, inputs, self.stored[-1], settings)


def _all_portions(parts: Partitions) -> pd.DataFrame:
    """Portion after portion; one without a row does not determine its columns' types."""
    frames = [parts.open(k).read() for k in range(len(parts.folders))]
    return pd.concat([f for f in frames if len(f)] or frames[:1], ignore_index=True)


def _sorted(frame: pd.DataFrame, keys: list[str], order: list[tuple[Any, ...]]) -> pd.DataFrame:
    """Rows in the order of their keys, else unchanged."""
    place = {key: k for k, key in enumerate(order)}
    at = [place.get(key, len(place)) for key in frame[keys].itertuples(index=False, name=None)]
    ranks = pd.Series(at, index=frame.index, dtype="int64")
    return frame.loc[ranks.sort_values(kind="stable").index].reset_index(drop=True)
