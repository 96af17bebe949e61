"""Figures of training: the classifier on two kinds of states, and policies on three sets of units.

Counterparts of Figs 3 and 5 of Yu et al. (2023). They draw curves as the table has them and know
neither policies nor files.
"""

from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from frugal.core.errors import DataError
from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.draw.style import Look
from frugal.studies.diagnosis.figures.given import Front

_SPLITS = {
    "train": Look("training units", style.BLUE, "", line="-"),
    "validation": Look("validation units", style.ORANGE, "", line="--"),
    "test": Look("test units", style.BLACK, "", line=":"),
}
_PATTERNS = {
    "classifier_auroc_random": Look(
        "classifier, random panels known", style.VERMILLION, "", line="--"
    ),
    "classifier_auroc_policy": Look("classifier, states that the policy visits", style.PURPLE, ""),
}
_FAINT = Look("other pairs", to_hex(style.lightened(style.GREY, share=0.75)), "")
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
    classifier.set_title(f"classifier, {_SPLITS[classifier_split].label}", loc="left")
    auroc.set_title("policy", loc="left")
    figure.suptitle(title, x=0.01, ha="left")
    style.add_legend(figure, _handles(mine, faint=not others.empty))
    return figure


def _draw_classifier(
    axes: Axes, mine: pd.DataFrame, others: pd.DataFrame, classifier_split: str
) -> None:
    _draw_faint(axes, others[others["split"] == classifier_split], "classifier_auroc_policy")
    rows = style.select(mine, split=classifier_split).sort_values("steps")
    states = rows.melt("steps", list(_PATTERNS), var_name="states", value_name="score")
    draw_series(axes, states, _PATTERNS, by="states", x="steps", y="score", size=0.0)
    axes.set_ylabel("AUROC of the classifier")


def _draw_policy(axes: Axes, mine: pd.DataFrame, others: pd.DataFrame, score: str) -> None:
    present = [split for split in ("validation", "train", "test") if split in set(mine["split"])]
    _draw_faint(axes, others[others["split"] == present[0]], score)
    places: dict[str, Any] = {"by": "split", "x": "steps", "y": score}
    draw_series(axes, mine.sort_values("steps"), _SPLITS, size=0.0, **places)
    if "kept" in mine:
        dots = {split: replace(look, marker="o") for split, look in _SPLITS.items()}
        draw_series(axes, mine[mine["kept"]], dots, line=None, size=4.5, zorder=4, **places)


def _draw_faint(axes: Axes, rows: pd.DataFrame, column: str) -> None:
    looks = dict.fromkeys(rows["pair"].unique(), _FAINT)
    rows = rows.sort_values("steps")
    draw_series(axes, rows, looks, by="pair", x="steps", y=column, line=0.4, size=0.0, zorder=1)


def _handles(mine: pd.DataFrame, *, faint: bool) -> list[Line2D]:
    looks = [*_PATTERNS.values(), *(_SPLITS[s] for s in _SPLITS if s in set(mine["split"]))]
    handles = [look.handle(line=look.line) for look in looks]
    if "kept" in mine:
        handles.append(Look("weights kept", style.GREY, "o").handle())
    if faint:
        handles.append(_FAINT.handle(line="-"))
    return handles


def _curves(given: Front) -> tuple[Figure, pd.DataFrame]:
    return curves_figure(given.training, **given.chosen), given.training


CURVES = PrintedFigure(
    name="diagnosis_curves",
    place=30,
    stages=("draw_diagnosis_figures",),
    draw=_curves,
    doc="how the training of a policy went",
)
