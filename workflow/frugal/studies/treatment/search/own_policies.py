"""Policies learned from one's own records of searches, evaluated by the records left aside.

The rule of choice is written down beforehand: of the policies at the first δ, none with a warning
if any is without; of these, those whose expected outcome is not significantly below the best one's
(paired, 95 %); of these the one of fewest expected trials. Knows no file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.region_words import JUDGED, TRIED, condition_text, hole_sentence, records_needed
from frugal.core.streams import Streams
from frugal.judge.support import find_holes
from frugal.results.files import all_digits
from frugal.studies.treatment.data.levels import MISSING, ColumnLevels, Strata
from frugal.studies.treatment.data.own_records import OwnRecords, RecordsDescription
from frugal.studies.treatment.data.records import (
    SearchSizeError,
    TrialRecords,
    require_search_memory,
)
from frugal.studies.treatment.models.outcome_forest import ForestOptions
from frugal.studies.treatment.search.off_policy import (
    ESTIMATORS,
    FOLDS,
    QUANTITIES,
    Estimates,
    EvaluationRecords,
    estimates,
    final_weights,
)
from frugal.studies.treatment.search.searches import ComparisonOptions, PlannedSearch, plan_searches

LEAST_EFFECTIVE, MOST_UNSEEN = 50.0, 0.02
MEMORY_GIB = 2.0  # of all tables together
Z95 = 1.959963984540054
PLANNERS = {"cdp": "constrained dynamic programming", "cg": "the greedy planner"}
WARNINGS = {
    "few": f"the effective sample size is below {LEAST_EFFECTIVE:g}",
    "unseen": f"more than {MOST_UNSEEN:.0%} of its searches meet a step that no record took",
}


@dataclass(frozen=True, eq=False)
class EvaluatedPolicy:
    """A policy with its expected cost and outcome."""

    plan: PlannedSearch
    estimates: Estimates

    @property
    def warnings(self) -> tuple[str, ...]:
        """Keys of `WARNINGS`."""
        few = ["few"] * (self.estimates.effective < LEAST_EFFECTIVE)
        return tuple(few + ["unseen"] * (self.estimates.unseen > MOST_UNSEEN))

    @property
    def name(self) -> str:
        """For people: planner, model and δ."""
        plan = self.plan
        if plan.planner == "doctor":
            return "doctor (the most frequent choice of the records)"
        planner = PLANNERS[plan.planner]
        return f"{planner} on {plan.outcome_model} tables, δ {plan.threshold:g}"

    def interval(self, quantity: str) -> str:
        """`1.62 (1.55 to 1.69)`."""
        cell = self.estimates.cells[quantity, "doubly_robust"]
        return f"{cell['estimate']:.3g} ({cell['ci_low']:.3g} to {cell['ci_high']:.3g})"


@dataclass(frozen=True, eq=False)
class Untried:
    """Treatments that were never tried in a region of the patients' columns.

    Attributes:
        barred: contexts in which no policy takes a treatment. (x, a)
        sentences: one for each region.
    """

    barred: Bool[np.ndarray, "x a"]
    sentences: tuple[str, ...]


def untried_regions(
    records: OwnRecords, context: Int[np.ndarray, " n"], contexts: Strata, hidden: Strata
) -> Untried:
    """Regions of covariates and confounders in which a treatment was never tried.

    A policy reads covariates alone: where confounders bound a region, it is reported, not barred.

    Args:
        records: of n units.
        context: of each unit.
        contexts: of covariates.
        hidden: strata of confounders.
    """
    tried = np.zeros((len(records.names), len(records.treatments)), dtype=bool)
    unit, place = np.nonzero(records.action >= 0)
    tried[unit, records.action[unit, place]] = True
    codes = np.concatenate([records.covariate, records.confounder], axis=1)
    names, values = _indicators(codes, (*contexts.kinds, *hidden.kinds))
    barred = np.zeros((len(contexts.names), len(records.treatments)), dtype=bool)
    if not names:
        return Untried(barred, ())
    covariates = {kind.column for kind in contexts.kinds}
    provides = np.zeros((tried.shape[1], values.shape[1]), dtype=bool)
    sentences = []
    for hole in find_holes(values, tried, provides):
        read = {names[c.column][0] for c in hole.conditions} <= covariates
        if read:
            barred[np.unique(context[hole.contains(values)]), hole.panel] = True
        where = condition_text(hole.conditions, names.__getitem__)
        counts = (hole.recorded, hole.rows, records_needed(hole.recorded))
        words = TRIED if read else JUDGED
        treatment = records.treatments[hole.panel]
        sentences.append(hole_sentence(treatment, where, *counts, total=len(tried), words=words))
    return Untried(barred, tuple(sentences))


def _indicators(
    codes: Int[np.ndarray, "n c"], kinds: tuple[ColumnLevels, ...]
) -> tuple[list[tuple[str, str | tuple[str, str]]], Float[np.ndarray, "n f"]]:
    """Name and level of each indicator, and its values; one of a column with two levels."""
    names, values = [], [np.zeros((len(codes), 0))]
    for code, kind in zip(codes.T, kinds, strict=True):
        levels, codes_used = (*kind.names, MISSING), np.unique(code)
        if len(codes_used) == 2:
            names.append((kind.column, (levels[codes_used[0]], levels[codes_used[1]])))
            values.append((code == codes_used[1])[:, None].astype(np.float64))
        elif len(codes_used) > 2:
            names += [(kind.column, levels[k]) for k in codes_used]
            values.append((code[:, None] == codes_used).astype(np.float64))
    return names, np.concatenate(values, axis=1)


def search_options(
    outcome_value: np.ndarray,
    *,
    epsilon: float,
    deltas: tuple[float, ...],
    barred: Bool[np.ndarray, "x a"] | None = None,
) -> ComparisonOptions:
    """Planners and models that are tried on one's own records."""
    return ComparisonOptions(
        planners=("cdp", "cg", "doctor"),
        outcome_models=("smoothed", "forest"),
        bounds=("upper",),
        deltas=deltas,
        trial_prices=(),
        price_offset=0.0,
        epsilon=epsilon,
        alpha=1.0,
        stop_rule="<=",
        ties="improving",
        smoothing="release",
        pseudo_count=0.0,
        forest=ForestOptions(action_code="onehot", trees=50, max_depth=None, min_leaf_trials=10),
        outcome_value=outcome_value,
        memory_gib=MEMORY_GIB,
        barred=barred,
    )


