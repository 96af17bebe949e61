"""Figures of afape that open estimates up: acquisitions, nuisances, costs, errors, resamples.

Counterparts of Figs 5, 6, A.4, A.5 and A.6 of the paper; calibration and costs are ours. They show
tables of estimates and know neither how one was made nor where a figure is kept. Costs are in
`cost_unit`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator

from frugal.core.errors import DataError
from frugal.draw import style
from frugal.draw.prints import (
    PrintedFigure,
    draw_bars,
    draw_series,
    entry,
    finish,
    mark_edge,
    name_rows,
    panels,
)
from frugal.draw.style import agent_label
from frugal.judge.intervals import share_interval
from frugal.studies.afape.figures.style import (
    ESTIMATORS,
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
COMPARED = ("ground_truth", "blocking", "AFAIS")
AFAIS = ("stabilised_afais_s_policy", "stabilised_afais_s")  # the first that there is
LEAST_ROWS = 10  # of a bin whose rate is more than noise, so that a line goes through it
MOST_SIZES = 6  # whose numbers are in one row below a panel
LEAST_SEEDS = 5  # for a standard deviation to get its own axis
_PARTS = ("acquisition_cost", "misclassification_cost")
_SERIES = ["dataset", "mechanism", "agent", "estimator"]
_QUARTERS = ([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
_QUANTILES = {"low": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "high": 0.95}
_PALE = to_hex(style.lightened(style.GREY, share=0.65))
_GROUP = 0.84  # width of an agent's slots
_BINS = {
    "joined": style.Look("bins of ten rows or more, 95 % interval", style.BLUE, "o"),
    "few": style.Look("bins of fewer rows", style.BLUE, "o", hollow=True, line="none"),
}


def _compared(table: pd.DataFrame) -> list[str]:
    """Truth, blocking and AFAIS by the known policy, as in the paper if there is none.

    The paper's form is biased for policies that read values, and for one that never acquires its
    two fits need not agree; so it is shown only where the other cannot be computed.
    """
    available = set(table["estimator"])
    form = next((name for name in AFAIS if name in available), AFAIS[-1])
    return [form if name == "AFAIS" else name for name in COMPARED]


def _in_scenario(table: pd.DataFrame, scenario: tuple[str, str]) -> pd.DataFrame:
    """Rows of one scenario; none are allowed."""
    return table[(table["dataset"] == scenario[0]) & (table["mechanism"] == scenario[1])]


def _facets(
    scenarios: Sequence[tuple[str, str]], agents: Sequence[str], slot_in: float, line_in: float
) -> tuple[Figure, list[Axes], int]:
    """A facet per scenario with its title, agents at 0, 1, 2, …, and how many are side by side."""
    columns = facet_columns(len(scenarios), slots=len(agents), slot_in=slot_in)
    figure, grid = panels(len(scenarios), columns, line_in, 0.4, sharex=True)
    for axes, scenario in zip(grid, scenarios, strict=True):
        axes.set_title(scenario_title(scenario), loc="left")
        axes.set_xlim(-0.5, len(agents) - 0.5)
        style.shade_every_second(axes, len(agents), vertical=True)
    return figure, grid, columns


@PrintedFigure(name="frequency", place=40, stages=("draw_scenario_figures",))
def frequency_figure(frequencies: pd.DataFrame) -> Figure:
    """How often an agent acquires each panel: blocked, estimated, true.

    A row per panel, a mark per estimator, whiskers of ± one standard error. AFAIS is the one by the
    policy where there is one.                                              [afape, fig. A.6]

    Rows: estimator, panel, frequency, std_error (may be NaN), of one dataset, mechanism, agent and
    seed. Panels are in the order of the table.

    Raises:
        DataError: there is no row of the three estimators.
    """
    needed = "estimator panel frequency std_error"
    style.require(frequencies, needed, single="dataset mechanism agent seed")
    compared = _compared(frequencies)
    rows = frequencies[frequencies["estimator"].isin(compared)]
    if rows.empty:
        estimators = ", ".join(sorted(set(frequencies["estimator"])))
        raise DataError(f"the figure compares {', '.join(compared)}; the table holds {estimators}")
    names = list(dict.fromkeys(frequencies["panel"]))
    looks = {name: estimator_style(name) for name in compared if name in set(rows["estimator"])}
    places = {name: 0.22 * (compared.index(name) - 1) for name in looks}
    y = [names.index(p) + places[e] for p, e in zip(rows["panel"], rows["estimator"], strict=True)]
    rows = rows.assign(y=y)
    ends = style.whiskers(*(rows[c].to_numpy(dtype=float) for c in ("frequency", "std_error")))
    marks = {"line": None, "x_ends": ends, "clip_on": False}
    figure, (axes,) = panels(1, 1, 0.75 + 0.3 * len(names))
    draw_series(axes, rows, looks, "estimator", "frequency", "y", **marks)
    name_rows(axes, [style.words(name) for name in names])
    axes.set(xlabel="share of cases", xlim=(0, 1))
    handles = [
        *(look.handle() for look in looks.values()),
        entry("± 1 standard error", linewidth=0.9),
    ]
    first = frequencies.iloc[0]
    shares = {name: rows[rows["estimator"] == name] for name in looks}
    by_panel = {name: part.set_index("panel")["frequency"] for name, part in shares.items()}
    finding = frequency_finding(by_panel, first["agent"])
    return finish(figure, scenario_title((first["dataset"], first["mechanism"])), finding, handles)


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
    blocked_share, true = (f"{100 * share[panel]:.0f} %" for share in (blocked, truth))
    if blocked_share == true:
        return f"blocking keeps every share of {agent_label(agent)}"
    return (
        f"{agent_label(agent)} would acquire {style.words(panel)} for {true} of cases, not the "
        f"{blocked_share} that missing values leave"
    )


@PrintedFigure(name="calibration", place=50, stages=("draw_scenario_figures",))
def calibration_figure(calibration: pd.DataFrame, estimates: pd.DataFrame) -> Figure:
    """Fitted probabilities against observed rates, and how many reach zero.

    A pair of panels per nuisance, with the method that fitted it. Top: observed rate against mean
    fitted probability, with the diagonal of perfect calibration; bins of few rows are hollow and
    not joined. Bottom: rows of each bin at its mean probability, on a logarithmic axis: rows at the
    left edge are those that carry large weights.

    Rows: nuisance, method (empty where it follows from others), bin, mean_probability, rate, n; one
    per nuisance and bin; none where nothing was fitted. `estimates`: status and reason of each, for
    the sentence in place of the figure.

    Raises:
        DataError: a column is missing, or a bin occurs twice.
    """
    if not len(calibration):
        return style.sentence_figure(_why_no_calibration(estimates))
    style.require(calibration, "nuisance method bin mean_probability rate n")
    for _, twice in calibration[calibration.duplicated(["nuisance", "bin"])].iterrows():
        raise DataError(
            f"bin {twice['bin']} of nuisance {twice['nuisance']!r} occurs twice; the figure shows "
            "one fit of each nuisance"
        )
    nuisances = list(dict.fromkeys(calibration["nuisance"]))
    columns = min(4, len(nuisances))
    lines = -(-len(nuisances) // columns)
    figure = style.new_figure(height_in=0.3 + 2.9 * lines)
    shared: dict[str, Any] = {"sharex": True, "sharey": "row", "squeeze": False}
    grid = figure.subplots(2 * lines, columns, height_ratios=[2, 1] * lines, **shared)
    pairs = grid.reshape(lines, 2, columns).swapaxes(1, 2).reshape(-1, 2)
    for axes in pairs[len(nuisances) :].ravel():
        axes.remove()
    for k, (name, (upper, lower)) in enumerate(zip(nuisances, pairs, strict=False)):
        rows = style.select(calibration, nuisance=name)
        _draw_bins(upper, lower, rows[rows["n"] > 0].sort_values("mean_probability"))
        title = ", ".join(part for part in (name, rows["method"].iloc[0]) if part)
        upper.set_title(style.wrapped(style.words(title), characters=90 // columns), loc="left")
        if k % columns == 0:
            upper.set_ylabel("observed rate")
            lower.set_ylabel("rows in bin")
    handles = [look.handle(line=look.line) for look in _BINS.values()]
    handles.append(entry("perfect calibration", linestyle="--", linewidth=0.9))
    finding = calibration_finding(calibration[calibration["n"] >= LEAST_ROWS])
    return finish(figure, "", finding, handles)


def _why_no_calibration(estimates: pd.DataFrame) -> str:
    reasons = estimates.loc[estimates["status"] == "not_identified", "reason"]
    if len(reasons):
        return f"Not identified, nothing fitted. {reasons.iloc[0]}"
    return "No fitted probability serves any test row: nothing to calibrate."


def _draw_bins(upper: Axes, lower: Axes, rows: pd.DataFrame) -> None:
    """Rates of the bins with 95 % intervals, those of few not joined; numbers of rows below."""
    counts = zip(rows["rate"], rows["n"].astype(int), strict=True)
    ends = [share_interval(round(rate * n), n, level=0.95) for rate, n in counts]
    rows = rows.assign(low=[low for low, _ in ends], high=[high for _, high in ends])
    few = rows["n"] < LEAST_ROWS
    joined = rows.assign(kind="joined", rate=rows["rate"].mask(few))  # the line has gaps
    drawn = pd.concat([joined, rows[few].assign(kind="few")])
    upper.plot([0, 1], [0, 1], color=style.GREY, linestyle="--", linewidth=0.9)
    marks = {"y_ends": ("low", "high"), "clip_on": False}
    draw_series(upper, drawn, _BINS, "kind", "mean_probability", "rate", **marks)
    at, n = (rows[c].to_numpy(dtype=float) for c in ("mean_probability", "n"))
    draw_bars(lower, at, n - 0.5, style.BLUE, 0.04, base=0.5)  # from half a row
    upper.set_ylim(-0.03, 1.03)
    lower.set(yscale="log", xlabel="fitted probability", xlim=(-0.03, 1.03))
    lower.set_ylim(bottom=0.5)
    lower.yaxis.set_major_locator(LogLocator(numticks=5))
    lower.minorticks_off()
    lower.tick_params(labelbottom=True)
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
    """Costs of an agent: acquisition below, misclassification on top.

    A facet per scenario; per agent three bars: truth, blocking and stabilised AFAIS, the one by the
    policy unless no row has it. A grey cross marks where there is no estimate.

    Rows: dataset, mechanism, agent, estimator, status, acquisition_cost, misclassification_cost, of
    one seed.

    Raises:
        DataError: a column is missing, there is no row of the three estimators, or several seeds.
    """
    style.require(estimates, f"{' '.join((*_SERIES, *_PARTS))} status", single="seed")
    shown = _compared(estimates[estimates["status"] == "ok"])
    rows = estimates[estimates["estimator"].isin(shown)]
    if rows.empty:
        raise DataError(f"the figure compares {', '.join(shown)}; the table holds none of them")
    scenarios, agents = scenario_order(rows), agent_order(rows["agent"])
    figure, grid, columns = _facets(scenarios, agents, 0.45, 1.8)
    wide = _GROUP / len(shown)
    for axes, scenario in zip(grid, scenarios, strict=True):
        part = _in_scenario(rows, scenario).set_index(["estimator", "agent"])
        for k, name in enumerate(shown):
            mine = part.reindex([(name, agent) for agent in agents])
            x, ok = np.arange(len(agents)) + (k - 1) * wide, (mine["status"] == "ok").to_numpy()
            below, above = (mine[c].to_numpy(dtype=float)[ok] for c in _PARTS)
            colour = estimator_style(name).colour
            pale = style.lightened(colour, share=0.75)
            for base, length, fill in ((0 * below, below, colour), (below, above, pale)):
                draw_bars(axes, x[ok], length, fill, 0.9 * wide, base=base, edge=colour)
            cross = {"along": "x", "gid": "no estimate"}
            mark_edge(axes, x[~ok], np.full((~ok).sum(), 0.04), "x", **cross)
    name_facets(grid, agents, columns, f"run-time cost\nper case ({cost_unit})")
    total = rows[rows["status"] == "ok"].assign(cost=rows[list(_PARTS)].sum(axis=1))
    fills = {"acquisition": style.GREY, "misclassification": _PALE}
    handles = [
        *(Patch(facecolor=look.colour, label=look.label) for look in map(estimator_style, shown)),
        *(Patch(facecolor=c, edgecolor=style.GREY, label=label) for label, c in fills.items()),
    ]
    return finish(figure, "", costs_finding(total), handles)


def costs_finding(rows: pd.DataFrame) -> str:
    """The policy whose cost blocking misstates most, against the truth.

    Args:
        rows: dataset, mechanism, agent, estimator, cost, of the computable rows.
    """
    keys = ["dataset", "mechanism", "agent"]
    table = rows.pivot(index=keys, columns="estimator", values="cost")
    table = table.reindex(columns=[BLOCKING, "ground_truth"])
    off = (table[BLOCKING] - table["ground_truth"]).dropna()
    if not len(off):
        return "costs of policies: panels and errors"
    places = style.decimals(table["ground_truth"].to_numpy(dtype=float))
    at = int(off.abs().to_numpy().argmax())
    agent, by = agent_label(str(off.index[at][-1])), float(off.iloc[at])
    less = "less" if by < 0 else "more"
    return f"by blocking {agent} seems to cost {abs(by):.{places}f} {less} than it truly does"


@PrintedFigure(name="convergence", place=10, stages=("draw_study_figures",))
def convergence_figure(convergence: pd.DataFrame, summary: pd.DataFrame, cost_unit: str) -> Figure:
    """Errors of estimators as records grow in number.

    A row of panels per scenario, a panel per agent. Line: mean over seeds of estimate − truth;
    band: ± one standard deviation over seeds (no band from a single seed). Below, from five seeds
    on: that standard deviation alone, both axes logarithmic, which separates unbiased estimators
    that lie on each other above. Where a seed has no estimate at some size, the line has a gap
    there: the mean of the other seeds would be another quantity.            [afape, fig. 5]

    Rows: dataset, mechanism, agent, estimator, seed, n, estimate, truth. `summary`: truth of every
    estimate, for the sentence in place of a figure without rows.
    """
    if not len(convergence):
        why = "None of the chosen estimators has an estimate"
        why = "The truth is unknown in every scenario" if summary["truth"].isna().all() else why
        return style.sentence_figure(f"{why}: no error to show.")
    style.require(convergence, f"{' '.join(_SERIES)} seed n estimate truth")
    scenarios, agents = scenario_order(convergence), agent_order(convergence["agent"])
    estimators = estimator_order(convergence["estimator"])
    several = convergence["seed"].nunique() >= LEAST_SEEDS
    heights = ([2.1, 1.5] if len(scenarios) < 4 else [1.45, 1.1])[: 1 + several]
    figure = style.new_figure(height_in=0.55 + sum(heights) * len(scenarios))
    shape = (len(scenarios), len(heights), len(agents))
    shared: dict[str, Any] = {"sharex": "row", "sharey": "row", "squeeze": False}
    ratios = heights * len(scenarios)
    grid = figure.subplots(shape[0] * shape[1], shape[2], height_ratios=ratios, **shared)
    errors = convergence.assign(error=convergence["estimate"] - convergence["truth"])
    for scenario, lines in zip(scenarios, grid.reshape(shape), strict=True):
        rows = _in_scenario(errors, scenario)
        where = f"{scenario_title(scenario)}: " if len(scenarios) > 1 else ""
        for agent, column in zip(agents, lines.T, strict=True):
            _draw_errors(list(column), _moments(rows[rows["agent"] == agent]))
            column[0].set_title(where + agent_label(agent), loc="left")
        for axes in lines.ravel():
            _name_sizes(axes, sorted(set(rows["n"])))
        words = (
            f"error of the cost\nper case ({cost_unit})",
            f"its s.d. over\nseeds ({cost_unit})",
        )
        for axes, label in zip(lines[:, 0], words, strict=False):
            axes.set_ylabel(label)
    for axes in grid[-1]:
        axes.set_xlabel("number of data points (rows)")
    last = errors[errors["n"] == errors.groupby(_SERIES)["n"].transform("max")]
    subject = scenario_title(scenarios[0]) if len(scenarios) == 1 else ""
    band = Patch(color=_PALE, label="± 1 s.d. over seeds")
    return finish(figure, subject, errors_finding(last), [*_named(estimators, last, "-"), band])


def _named(
    estimators: Sequence[str], errors: pd.DataFrame, line: style.Stroke = "none"
) -> list[Artist]:
    """Entries of estimators with their mean error over the rows drawn: the legend is a table."""
    off = mean_errors(errors)
    places = style.decimals(off.to_numpy())
    labels = {name: f" (off by {error:.{places}f})" for name, error in off.items()}
    labels.pop("ground_truth", None)
    looks = {name: estimator_style(name) for name in estimators}
    return [
        look.handle(line=line, label=f"{look.label}{labels.get(name, '')}")
        for name, look in looks.items()
    ]


def _moments(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation of the error over seeds: estimator, n, mean, low, high, spread.

    Not a number as soon as one seed has no estimate. A spread of rounding alone is none, as a
    logarithmic axis has no place for it.
    """
    error = rows.pivot(index=["estimator", "n"], columns="seed", values="error")
    mean, spread = error.mean(axis=1, skipna=False), error.std(axis=1, ddof=1, skipna=False)
    ends = {"low": mean - spread, "high": mean + spread}
    most = spread.groupby(level="estimator").transform("max")
    shown = spread.where(spread > 1e-9 * most)
    return pd.DataFrame({"mean": mean, **ends, "spread": shown}).reset_index()


