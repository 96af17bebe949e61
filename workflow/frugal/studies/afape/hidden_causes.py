"""Effects of hidden causes on the estimates that verdicts read: ranges, and the tipping Γ."""

from collections.abc import Hashable, Mapping
from itertools import count, takewhile
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from frugal.core.rows import ScratchFile
from frugal.core.table import Table
from frugal.judge.case import Case
from frugal.judge.cost_cells import KnownRows, fit_quantiles
from frugal.judge.estimator import Terms
from frugal.judge.intervals import normal_interval
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.sensitivity import Range, Rival, Weighted, plain_range, sharp_range, tipping_gamma
from frugal.judge.verdicts import readable
from frugal.studies.afape.cost_intervals import cost_interval, cost_range, unseen_errors
from frugal.studies.afape.term_blocks import TermBlocks

LEVEL = 0.95  # of the intervals
ROUNDING = 1e-9
BITS = 52  # panels that a number of 64 bits names without error
RANGE_COLUMNS = ("estimator", "kind", "gamma", "low", "high", "range_low", "range_high")
TIPPING_COLUMNS = ("seed", "estimator", "agent", "tipping_gamma", "tipping_other")
_PARTS = ("cost", "sure", "doubtful")


class Shifted:
    """One policy and seed: its estimates that verdicts may read, with the basis of their weights.

    Rows are set aside block by block; they are used for one estimate at a time.

    Args:
        kept: where rows go, and from where differences to other policies are bounded.
        at: seed and agent.
        cluster: of each row; None: each row is its own cluster. (n,)
    """

    def __init__(
        self, scratch: ScratchFile, at: tuple[int, str], cluster: Int[np.ndarray, " n"] | None
    ) -> None:
        self._kept, self._at, self._cluster = scratch, at, cluster

    def add(self, name: str, case: Case, terms: Terms) -> None:
        """The next block of an estimate, if verdicts may read it."""
        if name not in READ:
            return
        needed = ESTIMATORS[name].needed
        assert needed is not None, "bug: an estimator that is read declares the sets it needs"
        sets, chance = needed(case)
        weighted = Weighted.of(case.blocked[:, 0], terms.weight, chance)
        for part in _PARTS:
            self._kept.put((part, *self._at, name), getattr(weighted, part))
        for k, code in enumerate(_codes(sets)):
            self._kept.put((f"set {k}", *self._at, name), code)

    def forget(self, name: str) -> None:
        """Let go of an estimate that could not be computed, or of which no row carries weight."""
        at = (*self._at, name)
        for key in [*((part, *at) for part in _PARTS), *_set_keys(self._kept, at)]:
            if key in self._kept:
                self._kept.forget(key)

    def ranges(
        self,
        data: Table,
        observed: KnownRows,
        terms: TermBlocks,
        settings: Mapping[str, Any],
        rng: np.random.Generator,
    ) -> pd.DataFrame:
        """Plain and sharp range of each estimate, for every Γ, with intervals.

        Args:
            data: its costs and panels count.
            observed: fully observed variables.
            terms: of every estimator.
            settings: `gammas`, `folds`, `leaves`, `leaf_rows`, `rows`.
            rng: of the folds.
        """
        gammas = np.array(settings["gammas"], dtype=np.float64)
        frames = [no_ranges()]
        for name in READ:
            if ("cost", *self._at, name) not in self._kept:
                continue
            cost, sure, doubtful = (self._kept.column((p, *self._at, name)) for p in _PARTS)
            weighted = Weighted(cost, sure, doubtful, self._cluster)
            quantiles = fit_quantiles(weighted, observed, gammas, settings, rng)
            for kind, bounds in (
                ("plain", plain_range(weighted, gammas)),
                ("sharp", sharp_range(weighted, gammas, quantiles)),
            ):
                ends = _interval(data, terms, name, weighted.estimate, (gammas, bounds))
                frame = {"estimator": name, "kind": kind, "gamma": gammas}
                frame |= {"low": bounds.low, "high": bounds.high}
                frames.append(pd.DataFrame(frame | ends))
        return pd.concat(frames[1:] or frames, ignore_index=True)


