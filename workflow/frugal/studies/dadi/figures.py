"""Figures of the dadi study: 2 and 3 of the paper, predictions of outsiders, and how training went.

The agent is blue along γ, one colour and marker per baseline; hollow marks read every panel. They
show the study's tables and know neither agents nor files.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from frugal.core.declarations import load_literals
from frugal.draw import style
from frugal.draw.prints import PrintedFigure, draw_bars, draw_series, entry, panels
from frugal.draw.style import Look

AGENT = {
    "dadi": Look("DADI (filled: on the front)", style.BLUE, "o"),
    "behind": Look("DADI", style.BLUE, "o", hollow=True),
    "degenerate": Look("gives nearly all the same decision", style.VERMILLION, "x"),
}
METHODS = style.looks_of(load_literals("frugal.learn.fair_baselines", "FairBaseline").values())
METHODS |= {
    name: look
    for name, look in style.looks_of(
        load_literals("frugal.acquire.policies", "AgentKind").values()
    ).items()
    if name not in METHODS
}
FEWEST_FOLDS = 3  # for an interval to be drawn
HALF_MARK = 0.03  # of an axis that is as tall as those here, with some air
SIDE, LABEL_WIDTH, LABEL_HALF = 130, 30, 4  # points: the axes, "γ = 0.1", half its height
CLEAR = 10  # points from a label's middle line to a mark that does not touch it
_GIVEN_UP = 0.02  # AUC that one would give up for less disparity
_GROUP_COLOURS = (style.SKY, style.BLUE, style.BLACK, style.GREY, style.GREEN, style.PURPLE)
_WEIGHT = "γ: weight of accuracy"


def method_kind(name: str) -> str:
    """The kind whose name begins a baseline's name; a name of none is refused."""
    return style.kind_of(name, METHODS, subject="baseline")


def method_order(names: Iterable[str]) -> list[str]:
    """Distinct baselines in the order in which every figure lists them."""
    return style.kind_order(names, METHODS, subject="baseline")


def method_labels(names: Iterable[str]) -> dict[str, str]:
    """Kind → words for it, with the detail that names add: "LASSO, 2, 4, 8 panels"."""
    added: dict[str, list[str]] = {}
    for name in method_order(names):
        kind = method_kind(name)
        added.setdefault(kind, []).append(style.words(name[len(kind) :].lstrip("_")))
    labels = {}
    for kind, rest in added.items():
        numbers = ", ".join(sorted(filter(None, rest), key=_number))
        look = METHODS[kind]
        labels[kind] = f"{look.label}, {numbers} {look.unit}".rstrip() if numbers else look.label
    return labels


def _number(word: str) -> tuple[float, str]:
    """Numbers by size, before other words."""
    return (float(word), "") if word.replace(".", "", 1).isdigit() else (float("inf"), word)


def ends_of(rows: pd.DataFrame, measure: str) -> Float[np.ndarray, "2 n"]:
    """Ends of the whiskers: Student's interval, or the range of fewer than three folds.

    With two folds the interval is thirteen times as wide as the two are apart.
    """
    few = (rows["folds"] < FEWEST_FOLDS).to_numpy()
    ends = [
        np.where(few, rows[f"{measure}_{most}"], rows[f"{measure}_{high}"])
        for most, high in (("least", "low"), ("most", "high"))
    ]
    return np.array(ends, dtype=np.float64)


def _draw_lines(
    axes: Axes, rows: pd.DataFrame, measure: str, looks: Mapping[str, Look], *, by: str
) -> None:
    """Means over folds along γ, with their whiskers where there are several folds."""
    rows = rows.sort_values("gamma")
    draw_series(axes, rows, looks, by=by, x="gamma", y=measure, y_ends=ends_of(rows, measure))
    axes.set_xlabel(_WEIGHT)


def _finish(
    figure: Figure,
    words: tuple[str, str, str | None],
    folds: int,
    handles: Sequence[Artist],
    *,
    whiskers: bool = True,
) -> Figure:
    """The figure with its legend and title: data set, finding, marks, cautions."""
    title, finding, caution = words
    ends = "and their range" if folds < FEWEST_FOLDS else "with 95 % intervals"
    means = f"means over {folds} folds {ends if whiskers else ''}".rstrip()
    lines = [style.titled(title, f"{finding}; {'one fold' if folds == 1 else means}")]
    lines += [style.wrapped(caution, characters=style.TITLE_CHARACTERS)] if caution else []
    style.add_legend(figure, handles)
    figure.suptitle("\n".join(lines), x=0.01, ha="left")
    return figure


