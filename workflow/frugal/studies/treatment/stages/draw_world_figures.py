"""Stage `draw_world_figures`: Figs 2b and S1–S4 of the treatment study, and a policy as a tree."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.studies.shared.frames import drawn
from frugal.studies.treatment.figures.policies import policy_tree_figure
from frugal.studies.treatment.figures.tradeoffs import (
    data_size_figure,
    profile_figure,
    tradeoff_figure,
)
from frugal.studies.treatment.policy_frames import at_size, bounded, facetted, same, tree_policy


def draw_world_figures(
    *,
    means: pd.DataFrame,
    policies: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw the figures of one world from means over its realisations."""
    del progress
    means = means[means["dataset"] == streams.wildcards["dataset"]]
    title = {"title": settings["title"]}
    growth = facetted(_sizes(means, settings["sizes"]), facet="outcome_model", series="planner")
    sweep = at_size(means, settings["sweep"]["n_train"])
    smoothed = bounded(sweep[sweep["outcome_model"] == "smoothed"], "upper")
    tradeoff = facetted(smoothed, facet="outcome_model", series="planner")
    by_bound = sweep[(sweep["outcome_model"] == "smoothed") & sweep["planner"].isin(["cdp", "cg"])]
    bounds = facetted(by_bound, facet="planner", series="bound")
    thresholds = _thresholds(sweep)
    tree, name = tree_policy(policies, settings)
    contexts = sorted(tree["context"].unique())[:2]
    figures = {
        "data_size": (data_size_figure(growth, **title), growth),
        "size_curves": (profile_figure(growth, x="n_train", **title), growth),
        "tradeoff": (tradeoff_figure(tradeoff, **title), tradeoff),
        "bounds": (tradeoff_figure(bounds, **title), bounds),
        "thresholds": (profile_figure(thresholds, x="threshold", **title), thresholds),
        "tree": (
            policy_tree_figure(tree, contexts=contexts, title=name, best=settings["best"]),
            tree[tree["context"].isin(contexts)],
        ),
    }
    return {k: v for key, value in figures.items() for k, v in drawn(key, *value).items()}


def _sizes(means: pd.DataFrame, grid: Mapping[str, Any]) -> pd.DataFrame:
    """Rows of the grid over sizes, at its first δ and λ and with its first bound."""
    rows = means[
        means["n_train"].isin(grid["n_train"])
        & means["outcome_model"].isin(grid["outcome_models"])
        & means["planner"].isin(grid["planners"])
    ]
    is_ndp = rows["planner"] == "ndp"
    price, delta = grid["trial_prices"][0], grid["deltas"][0]
    wanted = same(rows["threshold"], price) & is_ndp | same(rows["threshold"], delta) & ~is_ndp
    return bounded(rows[wanted], grid["bounds"][0])


def _thresholds(sweep: pd.DataFrame) -> pd.DataFrame:
    """CDP over δ: by outcome model at the upper bound, by bound with the smoothed table (S4)."""
    cdp = sweep[sweep["planner"] == "cdp"]
    models = cdp[cdp["bound"] == "upper"]
    bounds = cdp[cdp["outcome_model"] == "smoothed"]
    rows = pd.concat(
        [
            models.assign(facet="Outcome models, upper bound", series=models["outcome_model"]),
            bounds.assign(facet="Bounds, smoothed table", series=bounds["bound"]),
        ],
        ignore_index=True,
    )
    return rows.assign(parameter="δ")
