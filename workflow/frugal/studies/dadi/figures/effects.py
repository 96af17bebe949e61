"""Figures 2 and 3 of the dadi study: trade-off along γ, and what is acquired of which panel.

They place marks from the study's tables and know neither agents nor files.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_bars, draw_series
from frugal.studies.dadi.figures import seen
from frugal.studies.dadi.figures.given import DataSet
from frugal.studies.dadi.figures.style import (
    AGENT,
    METHODS,
    draw_lines,
    ends_of,
    limit,
    method_handles,
    method_kind,
    titled,
    told_of,
)

_GROUP_COLOURS = (style.SKY, style.BLUE, style.BLACK, style.GREY, style.GREEN, style.PURPLE)
SIDE, LABEL_WIDTH, LABEL_HALF = 130, 30, 4  # points: the axes, "γ = 0.1", half its height
CLEAR = 10  # points from a label's middle line to a mark that does not touch it
_BARS = 1.15  # inches of height for each row of bars


@style.printed
def tradeoff_figure(means: pd.DataFrame, *, title: str, caution: str | None) -> Figure:
    """AUC and disparity along γ, and one against the other with the baselines  [dadi, fig. 2].

    Args:
        means: of one data set: method, gamma, on_front, degenerate, positive_share, and auc and
            disparity with intervals.
        title: name of the data set.
        caution: what must be known before it is read; None if nothing.
    """
    columns = ["method", "gamma", "auc", "auc_low", "disparity", "disparity_low", "on_front"]
    columns += ["degenerate", "positive_share"]
    style.require(means, [*columns, "folds"], single=["dataset"])
    agents = means[means["method"] == "dadi"].sort_values("gamma")
    others = means[means["method"] != "dadi"]
    figure = style.new_figure(height_in=2.7)
    left, middle, right = figure.subplots(1, 3)
    for axes, measure in ((left, "auc"), (middle, "disparity")):
        draw_lines(axes, agents, measure, AGENT, by="method")
        axes.set_xlabel("γ: weight of accuracy")
    whole = others[others["method"] == "full_features"]
    for axes, measure, least in ((left, "auc", 0.0), (middle, "disparity", 0.0)):
        limit(axes, [(agents, measure), (whole, measure)], least=least)
        for value in whole[measure]:
            axes.axhline(value, color=style.BLACK, linestyle=":")
    alike = agents[agents["degenerate"]].assign(kind="degenerate")
    draw_series(
        middle, alike, AGENT, by="kind", x="gamma", y="disparity", line=None, size=7.0, zorder=5
    )
    left.set_title("AUC of the label")
    middle.set_title("demographic disparity")
    _draw_front(right, agents, others)
    handles = [AGENT["dadi"].handle(), *method_handles(others["method"], dotted="full_features")]
    if means["degenerate"].any():
        handles.append(AGENT["degenerate"].handle())
    style.add_legend(figure, handles)
    over = told_of(int(means["folds"].max()), whiskers=True)
    titled(figure, title, seen.tradeoff(agents, whole), over, caution)
    return figure


def _draw_front(axes: Axes, agents: pd.DataFrame, others: pd.DataFrame) -> None:
    """AUC against disparity; agents joined along γ, those on the front filled.

    Whoever decides nearly all alike is a cross: its disparity says nothing.
    """
    kinds = agents.assign(kind=np.where(agents["on_front"], "dadi", "behind"))
    alike = pd.concat((agents, others))[lambda rows: rows["degenerate"]].assign(kind="degenerate")
    kinds = pd.concat((kinds[~kinds["degenerate"]], alike))
    beside = others.assign(kind=[method_kind(name) for name in others["method"]])
    beside = beside[~beside["degenerate"]]
    places: dict[str, Any] = {"by": "kind", "x": "disparity", "y": "auc"}
    joined = agents.assign(kind="dadi")
    draw_series(axes, joined, AGENT, line=0.7, size=0.0, alpha=0.6, **places)
    draw_series(axes, beside, METHODS, line=None, size=6.0, zorder=4, **places)
    draw_series(axes, kinds, AGENT, line=None, size=5.0, zorder=5, **places)
    axes.margins(x=0.12, y=0.17)
    marks = pd.concat((agents, others))[["disparity", "auc"]].to_numpy(float)
    line = _along(agents[["disparity", "auc"]].to_numpy(float))
    for _, row in agents.iloc[[0, -1]].iterrows():
        right, up = _free_place(axes, row[["disparity", "auc"]].to_numpy(float), marks, line)
        axes.annotate(
            f"γ = {row['gamma']:g}", (row["disparity"], row["auc"]), xytext=(right, up),
            textcoords="offset points", ha="left" if right > 0 else "right",
            color=AGENT["dadi"].colour, zorder=6,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )  # fmt: skip
    axes.set_title("trade-off")
    axes.set_xlabel("demographic disparity")
    axes.set_ylabel("AUC of the label")


def _along(corners: np.ndarray) -> np.ndarray:
    """Points on the lines between corners, which a label should not cross either. (m, 2)"""
    steps = np.linspace(0.2, 0.8, 7)[:, None]
    between = [a + steps * (b - a) for a, b in pairwise(corners)]
    return np.concatenate(between) if between else np.empty((0, 2))


def _free_place(
    axes: Axes, mark: np.ndarray, marks: np.ndarray, line: np.ndarray
) -> tuple[int, int]:
    """The nearest place inside the axes where a label is clear of every other mark, in points.

    Where none is clear, the one farthest from them; of several, one clear of the line.

    Args:
        axes: with all marks drawn.
        mark: that the label belongs to.
        marks: all of them. (m, 2)
        line: points on it. (l, 2)
    """
    axes.autoscale_view()
    seen, passed, own = (axes.transLimits.transform(at) * SIDE for at in (marks, line, mark))
    others = seen[(np.abs(seen - own) > 1).any(axis=1)]
    found = {}
    for side in (1, -1):
        for up in (-12, -8, -3, 5, 9):
            along = own + [[side * (6 + at), up + 3] for at in np.linspace(0, LABEL_WIDTH, 4)]
            clear = [
                min(np.linalg.norm(part[:, None] - along, axis=2).min(initial=np.inf), CLEAR)
                for part in (others, passed)
            ]
            inside = ((along >= LABEL_HALF) & (along <= SIDE - LABEL_HALF)).all()
            found[side * 6, up] = (inside, *clear, -abs(up + 3))
    return max(found, key=lambda place: found[place])


@style.printed
def panels_figure(
    singles: pd.DataFrame,
    selection: pd.DataFrame,
    *,
    groups: Sequence[str],
    title: str,
    caution: str | None,
) -> Figure:
    """AUC of each panel alone above the share of units that it is acquired for  [dadi, fig. 3].

    Args:
        singles: of one data set: panel, network, auc with interval; "all features" among them.
        selection: group (as drawn), panel, frequency with interval.
        groups: of `selection`, in their order.
        title: name of the data set.
        caution: what must be known before it is read; None if nothing.
    """
    style.require(singles, ["panel", "network", "auc", "auc_low", "auc_high"], single=["dataset"])
    style.require(selection, ["group", "panel", "frequency", "folds"], single=["dataset"])
    panels = list(dict.fromkeys(singles["panel"]))
    longest = max(len(name) for name in panels)
    upright = len(panels) > 12
    height = 2 * _BARS + (0.06 * longest if upright else 0.5) + 0.7
    figure = style.new_figure(height_in=height)
    top, bottom = figure.subplots(2, 1, sharex=True)
    for k, (network, colour) in enumerate(
        (("classifier", style.GREEN), ("adversary", style.VERMILLION))
    ):
        rows = singles[singles["network"] == network].set_index("panel").reindex(panels)
        _bars(top, rows, "auc", k, 2, colour, floor=0.5)
    top.set_ylim(min(0.45, float(singles["auc"].min()) - 0.02), 1.0)
    top.axhline(0.5, color=style.GREY, linewidth=0.7)
    top.set_ylabel("AUC alone")
    for k, group in enumerate(groups):
        rows = selection[selection["group"] == group].set_index("panel").reindex(panels)
        _bars(bottom, rows, "frequency", k, len(groups), _GROUP_COLOURS[k % 6], floor=0.0)
    bottom.set_ylim(0, 1.03)
    bottom.set_ylabel("collected for\n(share of units)")
    bottom.set_xticks(
        range(len(panels)),
        _labels(panels, upright=upright),
        rotation=90 if upright else 0,
    )
    bottom.tick_params(axis="x", length=0)
    bottom.set_xlim(-0.6, len(panels) - 0.4)
    handles = [
        Patch(facecolor=style.GREEN, label="classifier: label"),
        Patch(facecolor=style.VERMILLION, label="adversary: group"),
    ]
    handles += [
        Patch(facecolor=_GROUP_COLOURS[k % 6], label=group) for k, group in enumerate(groups)
    ]
    style.add_legend(figure, handles)
    over = told_of(int(selection["folds"].max()), whiskers=True)
    titled(figure, title, seen.panels(singles, selection), over, caution)
    return figure


def _labels(panels: list[str], *, upright: bool) -> list[str]:
    """Panels' names as words; where they stand level, broken, their last words on one line."""
    words = [panel.replace("_", " ") for panel in panels]
    if upright:
        return words
    broken = [style.wrapped(name, characters=6) for name in words]
    lines = max(name.count("\n") for name in broken)
    return ["\n" * (lines - name.count("\n")) + name for name in broken]


