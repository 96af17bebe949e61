"""Figure of beliefs: what policies believed when they stopped, and how often it was so.

One panel of the figure per family. Places marks from a table; knows neither policies nor files.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.studies.diagnosis.figures import seen
from frugal.studies.diagnosis.figures.given import Families
from frugal.studies.diagnosis.figures.style import method_order, method_style

COLUMNS = 3
TICKS = (0.0, 0.05, 0.25, 0.5, 1.0)


@style.printed
def reliability_figure(groups: pd.DataFrame, *, title: str, percent: float) -> Figure:
    """Believed probability of illness at the last decision against the share that is ill.

    Both axes are square roots, since illness is rare. On the dashed line beliefs can be taken at
    their word. Above each panel: slope of calibration and log-loss, that of the base rate behind.

    Args:
        groups: method, belief, rate, rate_low, rate_high, calibration_slope, log_loss,
            base_log_loss.
        title: of the data set.
        percent: of the price of all panels, within which the policies were chosen.

    Raises:
        DataError: a column is missing, or there is no row.
    """
    style.require(groups, ["method", "belief", "rate", "rate_low", "rate_high"], single=[])
    methods = method_order(groups["method"].unique())
    across = min(COLUMNS, len(methods))
    down = -(-len(methods) // across)
    figure = style.new_figure(height_in=0.6 + 2.0 * down)
    grid = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
    for place, axes in enumerate(grid.ravel()):
        if place >= len(methods):
            axes.set_axis_off()
            continue
        _draw(axes, groups[groups["method"] == methods[place]], methods[place])
        axes.xaxis.set_tick_params(labelbottom=place + across >= len(methods))
    figure.supxlabel("believed probability of illness, %")
    figure.supylabel("ill among these test units, % (95 % interval)")
    said = f"within {percent:g} % of the price, {seen.reliability(groups)}"
    figure.suptitle(style.titled(title, said), x=0.01, ha="left")
    return figure


def _draw(axes: Axes, rows: pd.DataFrame, method: str) -> None:
    look, first = method_style(method), rows.iloc[0]
    axes.plot([0, 1], [0, 1], color=style.GREY, linestyle="--", linewidth=0.8)
    draw_series(
        axes, rows, {method: look}, by="method", x="belief", y="rate", size=4.0, line=None,
        y_ends=rows[["rate_low", "rate_high"]].to_numpy().T, clip_on=False,
    )  # fmt: skip
    slope = (
        f"slope {first['calibration_slope']:.2f}, " if first.notna()["calibration_slope"] else ""
    )
    axes.set_title(
        f"{look.label}\n{slope}loss {first['log_loss']:.3f} ({first['base_log_loss']:.3f})",
        fontsize=style.FONT_PT, loc="left",
    )  # fmt: skip
    axes.set_xscale("function", functions=(_root, np.square))
    axes.set_yscale("function", functions=(_root, np.square))
    names = [f"{100 * tick:g}" for tick in TICKS]
    axes.set_xticks(TICKS, names)
    axes.set_yticks(TICKS, names)
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)


def _root(values: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(values, 0))


def _reliability(given: Families) -> tuple[Figure, pd.DataFrame]:
    figure = reliability_figure(
        given.reliability, title=given.title, percent=100 * given.budget_share
    )
    return figure, given.reliability


RELIABILITY = PrintedFigure(
    name="diagnosis_reliability",
    place=6,
    stages=("draw_fronts",),
    draw=_reliability,
    doc="what policies believed when they stopped, and how often it was so",
)
