"""Figures of the afape study on how far estimates scatter: with sample size and resampling.

Counterparts of Figs 5, 6, A.4 and A.5 of the paper. They place marks from tidy tables and know
neither how an estimate was made nor where a figure is kept.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from frugal.core.errors import DataError
from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.studies.afape.figures import seen
from frugal.studies.afape.figures.given import Study
from frugal.studies.afape.figures.style import (
    ESTIMATORS,
    agent_label,
    agent_order,
    estimator_order,
    estimator_style,
    facet_columns,
    name_facets,
    scenario_order,
    scenario_title,
    window,
)

MOST_SIZES = 6  # whose numbers stand side by side below a panel
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
    scenarios = scenario_order(convergence)
    agents = agent_order(convergence["agent"])
    estimators = estimator_order(convergence["estimator"])
    several = convergence["seed"].nunique() >= LEAST_SEEDS
    heights = [2.1 if len(scenarios) < 4 else 1.45] + [1.5 if len(scenarios) < 4 else 1.1] * several
    figure = style.new_figure(height_in=0.55 + sum(heights) * len(scenarios))
    grid = figure.subplots(
        len(heights) * len(scenarios), len(agents), sharex="row", sharey="row", squeeze=False,
        height_ratios=heights * len(scenarios),
    )  # fmt: skip
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
    said = seen.nearest_and_farthest(errors)
    alone = scenario_title(scenarios[0]) if len(scenarios) == 1 else ""
    figure.suptitle(style.titled(alone, said), x=0.01, ha="left")
    for axes in grid[-1]:
        axes.set_xlabel("number of data points (rows)")
    band = Patch(color=style.lightened(style.GREY, share=0.6), label="± 1 s.d. over seeds")
    style.add_legend(figure, [*_named(estimators, errors, line="-"), band])
    return figure


def _named(
    estimators: Sequence[str], errors: pd.DataFrame, line: style.Stroke = "none"
) -> list[Line2D]:
    """Entries of estimators with their mean error over what is drawn: the legend is a table."""
    off = seen.mean_errors(errors)
    places = style.decimals(off.to_numpy())
    looks = {name: estimator_style(name) for name in estimators}
    told = {name: f" (off by {off[name]:.{places}f})" for name in off.index if name in looks}
    told.pop("ground_truth", None)
    return [
        look.handle(line=line, label=f"{look.label}{told.get(name, '')}")
        for name, look in looks.items()
    ]


def _moments(rows: pd.DataFrame, estimators: Sequence[str]) -> pd.DataFrame:
    """Mean and standard deviation of the error over seeds: estimator, n, mean, spread.

    Not a number as soon as one seed has no estimate.
    """
    error = rows.assign(error=rows["estimate"] - rows["truth"]).pivot(
        index=["estimator", "n"], columns="seed", values="error"
    )
    kept = error[error.index.get_level_values("estimator").isin(list(estimators))]
    mean, spread = kept.mean(axis=1, skipna=False), kept.std(axis=1, ddof=1, skipna=False)
    return pd.DataFrame({"mean": mean, "spread": spread}).reset_index()


def _draw_errors(axes: Axes, moments: pd.DataFrame) -> None:
    """Mean and band of the error per estimator."""
    axes.axhline(0, color=style.BLACK, linewidth=0.7, linestyle="--", zorder=1)
    mean, spread = (moments[c].to_numpy(dtype=float) for c in ("mean", "spread"))
    draw_series(
        axes, moments, ESTIMATORS, by="estimator", x="n", y="mean",
        y_ends=np.array([mean - spread, mean + spread]), ends="band",
    )  # fmt: skip


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
    shown = estimator_order(summary["estimator"] if estimators is None else estimators)
    who = agent_order(summary["agent"] if agents is None else agents)
    scenarios = scenario_order(summary)
    columns = facet_columns(len(scenarios), slots=len(shown) * len(who), slot_in=0.11)
    lines = len(scenarios) // columns
    figure = style.new_figure(height_in=0.4 + (1.75 if lines < 5 else 1.4) * lines)
    grid = figure.subplots(lines, columns, squeeze=False, sharex=True).ravel()
    for axes, scenario in zip(grid, scenarios, strict=True):
        _draw_facet(axes, _of(resamples, scenario), _of(summary, scenario), shown, who)
        axes.set_title(scenario_title(scenario), loc="left")
    name_facets(grid, who, columns, f"estimated cost\nper case ({cost_unit})")
    kept = summary[(summary["status"] == "ok") & summary["estimator"].isin(shown)]
    errors = kept.assign(error=kept["estimate"] - kept["truth"])
    said = seen.nearest_and_farthest(errors)
    figure.suptitle(style.titled("", said), x=0.01, ha="left")
    style.add_legend(figure, _box_handles(figure, _named(shown, errors)))
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
    slots = pd.MultiIndex.from_product([agents, estimators], names=["agent", "estimator"])
    middles = 0.84 * ((np.arange(len(estimators)) + 0.5) / len(estimators) - 0.5)
    at = pd.Series(np.add.outer(np.arange(len(agents)), middles).ravel(), slots)
    ok = summary.set_index(["agent", "estimator"])["status"].reindex(slots) == "ok"
    rows = resamples.set_index(["agent", "estimator"])["estimate"].rename("estimate")
    rows = rows[rows.index.isin(slots[ok])]
    whole = rows.notna().groupby(level=[0, 1]).all().reindex(slots)
    _draw_boxes(axes, rows.reset_index(), whole, list(agents), list(estimators))
    quartiles = rows.groupby(level=[0, 1]).quantile(np.array([0.25, 0.5, 0.75])).unstack()
    boxes = quartiles.reindex(index=slots, columns=[0.25, 0.5, 0.75])
    boxes.columns = ["q1", "med", "q3"]
    boxes = boxes.assign(at=at).reset_index()
    found = boxes[boxes["med"].notna()]
    draw_series(
        axes, found, ESTIMATORS, by="estimator", x="at", y="med", line=None, size=3.0, zorder=5,
        gid="median",
    )  # fmt: skip
    truth = summary.groupby("agent")["truth"].first().reindex(list(agents)).to_numpy(dtype=float)
    axes.hlines(
        truth, np.arange(len(agents)) - 0.46, np.arange(len(agents)) + 0.46,
        color=style.BLACK, linewidth=1.0, linestyle=(0, (3, 1.5)), zorder=4, gid="truth",
    )  # fmt: skip
    _limit(axes, found, truth)
    for place in at[boxes["med"].isna().to_numpy()]:
        axes.plot(
            place, 0.04, "x", color=style.GREY, markersize=4, gid="no estimate",
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip
    style.shade_every_second(axes, len(agents), vertical=True)
    axes.set_xlim(-0.5, len(agents) - 0.5)


def _draw_boxes(
    axes: Axes, rows: pd.DataFrame, whole: pd.Series, agents: list[str], estimators: list[str]
) -> None:
    """The boxes in their estimators' colours, each in its slot; hollow ones lack resamples."""
    rows = rows.assign(at=[float(agents.index(name)) for name in rows["agent"]]).dropna(
        subset="estimate"
    )
    full = pd.Series(whole.reindex(pd.MultiIndex.from_frame(rows[["agent", "estimator"]])))
    for (name, is_whole), part in rows.groupby(["estimator", full.to_numpy(dtype=bool)]):
        look = estimator_style(str(name))
        steps = np.diff(np.unique(part["at"]))
        sns.boxplot(
            part, x="at", y="estimate", hue="estimator", hue_order=estimators, native_scale=True,
            width=0.84 / steps.min(initial=len(agents)) if len(steps) else 0.84, gap=0.2,
            dodge=True, linecolor=look.colour, linewidth=0.8, saturation=1, legend=False,
            palette=dict.fromkeys(
                estimators, style.lightened(look.colour, share=0.55) if is_whole else "white"
            ),
            flierprops={"marker": ".", "markersize": 1.5}, ax=axes, zorder=3,
        )  # fmt: skip
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
                at, 0.97 if median > top else 0.03, "^" if median > top else "v", markersize=4,
                color=estimator_style(name).colour, markeredgecolor=style.BLACK,
                markeredgewidth=0.5, transform=axes.get_xaxis_transform(), gid="beyond",
            )  # fmt: skip