@PrintedFigure(name="dadi_tradeoff", place=10, stages=("draw_dadi_figures",))
def tradeoff_figure(means: pd.DataFrame, title: str, caution: str | None) -> Figure:
    """AUC and disparity along γ, and one against the other with the baselines  [dadi, fig. 2].

    Args:
        means: of one data set: method, gamma, on_front, degenerate, positive_share, and auc and
            disparity with intervals.
        title: name of the data set.
        caution: warning to readers; None if none.
    """
    columns = "method gamma auc auc_low disparity disparity_low on_front degenerate positive_share"
    style.require(means, f"{columns} folds", single="dataset")
    agents = means[means["method"] == "dadi"].sort_values("gamma")
    others = means[means["method"] != "dadi"]
    full = others[others["method"] == "full_features"]
    figure, (left, middle, right) = panels(3, 3, line_in=2.7, more_in=0.0)
    for axes, measure, words in (
        (left, "auc", "AUC of the label"),
        (middle, "disparity", "demographic disparity"),
    ):
        _draw_lines(axes, agents, measure, AGENT, by="method")
        _limit(axes, np.concatenate([rows[measure].to_numpy(float) for rows in (agents, full)]))
        for value in full[measure]:
            axes.axhline(value, color=style.BLACK, linestyle=":")
        axes.set_title(words)
    degenerate = agents[agents["degenerate"]].assign(kind="degenerate")
    places: dict[str, Any] = {"by": "kind", "x": "gamma", "y": "disparity"}
    draw_series(middle, degenerate, AGENT, line=None, size=7.0, zorder=5, **places)
    _draw_front(right, agents, others)
    handles: list[Artist] = [AGENT["dadi"].handle()]
    for kind, label in method_labels(others["method"]).items():
        stroke = ":" if kind in set(full["method"]) else "none"
        handles.append(METHODS[kind].handle(line=stroke, label=label))
    if means["degenerate"].any():
        handles.append(AGENT["degenerate"].handle())
    words = title, tradeoff_finding(agents, full), caution
    return _finish(figure, words, int(means["folds"].max()), handles)


def _limit(axes: Axes, values: Float[np.ndarray, " n"]) -> None:
    """Vertical limits that hold all means, and no more of wide intervals than the means' spread.

    A mean at 0, where the axis would end, is drawn whole.
    """
    values = values[np.isfinite(values)]
    reach = max(float(values.max() - values.min()), 0.02)
    lowest, top = float(values.min()), float(values.max()) + 0.35 * reach
    bottom = max(0.0, lowest - 0.35 * reach)
    axes.set_ylim(min(bottom, lowest - HALF_MARK * (top - bottom)), top)


def _draw_front(axes: Axes, agents: pd.DataFrame, others: pd.DataFrame) -> None:
    """AUC against disparity; agents joined along γ, those on the front filled.

    A method that decides nearly all the same is a cross: its disparity is uninformative.
    """
    every = pd.concat((agents, others))
    kinds = agents.assign(kind=np.where(agents["on_front"], "dadi", "behind"))
    degenerate = every[every["degenerate"]].assign(kind="degenerate")
    kinds = pd.concat((kinds[~kinds["degenerate"]], degenerate))
    baselines = others.assign(kind=[method_kind(name) for name in others["method"]])
    baselines = baselines[~baselines["degenerate"]]
    places: dict[str, Any] = {"by": "kind", "x": "disparity", "y": "auc"}
    joined = agents.assign(kind="dadi")
    draw_series(axes, joined, AGENT, line=0.7, size=0.0, alpha=0.6, **places)
    draw_series(axes, baselines, METHODS, line=None, size=6.0, zorder=4, **places)
    draw_series(axes, kinds, AGENT, line=None, size=5.0, zorder=5, **places)
    axes.margins(x=0.12, y=0.17)
    marks = every[["disparity", "auc"]].to_numpy(float)
    corners = agents[["disparity", "auc"]].to_numpy(float)
    steps = np.linspace(0.2, 0.8, 7)[:, None]
    between = [a + steps * (b - a) for a, b in pairwise(corners)]
    line = np.concatenate(between) if between else np.empty((0, 2))
    for _, row in agents.iloc[[0, -1]].iterrows():
        right, up = _free_place(axes, row[["disparity", "auc"]].to_numpy(float), marks, line)
        axes.annotate(
            f"γ = {row['gamma']:g}",
            (row["disparity"], row["auc"]),
            xytext=(right, up),
            textcoords="offset points",
            ha="left" if right > 0 else "right",
            color=AGENT["dadi"].colour,
            zorder=6,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )
    axes.set_title("trade-off")
    axes.set(xlabel="demographic disparity", ylabel="AUC of the label")


