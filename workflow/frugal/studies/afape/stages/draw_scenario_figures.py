"""Stage `draw_scenario_figures`: the figures of one data set and mechanism, each with its table."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from frugal.core.declarations import load_all
from frugal.core.streams import Streams
from frugal.draw.figures import draw_all
from frugal.studies.afape.figures.given import Scenario


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
    given = Scenario(
        estimates=estimates[estimates["seed"] == seed].assign(**streams.wildcards),
        verdict=_here(verdicts, streams, seed).iloc[0],
        frequencies=chosen.assign(**streams.wildcards),
        calibration=calibration[calibration["seed"] == seed],
        unit={"cost_unit": catalogue["report"]["cost_unit"]},
    )
    figures = load_all("frugal.studies.afape.figures", "PrintedFigure")
    return draw_all(figures, "draw_scenario_figures", given)


def _here(table: pd.DataFrame, streams: Streams, seed: int) -> pd.DataFrame:
    """Rows of this scenario and seed."""
    own = table["seed"] == seed
    for name in ("dataset", "mechanism"):
        own &= table[name].astype(str) == streams.wildcards[name]
    return table[own]
