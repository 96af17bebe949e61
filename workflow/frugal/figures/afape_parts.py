"""Figures of the afape study that open an estimate up: acquisitions, nuisances, parts of the cost.

The first is the counterpart of the paper's Fig. A.6; the others are ours. They place marks from
tidy tables and know neither how an estimate was made nor where a figure is kept.
"""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from frugal.contracts.errors import DataError
from frugal.figures import style

FREQUENCY_ESTIMATORS = ("blocking", "AFAIS", "ground_truth")
COST_ESTIMATORS = ("ground_truth", "blocking", "AFAIS")
AFAIS = ("stabilised_afais_s_policy", "stabilised_afais_s")  # the first that there is
_PARTS = ("acquisition_cost", "misclassification_cost")


def _with_afais(names: Sequence[str], known: Collection[str]) -> list[str]:
    """Estimators that a figure shows; AFAIS by the known policy, as in the paper if there is none.

    The paper's form is biased for policies that read values, and for one that never acquires its
    two fits need not agree; so it stands only where the other cannot be computed.
    """
    form = next((name for name in AFAIS if name in known), AFAIS[-1])
    return [form if name == "AFAIS" else name for name in names]


@style.printed
def frequency_figure(frequencies: pd.DataFrame) -> Figure:
    """How often an agent acquires each panel: blocked, estimated, true [afape, fig. A.6].

    A facet per estimator, a bar per panel, whiskers of ± one standard error. A black tick repeats
    the true frequency in the other facets. AFAIS is the one by the policy where there is one.

    Args:
        frequencies: estimator, panel, frequency, std_error, of one dataset, mechanism, agent and
            seed. Panels stand in the order of the table. A standard error may be NaN.

    Raises:
        DataError: a column is missing, there is no row of the three estimators, or several
            scenarios, agents or seeds.
    """
    style.require(
        frequencies,
        ["estimator", "panel", "frequency", "std_error"],
        single=["dataset", "mechanism", "agent", "seed"],
    )
    there = set(frequencies["estimator"])
    wanted = _with_afais(FREQUENCY_ESTIMATORS, there)
    shown = [e for e in wanted if e in there]
    if not shown:
        raise DataError(
            f"the figure compares {', '.join(wanted)}; the table holds "
            f"{', '.join(sorted(set(frequencies['estimator'])))}"
        )
    panels = list(dict.fromkeys(frequencies["panel"]))
    figure = style.new_figure(height_in=0.85 + 0.21 * len(panels))
    grid = figure.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
    by_estimator = {e: style.select(frequencies, estimator=e).set_index("panel") for e in shown}
    truth = by_estimator.get("ground_truth")
    for axes, name in zip(grid, shown, strict=True):
        other = None if name == "ground_truth" or truth is None else truth["frequency"]
        _draw_frequencies(axes, name, by_estimator[name].reindex(panels), other)
    grid[0].set_yticks(range(len(panels)), [style.words(p) for p in panels])
    grid[0].set_ylim(len(panels) - 0.5, -0.5)
    for axes in grid:
        axes.set_xlabel("share of cases")
    row = frequencies.iloc[0]
    title = style.scenario_title((row["dataset"], row["mechanism"]))
    figure.suptitle(
        f"{title}: acquisitions of {style.agent_label(row['agent'])}", x=0.01, ha="left"
    )
    style.add_legend(figure, _frequency_handles(len(shown), truth))
    return figure


def _draw_frequencies(
    axes: Axes, estimator: str, rows: pd.DataFrame, truth: pd.Series | None
) -> None:
    """Bars of one estimator at y = 0, 1, 2, …"""
    look = style.estimator_style(estimator)
    y = np.arange(len(rows))
    axes.barh(
        y, rows["frequency"], height=0.66, color=style.lightened(look.colour, share=0.4),
        xerr=style.whiskers(rows["frequency"].to_numpy(), rows["std_error"].to_numpy()),
        error_kw={"elinewidth": 0.9, "ecolor": style.GREY},
    )  # fmt: skip
    if truth is not None:
        axes.plot(
            truth.reindex(rows.index), y, "|", color=style.BLACK, markersize=9, markeredgewidth=1.3,
            linestyle="none", gid="truth",
        )  # fmt: skip
    axes.set_title(look.label, loc="left")
    axes.set_xlim(0, 1.05)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    axes.tick_params(axis="y", length=0)


