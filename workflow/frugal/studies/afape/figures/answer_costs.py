"""The picture of an answer: what each policy costs a case, in panels and in errors, or its F1.

Not in the paper. Places marks from the table of outcomes; knows no file.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from frugal.draw import style
from frugal.draw.marks import draw_bars, draw_series
from frugal.studies.afape.answers import plain
from frugal.studies.afape.candidates import PRACTICE
from frugal.studies.afape.figures.style import agent_label

BAR = 0.62
NAMES = {PRACTICE: "today's practice"}


@style.printed
def costs_figure(outcomes: pd.DataFrame, policy: str, *, cost_unit: str) -> Figure:
    """Bars of every policy, the cheapest first, split into panels and errors; 95 % intervals.

    Args:
        outcomes: agent, cost, ci_low, ci_high, acquisition_cost, misclassification_cost.
        policy: that is named, in bold.
        cost_unit: the data set's unit of cost.
    """
    rows = outcomes.reset_index(drop=True)
    figure, axes, y = _new_figure(len(rows))
    panels, cost = rows["acquisition_cost"].to_numpy(), rows["cost"].to_numpy()
    ends = rows[["ci_low", "ci_high"]].to_numpy(dtype=float).T
    draw_bars(axes, y, panels, colour=style.SKY, width=BAR, lying=True)
    draw_bars(
        axes, y, cost - panels, colour=style.ORANGE, width=BAR, base=panels, ends=ends, lying=True
    )
    _name_lines(axes, rows["agent"], policy)
    axes.set_xlim(0, float(rows["ci_high"].max()) * 1.03)
    axes.set_xlabel(f"cost per case ({cost_unit})")
    interval = Line2D([], [], color=style.GREY, linewidth=0.9, label="95 % interval")
    handles = [
        Patch(color=style.SKY, label="panels"), Patch(color=style.ORANGE, label="errors"), interval,
    ]  # fmt: skip
    style.add_legend(figure, handles)
    return figure


@style.printed
def f1_figure(outcomes: pd.DataFrame, policy: str, *, cost_unit: str) -> Figure:
    """F1 of every policy with its 95 % interval, the best first, and what its panels cost.

    Args:
        outcomes: agent, cost (1 − F1), ci_low, ci_high, acquisition_cost.
        policy: that is named, in bold.
        cost_unit: the data set's unit of cost.
    """
    rows = outcomes.reset_index(drop=True)
    figure, axes, y = _new_figure(len(rows))
    ends = 1 - rows[["ci_high", "ci_low"]].to_numpy(dtype=float).T
    marks = pd.DataFrame({"F1": 1 - rows["cost"], "y": y, "name": "F1"})
    looks = {"F1": style.Look("F1", style.ORANGE, "o")}
    draw_series(axes, marks, looks, by="name", x="F1", y="y", line=None, x_ends=ends)
    _name_lines(axes, rows["agent"], policy)
    for at, price in zip(y, rows["acquisition_cost"], strict=True):
        axes.annotate(f"{price:.3g}", (1.02, at), xycoords=("axes fraction", "data"), va="center")
    axes.annotate(f"panels ({cost_unit})", (1.02, -0.9), xycoords=("axes fraction", "data"))
    axes.set_xlim(0, 1)
    axes.set_xlabel("F1, with 95 % interval")
    return figure


def _new_figure(policies: int) -> tuple[Figure, Axes, np.ndarray]:
    """With a line for each policy, and where the lines are."""
    figure = style.new_figure(height_in=0.9 + 0.27 * policies)
    return figure, figure.subplots(), np.arange(policies)


def _name_lines(axes: Axes, agents: pd.Series, policy: str) -> None:
    """The named policy in bold, practice in italics."""
    y = np.arange(len(agents))
    axes.set_yticks(y, [NAMES.get(name) or agent_label(plain(name)) for name in map(str, agents)])
    axes.set_ylim(len(agents) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    for tick, name in zip(axes.get_yticklabels(), agents, strict=True):
        tick.set_fontweight("bold" if name == policy else "normal")
        tick.set_fontstyle("italic" if name == PRACTICE else "normal")
