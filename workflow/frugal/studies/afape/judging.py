"""One policy in one seed by every estimator: its rows of all tables, from statistics of blocks.

Blocks are read for obstacles to estimators, then for terms; all else comes from sums and
columns that were set aside.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.rows import ScratchFile
from frugal.core.streams import Streams
from frugal.core.table import Table
from frugal.core.world import distinct_sets
from frugal.judge.case import COSTS, Case, acquired_sets
from frugal.judge.comparisons import LEVEL, Comparison, compare, covariance_of
from frugal.judge.estimator import Estimator, Need, Terms
from frugal.judge.intervals import skewed_interval
from frugal.judge.registry import ESTIMATORS, READ
from frugal.judge.sums import Spread
from frugal.judge.views import Seen
from frugal.studies.afape.cost_intervals import (
    CostInterval,
    cost_interval,
    cost_range,
    range_findings,
    unseen_errors,
)
from frugal.studies.afape.evidence import PolicyEvidence
from frugal.studies.afape.hidden_causes import Shifted
from frugal.studies.afape.obstacles import LEAST_MASS, obstacle
from frugal.studies.afape.positivity import (
    Finding,
    gap_findings,
    mean_findings,
    policy_findings,
    resample_findings,
)
from frugal.studies.afape.resampling import (
    PooledEstimate,
    full_sample_interval,
    prefix_estimates,
    resample,
    rubin,
)
from frugal.studies.afape.stored import StoredCases
from frugal.studies.afape.summary import OK, Summary, summary_of
from frugal.studies.afape.term_blocks import NuisanceFit, TermBlocks, stacked

DECISIONS = COSTS.index("misclassification_cost")


class Fits:
    """The fit of the missingness model of each seed, the same for every policy.

    Args:
        cases: of the study.
        scratch: where scores go.
        others: rows of the part that probabilities were fitted on; 0 where they were cross-fitted.
    """

    def __init__(self, cases: StoredCases, scratch: ScratchFile, others: int) -> None:
        self._cases, self._scratch, self._others = cases, scratch, others
        self._fits: dict[int, NuisanceFit] = {}

    def of(self, agent: str, seed: int) -> NuisanceFit:
        """That of a seed, read with the case of any policy."""
        if seed not in self._fits:
            self._fits[seed] = fit = NuisanceFit(self._scratch, self._others)
            for at in range(len(self._cases.numbers)):
                stored = self._cases.propensities(seed, at)
                learned = stored["learned_from"].to_numpy() if "learned_from" in stored else None
                fit.add(self._cases.data(at), self._cases.case(agent, seed, at), learned)
        return self._fits[seed]


@dataclass(eq=False)
class JudgedPolicy:
    """Statistics of blocks for one policy and seed.

    Attributes:
        agent, seed: whose.
        evidence: of all rows.
        read_evidence: the same for estimators that verdicts read: where missingness does not matter
            to the policy, of a table without them.
        terms: of every estimator that could be computed.
        stopped: status and reason of every other.
        sets: estimator → the sets, as bytes, that the policy ended with in rows with weight.
        completed: costs on completed tables, an outcome each, by method.
        views: inputs of the views.
        around: of every estimator of which some row carries weight, level → ends of the interval
            of the estimator alone.
        intervals: of the same, with room for unseen errors, where a cost can be.
    """

    agent: str
    seed: int
    evidence: PolicyEvidence
    read_evidence: PolicyEvidence
    terms: TermBlocks
    stopped: dict[str, tuple[str, str]]
    sets: dict[str, set[bytes]]
    completed: TermBlocks
    views: Seen
    around: dict[str, Callable[[float], tuple[float, float]]] = field(default_factory=dict)
    intervals: dict[str, CostInterval] = field(default_factory=dict)

    def ignores_gaps(self, estimator: Estimator) -> bool:
        """The estimator is the mean of all rows, as missingness cannot affect the policy."""
        return estimator.read is not None and not self.evidence.gaps_matter

    def evidence_of(self, estimator: Estimator) -> PolicyEvidence:
        """By which an estimator can be computed, or not."""
        return self.read_evidence if self.ignores_gaps(estimator) else self.evidence

    @property
    def names(self) -> list[str]:
        """Estimators that could be computed, in the order of the registry."""
        return [name for name in ESTIMATORS if name in self.terms.names]


def judge_blocks(
    cases: StoredCases, at: tuple[str, int], scratch: ScratchFile, shifted: Shifted
) -> JudgedPolicy:
    """Go through all blocks.

    Args:
        cases: of the study.
        at: agent and seed.
        scratch: for values of this policy and seed alone.
        shifted: collects the inputs of hidden-cause ranges.
    """
    agent, seed = at
    evidence, views = PolicyEvidence(ESTIMATORS.values(), cases.clusters), None
    blocks = range(len(cases.numbers))
    for k in blocks:
        case = cases.case(agent, seed, k)
        evidence.add(case)
        views = Seen.of(case) if views is None else views + Seen.of(case)
    assert views is not None, "bug: a case without a row"
    read = evidence
    if not evidence.gaps_matter:
        read = PolicyEvidence((ESTIMATORS[name] for name in READ), cases.clusters)
        for k in blocks:
            read.add(cases.case(agent, seed, k).without_gaps())
    terms = TermBlocks(scratch, cases.sizes, cases.cluster, decisions=DECISIONS)
    completed = TermBlocks(scratch, cases.sizes, cases.cluster)
    judged = JudgedPolicy(agent, seed, evidence, read, terms, {}, {}, completed, views)
    for name, estimator in ESTIMATORS.items():
        if why := obstacle(estimator, judged.evidence_of(estimator)):
            judged.stopped[name] = why
    for k in blocks:
        _add_terms(judged, cases.case(agent, seed, k), shifted)
    for name in judged.stopped:
        terms.drop(name)
        shifted.forget(name)
    return judged


def _add_terms(judged: JudgedPolicy, case: Case, shifted: Shifted) -> None:
    """Terms of every estimator that can be computed, on one block."""
    for name, estimator in ESTIMATORS.items():
        if name in judged.stopped:
            continue
        try:
            without_gaps = case.without_gaps() if judged.ignores_gaps(estimator) else case
            terms = estimator.terms(without_gaps)
        except DataError as refusal:  # what no obstacle foresees costs one row, not the study
            why = f"It cannot be computed from these records: {refusal}."
            judged.stopped[name] = "no_support", why
            continue
        judged.terms.put(name, terms)
        shifted.add(name, without_gaps, terms)
        if case.full is not None and estimator.propensity is not None:
            off_policy = estimator.propensity is Need.PATTERN_PROPENSITY
            sets = acquired_sets(case.recorded if off_policy else case.blocked)
            used = np.ascontiguousarray(distinct_sets(sets[terms.weight > 0]).sets)
            judged.sets.setdefault(name, set()).update(row.tobytes() for row in used)
    each = np.ones(len(case.observed))
    for method, draws in case.imputed.items():
        judged.completed.put(method, Terms(draws[:, :, 0].T, each, each))


def divides(name: str, judged: JudgedPolicy) -> bool:
    """Whether an estimate divides by a probability that was fitted."""
    return ESTIMATORS[name].fitted and not judged.ignores_gaps(ESTIMATORS[name])


def summary_rows(
    judged: JudgedPolicy, fit: NuisanceFit, shared: ScratchFile
) -> dict[str, dict[str, Any]]:
    """One row per estimator, computed or not, without the results of resampling.

    Args:
        judged: statistics of blocks.
        fit: of the missingness model.
        shared: where influence terms go, for comparisons of pairs of policies.
    """
    usable = [name for name in judged.names if judged.terms.tally(name).weight.usable]
    spreads = judged.terms.influence_terms(
        usable,
        fit,
        lambda name: divides(name, judged),
        shared,
        lambda name: (judged.seed, name, judged.agent),
    )
    rows = {}
    for name, estimator in ESTIMATORS.items():
        if name in judged.stopped:
            rows[name] = _empty_row(name, *judged.stopped[name], judged.evidence.rows)
            continue
        findings = _warnings(estimator, judged)
        summary = summary_of(judged.terms, name, spreads.get(name), level=LEVEL, findings=findings)
        if name in usable:
            judged.around[name] = _around(estimator, judged, summary, spreads[name])
        rows[name] = _row(estimator, summary, judged)
    return rows


def _row(estimator: Estimator, summary: Summary, judged: JudgedPolicy) -> dict[str, Any]:
    """The summary row of one estimator that could be computed."""
    row = _empty_row(estimator.name, summary.status, summary.reason, summary.n) | {
        "estimate": summary.estimate[0],
        "std_error": summary.std_error[0],
        "ci_low": summary.ci_low[0],
        "ci_high": summary.ci_high[0],
        "ess": summary.ess,
        "largest_weight_share": summary.largest_weight_share,
        "usable_rows": summary.usable_rows,
        "acquisition_cost": summary.estimate[1],
        "misclassification_cost": summary.estimate[2],
        "warning": ",".join(finding.name for finding in summary.findings),
    }
    if (pooled := _pooled(estimator, judged)) is not None:
        row |= {"std_error": float(np.sqrt(pooled.variance[0]))}
    return row


def _pooled(estimator: Estimator, judged: JudgedPolicy) -> PooledEstimate | None:
    """An estimate on several completed tables; None of other estimates."""
    if estimator.imputation not in judged.completed.names:
        return None
    tally = judged.completed.units(estimator.imputation).tally(estimator.imputation)
    if len(tally.numerator) < 2:
        return None
    return rubin(tally.estimate[:, None], tally.standard_error[:, None] ** 2)


def _around(
    estimator: Estimator, judged: JudgedPolicy, summary: Summary, spread: Spread
) -> Callable[[float], tuple[float, float]]:
    """Level → ends of an estimate's interval."""
    pooled, centre = _pooled(estimator, judged), summary.estimate[:1]
    counted = judged.terms.units(estimator.name).tally(estimator.name).weight

    def ends(level: float) -> tuple[float, float]:
        low, high = (
            skewed_interval(centre, spread, counted, level=level)
            if pooled is None
            else pooled.interval(level=level)
        )
        return float(low[0]), float(high[0])

    return ends


