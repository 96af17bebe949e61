"""Colours, markers and words of the treatment study, and panels that all its figures share.

A figure takes rows with the columns `facet` and `series`: what stands in one panel, and what is one
line in it. Planners, outcome models and bounds each have a fixed look. Knows no figure and no file.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from frugal.contracts.errors import ConfigError
from frugal.figures import style

MOST = {"efficacy": 1.0, "mean_trials": np.inf}  # values of a measure that can be: 0 to this


@dataclass(frozen=True)
class SeriesStyle:
    """How one planner, model or bound looks in every figure.

    Attributes:
        label: words shown to the reader.
        colour: of the line and its marker.
        marker: matplotlib's code.
        line: matplotlib's code of the stroke.
    """

    label: str
    colour: str
    marker: str
    line: Literal["-", "--", "-.", ":", "none"]


SERIES: dict[str, SeriesStyle] = {
    "cdp": SeriesStyle("CDP", style.BLUE, "o", "-"),
    "cg": SeriesStyle("CG", style.VERMILLION, "s", "--"),
    "ndp": SeriesStyle("NDP", style.GREEN, "^", "-."),
    "doctor": SeriesStyle("emulated doctor", style.GREY, "D", ":"),
    "observed": SeriesStyle("records, first trial", style.BLACK, "*", "none"),
    "smoothed": SeriesStyle("smoothed table (_H)", style.BLUE, "o", "-"),
    "forest": SeriesStyle("random forest (_F)", style.VERMILLION, "s", "--"),
    "uninformed": SeriesStyle("uninformed table (_U)", style.ORANGE, "v", "-."),
    "true": SeriesStyle("true model (_T)", style.BLACK, "X", ":"),
    "upper": SeriesStyle("upper bound (_U)", style.BLUE, "o", "-"),
    "exact": SeriesStyle("no bound (_E)", style.BLACK, "X", ":"),
    "lower": SeriesStyle("lower bound (_L)", style.ORANGE, "v", "--"),
}


def series_style(name: str) -> SeriesStyle:
    """Look of a planner, model or bound.

    Raises:
        ConfigError: no look is fixed for that name.
    """
    if name not in SERIES:
        raise ConfigError(f"{name!r} has no colour and marker; allowed are {', '.join(SERIES)}")
    return SERIES[name]


def series_order(names: Iterable[str]) -> list[str]:
    """Distinct names in the order in which every figure lists them."""
    present = set(names)
    for name in sorted(present):
        series_style(name)
    return [name for name in SERIES if name in present]


def facet_order(names: Iterable[str]) -> list[str]:
    """Distinct panels: those with a look in its order, others as they come."""
    distinct = list(dict.fromkeys(names))
    return [n for n in SERIES if n in distinct] + [n for n in distinct if n not in SERIES]


def facet_title(name: str) -> str:
    """A panel's name: the words of its look, or itself."""
    label = SERIES[name].label if name in SERIES else name
    return label[:1].upper() + label[1:]


def series_handles(names: Iterable[str]) -> list[Line2D]:
    """Entries of a legend, in the figures' order."""
    looks = [series_style(name) for name in series_order(names)]
    return [
        Line2D(
            [], [], color=look.colour, marker=look.marker, linestyle=look.line, markersize=5,
            label=look.label,
        )
        for look in looks
    ]  # fmt: skip


def _marker_size(points: int) -> float:
    """Points of type; smaller where many markers share a line."""
    return 4.0 if points <= 15 else 2.2


def error_bars(rows: pd.DataFrame, measure: str) -> Float[np.ndarray, "2 n"]:
    """Lengths of bars of ± one standard error of efficacy or trials, cut where they can be."""
    value, error = (rows[c].to_numpy(dtype=float) for c in (measure, f"{measure}_se"))
    return style.whiskers(value, error, most=MOST[measure])


def draw_path(axes: Axes, rows: pd.DataFrame, name: str, *, x: str, y: str, bars: bool) -> None:
    """One series as a line with markers; with ± one standard error on both axes if wanted."""
    look = series_style(name)
    points = {axis: rows[axis].to_numpy(dtype=float) for axis in (x, y)}
    error = {axis: error_bars(rows, axis) if bars else None for axis in (x, y)}
    axes.errorbar(
        points[x], points[y], xerr=error[x], yerr=error[y], color=look.colour, marker=look.marker,
        linestyle=look.line, markersize=_marker_size(len(rows)), elinewidth=0.7, capsize=0,
    )  # fmt: skip


def draw_band(axes: Axes, rows: pd.DataFrame, name: str, *, x: str, y: str) -> None:
    """One series as a line with a band of ± one standard deviation, cut where y can be."""
    look = series_style(name)
    middle = rows[y].to_numpy(dtype=float)
    spread = np.sqrt(rows[f"{y}_variance"].to_numpy(dtype=float))
    at = rows[x].to_numpy(dtype=float)
    axes.plot(
        at,
        middle,
        color=look.colour,
        marker=look.marker,
        linestyle=look.line,
        markersize=_marker_size(len(rows)),
    )
    below, above = style.whiskers(middle, spread, most=MOST[y])
    axes.fill_between(
        at, middle - below, middle + above, color=look.colour, alpha=0.15, linewidth=0
    )
