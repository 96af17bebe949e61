"""Figures of the dadi study: 2 and 3 of the paper, predictions of outsiders, and how training went.

The agent is blue along γ, one colour and marker per baseline; hollow marks read every panel. They
show the study's tables and know neither agents nor files.
Titles begin with the name of the data set; `caution` is a warning to readers, None if none.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from frugal.core.declarations import load_literals
from frugal.draw import style
from frugal.draw.prints import PrintedFigure, draw_bars, draw_series, entry, finish, panels
from frugal.draw.style import Look

AGENT = {
    "dadi": Look("DADI (filled: on the front)", style.BLUE, "o"),
    "behind": Look("DADI", style.BLUE, "o", hollow=True),
    "degenerate": Look("gives nearly all the same decision", style.VERMILLION, "x"),
}
METHODS = style.looks_of(
    load_literals("frugal.studies.dadi.fair_baselines", "FairBaseline").values()
)
METHODS |= {
    name: look
    for name, look in style.looks_of(
        load_literals("frugal.acquire.policies", "AgentKind").values()
    ).items()
    if name not in METHODS
}
FEWEST_FOLDS = 3  # for an interval to be drawn
_GIVEN_UP = 0.02  # AUC that one would give up for less disparity
_ENDS = (("least", "most"), ("low", "high"))
_COLOURS = (style.SKY, style.BLUE, style.BLACK, style.GREY, style.GREEN, style.PURPLE)
_RAMP = (style.SKY, style.BLUE, style.GREEN, style.ORANGE, style.VERMILLION, style.PURPLE)
method_kind = partial(style.kind_of, looks=METHODS, subject="baseline")
method_order = partial(style.kind_order, looks=METHODS, subject="baseline")


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
    return (float(word), "") if word.replace(".", "", 1).isdigit() else (np.inf, word)


def ends_of(rows: pd.DataFrame, measure: str) -> Float[np.ndarray, "2 n"]:
    """Ends of the whiskers: Student's interval, or the range of fewer than three folds.

    With two folds the interval is thirteen times as wide as the two are apart.
    """
    few = (rows["folds"] < FEWEST_FOLDS).to_numpy()[:, None]
    within, interval = ([f"{measure}_{end}" for end in ends] for ends in _ENDS)
    return np.where(few, rows[within], rows[interval]).astype(np.float64).T


def _draw_lines(
    axes: Axes, rows: pd.DataFrame, measure: str, looks: Mapping[str, Look], by: str
) -> None:
    """Means over folds along γ, with their whiskers where there are several folds."""
    rows = rows.sort_values("gamma")
    draw_series(axes, rows, looks, by, "gamma", measure, y_ends=ends_of(rows, measure))
    axes.set_xlabel("γ: weight of accuracy")


def _over(folds: int) -> str:
    """The marks, in words."""
    ends = "and their range" if folds < FEWEST_FOLDS else "with 95 % intervals"
    return "one fold" if folds == 1 else f"means over {folds} folds {ends}"


@PrintedFigure(name="dadi_tradeoff", place=10, stages=("draw_dadi_figures",))
def tradeoff_figure(means: pd.DataFrame, title: str, caution: str | None) -> Figure:
    """Accuracy and disparity along γ, and one against the other, method by method.

    A method that decides nearly all the same is a cross: its disparity is uninformative.
                                                                             [dadi, fig. 2]

    `means`: of one data set: method, gamma, on_front, degenerate, positive_share, and auc and
    disparity with intervals.
    """
    columns = "method gamma auc auc_low disparity disparity_low on_front degenerate positive_share"
    style.require(means, f"{columns} folds", single="dataset")
    is_agent = means["method"] == "dadi"
    agents, others = means[is_agent].sort_values("gamma"), means[~is_agent]
    full = others[others["method"] == "full_features"]
    figure, (left, middle, right) = panels(3, 3, 2.7)
    words = {"auc": "AUC of the label", "disparity": "demographic disparity"}
    for axes, (measure, label) in zip((left, middle), words.items(), strict=True):
        _draw_lines(axes, agents, measure, AGENT, "method")
        _limit(axes, np.r_[agents[measure], full[measure]])
        for value in full[measure]:
            axes.axhline(value, color=style.BLACK, linestyle=":")
        axes.set_title(label)
    crosses = means[means["degenerate"]].assign(kind="degenerate")
    crossed = crosses[crosses["method"] == "dadi"]
    draw_series(middle, crossed, AGENT, "kind", "gamma", "disparity", line=None, size=7.0, zorder=5)
    places = ("kind", "disparity", "auc")
    kinds = agents.assign(kind=np.where(agents["on_front"], "dadi", "behind"))
    baselines = others.assign(kind=[method_kind(name) for name in others["method"]])
    sound = (rows[~rows["degenerate"]] for rows in (baselines, kinds))
    joined = agents.assign(kind="dadi")
    draw_series(right, joined, AGENT, *places, line=0.7, size=0.0, alpha=0.6)
    draw_series(right, next(sound), METHODS, *places, line=None, size=6.0, zorder=4)
    draw_series(right, next(sound), AGENT, *places, line=None, size=5.0, zorder=5)
    draw_series(right, crosses, AGENT, *places, line=None, size=5.0, zorder=5)
    _name_ends(right, agents)
    right.set_title("trade-off")
    right.set(xlabel=words["disparity"], ylabel=words["auc"])
    handles = [AGENT["dadi"].handle()]
    for kind, label in method_labels(others["method"]).items():
        stroke = ":" if kind in set(full["method"]) else "none"
        handles.append(METHODS[kind].handle(line=stroke, label=label))
    handles += [AGENT["degenerate"].handle()] * bool(len(crosses))
    finding = f"{tradeoff_finding(agents, full)}; {_over(int(means['folds'].max()))}"
    return finish(figure, title, finding, handles, caution)


def _limit(axes: Axes, values: Float[np.ndarray, " n"]) -> None:
    """Vertical limits that hold all means, and no more of wide intervals than the means' spread."""
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    room = 0.35 * max(most - least, 0.02)
    axes.set_ylim(least - min(room, max(least, 0.08 * room)), most + room)


