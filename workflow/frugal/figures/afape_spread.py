"""Figures of the afape study on how far estimates scatter: with sample size and resampling.

Counterparts of Figs 5, 6, A.4 and A.5 of the paper. They place marks from tidy tables and know
neither how an estimate was made nor where a figure is kept.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.cbook import boxplot_stats
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from frugal.contracts.errors import DataError
from frugal.figures import style

LEAST_SEEDS = 5  # of a standard deviation that is worth an axis of its own
_SERIES = ["dataset", "mechanism", "agent", "estimator"]


@style.printed
def convergence_figure(convergence: pd.DataFrame, *, cost_unit: str) -> Figure:
    """Error of each estimator against the number of data points [afape, fig. 5].

    A row of panels per scenario, a panel per agent. Line: mean over seeds of estimate − truth;
    band: ± one standard deviation over seeds (no band from a single seed). Below, from five seeds
    on: that standard deviation alone, both axes logarithmic, which tells apart unbiased estimators
    that lie on each other above. Where a seed has no estimate at some size, the line has a gap
    there: the mean of the other seeds would be another quantity.

    Args:
        convergence: dataset, mechanism, agent, estimator, seed, n, estimate, truth.
        cost_unit: the data set's unit of cost.

    Raises:
        DataError: a column is missing, or there is no row.
        ConfigError: an estimator has no fixed colour and marker.
    """
    style.require(convergence, [*_SERIES, "seed", "n", "estimate", "truth"], single=[])
    scenarios = style.scenario_order(convergence)
    agents = style.agent_order(convergence["agent"])
    estimators = style.estimator_order(convergence["estimator"])
    several = convergence["seed"].nunique() >= LEAST_SEEDS
    heights = [2.1 if len(scenarios) < 4 else 1.45] + [1.5 if len(scenarios) < 4 else 1.1] * several
    figure = style.new_figure(height_in=0.55 + sum(heights) * len(scenarios))
    grid = figure.subplots(
        len(heights) * len(scenarios), len(agents), sharex=True, sharey="row", squeeze=False,
        height_ratios=heights * len(scenarios),
    )  # fmt: skip
    for scenario, lines in zip(
        scenarios, grid.reshape(len(scenarios), len(heights), len(agents)), strict=True
    ):
        rows = style.select(convergence, dataset=scenario[0], mechanism=scenario[1])
        where = f"{style.scenario_title(scenario)}: " if len(scenarios) > 1 else ""
        for k, agent in enumerate(agents):
            of_agent = rows[rows["agent"] == agent]
            _draw_errors(lines[0, k], of_agent, estimators)
            lines[0, k].set_title(where + style.agent_label(agent), loc="left")
            if several:
                _draw_spreads(lines[1, k], of_agent, estimators)
        lines[0, 0].set_ylabel(f"error of the cost\nper case ({cost_unit})")
        if several:
            lines[1, 0].set_ylabel(f"its s.d. over\nseeds ({cost_unit})")
    if len(scenarios) == 1:
        figure.suptitle(style.scenario_title(scenarios[0]), x=0.01, ha="left")
    for axes in grid[-1]:
        axes.set_xlabel("number of data points (rows)")
    band = Patch(color=style.lightened(style.GREY, share=0.6), label="± 1 s.d. over seeds")
    style.add_legend(figure, [*(style.estimator_handle(e, line=True) for e in estimators), band])
    return figure


def _moments(rows: pd.DataFrame, estimator: str) -> tuple[pd.Series, pd.Series]:
    """Mean and standard deviation over seeds of one estimator's error, by number of rows."""
    part = rows[rows["estimator"] == estimator]
    error = part.assign(error=part["estimate"] - part["truth"]).pivot(
        index="n", columns="seed", values="error"
    )
    return error.mean(axis=1, skipna=False), error.std(axis=1, ddof=1, skipna=False)


def _draw_errors(axes: Axes, rows: pd.DataFrame, estimators: Sequence[str]) -> None:
    """Mean and band of the error per estimator, over a logarithmic number of rows."""
    axes.axhline(0, color=style.BLACK, linewidth=0.7, linestyle="--", zorder=1)
    for name in estimators:
        look = style.estimator_style(name)
        mean, spread = _moments(rows, name)
        n = mean.index.to_numpy()
        axes.plot(n, mean, color=look.colour, marker=look.marker, markersize=4 * look.size)
        axes.fill_between(
            n, mean - spread, mean + spread, color=look.colour, alpha=0.15, linewidth=0
        )
    axes.set_xscale("log")
    axes.minorticks_off()


