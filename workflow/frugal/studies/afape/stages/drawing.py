"""Stages that draw the afape study: the figures of a data set and mechanism, and of all."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from frugal.core.context import Context
from frugal.core.declarations import load_all
from frugal.draw.prints import draw_all


def draw_scenario_figures(
    *,
    catalogue: Mapping[str, Any],
    estimates: pd.DataFrame,
    frequencies: pd.DataFrame,
    calibration: pd.DataFrame,
    verdicts: pd.DataFrame,
    context: Context,
) -> dict[str, Any]:
    """Draw the first seed's estimates: every figure that is declared for this stage."""
    seed = int(estimates["seed"].iloc[0])
    agent = context.settings["frequency_agent"]
    chosen = frequencies[(frequencies["seed"] == seed) & (frequencies["agent"] == agent)]
    selected = verdicts["seed"] == seed
    for name in ("dataset", "mechanism"):
        selected &= verdicts[name].astype(str) == context.streams.wildcards[name]
    verdict = verdicts[selected].iloc[0]
    rows = estimates[estimates["seed"] == seed].assign(**context.streams.wildcards)
    arguments = {
        "estimates": rows,
        "answered": rows[rows["estimator"] == verdict["estimator"]],
        "verdict": verdict,
        "read": str(verdict["estimator"]),
        "frequencies": chosen.assign(**context.streams.wildcards),
        "calibration": calibration[calibration["seed"] == seed],
        "cost_unit": catalogue["report"]["cost_unit"],
    }
    figures = load_all("frugal.studies.afape.figures", "PrintedFigure")
    return draw_all(figures, "draw_scenario_figures", arguments)


def draw_study_figures(
    *, summary: pd.DataFrame, resamples: pd.DataFrame, convergence: pd.DataFrame, context: Context
) -> dict[str, Any]:
    """Draw convergence over seeds (Fig. 5) and resamples of the first seed (Figs 6, A.4, A.5)."""
    first, chosen = summary["seed"].iloc[0], context.settings["estimators"]

    def of_first(table: pd.DataFrame) -> pd.DataFrame:
        return table[(table["seed"] == first) & table["estimator"].isin(chosen)]

    lines = convergence[
        convergence["agent"].isin(context.settings["convergence_agents"])
        & convergence["estimator"].isin(chosen)
        & convergence["truth"].notna()
    ]
    arguments = {
        "summary": summary,
        "resamples": of_first(resamples),
        "behind": of_first(summary),
        "convergence": lines,
        "cost_unit": context.settings["cost_unit"],
    }
    figures = load_all("frugal.studies.afape.figures", "PrintedFigure")
    return draw_all(figures, "draw_study_figures", arguments)