def _free_place(
    axes: Axes, mark: np.ndarray, marks: np.ndarray, line: np.ndarray
) -> tuple[int, int]:
    """The nearest place inside the axes where a mark's label is clear of all others, in points.

    Where none is clear, the one farthest from them; of several, one clear of points on the line.
    """
    axes.autoscale_view()
    at, passed, place = (
        axes.transLimits.transform(points) * SIDE for points in (marks, line, mark)
    )
    others = at[(np.abs(at - place) > 1).any(axis=1)]
    scores = {}
    for side in (1, -1):
        for up in (-12, -8, -3, 5, 9):
            along = place + [[side * (6 + x), up + 3] for x in np.linspace(0, LABEL_WIDTH, 4)]
            clear = [
                min(np.linalg.norm(part[:, None] - along, axis=2).min(initial=np.inf), CLEAR)
                for part in (others, passed)
            ]
            inside = ((along >= LABEL_HALF) & (along <= SIDE - LABEL_HALF)).all()
            scores[side * 6, up] = (inside, *clear, -abs(up + 3))
    return max(scores, key=lambda offset: scores[offset])


def tradeoff_finding(agents: pd.DataFrame, full: pd.DataFrame) -> str:
    """The least disparity at nearly the AUC of all panels, or that of the most accurate agent.

    No method that decides nearly all the same is called fair.

    Args:
        agents: gamma, auc, disparity, degenerate, positive_share.
        full: the same of the classifier that reads every panel; none or one row.
    """
    every, agents = agents, agents[~agents["degenerate"]]
    if not len(agents):
        shares = 100 * every["positive_share"]
        return (
            "no disparity to compare: every agent gives nearly all the same decision "
            f"({shares.min():.0f} to {shares.max():.0f} % positive)"
        )
    best = style.highest(agents, "auc")
    if not len(full):
        return f"γ = {best['gamma']:g} has AUC {best['auc']:.2f}, disparity {best['disparity']:.2f}"
    if full["degenerate"].iloc[0]:
        return (
            f"γ = {best['gamma']:g} has AUC {best['auc']:.2f}, disparity {best['disparity']:.3f}; "
            "the classifier on all panels gives nearly all the same decision "
            f"({100 * full['positive_share'].iloc[0]:.0f} % positive)"
        )
    auc, disparity = float(full["auc"].iloc[0]), float(full["disparity"].iloc[0])
    near = agents[agents["auc"] >= auc - _GIVEN_UP]
    best = style.lowest(near, "disparity") if len(near) else best
    return (
        f"disparity {best['disparity']:.3f} instead of {disparity:.3f} with all panels, at AUC "
        f"{best['auc']:.2f} instead of {auc:.2f} (γ = {best['gamma']:g})"
    )