def require_memory(records: OwnRecords, described: RecordsDescription) -> None:
    """Refuses records whose tables would be too large.

    A row of a table is a history in one stratum of covariates and confounders.

    Raises:
        SearchSizeError: treatments, outcomes and covariates need too much memory.
    """
    pairs = np.concatenate([records.covariate, records.confounder], axis=1)
    strata = len(np.unique(pairs, axis=0)) if pairs.shape[1] else 1
    contexts = 1
    for c, level in enumerate(described.covariates):
        has_missing = (records.covariate[:, c] == len(level.names)).any()
        contexts *= len(level.names) + int(has_missing)
    size = {"n_actions": len(records.treatments), "n_outcomes": len(described.outcome_value)}
    try:
        require_search_memory(
            n_contexts=max(contexts, strata),
            **size,
            memory_gib=MEMORY_GIB,
            policies=4 * len(described.deltas) + 1,
            judging=FOLDS * strata,
        )
    except SearchSizeError as error:
        raise SearchSizeError(
            f"{described.file.name}: {error}; leave out treatments that are rare, or join "
            "treatments, outcomes or levels of covariates"
        ) from None


def judge_policies(
    training: TrialRecords,
    features: Float[np.ndarray, "x f"],
    judged: EvaluationRecords,
    streams: Streams,
    options: ComparisonOptions,
) -> list[EvaluatedPolicy]:
    """Every policy of the options, learned from the training records, evaluated by the others."""
    plans = plan_searches(
        training, features, streams.generator("model"), options=options, true_model=None
    )
    return [EvaluatedPolicy(plan, estimates(plan.policy, judged)) for plan in plans]


def choose(
    policies: list[EvaluatedPolicy], delta: float, cluster: Int[np.ndarray, " n"]
) -> EvaluatedPolicy:
    """The policy that the rule of this module takes."""
    at_threshold = [p for p in policies if p.plan.threshold == delta]
    sound = [p for p in at_threshold if not p.warnings] or at_threshold
    outcome = [p.estimates.cells["mean_outcome", "doubly_robust"]["estimate"] for p in sound]
    best = sound[int(np.argmax(outcome))]
    candidates = []
    for policy in sound:
        lead = best.estimates.influence["mean_outcome"] - policy.estimates.influence["mean_outcome"]
        if lead.mean() <= Z95 * _standard_error(lead, cluster):
            candidates.append(policy)
    return min(
        candidates, key=lambda p: p.estimates.cells["mean_trials", "doubly_robust"]["estimate"]
    )


