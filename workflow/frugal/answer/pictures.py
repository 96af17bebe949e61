"""Pictures of an answer: costs or F1 of policies, records, ranges of prices, net benefit."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from frugal.answer.requirements import PRACTICE
from frugal.answer.words import without_version
from frugal.draw import style
from frugal.draw.prints import draw_bars, draw_series, entry, name_rows, panels
from frugal.draw.style import agent_label
from frugal.judge.net_benefit import ALL, NONE

BAR, HALF = 0.62, 0.5
FACTOR = 10.0  # up to which prices are shown to change
NAMES = {PRACTICE: "today's practice"}
_BY_ROW = ("axes fraction", "data")
_BENEFIT = ("net_benefit", "ci_low", "ci_high")


def name_policies(axes: Axes, names: Iterable[str], bold: Iterable[bool]) -> None:
    """Names of rows, some in bold."""
    name_rows(axes, list(names))
    for tick, is_bold in zip(axes.get_yticklabels(), bold, strict=True):
        tick.set_fontweight("bold" if is_bold else "normal")


def _outcome_axes(agents: pd.Series, policy: str, label: str) -> tuple[Figure, Axes, np.ndarray]:
    """A line for each policy, and its place: the named one in bold, practice in italics."""
    figure, (axes,) = panels(1, 1, 0.9 + 0.27 * len(agents))
    names = [NAMES.get(name) or agent_label(without_version(name)) for name in map(str, agents)]
    most = round(6 * figure.get_figwidth())  # characters of a line
    name_policies(axes, [style.wrapped(n, characters=most) for n in names], agents == policy)
    for tick, name in zip(axes.get_yticklabels(), agents, strict=True):
        tick.set_fontstyle("italic" if name == PRACTICE else "normal")
    axes.set_xlabel(label)
    return figure, axes, np.arange(len(agents))


@style.printed
def costs_figure(outcomes: pd.DataFrame, policy: str, *, cost_unit: str) -> Figure:
    """Bars of every policy, the cheapest first, split into panels and errors; 95 % intervals.

    Rows: agent, cost, ci_low, ci_high, acquisition_cost. `policy` is named, in bold.
    """
    label = f"cost per case ({cost_unit})"
    figure, axes, y = _outcome_axes(outcomes["agent"], policy, label)
    bought = outcomes["acquisition_cost"].to_numpy(dtype=float)
    errors = outcomes["cost"].to_numpy(dtype=float) - bought
    ends = outcomes[["ci_low", "ci_high"]].to_numpy(dtype=float).T
    draw_bars(axes, y, bought, style.SKY, BAR, lying=True)
    draw_bars(axes, y, errors, style.ORANGE, BAR, base=bought, ends=ends, lying=True)
    axes.set_xlim(0, float(outcomes["ci_high"].max()) * 1.03)
    wrong = "errors and person" if "referral_cost" in outcomes else "errors"
    parts = [Patch(color=style.SKY, label="panels"), Patch(color=style.ORANGE, label=wrong)]
    style.add_legend(figure, [*parts, entry("95 % interval", linewidth=0.9)])
    return figure


@style.printed
def support_figure(shares: pd.DataFrame) -> Figure:
    """Share of records that hold a panel, in each region without support and elsewhere.

    Rows: region, inside, elsewhere, records; see `support.shares`.
    """
    figure, axes, y = _outcome_axes(shares["region"], "", "records that hold the panel (%)")
    for at, column, colour in ((0.2, "elsewhere", style.SKY), (-0.2, "inside", style.ORANGE)):
        share = 100 * shares[column].to_numpy(dtype=float)
        draw_bars(axes, y + at, share, colour, BAR / 2, lying=True)
    for at, (share, records) in enumerate(zip(shares["inside"], shares["records"], strict=True)):
        axes.annotate(records, (100 * share + 1, at - 0.2), va="center")
    axes.set_xlim(0, 100)
    labels = {"in the region": style.ORANGE, "elsewhere": style.SKY}
    style.add_legend(figure, [Patch(color=colour, label=name) for name, colour in labels.items()])
    return figure


@style.printed
def f1_figure(outcomes: pd.DataFrame, policy: str, *, cost_unit: str) -> Figure:
    """F1 of every policy with its 95 % interval, the best first, and the cost of its panels.

    Rows: agent, cost (1 − F1), ci_low, ci_high, acquisition_cost. `policy` is named, in bold.
    """
    figure, axes, y = _outcome_axes(outcomes["agent"], policy, "F1, with 95 % interval")
    marks = outcomes.assign(F1=1 - outcomes["cost"], y=y, name="F1")
    ends = 1 - outcomes[["ci_high", "ci_low"]].to_numpy(dtype=float).T
    looks = {"F1": style.Look("F1", style.ORANGE, "o")}
    draw_series(axes, marks, looks, "name", "F1", "y", line=None, x_ends=ends)
    for at, price in enumerate(outcomes["acquisition_cost"]):
        axes.annotate(f"{price:.3g}", (1.02, at), xycoords=_BY_ROW, va="center")
    axes.annotate(f"panels ({cost_unit})", (1.02, -0.9), xycoords=_BY_ROW)
    axes.set_xlim(0, 1)
    return figure


@style.printed
def rows_figure(outcomes: pd.DataFrame, policy: str) -> Figure:
    """Bars of the effective sample size by which every policy is evaluated.

    Rows: agent, effective_rows. `policy` is named, in bold.
    """
    figure, axes, y = _outcome_axes(outcomes["agent"], policy, "effective sample size")
    size = outcomes["effective_rows"].to_numpy(dtype=float)
    draw_bars(axes, y, size, style.SKY, BAR, lying=True)
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
    figure, (axes,) = panels(1, 1, 0.9 + 0.27 * len(names))
    for y, name in enumerate(names):
        low, high = (end if end is None else end / now[name] for end in ranges[name])
        shown = max(low or 0, 1 / FACTOR), FACTOR if high is None else min(high, FACTOR)
        axes.plot(shown, (y, y), color=style.SKY, linewidth=5, solid_capstyle="butt")
        axes.plot(1, y, "o", color=style.BLACK, markersize=4)
    axes.set(xscale="log", xlim=(1 / FACTOR, FACTOR), xlabel="factor of the price today")
    ticks = (0.1, 0.2, 0.5, 1, 2, 5, 10)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    name_rows(axes, [f"{style.quoted(name)} ({now[name]:g} {cost_unit})" for name in names])
    return figure


@style.printed
def net_benefit_figure(curves: pd.DataFrame, policy: str, threshold: float) -> Figure:
    """Lines of net benefit by threshold: the named policy with its interval, and the others.

    Rows: agent, threshold, net_benefit, ci_low, ci_high. `threshold`: that the costs of errors
    imply.
    """
    figure, (axes,) = panels(1, 1, 2.9)
    axes.axvline(100 * threshold, color=style.GREY, linewidth=0.8)
    at = {"xy": (100 * threshold, 1.0), "xycoords": ("data", "axes fraction"), "va": "bottom"}
    side = "left" if threshold <= HALF else "right"
    axes.annotate(" implied by error costs ", color=style.GREY, ha=side, **at)
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
        x, (y, low, high) = 100 * rows["threshold"], (1000 * rows[c] for c in _BENEFIT)
        axes.plot(x, y, color=colour, linestyle=line, linewidth=width)
        handles[label] = entry(label, colour, linestyle=line, linewidth=width)
        if name == policy:
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    named = curves[curves["agent"] == policy]["ci_high"].max()
    top = 1000 * max(float(named), float(curves["net_benefit"].max()), 1e-3)
    axes.set(ylim=(-0.25 * top, 1.08 * top), xlim=(0, 100), xlabel="threshold probability (%)")
    axes.set_ylabel("net benefit\n(true positives per 1,000 cases)")
    style.add_legend(figure, list(reversed(handles.values())))
    return figure
