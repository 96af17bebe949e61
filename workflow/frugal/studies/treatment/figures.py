"""Figures of the treatment study: 2b, 3a, 3b and S1–S6 of Håkansson et al. (2020), and a tree.

A figure takes rows with the columns `facet` and `series`: the panel, and the line in it. Planners,
outcome models and bounds each have a fixed look. They show tables of means over repeats and know
neither how a policy was learned nor where a figure is kept. Titles begin with the data set's name.

Differs from the paper: bands are ± one standard deviation over repeats, where the paper's text
speaks of the variance, which is in the square of the axis' unit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from frugal.core.declarations import load_all
from frugal.draw import style
from frugal.draw.prints import PrintedFigure, draw_series, entry, finish, panels
from frugal.draw.style import Look
from frugal.studies.treatment.policy_tree import policy_tree_figure

MOST = {"efficacy": 1.0, "mean_trials": np.inf}  # values of a measure that can be: 0 to this
_PLANNERS = load_all("frugal.studies.treatment.planners", "SearchPlanner").values()
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
_PLACE = ("series", "mean_trials", "efficacy")
_TRIALS = "trials per unit (mean)"
_X_LABELS = {"δ": "confidence parameter δ", "λ": "price of a trial λ (outcome value)"}
series_order = partial(style.order_of, looks=SERIES, subject="series")


def facet_order(names: Iterable[str]) -> list[str]:
    """Distinct panels: those with a look in its order, others as they come."""
    distinct = list(dict.fromkeys(names))
    return [n for n in SERIES if n in distinct] + [n for n in distinct if n not in SERIES]


def facet_title(name: str) -> str:
    """A panel's name: the words of its look, or itself."""
    label = SERIES[name].label if name in SERIES else name
    return label[:1].upper() + label[1:]


def _handles(names: Iterable[str]) -> list[Artist]:
    return [SERIES[name].handle(line=SERIES[name].line) for name in series_order(names)]


def _marker_size(rows: pd.DataFrame) -> float:
    """Points of type; smaller where many markers share a line."""
    return 4.0 if rows.groupby("series").size().max() <= 15 else 2.2


def _ends(rows: pd.DataFrame, measure: str, spread: pd.Series) -> Float[np.ndarray, "2 n"]:
    """Ends of bars of ± one spread of efficacy or trials, cut where they can be."""
    value, around = (column.to_numpy(dtype=float) for column in (rows[measure], spread))
    return style.whiskers(value, around, most=MOST[measure])


def _draw_with_errors(
    axes: Axes, rows: pd.DataFrame, looks: Mapping[str, Look], line: float | None, size: float
) -> None:
    """Efficacy over trials with bars of ± one standard error along both axes."""
    across, up = (_ends(rows, name, rows[f"{name}_se"]) for name in ("mean_trials", "efficacy"))
    draw_series(axes, rows, looks, *_PLACE, line=line, size=size, x_ends=across, y_ends=up)


def _facets(
    means: pd.DataFrame, needed: str, height_in: float
) -> tuple[Figure, list[tuple[Axes, pd.DataFrame]]]:
    """A line of panels of efficacy over trials with common axes, and the sorted rows of each."""
    columns = "facet series efficacy mean_trials efficacy_se mean_trials_se"
    style.require(means, f"{columns} {needed}", single="repeats")
    series_order(means["series"])
    names = facet_order(means["facet"])
    figure, line = panels(len(names), len(names), height_in, sharex=True, sharey=True)
    for axes, name in zip(line, names, strict=True):
        axes.set_title(facet_title(name), loc="left")
        axes.set_xlabel(_TRIALS)
    line[0].set_ylabel("efficacy\n(share with a near-optimal find)")
    parts = (means[means["facet"] == name].sort_values(needed) for name in names)
    return figure, list(zip(line, parts, strict=True))


