"""Stages of searches: realisations, policies compared and timed, one's own records evaluated."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.core.context import Context
from frugal.core.errors import ConfigError, DataError
from frugal.core.streams import Streams
from frugal.results.files import sealed
from frugal.studies.treatment.data.description import load_search_description
from frugal.studies.treatment.data.levels import Strata, strata_of
from frugal.studies.treatment.data.own_records import (
    OwnRecords,
    load_records_description,
    read_own_records,
    trial_records,
)
from frugal.studies.treatment.data.patient_splits import split_patients
from frugal.studies.treatment.data.prescribing import simulate_prescriptions
from frugal.studies.treatment.data.records import OutcomeTable, SearchPolicy, TrialRecords
from frugal.studies.treatment.data.susceptibility import SusceptibilityTable
from frugal.studies.treatment.data.tables import (
    read_searches,
    trials_frame,
    units_catalogue,
    units_frame,
)
from frugal.studies.treatment.models.outcome_counts import count_outcomes
from frugal.studies.treatment.planning.policy_frames import name_cells, reachable
from frugal.studies.treatment.search.off_policy import (
    prepare_judging,
    records_behind,
    step_values,
    trials_left,
)
from frugal.studies.treatment.search.own_policies import (
    MEMORY_GIB,
    EvaluatedPolicy,
    choose,
    estimates_frame,
    judge_policies,
    require_memory,
    search_options,
    untried_regions,
    verdict,
)
from frugal.studies.treatment.search.plain_words import (
    EDITION,
    StepTable,
    policy_words,
    step_table,
    steps_frame,
)
from frugal.studies.treatment.search.repeats import search_repeat
from frugal.studies.treatment.search.searches import ComparisonOptions, fit_outcome_model
from frugal.studies.treatment.searches import IDENTITY, Searches


def prepare_searches(*, description: Path, context: Context, **raw: Path) -> dict[str, Any]:
    """Read a table; per split, draw the test patients and, where none are known, prescriptions.

    Raises:
        DataError, ConfigError: the files are not those that the YAML describes.
    """
    described = load_search_description(description)
    names = [file.name for file in described.files]
    if len(raw) != len(names):
        raise DataError(f"{description} describes {len(names)} raw files, {len(raw)} were given")
    try:
        table, recorded = read_searches(described, dict(zip(names, raw.values(), strict=True)))
        searches = _searches(table, recorded, context)
    except (ConfigError, DataError) as error:
        raise type(error)(f"{description}: {error}") from error
    catalogue = units_catalogue(table)
    catalogue["report"] |= {
        "title": described.title,
        "note": described.note,
        "prescriptions": "simulated" if recorded is None else "recorded",
    }
    return {"units": units_frame(table), "catalogue": catalogue, "searches": searches}


def _searches(
    table: SusceptibilityTable, recorded: TrialRecords | None, context: Context
) -> pd.DataFrame:
    """Treatments of the units of each split."""
    settings, streams = context.settings, context.streams
    parts = []
    for seed in context.progress(range(settings["seeds"]), desc="splits"):
        is_test = split_patients(
            table.patient, test_share=settings["test_share"], rng=streams.generator("split", seed)
        )
        records = recorded
        if records is None:
            records = simulate_prescriptions(
                table,
                is_test=is_test,
                **settings["prescribing"],
                rng=streams.generator("prescriptions", seed),
            )
        trials = trials_frame(records, table.row_id)
        part = pd.Series(np.where(is_test, "test", "train"), index=table.row_id)
        trials.insert(1, "part", trials["row_id"].map(part).to_numpy(dtype=object))
        trials.insert(0, "seed", seed)
        parts.append(trials)
    return pd.concat(parts, ignore_index=True)


def compare_planners(
    *,
    context: Context,
    description: Path | None = None,
    units: pd.DataFrame | None = None,
    catalogue: Mapping[str, Any] | None = None,
    searches: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Scores, units by trials, best outcomes by trials; every policy of every repeat, opened."""
    study = Searches(
        context.settings,
        context.streams,
        description=description,
        units=units,
        catalogue=catalogue,
        searches=searches,
    )
    frames_by_table: dict[str, list[pd.DataFrame]] = {
        name: [] for name in ("scores", "trials", "best_after", "policies")
    }
    repeats = study.repeats(context.settings["seeds"])
    for repeat in context.progress(repeats, total=context.settings["seeds"], desc="repeats"):
        for grid, entry in context.settings["grids"].items():
            for n_train in study.sizes(entry, repeat):
                repeat_tables = search_repeat(
                    study.streams,
                    repeat,
                    n_train=n_train,
                    options=study.options(entry),
                    keep_policies=True,
                )
                for name in ("scores", "trials", "best_after"):
                    frames_by_table[name].append(_labelled(getattr(repeat_tables, name), grid))
                assert repeat_tables.policies is not None
                frames_by_table["policies"].append(
                    _labelled(_opened(repeat_tables.policies, study), grid)
                )
    tables = {
        name: pd.concat(frames, ignore_index=True) for name, frames in frames_by_table.items()
    }
    return tables | {"scores": tables["scores"].drop(columns="cpu_s")}  # a clock is no result


