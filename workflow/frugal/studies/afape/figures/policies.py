"""Figures of afape on policies: which to use, their costs, and whether to trust the estimates.

Not in the paper. They show tables of estimates and verdicts and know neither estimators nor files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.markers import CARETLEFT, CARETRIGHT
from matplotlib.patches import Patch, Rectangle

from frugal.draw import style
from frugal.draw.prints import (
    PrintedFigure,
    draw_bars,
    draw_series,
    entry,
    finish,
    name_rows,
    panels,
)
from frugal.judge.net_benefit import ALL, NONE
from frugal.studies.afape.answers import without_version
from frugal.studies.afape.candidates import PRACTICE
from frugal.studies.afape.figures.style import (
    ESTIMATORS,
    STATUS_WORDS,
    agent_label,
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


def _scenario(table: pd.DataFrame | pd.Series) -> str:
    row = table if isinstance(table, pd.Series) else table.iloc[0]
    return scenario_title((row["dataset"], row["mechanism"]))


@PrintedFigure(name="answer", place=5, stages=("draw_scenario_figures",))
def answer_figure(answered: pd.DataFrame, verdict: pd.Series, cost_unit: str) -> Figure:
    """Cost of every policy by the estimator that is read, the cheapest first.

    Lines: intervals that hold for all policies at once (95 %). Policies that are left out are
    below, without a mark. Where the truth is known a short black line has it.

    Args:
        answered: agent, estimate, simultaneous_low, simultaneous_high, truth, by the estimator that
            is read, of one data set, mechanism and seed.
        verdict: row of the table of verdicts.
        cost_unit: the data set's unit of cost.
    """
    if not verdict["estimator"]:
        return style.sentence_figure(f"{_scenario(verdict)}: {verdict['sentence']}")
    style.require(answered, f"agent estimate {' '.join(ENDS)} truth", single=_SINGLE)
    rows = _placed(answered, verdict)
    figure = style.new_figure(height_in=1.0 + 0.24 * len(rows))
    axes = figure.subplots()
    judged = rows[~rows["out"]]
    draw_series(
        axes, judged, LOOKS, by="kind", x="estimate", y="y", line=None, size=5.5, x_ends=ENDS
    )
    truth = rows[rows["truth"].notna()].assign(kind="truth")
    draw_series(axes, truth, LOOKS, by="kind", x="truth", y="y", line=None, size=9.0)
    _name_policies(
        axes, [agent_label(str(name)) for name in rows["agent"]], rows["kind"] == "named"
    )
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(f"cost per case ({cost_unit})")
    for y in rows.loc[rows["out"], "y"]:
        place = ("axes fraction", "data")
        axes.annotate("left out: too few rows", (0.02, y), xycoords=place, **_REASON)
    kinds = [k for k in LOOKS if k in set(rows["kind"]) or (k == "truth" and len(truth))]
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


def _name_policies(axes: Axes, names: Sequence[str], bold: Sequence[bool] | pd.Series) -> None:
    name_rows(axes, names)
    for tick, is_bold in zip(axes.get_yticklabels(), bold, strict=True):
        tick.set_fontweight("bold" if is_bold else "normal")


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


BAR, HALF = 0.62, 0.5
FACTOR = 10.0  # up to which prices are shown to change
NAMES = {PRACTICE: "today's practice"}


@style.printed
def costs_figure(outcomes: pd.DataFrame, policy: str, *, cost_unit: str) -> Figure:
    """Bars of every policy, the cheapest first, split into panels and errors; 95 % intervals.

    Args:
        outcomes: agent, cost, ci_low, ci_high, acquisition_cost, misclassification_cost.
        policy: that is named, in bold.
        cost_unit: the data set's unit of cost.
    """
    rows = outcomes.reset_index(drop=True)
    figure, axes = _outcome_axes(rows["agent"], policy)
    y, bought = np.arange(len(rows)), rows["acquisition_cost"].to_numpy()
    ends = rows[["ci_low", "ci_high"]].to_numpy(dtype=float).T
    draw_bars(axes, y, bought, colour=style.SKY, width=BAR, lying=True)
    errors = rows["cost"].to_numpy() - bought
    draw_bars(axes, y, errors, colour=style.ORANGE, width=BAR, base=bought, ends=ends, lying=True)
    axes.set_xlim(0, float(rows["ci_high"].max()) * 1.03)
    axes.set_xlabel(f"cost per case ({cost_unit})")
    wrong = "errors and person" if "referral_cost" in rows else "errors"
    parts = [Patch(color=style.SKY, label="panels"), Patch(color=style.ORANGE, label=wrong)]
    style.add_legend(figure, [*parts, entry("95 % interval", linewidth=0.9)])
    return figure


@style.printed
def support_figure(shares: pd.DataFrame) -> Figure:
    """Share of records that hold a panel, in each region without support and elsewhere.

    Args:
        shares: region, inside, elsewhere, records; see `support.shares`.
    """
    figure, axes = _outcome_axes(shares["region"], "")
    y = np.arange(len(shares))
    for at, column, colour in ((0.2, "elsewhere", style.SKY), (-0.2, "inside", style.ORANGE)):
        share = 100 * shares[column].to_numpy(dtype=float)
        draw_bars(axes, y + at, share, colour=colour, width=BAR / 2, lying=True)
    for at, (share, records) in enumerate(zip(shares["inside"], shares["records"], strict=True)):
        axes.annotate(records, (100 * share + 1, at - 0.2), va="center")
    axes.set_xlim(0, 100)
    axes.set_xlabel("records that hold the panel (%)")
    labels = {"in the region": style.ORANGE, "elsewhere": style.SKY}
    style.add_legend(figure, [Patch(color=colour, label=name) for name, colour in labels.items()])
    return figure


@style.printed
def f1_figure(outcomes: pd.DataFrame, policy: str, *, cost_unit: str) -> Figure:
    """F1 of every policy with its 95 % interval, the best first, and the cost of its panels.

    Args:
        outcomes: agent, cost (1 − F1), ci_low, ci_high, acquisition_cost.
        policy: that is named, in bold.
        cost_unit: the data set's unit of cost.
    """
    rows = outcomes.reset_index(drop=True)
    figure, axes = _outcome_axes(rows["agent"], policy)
    marks = rows.assign(
        F1=1 - rows["cost"],
        y=np.arange(len(rows)),
        name="F1",
        low=1 - rows["ci_high"],
        high=1 - rows["ci_low"],
    )
    looks = {"F1": style.Look("F1", style.ORANGE, "o")}
    draw_series(axes, marks, looks, by="name", x="F1", y="y", line=None, x_ends=("low", "high"))
    for at, price in enumerate(rows["acquisition_cost"]):
        axes.annotate(f"{price:.3g}", (1.02, at), xycoords=("axes fraction", "data"), va="center")
    axes.annotate(f"panels ({cost_unit})", (1.02, -0.9), xycoords=("axes fraction", "data"))
    axes.set_xlim(0, 1)
    axes.set_xlabel("F1, with 95 % interval")
    return figure


@style.printed
def rows_figure(outcomes: pd.DataFrame, policy: str) -> Figure:
    """Bars of the effective sample size by which every policy is evaluated.

    Args:
        outcomes: agent, effective_rows.
        policy: that is named, in bold.
    """
    rows = outcomes.reset_index(drop=True)
    figure, axes = _outcome_axes(rows["agent"], policy)
    y, size = np.arange(len(rows)), rows["effective_rows"].to_numpy(dtype=float)
    draw_bars(axes, y, size, colour=style.SKY, width=BAR, lying=True)
    axes.set_xlabel("effective sample size")
    return figure


@style.printed
def prices_figure(
    ranges: Mapping[str, Sequence[float | None]], now: Mapping[str, float], cost_unit: str
) -> Figure:
    """Lines of the ranges in which no other policy becomes cheaper by more than the margin.

    Args:
        ranges: price or error → least and largest unit cost; None: no limit.
        now: its unit cost today; free panels are left out.
        cost_unit: the data set's unit of cost.
    """
    names = [name for name in ranges if now[name] > 0]
    figure = style.new_figure(height_in=0.9 + 0.27 * len(names))
    axes = figure.subplots()
    for y, name in enumerate(names):
        low, high = (end if end is None else end / now[name] for end in ranges[name])
        shown = max(low or 0, 1 / FACTOR), FACTOR if high is None else min(high, FACTOR)
        axes.plot(shown, (y, y), color=style.SKY, linewidth=5, solid_capstyle="butt")
        axes.plot(1, y, "o", color=style.BLACK, markersize=4)
    axes.set_xscale("log")
    axes.set_xlim(1 / FACTOR, FACTOR)
    axes.set_ylim(len(names) - 0.5, -0.5)
    ticks = (0.1, 0.2, 0.5, 1, 2, 5, 10)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    labels = [f"{style.quoted(name)} ({now[name]:g} {cost_unit})" for name in names]
    axes.set_yticks(range(len(names)), labels)
    axes.set_xlabel("factor of the price today")
    return figure


@style.printed
def net_benefit_figure(curves: pd.DataFrame, policy: str, threshold: float) -> Figure:
    """Lines of net benefit by threshold: the named policy with its interval, and the others.

    Args:
        curves: agent, threshold, net_benefit, ci_low, ci_high.
        policy: that is named.
        threshold: that the costs of errors imply.
    """
    figure = style.new_figure(height_in=2.9)
    axes = figure.subplots()
    axes.axvline(100 * threshold, color=style.GREY, linewidth=0.8)
    axes.annotate(
        " implied by error costs ",
        (100 * threshold, 1.0),
        xycoords=("data", "axes fraction"),
        va="bottom",
        ha="left" if threshold <= HALF else "right",
        color=style.GREY,
    )
    looks = {
        policy: (agent_label(without_version(policy)), style.BLUE, "-", 2.0),
        PRACTICE: (NAMES[PRACTICE], style.BLACK, "--", 1.2),
        ALL: (ALL, style.VERMILLION, "-.", 1.2),
        NONE: (NONE, style.BLACK, ":", 1.0),
    }
    others = [name for name in curves["agent"].unique() if name not in looks]
    rest = dict.fromkeys(others, ("other policies", style.GREY, "-", 0.8))
    handles = {}
    for name, (label, colour, line, width) in (rest | looks).items():
        rows = curves[curves["agent"] == name]
        x, y = 100 * rows["threshold"], 1000 * rows["net_benefit"]
        axes.plot(x, y, color=colour, linestyle=line, linewidth=width)
        handles[label] = entry(label, colour, linestyle=line, linewidth=width)
        if name == policy:
            low, high = 1000 * rows["ci_low"], 1000 * rows["ci_high"]
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    named = curves[curves["agent"] == policy]["ci_high"].max()
    top = 1000 * max(float(named), float(curves["net_benefit"].max()), 1e-3)
    axes.set_ylim(-0.25 * top, 1.08 * top)
    axes.set_xlim(0, 100)
    axes.set_xlabel("threshold probability (%)")
    axes.set_ylabel("net benefit\n(true positives per 1,000 cases)")
    style.add_legend(figure, list(reversed(handles.values())))
    return figure


def _outcome_axes(agents: pd.Series, policy: str) -> tuple[Figure, Axes]:
    """With a line for each policy: the named one in bold, practice in italics."""
    figure = style.new_figure(height_in=0.9 + 0.27 * len(agents))
    axes = figure.subplots()
    names = [NAMES.get(name) or agent_label(without_version(name)) for name in map(str, agents)]
    _name_policies(axes, names, agents == policy)
    for tick, name in zip(axes.get_yticklabels(), agents, strict=True):
        tick.set_fontstyle("italic" if name == PRACTICE else "normal")
    return figure, axes


_CELL = "agent estimator estimate truth status"
_RIGHT = style.lightened(style.GREEN, share=0.55)
_WRONG = style.lightened(style.VERMILLION, share=0.5)
_LOWEST = style.lightened(style.SKY, share=0.45)
_READ = "▸ "


@PrintedFigure(name="decision", place=20, stages=("draw_scenario_figures",))
def decision_figure(estimates: pd.DataFrame, read: str, cost_unit: str) -> Figure:
    """Which policy each estimator would pick, against the truth's pick.

    A matrix of estimator × agent with the estimated cost in each cell. The lowest of a row is that
    estimator's pick, in bold, with a tick where it is the truth's pick, else a cross and the cost
    that it truly costs more than the best policy. The row that the verdict reads is marked, and its
    pick filled, green if it is the truth's and red-orange if not; the other rows are grey. The
    truth comes first (it is the row of the estimator `ground_truth`); its best agent's column is
    framed. Unless the truth of every agent is known the picks are shown alone. Ties go to the first
    agent. An estimator that cannot evaluate every agent picks none.

    Args:
        estimates: agent, estimator, estimate, truth, status, of one dataset, mechanism and seed.
        read: the estimator that the verdict reads; empty if none.
        cost_unit: the data set's unit of cost.
    """
    style.require(estimates, _CELL, single=_SINGLE)
    agents = agent_order(estimates["agent"])
    shown = [e for e in estimator_order(estimates["estimator"]) if e != "ground_truth"]
    ok = estimates["estimate"].where(estimates["status"] == "ok")
    cost = estimates.assign(cost=ok).pivot(index="estimator", columns="agent", values="cost")
    matrix = cost.reindex(index=shown, columns=agents).to_numpy(dtype=float)
    truth = estimates.groupby("agent")["truth"].first().reindex(agents)
    picks = {
        name: agents[int(row.argmin())]
        for name, row in zip(shown, matrix, strict=True)
        if np.isfinite(row).all()
    }
    truth_known = bool(truth.notna().all())
    names = [f"{_READ if e == read else ''}{estimator_label(e)}" for e in shown]
    reasons, marked = [_reason(estimates, e) for e in shown], [e == read for e in shown]
    if truth_known:
        matrix = np.vstack([truth.to_numpy(dtype=float), matrix])
        names, reasons, marked = ["truth", *names], ["", *reasons], [True, *marked]
    figure = style.new_figure(height_in=0.95 + 0.2 * len(matrix))
    axes = figure.subplots()
    _draw_matrix(axes, matrix, reasons, marked)
    agent_ticks(axes, agents, width_in=4.5)
    _dress_matrix(axes, names, len(agents), truth_known=truth_known)
    if truth_known:
        _judge(axes, matrix, marked)
    axes.set_xlabel(f"estimated run-time cost per case ({cost_unit})")
    finding = picks_finding(picks, read)
    if truth_known:
        finding = regret_finding(
            picks, {str(agent): float(cost) for agent, cost in truth.items()}, read
        )
    partly = bool((np.isnan(matrix).any(axis=1) & np.isfinite(matrix).any(axis=1)).any())
    handles = _decision_handles(truth_known=truth_known, partly=partly, read=read in shown)
    return finish(figure, _scenario(estimates), finding, handles)


def _reason(estimates: pd.DataFrame, estimator: str) -> str:
    """Why an estimator has no estimate of some agent: the first such status, in words."""
    status = estimates.loc[
        (estimates["estimator"] == estimator) & (estimates["status"] != "ok"), "status"
    ]
    return STATUS_WORDS.get(str(status.iloc[0]), "not computed") if len(status) else ""


def _draw_matrix(axes: Axes, matrix: np.ndarray, reasons: list[str], marked: list[bool]) -> None:
    """Numbers, the lowest of each marked row filled; a row without any number has a reason."""
    places = style.decimals(matrix.ravel())
    for y, row in enumerate(matrix):
        pick = int(np.nanargmin(row)) if np.isfinite(row).any() else None
        if pick is None:
            axes.text(len(row) / 2 - 0.5, y, reasons[y], ha="center", gid="reason", **_REASON)
            continue
        chosen = np.isfinite(row).all()  # who cannot evaluate every policy picks none
        if chosen and marked[y]:
            axes.add_patch(Rectangle((pick - 0.5, y - 0.5), 1, 1, facecolor=_LOWEST, gid="pick"))
        for x, value in enumerate(row):
            axes.text(
                x,
                y,
                f"{value:.{places}f}" if np.isfinite(value) else "–",
                ha="center",
                va="center_baseline",
                fontweight="bold" if chosen and x == pick else None,
                color=style.BLACK if marked[y] and np.isfinite(value) else style.GREY,
                zorder=3,
                gid="cost",
            )


def _judge(axes: Axes, matrix: np.ndarray, marked: list[bool]) -> None:
    """Colour the marked picks by whether they are the truth's (row 0); extra costs of others."""
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
                columns - 0.3,
                y,
                "✓" if pick == best else f"✗  +{extra:.{places}f}",
                va="center_baseline",
                gid="verdict",
                color=style.BLACK if marked[y] else style.GREY,
            )
    axes.text(columns - 0.3, 0, "extra cost", va="center_baseline", style="italic")
    axes.hlines(0.5, -0.5, columns - 0.5, color=style.BLACK, linewidth=0.9)
    axes.add_patch(
        Rectangle((best - 0.5, -0.5), 1, lines, fill=False, linewidth=1.3, gid="best", zorder=4)
    )


