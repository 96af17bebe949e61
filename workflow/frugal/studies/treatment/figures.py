"""Figures of the treatment study: 2b, 3a, 3b and S1–S6 of Håkansson et al. (2020), and a tree.

A figure takes rows with the columns `facet` and `series`: the panel, and the line in it. Planners,
outcome models and bounds each have a fixed look. They show tables of means over repeats and know
neither how a policy was learned nor where a figure is kept.

Differs from the paper: bands are ± one standard deviation over repeats, where the paper's text
speaks of the variance, which is in the square of the axis' unit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from frugal.core.declarations import load_all
from frugal.draw import style
from frugal.draw.prints import PrintedFigure, draw_series, entry, finish, panels
from frugal.draw.style import Look
from frugal.studies.treatment.policy_tree import policy_tree_figure

MOST = {"efficacy": 1.0, "mean_trials": np.inf}  # values of a measure that can be: 0 to this
_PLANNERS = load_all("frugal.search.planners", "SearchPlanner").values()
SERIES: dict[str, Look] = {
    planner.name: Look(
        planner.label, style.COLOURS[planner.look[0]], planner.look[1], line=planner.look[2]
    )
    for planner in sorted(_PLANNERS, key=lambda planner: (planner.place, planner.name))
} | {
    "observed": Look("records, first trial", style.BLACK, "*", line="none"),
    "smoothed": Look("smoothed table (_H)", style.BLUE, "o", line="-"),
    "forest": Look("random forest (_F)", style.VERMILLION, "s", line="--"),
    "uninformed": Look("uninformed table (_U)", style.ORANGE, "v", line="-."),
    "true": Look("true model (_T)", style.BLACK, "X", line=":"),
    "upper": Look("upper bound (_U)", style.BLUE, "o", line="-"),
    "exact": Look("no bound (_E)", style.BLACK, "X", line=":"),
    "lower": Look("lower bound (_L)", style.ORANGE, "v", line="--"),
}
_NEARLY = 0.95  # share of the highest efficacy that is as good
_PLACE: dict[str, Any] = {"by": "series", "x": "mean_trials", "y": "efficacy"}
_TRIALS = "trials per unit (mean)"


def series_order(names: Iterable[str]) -> list[str]:
    """Distinct names in the order in which every figure lists them."""
    return style.order_of(names, SERIES, subject="series")


def facet_order(names: Iterable[str]) -> list[str]:
    """Distinct panels: those with a look in its order, others as they come."""
    distinct = list(dict.fromkeys(names))
    return [n for n in SERIES if n in distinct] + [n for n in distinct if n not in SERIES]


def facet_title(name: str) -> str:
    """A panel's name: the words of its look, or itself."""
    label = SERIES[name].label if name in SERIES else name
    return label[:1].upper() + label[1:]


def _series_handles(names: Iterable[str]) -> list[Line2D]:
    return [SERIES[name].handle(line=SERIES[name].line) for name in series_order(names)]


def _quoted(name: str) -> str:
    return style.quoted(SERIES[name].label)


def _marker_size(rows: pd.DataFrame) -> float:
    """Points of type; smaller where many markers share a line."""
    return 4.0 if rows.groupby("series").size().max() <= 15 else 2.2


def _standard_errors(rows: pd.DataFrame, measure: str) -> Float[np.ndarray, "2 n"]:
    """Ends of bars of ± one standard error of efficacy or trials, cut where they can be."""
    value, error = (rows[c].to_numpy(dtype=float) for c in (measure, f"{measure}_se"))
    return style.whiskers(value, error, most=MOST[measure])


