"""The figure of the afape study that says whom each estimator would pick, and what it costs.

Not in the paper. Places marks from the summary table and knows neither estimators nor files.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.studies.afape.figures import seen
from frugal.studies.afape.figures.given import Scenario
from frugal.studies.afape.figures.style import (
    STATUS_WORDS,
    agent_order,
    agent_ticks,
    estimator_label,
    estimator_order,
    scenario_title,
)

_ONE = ["dataset", "mechanism", "seed"]
_CELL = ["agent", "estimator", "estimate", "truth", "status"]
_RIGHT = style.lightened(style.GREEN, share=0.55)
_WRONG = style.lightened(style.VERMILLION, share=0.5)
_LOWEST = style.lightened(style.SKY, share=0.45)
_READ = "▸ "


@style.printed
def decision_figure(summary: pd.DataFrame, *, read: str, cost_unit: str) -> Figure:
    """Which policy each estimator would pick, against the truth's pick.

    A matrix of estimator × agent with the estimated cost in each cell. The lowest of a row is that
    estimator's pick, in bold, with a tick where it is the truth's pick, else a cross and what it
    truly costs more than the best policy. The row that the verdict reads is marked, and its pick
    filled, green if it is the truth's and red-orange if not; the other rows are grey. The truth
    stands first (it is the row of the estimator `ground_truth`); its best agent's column is framed.
    Unless the truth of every agent is known the picks are shown alone. Ties go to the first agent.
    An estimator that cannot judge every agent picks none.

    Args:
        summary: agent, estimator, estimate, truth, status, of one dataset, mechanism and seed.
        read: the estimator that the verdict reads; empty if none.
        cost_unit: the data set's unit of cost.

    Raises:
        DataError: a column is missing, there is no row, or several scenarios or seeds.
        ConfigError: an estimator has no fixed colour and marker.
    """
    style.require(summary, _CELL, single=_ONE)
    agents = agent_order(summary["agent"])
    shown = [e for e in estimator_order(summary["estimator"]) if e != "ground_truth"]
    ok = summary["estimate"].where(summary["status"] == "ok")
    cost = summary.assign(cost=ok).pivot(index="estimator", columns="agent", values="cost")
    matrix = cost.reindex(index=shown, columns=agents).to_numpy(dtype=float)
    truth = summary.groupby("agent")["truth"].first().reindex(agents).to_numpy(dtype=float)
    known = bool(np.isfinite(truth).all())
    names = [f"{_READ if e == read else ''}{estimator_label(e)}" for e in shown]
    reasons = [_reason(summary, e) for e in shown]
    if known:
        matrix = np.vstack([truth, matrix])
        names, reasons = ["truth", *names], ["", *reasons]
    marked = [e == read for e in shown]
    figure = style.new_figure(height_in=0.95 + 0.2 * len(matrix))
    axes = figure.subplots()
    _draw_matrix(axes, matrix, reasons, [*([True] if known else []), *marked])
    agent_ticks(axes, agents, width_in=4.5)
    _dress_matrix(axes, names, len(agents), known=known)
    if known:
        _judge(axes, matrix, [True, *marked])
    for tick, name in zip(axes.get_yticklabels(), names, strict=True):
        tick.set_fontweight("bold" if name.startswith(_READ) else "normal")
    axes.set_xlabel(f"estimated run-time cost per case ({cost_unit})")
    scenario = (summary["dataset"].iloc[0], summary["mechanism"].iloc[0])
    picks = _picks(matrix[known:], shown, agents)
    truths = dict(zip(agents, truth.tolist(), strict=True))
    said = seen.picks_against_truth(picks, truths, read) if known else seen.picks_alone(picks, read)
    figure.suptitle(style.titled(scenario_title(scenario), said), x=0.01, ha="left")
    partly = bool((np.isnan(matrix).any(axis=1) & np.isfinite(matrix).any(axis=1)).any())
    style.add_legend(figure, _decision_handles(known=known, partly=partly, read=any(marked)))
    return figure


def _picks(matrix: np.ndarray, estimators: list[str], agents: list[str]) -> dict[str, str]:
    """Estimator → the agent of its lowest estimate; without those that cannot judge every agent."""
    return {
        name: agents[int(row.argmin())]
        for name, row in zip(estimators, matrix, strict=True)
        if np.isfinite(row).all()
    }


def _reason(summary: pd.DataFrame, estimator: str) -> str:
    """Why an estimator has no estimate of some agent: the first such status, in words."""
    status = summary.loc[
        (summary["estimator"] == estimator) & (summary["status"] != "ok"), "status"
    ]
    return STATUS_WORDS.get(str(status.iloc[0]), "not computed") if len(status) else ""


def _draw_matrix(axes: Axes, matrix: np.ndarray, reasons: list[str], marked: list[bool]) -> None:
    """Numbers, the lowest of each marked row filled; a row without any number says why."""
    places = style.decimals(matrix.ravel())
    for y, row in enumerate(matrix):
        pick = int(np.nanargmin(row)) if np.isfinite(row).any() else None
        if pick is None:
            axes.text(
                len(row) / 2 - 0.5, y, reasons[y], ha="center", va="center_baseline",
                color=style.GREY, style="italic", gid="reason",
            )  # fmt: skip
            continue
        chosen = np.isfinite(row).all()  # who cannot judge every policy picks none
        if chosen and marked[y]:
            axes.add_patch(Rectangle((pick - 0.5, y - 0.5), 1, 1, facecolor=_LOWEST, gid="pick"))
        for x, value in enumerate(row):
            axes.text(
                x, y, f"{value:.{places}f}" if np.isfinite(value) else "–", ha="center",
                va="center_baseline", fontweight="bold" if chosen and x == pick else None,
                color=style.BLACK if marked[y] and np.isfinite(value) else style.GREY, zorder=3,
                gid="cost",
            )  # fmt: skip


def _judge(axes: Axes, matrix: np.ndarray, marked: list[bool]) -> None:
    """Colour the marked picks by whether they are the truth's (row 0); what others cost more."""
    truth, (lines, columns) = matrix[0], matrix.shape
    best, places = int(truth.argmin()), style.decimals(matrix.ravel())
    for patch in [p for p in axes.patches if p.get_gid() == "pick" and isinstance(p, Rectangle)]:
        pick = round(patch.get_x() + 0.5)
        patch.set_facecolor(_RIGHT if pick == best else _WRONG)
    for y in range(1, lines):
        if np.isfinite(matrix[y]).all():
            pick = int(matrix[y].argmin())
            extra = truth[pick] - truth[best]
            axes.text(
                columns - 0.3, y, "✓" if pick == best else f"✗  +{extra:.{places}f}",
                va="center_baseline", gid="verdict",
                color=style.BLACK if marked[y] else style.GREY,
            )  # fmt: skip
    axes.text(columns - 0.3, 0, "extra cost", va="center_baseline", style="italic")
    axes.hlines(0.5, -0.5, columns - 0.5, color=style.BLACK, linewidth=0.9)
    axes.add_patch(
        Rectangle((best - 0.5, -0.5), 1, lines, fill=False, linewidth=1.3, gid="best", zorder=4)
    )


