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

from frugal.core.errors import DataError
from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_bars, draw_series
from frugal.judge.intervals import share_interval
from frugal.studies.afape.figures import seen
from frugal.studies.afape.figures.given import Scenario
from frugal.studies.afape.figures.style import (
    agent_order,
    estimator_style,
    facet_columns,
    name_facets,
    scenario_order,
    scenario_title,
)

FREQUENCY_ESTIMATORS = ("blocking", "AFAIS", "ground_truth")
COST_ESTIMATORS = ("ground_truth", "blocking", "AFAIS")
AFAIS = ("stabilised_afais_s_policy", "stabilised_afais_s")  # the first that there is
_PARTS = ("acquisition_cost", "misclassification_cost")
_TICKS = {"truth": style.Look("ground truth", style.BLACK, "|", line="none")}
_BINS = {
    "joined": style.Look("bins of ten rows or more, 95 % interval", style.BLUE, "o"),
    "few": style.Look("bins of fewer rows", style.BLUE, "o", hollow=True, line="none"),
}
LEAST_ROWS = 10  # of a bin whose rate is more than noise, so that a line goes through it
_TITLE = 24  # letters of a line above a third of the page


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
        axes.set_xlim(0, 1.05)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        axes.tick_params(axis="y", length=0)
    row = frequencies.iloc[0]
    title = scenario_title((row["dataset"], row["mechanism"]))
    shares = {name: rows["frequency"] for name, rows in by_estimator.items()}
    said = seen.frequencies(shares, row["agent"])
    figure.suptitle(style.titled(title, said), x=0.01, ha="left")
    style.add_legend(figure, _frequency_handles(len(shown), truth))
    return figure


def _draw_frequencies(
    axes: Axes, estimator: str, rows: pd.DataFrame, truth: pd.Series | None
) -> None:
    """Bars of one estimator at y = 0, 1, 2, …"""
    look, y = estimator_style(estimator), np.arange(len(rows))
    share, error = (rows[c].to_numpy(dtype=float) for c in ("frequency", "std_error"))
    colour = style.lightened(look.colour, share=0.4)
    ends = style.whiskers(share, error)
    draw_bars(axes, y, share, colour=colour, width=0.66, ends=ends, lying=True)
    if truth is not None:
        marks = rows.assign(truth=truth.reindex(rows.index), y=y, name="truth")
        draw_series(axes, marks, _TICKS, by="name", x="truth", y="y", size=9.0, gid="truth")
    axes.set_title(style.wrapped(look.label, characters=_TITLE), loc="left")


def _frequency_handles(facets: int, truth: pd.DataFrame | None) -> list[Line2D]:
    handles = [Line2D([], [], color=style.GREY, linewidth=0.9, label="± 1 standard error")]
    if truth is not None and facets > 1:
        handles.append(_TICKS["truth"].handle())
    return handles


