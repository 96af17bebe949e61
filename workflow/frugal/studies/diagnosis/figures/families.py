"""Figure of all families: what the chosen policy of each reaches within each budget.

A line per way to order panels, one panel of the figure per score by which policies are chosen.
Places marks from the table of budgets; knows neither policies nor files.
"""

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.studies.diagnosis.choice import BEST_FULL
from frugal.studies.diagnosis.figures import seen
from frugal.studies.diagnosis.figures.given import Families
from frugal.studies.diagnosis.figures.style import SAME_FOR_ALL, method_order, method_style

_WORDS = {"f1": "F1", "am": "mean of sensitivity and specificity"}
REFERENCE = "best classifier on all panels"


@style.printed
def families_figure(budgets: pd.DataFrame, *, title: str) -> Figure:
    """Score on test units of the policy that each family chooses within each budget.

    Lines: families, means over divisions of the rows. Dotted: the classifier on all panels that
    validation units choose, with one standard error either way (shaded).   [diagnosis, fig. 4]

    Args:
        budgets: of one data set: method, criterion, seed, budget_share, and scores with errors.
        title: of the data set.

    Raises:
        DataError: a column is missing, or there is no row.
    """
    style.require(budgets, ["method", "criterion", "seed", "budget_share", "cost_share"], single=[])
    criteria = sorted(budgets["criterion"].unique(), reverse=True)
    figure = style.new_figure(height_in=3.2)
    for axes, name in zip(np.atleast_1d(figure.subplots(1, len(criteria))), criteria, strict=True):
        _draw(axes, budgets[budgets["criterion"] == name], name)
    said = seen.families(_means(budgets, criteria[0]), BEST_FULL, criteria[0])
    figure.suptitle(style.titled(title, said), x=0.01, ha="left")
    style.add_legend(figure, _handles(_means(budgets, criteria[0]), criteria[0]))
    return figure


def _means(budgets: pd.DataFrame, score: str) -> pd.DataFrame:
    """Means over divisions of the rows, of policies chosen by the score."""
    rows = budgets[budgets["criterion"] == score]
    columns = [score, f"{score}_se", "cost_share"]
    return rows.groupby(["method", "budget_share"], observed=True)[columns].mean().reset_index()


def _draw(axes: Axes, rows: pd.DataFrame, score: str) -> None:
    means = _means(rows, score)
    reference = means[means["method"] == BEST_FULL]
    if len(reference):
        level, error = reference[score].iloc[-1], reference[f"{score}_se"].iloc[-1]
        axes.axhspan(level - error, level + error, color=style.GREY, alpha=0.15, linewidth=0)
        axes.axhline(level, color=style.BLACK, linestyle=":", linewidth=1.0)
    looks = {name: method_style(name) for name in reversed(method_order(_shown(rows)))}
    shown = means[means["method"].isin(looks)].assign(percent=100 * means["cost_share"])
    draw_series(
        axes, shown, looks, by="method", x="percent", y=score, size=4.5, line=1.2, clip_on=False
    )
    axes.set_xlim(left=0)
    axes.set_xlabel("mean price paid, % of all panels")
    axes.set_ylabel(_WORDS.get(score, style.words(score)))


def _shown(rows: pd.DataFrame) -> list[str]:
    """Families that order panels; classifiers on sets that are the same for all are left out."""
    names = rows["method"].astype(str).unique().tolist()
    return [name for name in names if not name.endswith((*SAME_FOR_ALL,)) and name != BEST_FULL]


def _handles(means: pd.DataFrame, score: str) -> list[Artist]:
    """Families with the highest score that they reach and its price: the legend is a table."""
    found: list[Artist] = []
    for name in method_order(_shown(means)):
        rows, look = means[means["method"] == name], method_style(name)
        best = style.highest(rows, score)
        told = f"{look.label} ({best[score]:.2f} for {100 * best['cost_share']:.0f} %)"
        found.append(look.handle(line="-", label=told))
    return [*found, Line2D([], [], color=style.BLACK, linestyle=":", label=REFERENCE)]


def _families(given: Families) -> tuple[Figure, pd.DataFrame]:
    return families_figure(given.budgets, title=given.title), given.budgets


FAMILIES = PrintedFigure(
    name="diagnosis_families",
    place=5,
    stages=("draw_fronts",),
    draw=_families,
    doc="what every family reaches within each budget",
)
