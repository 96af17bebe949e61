"""Figures of the treatment study: efficacy against trials, and both against size or threshold.

Counterparts of Figs 2b, 3b and S1–S6 of Håkansson et al. (2020). They place marks from tidy tables
of means over repeats, and know neither how a policy was learned nor where a figure is kept.

Differs from the paper: bands are ± one standard deviation over repeats, where the paper's text
speaks of the variance, which is in the square of the axis' unit.
"""

from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.studies.treatment.figures import seen
from frugal.studies.treatment.figures.given import Table, World
from frugal.studies.treatment.figures.series import (
    SERIES,
    draw_bands,
    draw_paths,
    facet_order,
    facet_title,
    series_handles,
    series_order,
    standard_errors,
)

_BOTH = ["facet", "series", "efficacy", "mean_trials", "repeats"]
_EFFICACY = "efficacy\n(share with a near-optimal find)"
_TRIALS = "trials per unit (mean)"


@style.printed
def data_size_figure(means: pd.DataFrame, *, title: str) -> Figure:
    """Efficacy and trials as the training set grows [treatment, fig. 2b].

    A panel per outcome model, a path per planner: hollow at the smallest training set, filled at
    the largest, dots between; bars are ± one standard error over realisations.

    Args:
        means: facet, series, n_train, efficacy, mean_trials with their `_se`, repeats; one
            threshold per planner.
        title: of the data set.

    Raises:
        DataError: a column is missing, or there is no row.
        ConfigError: a series has no fixed look.
    """
    style.require(means, [*_BOTH, "n_train", "efficacy_se", "mean_trials_se"], single=["repeats"])
    series_order(means["series"])
    panels = facet_order(means["facet"])
    figure, line = _panels(len(panels), height_in=2.9)
    for name, axes in zip(panels, line, strict=True):
        _draw_growth(axes, means[means["facet"] == name].sort_values("n_train"))
        axes.set_title(facet_title(name), loc="left")
        axes.set_xlabel(_TRIALS)
    line[0].set_ylabel(_EFFICACY)
    low, high = int(means["n_train"].min()), int(means["n_train"].max())
    ends = [
        Line2D([], [], color=style.GREY, marker="o", markerfacecolor="white", linestyle="none",
               label=f"n = {low:,}"),
        Line2D([], [], color=style.GREY, marker="o", linestyle="none", label=f"n = {high:,}"),
    ]  # fmt: skip
    sizes = sorted(int(n) for n in set(means["n_train"]) if low < n < high)
    if sizes:
        words = ", ".join(f"{n:,}" for n in sizes)
        ends.append(Line2D([], [], color=style.GREY, marker="o", markersize=2, linestyle="none",
                           label=f"n = {words}"))  # fmt: skip
    grown = means[means["n_train"] == high]
    said = f"{seen.search(grown)}; ± 1 s.e. over {means['repeats'].iloc[0]} realisations"
    figure.suptitle(style.titled(title, said), x=0.01, ha="left")
    style.add_legend(figure, [*series_handles(means["series"]), *ends])
    return figure


def _draw_growth(axes: Axes, rows: pd.DataFrame) -> None:
    """Paths of planners from the smallest training set to the largest, ends with error bars."""
    places: dict[str, Any] = {"by": "series", "x": "mean_trials", "y": "efficacy"}
    draw_series(axes, rows, SERIES, line=0.9, size=0.0, alpha=0.7, **places)
    ends = rows.groupby("series")["n_train"].agg(["min", "max"]).loc[rows["series"]]
    first, last = (rows["n_train"].to_numpy() == ends[end].to_numpy() for end in ("min", "max"))
    draw_series(axes, rows[~first & ~last], SERIES, line=None, size=2.0, **places)
    hollow = {name: replace(look, hollow=True) for name, look in SERIES.items()}
    for part, looks in ((rows[first], hollow), (rows[last & ~first], SERIES)):
        across, up = (standard_errors(part, c) for c in ("mean_trials", "efficacy"))
        draw_series(
            axes, part, looks, line=None, size=6.0, x_ends=across, y_ends=up, zorder=4, **places
        )  # fmt: skip


@style.printed
def tradeoff_figure(means: pd.DataFrame, *, title: str) -> Figure:
    """Efficacy against trials over thresholds [treatment, fig. 3b; fig. S2; fig. S3].

    A marker per threshold (δ, or λ of NDP), joined in their order; bars are ± one standard error
    over repeats.

    Args:
        means: facet, series, threshold, efficacy, mean_trials with their `_se`, repeats.
        title: of the data set.

    Raises:
        DataError: a column is missing, or there is no row.
        ConfigError: a series has no fixed look.
    """
    style.require(means, [*_BOTH, "threshold", "efficacy_se", "mean_trials_se"], single=["repeats"])
    series_order(means["series"])
    panels = facet_order(means["facet"])
    figure, line = _panels(len(panels), height_in=2.7)
    for name, axes in zip(panels, line, strict=True):
        rows = means[means["facet"] == name].sort_values("threshold")
        draw_paths(axes, rows, x="mean_trials", y="efficacy")
        axes.set_title(facet_title(name), loc="left")
        axes.set_xlabel(_TRIALS)
    line[0].set_ylabel(_EFFICACY)
    said = f"{seen.search(means)}; ± 1 s.e. over {means['repeats'].iloc[0]} repeats"
    figure.suptitle(style.titled(title, said), x=0.01, ha="left")
    style.add_legend(figure, series_handles(means["series"]))
    return figure