def _draw_spreads(axes: Axes, rows: pd.DataFrame, estimators: Sequence[str]) -> None:
    """Standard deviation of the error per estimator; where it is zero (the truth on all rows), a
    logarithmic axis has no place for it and the line ends.
    """
    for name in estimators:
        look = style.estimator_style(name)
        _, spread = _moments(rows, name)
        shown = spread.where(spread > 1e-9 * spread.max())  # rounding of a difference of equals
        axes.plot(shown.index, shown, color=look.colour, marker=look.marker,
                  markersize=4 * look.size)  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.minorticks_off()


@style.printed
def resample_figure(
    resamples: pd.DataFrame,
    summary: pd.DataFrame,
    *,
    cost_unit: str,
    estimators: Sequence[str] | None = None,
    agents: Sequence[str] | None = None,
) -> Figure:
    """Boxes of the resampled estimates, grouped by agent [afape, fig. 6; fig. A.4; fig. A.5].

    A facet per scenario. Box: quartiles and median; whiskers: farthest resample within 1.5
    interquartile ranges; dots beyond. Dashed line: truth of the agent. A hollow box lacks
    resamples in which no row had weight; a grey cross stands where there is no estimate at all;
    a triangle at the edge stands for a box that lies wholly beyond the axis.

    Args:
        resamples: dataset, mechanism, agent, estimator, seed, resample, estimate; one seed.
        summary: dataset, mechanism, agent, estimator, seed, truth, status, of the same seed. It
            decides which slots there are.
        cost_unit: the data set's unit of cost.
        estimators: those to be shown; None for all in `summary`.
        agents: those to be shown; None for all in `summary`.

    Raises:
        DataError: a column is missing, the summary has no row, several seeds, or the tables' seeds
            differ.
        ConfigError: an estimator has no fixed colour and marker.
    """
    style.require(summary, [*_SERIES, "truth", "status"], single=["seed"])
    if len(resamples):  # else no estimate could be computed, and every slot says so
        style.require(resamples, [*_SERIES, "estimate"], single=["seed"])
    if len(resamples) and resamples["seed"].iloc[0] != summary["seed"].iloc[0]:
        raise DataError(
            f"the resamples are of seed {resamples['seed'].iloc[0]}, the summary is of seed "
            f"{summary['seed'].iloc[0]}; both must be of one seed"
        )
    shown = style.estimator_order(summary["estimator"] if estimators is None else estimators)
    who = style.agent_order(summary["agent"] if agents is None else agents)
    scenarios = style.scenario_order(summary)
    columns = style.facet_columns(len(scenarios), slots=len(shown) * len(who), slot_in=0.11)
    lines = len(scenarios) // columns
    figure = style.new_figure(height_in=0.4 + (1.75 if lines < 5 else 1.4) * lines)
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True).ravel()
    for k, (axes, scenario) in enumerate(zip(grid, scenarios, strict=True)):
        _draw_facet(axes, _of(resamples, scenario), _of(summary, scenario), shown, who)
        axes.set_title(style.scenario_title(scenario), loc="left")
        style.agent_ticks(axes, who, width_in=style.WIDTH_IN / columns - 0.6)
        axes.tick_params(labelbottom=k + columns >= len(scenarios))
        if k % columns == 0:
            axes.set_ylabel(f"estimated cost\nper case ({cost_unit})")
    style.add_legend(figure, _box_handles(figure, shown))
    return figure


def _of(table: pd.DataFrame, scenario: tuple[str, str]) -> pd.DataFrame:
    """Rows of one scenario; none are allowed."""
    return table[(table["dataset"] == scenario[0]) & (table["mechanism"] == scenario[1])]


