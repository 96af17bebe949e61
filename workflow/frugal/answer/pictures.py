"""Pictures of an answer: costs or F1 of policies, records, ranges of prices, net benefit."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from frugal.answer.requirements import PRACTICE
from frugal.answer.words import without_version
from frugal.draw import style
from frugal.draw.prints import draw_bars, draw_series, entry, name_rows
from frugal.draw.style import agent_label
from frugal.judge.net_benefit import ALL, NONE

BAR, HALF = 0.62, 0.5
FACTOR = 10.0  # up to which prices are shown to change
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
    figure, axes = _outcome_axes(rows["agent"], policy)
    y, bought = np.arange(len(rows)), rows["acquisition_cost"].to_numpy()
    ends = rows[["ci_low", "ci_high"]].to_numpy(dtype=float).T
    draw_bars(axes, y, bought, colour=style.SKY, width=BAR, lying=True)
    errors = rows["cost"].to_numpy() - bought
    draw_bars(axes, y, errors, colour=style.ORANGE, width=BAR, base=bought, ends=ends, lying=True)
    axes.set_xlim(0, float(rows["ci_high"].max()) * 1.03)
    axes.set_xlabel(f"cost per case ({cost_unit})")
    wrong = "errors and person" if "referral_cost" in rows else "errors"
    parts = [Patch(color=style.SKY, label="panels"), Patch(color=style.ORANGE, label=wrong)]
    style.add_legend(figure, [*parts, entry("95 % interval", linewidth=0.9)])
    return figure


@style.printed
def support_figure(shares: pd.DataFrame) -> Figure:
    """Share of records that hold a panel, in each region without support and elsewhere.

    Args:
        shares: region, inside, elsewhere, records; see `support.shares`.
    """
    figure, axes = _outcome_axes(shares["region"], "")
    y = np.arange(len(shares))
    for at, column, colour in ((0.2, "elsewhere", style.SKY), (-0.2, "inside", style.ORANGE)):
        share = 100 * shares[column].to_numpy(dtype=float)
        draw_bars(axes, y + at, share, colour=colour, width=BAR / 2, lying=True)
    for at, (share, records) in enumerate(zip(shares["inside"], shares["records"], strict=True)):
        axes.annotate(records, (100 * share + 1, at - 0.2), va="center")
    axes.set_xlim(0, 100)
    axes.set_xlabel("records that hold the panel (%)")
    labels = {"in the region": style.ORANGE, "elsewhere": style.SKY}
    style.add_legend(figure, [Patch(color=colour, label=name) for name, colour in labels.items()])
    return figure


@style.printed
def f1_figure(outcomes: pd.DataFrame, policy: str, *, cost_unit: str) -> Figure:
    """F1 of every policy with its 95 % interval, the best first, and the cost of its panels.

    Args:
        outcomes: agent, cost (1 − F1), ci_low, ci_high, acquisition_cost.
        policy: that is named, in bold.
        cost_unit: the data set's unit of cost.
    """
    rows = outcomes.reset_index(drop=True)
    figure, axes = _outcome_axes(rows["agent"], policy)
    marks = rows.assign(
        F1=1 - rows["cost"],
        y=np.arange(len(rows)),
        name="F1",
        low=1 - rows["ci_high"],
        high=1 - rows["ci_low"],
    )
    looks = {"F1": style.Look("F1", style.ORANGE, "o")}
    draw_series(axes, marks, looks, by="name", x="F1", y="y", line=None, x_ends=("low", "high"))
    for at, price in enumerate(rows["acquisition_cost"]):
        axes.annotate(f"{price:.3g}", (1.02, at), xycoords=("axes fraction", "data"), va="center")
    axes.annotate(f"panels ({cost_unit})", (1.02, -0.9), xycoords=("axes fraction", "data"))
    axes.set_xlim(0, 1)
    axes.set_xlabel("F1, with 95 % interval")
    return figure


@style.printed
def rows_figure(outcomes: pd.DataFrame, policy: str) -> Figure:
    """Bars of the effective sample size by which every policy is evaluated.

    Args:
        outcomes: agent, effective_rows.
        policy: that is named, in bold.
    """
    rows = outcomes.reset_index(drop=True)
    figure, axes = _outcome_axes(rows["agent"], policy)
    y, size = np.arange(len(rows)), rows["effective_rows"].to_numpy(dtype=float)
    draw_bars(axes, y, size, colour=style.SKY, width=BAR, lying=True)
    axes.set_xlabel("effective sample size")
    return figure


@style.printed
def prices_figure(
    ranges: Mapping[str, Sequence[float | None]], now: Mapping[str, float], cost_unit: str
) -> Figure:
    """Lines of the ranges in which no other policy becomes cheaper by more than the margin.

    Args:
        ranges: price or error → least and largest unit cost; None: no limit.
        now: its unit cost today; free panels are left out.
        cost_unit: the data set's unit of cost.
    """
    names = [name for name in ranges if now[name] > 0]
    figure = style.new_figure(height_in=0.9 + 0.27 * len(names))
    axes = figure.subplots()
    for y, name in enumerate(names):
        low, high = (end if end is None else end / now[name] for end in ranges[name])
        shown = max(low or 0, 1 / FACTOR), FACTOR if high is None else min(high, FACTOR)
        axes.plot(shown, (y, y), color=style.SKY, linewidth=5, solid_capstyle="butt")
        axes.plot(1, y, "o", color=style.BLACK, markersize=4)
    axes.set_xscale("log")
    axes.set_xlim(1 / FACTOR, FACTOR)
    axes.set_ylim(len(names) - 0.5, -0.5)
    ticks = (0.1, 0.2, 0.5, 1, 2, 5, 10)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    labels = [f"{style.quoted(name)} ({now[name]:g} {cost_unit})" for name in names]
    axes.set_yticks(range(len(names)), labels)
    axes.set_xlabel("factor of the price today")
    return figure


@style.printed
def net_benefit_figure(curves: pd.DataFrame, policy: str, threshold: float) -> Figure:
    """Lines of net benefit by threshold: the named policy with its interval, and the others.

    Args:
        curves: agent, threshold, net_benefit, ci_low, ci_high.
        policy: that is named.
        threshold: that the costs of errors imply.
    """
    figure = style.new_figure(height_in=2.9)
    axes = figure.subplots()
    axes.axvline(100 * threshold, color=style.GREY, linewidth=0.8)
    axes.annotate(
        " implied by error costs ",
        (100 * threshold, 1.0),
        xycoords=("data", "axes fraction"),
        va="bottom",
        ha="left" if threshold <= HALF else "right",
        color=style.GREY,
    )
    looks = {
        policy: (agent_label(without_version(policy)), style.BLUE, "-", 2.0),
        PRACTICE: (NAMES[PRACTICE], style.BLACK, "--", 1.2),
        ALL: (ALL, style.VERMILLION, "-.", 1.2),
        NONE: (NONE, style.BLACK, ":", 1.0),
    }
    others = [name for name in curves["agent"].unique() if name not in looks]
    rest = dict.fromkeys(others, ("other policies", style.GREY, "-", 0.8))
    handles = {}
    for name, (label, colour, line, width) in (rest | looks).items():
        rows = curves[curves["agent"] == name]
        x, y = 100 * rows["threshold"], 1000 * rows["net_benefit"]
        axes.plot(x, y, color=colour, linestyle=line, linewidth=width)
        handles[label] = entry(label, colour, linestyle=line, linewidth=width)
        if name == policy:
            low, high = 1000 * rows["ci_low"], 1000 * rows["ci_high"]
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    named = curves[curves["agent"] == policy]["ci_high"].max()
    top = 1000 * max(float(named), float(curves["net_benefit"].max()), 1e-3)
    axes.set_ylim(-0.25 * top, 1.08 * top)
    axes.set_xlim(0, 100)
    axes.set_xlabel("threshold probability (%)")
    axes.set_ylabel("net benefit\n(true positives per 1,000 cases)")
    style.add_legend(figure, list(reversed(handles.values())))
    return figure


def _outcome_axes(agents: pd.Series, policy: str) -> tuple[Figure, Axes]:
    """With a line for each policy: the named one in bold, practice in italics."""
    figure = style.new_figure(height_in=0.9 + 0.27 * len(agents))
    axes = figure.subplots()
    names = [NAMES.get(name) or agent_label(without_version(name)) for name in map(str, agents)]
    name_policies(axes, names, agents == policy)
    for tick, name in zip(axes.get_yticklabels(), agents, strict=True):
        tick.set_fontstyle("italic" if name == PRACTICE else "normal")
    return figure, axes


def name_policies(axes: Axes, names: Sequence[str], bold: Sequence[bool] | pd.Series) -> None:
    """Names of rows, some in bold."""
    name_rows(axes, names)
    for tick, is_bold in zip(axes.get_yticklabels(), bold, strict=True):
        tick.set_fontweight("bold" if is_bold else "normal")
