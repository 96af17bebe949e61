"""Learns search policies from one set of records and evaluates them on units fully known.

The comparison of `treatment` (Håkansson et al. 2020, sec. 6) for one training set: every outcome
model × planner × bound × threshold that the options name. It must not know whether units were
simulated or are isolates with laboratory tests.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float64, Int

from frugal.core.errors import ConfigError, DataError
from frugal.studies.treatment.data.records import OutcomeTable, SearchPolicy, TrialRecords
from frugal.studies.treatment.models.outcome_counts import OutcomeCounts, count_outcomes
from frugal.studies.treatment.models.outcome_forest import ForestOptions, forest_table
from frugal.studies.treatment.models.outcome_tables import smoothed_table, uninformed_table
from frugal.studies.treatment.planner import Planning, SearchPlanner, planners_of
from frugal.studies.treatment.planning.constrained import rule_for, stopping_statistic
from frugal.studies.treatment.search.environment import SearchOutcome, found_near_optimal

TrueModel = Callable[[], OutcomeTable]  # tabulates it anew: no two models are held at once
OUTCOME_MODELS = ("smoothed", "uninformed", "forest", "true")


@dataclass(frozen=True, eq=False)
class ComparisonOptions:
    """Every choice of a comparison of planners.

    Attributes:
        planners: names of files in `planners/`.
        outcome_models: of `OUTCOME_MODELS`; `true` must be handed in.
        bounds: of `upper`, `lower`, `exact`; for cdp and cg.
        deltas: confidence parameters δ, for cdp and cg.
        trial_prices: λ of ndp, unit of the outcome.
        price_offset: added to every λ; 1e-4 in the release's sweeps.
        epsilon: slack ε in stopping and in efficacy, unit of the outcome.
        alpha: sensitivity parameter α ≥ 1.
        stop_rule: `<=`, `<`, or `release`: `<` for the two bounds, `<=` for the exact statistic.
        ties: `improving` or `lowest`, see `plan_constrained`.
        smoothing: `release` or `paper`.
        pseudo_count: of the uninformed table; 0 for the release.
        forest: how a forest is grown.
        outcome_value: value of each outcome, ascending. (y,)
        memory_gib: limit of the tables of one policy.
        barred: actions that no policy takes in a context, since none of its units ever did; None:
            none. (x, a)
    """

    planners: tuple[str, ...]
    outcome_models: tuple[str, ...]
    bounds: tuple[str, ...]
    deltas: tuple[float, ...]
    trial_prices: tuple[float, ...]
    price_offset: float
    epsilon: float
    alpha: float
    stop_rule: str
    ties: str
    smoothing: str
    pseudo_count: float
    forest: ForestOptions
    outcome_value: Float64[np.ndarray, " y"]
    memory_gib: float
    barred: Bool[np.ndarray, "x a"] | None = None

    def __post_init__(self) -> None:
        planners_of(self.planners)
        for name in self.outcome_models:
            if name not in OUTCOME_MODELS:
                raise ConfigError(
                    f"a comparison names the outcome model {name!r}; allowed are "
                    f"{', '.join(OUTCOME_MODELS)}"
                )


@dataclass(frozen=True, eq=False)
class PlannedSearch:
    """A policy with its identity.

    Attributes:
        planner: its name.
        outcome_model: of `OUTCOME_MODELS`; `records` where none is read.
        bound: of the stopping statistic; `none` where a planner has none.
        threshold: δ or λ; NaN where a planner has none.
        policy: the table of decisions.
        cpu_s: CPU seconds of learning: fit of the model, statistic, planning.
    """

    planner: str
    outcome_model: str
    bound: str
    threshold: float
    policy: SearchPolicy
    cpu_s: float


@dataclass(frozen=True)
class SearchScore:
    """How a policy fared on units whose every outcome is known.

    Attributes:
        units: number of units.
        efficacy: share for which a near-optimal action was found.
        efficacy_se: its standard error over units.
        mean_trials: trials per unit.
        trials_se: its standard error over units.
        worst_case: most trials of any unit.
        mean_outcome: mean of the best outcome found, unit of the outcome; NaN if a unit tried
            nothing, as ndp does where a trial costs too much.
        outcome_se: its standard error over units.
    """

    units: int
    efficacy: float
    efficacy_se: float
    mean_trials: float
    trials_se: float
    worst_case: int
    mean_outcome: float
    outcome_se: float


def fit_outcome_model(
    name: str,
    records: TrialRecords,
    counts: OutcomeCounts,
    context_features: Float[np.ndarray, "x f"],
    rng: np.random.Generator,
    *,
    options: ComparisonOptions,
    true_model: TrueModel | None,
) -> OutcomeTable:
    """The outcome model of that name; a barred action has the worst outcome, so none is tried.

    Args and errors are those of `_outcome_model`.
    """
    parts = (name, records, counts, context_features, rng)
    table = _outcome_model(*parts, options=options, true_model=true_model)
    if options.barred is not None:
        table.probability[options.barred] = np.eye(table.n_outcomes)[0]
    return table


def _outcome_model(
    name: str,
    records: TrialRecords,
    counts: OutcomeCounts,
    context_features: Float[np.ndarray, "x f"],
    rng: np.random.Generator,
    *,
    options: ComparisonOptions,
    true_model: TrueModel | None,
) -> OutcomeTable:
    """The outcome model of that name.                            [treatment, secs. B.1, B.2]

    Args:
        name: of `OUTCOME_MODELS`.
        records: earlier searches.
        counts: their counts.
        context_features: covariates of each context, for the forest. (x, f)
        rng: source of the forest's draws.
        options: of the comparison.
        true_model: makes the true table, where the world is known.

    Returns:
        A table for every context, action and history.

    Raises:
        ConfigError: unknown name, or `true` where the true model is not known.
    """
    common = {"outcome_value": options.outcome_value, "memory_gib": options.memory_gib}
    if name == "smoothed":
        return smoothed_table(counts, mode=options.smoothing, **common)
    if name == "uninformed":
        return uninformed_table(counts, pseudo_count=options.pseudo_count, **common)
    if name == "forest":
        return forest_table(records, context_features, rng, options=options.forest, **common)
    if name == "true" and true_model is not None:
        return true_model()
    raise ConfigError(
        f"the outcome model is {name!r}; allowed are {', '.join(OUTCOME_MODELS)}, "
        "the last only where the world is simulated"
    )


def plan_searches(
    records: TrialRecords,
    context_features: Float[np.ndarray, "x f"],
    rng: np.random.Generator,
    *,
    options: ComparisonOptions,
    true_model: TrueModel | None,
) -> Iterator[PlannedSearch]:
    """Every policy that the options name, learned from the same records.   [treatment, sec. 6]

    Args:
        records: earlier searches.
        context_features: covariates of each context. (x, f)
        rng: source of the forest's draws.
        options: of the comparison.
        true_model: makes the world's own table; None where the world is not known.

    Yields:
        Policies by model, then bound, then threshold; those that read records alone last.

    Raises:
        SearchSizeError: the tables would take more than the options allow.
        ConfigError: an option is not allowed.
    """
    start = time.process_time()
    counts = count_outcomes(records)
    counting_s = time.process_time() - start
    planners = planners_of(options.planners)
    for name in options.outcome_models:
        start = time.process_time()
        table = fit_outcome_model(
            name, records, counts, context_features, rng, options=options, true_model=true_model
        )
        fitted_s = counting_s + time.process_time() - start
        yield from _plans_of_model(name, planners, counts, table, fitted_s, options)
        del table  # before the next model is made
    planning = Planning(options, counts)
    yield from _plans(planners, "records", planning, ("records", "none"), counting_s)


def _plans_of_model(
    name: str,
    planners: Mapping[str, SearchPlanner],
    counts: OutcomeCounts,
    table: OutcomeTable,
    fitted_s: float,
    options: ComparisonOptions,
) -> Iterator[PlannedSearch]:
    """Policies of all planners that read a model, with one model."""
    reading = {planner.reads for planner in planners.values()}
    for bound in options.bounds if "bound" in reading else ():
        start = time.process_time()
        statistic = stopping_statistic(table, bound=bound, epsilon=options.epsilon)
        base_s = fitted_s + time.process_time() - start
        rule = rule_for(bound, stop_rule=options.stop_rule)
        planning = Planning(options, counts, table, statistic, rule)
        yield from _plans(planners, "bound", planning, (name, bound), base_s)
        del statistic, planning
    planning = Planning(options, counts, table)
    yield from _plans(planners, "model", planning, (name, "none"), fitted_s)


def _plans(
    planners: Mapping[str, SearchPlanner],
    reads: str,
    planning: Planning,
    at: tuple[str, str],
    spent_s: float,
) -> Iterator[PlannedSearch]:
    """Policies of the planners that read so much, by threshold; at: names of model and bound."""
    chosen = [candidate for candidate in planners.values() if candidate.reads == reads]
    for key in dict.fromkeys(candidate.thresholds for candidate in chosen):
        for threshold in (float("nan"),) if key is None else getattr(planning.options, key):
            for planner in (candidate for candidate in chosen if candidate.thresholds == key):
                start = time.process_time()
                policy = planner.plan(planning, threshold)
                if planning.options.barred is not None:
                    policy = without_barred(policy, planning.options.barred)
                took_s = spent_s + time.process_time() - start
                yield PlannedSearch(planner.name, *at, threshold, policy, took_s)
                del policy  # the tables of one policy at a time


def without_barred(policy: SearchPolicy, barred: Bool[np.ndarray, "x a"]) -> SearchPolicy:
    """The policy that stops where it would take a barred action after some trial."""
    never = np.append(barred, np.zeros((len(barred), 1), dtype=bool), axis=1)
    stops = np.take_along_axis(never, policy.action.astype(np.int64), axis=1)
    stops[:, 0] = False  # something is tried
    return replace(policy, action=np.where(stops, policy.n_actions, policy.action).astype(np.int8))


def score_search(
    played: SearchOutcome,
    outcome: Int[np.ndarray, "n a"],
    *,
    outcome_value: Float64[np.ndarray, " y"],
    epsilon: float,
) -> SearchScore:
    """Efficacy, trials and outcome with their standard errors over units.    [treatment, sec. 6]

    Args:
        played: finished searches.
        outcome: index of every potential outcome. (n, a)
        outcome_value: value of each outcome, ascending. (y,)
        epsilon: slack of near-optimality, unit of the outcome.

    Returns:
        One line of the comparison.

    Raises:
        DataError: fewer than two units.
    """
    n = len(outcome)
    if n < 2:
        raise DataError(f"{n} units were searched; a standard error needs at least 2")
    near = found_near_optimal(played.best, outcome, outcome_value=outcome_value, epsilon=epsilon)
    best_value = np.append(outcome_value, np.nan)[played.best]  # −1: nothing was tried

    def mean_and_se(values: np.ndarray) -> tuple[float, float]:
        return float(values.mean()), float(values.std(ddof=1) / np.sqrt(n))

    efficacy, trials, value = mean_and_se(near), mean_and_se(played.trials), mean_and_se(best_value)
    return SearchScore(n, *efficacy, *trials, int(played.trials.max()), *value)


def outcome_by_trials(
    played: SearchOutcome, *, outcome_value: Float64[np.ndarray, " y"]
) -> tuple[Float64[np.ndarray, " a"], Float64[np.ndarray, " a"]]:
    """Mean best outcome after 1 … k trials, or at termination if earlier.  [treatment, fig. 3a]

    Args:
        played: finished searches of at least two units.
        outcome_value: value of each outcome, ascending. (y,)

    Returns:
        Means and their standard errors over units, unit of the outcome; NaN if a unit tried
        nothing. (a,), (a,)
    """
    best_value = np.append(outcome_value, np.nan)[played.best_after]
    return best_value.mean(axis=0), best_value.std(axis=0, ddof=1) / np.sqrt(len(best_value))