def _labelled(frame: pd.DataFrame, grid: str) -> pd.DataFrame:
    """A copy with the name of the grid as first column."""
    return pd.concat([pd.Series(grid, index=frame.index, name="grid"), frame], axis=1)


def _opened(cells: pd.DataFrame, study: Searches) -> pd.DataFrame:
    """Policies as tables of the histories that each can come to."""
    keys = cells[["seed", "n_train", *IDENTITY]]
    numbers = {name: cells[name].to_numpy() for name in cells.columns.difference(keys.columns)}
    named = name_cells(
        numbers, contexts=study.contexts, actions=study.actions, outcomes=study.results
    )
    return pd.concat([keys, named.rename(columns={"action": "next"})], axis=1)


_WARM_UP_UNITS = 2  # compiled code is loaded before the clock counts


def time_planners(
    *,
    context: Context,
    description: Path | None = None,
    units: pd.DataFrame | None = None,
    catalogue: Mapping[str, Any] | None = None,
    searches: pd.DataFrame | None = None,
) -> dict[str, pd.DataFrame]:
    """Learn the first repeat's policies again and keep the resources used.

    Its output is a measurement: no two runs are equal, so it is with the other timings, outside
    results/, and only the summary's column `cpu_s` comes from it.
    """
    study = Searches(
        context.settings,
        context.streams,
        description=description,
        units=units,
        catalogue=catalogue,
        searches=searches,
    )
    frames = []
    repeat = next(study.repeats(1))
    for entry in context.settings["grids"].values():
        options = study.options(entry)
        learn = partial(search_repeat, study.streams, repeat, options=options, keep_policies=False)
        learn(n_train=_WARM_UP_UNITS)
        for n_train in study.sizes(entry, repeat):
            learned = learn(n_train=n_train)
            frames.append(learned.scores[["n_train", *IDENTITY, "cpu_s"]])
    timings = pd.concat(frames, ignore_index=True)
    return {"timings": timings.drop_duplicates(["n_train", *IDENTITY], ignore_index=True)}


LEAST_UNITS = 40
_CELLS = 1 << 16  # of a policy, predicted at a time


def judge_searches(*, description: Path, records: Path, context: Context) -> dict[str, Any]:
    """Learn on one part of the units, judge on the other, take one policy.

    Raises:
        ConfigError, DataError: the YAML or the file is invalid, or units are too few.
        SearchSizeError: treatments, outcomes and covariates need tables that are too large.
    """
    described = load_records_description(description)
    records_read = read_own_records(described, records)
    if len(records_read.names) < LEAST_UNITS:
        raise DataError(
            f"{records.name} has {len(records_read.names)} units with a trial; at least "
            f"{LEAST_UNITS} are needed, some to learn from and some to evaluate on"
        )
    require_memory(records_read, described)
    contexts = strata_of(records_read.covariate, described.covariates)
    hidden = strata_of(records_read.confounder, described.confounders)
    outcome_value = np.array(described.outcome_value)
    stratum = contexts.index(records_read.covariate, records_read.names)
    confounder = hidden.index(records_read.confounder, records_read.names)
    all_records = trial_records(records_read, stratum, len(contexts.names), len(outcome_value))
    judging = split_patients(
        records_read.cluster,
        test_share=described.keys.judging_share,
        rng=context.streams.generator("split"),
    )
    training = all_records.take(~judging)
    judged = prepare_judging(
        all_records.take(judging),
        np.concatenate([contexts.features[stratum], hidden.features[confounder]], axis=1)[judging],
        confounder[judging],
        records_read.cluster[judging],
        context.streams.generator("folds"),
        outcome_value=outcome_value,
        memory_gib=MEMORY_GIB,
    )
    untried = untried_regions(records_read, stratum, contexts, hidden)
    options = search_options(
        outcome_value,
        epsilon=described.keys.epsilon,
        deltas=described.deltas,
        barred=untried.barred if untried.barred.any() else None,
    )
    policies = judge_policies(training, contexts.features, judged, context.streams, options)
    chosen = choose(policies, described.deltas[0], judged.cluster)
    judged = replace(judged, tables=())  # most of the memory
    steps = _steps(
        chosen, training, contexts, options, context.streams, records_read, described.outcomes.names
    )
    return {
        "estimates": estimates_frame(policies, chosen),
        "steps": steps_frame(steps, reachable(chosen.plan.policy)),
        "policy": sealed(
            {
                "searches": EDITION,
                "description": _json_value(described.document),
                "gaps": list(contexts.missing_levels),
                "contexts": list(contexts.names),
                "treatments": list(records_read.treatments),
                "outcomes": list(described.outcomes.names),
                "name": chosen.name,
                "verdict": verdict(
                    chosen,
                    judged,
                    dict(zip(described.outcomes.names, described.outcome_value, strict=True)),
                    len(training),
                    untried.sentences,
                ),
                "remarks": list(records_read.remarks),
            },
            {"policy.safetensors": steps.arrays()},
        ),
        "arrays": steps.arrays(),
    }