def _empty_row(name: str, status: str, reason: str, n: int) -> dict[str, Any]:
    numbers = ["estimate", "std_error", "ci_low", "ci_high", "resample_sd", "resample_low"]
    numbers += ["resample_high", "largest_weight_share", *COSTS[1:]]
    return {
        "estimator": name,
        **dict.fromkeys(numbers, np.nan),
        "n": n,
        "ess": 0.0,
        "usable_rows": 0,
        "status": status,
        "reason": reason,
        "warning": "",
    }


def _warnings(estimator: Estimator, judged: JudgedPolicy) -> tuple[Finding, ...]:
    """Properties of the records that weaken a weighted estimate."""
    propensity, evidence = estimator.propensity, judged.evidence_of(estimator)
    if propensity is None:
        return ()
    findings = mean_findings(judged.terms.tally(estimator.name).weight.mean)
    if Need.AFA_PROPENSITY in estimator.needs:
        findings += policy_findings(suffices=evidence.head.afa_propensity_suffices)
    if propensity is not Need.PATTERN_PROPENSITY:
        findings += evidence.propensities[propensity].findings()
    if evidence.head.full is not None:  # else the sets of the policy are unknown
        ended = sorted(
            evidence.full_sets.values(), key=lambda ended_set: tuple(ended_set[0].tolist())
        )
        mass = np.array([rows for _, rows, _ in ended], dtype=np.int64)
        findings += gap_findings(
            np.array([row for row, _, _ in ended]),
            mass / mass.sum(),
            judged.sets[estimator.name],
            least_mass=LEAST_MASS,
        )
    return findings


