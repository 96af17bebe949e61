"""Figures of afape that open estimates up: acquisitions, nuisances, costs, errors, resamples.

Counterparts of Figs 5, 6, A.4, A.5 and A.6 of the paper; calibration and costs are ours. They show
tables of estimates and know neither how one was made nor where a figure is kept.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from frugal.core.errors import DataError
from frugal.draw import style
from frugal.draw.prints import PrintedFigure, draw_bars, draw_series, entry, finish, panels
from frugal.judge.intervals import share_interval
from frugal.studies.afape.figures.style import (
    ESTIMATORS,
    agent_label,
    agent_order,
    estimator_order,
    estimator_style,
    facet_columns,
    name_facets,
    quoted_estimator,
    scenario_order,
    scenario_title,
    window,
)

BLOCKING = "blocking"  # what one would do who does not know better
FREQUENCY_ESTIMATORS = ("blocking", "AFAIS", "ground_truth")
COST_ESTIMATORS = ("ground_truth", "blocking", "AFAIS")
AFAIS = ("stabilised_afais_s_policy", "stabilised_afais_s")  # the first that there is
LEAST_ROWS = 10  # of a bin whose rate is more than noise, so that a line goes through it
MOST_SIZES = 6  # whose numbers are in one row below a panel
LEAST_SEEDS = 5  # for a standard deviation to get its own axis
_NO_ESTIMATE = "None of the chosen estimators has an estimate"
_PARTS = ("acquisition_cost", "misclassification_cost")
_SERIES = ["dataset", "mechanism", "agent", "estimator"]
_QUARTERS = ([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
_TICKS = {"truth": style.Look("ground truth", style.BLACK, "|", line="none")}
_BINS = {
    "joined": style.Look("bins of ten rows or more, 95 % interval", style.BLUE, "o"),
    "few": style.Look("bins of fewer rows", style.BLUE, "o", hollow=True, line="none"),
}


def _with_afais(names: Sequence[str], available: Collection[str]) -> list[str]:
    """Estimators that a figure shows; AFAIS by the known policy, as in the paper if there is none.

    The paper's form is biased for policies that read values, and for one that never acquires its
    two fits need not agree; so it is shown only where the other cannot be computed.
    """
    form = next((name for name in AFAIS if name in available), AFAIS[-1])
    return [form if name == "AFAIS" else name for name in names]


@PrintedFigure(name="frequency", place=40, stages=("draw_scenario_figures",))
def frequency_figure(frequencies: pd.DataFrame) -> Figure:
    """How often an agent acquires each panel: blocked, estimated, true [afape, fig. A.6].

    A facet per estimator, a bar per panel, whiskers of ± one standard error. A black tick repeats
    the true frequency in the other facets. AFAIS is the one by the policy where there is one.

    Args:
        frequencies: estimator, panel, frequency, std_error, of one dataset, mechanism, agent and
            seed. Panels are in the order of the table. A standard error may be NaN.

    Raises:
        DataError: there is no row of the three estimators.
    """
    needed = "estimator panel frequency std_error"
    style.require(frequencies, needed, single="dataset mechanism agent seed")
    estimators = set(frequencies["estimator"])
    compared = _with_afais(FREQUENCY_ESTIMATORS, estimators)
    rows = {e: frequencies[frequencies["estimator"] == e] for e in compared if e in estimators}
    if not rows:
        raise DataError(
            f"the figure compares {', '.join(compared)}; the table holds "
            f"{', '.join(sorted(estimators))}"
        )
    names = list(dict.fromkeys(frequencies["panel"]))
    rows = {e: part.set_index("panel").reindex(names) for e, part in rows.items()}
    height = 0.85 + 0.21 * len(names)
    figure, grid = panels(
        len(rows), len(rows), line_in=height, more_in=0.0, sharex=True, sharey=True
    )
    truth = rows.get("ground_truth")
    for axes, (name, part) in zip(grid, rows.items(), strict=True):
        other = None if name == "ground_truth" or truth is None else truth["frequency"]
        _draw_frequencies(axes, name, part, other)
    grid[0].set_yticks(range(len(names)), [style.words(name) for name in names])
    grid[0].set_ylim(len(names) - 0.5, -0.5)
    handles = [entry("± 1 standard error", linewidth=0.9)]
    if truth is not None and len(rows) > 1:
        handles.append(_TICKS["truth"].handle())
    first = frequencies.iloc[0]
    shares = {name: part["frequency"] for name, part in rows.items()}
    finding = frequency_finding(shares, first["agent"])
    return finish(figure, scenario_title((first["dataset"], first["mechanism"])), finding, handles)


def _draw_frequencies(
    axes: Axes, estimator: str, rows: pd.DataFrame, truth: pd.Series | None
) -> None:
    """Bars of one estimator at y = 0, 1, 2, …"""
    look, y = estimator_style(estimator), np.arange(len(rows))
    share, error = (rows[c].to_numpy(dtype=float) for c in ("frequency", "std_error"))
    colour, ends = style.lightened(look.colour, share=0.4), style.whiskers(share, error)
    draw_bars(axes, y, share, colour=colour, width=0.66, ends=ends, lying=True)
    if truth is not None:
        marks = rows.assign(truth=truth, y=y, name="truth")
        draw_series(axes, marks, _TICKS, by="name", x="truth", y="y", size=9.0, gid="truth")
    axes.set_title(style.wrapped(look.label, characters=24), loc="left")
    axes.set(xlabel="share of cases", xlim=(0, 1.05))
    axes.set_xticks(*_QUARTERS)
    axes.tick_params(axis="y", length=0)


def frequency_finding(by_estimator: dict[str, pd.Series], agent: str) -> str:
    """The panel whose share blocking misstates most, against the truth.

    Args:
        by_estimator: estimator → share of cases, by panel.
        agent: whose acquisitions they are.
    """
    if not {BLOCKING, "ground_truth"} <= by_estimator.keys():
        return f"acquisitions of {agent_label(agent)}"
    blocked, truth = by_estimator[BLOCKING], by_estimator["ground_truth"]
    panel = str((blocked - truth).abs().idxmax())
    if round(100 * blocked[panel]) == round(100 * truth[panel]):
        return f"blocking keeps every share of {agent_label(agent)}"
    return (
        f"{agent_label(agent)} would acquire {style.words(panel)} for "
        f"{100 * truth[panel]:.0f} % of cases, not the {100 * blocked[panel]:.0f} % that missing "
        "values leave"
    )


@PrintedFigure(name="calibration", place=50, stages=("draw_scenario_figures",))
def calibration_figure(calibration: pd.DataFrame, estimates: pd.DataFrame) -> Figure:
    """Can the fitted probabilities be believed, and do they reach zero?

    A pair of panels per nuisance, with the method that fitted it. Top: observed rate against mean
    fitted probability, with the diagonal of perfect calibration; bins of few rows are hollow and
    not joined. Bottom: rows of each bin at its mean probability, on a logarithmic axis: rows at the
    left edge are those that carry large weights.

    Args:
        calibration: nuisance, method (empty where it follows from others), bin,
            mean_probability, rate, n; one row per nuisance and bin; none where nothing was fitted.
        estimates: status and reason of each estimate, for the sentence in place of the figure.

    Raises:
        DataError: a column is missing, or a bin occurs twice.
    """
    if not len(calibration):
        return style.sentence_figure(_why_no_calibration(estimates))
    style.require(calibration, "nuisance method bin mean_probability rate n")
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
        at, n = (filled[c].to_numpy(dtype=float) for c in ("mean_probability", "n"))
        # from a base of half a row
        draw_bars(lower, at, n - 0.5, base=0.5, colour=style.BLUE, width=0.04)
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
        entry("perfect calibration", linestyle="--", linewidth=0.9),
    ]
    finding = calibration_finding(calibration[calibration["n"] >= LEAST_ROWS])
    return finish(figure, "", finding, handles)


def _why_no_calibration(estimates: pd.DataFrame) -> str:
    reasons = estimates.loc[estimates["status"] == "not_identified", "reason"]
    if len(reasons):
        return f"Not identified, nothing fitted. {reasons.iloc[0]}"
    return "No fitted probability serves any test row: nothing to calibrate."


def _draw_reliability(axes: Axes, rows: pd.DataFrame) -> None:
    """Rates of the bins with 95 % intervals; those of few rows are not joined."""
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
        axes,
        drawn,
        _BINS,
        by="kind",
        x="mean_probability",
        y="rate",
        clip_on=False,
        y_ends=("low", "high"),
    )


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
    lower.set_xticks(*_QUARTERS)


def calibration_finding(bins: pd.DataFrame) -> str:
    """How far fitted probabilities are off, in the mean of rows and where most.

    Args:
        bins: nuisance, mean_probability, rate, n, of bins with enough rows.
    """
    if not len(bins):
        return "no bin has enough rows to be evaluated"
    off = (bins["rate"] - bins["mean_probability"]).abs().to_numpy()
    worst, mean = bins.iloc[int(off.argmax())], np.average(off, weights=bins["n"])
    return (
        f"fitted probabilities are off by {mean:.3f} in the mean of rows, by {off.max():.2f} in "
        f"the worst bin ({style.words(worst['nuisance'])}, {worst['n']:,.0f} rows)"
    )


@PrintedFigure(name="cost_split", place=30, stages=("draw_scenario_figures",))
def cost_split_figure(estimates: pd.DataFrame, cost_unit: str) -> Figure:
    """Components of a policy's cost: acquisition below, misclassification on top, per agent.

    A facet per scenario; per agent three bars: truth, blocking and stabilised AFAIS, the one by the
    policy unless no row has it. A grey cross marks where there is no estimate.

    Args:
        estimates: dataset, mechanism, agent, estimator, status, acquisition_cost,
            misclassification_cost, of one seed.
        cost_unit: the data set's unit of cost.

    Raises:
        DataError: a column is missing, there is no row of the three estimators, or several seeds.
    """
    style.require(estimates, f"{' '.join((*_SERIES, *_PARTS))} status", single="seed")
    computed = estimates.loc[estimates["status"] == "ok", "estimator"]
    shown = _with_afais(COST_ESTIMATORS, set(computed))
    rows = estimates[estimates["estimator"].isin(shown)]
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
    total = rows[rows["status"] == "ok"].assign(cost=rows[list(_PARTS)].sum(axis=1))
    looks = [estimator_style(name) for name in shown]
    pale = style.lightened(style.GREY, share=0.75)
    handles = [
        *(Patch(facecolor=look.colour, label=look.label) for look in looks),
        Patch(facecolor=style.GREY, edgecolor=style.GREY, label="acquisition"),
        Patch(facecolor=pale, edgecolor=style.GREY, label="misclassification"),
    ]
    return finish(figure, "", costs_finding(total), handles)


def _draw_split(
    axes: Axes, rows: pd.DataFrame, agents: Sequence[str], estimators: Sequence[str]
) -> None:
    """Three stacked bars per agent at 0, 1, 2, …; a group is 0.84 wide."""
    wide = 0.84 / len(estimators)
    for k, name in enumerate(estimators):
        colour = estimator_style(name).colour
        part = rows[rows["estimator"] == name].set_index("agent").reindex(list(agents))
        is_estimated = (part["status"] == "ok").to_numpy()
        x = np.arange(len(agents)) + (k - 1) * wide
        below, above = (part[c].to_numpy(dtype=float) for c in _PARTS)
        pale = style.lightened(colour, share=0.75)
        for base, length, fill in ((0 * below, below, colour), (below, above, pale)):
            draw_bars(
                axes,
                x[is_estimated],
                length[is_estimated],
                base=base[is_estimated],
                colour=fill,
                edge=colour,
                width=0.9 * wide,
            )
        axes.plot(
            x[~is_estimated],
            np.full((~is_estimated).sum(), 0.04),
            "x",
            color=style.GREY,
            markersize=4,
            transform=axes.get_xaxis_transform(),
            gid="no estimate",
        )
    style.shade_every_second(axes, len(agents), vertical=True)
    axes.set_xlim(-0.5, len(agents) - 0.5)


def costs_finding(rows: pd.DataFrame) -> str:
    """The policy whose cost blocking misstates most, against the truth.

    Args:
        rows: dataset, mechanism, agent, estimator, cost, of the computable rows.
    """
    table = rows.pivot(
        index=["dataset", "mechanism", "agent"], columns="estimator", values="cost"
    ).reindex(columns=[BLOCKING, "ground_truth"])
    off = (table[BLOCKING] - table["ground_truth"]).dropna()
    if not len(off):
        return "costs of policies: panels and errors"
    worst = style.highest(off.abs().reset_index(name="off"), "off")
    places = style.decimals(table["ground_truth"].to_numpy(dtype=float))
    agent, by = agent_label(str(worst["agent"])), worst["off"]
    less = "less" if (off[off.abs() == by] < 0).any() else "more"
    return f"by blocking {agent} seems to cost {by:.{places}f} {less} than it truly does"


@PrintedFigure(name="convergence", place=10, stages=("draw_study_figures",))
def convergence_figure(convergence: pd.DataFrame, summary: pd.DataFrame, cost_unit: str) -> Figure:
    """Error of each estimator against the number of data points [afape, fig. 5].

    A row of panels per scenario, a panel per agent. Line: mean over seeds of estimate − truth;
    band: ± one standard deviation over seeds (no band from a single seed). Below, from five seeds
    on: that standard deviation alone, both axes logarithmic, which separates unbiased estimators
    that lie on each other above. Where a seed has no estimate at some size, the line has a gap
    there: the mean of the other seeds would be another quantity.

    Args:
        convergence: dataset, mechanism, agent, estimator, seed, n, estimate, truth.
        summary: truth of every estimate, for the sentence in place of a figure without rows.
        cost_unit: the data set's unit of cost.
    """
    if not len(convergence):
        unknown = summary["truth"].isna().all()
        why = "The truth is unknown in every scenario" if unknown else _NO_ESTIMATE
        return style.sentence_figure(f"{why}: no error to show.")
    style.require(convergence, f"{' '.join(_SERIES)} seed n estimate truth")
    scenarios = scenario_order(convergence)
    agents = agent_order(convergence["agent"])
    estimators = estimator_order(convergence["estimator"])
    several = convergence["seed"].nunique() >= LEAST_SEEDS
    heights = [2.1 if len(scenarios) < 4 else 1.45] + [1.5 if len(scenarios) < 4 else 1.1] * several
    figure = style.new_figure(height_in=0.55 + sum(heights) * len(scenarios))
    grid = figure.subplots(
        len(heights) * len(scenarios),
        len(agents),
        sharex="row",
        sharey="row",
        squeeze=False,
        height_ratios=heights * len(scenarios),
    )
    for scenario, lines in zip(
        scenarios, grid.reshape(len(scenarios), len(heights), len(agents)), strict=True
    ):
        rows = style.select(convergence, dataset=scenario[0], mechanism=scenario[1])
        where = f"{scenario_title(scenario)}: " if len(scenarios) > 1 else ""
        for k, agent in enumerate(agents):
            moments = _moments(rows[rows["agent"] == agent], estimators)
            _draw_errors(lines[0, k], moments)
            lines[0, k].set_title(where + agent_label(agent), loc="left")
            if several:
                _draw_spreads(lines[1, k], moments)
        for axes in lines.ravel():
            _name_sizes(axes, sorted(set(rows["n"])))
        lines[0, 0].set_ylabel(f"error of the cost\nper case ({cost_unit})")
        if several:
            lines[1, 0].set_ylabel(f"its s.d. over\nseeds ({cost_unit})")
            for axes in lines[1]:
                axes.set_yscale("log")
                axes.minorticks_off()
    last = convergence[convergence["n"] == convergence.groupby(_SERIES)["n"].transform("max")]
    errors = last.assign(error=last["estimate"] - last["truth"])
    for axes in grid[-1]:
        axes.set_xlabel("number of data points (rows)")
    subject = scenario_title(scenarios[0]) if len(scenarios) == 1 else ""
    band = Patch(color=style.lightened(style.GREY, share=0.6), label="± 1 s.d. over seeds")
    handles = [*_named(estimators, errors, line="-"), band]
    return finish(figure, subject, errors_finding(errors), handles)


def _named(
    estimators: Sequence[str], errors: pd.DataFrame, line: style.Stroke = "none"
) -> list[Line2D]:
    """Entries of estimators with their mean error over the rows drawn: the legend is a table."""
    off = mean_errors(errors)
    places = style.decimals(off.to_numpy())
    looks = {name: estimator_style(name) for name in estimators}
    labels = {name: f" (off by {off[name]:.{places}f})" for name in off.index if name in looks}
    labels.pop("ground_truth", None)
    return [
        look.handle(line=line, label=f"{look.label}{labels.get(name, '')}")
        for name, look in looks.items()
    ]


def _moments(rows: pd.DataFrame, estimators: Sequence[str]) -> pd.DataFrame:
    """Mean and standard deviation of the error over seeds: estimator, n, mean, spread.

    Not a number as soon as one seed has no estimate.
    """
    error = rows.assign(error=rows["estimate"] - rows["truth"]).pivot(
        index=["estimator", "n"], columns="seed", values="error"
    )
    selected = error[error.index.get_level_values("estimator").isin(list(estimators))]
    mean, spread = selected.mean(axis=1, skipna=False), selected.std(axis=1, ddof=1, skipna=False)
    return pd.DataFrame({"mean": mean, "spread": spread}).reset_index()


def _draw_errors(axes: Axes, moments: pd.DataFrame) -> None:
    """Mean and band of the error per estimator."""
    axes.axhline(0, color=style.BLACK, linewidth=0.7, linestyle="--", zorder=1)
    mean, spread = (moments[c].to_numpy(dtype=float) for c in ("mean", "spread"))
    draw_series(
        axes,
        moments,
        ESTIMATORS,
        by="estimator",
        x="n",
        y="mean",
        y_ends=np.array([mean - spread, mean + spread]),
        ends="band",
    )


def _draw_spreads(axes: Axes, moments: pd.DataFrame) -> None:
    """Standard deviation of the error per estimator; where it is zero (the truth on all rows), a
    logarithmic axis has no place for it and the line ends.
    """
    most = moments.groupby("estimator")["spread"].transform("max")
    shown = moments["spread"].where(
        moments["spread"] > 1e-9 * most
    )  # rounding of equals' difference
    draw_series(axes, moments.assign(shown=shown), ESTIMATORS, by="estimator", x="n", y="shown")


def _name_sizes(axes: Axes, sizes: Sequence[int]) -> None:
    """A logarithmic axis over numbers of rows; the numbers themselves where they have room."""
    axes.set_xscale("log")
    axes.minorticks_off()
    if len(sizes) <= MOST_SIZES:
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes])


def mean_errors(errors: pd.DataFrame) -> pd.Series:
    """Estimator → mean of its absolute errors, where there is one.

    Args:
        errors: estimator, error (estimate − truth, not a number where there is none).
    """
    return errors["error"].abs().groupby(errors["estimator"].astype(str)).mean().dropna()


def errors_finding(errors: pd.DataFrame) -> str:
    """Which estimator is nearest to the truth in the mean of all panels, and which farthest.

    Args:
        errors: estimator, error (estimate − truth, not a number where there is none).
    """
    off = mean_errors(errors).drop("ground_truth", errors="ignore")
    if len(off) < 2:
        return "how estimates scatter"
    places = style.decimals(off.to_numpy())
    near, far = str(off.idxmin()), str(off.idxmax())
    return (
        f"in the mean nearest to the truth is {quoted_estimator(near)}, off by "
        f"{off[near]:.{places}f}; farthest {quoted_estimator(far)}, by {off[far]:.{places}f}"
    )


@PrintedFigure(name="resamples", place=20, stages=("draw_study_figures",))
def resample_figure(resamples: pd.DataFrame, behind: pd.DataFrame, cost_unit: str) -> Figure:
    """Boxes of the resampled estimates, grouped by agent [afape, fig. 6; fig. A.4; fig. A.5].

    A facet per scenario. Box: quartiles and median; whiskers: farthest resample within 1.5
    interquartile ranges; dots beyond. Dashed line: truth of the agent. A hollow box lacks
    resamples in which no row had weight; a grey cross marks where there is no estimate at all;
    a triangle at the edge marks a box that lies wholly beyond the axis.

    Args:
        resamples: dataset, mechanism, agent, estimator, seed, resample, estimate; one seed.
        behind: dataset, mechanism, agent, estimator, seed, truth, status, of the same seed: the
            rows of the summary behind them, which decide which slots there are.
        cost_unit: the data set's unit of cost.

    Raises:
        DataError: a column is missing, no row is behind them, or the tables' seeds differ.
    """
    style.require(behind, f"{' '.join(_SERIES)} truth status", single="seed")
    if len(resamples):  # else no estimate could be computed, and every slot is marked
        style.require(resamples, f"{' '.join(_SERIES)} estimate", single="seed")
    if len(resamples) and resamples["seed"].iloc[0] != behind["seed"].iloc[0]:
        raise DataError(
            f"the resamples are of seed {resamples['seed'].iloc[0]}, the summary is of seed "
            f"{behind['seed'].iloc[0]}; both must be of one seed"
        )
    shown, who = estimator_order(behind["estimator"]), agent_order(behind["agent"])
    scenarios = scenario_order(behind)
    columns = facet_columns(len(scenarios), slots=len(shown) * len(who), slot_in=0.11)
    lines = len(scenarios) // columns
    figure = style.new_figure(height_in=0.4 + (1.75 if lines < 5 else 1.4) * lines)
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True).ravel()
    for axes, scenario in zip(grid, scenarios, strict=True):
        _draw_facet(axes, _of(resamples, scenario), _of(behind, scenario), shown, who)
        axes.set_title(scenario_title(scenario), loc="left")
    name_facets(grid, who, columns, f"estimated cost\nper case ({cost_unit})")
    selected = behind[(behind["status"] == "ok") & behind["estimator"].isin(shown)]
    errors = selected.assign(error=selected["estimate"] - selected["truth"])
    marks = {line.get_gid() for axes in figure.axes for line in axes.lines}
    faces = {patch.get_facecolor() for axes in figure.axes for patch in axes.patches}
    grey: dict[str, Any] = {"edgecolor": style.GREY}
    handles: list[Artist] = [
        *_named(shown, errors),
        entry("truth", style.BLACK, linestyle=(0, (3, 1.5))),
        Patch(facecolor=style.PALE, label="quartiles; whiskers: 1.5 × their distance", **grey),
    ]
    if "no estimate" in marks:
        handles.append(entry("no estimate", marker="x", linestyle="none"))
    if "beyond" in marks:
        mark = {"marker": "^", "markeredgecolor": style.BLACK, "linestyle": "none"}
        handles.append(entry("median beyond the axis", "white", **mark))
    if (1.0, 1.0, 1.0, 1.0) in faces:
        handles.append(Patch(facecolor="white", label="some resamples without support", **grey))
    return finish(figure, "", errors_finding(errors), handles)


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
    slots = pd.MultiIndex.from_product([agents, estimators], names=["agent", "estimator"])
    middles = 0.84 * ((np.arange(len(estimators)) + 0.5) / len(estimators) - 0.5)
    at = pd.Series(np.add.outer(np.arange(len(agents)), middles).ravel(), slots)
    ok = summary.set_index(["agent", "estimator"])["status"].reindex(slots) == "ok"
    rows = resamples.set_index(["agent", "estimator"])["estimate"].rename("estimate")
    rows = rows[rows.index.isin(slots[ok])]
    complete = rows.notna().groupby(level=[0, 1]).all().reindex(slots)
    _draw_boxes(axes, rows.reset_index(), complete, list(agents), list(estimators))
    quartiles = rows.groupby(level=[0, 1]).quantile(np.array([0.25, 0.5, 0.75])).unstack()
    boxes = quartiles.reindex(index=slots, columns=[0.25, 0.5, 0.75])
    boxes.columns = ["q1", "med", "q3"]
    boxes = boxes.assign(at=at).reset_index()
    drawn_boxes = boxes[boxes["med"].notna()]
    draw_series(
        axes,
        drawn_boxes,
        ESTIMATORS,
        by="estimator",
        x="at",
        y="med",
        line=None,
        size=3.0,
        zorder=5,
        gid="median",
    )
    truth = summary.groupby("agent")["truth"].first().reindex(list(agents)).to_numpy(dtype=float)
    axes.hlines(
        truth,
        np.arange(len(agents)) - 0.46,
        np.arange(len(agents)) + 0.46,
        color=style.BLACK,
        linewidth=1.0,
        linestyle=(0, (3, 1.5)),
        zorder=4,
        gid="truth",
    )
    _limit(axes, drawn_boxes, truth)
    for place in at[boxes["med"].isna().to_numpy()]:
        axes.plot(
            place,
            0.04,
            "x",
            color=style.GREY,
            markersize=4,
            gid="no estimate",
            transform=axes.get_xaxis_transform(),
        )
    style.shade_every_second(axes, len(agents), vertical=True)
    axes.set_xlim(-0.5, len(agents) - 0.5)


def _draw_boxes(
    axes: Axes, rows: pd.DataFrame, complete: pd.Series, agents: list[str], estimators: list[str]
) -> None:
    """The boxes in their estimators' colours, each in its slot; hollow ones lack resamples."""
    rows = rows.assign(at=[float(agents.index(name)) for name in rows["agent"]]).dropna(
        subset="estimate"
    )
    full = pd.Series(complete.reindex(pd.MultiIndex.from_frame(rows[["agent", "estimator"]])))
    for (name, is_whole), part in rows.groupby(["estimator", full.to_numpy(dtype=bool)]):
        look = estimator_style(str(name))
        steps = np.diff(np.unique(part["at"]))
        sns.boxplot(
            part,
            x="at",
            y="estimate",
            hue="estimator",
            hue_order=estimators,
            native_scale=True,
            width=0.84 / steps.min(initial=len(agents)) if len(steps) else 0.84,
            gap=0.2,
            dodge=True,
            linecolor=look.colour,
            linewidth=0.8,
            saturation=1,
            legend=False,
            palette=dict.fromkeys(
                estimators, style.lightened(look.colour, share=0.55) if is_whole else "white"
            ),
            flierprops={"marker": ".", "markersize": 1.5},
            ax=axes,
            zorder=3,
        )
    axes.set(xlabel="", ylabel="")


def _limit(axes: Axes, boxes: pd.DataFrame, truth: np.ndarray) -> None:
    """Limits that no absurd box can flatten; boxes wholly outside get a triangle at the edge."""
    blank = np.full(len(truth), np.nan)
    reach = 1.5 * (boxes["q3"] - boxes["q1"])
    bottom, top = window(
        np.r_[boxes["med"], truth],
        np.r_[boxes["q1"] - reach, blank],
        np.r_[boxes["q3"] + reach, blank],
    )
    axes.set_ylim(bottom, top)
    for at, median, name in zip(boxes["at"], boxes["med"], boxes["estimator"], strict=True):
        if not bottom <= median <= top:
            axes.plot(
                at,
                0.97 if median > top else 0.03,
                "^" if median > top else "v",
                markersize=4,
                color=estimator_style(name).colour,
                markeredgecolor=style.BLACK,
                markeredgewidth=0.5,
                transform=axes.get_xaxis_transform(),
                gid="beyond",
            )