def _draw_facet(
    axes: Axes,
    resamples: pd.DataFrame,
    summary: pd.DataFrame,
    estimators: Sequence[str],
    agents: Sequence[str],
) -> None:
    """Groups of boxes at 0, 1, 2, … (agents), each group 0.84 wide, with its truth."""
    style.shade_every_second(axes, len(agents), vertical=True)
    slot = 0.84 / len(estimators)
    drawn = dict(list(resamples.groupby(["agent", "estimator"])["estimate"]))
    status = summary.set_index(["agent", "estimator"])["status"]
    boxes: list[dict] = []
    for group, agent in enumerate(agents):
        for k, name in enumerate(estimators):
            values = drawn.get((agent, name), pd.Series(dtype=float))
            finite = values.dropna().to_numpy()
            position = group + (k - (len(estimators) - 1) / 2) * slot
            if len(finite) and status.get((agent, name)) == "ok":
                statistics = boxplot_stats(finite)[0]
                boxes.append(
                    {
                        **statistics,
                        "at": position,
                        "name": name,
                        "whole": len(finite) == len(values),
                    }
                )
            else:
                axes.plot(
                    position, 0.04, "x", color=style.GREY, markersize=4, gid="no estimate",
                    transform=axes.get_xaxis_transform(),
                )  # fmt: skip
    truth = summary.groupby("agent")["truth"].first().reindex(list(agents)).to_numpy(dtype=float)
    _draw_boxes(axes, boxes, slot)
    axes.hlines(
        truth, np.arange(len(agents)) - 0.46, np.arange(len(agents)) + 0.46,
        color=style.BLACK, linewidth=1.0, linestyle=(0, (3, 1.5)), zorder=4, gid="truth",
    )  # fmt: skip
    _limit(axes, boxes, truth)
    axes.set_xlim(-0.5, len(agents) - 0.5)


def _draw_boxes(axes: Axes, boxes: list[dict], slot: float) -> None:
    """The boxes in their estimators' colours, a marker on each median."""
    for box in boxes:
        look = style.estimator_style(box["name"])
        line = {"color": look.colour, "linewidth": 0.8}
        face = style.lightened(look.colour, share=0.55) if box["whole"] else "white"
        axes.bxp(
            [box], positions=[box["at"]], widths=[0.8 * slot], patch_artist=True,
            manage_ticks=False, boxprops={"edgecolor": look.colour, "facecolor": face, "lw": 0.8},
            whiskerprops=line, capprops=line, medianprops=line, zorder=3,
            flierprops={"marker": ".", "markersize": 1.5, "markeredgecolor": look.colour},
        )  # fmt: skip
        axes.plot(
            box["at"], box["med"], marker=look.marker, linestyle="none", color=look.colour,
            markersize=3 * look.size, zorder=5, gid=f"median {box['name']}",
        )  # fmt: skip


def _limit(axes: Axes, boxes: list[dict], truth: np.ndarray) -> None:
    """Limits that no absurd box can flatten; boxes wholly outside get a triangle at the edge."""
    blank = np.full(len(truth), np.nan)
    bottom, top = style.window(
        np.r_[[b["med"] for b in boxes], truth],
        np.r_[[b["whislo"] for b in boxes], blank],
        np.r_[[b["whishi"] for b in boxes], blank],
    )
    axes.set_ylim(bottom, top)
    for box in boxes:
        above = box["med"] > top
        if above or box["med"] < bottom:
            axes.plot(
                box["at"], 0.97 if above else 0.03, "^" if above else "v", markersize=4,
                color=style.estimator_style(box["name"]).colour, markeredgecolor=style.BLACK,
                markeredgewidth=0.5, transform=axes.get_xaxis_transform(), gid="beyond",
            )  # fmt: skip


def _box_handles(figure: Figure, estimators: Sequence[str]) -> list[Line2D | Patch]:
    """Entries for the estimators, the truth, and those special marks which the figure holds."""
    marks = {line.get_gid() for axes in figure.axes for line in axes.lines}
    hollow = any(
        patch.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
        for axes in figure.axes
        for patch in axes.patches
    )
    handles: list[Line2D | Patch] = [style.estimator_handle(e, line=False) for e in estimators]
    handles.append(Line2D([], [], color=style.BLACK, linestyle=(0, (3, 1.5)), label="truth"))
    handles.append(
        Patch(
            facecolor=style.PALE, edgecolor=style.GREY, label="quartiles; whiskers: 1.5 × their gap"
        )
    )
    if "no estimate" in marks:
        handles.append(
            Line2D([], [], color=style.GREY, marker="x", linestyle="none", label="no estimate")
        )
    if "beyond" in marks:
        handles.append(
            Line2D([], [], color="white", marker="^", markeredgecolor=style.BLACK,
                   linestyle="none", label="median beyond the axis")
        )  # fmt: skip
    if hollow:
        handles.append(
            Patch(facecolor="white", edgecolor=style.GREY, label="some resamples without support")
        )
    return handles