def no_ranges() -> pd.DataFrame:
    """The columns of `Shifted.ranges`, without a row."""
    words = dict.fromkeys(RANGE_COLUMNS[:2], "")
    return pd.DataFrame([words | dict.fromkeys(RANGE_COLUMNS[2:], 0.0)]).iloc[:0]


def _interval(
    data: Table, terms: TermBlocks, name: str, centre: float, ranges: tuple[np.ndarray, Range]
) -> dict[str, list[float]]:
    """Interval of the range of each Γ, with room for unseen errors, where a cost can be.

    It holds those of smaller Γ, for any standard errors.
    """
    gammas, ends_of_range = ranges
    within, units = cost_range(data), terms.units(name)
    unseen = unseen_errors(units.error_costs(name), units.tally(name).weight, within)
    low, _ = normal_interval(ends_of_range.low, ends_of_range.low_error, level=LEVEL)
    _, high = normal_interval(ends_of_range.high, ends_of_range.high_error, level=LEVEL)
    low = [low[gammas <= gamma].min() for gamma in gammas]
    high = [high[gammas <= gamma].max() for gamma in gammas]
    pairs = [cost_interval(centre, *ends, unseen, within) for ends in zip(low, high, strict=True)]
    return {"range_low": [a for a, _ in pairs], "range_high": [b for _, b in pairs]}


def _codes(needed: np.ndarray) -> list[np.ndarray]:
    """Each row's set as numbers, one for every `BITS` panels. (n,) each"""
    parts = range(0, needed.shape[1], BITS)
    return [
        part @ 2.0 ** np.arange(part.shape[1]) for part in (needed[:, k : k + BITS] for k in parts)
    ]


def tipping(estimates: pd.DataFrame, scratch: ScratchFile, most: float) -> pd.DataFrame:
    """For each seed and estimator the policy of least estimate, and the Γ at which it may not be.

    Args:
        estimates: of all policies.
        scratch: arrays that `Shifted.add` set aside.
        most: the largest Γ that is looked at.
    """
    rows = []
    for (seed, name), rows_of_draw in tipped(estimates).groupby(["seed", "estimator"], sort=False):
        agents = list(rows_of_draw.sort_values(["estimate", "agent"], kind="stable")["agent"])
        if len(agents) < 2:
            continue
        named, sets = _stored(scratch, (seed, agents[0], name))
        others = (_stored(scratch, (seed, agent, name)) for agent in agents[1:])
        rivals = (
            Rival(rival, _same(named, rival) & (codes == sets).all(axis=0))
            for rival, codes in others
        )
        gamma, which = tipping_gamma(named, rivals, most)
        other = agents[1 + which] if which >= 0 else ""
        rows.append((seed, name, agents[0], gamma, other))
    return pd.DataFrame(rows, columns=list(TIPPING_COLUMNS))


def tipped(estimates: pd.DataFrame) -> pd.DataFrame:
    """The estimates that hidden causes may turn over."""
    return estimates[readable(estimates) & estimates["estimator"].isin(READ)]


def _same(first: Weighted, second: Weighted) -> np.ndarray:
    """Rows in which both policies are deterministic: their support is then the set alone."""
    return (np.abs(first.sure - 1) < ROUNDING) & (np.abs(second.sure - 1) < ROUNDING)


def _stored(scratch: ScratchFile, at: tuple[object, ...]) -> tuple[Weighted, np.ndarray]:
    """An estimate as `Shifted.add` set it aside, and its rows' sets. (k, n)"""
    parts = scratch.stack([(part, *at) for part in _PARTS])
    return Weighted(*parts), scratch.stack(_set_keys(scratch, at))


def _set_keys(scratch: ScratchFile, at: tuple[object, ...]) -> list[Hashable]:
    """Where the sets of an estimate's rows are."""
    return list(takewhile(scratch.__contains__, ((f"set {k}", *at) for k in count())))
