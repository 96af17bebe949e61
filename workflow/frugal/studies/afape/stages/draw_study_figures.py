"""Stage `draw_study_figures`: the paper's figures over all scenarios (5, 6, A.4, A.5)."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from frugal.core.streams import Streams
from frugal.draw.style import sentence_figure
from frugal.studies.afape.figures.spread import convergence_figure, resample_figure
from frugal.studies.shared.frames import drawn


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
    seed = summary["seed"].iloc[0]
    boxes = resamples[
        (resamples["seed"] == seed) & resamples["estimator"].isin(settings["estimators"])
    ]
    behind = summary[(summary["seed"] == seed) & summary["estimator"].isin(settings["estimators"])]
    lines = convergence[
        convergence["agent"].isin(settings["convergence_agents"])
        & convergence["estimator"].isin(settings["estimators"])
        & convergence["truth"].notna()
    ]
    unit = {"cost_unit": settings["cost_unit"]}
    return {
        **drawn("convergence", _errors(lines, summary, unit), lines),
        **drawn("resamples", resample_figure(boxes, behind, **unit), boxes),
    }


def _errors(lines: pd.DataFrame, summary: pd.DataFrame, unit: Mapping[str, str]) -> Figure:
    """Convergence to the truth; a sentence in its place where there is no error to show."""
    if len(lines):
        return convergence_figure(lines, **unit)
    if summary["truth"].isna().all():
        return sentence_figure("The truth is unknown in every scenario: no error to show.")
    return sentence_figure("None of the chosen estimators has an estimate: no error to show.")