def _dress_matrix(axes: Axes, rows: list[str], columns: int, *, truth_known: bool) -> None:
    """Names of rows, room for the columns' names above and the verdicts, no frame."""
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for tick, name in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if name.startswith(_READ) else "normal")
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axes.set_xlim(-0.5, columns + (0.4 if truth_known else -0.5))
    axes.spines[:].set_visible(False)
    axes.hlines(np.arange(0.5, len(rows) - 1), -0.5, columns - 0.5, color=style.PALE, lw=0.7)


def _decision_handles(*, truth_known: bool, partly: bool, read: bool) -> list[Artist]:
    """Entries for the two kinds of pick, or for the pick alone where no truth is known."""
    others: list[Artist] = []
    if read:
        mark = {"marker": ">", "markersize": 4, "linestyle": "none"}
        others.append(entry("read for the verdict", style.BLACK, **mark))
    if partly:
        others.append(entry("no estimate, so no pick", marker="$–$", linestyle="none"))
    if not truth_known:
        return [Patch(facecolor=_LOWEST, label="lowest estimate of the row"), *others]
    return [
        Patch(facecolor=_RIGHT, label="✓ picks the best policy"),
        Patch(facecolor=_WRONG, label="✗ picks another, at this added cost"),
        Patch(facecolor="none", edgecolor=style.BLACK, label="best policy in truth"),
        *others,
    ]


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


