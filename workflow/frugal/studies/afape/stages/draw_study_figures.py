"""Stage `draw_study_figures`: the paper's figures over all scenarios (5, 6, A.4, A.5)."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.declarations import load_all
from frugal.core.streams import Streams
from frugal.draw.figures import draw_all
from frugal.studies.afape.figures.given import Study


def draw_study_figures(
    *,
    summary: pd.DataFrame,
    resamples: pd.DataFrame,
    convergence: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw convergence over seeds (Fig. 5) and resamples of the first seed (Figs 6, A.4, A.5)."""
    del streams, progress
    first, chosen = summary["seed"].iloc[0], settings["estimators"]

    def of_first(table: pd.DataFrame) -> pd.DataFrame:
        return table[(table["seed"] == first) & table["estimator"].isin(chosen)]

    lines = convergence[
        convergence["agent"].isin(settings["convergence_agents"])
        & convergence["estimator"].isin(chosen)
        & convergence["truth"].notna()
    ]
    unit = {"cost_unit": settings["cost_unit"]}
    given = Study(summary, of_first(resamples), of_first(summary), lines, unit)
    figures = load_all("frugal.studies.afape.figures", "PrintedFigure")
    return draw_all(figures, "draw_study_figures", given)