@PrintedFigure(name="data_size", place=10, stages=("draw_world_figures",))
def data_size_figure(growth: pd.DataFrame, title: str) -> Figure:
    """Efficacy and trials by training units.

    A panel per outcome model, a path per planner: hollow at the smallest training set, filled at
    the largest, dots between; bars are ± one standard error over realisations.
                                                                         [treatment, fig. 2b]

    `growth`: facet, series, n_train, efficacy, mean_trials with their `_se`, repeats; one threshold
    per planner.
    """
    figure, facets = _facets(growth, "n_train", 2.9)
    sizes = sorted({int(n) for n in growth["n_train"]})
    hollow = {name: replace(look, hollow=True) for name, look in SERIES.items()}
    for axes, rows in facets:
        draw_series(axes, rows, SERIES, *_PLACE, line=0.9, size=2.0, alpha=0.7)
        for n, looks in ((sizes[0], hollow), (sizes[-1], SERIES)):
            _draw_with_errors(axes, rows[rows["n_train"] == n], looks, None, 6.0)
    mark = {"marker": "o", "linestyle": "none"}
    handles = [
        *_handles(growth["series"]),
        entry(f"n = {sizes[0]:,}", markerfacecolor="white", **mark),
        entry(f"n = {sizes[-1]:,}", **mark),
    ]
    if between := ", ".join(f"{n:,}" for n in sizes[1:-1]):
        handles.append(entry(f"n = {between}", markersize=2, **mark))
    finding = search_finding(growth[growth["n_train"] == sizes[-1]])
    finding = f"{finding}; ± 1 s.e. over {growth['repeats'].iloc[0]} realisations"
    return finish(figure, title, finding, handles)


@PrintedFigure(name="tradeoff", place=30, stages=("draw_world_figures",), table="tradeoff")
@PrintedFigure(name="bounds", place=40, stages=("draw_world_figures",), table="bounds")
@PrintedFigure(name="table_tradeoff", place=20, stages=("draw_table_figures",), table="tradeoff")
def tradeoff_figure(means: pd.DataFrame, title: str) -> Figure:
    """Efficacy against trials over thresholds, planner by planner or bound by bound.

    A marker per threshold (δ, or λ of NDP), joined in their order; bars are ± one standard error
    over repeats.                                      [treatment, fig. 3b; fig. S2; fig. S3]

    `means`: facet, series, threshold, efficacy, mean_trials with their `_se`, repeats.
    """
    figure, facets = _facets(means, "threshold", 2.7)
    for axes, rows in facets:
        _draw_with_errors(axes, rows, SERIES, 1.2, _marker_size(rows))
    finding = f"{search_finding(means)}; ± 1 s.e. over {means['repeats'].iloc[0]} repeats"
    return finish(figure, title, finding, _handles(means["series"]))


@PrintedFigure(
    name="size_curves",
    place=20,
    stages=("draw_world_figures",),
    table="growth",
    fixed={"x": "n_train"},
)
@PrintedFigure(name="thresholds", place=50, stages=("draw_world_figures",), table="thresholds")
@PrintedFigure(name="delta", place=30, stages=("draw_table_figures",), table="delta")
@PrintedFigure(name="price", place=40, stages=("draw_table_figures",), table="price")
def profile_figure(means: pd.DataFrame, title: str, x: str = "threshold") -> Figure:
    """Efficacy and trials along training units, or thresholds δ or λ.

    Efficacy above, trials below, a column per panel; bands are ± one standard deviation over
    repeats. Sizes are on a logarithmic axis.              [treatment, fig. S1; figs S4–S6]

    `means`: facet, series, the column x, efficacy, mean_trials with their `_variance`, repeats.
    `x`: `n_train` or `threshold`; of thresholds, `parameter` names them: δ or λ.
    """
    extra = "parameter" if x == "threshold" else ""
    needed = f"facet series efficacy mean_trials {x} efficacy_variance mean_trials_variance {extra}"
    style.require(means, needed, single="repeats")
    series_order(means["series"])
    names = facet_order(means["facet"])
    figure = style.new_figure(height_in=4.0)
    grid = figure.subplots(2, len(names), sharex="col", sharey="row", squeeze=False)
    for name, column in zip(names, grid.T, strict=True):
        rows = means[means["facet"] == name].sort_values(x)
        look = {"size": _marker_size(rows), "ends": "band"}
        for axes, y in zip(column, MOST, strict=True):
            ends = _ends(rows, y, rows[f"{y}_variance"] ** 0.5)
            draw_series(axes, rows, SERIES, "series", x, y, y_ends=ends, **look)
            if x == "n_train":
                axes.set_xscale("log")
                axes.minorticks_off()
        column[0].set_title(facet_title(name), loc="left")
        label = "training units" if x == "n_train" else _X_LABELS[str(rows["parameter"].iloc[0])]
        column[1].set_xlabel(label)
    low, high = grid[0, 0].get_ylim()
    grid[0, 0].set(ylabel="efficacy", ylim=(low, min(high, 1 + 0.05 * (1 - low))))  # a share
    grid[1, 0].set_ylabel(_TRIALS)
    grown = means[means[x] == means[x].max()] if x == "n_train" else means
    handles: list[Artist] = [
        Patch(color=style.lightened(style.GREY, share=0.6), label="± 1 s.d. over repeats")
    ]
    series = [set(means.loc[means["facet"] == name, "series"]) for name in names]
    if all(values == series[0] for values in series):
        handles = [*_handles(series[0]), *handles]
    else:
        for axes, values in zip(grid[0], series, strict=True):
            axes.legend(handles=_handles(values), loc="lower left", handlelength=2.2)
    return finish(figure, title, search_finding(grown), handles)


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
    first, last = (SERIES[str(name)].quoted for name in (least.idxmin(), least.idxmax()))
    share = f"{100 * level:.0f} % of units"
    if len(least) == 1:
        return f"only {first} finds for {share}, in {least.min():.2f} trials{where}"
    needs = f"{first} needs {least.min():.2f} trials, {last} {least.max():.2f}{where}"
    return f"to find for {share} {needs}"