@PrintedFigure(name="dadi_panels", place=20, stages=("draw_dadi_figures",))
def panels_figure(
    selection: pd.DataFrame,
    singles: pd.DataFrame,
    groups: Sequence[str],
    title: str,
    caution: str | None,
) -> Figure:
    """AUC of each panel alone above the share of units that it is acquired for  [dadi, fig. 3].

    Args:
        selection: group (as drawn), panel, frequency with interval.
        singles: of one data set: panel, network, auc with interval; "all features" among them.
        groups: of `selection`, in their order.
        title: name of the data set.
        caution: warning to readers; None if none.
    """
    style.require(singles, "panel network auc auc_low auc_high", single="dataset")
    style.require(selection, "group panel frequency folds", single="dataset")
    names = list(dict.fromkeys(singles["panel"]))
    upright = len(names) > 12
    room = 0.06 * max(map(len, names)) if upright else 0.5
    figure, (top, bottom) = panels(2, 1, line_in=1.15, more_in=room + 0.7, sharex=True)
    handles: list[Artist] = []
    networks = {"classifier": ("label", style.GREEN), "adversary": ("group", style.VERMILLION)}
    for k, (network, (target, colour)) in enumerate(networks.items()):
        rows = singles[singles["network"] == network].set_index("panel").reindex(names)
        _draw_slots(top, rows, "auc", (k, 2), colour, floor=0.5)
        handles.append(Patch(facecolor=colour, label=f"{network}: {target}"))
    for k, group in enumerate(groups):
        rows = selection[selection["group"] == group].set_index("panel").reindex(names)
        _draw_slots(bottom, rows, "frequency", (k, len(groups)), _GROUP_COLOURS[k % 6], floor=0.0)
        handles.append(Patch(facecolor=_GROUP_COLOURS[k % 6], label=group))
    top.set(ylim=(min(0.45, float(singles["auc"].min()) - 0.02), 1.0), ylabel="AUC alone")
    top.axhline(0.5, color=style.GREY, linewidth=0.7)
    bottom.set(ylim=(0, 1.03), ylabel="collected for\n(share of units)")
    labels, turn = _labels(names, upright=upright), 90 if upright else 0
    bottom.set_xticks(range(len(names)), labels, rotation=turn)
    bottom.tick_params(axis="x", length=0)
    bottom.set_xlim(-0.6, len(names) - 0.4)
    words = title, panels_finding(singles, selection), caution
    return _finish(figure, words, int(selection["folds"].max()), handles)


def _labels(names: list[str], *, upright: bool) -> list[str]:
    """Panels' names as words; where they are level, broken, their last words on one line."""
    words = [name.replace("_", " ") for name in names]
    if upright:
        return words
    broken = [style.wrapped(name, characters=6) for name in words]
    lines = max(name.count("\n") for name in broken)
    return ["\n" * (lines - name.count("\n")) + name for name in broken]


def _draw_slots(
    axes: Axes,
    rows: pd.DataFrame,
    measure: str,
    slot: tuple[int, int],
    colour: str,
    *,
    floor: float,
) -> None:
    """One bar for each panel, in slot k of so many, with its whisker cut at 0 and 1."""
    k, count = slot
    width = 0.8 / count
    at = np.arange(len(rows)) + (k - (count - 1) / 2) * width
    length = rows[measure].to_numpy(dtype=np.float64) - floor
    ends = np.clip(ends_of(rows, measure), 0, 1)
    draw_bars(axes, at, length, base=floor, colour=colour, width=0.92 * width, ends=ends)


def panels_finding(singles: pd.DataFrame, selection: pd.DataFrame) -> str:
    """The panel that predicts the group best alone, and for whom it is collected.

    Args:
        singles: panel, network, auc.
        selection: group, panel, frequency.
    """
    alone = singles[(singles["network"] == "adversary") & singles["panel"].isin(selection["panel"])]
    if not len(alone):
        return "which panels are collected"
    worst = style.highest(alone, "auc")
    shares = 100 * selection.loc[selection["panel"] == worst["panel"], "frequency"]
    low, high = f"{shares.min():.0f}", f"{shares.max():.0f}"
    collected = f"{low} %" if low == high else f"{low} to {high} %"
    return (
        f"{style.words(str(worst['panel']))} shows most of the group (AUC {worst['auc']:.2f}) and "
        f"is collected for {collected} of units"
    )


_LEARNERS = {
    "logistic": Look("logistic regression", style.ORANGE, "^"),
    "boosting": Look("gradient boosting", style.GREEN, "D"),
    "set_network": Look("set network", style.BLUE, "s"),
}
_ADVERSARY = {"dadi": Look("DADI's own adversary", style.BLACK, "o")}