_ROOM = 2.1  # of the right half, in the largest bar: numbers and marks
_HOLLOW = {name: replace(look, hollow=True) for name, look in ESTIMATORS.items()}


@PrintedFigure(name="trust", place=10, stages=("draw_scenario_figures",))
def trust_figure(estimates: pd.DataFrame, read: str, cost_unit: str) -> Figure:
    """Estimates with 95 % intervals and effective sample sizes, per agent: the first figure to see.

    A pair of panels per agent, a row per estimator. Left: estimate, interval, and the truth as a
    vertical line. An estimate that cannot be computed is greyed with its reason; an estimate beyond
    the axis is at the edge with its number, and an interval that touches the edge goes on. An
    interval of no width, where a case can have one cost only, is none: its marker is hollow. Right:
    effective sample size, with a red `!` where the table holds warnings; the legend names them.
    More than six agents do not fit a page: select some.

    Args:
        estimates: agent, estimator, estimate, ci_low, ci_high, truth, ess, status, warning, of one
            dataset, mechanism and seed. Without known truth (NaN) the line is left out.
        read: the estimator that the verdict reads; empty if none.
        cost_unit: the data set's unit of cost.
    """
    style.require(estimates, f"{_CELL} ci_low ci_high ess warning", single=_SINGLE)
    agents, estimators = agent_order(estimates["agent"]), estimator_order(estimates["estimator"])
    columns = min(2, len(agents))
    figure, grid = panels(
        2 * len(agents),
        2 * columns,
        line_in=0.55 + 0.15 * len(estimators),
        more_in=0.4,
        sharey=True,
        width_ratios=[2.1, 1] * columns,
    )
    most = max(1.0, float(estimates["ess"].max()))
    for agent, left, right in zip(agents, grid[::2], grid[1::2], strict=True):
        rows = style.select(estimates, agent=agent).set_index("estimator").reindex(estimators)
        _draw_estimates(left, rows)
        _draw_sizes(right, rows, most=most)
        left.set_title(agent_label(agent), loc="left")
        left.set_xlabel(f"cost per case\n({cost_unit})")
        right.set_xlabel("effective\nsample size")
    grid[0].set_ylim(len(estimators) - 0.5, -0.5)
    computed = estimates[_computed(estimates)]
    for axes in grid[:: 2 * columns]:
        axes.set_yticks(range(len(estimators)), [estimator_label(e) for e in estimators])
        for text, name in zip(axes.get_yticklabels(), estimators, strict=True):
            text.set_color(style.BLACK if name in set(computed["estimator"]) else style.GREY)
    marks = {line.get_gid() for axes in figure.axes for line in axes.lines}
    handles: list[Artist] = [entry("estimate, 95 % interval", marker="o", markersize=4.5)]
    alone = {"linestyle": "none"}
    if "no interval" in marks:
        hollow = {"marker": "o", "markersize": 4.5, "markerfacecolor": "white", **alone}
        handles.append(entry("no interval: its rows cost the same", **hollow))
    if bool(estimates["truth"].notna().any()):
        handles.append(entry("truth", style.BLACK, linestyle="--"))
    if marks & {"beyond", "cut"}:
        handles.append(entry("beyond the axis", marker=">", **alone))
    names = dict.fromkeys(name for _, row in computed.iterrows() for name in _warnings(row))
    if names:
        warned = "warned, see the table: " + ", ".join(map(style.words, names))
        sign = {"marker": r"$\mathbf{!}$", "markersize": 7, "markeredgewidth": 0.1, **alone}
        handles.append(entry(style.wrapped(warned, characters=60), style.VERMILLION, **sign))
    return finish(figure, _scenario(estimates), trust_finding(computed, read), handles)