@style.printed
def calibration_figure(calibration: pd.DataFrame) -> Figure:
    """Can the fitted probabilities be believed, and do they reach zero?

    A pair of panels per nuisance, with the method that fitted it. Top: observed rate against mean
    fitted probability, with the diagonal of perfect calibration; bins of few rows are hollow and
    not joined. Bottom: rows of each bin at its mean probability, on a logarithmic axis: rows at the
    left edge are those that carry large weights.

    Args:
        calibration: nuisance, method (empty where it follows from others), bin,
            mean_probability, rate, n; one row per nuisance and bin.

    Raises:
        DataError: a column is missing, there is no row, or a bin occurs twice.
    """
    needed = ["nuisance", "method", "bin", "mean_probability", "rate", "n"]
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
    for k, name in enumerate(nuisances):
        upper, lower = grid[2 * (k // columns) : 2 * (k // columns) + 2, k % columns]
        rows = style.select(calibration, nuisance=name)
        filled = rows[rows["n"] > 0].sort_values("mean_probability")
        _draw_reliability(upper, filled)
        _draw_counts(lower, filled)
        title = ", ".join(part for part in (name, rows["method"].iloc[0]) if part)
        upper.set_title(style.wrapped(style.words(title), characters=90 // columns), loc="left")
        if k % columns == 0:
            upper.set_ylabel("observed rate")
            lower.set_ylabel("rows in bin")
    for upper, lower in grid.reshape(lines, 2, columns).swapaxes(1, 2).reshape(-1, 2):
        _dress_bins(upper, lower)
    for axes in grid.reshape(lines, 2, columns)[-1, :, len(nuisances) - (lines - 1) * columns :]:
        for unused in axes:
            unused.remove()
    handles = [
        _BINS["joined"].handle(line="-"),
        _BINS["few"].handle(),
        Line2D(
            [], [], color=style.GREY, linestyle="--", linewidth=0.9, label="perfect calibration"
        ),
    ]
    said = seen.calibration(calibration[calibration["n"] >= LEAST_ROWS])
    figure.suptitle(style.titled("", said), x=0.01, ha="left")
    style.add_legend(figure, handles)
    return figure


def _draw_reliability(axes: Axes, rows: pd.DataFrame) -> None:
    """Rates of the bins with 95 % intervals; those of few rows stand alone."""
    many = rows["n"] >= LEAST_ROWS
    ends = [
        share_interval(round(rate * n), int(n), level=0.95)
        for rate, n in zip(rows["rate"], rows["n"], strict=True)
    ]
    rows = rows.assign(low=[low for low, _ in ends], high=[high for _, high in ends])
    kinds = [
        rows.assign(kind="joined", rate=rows["rate"].where(many)),
        rows[~many].assign(kind="few"),
    ]
    axes.plot([0, 1], [0, 1], color=style.GREY, linestyle="--", linewidth=0.9)
    drawn = pd.concat(kinds)
    draw_series(
        axes, drawn, _BINS, by="kind", x="mean_probability", y="rate", clip_on=False,
        y_ends=drawn[["low", "high"]].to_numpy(dtype=float).T,
    )  # fmt: skip


def _draw_counts(axes: Axes, rows: pd.DataFrame) -> None:
    """Rows of each bin as a bar at its mean probability, from a base of half a row."""
    at, n = (rows[c].to_numpy(dtype=float) for c in ("mean_probability", "n"))
    draw_bars(axes, at, n - 0.5, base=0.5, colour=style.BLUE, width=0.04)


def _dress_bins(upper: Axes, lower: Axes) -> None:
    """Scales, limits and ticks of a pair of panels."""
    upper.set_ylim(-0.03, 1.03)
    lower.set_yscale("log")
    lower.set_ylim(bottom=0.5)
    lower.yaxis.set_major_locator(LogLocator(numticks=5))
    lower.minorticks_off()
    lower.set_xlabel("fitted probability")
    lower.tick_params(labelbottom=True)
    lower.set_xlim(-0.03, 1.03)
    lower.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])


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
    scenarios, agents = scenario_order(rows), agent_order(rows["agent"])
    columns = facet_columns(len(scenarios), slots=len(agents), slot_in=0.45)
    lines = len(scenarios) // columns
    figure = style.new_figure(height_in=0.4 + 1.8 * lines)
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True).ravel()
    for axes, scenario in zip(grid, scenarios, strict=True):
        part = style.select(rows, dataset=scenario[0], mechanism=scenario[1])
        _draw_split(axes, part, agents, shown)
        axes.set_title(scenario_title(scenario), loc="left")
    name_facets(grid, agents, columns, f"run-time cost\nper case ({cost_unit})")
    whole = rows[rows["status"] == "ok"].assign(cost=rows[list(_PARTS)].sum(axis=1))
    said = seen.costs(whole)
    figure.suptitle(style.titled("", said), x=0.01, ha="left")
    style.add_legend(figure, _split_handles(shown))
    return figure


def _draw_split(
    axes: Axes, rows: pd.DataFrame, agents: Sequence[str], estimators: Sequence[str]
) -> None:
    """Three stacked bars per agent at 0, 1, 2, …; a group is 0.84 wide."""
    wide = 0.84 / len(estimators)
    for k, name in enumerate(estimators):
        colour = estimator_style(name).colour
        part = rows[rows["estimator"] == name].set_index("agent").reindex(list(agents))
        known = (part["status"] == "ok").to_numpy()
        x = np.arange(len(agents)) + (k - 1) * wide
        below, above = (part[c].to_numpy(dtype=float) for c in _PARTS)
        pale = style.lightened(colour, share=0.75)
        for base, length, fill in ((0 * below, below, colour), (below, above, pale)):
            draw_bars(
                axes, x[known], length[known], base=base[known], colour=fill, edge=colour,
                width=0.9 * wide,
            )  # fmt: skip
        axes.plot(
            x[~known], np.full((~known).sum(), 0.04), "x", color=style.GREY, markersize=4,
            transform=axes.get_xaxis_transform(), gid="no estimate",
        )  # fmt: skip
    style.shade_every_second(axes, len(agents), vertical=True)
    axes.set_xlim(-0.5, len(agents) - 0.5)


def _split_handles(estimators: Sequence[str]) -> list[Patch]:
    looks = [estimator_style(name) for name in estimators]
    return [
        *(Patch(facecolor=look.colour, label=look.label) for look in looks),
        Patch(facecolor=style.GREY, edgecolor=style.GREY, label="acquisition"),
        Patch(
            facecolor=style.lightened(style.GREY, share=0.75),
            edgecolor=style.GREY,
            label="misclassification",
        ),
    ]


def _calibration(given: Scenario) -> tuple[Figure, pd.DataFrame]:
    """Calibration of what was fitted; a sentence in its place where nothing was."""
    curves, estimates = given.calibration, given.estimates
    if len(curves):
        return calibration_figure(curves), curves
    reasons = estimates.loc[estimates["status"] == "not_identified", "reason"]
    said = "No fitted probability serves any test row: nothing to calibrate."
    if len(reasons):
        said = f"Not identified, nothing fitted. {reasons.iloc[0]}"
    return style.sentence_figure(said), curves


def _split(given: Scenario) -> tuple[Figure, pd.DataFrame]:
    return cost_split_figure(given.estimates, **given.unit), given.estimates


def _frequency(given: Scenario) -> tuple[Figure, pd.DataFrame]:
    return frequency_figure(given.frequencies), given.frequencies


COST_SPLIT = PrintedFigure(
    name="cost_split",
    place=30,
    stages=("draw_scenario_figures",),
    draw=_split,
    doc="what an agent pays for panels and for errors",
)


FREQUENCY = PrintedFigure(
    name="frequency",
    place=40,
    stages=("draw_scenario_figures",),
    draw=_frequency,
    doc="how often an agent acquires each panel",
)


CALIBRATION = PrintedFigure(
    name="calibration",
    place=50,
    stages=("draw_scenario_figures",),
    draw=_calibration,
    doc="fitted probabilities against observed rates",
)
