"""Stage `draw_table_figures`: Figs 3a, 3b, S5, S6 of the treatment study, a policy as a tree."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.declarations import load_all
from frugal.core.streams import Streams
from frugal.draw.figures import draw_all
from frugal.search.planner import planners_with
from frugal.studies.treatment.figures.given import Table, Tree
from frugal.studies.treatment.policy_frames import bounded, facetted, search_curves, tree_policy

_CONTEXTS = 2  # trees on a page: those of the most frequent contexts


def draw_table_figures(
    *,
    means: pd.DataFrame,
    curves: pd.DataFrame,
    policies: pd.DataFrame,
    units: pd.DataFrame,
    catalogue: Mapping[str, Any],
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw the figures of one table from means over its splits."""
    del progress
    dataset = streams.wildcards["dataset"]
    means = bounded(means[means["dataset"] == dataset], settings["tree"]["bound"])
    told = {"recorded": "recorded", "simulated": "SIMULATED"}
    prescriptions = told[catalogue["report"]["prescriptions"]]
    title = {"title": f"{settings['title']} ({prescriptions} prescriptions)"}
    found = search_curves(curves[curves["dataset"] == dataset], settings)
    planned = facetted(means, facet="outcome_model", series="planner")
    planned = planned[~planned["planner"].isin(planners_with("thresholds", None))]
    by_price = planned["planner"].isin(planners_with("thresholds", "trial_prices"))
    tree, name = tree_policy(policies, settings)
    frequent = units["context"].value_counts().sort_index().sort_values(ascending=False)
    contexts = [catalogue["contexts"][x] for x in frequent.index[:_CONTEXTS]]
    given = Table(
        title=title,
        curves=found,
        subtitle=(
            f"{settings['tree']['outcome_model']}, δ = {settings['delta']:g}, "
            f"λ = {settings['trial_price']:g}, ± 1 s.e. over {found['repeats'].iloc[0]} splits"
        ),
        tradeoff=planned,
        delta=planned[~by_price].assign(parameter="δ"),
        price=planned[by_price].assign(parameter="λ"),
        tree=Tree(tree, name, contexts, settings["best"]),
    )
    figures = load_all("frugal.studies.treatment.figures", "PrintedFigure")
    return draw_all(figures, "draw_table_figures", given)