def _warnings(row: pd.Series) -> list[str]:
    """Names of the warnings of one row."""
    return row["warning"].split(",") if isinstance(row["warning"], str) and row["warning"] else []


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
            axes,
            part,
            _HOLLOW if certain else ESTIMATORS,
            by="estimator",
            x="estimate",
            y="at",
            line=None,
            size=4.5,
            x_ends=("ci_low", "ci_high"),
            clip_on=False,
            gid="no interval" if certain else None,
        )
    style.shade_every_second(axes, len(rows), vertical=False)
    axes.set_xlim(left, right)
    for y in np.flatnonzero(~computed).tolist():
        _say_why(axes, y, rows["status"].iloc[y])
    for row in inside.to_dict("records"):
        colour = estimator_style(row["estimator"]).colour
        _mark_cut(axes, row["at"], row["ci_low"] < left, row["ci_high"] > right, colour)
    places = style.decimals(drawn["estimate"].to_numpy(dtype=float))
    for row in drawn.drop(inside.index).to_dict("records"):
        number = f"{row['estimate']:.{places}f}"
        look = estimator_style(row["estimator"])
        _point_beyond(axes, row["at"], number, row["estimate"] > right, look)
    axes.tick_params(axis="y", length=0)


def _say_why(axes: Axes, y: int, status: object) -> None:
    """The reason why a row has no estimate, in grey, in its place."""
    reason = STATUS_WORDS.get(str(status), "not computed")
    axes.text(
        0.5,
        y,
        reason,
        color=style.GREY,
        style="italic",
        ha="center",
        va="center_baseline",
        transform=axes.get_yaxis_transform(),
        gid="reason",
        zorder=2.2,
        bbox={"facecolor": style.PALE if y % 2 else "white", "edgecolor": "none", "pad": 0.4},
    )


