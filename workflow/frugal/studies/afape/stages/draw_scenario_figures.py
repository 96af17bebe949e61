"""Stage `draw_scenario_figures`: the figures of one data set and mechanism, each with its table."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from frugal.core.streams import Streams
from frugal.draw.style import sentence_figure
from frugal.studies.afape.figures.parts import (
    calibration_figure,
    cost_split_figure,
    frequency_figure,
)
from frugal.studies.afape.figures.trust import decision_figure, trust_figure
from frugal.studies.shared.frames import drawn


def draw_scenario_figures(
    *,
    catalogue: Mapping[str, Any],
    estimates: pd.DataFrame,
    frequencies: pd.DataFrame,
    calibration: pd.DataFrame,
    settings: Mapping[str, Any],
    streams: Streams,
    progress: Callable[..., Any],
) -> dict[str, Any]:
    """Draw the first seed's estimates: trust, decision, cost split, frequencies, calibration."""
    del progress
    seed = estimates["seed"].iloc[0]
    first = estimates[estimates["seed"] == seed].assign(**streams.wildcards)
    agent = settings["frequency_agent"]
    chosen = frequencies[(frequencies["seed"] == seed) & (frequencies["agent"] == agent)]
    chosen = chosen.assign(**streams.wildcards)
    curves = calibration[calibration["seed"] == seed]
    unit = {"cost_unit": catalogue["report"]["cost_unit"]}
    return {
        **drawn("trust", trust_figure(first, **unit), first),
        **drawn("decision", decision_figure(first, **unit), first),
        **drawn("cost_split", cost_split_figure(first, **unit), first),
        **drawn("frequency", frequency_figure(chosen), chosen),
        **drawn("calibration", _calibration(curves, first), curves),
    }


def _calibration(curves: pd.DataFrame, estimates: pd.DataFrame) -> Figure:
    """Calibration of what was fitted; a sentence in its place where nothing was."""
    if len(curves):
        return calibration_figure(curves)
    reasons = estimates.loc[estimates["status"] == "not_identified", "reason"]
    if len(reasons):
        return sentence_figure(f"Not identified, nothing fitted. {reasons.iloc[0]}")
    return sentence_figure("No fitted probability serves any test row: nothing to calibrate.")
