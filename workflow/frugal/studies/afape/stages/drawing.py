"""Stages that draw the afape study: the figures of a data set and mechanism, and of all."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.declarations import load_all
from frugal.core.streams import Streams
from frugal.draw.prints import draw_all


def draw_scenario_figures(
    *,
    catalogue: Mapping[str, Any],
    estimates: pd.DataFrame,
    frequencies: pd.DataFrame,
    calibration: pd.DataFrame,
    verdicts: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw the first seed's estimates: every figure that is declared for this stage."""
    del progress
    seed = int(estimates["seed"].iloc[0])
    agent = settings["frequency_agent"]
    chosen = frequencies[(frequencies["seed"] == seed) & (frequencies["agent"] == agent)]
    selected = verdicts["seed"] == seed
    for name in ("dataset", "mechanism"):
        selected &= verdicts[name].astype(str) == streams.wildcards[name]
    verdict = verdicts[selected].iloc[0]
    rows = estimates[estimates["seed"] == seed].assign(**streams.wildcards)
    arguments = {
        "estimates": rows,
        "answered": rows[rows["estimator"] == verdict["estimator"]],
        "verdict": verdict,
        "read": str(verdict["estimator"]),
        "frequencies": chosen.assign(**streams.wildcards),
        "calibration": calibration[calibration["seed"] == seed],
        "cost_unit": catalogue["report"]["cost_unit"],
    }
    figures = load_all("frugal.studies.afape.figures", "PrintedFigure")
    return draw_all(figures, "draw_scenario_figures", arguments)


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
    arguments = {
        "summary": summary,
        "resamples": of_first(resamples),
        "behind": of_first(summary),
        "convergence": lines,
        "cost_unit": settings["cost_unit"],
    }
    figures = load_all("frugal.studies.afape.figures", "PrintedFigure")
    return draw_all(figures, "draw_study_figures", arguments)
