"""Stage `draw_world_figures`: Figs 2b and S1–S4 of the treatment study, and a policy as a tree."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.declarations import load_all
from frugal.core.streams import Streams
from frugal.draw.figures import draw_all
from frugal.search.planner import planners_with
from frugal.studies.treatment.figures.given import Tree, World
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
    sweep = at_size(means, settings["sweep"]["n_train"])
    smoothed = sweep[sweep["outcome_model"] == "smoothed"]
    by_bound = smoothed[smoothed["planner"].isin(planners_with("reads", "bound"))]
    tree, name = tree_policy(policies, settings)
    given = World(
        title=title,
        growth=facetted(_sizes(means, settings["sizes"]), facet="outcome_model", series="planner"),
        tradeoff=facetted(bounded(smoothed, "upper"), facet="outcome_model", series="planner"),
        bounds=facetted(by_bound, facet="planner", series="bound"),
        thresholds=_thresholds(sweep),
        tree=Tree(tree, name, sorted(tree["context"].unique())[:2], settings["best"]),
    )
    figures = load_all("frugal.studies.treatment.figures", "PrintedFigure")
    return draw_all(figures, "draw_world_figures", given)


def _sizes(means: pd.DataFrame, grid: Mapping[str, Any]) -> pd.DataFrame:
    """Rows of the grid over sizes, at its first δ and λ and with its first bound."""
    rows = means[
        means["n_train"].isin(grid["n_train"])
        & means["outcome_model"].isin(grid["outcome_models"])
        & means["planner"].isin(grid["planners"])
    ]
    by_price = rows["planner"].isin(planners_with("thresholds", "trial_prices"))
    price, delta = grid["trial_prices"][0], grid["deltas"][0]
    wanted = same(rows["threshold"], price) & by_price | same(rows["threshold"], delta) & ~by_price
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