def _mark_cut(axes: Axes, y: int, is_left: bool, is_right: bool, colour: str) -> None:
    """Small triangles where an interval goes on beyond the axis."""
    for place, marker, is_cut in ((0.0, CARETLEFT, is_left), (1.0, CARETRIGHT, is_right)):
        if is_cut:
            axes.plot(
                place,
                y,
                marker=marker,
                color=colour,
                markersize=4,
                clip_on=False,
                transform=axes.get_yaxis_transform(),
                gid="cut",
            )


def _point_beyond(axes: Axes, y: int, number: str, is_right: bool, look: style.Look) -> None:
    """A triangle at the edge of the axis, and the number that lies beyond it."""
    axes.plot(
        0.97 if is_right else 0.03,
        y,
        ">" if is_right else "<",
        color=look.colour,
        markersize=4,
        transform=axes.get_yaxis_transform(),
        gid="beyond",
    )
    axes.text(
        0.93 if is_right else 0.07,
        y,
        number,
        ha="right" if is_right else "left",
        va="center_baseline",
        transform=axes.get_yaxis_transform(),
    )


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
            f"{size:,.0f}{' !' if marks else ''}",
            (size, y),
            (2, 0),
            textcoords="offset points",
            va="center_baseline",
            ha="left",
            color=style.VERMILLION if marks else style.BLACK,
            fontweight="bold" if marks else None,
            gid="warning" if marks else "size",
        )
    style.shade_every_second(axes, len(rows), vertical=False)
    axes.set_xlim(0, _ROOM * most)
    axes.set_xticks([0, most], ["0", f"{most:,.0f}"])
    axes.tick_params(axis="y", length=0)


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
    inside = (rows["ci_low"] <= rows["truth"]) & (rows["truth"] <= rows["ci_high"])
    return f"{inside.sum()} of {len(rows)}"