def _draw_errors(column: Sequence[Axes], moments: pd.DataFrame) -> None:
    """Mean and band of the error per estimator, and below, if there is room, the spread alone."""
    column[0].axhline(0, color=style.BLACK, linewidth=0.7, linestyle="--", zorder=1)
    band = {"y_ends": ("low", "high"), "ends": "band"}
    draw_series(column[0], moments, ESTIMATORS, "estimator", "n", "mean", **band)
    for axes in column[1:]:
        draw_series(axes, moments, ESTIMATORS, "estimator", "n", "spread")
        axes.set_yscale("log")


def _name_sizes(axes: Axes, sizes: Sequence[int]) -> None:
    """A logarithmic axis over numbers of rows; the numbers themselves where they have room."""
    axes.set_xscale("log")
    axes.minorticks_off()
    if len(sizes) <= MOST_SIZES:
        axes.set_xticks(sizes, [f"{n:,}" for n in sizes])


def mean_errors(errors: pd.DataFrame) -> pd.Series:
    """Estimator → mean of its absolute errors, where there is one; of estimator, error."""
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
    near, far = (quoted_estimator(str(name)) for name in (off.idxmin(), off.idxmax()))
    return (
        f"in the mean nearest to the truth is {near}, off by {off.min():.{places}f}; "
        f"farthest {far}, by {off.max():.{places}f}"
    )