@PrintedFigure(name="dadi_audit", place=30, stages=("draw_dadi_figures",))
def audit_figure(
    audit: pd.DataFrame, means: pd.DataFrame, title: str, caution: str | None
) -> Figure:
    """AUC of outsiders, trained afterwards on the collected sets, for group and label, along γ.

    Args:
        audit: of one data set: method, gamma, target, learner, auc with interval.
        means: of one data set, for the adversary that was trained with the agents.
        title: name of the data set.
        caution: warning to readers; None if none.
    """
    columns = "method gamma target learner auc auc_low auc_high folds"
    style.require(audit, columns, single="dataset")
    figure, grid = panels(2, 2, line_in=2.7, more_in=0.0)
    agents = means[means["method"] == "dadi"]
    targets = {
        "sensitive": "outsiders' AUC for the group, from collected panels",
        "label": "outsiders' AUC for the label, from the same",
    }
    for axes, (target, words) in zip(grid, targets.items(), strict=True):
        rows = audit[audit["target"] == target]
        _draw_lines(axes, rows[rows["method"] == "dadi"], "auc", _LEARNERS, by="learner")
        drawn = rows["auc"]
        if target == "sensitive":
            _draw_lines(axes, agents, "adversary_auc", _ADVERSARY, by="method")
            drawn = pd.concat((drawn, agents["adversary_auc"]))
        full = float(rows["auc"].where(rows["method"] == "all_panels").max())
        axes.axhline(full, color=style.BLACK, linestyle=":")
        axes.axhline(0.5, color=style.GREY, linewidth=0.7)
        top, bottom = max(full, float(drawn.max())), min(0.5, float(drawn.min()))
        room = 0.08 * (top - bottom) + 0.005
        axes.set_ylim(bottom - room, top + room)
        axes.set_title(words)
    handles = [look.handle(line="-") for look in (*_LEARNERS.values(), *_ADVERSARY.values())]
    handles.append(entry("best outsider, all panels", style.BLACK, linestyle=":"))
    words = title, audit_finding(audit), caution
    return _finish(figure, words, int(audit["folds"].max()), handles)


def audit_finding(audit: pd.DataFrame) -> str:
    """How well the best outsider predicts the group from the most discreet agent's features.

    Args:
        audit: method, gamma, target, auc; a row per outsider.
    """
    rows = audit[audit["target"] == "sensitive"]
    learnt = rows[rows["method"] == "dadi"].groupby("gamma")["auc"].max().dropna()
    full = float(rows.loc[rows["method"] == "all_panels", "auc"].max())
    if not len(learnt):
        return f"outsiders predict the group from all panels with AUC {full:.2f}"
    return (
        f"outsiders predict the group with AUC {learnt.min():.2f} from what γ = "
        f"{learnt.idxmin():g} collects, {full:.2f} from all panels"
    )


_RAMP = (style.SKY, style.BLUE, style.GREEN, style.ORANGE, style.VERMILLION, style.PURPLE)


@PrintedFigure(name="dadi_curves", place=40, stages=("draw_dadi_figures",))
def curves_figure(curves: pd.DataFrame, title: str, caution: str | None) -> Figure:
    """Combined loss and panels acquired on validation rows while the agents learn.

    Args:
        curves: of one data set: fold, iteration, gamma, objective, panels; up to six γ are drawn.
        title: name of the data set.
        caution: warning to readers; None if none.
    """
    style.require(curves, "fold iteration gamma objective panels", single="dataset")
    gammas = sorted(curves["gamma"].unique())
    shown = [gammas[int(k)] for k in np.linspace(0, len(gammas) - 1, min(6, len(gammas)))]
    looks = {
        gamma: Look(f"γ = {gamma:g}", colour, "")
        for colour, gamma in zip(_RAMP, shown, strict=False)
    }
    mean = curves.groupby(["gamma", "iteration"])[["objective", "panels"]].mean()
    first = mean["objective"].groupby(level="gamma").transform("first")
    mean = mean.assign(change=mean["objective"] - first).reset_index()
    figure, grid = panels(2, 2, line_in=2.5, more_in=0.0)
    columns = {"change": "change of the combined loss (nats)", "panels": "panels acquired"}
    for axes, (y, words) in zip(grid, columns.items(), strict=True):
        draw_series(axes, mean, looks, by="gamma", x="iteration", y=y, size=0.0)
        axes.set_title(words)
        axes.set_xlabel("iteration")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    last = mean.loc[mean["iteration"] == mean["iteration"].max(), "panels"]
    finding = f"agents come to acquire {last.min():.1f} to {last.max():.1f} panels"
    if len(last) == 1:
        finding = f"it comes to acquire {last.min():.1f} panels"
    handles = [look.handle(line="-") for look in looks.values()]
    folds = curves["fold"].nunique()
    return _finish(figure, (title, finding, caution), folds, handles, whiskers=False)
