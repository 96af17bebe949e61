"""Can dadi's fairness be trusted: what outsiders learn from collected sets; did training settle.

Beyond the paper. Knows neither agents nor files.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.draw.style import Look
from frugal.studies.dadi.figures import seen
from frugal.studies.dadi.figures.given import DataSet
from frugal.studies.dadi.figures.style import draw_lines, titled, told_of

_LEARNERS = {
    "logistic": Look("logistic regression", style.ORANGE, "^"),
    "boosting": Look("gradient boosting", style.GREEN, "D"),
    "set_network": Look("set network", style.BLUE, "s"),
}
_OWN = {"dadi": Look("DADI's own adversary", style.BLACK, "o")}
_RAMP = (style.SKY, style.BLUE, style.GREEN, style.ORANGE, style.VERMILLION, style.PURPLE)


@style.printed
def audit_figure(
    audit: pd.DataFrame, means: pd.DataFrame, *, title: str, caution: str | None
) -> Figure:
    """AUC of outsiders, trained afterwards on the collected sets, for group and label, along γ.

    Args:
        audit: of one data set: method, gamma, target, learner, auc with interval.
        means: of one data set, for the adversary that was trained with the agents.
        title: name of the data set.
        caution: what must be known before it is read; None if nothing.
    """
    columns = ["method", "gamma", "target", "learner", "auc", "auc_low", "auc_high", "folds"]
    style.require(audit, columns, single=["dataset"])
    figure = style.new_figure(height_in=2.7)
    left, right = figure.subplots(1, 2)
    agents = means[means["method"] == "dadi"]
    own = agents["adversary_auc"]
    for axes, target in ((left, "sensitive"), (right, "label")):
        rows = audit[audit["target"] == target]
        learnt = rows[rows["method"] == "dadi"]
        draw_lines(axes, learnt, "auc", _LEARNERS, by="learner")
        if target == "sensitive":
            draw_lines(axes, agents, "adversary_auc", _OWN, by="method")
        whole = float(rows["auc"].where(rows["method"] == "all_panels").max())
        axes.axhline(whole, color=style.BLACK, linestyle=":")
        axes.axhline(0.5, color=style.GREY, linewidth=0.7)
        axes.set_xlabel("γ: weight of accuracy")
        drawn = rows["auc"] if target == "label" else pd.concat((rows["auc"], own))
        top, bottom = max(whole, float(drawn.max())), min(0.5, float(drawn.min()))
        room = 0.08 * (top - bottom) + 0.005
        axes.set_ylim(bottom - room, top + room)
    left.set_title("outsiders' AUC for the group, from collected panels")
    right.set_title("outsiders' AUC for the label, from the same")
    handles = [look.handle(line="-") for look in (*_LEARNERS.values(), *_OWN.values())]
    handles.append(
        Line2D([], [], color=style.BLACK, linestyle=":", label="best outsider, all panels")
    )
    style.add_legend(figure, handles)
    over = told_of(int(audit["folds"].max()), whiskers=True)
    titled(figure, title, seen.outsiders(audit), over, caution)
    return figure


@style.printed
def curves_figure(curves: pd.DataFrame, *, title: str, caution: str | None) -> Figure:
    """Combined loss and panels acquired on validation rows while the agents learn.

    Args:
        curves: of one data set: fold, iteration, gamma, objective, panels; up to six γ are drawn.
        title: name of the data set.
        caution: what must be known before it is read; None if nothing.
    """
    style.require(curves, ["fold", "iteration", "gamma", "objective", "panels"], single=["dataset"])
    gammas = sorted(curves["gamma"].unique())
    shown = [gammas[int(k)] for k in np.linspace(0, len(gammas) - 1, min(6, len(gammas)))]
    figure = style.new_figure(height_in=2.5)
    left, right = figure.subplots(1, 2)
    looks = {
        gamma: Look(f"γ = {gamma:g}", colour, "")
        for colour, gamma in zip(_RAMP, shown, strict=False)
    }
    mean = curves.groupby(["gamma", "iteration"])[["objective", "panels"]].mean()
    first = mean["objective"].groupby(level="gamma").transform("first")
    mean = mean.assign(change=mean["objective"] - first).reset_index()
    for axes, y in ((left, "change"), (right, "panels")):
        draw_series(axes, mean, looks, by="gamma", x="iteration", y=y, size=0.0)
    left.set_title("change of the combined loss (nats)")
    right.set_title("panels acquired")
    for axes in (left, right):
        axes.set_xlabel("iteration")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    style.add_legend(figure, [look.handle(line="-") for look in looks.values()])
    last = mean[mean["iteration"] == mean["iteration"].max()]
    over = told_of(curves["fold"].nunique(), whiskers=False)
    titled(figure, title, seen.training(last), over, caution)
    return figure


def _audit(given: DataSet) -> tuple[Figure, pd.DataFrame]:
    return audit_figure(given.audit, given.means, **given.words), given.audit


def _curves(given: DataSet) -> tuple[Figure, pd.DataFrame]:
    return curves_figure(given.curves, **given.words), given.curves


AUDIT = PrintedFigure(
    name="dadi_audit",
    place=30,
    stages=("draw_dadi_figures",),
    draw=_audit,
    doc="what independent learners tell of the group",
)


CURVES = PrintedFigure(
    name="dadi_curves",
    place=40,
    stages=("draw_dadi_figures",),
    draw=_curves,
    doc="how training went",
)