@PrintedFigure(name="resamples", place=20, stages=("draw_study_figures",))
def resample_figure(resamples: pd.DataFrame, behind: pd.DataFrame, cost_unit: str) -> Figure:
    """Estimates on resamples of the records, grouped by agent.

    A facet per scenario. Mark: median; thick line: quartiles; thin line: 5 to 95 %. Dashed line:
    truth of the agent. A pale thick line lacks resamples in which no row had weight; a grey cross
    marks where there is no estimate at all; a triangle at the edge marks a median beyond the axis.
                                                     [afape, fig. 6; fig. A.4; fig. A.5]

    Rows: dataset, mechanism, agent, estimator, seed, resample, estimate; one seed. `behind`:
    dataset, mechanism, agent, estimator, seed, truth, status, of the same seed: the rows of the
    summary behind them, which decide which slots there are.

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
    tall = 1.75 if len(scenarios) < 5 else 1.4
    figure, grid, columns = _facets(scenarios, who, 0.11 * len(shown), tall)
    notes: set[str] = set()
    for axes, scenario in zip(grid, scenarios, strict=True):
        drawn, exact = (_in_scenario(table, scenario) for table in (resamples, behind))
        notes |= _draw_resamples(axes, drawn, exact, shown, who)
    name_facets(grid, who, columns, f"estimated cost\nper case ({cost_unit})")
    errors = behind[behind["status"] == "ok"]
    errors = errors.assign(error=errors["estimate"] - errors["truth"])
    beyond = {"marker": "^", "markeredgecolor": style.BLACK, "linestyle": "none"}
    optional = [
        entry("no estimate", marker="x", linestyle="none"),
        entry("median beyond the axis", "white", **beyond),
        entry("some resamples without support", _PALE, linewidth=3),
    ]
    handles = [
        *_named(shown, errors),
        entry("truth", style.BLACK, linestyle=(0, (3, 1.5))),
        entry("thick: quartiles; thin: 5 to 95 %", linewidth=3),
        *(handle for handle in optional if handle.get_label() in notes),
    ]
    return finish(figure, "", errors_finding(errors), handles)


def _draw_resamples(
    axes: Axes,
    resamples: pd.DataFrame,
    summary: pd.DataFrame,
    estimators: Sequence[str],
    agents: Sequence[str],
) -> set[str]:
    """Slots of an agent side by side around 0, 1, 2, …; returns the notes that the legend needs."""
    keys = ["agent", "estimator"]
    slots = pd.MultiIndex.from_product([agents, estimators], names=keys)
    middles = _GROUP * ((np.arange(len(estimators)) + 0.5) / len(estimators) - 0.5)
    places = np.arange(len(agents))
    ok = summary.set_index(keys)["status"].reindex(slots) == "ok"
    values = resamples.set_index(keys)["estimate"].rename("estimate")
    values = values[values.index.isin(slots[ok])]
    by_slot = values.groupby(level=[0, 1])
    boxes = by_slot.quantile(np.array([*_QUANTILES.values()])).unstack()
    boxes = boxes.reindex(index=slots, columns=[*_QUANTILES.values()]).set_axis(
        [*_QUANTILES], axis=1
    )
    lacks = by_slot.count().reindex(slots) < by_slot.size().reindex(slots)
    boxes = boxes.assign(at=np.add.outer(places, middles).ravel(), lacks=lacks).reset_index()
    drawn = boxes[boxes["median"].notna()]
    looks = [estimator_style(name) for name in drawn["estimator"]]
    colours = [
        style.lightened(look.colour, share=0.6 if lacking else 0.0)
        for look, lacking in zip(looks, drawn["lacks"], strict=True)
    ]
    axes.vlines(drawn["at"], drawn["q1"], drawn["q3"], color=colours, linewidth=3)
    marks = {"line": None, "size": 3.0, "zorder": 5, "gid": "median", "y_ends": ("low", "high")}
    draw_series(axes, drawn, ESTIMATORS, "estimator", "at", "median", **marks)
    truth = summary.groupby("agent")["truth"].first().reindex(list(agents)).to_numpy(dtype=float)
    dashes: dict[str, Any] = {
        "color": style.BLACK,
        "linewidth": 1.0,
        "linestyle": (0, (3, 1.5)),
        "zorder": 4,
    }
    axes.hlines(truth, places - 0.46, places + 0.46, gid="truth", **dashes)
    blank = np.full(len(truth), np.nan)
    ends = (
        np.r_[drawn[c], more] for c, more in (("median", truth), ("low", blank), ("high", blank))
    )
    bottom, top = window(*ends)
    axes.set_ylim(bottom, top)
    notes = {"some resamples without support"} if drawn["lacks"].any() else set()
    for at in boxes.loc[boxes["median"].isna(), "at"]:
        mark_edge(axes, at, 0.04, "x", along="x", gid="no estimate")
        notes.add("no estimate")
    for at, median, look in zip(drawn["at"], drawn["median"], looks, strict=True):
        if not bottom <= median <= top:
            edge = {"markeredgecolor": style.BLACK, "markeredgewidth": 0.5, "gid": "beyond"}
            far, marker = (0.97, "^") if median > top else (0.03, "v")
            mark_edge(axes, at, far, marker, along="x", color=look.colour, **edge)
            notes.add("median beyond the axis")
    return notes
