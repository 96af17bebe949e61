"""One repeat of a search experiment after the other: who is learned from, and who is searched.

A repeat is a realisation of the synthetic world, or a split of a table by patient, of `treatment`
(Håkansson et al. 2020, sec. 6). Also the results kept of every policy: its score, the number of
units by trials and best outcome, the mean best outcome by trials. It must not know files or
figures.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from frugal.core.errors import ConfigError
from frugal.core.streams import Streams
from frugal.studies.treatment.data.records import TrialRecords
from frugal.studies.treatment.planning.observed import first_step_outcome
from frugal.studies.treatment.planning.policy_frames import policy_cells
from frugal.studies.treatment.search.environment import (
    SearchOutcome,
    found_near_optimal,
    play_policy,
)
from frugal.studies.treatment.search.searches import (
    ComparisonOptions,
    TrueModel,
    outcome_by_trials,
    plan_searches,
    score_search,
)
from frugal.studies.treatment.search.simulated_worlds import (
    WorldOptions,
    realise_world,
    sample_test_units,
    sample_training,
    true_model_of,
)

Identity = dict[str, str | int | float]  # identity of a policy


@dataclass(frozen=True, eq=False)
class SearchRepeat:
    """Records to learn from and units to search. Shapes: n test units, a actions, x contexts.

    Attributes:
        seed: number of the realisation or of the split.
        records: earlier searches of all training units.
        context: of each test unit. (n,)
        outcome: every potential outcome of each test unit. (n, a)
        features: covariates of each context. (x, f)
        true_model: makes the world's own table; None where the world is not known.
        observed: recorded treatments of the test units; None where unknown.
    """

    seed: int
    records: TrialRecords
    context: Int[np.ndarray, " n"]
    outcome: Int[np.ndarray, "n a"]
    features: Float[np.ndarray, "x f"]
    true_model: TrueModel | None
    observed: TrialRecords | None


@dataclass(frozen=True, eq=False)
class SearchTables:
    """Results of the policies of a repeat, each row under the policy's identity.

    Attributes:
        scores: one row per policy: columns of `SearchScore`, and cpu_s.
        trials: one row per number of trials, best outcome and near-optimality: number of `units`.
        best_after: one row per number of trials: mean best outcome then, or at termination; and
            one row of planner `observed`, the first trial that the test units had.
        policies: cells of each policy, see `policy_cells`; None if they were not to be kept.
    """

    scores: pd.DataFrame
    trials: pd.DataFrame
    best_after: pd.DataFrame
    policies: pd.DataFrame | None


def world_repeat(
    streams: Streams,
    seed: int,
    *,
    world_options: WorldOptions,
    options: ComparisonOptions,
    n_train: int,
    n_test: int,
) -> SearchRepeat:
    """A realisation of the synthetic world.                    [treatment, alg. 1, fig. 2b, S1–S4]

    Args:
        streams: of the stage.
        seed: number of the realisation.
        world_options: which world.
        options: of the comparison; values of outcomes and memory of tables.
        n_train: size of the largest training set; smaller ones are its first units.
        n_test: number of test units; it changes nothing about the training units.

    Raises:
        SearchSizeError: the world's tables would take more than the options allow.
    """
    world = realise_world(streams, seed, world_options, memory_gib=options.memory_gib)
    context, outcome = sample_test_units(streams, seed, world, n_test)
    return SearchRepeat(
        seed=seed,
        records=sample_training(streams, seed, world, world_options, n_train),
        context=context,
        outcome=outcome,
        features=world.covariates,
        true_model=true_model_of(world, options),
        observed=None,
    )


def search_repeat(
    streams: Streams,
    repeat: SearchRepeat,
    *,
    n_train: int,
    options: ComparisonOptions,
    keep_policies: bool,
) -> SearchTables:
    """Every policy of the options, learned from the first training units, played and scored.

    One policy after the other: each is played and scored before the next one is planned,
    so that `memory_gib` bounds the memory held.

    Args:
        streams: of the stage; a forest's draws depend on seed and size alone.
        repeat: who is learned from and who is searched.
        n_train: number of training units.
        options: of the comparison.
        keep_policies: keep the cells of every policy that it can come to.

    Raises:
        ConfigError: more training units than the repeat has, or an option is not allowed.
        SearchSizeError: the tables would take more than the options allow.
    """
    if not 1 <= n_train <= len(repeat.records):
        raise ConfigError(
            f"{n_train} training units are requested, allowed are 1 … {len(repeat.records)}"
        )
    keys: list[Identity] = []
    scores, trials, best_after, cells = [], [], [], []
    for plan in plan_searches(
        repeat.records.take(slice(0, n_train)),
        repeat.features,
        streams.generator("model", repeat.seed, n_train),
        options=options,
        true_model=repeat.true_model,
    ):
        key: Identity = {
            "seed": repeat.seed,
            "n_train": n_train,
            "planner": plan.planner,
            "outcome_model": plan.outcome_model,
            "bound": plan.bound,
            "threshold": plan.threshold,
        }
        keys.append(key)
        played = play_policy(plan.policy, context=repeat.context, outcome=repeat.outcome)
        score = score_search(
            played, repeat.outcome, outcome_value=options.outcome_value, epsilon=options.epsilon
        )
        scores.append(key | asdict(score) | {"cpu_s": plan.cpu_s})
        trials.append(_count_units(played, repeat, options))
        mean, _ = outcome_by_trials(played, outcome_value=options.outcome_value)
        best_after.append({"trials": np.arange(1, len(mean) + 1), "outcome": mean})
        if keep_policies:
            cells.append(policy_cells(plan.policy, reachable_only=True))
        del plan, played
    observed, first = _first_trial(repeat, n_train, options.outcome_value)
    return SearchTables(
        scores=pd.DataFrame(scores),
        trials=_under_keys(keys, trials),
        best_after=_under_keys([*keys, *observed], [*best_after, *first]),
        policies=_under_keys(keys, cells) if keep_policies else None,
    )


def _first_trial(
    repeat: SearchRepeat, n_train: int, outcome_value: np.ndarray
) -> tuple[list[Identity], list[dict[str, np.ndarray]]]:
    """Identity and mean outcome of the first treatment of the test units; empty if unknown."""
    if repeat.observed is None:
        return [], []
    mean, _ = first_step_outcome(repeat.observed, outcome_value=outcome_value)
    identity = {"planner": "observed", "outcome_model": "records", "bound": "none"}
    key = {"seed": repeat.seed, "n_train": n_train, **identity, "threshold": np.nan}
    return [key], [{"trials": np.array([1]), "outcome": np.array([mean])}]


def _count_units(
    played: SearchOutcome, repeat: SearchRepeat, options: ComparisonOptions
) -> dict[str, np.ndarray]:
    """Number of units by trials, best outcome found, and whether that is near-optimal."""
    near = found_near_optimal(
        played.best, repeat.outcome, outcome_value=options.outcome_value, epsilon=options.epsilon
    )
    key = (played.trials * (played.best.max() + 1) + played.best) * 2 + near
    _, first, units = np.unique(key, return_index=True, return_counts=True)
    return {
        "trials": played.trials[first],
        "best": played.best[first],
        "near_optimal": near[first],
        "units": units,
    }


def _under_keys(
    keys: Sequence[Identity], parts: Sequence[Mapping[str, np.ndarray]]
) -> pd.DataFrame:
    """Several tables under each other, each with its own keys as leading columns."""
    lengths = [len(next(iter(part.values()))) for part in parts]
    leading = pd.DataFrame(keys).loc[np.repeat(np.arange(len(keys)), lengths)]
    values = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return leading.reset_index(drop=True).assign(**values)


def table_repeats(
    context: Int[np.ndarray, " n"],
    outcome: Int[np.ndarray, "n a"],
    features: Float[np.ndarray, "x f"],
    splits: Sequence[tuple[int, np.ndarray, TrialRecords]],
) -> Iterator[SearchRepeat]:
    """Splits of a table: learn from the treatments given, judge by the tests. [treatment, sec. 6.2]

    Args:
        context: of every unit. (n,)
        outcome: every potential outcome of every unit. (n, a)
        features: covariates of each context. (x, f)
        splits: number of each split, True for its test units (n,), and the trials of all units.
    """
    for seed, is_test, records in splits:
        yield SearchRepeat(
            seed=seed,
            records=records.take(~is_test),
            context=context[is_test],
            outcome=outcome[is_test],
            features=features,
            true_model=None,
            observed=records.take(is_test),
        )