def _name_ends(axes: Axes, agents: pd.DataFrame) -> None:
    """The least and the largest γ next to their marks, outlined in white."""
    axes.margins(x=0.12, y=0.17)
    for k, place in ((0, (7, -3)), (-1, (-7, 6))):
        row = agents.iloc[k]
        axes.annotate(
            f"γ = {row['gamma']:g}",
            (row["disparity"], row["auc"]),
            place,
            textcoords="offset points",
            color=AGENT["dadi"].colour,
            zorder=6,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )


def tradeoff_finding(agents: pd.DataFrame, full: pd.DataFrame) -> str:
    """The least disparity at nearly the AUC of all panels, or that of the most accurate agent.

    No method that decides nearly all the same is called fair.

    Args:
        agents: gamma, auc, disparity, degenerate, positive_share.
        full: the same of the classifier that reads every panel; none or one row.
    """
    sound = agents[~agents["degenerate"]]
    if not len(sound):
        shares = 100 * agents["positive_share"]
        return (
            "no disparity to compare: every agent gives nearly all the same decision "
            f"({shares.min():.0f} to {shares.max():.0f} % positive)"
        )
    best = style.highest(sound, "auc")
    if not len(full):
        return f"γ = {best['gamma']:g} has AUC {best['auc']:.2f}, disparity {best['disparity']:.2f}"
    all_fields = full.iloc[0]
    if all_fields["degenerate"]:
        return (
            f"γ = {best['gamma']:g} has AUC {best['auc']:.2f}, disparity {best['disparity']:.3f}; "
            "the classifier on all panels gives nearly all the same decision "
            f"({100 * all_fields['positive_share']:.0f} % positive)"
        )
    near = sound[sound["auc"] >= all_fields["auc"] - _GIVEN_UP]
    best = style.lowest(near, "disparity") if len(near) else best
    return (
        f"disparity {best['disparity']:.3f} instead of {all_fields['disparity']:.3f} with all "
        f"panels, at AUC {best['auc']:.2f} instead of {all_fields['auc']:.2f} "
        f"(γ = {best['gamma']:g})"
    )


@PrintedFigure(name="dadi_panels", place=20, stages=("draw_dadi_figures",))
def panels_figure(
    selection: pd.DataFrame,
    singles: pd.DataFrame,
    groups: Sequence[str],
    title: str,
    caution: str | None,
) -> Figure:
    """AUC of each panel alone above the share of units that it is acquired for.

                                                                             [dadi, fig. 3]

    `selection`: group (as drawn), panel, frequency with interval. `singles`: of one data set:
    panel, network, auc with interval; "all features" among them. `groups`: of `selection`, in their
    order.
    """
    style.require(singles, "panel network auc auc_low auc_high", single="dataset")
    style.require(selection, "group panel frequency folds", single="dataset")
    names = list(dict.fromkeys(singles["panel"]))
    upright = len(names) > 12
    room = 0.06 * max(map(len, names)) if upright else 0.5
    figure, (top, bottom) = panels(2, 1, 1.15, room + 0.7, sharex=True)
    networks = {"classifier": style.GREEN, "adversary": style.VERMILLION}
    shown = dict(zip(groups, 9 * _COLOURS, strict=False))
    _draw_slots(top, singles, "network", networks, names, "auc", floor=0.5)
    _draw_slots(bottom, selection, "group", shown, names, "frequency")
    top.set(ylim=(min(0.45, float(singles["auc"].min()) - 0.02), 1.0), ylabel="AUC alone")
    top.axhline(0.5, color=style.GREY, linewidth=0.7)
    bottom.set(ylim=(0, 1.03), ylabel="collected for\n(share of units)", xlim=(-0.6, None))
    labels = [style.wrapped(style.words(n), characters=99 if upright else 6) for n in names]
    bottom.set_xticks(range(len(names)), labels, rotation=90 if upright else 0)
    bottom.tick_params(axis="x", length=0)
    labels = {"classifier: label": style.GREEN, "adversary: group": style.VERMILLION} | shown
    handles = [Patch(color=colour, label=label) for label, colour in labels.items()]
    finding = f"{panels_finding(singles, selection)}; {_over(int(selection['folds'].max()))}"
    return finish(figure, title, finding, handles, caution)