def resampled(
    judged: JudgedPolicy,
    rows: dict[str, dict[str, Any]],
    data: Table,
    settings: Mapping[str, Any],
    streams: Streams,
) -> pd.DataFrame:
    """Resample all estimators at once; add spread, interval and warnings to their rows."""
    usable = [name for name in ESTIMATORS if rows[name]["status"] == OK]
    share, count = settings["resample_share"], settings["resamples"]
    units = [judged.terms.units(name) for name in usable]
    drawn = resample(
        _first_terms(units, usable),
        units[0].sizes,
        np.array(
            [block.tally(name).estimate[0] for block, name in zip(units, usable, strict=True)]
        ),
        resamples=count,
        share=share,
        rng_of=lambda number: streams.of_block(number, "resamples", judged.seed),
    )
    for k, name in enumerate(usable):
        column = drawn[:, k : k + 1]
        centre = np.array([rows[name]["estimate"]])
        low, high = full_sample_interval(centre, column, share=share, level=LEVEL)
        spread = float(column.std(ddof=1) * np.sqrt(share / (1 - share)))
        rows[name] |= {"resample_sd": spread, "resample_low": low[0], "resample_high": high[0]}
        names = [rows[name]["warning"], *(f.name for f in resample_findings(column))]
        rows[name]["warning"] = ",".join(n for n in names if n)
    for name in usable:
        rows[name] |= _within(rows[name], judged, name, data)
    return pd.DataFrame(
        {
            "estimator": np.repeat(np.array(usable, dtype=str), count),
            "resample": np.tile(np.arange(count), len(usable)),
            "estimate": drawn.T.ravel(),
        }
    )