def _bars(
    axes: Axes, rows: pd.DataFrame, measure: str, k: int, count: int, colour: str, *, floor: float
) -> None:
    """One bar for each panel, in slot k of `count`, with its whisker cut at 0 and 1."""
    width = 0.8 / count
    at = np.arange(len(rows)) + (k - (count - 1) / 2) * width
    value = rows[measure].to_numpy(dtype=np.float64)
    ends = np.clip(ends_of(rows, measure), 0, 1)
    draw_bars(axes, at, value - floor, base=floor, colour=colour, width=0.92 * width, ends=ends)


def _tradeoff(given: DataSet) -> tuple[Figure, pd.DataFrame]:
    return tradeoff_figure(given.means, **given.words), given.means


def _panels(given: DataSet) -> tuple[Figure, pd.DataFrame]:
    figure = panels_figure(given.singles, given.selection, groups=given.groups, **given.words)
    return figure, given.selection


TRADEOFF = PrintedFigure(
    name="dadi_tradeoff",
    place=10,
    stages=("draw_dadi_figures",),
    draw=_tradeoff,
    doc="accuracy against disparity, method by method",
)


PANELS = PrintedFigure(
    name="dadi_panels",
    place=20,
    stages=("draw_dadi_figures",),
    draw=_panels,
    doc="what panels predict alone, and how often they are acquired",
)
