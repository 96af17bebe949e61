"""Stage `judge_searches`: one's own records → policies learned and judged, one of them taken."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.search.levels import Strata, strata_of
from frugal.search.off_policy import prepare_judging
from frugal.search.outcome_counts import count_outcomes
from frugal.search.own_policies import (
    JudgedPolicy,
    choose,
    estimates_frame,
    judge_policies,
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
from frugal.search.records import TrialRecords, require_search_memory
from frugal.search.searches import SearchOptions, fit_outcome_model
from frugal.search.support import records_behind, step_values

LEAST_UNITS = 40


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
    contexts = strata_of(own.covariate, described.covariates)
    hidden = strata_of(own.confounder, described.confounders)
    worth = np.array(described.worth)
    require_search_memory(
        n_contexts=len(contexts.names) * len(hidden.names),
        n_actions=len(own.treatments), n_outcomes=len(worth), memory_gib=2.0,
    )  # fmt: skip
    context = contexts.index(own.covariate, own.names)
    confounder = hidden.index(own.confounder, own.names)
    all_records = trial_records(own, context, len(contexts.names), len(worth))
    judging = split_patients(
        own.cluster, test_share=described.document.get("judging_share", 0.5),
        rng=streams.generator("split"),
    )  # fmt: skip
    training = all_records.take(~judging)
    judged = prepare_judging(
        all_records.take(judging),
        np.concatenate([contexts.features[context], hidden.features[confounder]], axis=1)[judging],
        confounder[judging], own.cluster[judging], streams.generator("folds"),
        outcome_value=worth, memory_gib=2.0,
    )  # fmt: skip
    deltas = tuple(float(d) for d in described.document.get("delta", (0.2, 0.0, 0.1, 0.4)))
    options = search_options(
        worth, epsilon=float(described.document.get("epsilon", 0.0)), deltas=deltas
    )
    policies = judge_policies(training, contexts.features, judged, streams, options)
    chosen = choose(policies, deltas[0], judged.cluster)
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
    shape = policy.action.shape
    x, h = (v.ravel() for v in np.indices(shape))
    values = step_values(policy, table, x, h)
    following = policy.action[x, h].astype(np.int64)
    behind = records_behind(counts, contexts=shape[0])[x, h]
    rows, going = np.arange(len(x)), following < policy.n_actions
    at = np.where(going, following, 0)
    own_value = np.where(going, values[rows, at], np.nan)
    rivals = values.copy()
    rivals[rows, at] = np.nan
    best = np.nanargmin(np.where(np.isnan(rivals), np.inf, rivals), axis=1)
    its = rivals[rows, best]
    left = np.stack([own_value, its], axis=1).reshape(*shape, 2)
    return StepTable(
        action=policy.action,
        statistic=policy.statistic,
        records=behind[rows, at].astype(np.int64).reshape(shape),
        visits=behind.sum(axis=1).astype(np.int64).reshape(shape),
        runner_up=np.where(going & ~np.isnan(its), best, -1).reshape(shape),
        trials_left=left,
        contexts=contexts.names,
        treatments=own.treatments,
        outcomes=outcomes,
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
