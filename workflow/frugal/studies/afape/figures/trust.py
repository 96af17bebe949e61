"""The figure of the afape study that says whom to trust: estimates of every policy, and the truth.

Not in the paper. What each estimator says of each policy, on how many effective rows it stands, and
what cannot be computed and why. Places marks from the summary table and knows neither estimators
nor files.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.markers import CARETLEFT, CARETRIGHT
from matplotlib.patches import Patch

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.studies.afape.figures import seen
from frugal.studies.afape.figures.given import Scenario
from frugal.studies.afape.figures.style import (
    ESTIMATORS,
    STATUS_WORDS,
    agent_label,
    agent_order,
    estimator_label,
    estimator_order,
    estimator_style,
    scenario_title,
    window,
)

_ONE = ["dataset", "mechanism", "seed"]
_CELL = ["agent", "estimator", "estimate", "truth", "status"]
_ROOM = 2.1  # of the right half, in the largest bar: numbers and marks
_HOLLOW = {name: replace(look, hollow=True) for name, look in ESTIMATORS.items()}


@style.printed
def trust_figure(summary: pd.DataFrame, *, read: str, cost_unit: str) -> Figure:
    """Estimates with 95 % intervals and effective sample sizes, per agent: the first figure to see.

    A pair of panels per agent, a row per estimator. Left: estimate, interval, and the truth as a
    vertical line. What cannot be computed is greyed with its reason; an estimate beyond the axis
    stands at the edge with its number, and an interval that touches the edge goes on. An interval
    of no width, where a case can have one cost only, is none: its marker is hollow. Right:
    effective sample size, with a red `!` where the table holds warnings; the legend names them.
    More than six agents do not fit a page: select some.

    Args:
        summary: agent, estimator, estimate, ci_low, ci_high, truth, ess, status, warning, of one
            dataset, mechanism and seed. Without known truth (NaN) the line is left out.
        read: the estimator that the verdict reads; empty if none.
        cost_unit: the data set's unit of cost.

    Raises:
        DataError: a column is missing, there is no row, or several scenarios or seeds.
        ConfigError: an estimator has no fixed colour and marker.
    """
    needed = [*_CELL, "ci_low", "ci_high", "ess", "warning"]
    style.require(summary, needed, single=_ONE)
    agents = agent_order(summary["agent"])
    estimators = estimator_order(summary["estimator"])
    columns = min(2, len(agents))
    lines = -(-len(agents) // columns)
    figure = style.new_figure(height_in=0.4 + lines * (0.55 + 0.15 * len(estimators)))
    grid = figure.subplots(
        lines, 2 * columns, squeeze=False, sharey=True, width_ratios=[2.1, 1] * columns
    )
    pairs = grid.reshape(-1, 2)
    most = max(1.0, float(summary["ess"].max()))
    for agent, (left, right) in zip(agents, pairs, strict=False):
        rows = style.select(summary, agent=agent).set_index("estimator").reindex(estimators)
        _draw_estimates(left, rows)
        _draw_sizes(right, rows, most=most)
        left.set_title(agent_label(agent), loc="left")
        left.set_xlabel(f"cost per case\n({cost_unit})")
        right.set_xlabel("effective\nrows")
    for axes in pairs[len(agents) :].ravel():
        axes.remove()
    for axes in grid[:, 0]:
        _name_rows(axes, estimators, summary)
    grid[0, 0].set_ylim(len(estimators) - 0.5, -0.5)
    scenario = (summary["dataset"].iloc[0], summary["mechanism"].iloc[0])
    said = seen.intervals(summary[_computed(summary)], read)
    figure.suptitle(style.titled(scenario_title(scenario), said), x=0.01, ha="left")
    style.add_legend(figure, _trust_handles(summary, figure))
    return figure


def _warnings(row: pd.Series) -> list[str]:
    """Names of the warnings of one row."""
    return row["warning"].split(",") if isinstance(row["warning"], str) and row["warning"] else []


def _name_rows(axes: Axes, estimators: list[str], summary: pd.DataFrame) -> None:
    """Names of the estimators; grey for those that no agent has an estimate of."""
    axes.set_yticks(range(len(estimators)), [estimator_label(e) for e in estimators])
    known = set(summary.loc[_computed(summary), "estimator"])
    for text, name in zip(axes.get_yticklabels(), estimators, strict=True):
        text.set_color(style.BLACK if name in known else style.GREY)


def _computed(rows: pd.DataFrame) -> np.ndarray:
    """True where there is an estimate to draw. (rows,)"""
    return ((rows["status"] == "ok") & np.isfinite(rows["estimate"])).to_numpy()


def _draw_estimates(axes: Axes, rows: pd.DataFrame) -> None:
    """Estimate and interval of one agent's rows at y = 0, 1, 2, …; truth as a vertical line."""
    computed = _computed(rows)
    drawn = rows.assign(at=range(len(rows)))[computed].reset_index()
    truth = rows["truth"].dropna().to_numpy(dtype=float)[:1]
    if len(truth):
        axes.axvline(truth[0], color=style.BLACK, linewidth=0.9, linestyle="--", zorder=2)
    left, right = window(
        *(np.r_[drawn[c].to_numpy(dtype=float), truth] for c in ("estimate", "ci_low", "ci_high"))
    )
    inside = drawn[drawn["estimate"].between(left, right)]
    for certain, part in inside.groupby(inside["ci_low"] == inside["ci_high"]):
        draw_series(
            axes, part, _HOLLOW if certain else ESTIMATORS, by="estimator", x="estimate", y="at",
            line=None, size=4.5, x_ends=part[["ci_low", "ci_high"]].to_numpy(dtype=float).T,
            clip_on=False, gid="no interval" if certain else None,
        )  # fmt: skip
    style.shade_every_second(axes, len(rows), vertical=False)
    axes.set_xlim(left, right)
    for y in np.flatnonzero(~computed).tolist():
        _say_why(axes, y, rows["status"].iloc[y])
    for row in inside.to_dict("records"):
        colour = estimator_style(row["estimator"]).colour
        _mark_cut(axes, row["at"], row["ci_low"] < left, row["ci_high"] > right, colour)
    places = _decimals_of(drawn)
    for row in drawn.drop(inside.index).to_dict("records"):
        number = f"{row['estimate']:.{places}f}"
        look = estimator_style(row["estimator"])
        _point_beyond(axes, row["at"], number, row["estimate"] > right, look)
    axes.tick_params(axis="y", length=0)


