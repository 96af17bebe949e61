"""Stage `draw_table_figures`: Figs 3a, 3b, S5, S6 of the treatment study, a policy as a tree."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.streams import Streams
from frugal.studies.shared.frames import drawn
from frugal.studies.treatment.figures.policies import policy_tree_figure, search_curve_figure
from frugal.studies.treatment.figures.tradeoffs import profile_figure, tradeoff_figure
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
    planned = planned[planned["planner"] != "doctor"]
    delta = planned[planned["planner"] != "ndp"].assign(parameter="δ")
    price = planned[planned["planner"] == "ndp"].assign(parameter="λ")
    tree, name = tree_policy(policies, settings)
    frequent = units["context"].value_counts().sort_index().sort_values(ascending=False)
    contexts = [catalogue["contexts"][x] for x in frequent.index[:_CONTEXTS]]
    subtitle = (
        f"{settings['tree']['outcome_model']}, δ = {settings['delta']:g}, "
        f"λ = {settings['trial_price']:g}, ± 1 s.e. over {found['repeats'].iloc[0]} splits"
    )
    figures = {
        "search_curves": (search_curve_figure(found, subtitle=subtitle, **title), found),
        "table_tradeoff": (tradeoff_figure(planned, **title), planned),
        "delta": (profile_figure(delta, x="threshold", **title), delta),
        "price": (profile_figure(price, x="threshold", **title), price),
        "tree": (
            policy_tree_figure(tree, contexts=contexts, title=name, best=settings["best"]),
            tree[tree["context"].isin(contexts)],
        ),
    }
    return {k: v for key, value in figures.items() for k, v in drawn(key, *value).items()}
