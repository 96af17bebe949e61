"""Figures of cost against F1 and AUROC: all solutions, the chosen front, and every other method.

Counterparts of Figs 4 and 6 of Yu et al. (2023). They place marks from the table of solutions,
whose rows say themselves whether they are on the front, and know neither policies nor files.
"""

from dataclasses import replace
from typing import Any

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.studies.diagnosis.figures import seen
from frugal.studies.diagnosis.figures.given import Front
from frugal.studies.diagnosis.figures.style import FIXED, FULL, method_order, method_style


@style.printed
def front_figure(
    solutions: pd.DataFrame,
    *,
    method: str,
    scores: tuple[str, str],
    cost_unit: str,
    title: str,
    highest_cost: float | None,
) -> Figure:
    """Cost and score of every solution, the front of one method, other methods around it.

    Faint points: all solutions of `method`. Line: those of its solutions that validation units put
    on the front, at what they cost and score on the units of the table, so that it need not rise.
    Dotted steps, where the table has `on_test_front`: the envelope of all solutions on the test
    units themselves, as the paper draws it, for the left score by which it is one; a maximum over
    many draws, and so too high. Methods
    with several solutions are lines of small marks; classifiers are single marks at what their
    panels cost, all of one look on all panels (filled) and of one on fixed ones (hollow).
                                                                [diagnosis, fig. 4; fig. 6]

    Args:
        solutions: method, pair, seed, split, cost, on_front and the columns of `scores`; one seed
            and one split.
        method: whose front is drawn.
        scores: two columns, left and right, for example ("f1", "auroc").
        cost_unit: of the cost axis.
        title: of the data set.
        highest_cost: right end of the axis, for the zoom of Fig. 6; None shows all.

    Raises:
        DataError: a column is missing, there are several seeds or splits, or no row of `method`.
    """
    style.require(
        solutions, ["method", "pair", "cost", "on_front", *scores], single=["seed", "split"]
    )
    style.select(solutions, method=method)
    shown = solutions if highest_cost is None else solutions[solutions["cost"] <= highest_cost]
    figure = style.new_figure(height_in=3.0)
    for axes, score in zip(figure.subplots(1, 2, sharex=True), scores, strict=True):
        _draw_scores(axes, shown, method, score)
        if score == scores[0]:
            _draw_envelope(axes, shown[shown["method"] == method], score)
        axes.set_xlabel(f"mean cost per unit ({cost_unit})")
        axes.set_ylabel(seen.score_words(score))
        axes.set_xlim(left=0)
        if highest_cost is not None:
            axes.set_xlim(right=1.03 * highest_cost)
    said = seen.front(shown, method, scores[0])
    figure.suptitle(style.titled(title, said), x=0.01, ha="left")
    style.add_legend(figure, _handles(shown, method, scores[0]))
    return figure


def _draw_scores(axes: Axes, solutions: pd.DataFrame, method: str, score: str) -> None:
    """One score over cost: the faint cloud below, the front above it, other methods on top."""
    places: dict[str, Any] = {"by": "method", "x": "cost", "y": score, "clip_on": False}
    looks = {name: method_style(name) for name in reversed(method_order(solutions["method"]))}
    own = solutions[solutions["method"] == method]
    draw_series(axes, own, {method: _faint(method)}, line=None, size=3.0, zorder=1, **places)
    others = solutions[solutions["method"] != method].sort_values(["cost", score])
    single = ~others.duplicated("method", keep=False)
    draw_series(axes, others[single], looks, line=None, size=5.0, **places)
    dashed = {name: replace(look, line="--") for name, look in looks.items()}
    many = others[~single & others["on_front"]]
    draw_series(axes, many, dashed, line=0.8, size=3.5, **places)
    front = own[own["on_front"]].sort_values(["cost", score])
    draw_series(axes, front, looks, line=1.5, size=4.5, zorder=4, **places)


def _faint(method: str) -> style.Look:
    """Look of all solutions of a method behind its front."""
    look = method_style(method)
    pale = to_hex(style.lightened(look.colour, share=0.65))
    return replace(look, colour=pale, label="all its solutions")


def _draw_envelope(axes: Axes, own: pd.DataFrame, score: str) -> None:
    """The best of all solutions on these very units, as steps."""
    if "on_test_front" in own and own["on_test_front"].any():
        envelope = own[own["on_test_front"]].sort_values(["cost", score])
        axes.step(
            envelope["cost"], envelope[score], where="post", color=style.BLACK, linewidth=0.9,
            linestyle=":", zorder=2,
        )  # fmt: skip


def _handles(solutions: pd.DataFrame, method: str, score: str) -> list[Artist]:
    """Entries of the legend with the highest score of each and its price; the front first."""
    look = method_style(method)
    own = solutions[solutions["method"] == method]
    front = own[own["on_front"]]
    told = f"{look.label}: front{_best(front, score)}"
    handles: list[Artist] = [look.handle(line="-", label=told), _faint(method).handle()]
    if "on_test_front" in own and own["on_test_front"].any():
        handles.append(
            Line2D([], [], color=style.BLACK, linestyle=":", linewidth=0.9,
                   label="its best on these units")
        )  # fmt: skip
    names = [name for name in method_order(solutions["method"]) if name != method]
    for name in names:
        if not name.endswith((FULL, FIXED)):
            rows, other = solutions[solutions["method"] == name], method_style(name)
            drawn = rows[rows["on_front"]] if len(rows) > 1 else rows
            told = f"{other.label}{_best(drawn, score)}"
            handles.append(other.handle(line="--" if len(rows) > 1 else "none", label=told))
    for end, words in ((FULL, "all panels"), (FIXED, "fixed panels")):
        alike = [name for name in names if name.endswith(end)]
        if alike:
            label = f"{len(alike)} classifiers, {words}" if len(alike) > 1 else None
            handles.append(method_style(alike[0]).handle(label=label))
    return handles


def _best(rows: pd.DataFrame, score: str) -> str:
    """The highest score of a method and what it costs, in brackets."""
    if not rows[score].notna().any():
        return ""
    best = style.highest(rows, score)
    return f" ({best[score]:.2f} for {best['cost']:,.0f})"


def _whole(given: Front) -> tuple[Figure, pd.DataFrame]:
    return front_figure(given.solutions, highest_cost=None, **given.names), given.solutions


def _zoomed(given: Front) -> tuple[Figure, pd.DataFrame]:
    rows, most = given.solutions, given.highest_cost
    return front_figure(rows, highest_cost=most, **given.names), rows[rows["cost"] <= most]


FRONT = PrintedFigure(
    name="diagnosis_front",
    place=10,
    stages=("draw_diagnosis_figures",),
    draw=_whole,
    doc="score against cost, solution by solution",
)


ZOOMED = PrintedFigure(
    name="diagnosis_front_zoomed",
    place=20,
    stages=("draw_diagnosis_figures",),
    draw=_zoomed,
    doc="the cheap end of the front",
)