def _decimals_of(drawn: pd.DataFrame) -> int:
    """Digits after the point for the estimates of a table."""
    return style.decimals(drawn["estimate"].to_numpy(dtype=float))


def _say_why(axes: Axes, y: int, status: object) -> None:
    """The reason why a row has no estimate, in grey, in its place."""
    reason = STATUS_WORDS.get(str(status), "not computed")
    axes.text(
        0.5, y, reason, color=style.GREY, style="italic", ha="center", va="center_baseline",
        transform=axes.get_yaxis_transform(), gid="reason", zorder=2.2,
        bbox={"facecolor": style.PALE if y % 2 else "white", "edgecolor": "none", "pad": 0.4},
    )  # fmt: skip


def _mark_cut(axes: Axes, y: int, is_left: bool, is_right: bool, colour: str) -> None:
    """Small triangles where an interval goes on beyond the axis."""
    for place, marker, is_cut in ((0.0, CARETLEFT, is_left), (1.0, CARETRIGHT, is_right)):
        if is_cut:
            axes.plot(
                place, y, marker=marker, color=colour, markersize=4, clip_on=False,
                transform=axes.get_yaxis_transform(), gid="cut",
            )  # fmt: skip


def _point_beyond(axes: Axes, y: int, number: str, is_right: bool, look: style.Look) -> None:
    """A triangle at the edge of the axis, and the number that lies beyond it."""
    axes.plot(
        0.97 if is_right else 0.03, y, ">" if is_right else "<", color=look.colour, markersize=4,
        transform=axes.get_yaxis_transform(), gid="beyond",
    )  # fmt: skip
    axes.text(
        0.93 if is_right else 0.07, y, number, ha="right" if is_right else "left",
        va="center_baseline", transform=axes.get_yaxis_transform(),
    )  # fmt: skip


def _draw_sizes(axes: Axes, rows: pd.DataFrame, *, most: float) -> None:
    """Effective sample size as bars with their number; a red `!` for the row's warnings."""
    computed = _computed(rows)
    for y, (name, row) in enumerate(rows.iterrows()):
        if not computed[y]:
            continue
        colour = style.lightened(estimator_style(str(name)).colour, share=0.35)
        size = float(row["ess"])
        marks = bool(_warnings(row))
        axes.barh(y, size, height=0.62, color=colour, zorder=2)
        axes.annotate(
            f"{size:,.0f}{' !' if marks else ''}", (size, y), (2, 0),
            textcoords="offset points", va="center_baseline", ha="left",
            color=style.VERMILLION if marks else style.BLACK,
            fontweight="bold" if marks else None, gid="warning" if marks else "size",
        )  # fmt: skip
    style.shade_every_second(axes, len(rows), vertical=False)
    axes.set_xlim(0, _ROOM * most)
    axes.set_xticks([0, most], ["0", f"{most:,.0f}"])
    axes.tick_params(axis="y", length=0)


def _trust_handles(summary: pd.DataFrame, figure: Figure) -> list[Line2D | Patch]:
    """Entries for those marks that the figure holds."""
    point: dict[str, Any] = {"color": style.GREY, "marker": "o", "markersize": 4.5}
    marks = {line.get_gid() for axes in figure.axes for line in axes.lines}
    handles: list[Line2D | Patch] = [Line2D([], [], **point, label="estimate, 95 % interval")]
    if "no interval" in marks:
        hollow: dict[str, Any] = point | {"markerfacecolor": "white", "linestyle": "none"}
        handles.append(Line2D([], [], **hollow, label="no interval: its rows cost the same"))
    if summary["truth"].notna().any():
        handles.append(Line2D([], [], color=style.BLACK, linestyle="--", label="truth"))
    if marks & {"beyond", "cut"}:
        handles.append(
            Line2D([], [], color=style.GREY, marker=">", linestyle="none", label="beyond the axis")
        )
    drawn = summary[_computed(summary)]
    names = dict.fromkeys(name for _, row in drawn.iterrows() for name in _warnings(row))
    if names:
        warned = "warned, see the table: " + ", ".join(map(style.words, names))
        handles.append(
            Line2D(
                [],
                [],
                color=style.VERMILLION,
                marker=r"$\mathbf{!}$",
                markersize=7,
                markeredgewidth=0.1,
                linestyle="none",
                label=style.wrapped(warned, characters=60),
            )
        )
    return handles


def _trust(given: Scenario) -> tuple[Figure, pd.DataFrame]:
    read = str(given.verdict["estimator"])
    return trust_figure(given.estimates, read=read, **given.unit), given.estimates


TRUST = PrintedFigure(
    name="trust",
    place=10,
    stages=("draw_scenario_figures",),
    draw=_trust,
    doc="estimates of every agent by every estimator, with intervals and warnings",
)
