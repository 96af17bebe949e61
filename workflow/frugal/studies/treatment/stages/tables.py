"""Stages of treatment's tables: the summary, CPU times, checks."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.context import Context
from frugal.core.errors import DataError
from frugal.studies.treatment.planner import planners_of
from frugal.studies.treatment.search.summary import best_so_far, summarise_searches
from frugal.studies.treatment.searches import IDENTITY, sized

KEY = ["dataset", "n_train", *IDENTITY, "seed"]
NUMBERS = ["efficacy", "mean_trials"]


def summarise_treatment(
    *, scores: pd.DataFrame, best_after: pd.DataFrame, context: Context
) -> dict[str, pd.DataFrame]:
    """One row per policy and repeat, the contract's columns first; policies of two grids once."""
    once = scores.drop_duplicates(KEY, ignore_index=True).drop(columns="grid")
    further = [c for c in once.columns if c not in KEY + NUMBERS]
    curves = best_after.drop_duplicates([*KEY, "trials"], ignore_index=True).drop(columns="grid")
    curves = _common_size(sized(curves, ["dataset", "seed"]))
    of_common_size = _common_size(sized(once, ["dataset", "seed"]))
    return {
        "repeats": once[KEY + NUMBERS + further],
        "means": summarise_searches(of_common_size, repeat="seed", by=["dataset", "n_train"]),
        "curves": best_so_far(curves, repeat="seed", by=["dataset", "n_train", *IDENTITY]),
    }


def _common_size(rows: pd.DataFrame) -> pd.DataFrame:
    """Training sizes of one rank named by their median over repeats."""
    sizes = rows.drop_duplicates(["dataset", "seed", "size"])
    median = sizes.groupby(["dataset", "size"])["n_train"].median().astype(int).rename("n_train")
    return rows.drop(columns="n_train").join(median, on=["dataset", "size"]).drop(columns="size")


def add_cpu_times(
    *, repeats: pd.DataFrame, timings: pd.DataFrame, context: Context
) -> dict[str, pd.DataFrame]:
    """The summary table of the contract: the rows of `summarise_treatment`, with `cpu_s`.

    CPU seconds are a measurement, and no two runs measure the same. They join last, in a table that
    no other step reads: everything else is the same bytes twice.

    Raises:
        DataError: a policy was not timed.
    """
    timed = sized(timings, ["dataset"]).drop(columns="n_train")
    rows = sized(repeats, ["dataset", "seed"]).merge(
        timed, on=["dataset", "size", *IDENTITY], how="left", validate="many_to_one"
    )
    untimed = rows.loc[rows["cpu_s"].isna(), KEY]
    if len(untimed):
        at = ", ".join(f"{name} {value}" for name, value in untimed.iloc[0].items())
        raise DataError(f"{len(untimed)} policies were not timed by time_planners, first {at}")
    further = [c for c in repeats.columns if c not in KEY + NUMBERS]
    return {"summary": rows[[*KEY, *NUMBERS, "cpu_s", *further]]}


def check_treatment(
    *, repeats: pd.DataFrame, trials: pd.DataFrame, context: Context
) -> dict[str, dict[str, Any]]:
    """Count rows, check ranges, recompute mean trials and efficacy from the counted units.

    Raises:
        DataError: the first check that fails, with the row.
    """
    for dataset, of_dataset in context.settings.items():
        rows = repeats[repeats["dataset"] == dataset]
        seeds_there = set(rows["seed"])
        if seeds_there != set(range(of_dataset["seeds"])):
            seeds = sorted(int(seed) for seed in seeds_there)
            raise DataError(f"the treatment summary has seeds {seeds} of {dataset}")
        counts = rows.groupby("seed").size()
        expected = _policies(of_dataset["grids"])
        if not (counts == expected).all():
            raise DataError(
                f"the treatment summary has {counts.tolist()} policies of {dataset} per seed, "
                f"{expected} were requested"
            )
    planners = planners_of(sorted(set(repeats["planner"])))
    idle = [name for name, planner in planners.items() if planner.may_try_nothing]
    counted = _recount(trials)
    joined = repeats.merge(counted, on=KEY, validate="one_to_one")
    checks = {
        "every policy has its units counted": pd.Series([len(joined) == len(repeats)]),
        "efficacy is a share": repeats["efficacy"].between(0, 1),
        "a search has a trial": repeats["mean_trials"].ge(1) | repeats["planner"].isin(idle),
        "no number of trials is negative": repeats["mean_trials"] >= 0,
        "no mean is beyond its worst case": repeats["mean_trials"] <= repeats["worst_case"],
        "mean trials follow from the counted units": np.isclose(
            joined["mean_trials"], joined["counted_trials"], rtol=1e-12
        ),
        "efficacy follows from the counted units": np.isclose(
            joined["efficacy"], joined["counted_efficacy"], rtol=1e-12
        ),
    }
    for property_, holds in checks.items():
        if not np.all(holds):
            row = repeats[KEY].iloc[int(np.argmin(holds))]
            at = ", ".join(f"{name} {value}" for name, value in row.items())
            raise DataError(f"treatment summary: it does not hold that {property_}, at {at}")
    return {"checks": {"rows": len(repeats), "passed": ["every row requested is there", *checks]}}


def _policies(grids: Mapping[str, Any]) -> int:
    """Number of distinct policies that the grids of a scenario name, per seed."""
    names: set[tuple[Any, ...]] = set()
    for grid in grids.values():
        for planner in planners_of(grid["planners"]).values():
            at = {"records": [()], "model": [(m,) for m in grid["outcome_models"]]}
            at["bound"] = [(m, b) for m in grid["outcome_models"] for b in grid["bounds"]]
            values = [None] if planner.thresholds is None else map(float, grid[planner.thresholds])
            parts = product(grid["n_train"] or [None], [planner.name], at[planner.reads], values)
            names |= set(parts)
    return len(names)


def _recount(trials: pd.DataFrame) -> pd.DataFrame:
    """Mean trials and efficacy of every policy, from numbers of units."""
    rows = trials.drop_duplicates([*KEY, "trials", "best", "near_optimal"])
    weighted = rows.assign(
        total=rows["trials"] * rows["units"], hits=rows["near_optimal"] * rows["units"]
    )
    sums = weighted.groupby(KEY, dropna=False)[["total", "hits", "units"]].sum()
    return pd.DataFrame(
        {
            "counted_trials": sums["total"] / sums["units"],
            "counted_efficacy": sums["hits"] / sums["units"],
        }
    ).reset_index()
