"""What hidden causes could make of the estimates that verdicts read: ranges, and the tipping Γ."""

from collections.abc import Mapping
from itertools import count, takewhile
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.table import Table
from frugal.core.terms import Terms
from frugal.judge.case import COSTS, Case
from frugal.judge.comparisons import InfluenceStore
from frugal.judge.cost_cells import fit_quantiles
from frugal.judge.cost_intervals import cost_interval, cost_range, unseen_errors
from frugal.judge.intervals import normal_interval, together
from frugal.judge.records import always_known
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.sensitivity import Range, Weighted, plain_range, sharp_range
from frugal.judge.tipping import Rival, tipping_gamma
from frugal.judge.verdicts import readable

LEVEL = 0.95  # of the intervals
ROUNDING = 1e-9
BITS = 52  # panels that a number of 64 bits names without error
RANGE_COLUMNS = (
    "estimator", "kind", "gamma", "low", "high", "range_low", "range_high",
)  # fmt: skip
TIPPING_COLUMNS = ("seed", "estimator", "agent", "tipping_gamma", "tipping_other")


class Shifted:
    """One policy and seed: its estimates that verdicts may read, with what their weights stand on.

    Args:
        case: the policy and seed.
        terms: of every estimator that could be computed.
        estimates: the rows made of them.
        data: the evaluation rows.
    """

    def __init__(
        self, case: Case, terms: Mapping[str, Terms], estimates: pd.DataFrame, data: Table
    ) -> None:
        done = set(estimates.loc[estimates["status"] == "ok", "estimator"])
        self.case, self.terms, self.data = case, terms, data
        self.needed: dict[str, np.ndarray] = {}
        self.weighted: dict[str, Weighted] = {}
        for name in READ:
            needed = ESTIMATORS[name].needed
            assert needed is not None, "bug: an estimator that is read says which sets it needs"
            if name in done:
                self.needed[name], chance = needed(case)
                weight = terms[name].weight
                self.weighted[name] = Weighted.of(case.blocked[:, 0], weight, chance, case.cluster)

    def keep(self, kept: InfluenceStore, at: tuple[int, str]) -> None:
        """Keep what differences to other policies are bounded by; `at` is seed and agent."""
        for name, one in self.weighted.items():
            for part in ("cost", "sure", "doubtful"):
                kept.put((part, *at, name), getattr(one, part))
            for k, code in enumerate(_codes(self.needed[name])):
                kept.put((f"set {k}", *at, name), code)

    def ranges(self, settings: Mapping[str, Any], rng: np.random.Generator) -> pd.DataFrame:
        """Plain and sharp range of each estimate, for every Γ, with intervals.

        Args:
            settings: `gammas`, `folds`, `leaves`, `leaf_rows`.
            rng: of the folds.
        """
        gammas = np.array(settings["gammas"], dtype=np.float64)
        columns, label = always_known(self.data, self.case.observed)
        known = np.column_stack([np.empty((len(self.data), 0)), *columns.values(), *label.values()])
        frames = [pd.DataFrame(columns=list(RANGE_COLUMNS))]
        for name, one in self.weighted.items():
            quantiles = fit_quantiles(one, known, gammas, settings, rng)
            for kind, found in (
                ("plain", plain_range(one, gammas)),
                ("sharp", sharp_range(one, gammas, quantiles)),
            ):
                ends = self._interval(name, one.estimate, found)
                frame = {"estimator": name, "kind": kind, "gamma": gammas}
                frame |= {"low": found.low, "high": found.high}
                frames.append(pd.DataFrame(frame | ends))
        return pd.concat(frames[1:] or frames, ignore_index=True)

    def _interval(self, name: str, centre: float, found: Range) -> dict[str, list[float]]:
        """Interval of each range, with room for unseen errors, where a cost can be."""
        within = cost_range(self.data)
        terms = together(self.terms[name], self.case.cluster)
        unseen = unseen_errors(terms, COSTS.index("misclassification_cost"), within)
        low, _ = normal_interval(found.low, found.low_error, level=LEVEL)
        _, high = normal_interval(found.high, found.high_error, level=LEVEL)
        pairs = [
            cost_interval(centre, *ends, unseen, within) for ends in zip(low, high, strict=True)
        ]
        return {"range_low": [a for a, _ in pairs], "range_high": [b for _, b in pairs]}


def _codes(needed: np.ndarray) -> list[np.ndarray]:
    """Each row's set as numbers, one for every `BITS` panels. (n,) each"""
    parts = range(0, needed.shape[1], BITS)
    return [
        part @ 2.0 ** np.arange(part.shape[1]) for part in (needed[:, k : k + BITS] for k in parts)
    ]


def tipping(estimates: pd.DataFrame, kept: InfluenceStore, most: float) -> pd.DataFrame:
    """For each seed and estimator the policy of least estimate, and the Γ at which it may not be.

    Args:
        estimates: of all policies.
        kept: what `Shifted.keep` kept.
        most: the largest Γ that is looked at.
    """
    rows = []
    may = estimates[readable(estimates) & estimates["estimator"].isin(READ)]
    for (seed, name), found in may.groupby(["seed", "estimator"], sort=False):
        agents = list(found.sort_values(["estimate", "agent"], kind="stable")["agent"])
        if len(agents) < 2:
            continue
        named, sets = _stored(kept, (seed, agents[0], name))
        others = (_stored(kept, (seed, agent, name)) for agent in agents[1:])
        rivals = (
            Rival(one, _same(named, one) & (codes == sets).all(axis=0)) for one, codes in others
        )
        gamma, which = tipping_gamma(named, rivals, most)
        other = agents[1 + which] if which >= 0 else ""
        rows.append((seed, name, agents[0], gamma, other))
    return pd.DataFrame(rows, columns=list(TIPPING_COLUMNS))


def _same(first: Weighted, second: Weighted) -> np.ndarray:
    """Rows in which neither policy draws lots: what lets it do as it does is then the set alone."""
    return (np.abs(first.sure - 1) < ROUNDING) & (np.abs(second.sure - 1) < ROUNDING)


def _stored(kept: InfluenceStore, at: tuple[object, ...]) -> tuple[Weighted, np.ndarray]:
    """An estimate as `Shifted.keep` kept it, and its rows' sets. (k, n)"""
    parts = kept.stack([(part, *at) for part in ("cost", "sure", "doubtful")])
    sets = list(takewhile(kept.__contains__, ((f"set {k}", *at) for k in count())))
    return Weighted(*parts), kept.stack(sets)