@style.printed
def profile_figure(means: pd.DataFrame, *, x: str, title: str) -> Figure:
    """Efficacy and trials over training size or threshold [treatment, fig. S1; figs S4–S6].

    Efficacy above, trials below, a column per panel; bands are ± one standard deviation over
    repeats. Sizes stand on a logarithmic axis.

    Args:
        means: facet, series, the column x, efficacy, mean_trials with their `_variance`, repeats.
        x: `n_train` or `threshold`; of thresholds, `parameter` names them: δ or λ.
        title: of the data set.

    Raises:
        DataError: a column is missing, or there is no row.
        ConfigError: a series has no fixed look.
    """
    extra = ["parameter"] if x == "threshold" else []
    style.require(
        means, [*_BOTH, x, "efficacy_variance", "mean_trials_variance", *extra], single=["repeats"]
    )
    series_order(means["series"])
    panels = facet_order(means["facet"])
    figure = style.new_figure(height_in=4.0)
    grid = figure.subplots(2, len(panels), sharex="col", sharey="row", squeeze=False)
    for name, column in zip(panels, grid.T, strict=True):
        part = means[means["facet"] == name]
        for axes, y in zip(column, ("efficacy", "mean_trials"), strict=True):
            draw_bands(axes, part.sort_values(x), x=x, y=y)
        column[0].set_title(facet_title(name), loc="left")
        column[1].set_xlabel(_x_label(part, x))
    for axes in grid.ravel() if x == "n_train" else ():
        axes.set_xscale("log")
        axes.minorticks_off()
    grid[0, 0].set_ylabel("efficacy")
    low, high = grid[0, 0].get_ylim()
    grid[0, 0].set_ylim(low, min(high, 1 + 0.05 * (1 - low)))  # a share
    grid[1, 0].set_ylabel(_TRIALS)
    grown = means[means[x] == means[x].max()] if x == "n_train" else means
    figure.suptitle(style.titled(title, seen.search(grown)), x=0.01, ha="left")
    band = Patch(color=style.lightened(style.GREY, share=0.6), label="± 1 s.d. over repeats")
    _name_series(figure, list(grid[0]), means, band)
    return figure


def _name_series(figure: Figure, tops: list[Axes], means: pd.DataFrame, band: Patch) -> None:
    """One legend below; or one in each facet where the facets show different series."""
    kinds = [set(means.loc[means["facet"] == f, "series"]) for f in facet_order(means["facet"])]
    if all(kind == kinds[0] for kind in kinds):
        style.add_legend(figure, [*series_handles(means["series"]), band])
        return
    for axes, names in zip(tops, kinds, strict=True):
        axes.legend(handles=series_handles(names), loc="lower left", handlelength=2.2)
    style.add_legend(figure, [band])


def _x_label(rows: pd.DataFrame, x: str) -> str:
    if x == "n_train":
        return "training units"
    words = {"δ": "confidence parameter δ", "λ": "price of a trial λ (worth)"}
    return words[str(rows["parameter"].iloc[0])]


def _panels(count: int, *, height_in: float) -> tuple[Figure, list[Axes]]:
    """A line of panels with common axes."""
    figure = style.new_figure(height_in=height_in)
    grid = figure.subplots(1, count, sharex=True, sharey=True, squeeze=False)
    return figure, list(grid[0])


def _data_size(given: World) -> tuple[Figure, pd.DataFrame]:
    return data_size_figure(given.growth, **given.title), given.growth


def _tradeoff(given: World | Table) -> tuple[Figure, pd.DataFrame]:
    return tradeoff_figure(given.tradeoff, **given.title), given.tradeoff


def _bounds(given: World) -> tuple[Figure, pd.DataFrame]:
    return tradeoff_figure(given.bounds, **given.title), given.bounds


def _profile(given: World | Table, rows: pd.DataFrame, x: str) -> tuple[Figure, pd.DataFrame]:
    return profile_figure(rows, x=x, **given.title), rows


DATA_SIZE = PrintedFigure(
    name="data_size",
    place=10,
    stages=("draw_world_figures",),
    draw=_data_size,
    doc="efficacy and trials by training units",
)


SIZE_CURVES = PrintedFigure(
    name="size_curves",
    place=20,
    stages=("draw_world_figures",),
    draw=lambda given: _profile(given, given.growth, "n_train"),
    doc="the same, measure by measure",
)


TRADEOFF = PrintedFigure(
    name="tradeoff",
    place=30,
    stages=("draw_world_figures",),
    draw=_tradeoff,
    doc="efficacy against trials, planner by planner",
)


BOUNDS = PrintedFigure(
    name="bounds",
    place=40,
    stages=("draw_world_figures",),
    draw=_bounds,
    doc="efficacy against trials, bound by bound",
)


THRESHOLDS = PrintedFigure(
    name="thresholds",
    place=50,
    stages=("draw_world_figures",),
    draw=lambda given: _profile(given, given.thresholds, "threshold"),
    doc="models and bounds along δ",
)


TABLE_TRADEOFF = PrintedFigure(
    name="table_tradeoff",
    place=20,
    stages=("draw_table_figures",),
    draw=_tradeoff,
    doc="efficacy against trials, planner by planner",
)


DELTA = PrintedFigure(
    name="delta",
    place=30,
    stages=("draw_table_figures",),
    draw=lambda given: _profile(given, given.delta, "threshold"),
    doc="efficacy and trials along δ",
)


PRICE = PrintedFigure(
    name="price",
    place=40,
    stages=("draw_table_figures",),
    draw=lambda given: _profile(given, given.price, "threshold"),
    doc="efficacy and trials along λ",
)