def _standard_error(terms: Float[np.ndarray, " n"], cluster: Int[np.ndarray, " n"]) -> float:
    sums = np.bincount(cluster, weights=terms - terms.mean())
    return float(np.sqrt((sums**2).sum() * len(sums) / max(len(sums) - 1, 1)) / len(terms))


def practice(
    judged: EvaluationRecords, outcome_value: np.ndarray
) -> dict[str, Float[np.ndarray, " n"]]:
    """Observed value of each evaluation record, in each quantity. (n,)"""
    records = judged.records
    best = records.outcome.max(axis=1)
    return {
        "mean_trials": (records.action >= 0).sum(axis=1).astype(float),
        "mean_outcome": outcome_value[best],
        "best_share": (best == records.n_outcomes - 1).astype(float),
    }


def estimates_frame(policies: list[EvaluatedPolicy], chosen: EvaluatedPolicy) -> pd.DataFrame:
    """One row per policy, quantity and estimator."""
    rows = []
    for policy in policies:
        weight = final_weights(policy.estimates.followed)
        for quantity in QUANTITIES:
            for estimator in ESTIMATORS:
                rows.append(
                    {
                        "planner": policy.plan.planner,
                        "outcome_model": policy.plan.outcome_model,
                        "bound": policy.plan.bound,
                        "threshold": policy.plan.threshold,
                        "quantity": quantity,
                        "estimator": estimator,
                        **policy.estimates.cells[quantity, estimator],
                        "followed": int(policy.estimates.followed.finished.sum()),
                        "effective_sample_size": policy.estimates.effective
                        if estimator == "doubly_robust"
                        else weight.sum() ** 2 / max((weight**2).sum(), 1e-300),
                        "unseen": policy.estimates.unseen,
                        "warnings": ", ".join(policy.warnings),
                        "chosen": policy is chosen,
                    }
                )
    return pd.DataFrame(rows)


def verdict(
    chosen: EvaluatedPolicy,
    judged: EvaluationRecords,
    outcome_value: Mapping[str, float],
    learned: int,
    untried: Sequence[str] = (),
) -> list[str]:
    """The answer in sentences, its evidence and its limits; `untried` follow the first one."""
    practice_values = practice(judged, np.array(list(outcome_value.values())))
    n, estimates = len(judged.records), chosen.estimates
    fewer, error = _difference(
        practice_values["mean_trials"], estimates.influence["mean_trials"], judged
    )
    less, its_error = _difference(
        practice_values["mean_outcome"], estimates.influence["mean_outcome"], judged
    )
    means = {name: f"{values.mean():.3g}" for name, values in practice_values.items()}
    sentences = [
        f"{'Not to be trusted yet: ' if chosen.warnings else 'Use '}{chosen.name}: "
        f"{chosen.interval('mean_trials')} trials per unit, mean outcome "
        f"{chosen.interval('mean_outcome')}; the best outcome for "
        f"{chosen.interval('best_share')} of the units.",
        *untried,
        *(f"{WARNINGS[w][0].upper()}{WARNINGS[w][1:]}." for w in chosen.warnings),
        f"The records themselves: {means['mean_trials']} trials, {means['mean_outcome']}, and "
        f"{means['best_share']}. {_compared('Trials', fewer, error, 'fewer', 'more')} "
        f"{_compared('Outcome', -less, its_error, 'more', 'less')}",
        f"Learned from {learned} units, evaluated on {n} others. "
        f"{int(estimates.followed.finished.sum())} of them followed the policy to its end; "
        f"effective sample size {estimates.effective:.0f} of {n}.",
    ]
    sentences.append(
        f"Values: {', '.join(f'{k} {all_digits(value)}' for k, value in outcome_value.items())}. "
        "Whether an untried treatment would have been better is not known from such records; "
        "δ bounds it under the model alone. It assumes that nothing hidden decided on trials."
    )
    return sentences


def _difference(
    observed: Float[np.ndarray, " n"], terms: Float[np.ndarray, " n"], judged: EvaluationRecords
) -> tuple[float, float]:
    """Difference between the records and the policy on the same units, and its standard error."""
    lead = observed - terms
    return float(lead.mean()), _standard_error(lead, judged.cluster)


def _compared(quantity: str, more: float, error: float, better: str, worse: str) -> str:
    low, high = more - Z95 * error, more + Z95 * error
    if low > 0:
        return f"{quantity}: {more:.2g} {better} ({low:.2g} to {high:.2g})."
    if high < 0:
        return f"{quantity}: {-more:.2g} {worse} ({-high:.2g} to {-low:.2g})."
    return f"{quantity}: not significantly different ({-low:.2g} {worse} to {high:.2g} {better})."
