"""Stage `check_treatment`: the summary holds what the config promised, in range; or it stops."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from frugal.core.errors import DataError
from frugal.core.streams import Streams
from frugal.search.planner import planners_of
from frugal.studies.treatment.stages.summarise_treatment import KEY


def check_treatment(
    *,
    repeats: pd.DataFrame,
    trials: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, dict[str, Any]]:
    """Count rows, check ranges, recompute mean trials and efficacy from the counted units.

    Raises:
        DataError: the first check that fails, with the row.
    """
    del streams, progress
    for dataset, wanted in settings.items():
        rows = repeats[repeats["dataset"] == dataset]
        found = set(rows["seed"])
        if found != set(range(wanted["seeds"])):
            seeds = sorted(int(seed) for seed in found)
            raise DataError(f"the treatment summary has seeds {seeds} of {dataset}")
        counts = rows.groupby("seed").size()
        expected = _policies(wanted["grids"])
        if not (counts == expected).all():
            raise DataError(
                f"the treatment summary has {counts.tolist()} policies of {dataset} per seed, "
                f"{expected} were asked for"
            )
    known = planners_of(sorted(set(repeats["planner"])))
    idle = [name for name, planner in known.items() if planner.may_try_nothing]
    counted = _recount(trials)
    both = repeats.merge(counted, on=KEY, validate="one_to_one")
    checks = {
        "every policy has its units counted": pd.Series([len(both) == len(repeats)]),
        "efficacy is a share": repeats["efficacy"].between(0, 1),
        "a search has a trial": repeats["mean_trials"].ge(1) | repeats["planner"].isin(idle),
        "no number of trials is negative": repeats["mean_trials"] >= 0,
        "no mean is beyond its worst case": repeats["mean_trials"] <= repeats["worst_case"],
        "mean trials follow from the counted units": np.isclose(
            both["mean_trials"], both["counted_trials"], rtol=1e-12
        ),
        "efficacy follows from the counted units": np.isclose(
            both["efficacy"], both["counted_efficacy"], rtol=1e-12
        ),
    }
    for what, holds in checks.items():
        if not np.all(holds):
            row = repeats[KEY].iloc[int(np.argmin(holds))]
            at = ", ".join(f"{name} {value}" for name, value in row.items())
            raise DataError(f"treatment summary: it does not hold that {what}, at {at}")
    return {"checks": {"rows": len(repeats), "passed": ["every row asked for is there", *checks]}}


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