def _within(row: Mapping[str, Any], judged: JudgedPolicy, name: str, data: Table) -> dict[str, Any]:
    """The intervals of a row, where a cost can be and with room for unseen errors; warnings."""
    within, units = cost_range(data), judged.terms.units(name)
    unseen = unseen_errors(units.error_costs(name), units.tally(name).weight, within)
    findings = unseen.findings + range_findings(row["estimate"], within)
    interval = CostInterval(row["estimate"], judged.around[name], unseen, within)
    ends = (row["estimate"], row["resample_low"], row["resample_high"])
    low, high = cost_interval(*ends, unseen, within)
    changed: dict[str, Any] = {"resample_low": low, "resample_high": high}
    changed["ci_low"], changed["ci_high"] = interval.at(LEVEL)
    judged.intervals[name] = interval
    names = [row["warning"], *(finding.name for finding in findings)]
    return changed | {"warning": ",".join(name for name in names if name)}


def convergence(judged: JudgedPolicy, sizes: list[int], streams: Streams) -> pd.DataFrame:
    """Estimates on growing random subsets of the rows, nuisances kept."""
    terms, n, names = judged.terms, judged.terms.rows, judged.names
    cuts = sorted({size for size in sizes if size < n} | {n})
    blocks = _first_terms([terms] * len(names), names)
    value = prefix_estimates(
        blocks, terms.sizes, cuts, lambda number: streams.of_block(number, "order", judged.seed)
    )
    return pd.DataFrame(
        {
            "estimator": np.repeat(np.array(names, dtype=object), len(cuts)),
            "n": np.tile(np.array(cuts, dtype=np.int64), len(names)),
            "estimate": value.T.ravel(),
        }
    )


def _first_terms(each: Sequence[TermBlocks], names: Sequence[str]) -> Iterator[list[Terms]]:
    """Terms of the first outcome by every estimator, block by block."""
    for number in range(len(each[0].sizes)):
        yield [block.first(name, number) for block, name in zip(each, names, strict=True)]