@PrintedFigure(name="search_curves", place=10, stages=("draw_table_figures",))
def search_curve_figure(curves: pd.DataFrame, title: str, subtitle: str) -> Figure:
    """Best outcome found after each trial.

    A line per planner: mean over all units of the best outcome so far, or at termination for
    searches that have ended; bars are ± one standard error over splits. The star is the mean
    outcome of the first trial in the records: later ones are seen of some units only.
                                                                         [treatment, fig. 3a]

    `curves`: series, trials, outcome, outcome_se, repeats. `subtitle`: which model and parameters.
    """
    style.require(curves, "series trials outcome outcome_se repeats")
    figure, (axes,) = panels(1, 1, 2.8)
    rows = curves.sort_values("trials")
    rows = rows.assign(low=rows["outcome"] - rows["outcome_se"].fillna(0))
    rows = rows.assign(high=2 * rows["outcome"] - rows["low"])
    first = rows["series"] == "observed"
    for part, size in ((rows[~first], 5.0), (rows[first], 9.0)):
        look = {"size": size, "y_ends": ("low", "high")}
        draw_series(axes, part, SERIES, "series", "trials", "outcome", **look)
    axes.set_xticks(np.arange(1, int(curves["trials"].max()) + 1))
    axes.set(xlabel="trials", ylabel="best outcome so far\n(mean value: R 0, I 1, S 2)")
    finding = f"{curves_finding(curves)}; {subtitle}"
    return finish(figure, title, finding, _handles(curves["series"]))


def curves_finding(table: pd.DataFrame) -> str:
    """Final outcomes of searches, and outcomes of the records' first trial.

    Args:
        table: series, trials, outcome.
    """
    end = table[table["trials"] == table["trials"].max()].set_index("series")["outcome"].dropna()
    end = end.drop("observed", errors="ignore")
    begun = table.loc[table["series"] == "observed", "outcome"].dropna()
    if not len(end):
        return "best outcome so far"
    finding = f"{SERIES[str(end.idxmax())].quoted} comes to {end.max():.2f}"
    return f"{finding}, the records' first trial to {begun.iloc[0]:.2f}" if len(begun) else finding


@PrintedFigure(name="tree", place=90, stages=("draw_world_figures", "draw_table_figures"))
def tree_figure(tree: pd.DataFrame, name: str, contexts: Sequence[str], best: str) -> Figure:
    """A policy as a tree."""
    return policy_tree_figure(tree, contexts=contexts, name=name, best=best)