def _box_handles(figure: Figure, named: Sequence[Line2D]) -> list[Line2D | Patch]:
    """Entries for the estimators, the truth, and those special marks which the figure holds."""
    marks = {line.get_gid() for axes in figure.axes for line in axes.lines}
    hollow = any(
        patch.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
        for axes in figure.axes
        for patch in axes.patches
    )
    handles: list[Line2D | Patch] = [*named]
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


def _errors(given: Study) -> tuple[Figure, pd.DataFrame]:
    """Convergence to the truth; a sentence in its place where there is no error to show."""
    lines = given.convergence
    if len(lines):
        return convergence_figure(lines, **given.unit), lines
    said = "None of the chosen estimators has an estimate: no error to show."
    if given.summary["truth"].isna().all():
        said = "The truth is unknown in every scenario: no error to show."
    return style.sentence_figure(said), lines


def _resamples(given: Study) -> tuple[Figure, pd.DataFrame]:
    return resample_figure(given.resamples, given.behind, **given.unit), given.resamples


CONVERGENCE = PrintedFigure(
    name="convergence",
    place=10,
    stages=("draw_study_figures",),
    draw=_errors,
    doc="errors of estimators as records grow in number",
)


RESAMPLES = PrintedFigure(
    name="resamples",
    place=20,
    stages=("draw_study_figures",),
    draw=_resamples,
    doc="estimates on resamples of the records",
)
