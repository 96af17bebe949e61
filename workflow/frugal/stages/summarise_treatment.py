"""Stage `summarise_treatment`: the summary table of the study, and means over repeats."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from frugal.contracts import Streams
from frugal.evaluation.treatment_summary import best_so_far, summarise_searches
from frugal.stages._searches import IDENTITY

KEY = ["dataset", "n_train", *IDENTITY, "seed"]
NUMBERS = ["efficacy", "mean_trials", "cpu_s"]


def summarise_treatment(
    *,
    scores: pd.DataFrame,
    best_after: pd.DataFrame,
    timings: pd.DataFrame,
    settings: Any,
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, pd.DataFrame]:
    """One row per policy and repeat, the contract's columns first; policies of two grids once."""
    del settings, streams, progress
    once = scores.drop_duplicates(KEY, ignore_index=True).drop(columns="grid")
    timed = _sized(timings, ["dataset"]).drop(columns="n_train")
    once = _sized(once, ["dataset", "seed"]).merge(
        timed, on=["dataset", "size", *IDENTITY], how="left", validate="many_to_one"
    )
    summary = once.drop(columns="size")
    further = [c for c in summary.columns if c not in KEY + NUMBERS]
    curves = best_after.drop_duplicates([*KEY, "trials"], ignore_index=True).drop(columns="grid")
    curves = _common_size(_sized(curves, ["dataset", "seed"]))
    return {
        "summary": summary[KEY + NUMBERS + further],
        "means": summarise_searches(_common_size(once), repeat="seed", by=["dataset", "n_train"]),
        "curves": best_so_far(curves, repeat="seed", by=["dataset", "n_train", *IDENTITY]),
    }


def _sized(rows: pd.DataFrame, group: list[str]) -> pd.DataFrame:
    """With the rank of the training size: a table's splits differ by a few units in size."""
    rank = rows.groupby(group)["n_train"].rank(method="dense").astype(int)
    return rows.assign(size=rank)


def _common_size(rows: pd.DataFrame) -> pd.DataFrame:
    """Training sizes of one rank named by their median over repeats."""
    sizes = rows.drop_duplicates(["dataset", "seed", "size"])
    median = sizes.groupby(["dataset", "size"])["n_train"].median().astype(int).rename("n_train")
    return rows.drop(columns="n_train").join(median, on=["dataset", "size"]).drop(columns="size")
