"""Stage `fit_nuisances`: propensities, AFA propensities and outcome means, per row (A.5–A.7, A.11).

All regressions of a seed, over agents and folds, are handed down at once, so that networks train in
lock-step. They learn from the part `nuisance`, or from the test rows, at most so many as the config
says; what they say of the test rows is told block by block.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.registry import build_policy
from frugal.core.blocks import WHOLE, Portion, sample_of
from frugal.core.episodes import Policy
from frugal.core.rows import Partitions, Rows
from frugal.core.stored import StoredArrays
from frugal.core.streams import Streams
from frugal.core.table import random_folds
from frugal.data.panel_columns import panel_columns
from frugal.judge.records import PARTS, Records
from frugal.learn.nuisance_choice import Fitted
from frugal.results.replacing import Growing
from frugal.studies.afape.nuisances import (
    OWN,
    Nuisances,
    Quality,
    Told,
    fit_nuisances_of,
    nothing_fitted,
    tell,
)
from frugal.studies.afape.stored import TEST, StoredEpisodes, StoredRecords
from frugal.studies.shared.frames import EVALUATED, bars


def fit_nuisances(
    *,
    table: pd.DataFrame | Rows,
    catalogue: Mapping[str, Any],
    masks: pd.DataFrame | Rows,
    graph: Mapping[str, Any],
    identification: Mapping[str, Any],
    blocked: Partitions,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
    portion: Portion = WHOLE,
    **policies: StoredArrays | Path | pd.DataFrame,
) -> Growing:
    """Fit on the part `nuisance` where the data set has one, else cross-fit on the test rows.

    `policies` are the files of agents that act by one, in the order of `settings["filed"]`.
    """
    records = StoredRecords(table, catalogue, masks, graph, identification, portion.seeds)
    stored = dict(zip(settings["filed"], policies.values(), strict=True))
    built = {
        agent: build_policy(chosen, table=records.table.layout, stored=stored.get(agent))
        for agent, chosen in settings["agents"].items()
    }
    given = _Given(records, StoredEpisodes(blocked, records.table), graph, identification)
    fits = {}
    outer, _ = bars(progress, len(records.table.blocks))
    for seed in progress(records.seeds, desc="seeds"):
        fits[seed] = _Seed.fit(given, seed, settings, streams)
    qualities = {seed: Quality(settings["bins"]) for seed in fits}
    for number in outer(records.table.blocks_with(TEST), desc="blocks"):
        told = {seed: one.tell(given, number, built, streams) for seed, one in fits.items()}
        for seed, said in told.items():
            qualities[seed].add(said.curves)
        agents = _together({s: one.agents for s, one in told.items()})
        parts = [agents]
        if len(records.table.blocks) > 1:  # so that one agent's rows of a block are read alone
            each = agents.groupby(["seed", "agent"], sort=False)
            parts = [part.reset_index(drop=True) for _, part in each]
        yield {
            "propensities": _together({s: one.propensities for s, one in told.items()}),
            "agents": parts[0],
        }
        for part in parts[1:]:
            yield {"agents": part}
    diagnostics = {seed: one.tables(fits[seed].methods) for seed, one in qualities.items()}
    return {
        "calibration": _together({s: tables["calibration"] for s, tables in diagnostics.items()}),
        "overlap": _together({s: tables["overlap"] for s, tables in diagnostics.items()}),
        "losses": _together({seed: _losses(one.fits) for seed, one in fits.items()}),
    }


def _together(frames: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
    """Tables of all seeds, one below the other."""
    return pd.concat([f.assign(seed=seed) for seed, f in frames.items()], ignore_index=True)


@dataclass(frozen=True, eq=False)
class _Given:
    """Table, masks and episodes of a scenario."""

    records: StoredRecords
    episodes: StoredEpisodes
    graph: Mapping[str, Any]
    identification: Mapping[str, Any]

    def at(self, seed: int, parts: Sequence[str], wanted: np.ndarray) -> Records:
        """Records of some rows, with the graph's causes of each indicator.

        Args:
            seed: of the study.
            parts: of the split.
            wanted: which of the rows of these parts, ascending. (m,)
        """
        table = self.records.table
        data, observed = self.records.at(table.positions(parts)[wanted], seed)
        columns = [*panel_columns("acquired", data), *PARTS]
        played: dict[str, list[pd.DataFrame]] = {agent: [] for agent in self.episodes.agents}
        starts = np.cumsum([0, *table.counts(parts)])
        for number, start in enumerate(starts[:-1]):
            first, last = np.searchsorted(wanted, starts[number : number + 2])
            for agent, frames in played.items() if last > first or not number else ():
                frame = self.episodes.block(agent, number, parts, columns)
                frames.append(frame[frame["seed"] == seed].iloc[wanted[first:last] - start])
        return Records(
            data, observed, self.identification,
            {panel: set(law["indicators"]) for panel, law in self.graph["indicators"].items()},
            {agent: pd.concat(frames, ignore_index=True) for agent, frames in played.items()},
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Seed:
    """What was fitted for one seed.

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
        cls, given: _Given, seed: int, settings: Mapping[str, Any], streams: Streams
    ) -> "_Seed":
        """All regressions of one seed."""
        table = given.records.table
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
        if given.identification["propensity_identified"]:
            own = {what: streams.generator(what, seed) for what in OWN}
            every = np.ones(len(some), dtype=bool)
            rule = {"fold": fold[some]}
            rule |= {"train": every, "predict": ~every} if separate else {}
            learn_from = given.at(seed, parts, some)
            nuisances = fit_nuisances_of(learn_from, rule, settings, {"heads": rng} | own)
        return cls(seed, nuisances, fold[test], learned, starts)

    @property
    def fits(self) -> Mapping[str, Fitted]:
        """Every regression by its name."""
        return {} if self.nuisances is None else self.nuisances.fits

    @property
    def methods(self) -> dict[str, str]:
        """Regression → the method that was taken."""
        return {name: fit.method for name, fit in self.fits.items()}

    def tell(
        self, given: _Given, number: int, policies: Mapping[str, Policy], streams: Streams
    ) -> Told:
        """What is fitted for the test rows of a block."""
        start, stop = self.starts[number : number + 2]
        records = given.at(self.seed, TEST, np.arange(start, stop))
        if self.nuisances is None:
            return nothing_fitted(records, policies)
        rng = streams.of_block(number, "patterns", self.seed)
        told = tell(self.nuisances, records, policies, self.fold[start:stop], rng)
        if self.learned is not None:
            told.propensities["learned_from"] = self.learned[start:stop]
        return told


def _losses(fits: Mapping[str, Fitted]) -> pd.DataFrame:
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
