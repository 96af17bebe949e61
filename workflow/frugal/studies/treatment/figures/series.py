"""Colours, markers and words of the treatment study, and panels that all its figures share.

A figure takes rows with the columns `facet` and `series`: what stands in one panel, and what is one
line in it. Planners, outcome models and bounds each have a fixed look. Knows no figure and no file.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from frugal.core.declarations import load_all
from frugal.draw import style
from frugal.draw.marks import draw_series
from frugal.draw.style import Look

MOST = {"efficacy": 1.0, "mean_trials": np.inf}  # values of a measure that can be: 0 to this


_PLANNERS = load_all("frugal.search.planners", "SearchPlanner").values()
SERIES: dict[str, Look] = {
    one.name: Look(one.label, style.COLOURS[one.look[0]], one.look[1], line=one.look[2])
    for one in sorted(_PLANNERS, key=lambda one: (one.place, one.name))
} | {
    "observed": Look("records, first trial", style.BLACK, "*", line="none"),
    "smoothed": Look("smoothed table (_H)", style.BLUE, "o", line="-"),
    "forest": Look("random forest (_F)", style.VERMILLION, "s", line="--"),
    "uninformed": Look("uninformed table (_U)", style.ORANGE, "v", line="-."),
    "true": Look("true model (_T)", style.BLACK, "X", line=":"),
    "upper": Look("upper bound (_U)", style.BLUE, "o", line="-"),
    "exact": Look("no bound (_E)", style.BLACK, "X", line=":"),
    "lower": Look("lower bound (_L)", style.ORANGE, "v", line="--"),
}


def series_style(name: str) -> Look:
    """Look of a planner, model or bound; one without is refused."""
    return style.look_of(name, SERIES, what="series")


def series_order(names: Iterable[str]) -> list[str]:
    """Distinct names in the order in which every figure lists them."""
    return style.order_of(names, SERIES, what="series")


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
    return [look.handle(line=look.line) for look in looks]


def _marker_size(rows: pd.DataFrame) -> float:
    """Points of type; smaller where many markers share a line."""
    return 4.0 if rows.groupby("series").size().max() <= 15 else 2.2


def standard_errors(rows: pd.DataFrame, measure: str) -> Float[np.ndarray, "2 n"]:
    """Ends of bars of ± one standard error of efficacy or trials, cut where they can be."""
    value, error = (rows[c].to_numpy(dtype=float) for c in (measure, f"{measure}_se"))
    return style.whiskers(value, error, most=MOST[measure])


def draw_paths(axes: Axes, rows: pd.DataFrame, *, x: str, y: str) -> None:
    """Every series as a line with markers, with ± one standard error on both axes."""
    draw_series(
        axes, rows, SERIES, by="series", x=x, y=y, size=_marker_size(rows),
        x_ends=standard_errors(rows, x), y_ends=standard_errors(rows, y),
    )  # fmt: skip


def draw_bands(axes: Axes, rows: pd.DataFrame, *, x: str, y: str) -> None:
    """Every series as a line with a band of ± one standard deviation, cut where y can be."""
    middle, variance = (rows[c].to_numpy(dtype=float) for c in (y, f"{y}_variance"))
    ends = style.whiskers(middle, np.sqrt(variance), most=MOST[y])
    draw_series(
        axes, rows, SERIES, by="series", x=x, y=y, size=_marker_size(rows), y_ends=ends, ends="band"
    )  # fmt: skip
