"""Figures of training: the classifier on two kinds of states, and policies on three sets of units.

Counterparts of Figs 3 and 5 of Yu et al. (2023). They draw curves as the table has them and know
neither policies nor files.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from frugal.contracts.errors import DataError
from frugal.figures import style

_SPLITS = {
    "train": ("training units", style.BLUE, "-"),
    "validation": ("validation units", style.ORANGE, "--"),
    "test": ("test units", style.BLACK, ":"),
}
_PATTERNS = {
    "classifier_auroc_random": ("classifier, random panels known", style.VERMILLION, "--"),
    "classifier_auroc_policy": ("classifier, states that the policy visits", style.PURPLE, "-"),
}
_COLUMNS = ["pair", "steps", "split", "f1", "auroc", "cost", *_PATTERNS]


@style.printed
def curves_figure(
    curves: pd.DataFrame, *, pair: int, classifier_split: str, cost_unit: str, title: str
) -> Figure:
    """A policy and its classifier while they are trained, those of all other pairs faint behind.

    Upper left: AUROC of the classifier on random states and on those that the policy visits
    [diagnosis, fig. 3]; then AUROC, F1 and cost of the policy on training, validation and test
    units [diagnosis, fig. 5]. Faint lines are the other pairs: their classifiers on visited
    states, and their policies on the first of the splits that the table has of validation and
    training units. A mark shows the weights that were kept, where the table has `kept`.

    Args:
        curves: pair, steps (of one learner), split, f1, auroc, cost, classifier_auroc_random,
            classifier_auroc_policy; one row per pair, split and look; of one method and seed.
        pair: drawn strongly.
        classifier_split: split on which the classifier is shown.
        cost_unit: of the cost axis.
        title: of the data set and the pair.

    Raises:
        DataError: a column is missing, the pair or the split is not in the table, or a split has
            no fixed look.
    """
    single = [c for c in ("method", "seed") if c in curves]
    style.require(curves, _COLUMNS, single=single)
    unknown = sorted(set(curves["split"]) - set(_SPLITS))
    if unknown:
        raise DataError(f"split {unknown[0]!r} has no colour; allowed are {', '.join(_SPLITS)}")
    mine = style.select(curves, pair=pair)
    figure = style.new_figure(height_in=4.3)
    (classifier, auroc), (f1, cost) = figure.subplots(2, 2, sharex=True)
    others = curves[curves["pair"] != pair]
    _draw_classifier(classifier, mine, others, classifier_split)
    words = {"auroc": "AUROC of diagnoses", "f1": "F1", "cost": f"mean cost ({cost_unit})"}
    for axes, score in ((auroc, "auroc"), (f1, "f1"), (cost, "cost")):
        _draw_policy(axes, mine, others, score)
        axes.set_ylabel(words[score])
    for axes in (f1, cost):
        axes.set_xlabel("steps of the policy")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    cost.set_ylim(bottom=0)
    classifier.set_title(f"classifier, {_SPLITS[classifier_split][0]}", loc="left")
    auroc.set_title("policy", loc="left")
    figure.suptitle(title, x=0.01, ha="left")
    style.add_legend(figure, _handles(mine, faint=not others.empty))
    return figure


def _draw_classifier(
    axes: Axes, mine: pd.DataFrame, others: pd.DataFrame, classifier_split: str
) -> None:
    faint = others[others["split"] == classifier_split]
    for _, rows in faint.groupby("pair"):
        _draw_faint(axes, rows, "classifier_auroc_policy")
    rows = style.select(mine, split=classifier_split).sort_values("steps")
    for column, (_, colour, line) in _PATTERNS.items():
        axes.plot(rows["steps"], rows[column], color=colour, linestyle=line, zorder=3)
    axes.set_ylabel("AUROC of the classifier")


def _draw_policy(axes: Axes, mine: pd.DataFrame, others: pd.DataFrame, score: str) -> None:
    present = [split for split in ("validation", "train", "test") if split in set(mine["split"])]
    for _, rows in others[others["split"] == present[0]].groupby("pair"):
        _draw_faint(axes, rows, score)
    for split, (_, colour, line) in _SPLITS.items():
        rows = mine[mine["split"] == split].sort_values("steps")
        axes.plot(rows["steps"], rows[score], color=colour, linestyle=line, zorder=3)
        if "kept" in rows:
            kept = rows[rows["kept"]]
            axes.plot(kept["steps"], kept[score], "o", color=colour, markersize=4.5, zorder=4)


def _draw_faint(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    rows = rows.sort_values("steps")
    colour = style.lightened(style.GREY, share=0.75)
    axes.plot(rows["steps"], rows[column], color=colour, linewidth=0.4, zorder=1)


def _handles(mine: pd.DataFrame, *, faint: bool) -> list[Line2D]:
    looks = [*_PATTERNS.values(), *(_SPLITS[s] for s in _SPLITS if s in set(mine["split"]))]
    handles = [Line2D([], [], color=c, ls=line, label=words) for words, c, line in looks]
    if "kept" in mine:
        handles.append(
            Line2D([], [], color=style.GREY, marker="o", linestyle="none", label="weights kept")
        )
    if faint:
        colour = style.lightened(style.GREY, share=0.75)
        handles.append(Line2D([], [], color=colour, linewidth=0.8, label="other pairs"))
    return handles
