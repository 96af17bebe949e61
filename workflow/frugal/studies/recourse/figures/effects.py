"""Figures of the recourse study on how often answers are right: 4 and 5, and what a repair changes.

They place marks from the study's tables and know neither generators nor files.
"""

from collections.abc import Hashable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_bars, draw_series
from frugal.studies.recourse.figures import seen
from frugal.studies.recourse.figures.style import (
    generator_label,
    generator_looks,
    generator_order,
    generator_style,
)

_SIZE_COLOURS = (style.SKY, style.BLUE, style.BLACK, style.GREY)
_SUMMARY = ["generator", "actions", "n", "accuracy", "accuracy_low", "accuracy_high"]


@style.printed
def sizes_figure(sizes: pd.DataFrame) -> Figure:
    """Units by number of actions that they need, for each group.        [recourse, fig. 4]

    Args:
        sizes: dataset, variant, group, size, n; one row per group and size.
    """
    style.require(sizes, ["dataset", "variant", "group", "size", "n"], single=[])
    scenarios = list(dict.fromkeys(zip(sizes["dataset"], sizes["variant"], strict=True)))
    columns = min(2, len(scenarios))
    lines = -(-len(scenarios) // columns)
    figure = style.new_figure(height_in=0.3 + 1.9 * lines)
    panels = figure.subplots(lines, columns, squeeze=False, sharey=True).ravel()
    several = sizes["dataset"].nunique() > 1
    highest = float(sizes.groupby(["dataset", "variant", "group", "size"])["n"].sum().max())
    numbers = sorted(int(s) for s in sizes["size"].unique())
    for axes, (dataset, variant) in zip(panels, scenarios, strict=False):
        rows = style.select(sizes, dataset=dataset, variant=variant)
        table = rows.pivot_table(index="group", columns="size", values="n", aggfunc="sum")
        _draw_sizes(axes, table.reindex(columns=numbers).fillna(0), highest)
        title = f"{dataset}: {variant}" if several else str(variant)
        axes.set_title(style.words(title), loc="left")
        axes.set_xlabel("group")
        axes.set_xticks(range(len(table)), [str(g) for g in table.index])
        axes.tick_params(axis="x", length=0)
        axes.set_xlim(-0.5, len(table) - 0.5)
        axes.set_ylim(0, 1.33 * highest)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    for axes in panels[len(scenarios) :]:
        axes.set_axis_off()
    for axes in panels[::columns]:
        axes.set_ylabel("units")
    figure.suptitle(style.titled("", seen.sizes(sizes)), x=0.01, ha="left")
    handles = [
        Patch(facecolor=_SIZE_COLOURS[k % 4], label=f"{s} action{'s' if s > 1 else ''}")
        for k, s in enumerate(numbers)
    ]
    style.add_legend(figure, handles)
    return figure


def _draw_sizes(axes: Axes, table: pd.DataFrame, highest: float) -> None:
    """Bars side by side for each group, with their counts above."""
    width = 0.8 / len(table.columns)
    for k, size in enumerate(table.columns):
        at = np.arange(len(table)) + (k - (len(table.columns) - 1) / 2) * width
        colour = _SIZE_COLOURS[k % 4]
        draw_bars(axes, at, table[size].to_numpy(dtype=float), colour=colour, width=0.92 * width)
        for x, n in zip(at, table[size], strict=True):
            axes.text(x, n + 0.015 * highest, f"{int(n):,}", ha="center", va="bottom", rotation=90)


@style.printed
def accuracy_figure(summary: pd.DataFrame) -> Figure:
    """Accuracy of each generator by number of actions, with 95 % intervals.  [recourse, fig. 5]

    Args:
        summary: rows of one scenario, seed and subset (see `accuracy_rows`).
    """
    style.require(summary, _SUMMARY, single=[c for c in ("dataset", "variant", "subset", "seed")
                                             if c in summary])  # fmt: skip
    names = generator_order(summary["generator"])
    kinds = ["all", *sorted(set(summary["actions"]) - {"all"}, key=int)]
    figure = style.new_figure(height_in=1.05 + 0.24 * len(names))
    panels = figure.subplots(1, len(kinds), squeeze=False, sharey=True)[0]
    for axes, kind in zip(panels, kinds, strict=True):
        rows = summary[summary["actions"] == kind]
        rows = rows.assign(at=[names.index(name) for name in rows["generator"]])
        draw_series(
            axes, rows, generator_looks(names), by="generator", x="accuracy", y="at", line=None,
            size=5.0, x_ends=rows[["accuracy_low", "accuracy_high"]].to_numpy(dtype=float).T,
        )  # fmt: skip
        style.shade_every_second(axes, len(names), vertical=False)
        for y, share in zip(rows["at"], rows["accuracy"], strict=True):
            axes.text(1.48, y, f"{share:.3f}", ha="right", va="center_baseline")
        title = {"all": "all units", "1": "1 action"}.get(kind, f"{kind} actions")
        axes.set_title(f"{title}\n(n = {int(rows['n'].iloc[0]):,})")
        axes.set_xlim(-0.07, 1.48)
        axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(range(len(names)), [generator_label(n) for n in names])
    shares = summary[summary["actions"] == "all"].set_index("generator")["accuracy"]
    title = style.titled(scenario_words(summary), seen.accuracy(shares))
    figure.suptitle(title, x=0.01, ha="left")
    figure.supxlabel("share of units whose cheapest actions are found", fontsize=style.FONT_PT)
    return figure


def scenario_words(table: pd.DataFrame) -> str:
    """Data set and variant of a table of one scenario, as a title begins."""
    names = [style.words(str(table[c].iloc[0])) for c in ("dataset", "variant") if c in table]
    words = ", ".join(names)
    return words[:1].upper() + words[1:]


@style.printed
def repair_figure(summary: pd.DataFrame) -> Figure:
    """Cheapest answers and answers that do not work, before and after repair. Not in the paper.

    An arrow runs from what a generator answers to what a unit receives once the solver has added
    the cheapest actions that make a failing answer work. The legend says what repaired answers cost
    more than the cheapest, and how many of all answers were empty: there the repair is the solver's
    own answer.

    Args:
        summary: rows of one scenario, seed and subset (see `accuracy_rows`).
    """
    style.require(
        summary,
        [*_SUMMARY, "infeasible_share", "repaired_accuracy", "repair_cost_gap",
         "repaired_infeasible_share", "empty_share"],
        single=[],
    )  # fmt: skip
    rows = summary[summary["actions"] == "all"].set_index("generator")
    names = generator_order(rows.index)
    figure = style.new_figure(height_in=3.1)
    axes = figure.subplots()
    before = rows.loc[names].assign(
        failing=100 * rows["infeasible_share"],
        size=[6.5 + 4 * _later_beside(rows.loc[names[k:]]) for k in range(len(names))],
    )
    looks = generator_looks(names)
    for size, part in reversed(list(before.reset_index().groupby("size"))):
        draw_series(
            axes, part, looks, by="generator", x="accuracy", y="failing", line=None,
            size=float(str(size)), clip_on=False,
        )  # fmt: skip
    for name, row in before.iterrows():
        axes.annotate(
            "", (row["repaired_accuracy"], 100 * row["repaired_infeasible_share"]),
            (row["accuracy"], row["failing"]),
            arrowprops={"arrowstyle": "->", "color": looks[str(name)].colour, "linewidth": 1.1},
        )  # fmt: skip
    axes.set_xlabel("share of units whose cheapest actions are found")
    axes.set_ylabel("answers that do not work (%)")
    axes.set_ylim(bottom=0)
    axes.axhline(0, color=style.BLACK, linewidth=0.7)
    title = style.titled(scenario_words(summary), seen.repair(rows.loc[names]))
    figure.suptitle(title, x=0.01, ha="left")
    style.add_legend(
        figure, [_repair_handle(name, row) for name, row in rows.loc[names].iterrows()]
    )
    return figure


def _later_beside(rows: pd.DataFrame) -> int:
    """How many of the rows after the first would hide it: such marks are drawn larger."""
    near = rows[["accuracy", "infeasible_share"]] - rows[["accuracy", "infeasible_share"]].iloc[0]
    return int((near.abs() < 0.008).all(axis=1).sum()) - 1


def _repair_handle(name: Hashable, row: pd.Series) -> Line2D:
    """Name of a generator, what its repaired answers cost more, and how many were empty."""
    gap = float(row["repair_cost_gap"])
    price = "nothing to repair" if pd.isna(gap) else f"repaired: +{100 * gap:.0f} %"
    empty = f", {100 * row['empty_share']:.0f} % empty" if row["empty_share"] >= 0.005 else ""
    label = f"{generator_label(str(name))} ({price}{empty})"
    return generator_style(str(name)).handle(label=label)


SIZES = PrintedFigure(
    name="recourse_sizes",
    place=10,
    stages=("draw_recourse_figures",),
    draw=lambda given: (sizes_figure(given.sizes), given.sizes),
    doc="units by the number of actions that they need",
)


ACCURACY = PrintedFigure(
    name="recourse_accuracy",
    place=20,
    stages=("draw_recourse_figures",),
    draw=lambda given: (accuracy_figure(given.summary), given.summary),
    doc="how often a generator's answer is the cheapest set",
)


REPAIR = PrintedFigure(
    name="recourse_repair",
    place=50,
    stages=("draw_recourse_figures",),
    draw=lambda given: (repair_figure(given.summary), given.summary),
    doc="what a repair by the solver changes",
)