def _facets(
    means: pd.DataFrame, needed: str, *, height_in: float
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """A line of panels of efficacy over trials with common axes, and the rows of each."""
    columns = "facet series efficacy mean_trials efficacy_se mean_trials_se"
    style.require(means, f"{columns} {needed}", single="repeats")
    series_order(means["series"])
    names = facet_order(means["facet"])
    figure, line = panels(
        len(names), len(names), line_in=height_in, more_in=0.0, sharex=True, sharey=True
    )
    for axes, name in zip(line, names, strict=True):
        axes.set_title(facet_title(name), loc="left")
        axes.set_xlabel(_TRIALS)
    line[0].set_ylabel("efficacy\n(share with a near-optimal find)")
    return figure, [
        (axes, means[means["facet"] == name]) for axes, name in zip(line, names, strict=True)
    ]


@PrintedFigure(name="data_size", place=10, stages=("draw_world_figures",))
def data_size_figure(growth: pd.DataFrame, title: str) -> Figure:
    """Efficacy and trials as the training set grows [treatment, fig. 2b].

    A panel per outcome model, a path per planner: hollow at the smallest training set, filled at
    the largest, dots between; bars are ± one standard error over realisations.

    Args:
        growth: facet, series, n_train, efficacy, mean_trials with their `_se`, repeats; one
            threshold per planner.
        title: of the data set.
    """
    figure, facets = _facets(growth, "n_train", height_in=2.9)
    for axes, rows in facets:
        _draw_growth(axes, rows.sort_values("n_train"))
    sizes = sorted({int(n) for n in growth["n_train"]})
    mark = {"marker": "o", "linestyle": "none"}
    handles = [
        *_series_handles(growth["series"]),
        entry(f"n = {sizes[0]:,}", markerfacecolor="white", **mark),
        entry(f"n = {sizes[-1]:,}", **mark),
    ]
    if sizes[1:-1]:
        between = ", ".join(f"{n:,}" for n in sizes[1:-1])
        handles.append(entry(f"n = {between}", markersize=2, **mark))
    grown = growth[growth["n_train"] == sizes[-1]]
    repeats = growth["repeats"].iloc[0]
    finding = f"{search_finding(grown)}; ± 1 s.e. over {repeats} realisations"
    return finish(figure, title, finding, handles)


def _draw_growth(axes: Axes, rows: pd.DataFrame) -> None:
    """Paths of planners from the smallest training set to the largest, ends with error bars."""
    draw_series(axes, rows, SERIES, line=0.9, size=0.0, alpha=0.7, **_PLACE)
    ends = rows.groupby("series")["n_train"].agg(["min", "max"]).loc[rows["series"]]
    first, last = (rows["n_train"].to_numpy() == ends[end].to_numpy() for end in ("min", "max"))
    draw_series(axes, rows[~first & ~last], SERIES, line=None, size=2.0, **_PLACE)
    hollow = {name: replace(look, hollow=True) for name, look in SERIES.items()}
    for part, looks in ((rows[first], hollow), (rows[last & ~first], SERIES)):
        across, up = (_standard_errors(part, c) for c in ("mean_trials", "efficacy"))
        draw_series(
            axes, part, looks, line=None, size=6.0, x_ends=across, y_ends=up, zorder=4, **_PLACE
        )


@PrintedFigure(
    name="tradeoff",
    place=30,
    stages=("draw_world_figures",),
    table="tradeoff",
    doc="efficacy against trials, planner by planner",
)
@PrintedFigure(
    name="bounds",
    place=40,
    stages=("draw_world_figures",),
    table="bounds",
    doc="efficacy against trials, bound by bound",
)
@PrintedFigure(
    name="table_tradeoff",
    place=20,
    stages=("draw_table_figures",),
    table="tradeoff",
    doc="efficacy against trials, planner by planner",
)
def tradeoff_figure(means: pd.DataFrame, title: str) -> Figure:
    """Efficacy against trials over thresholds [treatment, fig. 3b; fig. S2; fig. S3].

    A marker per threshold (δ, or λ of NDP), joined in their order; bars are ± one standard error
    over repeats.

    Args:
        means: facet, series, threshold, efficacy, mean_trials with their `_se`, repeats.
        title: of the data set.
    """
    figure, facets = _facets(means, "threshold", height_in=2.7)
    for axes, part in facets:
        rows = part.sort_values("threshold")
        across, up = (_standard_errors(rows, c) for c in ("mean_trials", "efficacy"))
        size = _marker_size(rows)
        draw_series(axes, rows, SERIES, size=size, x_ends=across, y_ends=up, **_PLACE)
    finding = f"{search_finding(means)}; ± 1 s.e. over {means['repeats'].iloc[0]} repeats"
    return finish(figure, title, finding, _series_handles(means["series"]))


@PrintedFigure(
    name="size_curves",
    place=20,
    stages=("draw_world_figures",),
    table="growth",
    fixed={"x": "n_train"},
    doc="the same, measure by measure",
)
@PrintedFigure(
    name="thresholds",
    place=50,
    stages=("draw_world_figures",),
    table="thresholds",
    fixed={"x": "threshold"},
    doc="models and bounds along δ",
)
@PrintedFigure(
    name="delta",
    place=30,
    stages=("draw_table_figures",),
    table="delta",
    fixed={"x": "threshold"},
    doc="efficacy and trials along δ",
)
@PrintedFigure(
    name="price",
    place=40,
    stages=("draw_table_figures",),
    table="price",
    fixed={"x": "threshold"},
    doc="efficacy and trials along λ",
)
def profile_figure(means: pd.DataFrame, x: str, title: str) -> Figure:
    """Efficacy and trials over training size or threshold [treatment, fig. S1; figs S4–S6].

    Efficacy above, trials below, a column per panel; bands are ± one standard deviation over
    repeats. Sizes are on a logarithmic axis.

    Args:
        means: facet, series, the column x, efficacy, mean_trials with their `_variance`, repeats.
        x: `n_train` or `threshold`; of thresholds, `parameter` names them: δ or λ.
        title: of the data set.
    """
    extra = "parameter" if x == "threshold" else ""
    needed = f"facet series efficacy mean_trials {x} efficacy_variance mean_trials_variance {extra}"
    style.require(means, needed, single="repeats")
    series_order(means["series"])
    names = facet_order(means["facet"])
    figure = style.new_figure(height_in=4.0)
    grid = figure.subplots(2, len(names), sharex="col", sharey="row", squeeze=False)
    for name, column in zip(names, grid.T, strict=True):
        part = means[means["facet"] == name].sort_values(x)
        for axes, y in zip(column, MOST, strict=True):
            middle, variance = (part[c].to_numpy(dtype=float) for c in (y, f"{y}_variance"))
            ends = style.whiskers(middle, np.sqrt(variance), most=MOST[y])
            size = _marker_size(part)
            draw_series(
                axes, part, SERIES, by="series", x=x, y=y, size=size, y_ends=ends, ends="band"
            )
            if x == "n_train":
                axes.set_xscale("log")
                axes.minorticks_off()
        column[0].set_title(facet_title(name), loc="left")
        column[1].set_xlabel(_x_label(part, x))
    grid[0, 0].set_ylabel("efficacy")
    low, high = grid[0, 0].get_ylim()
    grid[0, 0].set_ylim(low, min(high, 1 + 0.05 * (1 - low)))  # a share
    grid[1, 0].set_ylabel(_TRIALS)
    grown = means[means[x] == means[x].max()] if x == "n_train" else means
    handles = _name_series(list(grid[0]), means)
    return finish(figure, title, search_finding(grown), handles)


def _name_series(tops: list[Axes], means: pd.DataFrame) -> list[Any]:
    """Entries of one legend; of the band alone where facets show and name different series."""
    band = Patch(color=style.lightened(style.GREY, share=0.6), label="± 1 s.d. over repeats")
    kinds = [set(means.loc[means["facet"] == f, "series"]) for f in facet_order(means["facet"])]
    if all(kind == kinds[0] for kind in kinds):
        return [*_series_handles(means["series"]), band]
    for axes, names in zip(tops, kinds, strict=True):
        axes.legend(handles=_series_handles(names), loc="lower left", handlelength=2.2)
    return [band]


def _x_label(rows: pd.DataFrame, x: str) -> str:
    if x == "n_train":
        return "training units"
    words = {"δ": "confidence parameter δ", "λ": "price of a trial λ (outcome value)"}
    return words[str(rows["parameter"].iloc[0])]


def search_finding(means: pd.DataFrame) -> str:
    """Who needs the fewest trials for nearly the highest efficacy, and who the most.

    Args:
        means: facet, series, efficacy, mean_trials; of the first facet.
    """
    facet = facet_order(means["facet"])[0]
    rows = means[means["facet"] == facet].dropna(subset=["efficacy", "mean_trials"])
    where = f" ({facet_title(facet)})" if means["facet"].nunique() > 1 else ""
    if not len(rows):
        return f"no search has ended{where}"
    level = _NEARLY * float(rows["efficacy"].max())
    least = rows[rows["efficacy"] >= level].groupby("series", observed=True)["mean_trials"].min()
    first, last = str(least.idxmin()), str(least.idxmax())
    share = f"{100 * level:.0f} % of units"
    if len(least) == 1:
        return f"only {_quoted(first)} finds for {share}, in {least[first]:.2f} trials{where}"
    return (
        f"to find for {share} {_quoted(first)} needs {least[first]:.2f} trials, {_quoted(last)} "
        f"{least[last]:.2f}{where}"
    )


@PrintedFigure(name="search_curves", place=10, stages=("draw_table_figures",))
def search_curve_figure(curves: pd.DataFrame, title: str, subtitle: str) -> Figure:
    """Best outcome found by the number of trials [treatment, fig. 3a].

    A line per planner: mean over all units of the best outcome so far, or at termination for
    searches that have ended; bars are ± one standard error over splits. The star is the mean
    outcome of the first trial in the records: later ones are seen of some units only.

    Args:
        curves: series, trials, outcome, outcome_se, repeats.
        title: of the data set.
        subtitle: which model and parameters.
    """
    style.require(curves, "series trials outcome outcome_se repeats")
    figure = style.new_figure(height_in=2.8)
    axes = figure.subplots()
    handles = _series_handles(curves["series"])
    rows = curves.sort_values("trials")
    first = rows["series"] == "observed"
    for part, size in ((rows[~first], 5.0), (rows[first], 9.0)):
        mean, error = (part[c].to_numpy(dtype=float) for c in ("outcome", "outcome_se"))
        ends = style.whiskers(mean, error, least=-np.inf, most=np.inf)
        draw_series(
            axes, part, SERIES, by="series", x="trials", y="outcome", size=size, y_ends=ends
        )
    axes.set_xticks(np.arange(1, int(curves["trials"].max()) + 1))
    axes.set_xlabel("trials")
    axes.set_ylabel("best outcome so far\n(mean value: R 0, I 1, S 2)")
    return finish(figure, title, f"{curves_finding(curves)}; {subtitle}", handles)


def curves_finding(table: pd.DataFrame) -> str:
    """Final outcomes of searches, and outcomes of the first trial of the records.

    Args:
        table: series, trials, outcome.
    """
    end = table[table["trials"] == table["trials"].max()].set_index("series")["outcome"].dropna()
    end = end.drop("observed", errors="ignore")
    begun = table.loc[table["series"] == "observed", "outcome"].dropna()
    if not len(end):
        return "best outcome so far"
    best = str(end.idxmax())
    finding = f"{_quoted(best)} comes to {end[best]:.2f}"
    return f"{finding}, the records' first trial to {begun.iloc[0]:.2f}" if len(begun) else finding


@PrintedFigure(
    name="tree", place=90, stages=("draw_world_figures", "draw_table_figures"), table="tree"
)
def tree_figure(tree: pd.DataFrame, name: str, contexts: Sequence[str], best: str) -> Figure:
    """A policy as a tree."""
    return policy_tree_figure(tree, contexts=contexts, name=name, best=best)
