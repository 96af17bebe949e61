"""Figures of afape on policies: which to use, their costs, and whether to trust the estimates.

Not in the paper. They show tables of estimates and verdicts and know neither estimators nor files.
Costs are in `cost_unit`, the data set's.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.markers import CARETLEFT, CARETRIGHT
from matplotlib.patches import Patch, Rectangle

from frugal.answer.pictures import name_policies
from frugal.draw import style
from frugal.draw.prints import (
    PrintedFigure,
    draw_series,
    entry,
    finish,
    mark_edge,
    name_rows,
    panels,
)
from frugal.draw.style import agent_label
from frugal.studies.afape.figures.style import (
    ESTIMATORS,
    STATUS_WORDS,
    agent_order,
    agent_ticks,
    estimator_label,
    estimator_order,
    estimator_style,
    quoted_estimator,
    scenario_title,
    window,
)

BLOCKING = "blocking"  # what one would do who does not know better
LOOKS = {
    "named": style.Look("the policy to take", style.BLUE, "D"),
    "alike": style.Look("may be the best", style.BLUE, "o", hollow=True),
    "worse": style.Look("worse by more than chance", style.GREY, "s"),
    "truth": style.Look("true cost", style.BLACK, "|", line="none"),
}
ENDS = ("simultaneous_low", "simultaneous_high")
_SINGLE = "dataset mechanism seed"
_REASON: dict[str, Any] = {"color": style.GREY, "style": "italic", "va": "center_baseline"}
_BY_ROW = ("axes fraction", "data")  # coordinates of words on a row


def _scenario(table: pd.DataFrame | pd.Series) -> str:
    row = table if isinstance(table, pd.Series) else table.iloc[0]
    return scenario_title((row["dataset"], row["mechanism"]))


@PrintedFigure(name="answer", place=5, stages=("draw_scenario_figures",))
def answer_figure(answered: pd.DataFrame, verdict: pd.Series, cost_unit: str) -> Figure:
    """Which policy to use, its cost, and how sure that is: every policy, the cheapest first.

    Lines: intervals that hold for all policies at once (95 %). Policies that are left out are
    below, without a mark. Where the truth is known a short black line has it.

    Rows: agent, estimate, simultaneous_low, simultaneous_high, truth, by the estimator that is
    read, of one data set, mechanism and seed. `verdict`: row of the table of verdicts.
    """
    if not verdict["estimator"]:
        return style.sentence_figure(f"{_scenario(verdict)}: {verdict['sentence']}")
    style.require(answered, f"agent estimate {' '.join(ENDS)} truth", single=_SINGLE)
    rows = _placed(answered, verdict)
    figure, (axes,) = panels(1, 1, 1.0 + 0.24 * len(rows))
    marks = {"line": None, "size": 5.5, "x_ends": ENDS}
    draw_series(axes, rows[~rows["out"]], LOOKS, "kind", "estimate", "y", **marks)
    truth = rows[rows["truth"].notna()].assign(kind="truth")
    draw_series(axes, truth, LOOKS, "kind", "truth", "y", line=None, size=9.0)
    name_policies(axes, map(agent_label, rows["agent"]), rows["kind"] == "named")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"cost per case ({cost_unit})")
    for y in rows.loc[rows["out"], "y"]:
        axes.annotate("left out: too few rows", (0.02, y), xycoords=_BY_ROW, **_REASON)
    kinds = [k for k in LOOKS if k in {*rows["kind"], *truth["kind"]}]
    interval = f"95 % for all, by {estimator_label(str(verdict['estimator']))}"
    handles = [*(LOOKS[k].handle() for k in kinds), entry(interval, style.BLACK, linewidth=0.9)]
    return finish(figure, _scenario(verdict), answer_finding(verdict), handles)


def _placed(estimates: pd.DataFrame, verdict: pd.Series) -> pd.DataFrame:
    """Rows from the cheapest; policies that are left out last."""
    not_worse, left = (str(verdict[key]).split(",") for key in ("not_worse", "left_out"))
    rows = estimates.assign(out=estimates["agent"].isin(left))
    rows.loc[rows["out"], ["estimate", "truth"]] = np.nan
    rows = rows.sort_values(["out", "estimate", "agent"], kind="stable").reset_index(drop=True)
    kind = np.where(rows["agent"].isin(not_worse), "alike", "worse").astype(object)
    kind[(rows["agent"] == verdict["agent"]).to_numpy()] = "named"
    return rows.assign(kind=np.where(rows["out"], "", kind), y=np.arange(len(rows)))


def answer_finding(verdict: pd.Series) -> str:
    """Which policy to use, and whether another may be cheaper."""
    agent, other = (agent_label(str(verdict[key])) for key in ("agent", "runner_up"))
    if verdict["reason"] == "the records contradict the graph":
        return f"the records contradict the assumed graph; if it held, take {agent}"
    if not other:
        return f"only {agent} can be evaluated"
    if verdict["state"] == "best":
        return f"use {agent}; every other policy costs more"
    if verdict["state"] == "good_enough":
        return f"use {agent}; no other policy is cheaper by more than the margin"
    return f"use {agent}; {other} may be cheaper"


_CELL = "agent estimator estimate truth status"
_RIGHT = style.lightened(style.GREEN, share=0.55)
_WRONG = style.lightened(style.VERMILLION, share=0.5)
_LOWEST = style.lightened(style.SKY, share=0.45)
_READ = "▸ "


@PrintedFigure(name="decision", place=20, stages=("draw_scenario_figures",))
def decision_figure(estimates: pd.DataFrame, read: str, cost_unit: str) -> Figure:
    """Which policy each estimator would pick, and the cost of a wrong pick.

    A matrix of estimator × agent with the estimated cost in each cell. The lowest of a row is that
    estimator's pick, in bold, with a tick where it is the truth's pick, else a cross and the cost
    that it truly costs more than the best policy. The row that the verdict reads is marked, and its
    pick filled, green if it is the truth's and red-orange if not; the other rows are grey. The
    truth comes first (it is the row of the estimator `ground_truth`); its best agent's column is
    framed. Unless the truth of every agent is known the picks are shown alone. Ties go to the first
    agent. An estimator that cannot evaluate every agent picks none.

    Rows: agent, estimator, estimate, truth, status, of one dataset, mechanism and seed. `read`: the
    estimator that the verdict reads; empty if none.
    """
    style.require(estimates, _CELL, single=_SINGLE)
    agents = agent_order(estimates["agent"])
    shown = [e for e in estimator_order(estimates["estimator"]) if e != "ground_truth"]
    ok = estimates["estimate"].where(estimates["status"] == "ok")
    cost = estimates.assign(cost=ok).pivot(index="estimator", columns="agent", values="cost")
    cost = cost.reindex(index=shown, columns=agents).astype(float)
    picks = {str(name): str(row.idxmin()) for name, row in cost.iterrows() if row.notna().all()}
    truth = estimates.groupby("agent")["truth"].first().reindex(agents).astype(float)
    complete = bool(truth.notna().all())
    rows = pd.concat([truth.to_frame("truth").T, cost]) if complete else cost
    reasons = [_reason(estimates, str(name)) for name in rows.index]
    marked = [name in ("truth", read) for name in rows.index]
    labels = [name if name == "truth" else estimator_label(str(name)) for name in rows.index]
    names = [f"{_READ * (e == read)}{label}" for e, label in zip(rows.index, labels, strict=True)]
    figure, (axes,) = panels(1, 1, 0.95 + 0.2 * len(rows))
    places = style.decimals(rows.to_numpy().ravel())
    for y, (row, reason, mark) in enumerate(zip(rows.to_numpy(), reasons, marked, strict=True)):
        _draw_row(axes, y, row, truth.to_numpy() if complete else None, reason, mark, places)
    agent_ticks(axes, agents, width_in=4.5)
    axes.set_yticks(range(len(rows)), names)
    for tick, name in zip(axes.get_yticklabels(), names, strict=True):
        tick.set_fontweight("bold" if name.startswith(_READ) else "normal")
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axes.set(xlim=(-0.5, len(agents) + (0.4 if complete else -0.5)), ylim=(len(rows) - 0.5, -0.5))
    axes.spines[:].set_visible(False)
    right = len(agents) - 0.5
    axes.hlines(np.arange(0.5, len(rows) - 1), -0.5, right, color=style.PALE, linewidth=0.7)
    axes.set_xlabel(f"estimated run-time cost per case ({cost_unit})")
    finding = picks_finding(picks, read)
    if complete:
        axes.text(right + 0.2, 0, "extra cost", va="center_baseline", style="italic")
        axes.hlines(0.5, -0.5, right, color=style.BLACK, linewidth=0.9)
        frame: dict[str, Any] = {"fill": False, "linewidth": 1.3, "gid": "best", "zorder": 4}
        axes.add_patch(Rectangle((truth.argmin() - 0.5, -0.5), 1, len(rows), **frame))
        finding = regret_finding(picks, {str(a): float(c) for a, c in truth.items()}, read)
    partly = bool((rows.isna().any(axis=1) & rows.notna().any(axis=1)).any())
    handles = _decision_handles(complete=complete, partly=partly, read=read in shown)
    return finish(figure, _scenario(estimates), finding, handles)


def _reason(estimates: pd.DataFrame, estimator: str) -> str:
    """Why an estimator has no estimate of some agent: the first such status, in words."""
    mine = estimates[estimates["estimator"] == estimator]
    status = mine.loc[mine["status"] != "ok", "status"]
    return STATUS_WORDS.get(str(status.iloc[0]), "not computed") if len(status) else ""


def _draw_row(
    axes: Axes,
    y: int,
    row: np.ndarray,
    truth: np.ndarray | None,
    reason: str,
    marked: bool,
    places: int,
) -> None:
    """Costs of one estimator, its pick in bold, filled in a marked row, and its additional cost.

    A row without any number has a reason; who cannot evaluate every policy picks none.
    """
    if not np.isfinite(row).any():
        axes.text(len(row) / 2 - 0.5, y, reason, ha="center", gid="reason", **_REASON)
        return
    pick = int(row.argmin()) if np.isfinite(row).all() else None
    extra = 0.0 if pick is None or truth is None else float(truth[pick] - truth.min())
    for x, value in enumerate(row):
        finite = bool(np.isfinite(value))
        look: dict[str, Any] = {"fontweight": "bold" if x == pick else None, "ha": "center"}
        look["color"] = style.BLACK if marked and finite else style.GREY
        words = f"{value:.{places}f}" if finite else "–"
        axes.text(x, y, words, va="center_baseline", zorder=3, gid="cost", **look)
    if pick is not None and marked:
        colour = _LOWEST if truth is None else _WRONG if extra else _RIGHT
        axes.add_patch(Rectangle((pick - 0.5, y - 0.5), 1, 1, facecolor=colour, gid="pick"))
    if pick is not None and truth is not None and y:
        words = f"✗  +{extra:.{places}f}" if extra else "✓"
        look = {"color": style.BLACK if marked else style.GREY, "gid": "verdict"}
        axes.text(len(row) - 0.3, y, words, va="center_baseline", **look)


def _decision_handles(*, complete: bool, partly: bool, read: bool) -> list[Artist]:
    """Entries for the two kinds of pick, or for the pick alone where no truth is known."""
    handles: list[Artist] = [Patch(facecolor=_LOWEST, label="lowest estimate of the row")]
    if complete:
        handles = [
            Patch(facecolor=_RIGHT, label="✓ picks the best policy"),
            Patch(facecolor=_WRONG, label="✗ picks another, at this added cost"),
            Patch(facecolor="none", edgecolor=style.BLACK, label="best policy in truth"),
        ]
    if read:
        mark = {"marker": ">", "markersize": 4, "linestyle": "none"}
        handles.append(entry("read for the verdict", style.BLACK, **mark))
    if partly:
        handles.append(entry("no estimate, so no pick", marker="$–$", linestyle="none"))
    return handles


def regret_finding(picks: dict[str, str], truth: dict[str, float], read: str) -> str:
    """Regret of picks: blocking's or the worst, and that of `read`.

    Args:
        picks: estimator → the agent that it would pick.
        truth: agent → its true cost.
        read: the estimator that the verdict reads; empty if none.
    """
    least = min(truth.values())
    extra = {name: truth[agent] - least for name, agent in picks.items()}
    if not any(extra.values()):
        return "every estimator that evaluates all policies picks the best one"
    places = style.decimals(np.array(list(truth.values())))
    wrong = BLOCKING if extra.get(BLOCKING) else max(extra, key=lambda name: extra[name])
    more = f"{extra[wrong]:.{places}f} more than the best"
    sentence = f"the policy that {quoted_estimator(wrong)} would pick costs {more}"
    if read not in extra or read == wrong:
        return sentence
    if extra[read]:
        return f"{sentence}, and that of {quoted_estimator(read)} {extra[read]:.{places}f} more"
    return f"{sentence}, which is the pick of {quoted_estimator(read)}"


def picks_finding(picks: dict[str, str], read: str) -> str:
    """Whom the estimator that is read picks, and how many others pick another."""
    if read not in picks:
        return "the policy that each estimator would pick"
    others = sum(agent != picks[read] for agent in picks.values())
    sentence = f"{agent_label(picks[read])} is the pick of {quoted_estimator(read)}"
    return f"{sentence}; {others} of the other {len(picks) - 1} estimators pick another"


_AGENTS_ON_A_PAGE = 6
_ROOM = 2.1  # of the right half, in the largest bar: numbers and marks
_HOLLOW = {name: replace(look, hollow=True) for name, look in ESTIMATORS.items()}


@PrintedFigure(name="trust", place=10, stages=("draw_scenario_figures",))
def trust_figure(estimates: pd.DataFrame, read: str, cost_unit: str) -> Figure:
    """Estimates of every agent by every estimator, with intervals, sample sizes and warnings.

    A pair of panels per agent, a row per estimator. Left: estimate, interval, and the truth as a
    vertical line. An estimate that cannot be computed is greyed with its reason; an estimate beyond
    the axis is at the edge with its number, and an interval that touches the edge goes on. An
    interval of no width, where a case can have one cost only, is none: its marker is hollow. Right:
    effective sample size, with a red `!` where the table holds warnings; the legend names them.
    Of more than six agents, which do not fit a page, those of the lowest estimates are shown.

    Rows: agent, estimator, estimate, ci_low, ci_high, truth, ess, status, warning, of one dataset,
    mechanism and seed. Without known truth (NaN) the line is left out. `read`: the estimator that
    the verdict reads; empty if none.
    """
    style.require(estimates, f"{_CELL} ci_low ci_high ess warning", single=_SINGLE)
    agents, estimators = agent_order(estimates["agent"]), estimator_order(estimates["estimator"])
    finding = trust_finding(estimates[_computed(estimates)], read)
    if len(agents) > _AGENTS_ON_A_PAGE:
        order = estimates[estimates["estimator"] == read] if read else estimates
        lowest = order.groupby("agent")["estimate"].min().reindex(agents)
        finding += f"; the {_AGENTS_ON_A_PAGE} cheapest of {len(agents)} policies are shown"
        shown = lowest.nsmallest(_AGENTS_ON_A_PAGE).index
        agents = [agent for agent in agents if agent in shown]
        estimates = estimates[estimates["agent"].isin(agents)]
    columns, height = min(2, len(agents)), 0.55 + 0.15 * len(estimators)
    ratios: dict[str, Any] = {"width_ratios": [2.1, 1] * columns, "sharey": True}
    figure, grid = panels(2 * len(agents), 2 * columns, height, 0.4, **ratios)
    most = max(1.0, float(estimates["ess"].max()))
    table = estimates.assign(
        computed=_computed(estimates), at=estimates["estimator"].map(estimators.index)
    )
    for agent, left, right in zip(agents, grid[::2], grid[1::2], strict=True):
        rows = style.select(table, agent=agent).sort_values("at")
        _draw_estimates(left, rows)
        _draw_sizes(right, rows[rows["computed"]], most)
        left.set_title(agent_label(agent), loc="left")
        left.set_xlabel(f"cost per case\n({cost_unit})")
        right.set_xlabel("effective\nsample size")
    drawn = table[table["computed"]]
    for axes in grid:
        name_rows(axes, [estimator_label(e) for e in estimators])
    for axes in grid[:: 2 * columns]:
        for text, name in zip(axes.get_yticklabels(), estimators, strict=True):
            text.set_color(style.BLACK if name in set(drawn["estimator"]) else style.GREY)
    marks = {line.get_gid() for axes in figure.axes for line in axes.lines}
    handles: list[Artist] = [entry("estimate, 95 % interval", marker="o", markersize=4.5)]
    alone = {"linestyle": "none"}
    if "no interval" in marks:
        hollow = {"marker": "o", "markersize": 4.5, "markerfacecolor": "white", **alone}
        handles.append(entry("no interval: its rows cost the same", **hollow))
    if estimates["truth"].notna().any():
        handles.append(entry("truth", style.BLACK, linestyle="--"))
    if marks & {"beyond", "cut"}:
        handles.append(entry("beyond the axis", marker=">", **alone))
    names = dict.fromkeys(name for warned in drawn["warning"] for name in _warnings(warned))
    if names:
        warned = "warned, see the table: " + ", ".join(map(style.words, names))
        sign = {"marker": r"$\mathbf{!}$", "markersize": 7, "markeredgewidth": 0.1, **alone}
        handles.append(entry(style.wrapped(warned, characters=60), style.VERMILLION, **sign))
    return finish(figure, _scenario(estimates), finding, handles)


def _computed(estimates: pd.DataFrame) -> pd.Series:
    return (estimates["status"] == "ok") & np.isfinite(estimates["estimate"])


def _warnings(cell: object) -> list[str]:
    """Names of the warnings of one row."""
    return cell.split(",") if isinstance(cell, str) and cell else []


def _draw_estimates(axes: Axes, rows: pd.DataFrame) -> None:
    """Estimate and interval of one agent's rows; truth as a vertical line; marks at the edges."""
    drawn, truth = rows[rows["computed"]], rows["truth"].dropna().to_numpy(dtype=float)[:1]
    for true in truth:
        axes.axvline(true, color=style.BLACK, linewidth=0.9, linestyle="--", zorder=2)
    numbers = (drawn[c].to_numpy(dtype=float) for c in ("estimate", "ci_low", "ci_high"))
    left, right = window(*(np.r_[column, truth] for column in numbers))
    inside = drawn["estimate"].between(left, right)
    certain = drawn["ci_low"] == drawn["ci_high"]
    for looks, part, gid in (
        (ESTIMATORS, drawn[inside & ~certain], None),
        (_HOLLOW, drawn[inside & certain], "no interval"),
    ):
        marks = {"line": None, "size": 4.5, "clip_on": False, "gid": gid}
        ends = ("ci_low", "ci_high")
        draw_series(axes, part, looks, "estimator", "estimate", "at", x_ends=ends, **marks)
    axes.set_xlim(left, right)
    for _, row in rows[~rows["computed"]].iterrows():
        words = STATUS_WORDS.get(str(row["status"]), "not computed")
        box = {"color": style.PALE if row["at"] % 2 else "white", "linewidth": 0, "pad": 0.4}
        look = {"ha": "center", "zorder": 2.2, "bbox": box, "gid": "reason", **_REASON}
        axes.annotate(words, (0.5, row["at"]), xycoords=_BY_ROW, **look)
    places = style.decimals(drawn["estimate"].to_numpy(dtype=float))
    for (_, row), is_inside in zip(drawn.iterrows(), inside, strict=True):
        colour = {"color": estimator_style(row["estimator"]).colour}
        if not is_inside:
            above = row["estimate"] > right
            far, number_at, mark = (0.97, 0.93, ">") if above else (0.03, 0.07, "<")
            mark_edge(axes, row["at"], far, mark, gid="beyond", **colour)
            number, side = f"{row['estimate']:.{places}f}", "right" if above else "left"
            where = {"xycoords": _BY_ROW, "ha": side, "va": "center_baseline"}
            axes.annotate(number, (number_at, row["at"]), **where)
            continue
        if row["ci_low"] < left:
            mark_edge(axes, row["at"], 0.0, CARETLEFT, gid="cut", **colour)
        if row["ci_high"] > right:
            mark_edge(axes, row["at"], 1.0, CARETRIGHT, gid="cut", **colour)