def frequencies(judged: JudgedPolicy, data: Table) -> pd.DataFrame:
    """Counterfactual frequency with which each panel is acquired (Fig. A.6), by every estimator."""
    frames = []
    for name in judged.names:
        tally = judged.terms.tally(name)
        if len(tally.numerator) == len(COSTS) or not tally.weight.usable:
            continue
        frames.append(
            pd.DataFrame(
                {
                    "estimator": name,
                    "panel": [panel.name for panel in data.actions],
                    "frequency": tally.estimate[len(COSTS) :],
                    "std_error": judged.terms.units(name).tally(name).standard_error[len(COSTS) :],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


COLUMNS = (
    "seed",
    "estimator",
    "agent",
    "other",
    "difference",
    "std_error",
    "ci_low",
    "ci_high",
    "not_worse",
    "bound",
    "truth",
)
Intervals = Mapping[tuple[int, str, str], CostInterval]  # of each estimate, by seed, name and agent


def pairs(
    estimates: pd.DataFrame, intervals: Intervals, influence: ScratchFile, streams: Streams
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Every ordered pair of policies, for each seed and estimator; and the estimates.

    The latter get the ends of intervals that hold for all policies at once: `simultaneous_low`,
    `simultaneous_high`.

    Args:
        estimates: of all policies: agent, estimator, seed, estimate, status, std_error, truth.
        intervals: of each that is `ok`.
        influence: terms of each that is `ok`, by seed, estimator and agent; under "draws" the
            estimates on completed tables.
        streams: source of the draws for simultaneous intervals.
    """
    frames, level = [pd.DataFrame(columns=list(COLUMNS))], {}
    for (seed, name), rows in compared(estimates).groupby(["seed", "estimator"], sort=False):
        if len(rows) > 1:
            at = int(seed), str(name)  # pyright: ignore[reportArgumentType]
            comparison = _compared(*at, rows, influence, streams)
            level[at] = comparison.level
            frames.append(_pairs_of(*at, rows, comparison, intervals))
    ends = [
        intervals[at].at(level.get(at[:2], LEVEL)) if at in intervals else (np.nan, np.nan)
        for at in estimates[["seed", "estimator", "agent"]].itertuples(index=False, name=None)
    ]
    low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
    return (
        pd.concat(frames[1:] or frames, ignore_index=True),
        estimates.assign(simultaneous_low=low, simultaneous_high=high),
    )


def compared(estimates: pd.DataFrame) -> pd.DataFrame:
    """The estimates that pairs are made of; groups of them follow one another as they begin."""
    return estimates[(estimates["status"] == "ok") & np.isfinite(estimates["std_error"])]


def _compared(
    seed: int, name: str, rows: pd.DataFrame, influence: ScratchFile, streams: Streams
) -> Comparison:
    """All policies by one estimator in one seed."""
    agents = list(rows["agent"])
    drawn = None
    if ("draws", seed, name, agents[0]) in influence:
        drawn = influence.stack([("draws", seed, name, agent) for agent in agents])
        drawn = drawn if drawn.shape[1] > 1 else None
    terms = stacked(influence, [(seed, name, agent) for agent in agents])
    covariance = covariance_of(terms, drawn)
    value = rows["estimate"].to_numpy()
    return compare(value, covariance, streams.generator("pairs", seed, name))


def _pairs_of(
    seed: int, name: str, rows: pd.DataFrame, comparison: Comparison, intervals: Intervals
) -> pd.DataFrame:
    """The rows of one estimator and seed.

    An interval of a difference has room for errors that neither policy's rows show, unless both
    policies did the same in every row.
    """
    agents, truth = list(rows["agent"]), rows["truth"].to_numpy()
    first, second = zip(*_ordered(len(agents)), strict=True)
    at = (np.array(first), np.array(second))
    unseen = [intervals[seed, name, agent].unseen for agent in agents]
    below, above = (
        np.array([getattr(unseen_error, end) for unseen_error in unseen])
        for end in ("below", "above")
    )
    apart, half = comparison.std_error[at] > 0, comparison.half_width[at]
    unseen_high = apart * (above[at[0]] + below[at[1]])
    return pd.DataFrame(
        {
            "seed": seed,
            "estimator": name,
            "agent": [agents[k] for k in first],
            "other": [agents[k] for k in second],
            "difference": comparison.difference[at],
            "std_error": comparison.std_error[at],
            "ci_low": comparison.difference[at] - half - apart * (below[at[0]] + above[at[1]]),
            "ci_high": comparison.difference[at] + half + unseen_high,
            "not_worse": comparison.not_worse[at[0]],
            "bound": comparison.most[at] + unseen_high,
            "truth": truth[at[0]] - truth[at[1]],
        }
    )


def _ordered(k: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(k) for b in range(k) if a != b)