def _frequency_handles(facets: int, truth: pd.DataFrame | None) -> list[Line2D]:
    handles = [Line2D([], [], color=style.GREY, linewidth=0.9, label="± 1 standard error")]
    if truth is not None and facets > 1:
        tick = {"marker": "|", "markersize": 9, "markeredgewidth": 1.3, "linestyle": "none"}
        handles.append(Line2D([], [], color=style.BLACK, label="ground truth", **tick))
    return handles


@style.printed
def calibration_figure(calibration: pd.DataFrame) -> Figure:
    """Can the fitted probabilities be believed, and do they reach zero?

    A pair of panels per nuisance. Top: observed rate against mean fitted probability, with the
    diagonal of perfect calibration. Bottom: rows of each bin at its mean probability, on a
    logarithmic axis: rows at the left edge are those that carry large weights.

    Args:
        calibration: nuisance, bin, mean_probability, rate, n; one row per nuisance and bin.

    Raises:
        DataError: a column is missing, there is no row, or a bin occurs twice.
    """
    needed = ["nuisance", "bin", "mean_probability", "rate", "n"]
    style.require(calibration, needed, single=[])
    if calibration.duplicated(["nuisance", "bin"]).any():
        first = calibration[calibration.duplicated(["nuisance", "bin"])].iloc[0]
        raise DataError(
            f"bin {first['bin']} of nuisance {first['nuisance']!r} occurs twice; the figure shows "
            "one fit of each nuisance"
        )
    nuisances = list(dict.fromkeys(calibration["nuisance"]))
    columns = min(4, len(nuisances))
    lines = -(-len(nuisances) // columns)
    figure = style.new_figure(height_in=0.3 + 2.9 * lines)
    grid = figure.subplots(
        2 * lines, columns, sharex=True, sharey="row", squeeze=False, height_ratios=[2, 1] * lines
    )
    grid[0, 0].set_xlim(-0.03, 1.03)
    grid[0, 0].set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    for k, name in enumerate(nuisances):
        upper, lower = grid[2 * (k // columns) : 2 * (k // columns) + 2, k % columns]
        rows = style.select(calibration, nuisance=name)
        filled = rows[rows["n"] > 0].sort_values("mean_probability")
        _draw_reliability(upper, filled)
        _draw_counts(lower, filled)
        upper.set_title(style.wrapped(style.words(name), characters=90 // columns), loc="left")
        if k % columns == 0:
            upper.set_ylabel("observed rate")
            lower.set_ylabel("rows in bin")
    for axes in grid.reshape(lines, 2, columns)[-1, :, len(nuisances) - (lines - 1) * columns :]:
        for unused in axes:
            unused.remove()
    handles = [
        Line2D([], [], color=style.BLUE, marker="o", markersize=4, label="bins of the fit"),
        Line2D(
            [], [], color=style.GREY, linestyle="--", linewidth=0.9, label="perfect calibration"
        ),
    ]
    style.add_legend(figure, handles)
    return figure


def _draw_reliability(axes: Axes, rows: pd.DataFrame) -> None:
    axes.plot([0, 1], [0, 1], color=style.GREY, linestyle="--", linewidth=0.9)
    axes.plot(rows["mean_probability"], rows["rate"], color=style.BLUE, marker="o", markersize=4)
    axes.set_ylim(-0.03, 1.03)


def _draw_counts(axes: Axes, rows: pd.DataFrame) -> None:
    """Rows of each bin as a stem at its mean probability, from a base of half a row."""
    axes.vlines(rows["mean_probability"], 0.5, rows["n"], color=style.BLUE, linewidth=4)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5)
    axes.yaxis.set_major_locator(LogLocator(numticks=5))
    axes.minorticks_off()
    axes.set_xlabel("fitted probability")
    axes.tick_params(labelbottom=True)


@style.printed
def cost_split_figure(summary: pd.DataFrame, *, cost_unit: str) -> Figure:
    """What a policy's cost is made of: acquisition below, misclassification on top, per agent.

    A facet per scenario; per agent three bars: truth, blocking and stabilised AFAIS, the one by the
    policy unless no row has it. A grey cross stands where there is no estimate.

    Args:
        summary: dataset, mechanism, agent, estimator, status, acquisition_cost,
            misclassification_cost, of one seed.
        cost_unit: the data set's unit of cost.

    Raises:
        DataError: a column is missing, there is no row of the three estimators, or several seeds.
    """
    needed = ["dataset", "mechanism", "agent", "estimator", "status", *_PARTS]
    style.require(summary, needed, single=["seed"])
    computed = summary.loc[summary["status"] == "ok", "estimator"]
    shown = _with_afais(COST_ESTIMATORS, set(computed))
    rows = summary[summary["estimator"].isin(shown)]
    if rows.empty:
        raise DataError(f"the figure compares {', '.join(shown)}; the table holds none of them")
    scenarios, agents = style.scenario_order(rows), style.agent_order(rows["agent"])
    columns = style.facet_columns(len(scenarios), slots=len(agents), slot_in=0.45)
    lines = len(scenarios) // columns
    figure = style.new_figure(height_in=0.4 + 1.8 * lines)
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True).ravel()
    for k, (axes, scenario) in enumerate(zip(grid, scenarios, strict=True)):
        part = style.select(rows, dataset=scenario[0], mechanism=scenario[1])
        _draw_split(axes, part, agents, shown)
        axes.set_title(style.scenario_title(scenario), loc="left")
        style.agent_ticks(axes, agents, width_in=style.WIDTH_IN / columns - 0.6)
        axes.tick_params(labelbottom=k + columns >= len(scenarios))
        if k % columns == 0:
            axes.set_ylabel(f"run-time cost\nper case ({cost_unit})")
    style.add_legend(figure, _split_handles(shown))
    return figure


def _draw_split(
    axes: Axes, rows: pd.DataFrame, agents: Sequence[str], estimators: Sequence[str]
) -> None:
    """Three stacked bars per agent at 0, 1, 2, …; a group is 0.84 wide."""
    style.shade_every_second(axes, len(agents), vertical=True)
    wide = 0.84 / len(estimators)
    for k, name in enumerate(estimators):
        colour = style.estimator_style(name).colour
        part = rows[rows["estimator"] == name].set_index("agent").reindex(list(agents))
        known = (part["status"] == "ok").to_numpy()
        x = np.arange(len(agents)) + (k - 1) * wide
        below, above = (part[c].to_numpy(dtype=float) for c in _PARTS)
        axes.bar(x[known], below[known], 0.9 * wide, color=colour, edgecolor=colour, linewidth=0.6)
        axes.bar(
            x[known], above[known], 0.9 * wide, bottom=below[known], hatch="/////",
            color=style.lightened(colour, share=0.75), edgecolor=colour, linewidth=0.6,
        )  # fmt: skip
        axes.plot(
            x[~known], np.full((~known).sum(), 0.04), "x", color=style.GREY, markersize=4,
            transform=axes.get_xaxis_transform(), gid="no estimate",
        )  # fmt: skip
    axes.set_xlim(-0.5, len(agents) - 0.5)


def _split_handles(estimators: Sequence[str]) -> list[Patch]:
    pale = style.lightened(style.GREY, share=0.75)
    looks = [style.estimator_style(name) for name in estimators]
    return [
        *(Patch(facecolor=look.colour, label=look.label) for look in looks),
        Patch(facecolor=style.GREY, edgecolor=style.GREY, label="acquisition"),
        Patch(facecolor=pale, edgecolor=style.GREY, hatch="/////", label="misclassification"),
    ]
