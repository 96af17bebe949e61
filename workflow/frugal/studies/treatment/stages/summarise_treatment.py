"""Stage `summarise_treatment`: every policy and repeat, and means over repeats."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.search.summary import best_so_far, summarise_searches
from frugal.studies.treatment.searches import IDENTITY, sized

KEY = ["dataset", "n_train", *IDENTITY, "seed"]
NUMBERS = ["efficacy", "mean_trials"]


def summarise_treatment(
    *,
    scores: pd.DataFrame,
    best_after: pd.DataFrame,
    settings: Any,
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """One row per policy and repeat, the contract's columns first; policies of two grids once."""
    del settings, streams, progress
    once = scores.drop_duplicates(KEY, ignore_index=True).drop(columns="grid")
    further = [c for c in once.columns if c not in KEY + NUMBERS]
    curves = best_after.drop_duplicates([*KEY, "trials"], ignore_index=True).drop(columns="grid")
    curves = _common_size(sized(curves, ["dataset", "seed"]))
    alike = _common_size(sized(once, ["dataset", "seed"]))
    return {
        "repeats": once[KEY + NUMBERS + further],
        "means": summarise_searches(alike, repeat="seed", by=["dataset", "n_train"]),
        "curves": best_so_far(curves, repeat="seed", by=["dataset", "n_train", *IDENTITY]),
    }


def _common_size(rows: pd.DataFrame) -> pd.DataFrame:
    """Training sizes of one rank named by their median over repeats."""
    sizes = rows.drop_duplicates(["dataset", "seed", "size"])
    median = sizes.groupby(["dataset", "size"])["n_train"].median().astype(int).rename("n_train")
    return rows.drop(columns="n_train").join(median, on=["dataset", "size"]).drop(columns="size")