def _draw_sizes(axes: Axes, rows: pd.DataFrame, most: float) -> None:
    """Effective sample size as bars with their number; a red `!` for the row's warnings."""
    colours = [estimator_style(name).colour for name in rows["estimator"]]
    fills = [style.lightened(colour, share=0.35) for colour in colours]
    axes.barh(rows["at"], rows["ess"], height=0.62, color=fills, zorder=2)
    for y, size, warning in zip(rows["at"], rows["ess"], rows["warning"], strict=True):
        warned = bool(_warnings(warning))
        look: dict[str, Any] = {"gid": "size", "color": style.BLACK}
        if warned:
            look = {"gid": "warning", "color": style.VERMILLION, "fontweight": "bold"}
        look |= {"textcoords": "offset points", "va": "center_baseline"}
        axes.annotate(f"{size:,.0f}{' !' * warned}", (size, y), (2, 0), **look)
    axes.set_xlim(0, _ROOM * most)
    axes.set_xticks([0, most], ["0", f"{most:,.0f}"])


def trust_finding(estimates: pd.DataFrame, read: str) -> str:
    """How often intervals hold the truth, or on how many rows the estimates that are read rest.

    Args:
        estimates: those that could be computed: estimator, truth, ci_low, ci_high, ess.
        read: the estimator that the verdict reads; empty if none.
    """
    mine = estimates[estimates["estimator"] == read]
    if not len(mine):
        return "the cost of each policy by every estimator, and the rows used"
    if estimates["truth"].isna().any():
        low, high = mine["ess"].min(), mine["ess"].max()
        return f"{quoted_estimator(read)} is read, which rests on {low:,.0f} to {high:,.0f} rows"
    sentence = f"the truth lies in {_coverage(mine)} intervals of {quoted_estimator(read)}"
    blocking = estimates[estimates["estimator"] == BLOCKING]
    if read == BLOCKING or not len(blocking):
        return sentence
    return f"{sentence}; in {_coverage(blocking)} of {quoted_estimator(BLOCKING)}"


def _coverage(rows: pd.DataFrame) -> str:
    return f"{rows['truth'].between(rows['ci_low'], rows['ci_high']).sum()} of {len(rows)}"
