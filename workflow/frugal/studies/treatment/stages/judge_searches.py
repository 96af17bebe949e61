"""Stage `judge_searches`: one's own records → policies learned and judged, one of them taken."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.search.levels import Strata, strata_of
from frugal.search.off_policy import prepare_judging
from frugal.search.outcome_counts import count_outcomes
from frugal.search.own_policies import (
    MEMORY_GIB,
    JudgedPolicy,
    choose,
    estimates_frame,
    judge_policies,
    require_memory,
    search_options,
    verdict,
)
from frugal.search.own_records import (
    OwnRecords,
    load_records_description,
    read_own_records,
    trial_records,
)
from frugal.search.patient_splits import split_patients
from frugal.search.plain_words import StepTable, steps_frame
from frugal.search.planning.policy_frames import reachable
from frugal.search.records import OutcomeTable, SearchPolicy, TrialRecords
from frugal.search.searches import SearchOptions, fit_outcome_model
from frugal.search.support import records_behind, step_values, trials_left

LEAST_UNITS = 40
_CELLS = 1 << 16  # of a policy, told at one time


def judge_searches(
    *,
    description: Path,
    records: Path,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Learn on one part of the units, judge on the other, take one policy.

    Raises:
        ConfigError, DataError: the YAML or the file is not what it should be, or units are too few.
        SearchSizeError: treatments, outcomes and covariates ask for tables that are too large.
    """
    del settings, progress
    described = load_records_description(description)
    own = read_own_records(described, records)
    if len(own.names) < LEAST_UNITS:
        raise DataError(
            f"{records.name} has {len(own.names)} units with a trial; at least {LEAST_UNITS} are "
            "needed, some to learn from and some to judge by"
        )
    require_memory(own, described)
    contexts = strata_of(own.covariate, described.covariates)
    hidden = strata_of(own.confounder, described.confounders)
    worth = np.array(described.worth)
    context = contexts.index(own.covariate, own.names)
    confounder = hidden.index(own.confounder, own.names)
    all_records = trial_records(own, context, len(contexts.names), len(worth))
    judging = split_patients(
        own.cluster, test_share=described.keys.judging_share,
        rng=streams.generator("split"),
    )  # fmt: skip
    training = all_records.take(~judging)
    judged = prepare_judging(
        all_records.take(judging),
        np.concatenate([contexts.features[context], hidden.features[confounder]], axis=1)[judging],
        confounder[judging], own.cluster[judging], streams.generator("folds"),
        outcome_value=worth, memory_gib=MEMORY_GIB,
    )  # fmt: skip
    options = search_options(worth, epsilon=described.keys.epsilon, deltas=described.deltas)
    policies = judge_policies(training, contexts.features, judged, streams, options)
    chosen = choose(policies, described.deltas[0], judged.cluster)
    judged = replace(judged, tables=())  # most of the memory
    steps = _steps(chosen, training, contexts, options, streams, own, described.outcomes.names)
    return {
        "estimates": estimates_frame(policies, chosen),
        "steps": steps_frame(steps, reachable(chosen.plan.policy)),
        "policy": {
            "searches": 1,
            "description": _plain(described.document),
            "gaps": list(contexts.gaps),
            "contexts": list(contexts.names),
            "treatments": list(own.treatments),
            "outcomes": list(described.outcomes.names),
            "name": chosen.name,
            "verdict": verdict(
                chosen,
                judged,
                dict(zip(described.outcomes.names, described.worth, strict=True)),
                len(training),
            ),
            "said": list(own.said),
        },
        "arrays": steps.arrays(),
    }


def _steps(
    chosen: JudgedPolicy,
    training: TrialRecords,
    contexts: Strata,
    options: SearchOptions,
    streams: Streams,
    own: OwnRecords,
    outcomes: tuple[str, ...],
) -> StepTable:
    """The policy at every history, with the records behind each step and the runner-up."""
    policy, counts = chosen.plan.policy, count_outcomes(training)
    model = "smoothed" if chosen.plan.outcome_model == "records" else chosen.plan.outcome_model
    table = fit_outcome_model(
        model, training, counts, contexts.features, streams.generator("model"),
        options=options, true_model=None,
    )  # fmt: skip
    behind = records_behind(counts, contexts=len(policy.action))
    trials = trials_left(policy, table)
    cells = np.arange(policy.action.size)
    parts = [
        _step_cells(policy, table, trials, behind, cells[start : start + _CELLS])
        for start in range(0, len(cells), _CELLS)
    ]
    tables = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    shape = policy.action.shape
    return StepTable(
        action=policy.action,
        statistic=policy.statistic,
        **{name: cell.reshape(*shape, *cell.shape[1:]) for name, cell in tables.items()},
        contexts=contexts.names,
        treatments=own.treatments,
        outcomes=outcomes,
    )


def _step_cells(
    policy: SearchPolicy,
    table: OutcomeTable,
    trials: Float[np.ndarray, "x h"],
    behind: Float[np.ndarray, "x h a"],
    cells: Int[np.ndarray, " m"],
) -> dict[str, np.ndarray]:
    """Records, visits, runner-up and trials left of some cells of a policy, each with m rows."""
    x, h = np.divmod(cells, policy.action.shape[1])
    values, counts = step_values(policy, table, trials, x, h), behind[x, h]
    following = policy.action[x, h].astype(np.int64)
    rows, going = np.arange(len(x)), following < policy.n_actions
    at = np.where(going, following, 0)
    own_value = np.where(going, values[rows, at], np.nan)
    values[rows, at] = np.nan
    best = np.nanargmin(np.where(np.isnan(values), np.inf, values), axis=1)
    its = values[rows, best]
    return {
        "records": counts[rows, at].astype(np.int64),
        "visits": counts.sum(axis=1).astype(np.int64),
        "runner_up": np.where(going & ~np.isnan(its), best, -1),
        "trials_left": np.stack([own_value, its], axis=1),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