def _dress_matrix(axes: Axes, rows: list[str], columns: int, *, known: bool) -> None:
    """Names of rows, room for the columns' names above and the verdicts, no frame."""
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axes.set_xlim(-0.5, columns + (0.4 if known else -0.5))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.spines[:].set_visible(False)
    axes.hlines(np.arange(0.5, len(rows) - 1), -0.5, columns - 0.5, color=style.PALE, lw=0.7)


def _decision_handles(*, known: bool, partly: bool, read: bool) -> list[Patch | Line2D]:
    """Entries for the two kinds of pick, or for the pick alone where no truth is known."""
    dash = Line2D([], [], color=style.GREY, marker="$–$", linestyle="none",
                  label="no estimate, so no pick")  # fmt: skip
    mark = Line2D([], [], color=style.BLACK, marker=">", markersize=4, linestyle="none",
                  label="read for the verdict")  # fmt: skip
    others: list[Patch | Line2D] = [*([mark] if read else []), *([dash] if partly else [])]
    if not known:
        return [Patch(facecolor=_LOWEST, label="lowest estimate of the row"), *others]
    return [
        Patch(facecolor=_RIGHT, label="✓ picks the best policy"),
        Patch(facecolor=_WRONG, label="✗ picks another; what that costs more"),
        Patch(facecolor="none", edgecolor=style.BLACK, label="best policy in truth"),
        *others,
    ]


def _decision(given: Scenario) -> tuple[Figure, pd.DataFrame]:
    read = str(given.verdict["estimator"])
    return decision_figure(given.estimates, read=read, **given.unit), given.estimates


DECISION = PrintedFigure(
    name="decision",
    place=20,
    stages=("draw_scenario_figures",),
    draw=_decision,
    doc="which agent each estimator would pick, and what a wrong pick costs",
)