def _draw_slots(
    axes: Axes,
    table: pd.DataFrame,
    by: str,
    colours: Mapping[str, str],
    names: Sequence[str],
    measure: str,
    *,
    floor: float = 0.0,
) -> None:
    """Bars of every kind side by side for each panel, with whiskers cut at 0 and 1."""
    width = 0.8 / len(colours)
    for k, (kind, colour) in enumerate(colours.items()):
        rows = table[table[by] == kind].set_index("panel").reindex(list(names))
        at = np.arange(len(names)) + (k - (len(colours) - 1) / 2) * width
        length = rows[measure].to_numpy(dtype=np.float64) - floor
        ends = np.clip(ends_of(rows, measure), 0, 1)
        draw_bars(axes, at, length, colour, 0.92 * width, base=floor, ends=ends)


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
    collected = " to ".join(dict.fromkeys(f"{end:.0f}" for end in (shares.min(), shares.max())))
    return (
        f"{style.words(str(worst['panel']))} shows most of the group (AUC {worst['auc']:.2f}) and "
        f"is collected for {collected} % of units"
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
    """How well outsiders, trained afterwards on the collected sets, predict group and label.

    `audit`: of one data set: method, gamma, target, learner, auc with interval. `means`: of one
    data set, for the adversary that was trained with the agents.
    """
    columns = "method gamma target learner auc auc_low auc_high folds"
    style.require(audit, columns, single="dataset")
    figure, grid = panels(2, 2, 2.7)
    targets = {
        "sensitive": "outsiders' AUC for the group, from collected panels",
        "label": "outsiders' AUC for the label, from the same",
    }
    for axes, (target, words) in zip(grid, targets.items(), strict=True):
        rows = audit[audit["target"] == target]
        _draw_lines(axes, rows[rows["method"] == "dadi"], "auc", _LEARNERS, "learner")
        values = rows["auc"]
        if target == "sensitive":
            agents = means[means["method"] == "dadi"]
            _draw_lines(axes, agents, "adversary_auc", _ADVERSARY, "method")
            values = pd.concat([values, agents["adversary_auc"]])
        full = float(rows.loc[rows["method"] == "all_panels", "auc"].max())
        axes.axhline(full, color=style.BLACK, linestyle=":")
        axes.axhline(0.5, color=style.GREY, linewidth=0.7)
        bottom, top = min(0.5, float(values.min())), float(values.max())
        room = 0.08 * (top - bottom) + 0.005
        axes.set_ylim(bottom - room, top + room)
        axes.set_title(words)
    handles = [look.handle(line="-") for look in (_LEARNERS | _ADVERSARY).values()]
    handles.append(entry("best outsider, all panels", style.BLACK, linestyle=":"))
    finding = f"{audit_finding(audit)}; {_over(int(audit['folds'].max()))}"
    return finish(figure, title, finding, handles, caution)


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


@PrintedFigure(name="dadi_curves", place=40, stages=("draw_dadi_figures",))
def curves_figure(curves: pd.DataFrame, title: str, caution: str | None) -> Figure:
    """Combined loss and panels acquired on validation rows while the agents learn.

    `curves`: of one data set: fold, iteration, gamma, objective, panels; up to six γ are drawn.
    """
    style.require(curves, "fold iteration gamma objective panels", single="dataset")
    gammas = sorted(curves["gamma"].unique())
    shown = [gammas[int(k)] for k in np.linspace(0, len(gammas) - 1, min(6, len(gammas)))]
    looks = {g: Look(f"γ = {g:g}", colour, "") for g, colour in zip(shown, _RAMP, strict=False)}
    mean = curves.groupby(["gamma", "iteration"])[["objective", "panels"]].mean()
    first = mean["objective"].groupby(level="gamma").transform("first")
    mean = mean.assign(change=mean["objective"] - first).reset_index()
    figure, grid = panels(2, 2, 2.5)
    columns = {"change": "change of the combined loss (nats)", "panels": "panels acquired"}
    for axes, (y, words) in zip(grid, columns.items(), strict=True):
        draw_series(axes, mean, looks, "gamma", "iteration", y, size=0.0)
        axes.set_title(words)
        axes.set_xlabel("iteration")
        axes.locator_params(axis="x", nbins=4)
        axes.xaxis.set_major_formatter("{x:,.0f}")
    last = mean.loc[mean["iteration"] == mean["iteration"].max(), "panels"]
    values = " to ".join(dict.fromkeys(f"{end:.1f}" for end in (last.min(), last.max())))
    folds = curves["fold"].nunique()
    finding = f"agents come to acquire {values} panels; means over {folds} folds"
    handles = [look.handle(line="-") for look in looks.values()]
    return finish(figure, title, finding, handles, caution)
