"""The law of missingness patterns from fitted probabilities, and its sums.

    p(R = r | X_adj) = Π_j p(R_j = r_j | pa_X(j), R_pa(j) = r_pa(j))        [afape, eq. A.6]

The paper needs it at r = 1 alone, where every cause R_pa(j) is 1: those are the factors. The AFA
propensity by the policy sums over all r with r_s = 1, so where indicators cause each other it also
needs p(R_j = 1 | pa_X(j), r_pa(j)) with some cause missing. Here these are one more regression for
each such panel, on records that lack a cause and show pa_X(j). A colluder X_i → R_j ← R_i, which
hides the law of R_j where R_i = 0, does no harm: X_i is in X_adj, so i (or another panel that
shows X_i) is in s, and only patterns with R_s = 1 count.

Knows records and graph; must not know estimators or how a regression is fitted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from frugal.acquire.set_probability import (
    afa_propensity_and_chance,
    rows_in_parts,
    wide_propensity_and_chance,
)
from frugal.core.episodes import Policy
from frugal.core.world import World
from frugal.judge.case import Records, in_s
from frugal.learn.nuisance_choice import FittedHead, Head, fit_probabilities
from frugal.missing.chain import IndicatorChain
from frugal.missing.law import MOST_SUMMED, every_subset

MOST_OPEN = 4  # causes outside s that one indicator may have: 2^4 settings are predicted for a row

Curve = tuple[np.ndarray, np.ndarray, np.ndarray]  # fitted values, event, rows that they serve


@dataclass(frozen=True)
class OpenCauses:
    """Requirements of the law of one indicator beyond its factor.

    Attributes:
        causes: panels outside s whose indicators cause it, so they may be missing.
        witnesses: panels that a record must show to be learned from: the other causes, and panels
            that reveal pa_X(j) without being caused by R_j.
    """

    causes: tuple[str, ...]
    witnesses: frozenset[str]


def open_causes(records: Records) -> dict[str, OpenCauses] | None:
    """Panel → requirements of its law where a cause is missing; None if some law is not identified.

    For each column of pa_X(j) that can be missing there must be a panel that reveals it, is no
    effect of R_j, and is not itself a cause that may be missing.
    """
    identification, s = records.identification, set(records.identification["s"])
    missable = list(identification["missable_panels"])
    shows = {p.name: set(p.columns) for p in records.data.actions}
    always = {
        column
        for panel in records.data.panels
        if panel.free or panel.name not in missable
        for column in panel.columns
    }
    needed = {}
    for factor in identification["factors"]:
        panel, causes = factor["panel"], records.parents[factor["panel"]]
        outside = tuple(p for p in missable if p in causes and p not in s)
        if not outside:
            continue
        witnesses = causes & s
        barred = _effects(panel, records.parents) | set(outside)
        for column in factor["columns"]:
            showing = [p for p in missable if column in shows[p] and p not in barred]
            if column in always or witnesses & set(showing):
                continue
            if not showing:
                return None
            witnesses = witnesses | {min(showing, key=lambda p: p not in s)}
        if len(outside) > MOST_OPEN:
            return None
        needed[panel] = OpenCauses(outside, frozenset(witnesses))
    return needed


def _effects(panel: str, parents: Mapping[str, set[str]]) -> set[str]:
    """The panel and all whose indicators follow from its own."""
    reached = {panel}
    while more := {j for j, causes in parents.items() if causes & reached} - reached:
        reached |= more
    return reached


@dataclass(frozen=True, eq=False)
class PatternLaw:
    """p(R = r | X_adj) of the records' rows, for every r with r_s = 1; n rows.

    Attributes:
        records: of one seed.
        factors: panel → p(R_j = 1 | pa_X(j), all causes recorded). (n,) each
        causes: panel → those of its causes that lie outside s; none if it has no such cause.
        elsewhere: panel with such causes → p(R_j = 1 | pa_X(j), setting): column c is for the
            causes missing whose bit is set in c; column 0 is the factor. (n, 2^causes) each; None
            where records do not identify the law.
        fitted: panel → calibration of `elsewhere`.
        fits: panel → the regression behind it, with its losses.
    """

    records: Records
    factors: Mapping[str, np.ndarray]
    causes: Mapping[str, tuple[str, ...]]
    elsewhere: Mapping[str, np.ndarray] | None
    fitted: Mapping[str, Curve]
    fits: Mapping[str, FittedHead]

    def probability(self, rows: np.ndarray, patterns: np.ndarray) -> np.ndarray:
        """p(R = r | X_adj) of some rows, for patterns (q, a) that hold s. (m, q)"""
        assert self.elsewhere is not None
        probability = np.ones((len(rows), len(patterns)))
        for panel, factor in self.factors.items():
            p_observed = factor[rows, None]
            if panel in self.elsewhere:
                p_observed = self.elsewhere[panel][rows][:, self._setting(panel, patterns)]
            probability *= np.where(patterns[:, self._place(panel)], p_observed, 1.0 - p_observed)
        return probability

    def recorded(self) -> np.ndarray:
        """p(R = r | X_adj) of each row's own pattern; NaN where it is not known. (n,)

        Without R → R edges any row with a known X_adj will do, else R_s = 1 is needed too.
        """
        if self.elsewhere is None:
            return np.full(len(self.records.observed), np.nan)
        probability = np.ones(len(self.records.observed))
        for panel, factor in self.factors.items():
            p_observed = factor
            if panel in self.elsewhere:
                setting = self._setting(panel, self.records.observed)
                p_observed = self.elsewhere[panel][np.arange(len(probability)), setting]
            probability = probability * np.where(
                self.records.indicator(panel), p_observed, 1.0 - p_observed
            )
        edgeless = not any(self.records.parents.values())
        return probability if edgeless else np.where(self.records.s_observed, probability, np.nan)

    def s_propensity(self) -> np.ndarray:
        """p(R_s = 1 | X_adj): a product if no edge comes into s from outside, else a sum. (n,)"""
        s = set(self.records.identification["s"])
        result = np.ones(len(self.records.observed))
        if all(self.records.parents[panel] <= s for panel in s & set(self.factors)):
            for panel, factor in self.factors.items():
                result = result * factor if panel in s else result
            return result
        if self.elsewhere is None:
            return np.full(len(result), np.nan)
        if self.wide:
            return self.chain.joint_probability(np.arange(len(result)), self._everywhere(s))
        patterns = self._patterns()
        for rows in rows_in_parts(self.records.observed, len(patterns)):
            result[rows] = self.probability(rows, patterns).sum(axis=1)
        return result

    def policy_propensity(
        self, policy: Policy, acquired: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """p(R=1 | X_adj, X̂, R̂, R_s=1) by Bayes from this law and the known policy. (n,)

        And the chance that a record lets the policy end as it did, see `acquire.set_probability`:
        for a deterministic policy, that it holds R̂ and s. (n,)

        Differs from the paper: there it is a regression of its own, so numerator and
        denominator of the weight come from two fits that need not agree (for a policy that never
        acquires they are the same quantity), and it does not know the values that the policy saw.
        NaN where R_s = 0 or X_adj is not known, and throughout if the law is not identified.

        Args:
            policy: the one that was run blocked.
            acquired: R̂. (n, a)
            rng: source of the patterns that are drawn where they are too many to be listed.
        """
        data = self.records.data
        result, chance = np.full(len(acquired), np.nan), np.full(len(acquired), np.nan)
        if self.elsewhere is None:
            return result, chance
        evaluable = [self.records.s_observed, *map(np.isfinite, self.factors.values())]
        evaluable += [np.isfinite(table).all(axis=1) for table in self.elsewhere.values()]
        rows = np.flatnonzero(np.all(evaluable, axis=0))
        if self.wide:
            result[rows], chance[rows] = wide_propensity_and_chance(
                policy,
                World.of_table(data).take(rows),
                target=acquired[rows],
                missingness=self.chain,
                rows=rows,
                s=in_s(self.records.identification, data),
                rng=rng,
            )
            return result, chance
        patterns = self._patterns()
        for part in rows_in_parts(acquired[rows], len(patterns)):
            at = rows[part]
            result[at], chance[at] = afa_propensity_and_chance(
                policy,
                World.of_table(data).take(at),
                target=acquired[at],
                patterns=patterns,
                pattern_probability=self.probability(at, patterns),
                s=in_s(self.records.identification, data),
            )
        return result, chance

    @property
    def wide(self) -> bool:
        """The patterns with r_s = 1 are too many to be listed."""
        return len(self._free()) > MOST_SUMMED

    @cached_property
    def chain(self) -> IndicatorChain:
        """The same law, evaluated at single events. Where R_s = 1 is in the event."""
        assert self.elsewhere is not None
        elsewhere = self.elsewhere
        causes = {panel: self.causes.get(panel, ()) for panel in self.factors}
        named = {self._place(panel): panel for panel in self.factors}

        def one(j: int, rows: np.ndarray, observed: np.ndarray) -> np.ndarray:
            panel = named[j]
            if panel not in elsewhere:
                return self.factors[panel][rows]
            return elsewhere[panel][rows, self._setting(panel, observed)]

        return IndicatorChain(
            [self._place(panel) for panel in TopologicalSorter(causes).static_order()],
            {self._place(panel): [*map(self._place, named)] for panel, named in causes.items()},
            one,
        )

    def _everywhere(self, panels: set[str]) -> np.ndarray:
        """The panels as a set, once for each row. (n, a)"""
        panel_set = np.isin([panel.name for panel in self.records.data.actions], list(panels))
        return np.broadcast_to(panel_set, self.records.observed.shape)

    def _free(self) -> list[int]:
        """Places of the panels outside s that can be missing."""
        subset = in_s(self.records.identification, self.records.data)
        return [j for j in map(self._place, self.factors) if not subset[j]]

    def _patterns(self) -> np.ndarray:
        """Every pattern with r_s = 1. (q, a)"""
        subset, free = in_s(self.records.identification, self.records.data), self._free()
        subsets = every_subset(len(free))
        patterns = np.ones((len(subsets), len(subset)), dtype=bool)
        patterns[:, free] = subsets
        return patterns

    def _place(self, panel: str) -> int:
        return [p.name for p in self.records.data.actions].index(panel)

    def _setting(self, panel: str, observed: np.ndarray) -> np.ndarray:
        """Which of the causes outside s are missing, as a code. (q,)"""
        places = [self._place(cause) for cause in self.causes[panel]]
        return (~observed[:, places]) @ (2 ** np.arange(len(places)))


@dataclass(frozen=True, eq=False)
class FittedLaw:
    """Fitted law of patterns beyond its factors, for any rows.

    Attributes:
        needed: panel → requirements of its law where a cause is missing; None if not identified.
        models: panel → the regression behind it; None where some split had no record to learn from.
    """

    needed: Mapping[str, OpenCauses] | None
    models: Mapping[str, FittedHead] | None

    def of(
        self, records: Records, factors: Mapping[str, np.ndarray], fold: np.ndarray
    ) -> PatternLaw:
        """The law of some records.

        Args:
            records: of one seed.
            factors: panel → fitted p(R_j = 1 | pa_X(j), all causes recorded). (n,) each
            fold: of each record. (n,)
        """
        if self.needed is None:
            return PatternLaw(records, factors, {}, None, {}, {})
        causes = {panel: need.causes for panel, need in self.needed.items()}
        if self.models is None:
            return PatternLaw(records, factors, causes, None, {}, {})
        elsewhere, curves = {}, {}
        for panel, need in self.needed.items():
            design = _Elsewhere.of(records, panel, need)
            predicted = self.models[panel].predict(design.inputs, np.tile(fold, design.times))
            by_setting = predicted.reshape(design.times, -1).T
            curves[panel] = by_setting[:, 0], records.indicator(panel), design.usable
            elsewhere[panel] = np.column_stack([factors[panel], by_setting[:, 1:]])
        return PatternLaw(records, factors, causes, elsewhere, curves, self.models)


def fit_law(
    records: Records,
    *,
    rule: Mapping[str, np.ndarray],
    method: str,
    settings: Mapping[str, Any],
    rng: np.random.Generator,
) -> FittedLaw:
    """One more regression for each panel whose law needs one.

    Args:
        records: to learn from, of one seed.
        rule: `fold`, and `train` and `predict`, as the factors were fitted.
        method: of the regressions, or "lowest_loss".
        settings: method → its settings.
        rng: source of the fits' randomness.
    """
    needed = open_causes(records)
    models: dict[str, FittedHead] = {}
    for panel, need in (needed or {}).items():
        design = _Elsewhere.of(records, panel, need)
        rest = np.zeros(len(design.usable) * (design.times - 1), dtype=bool)
        head = Head(
            design.inputs,
            np.tile(records.indicator(panel), design.times),
            np.concatenate([design.usable, rest]),
        )
        tiled = {name: np.tile(rows, design.times) for name, rows in rule.items()}
        (fit,) = fit_probabilities([head], rule=tiled, method=method, settings=settings, rng=rng)
        if not fit.method:
            return FittedLaw(needed, None)
        models[panel] = fit
    return FittedLaw(needed, models)


@dataclass(frozen=True, eq=False)
class _Elsewhere:
    """Training and prediction data of p(R_j = 1 | pa_X(j), setting) with a cause missing.

    One regression, with the causes among its inputs if there are several. Each row is there once
    as it is, to be learned from and judged, and once more for each setting, to be predicted.

    Attributes:
        inputs: of all settings, one below the other. (n · times, w)
        usable: records to learn from. (n,)
        times: settings, and the row as it is.
    """

    inputs: np.ndarray
    usable: np.ndarray
    times: int

    @classmethod
    def of(cls, records: Records, panel: str, need: OpenCauses) -> "_Elsewhere":
        """For one panel."""
        (factor,) = (f for f in records.identification["factors"] if f["panel"] == panel)
        inputs = records.known(factor["columns"])
        observed = np.column_stack([records.indicator(cause) for cause in need.causes])
        witnesses = [records.indicator(witness) for witness in need.witnesses]
        usable = np.asarray(np.all([(~observed).any(axis=1), *witnesses], axis=0))
        options = every_subset(len(need.causes))[:, ::-1]  # row c: bit k of c set, cause k missing
        variants = [observed, *(np.broadcast_to(option, observed.shape) for option in options[1:])]
        several = len(need.causes) > 1
        stacked = [
            np.hstack([inputs, variant[:, : None if several else 0]]) for variant in variants
        ]
        return cls(np.vstack(stacked), usable, len(variants))