def _steps(
    chosen: EvaluatedPolicy,
    training: TrialRecords,
    contexts: Strata,
    options: ComparisonOptions,
    streams: Streams,
    records: OwnRecords,
    outcomes: tuple[str, ...],
) -> StepTable:
    """The policy at every history, with the records behind each step and the runner-up."""
    policy, counts = chosen.plan.policy, count_outcomes(training)
    model = "smoothed" if chosen.plan.outcome_model == "records" else chosen.plan.outcome_model
    table = fit_outcome_model(
        model,
        training,
        counts,
        contexts.features,
        streams.generator("model"),
        options=options,
        true_model=None,
    )
    behind = records_behind(counts, contexts=len(policy.action))
    trials = trials_left(policy, table)
    cells = np.arange(policy.action.size)
    parts = [
        _step_cells(policy, table, trials, behind, cells[start : start + _CELLS], options.barred)
        for start in range(0, len(cells), _CELLS)
    ]
    tables = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    shape = policy.action.shape
    return StepTable(
        action=policy.action,
        statistic=policy.statistic,
        barred=(
            np.zeros((len(policy.action), policy.n_actions), dtype=bool)
            if options.barred is None
            else options.barred
        ),
        **{name: cell.reshape(*shape, *cell.shape[1:]) for name, cell in tables.items()},
        contexts=contexts.names,
        treatments=records.treatments,
        outcomes=outcomes,
    )


def _step_cells(
    policy: SearchPolicy,
    table: OutcomeTable,
    trials: Float[np.ndarray, "x h"],
    behind: Float[np.ndarray, "x h a"],
    cells: Int[np.ndarray, " m"],
    barred: Bool[np.ndarray, "x a"] | None,
) -> dict[str, np.ndarray]:
    """Records, visits, runner-up and trials left of some cells of a policy, each with m rows."""
    x, h = np.divmod(cells, policy.action.shape[1])
    values, counts = step_values(policy, table, trials, x, h), behind[x, h]
    following = policy.action[x, h].astype(np.int64)
    rows, going = np.arange(len(x)), following < policy.n_actions
    at = np.where(going, following, 0)
    own_value = np.where(going, values[rows, at], np.nan)
    values[rows, at] = np.nan
    if barred is not None:
        values[barred[x]] = np.nan
    best = np.nanargmin(np.where(np.isnan(values), np.inf, values), axis=1)
    its = values[rows, best]
    return {
        "records": counts[rows, at].astype(np.int64),
        "visits": counts.sum(axis=1).astype(np.int64),
        "runner_up": np.where(going & ~np.isnan(its), best, -1),
        "trials_left": np.stack([own_value, its], axis=1),
    }


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    return [_json_value(item) for item in value] if isinstance(value, list | tuple) else value


def write_search_answer(
    *, policy: Mapping[str, Any], arrays: Mapping[str, np.ndarray], context: Context
) -> dict[str, bytes]:
    """`text`: the verdict and corrections of the file; `words`: the policy, step by step."""
    corrections = [f"Read: {sentence}." for sentence in policy["remarks"]]
    text = "\n".join([*policy["verdict"], *corrections])
    words = policy_words(step_table(arrays, policy))
    return {"text": f"{text}\n".encode(), "words": words.encode()}
