"""Figures of cost against F1 and AUROC: all solutions, the chosen front, and every other method.

Counterparts of Figs 4 and 6 of Yu et al. (2023). They place marks from the table of solutions,
whose rows say themselves whether they are on the front, and know neither policies nor files.
"""

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from frugal.figures import style
from frugal.figures.diagnosis_style import method_order, method_style

SCORE_WORDS = {"f1": "F1", "auroc": "AUROC", "am": "AM", "sensitivity": "sensitivity",
               "specificity": "specificity", "precision": "precision"}  # fmt: skip
SIDE_PT = 5.0  # between marks of one cost


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
    with several solutions are lines of small marks; the others are single marks, at their place on
    all panels (filled) or on fixed ones (hollow), side by side where they cost the same.
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
    moved = any(_shifts(shown[shown["method"] != method]).values())
    figure = style.new_figure(height_in=3.15 if moved else 3.0)
    apart = "\nmarks of one cost stand side by side" if moved else ""
    for axes, score in zip(figure.subplots(1, 2, sharex=True), scores, strict=True):
        _draw_scores(axes, shown, method, score)
        if score == scores[0]:
            _draw_envelope(axes, shown[shown["method"] == method], score)
        axes.set_xlabel(f"mean cost per unit ({cost_unit}){apart}")
        axes.set_ylabel(SCORE_WORDS.get(score, style.words(score)))
        axes.set_xlim(left=0)
        if highest_cost is not None:
            axes.set_xlim(right=1.03 * highest_cost)
    count = int((solutions["method"] == method).sum())
    zoom = "" if highest_cost is None else f", costs up to {highest_cost:.4g}"
    split = solutions["split"].iloc[0]
    figure.suptitle(
        f"{title}: {method_style(method).label}, {count} solutions, and other methods "
        f"on {split} units{zoom}", x=0.01, ha="left",
    )  # fmt: skip
    style.add_legend(figure, _handles(shown, method))
    return figure


def _draw_scores(axes: Axes, solutions: pd.DataFrame, method: str, score: str) -> None:
    """One score over cost: the faint cloud below, the front above it, other methods on top."""
    own = solutions[solutions["method"] == method]
    look = method_style(method)
    axes.plot(
        own["cost"], own[score], look.marker, color=style.lightened(look.colour, share=0.65),
        markersize=3, markeredgewidth=0, linestyle="none", zorder=1,
    )  # fmt: skip
    aside = _shifts(solutions[solutions["method"] != method])
    for name in reversed(method_order(solutions["method"])):
        if name != method:
            rows = solutions[solutions["method"] == name]
            _draw_other(axes, rows, name, score, shift_pt=aside.get(name, 0.0))
    front = own[own["on_front"]].sort_values(["cost", score])
    axes.plot(
        front["cost"], front[score], color=look.colour, marker=look.marker, markersize=4.5,
        linewidth=1.5, zorder=4,
    )  # fmt: skip


def _draw_envelope(axes: Axes, own: pd.DataFrame, score: str) -> None:
    """The best of all solutions on these very units, as steps."""
    if "on_test_front" in own and own["on_test_front"].any():
        envelope = own[own["on_test_front"]].sort_values(["cost", score])
        axes.step(
            envelope["cost"], envelope[score], where="post", color=style.BLACK, linewidth=0.9,
            linestyle=":", zorder=2,
        )  # fmt: skip


def _shifts(others: pd.DataFrame) -> dict[str, float]:
    """Points by which single marks of one cost are moved aside, by method."""
    single = others[~others.duplicated("method", keep=False)]
    shifts = {}
    for _, rows in single.groupby(single["cost"].round(6)):
        names = method_order(rows["method"])
        shifts |= {name: (k - (len(names) - 1) / 2) * SIDE_PT for k, name in enumerate(names)}
    return shifts


def _draw_other(axes: Axes, rows: pd.DataFrame, name: str, score: str, *, shift_pt: float) -> None:
    """A method beside the front: its own front as a thin line, or a single mark."""
    look, many = method_style(name), len(rows) > 1
    if many:
        rows = rows[rows["on_front"]].sort_values(["cost", score])
    edge = look.colour if many or look.hollow else "white"  # parts marks that lie on each other
    (line,) = axes.plot(
        rows["cost"], rows[score], color=look.colour, marker=look.marker, markerfacecolor=look.face,
        markeredgecolor=edge, markersize=3.5 if many else 5.5, linewidth=0.8,
        linestyle="--" if many else "none", zorder=3, clip_on=False,
    )  # fmt: skip
    aside = ScaledTranslation(shift_pt / 72, 0, axes.figure.dpi_scale_trans)
    line.set_transform(axes.transData + aside)  # after plotting, so that axes fit the data


def _handles(solutions: pd.DataFrame, method: str) -> list[Artist]:
    """Entries of the legend, the front first."""
    look = method_style(method)
    own = solutions[solutions["method"] == method]
    handles: list[Artist] = [
        Line2D([], [], color=look.colour, marker=look.marker, markersize=4.5, linewidth=1.5,
               label=f"{look.label}: front"),
        Line2D([], [], color=style.lightened(look.colour, share=0.65), marker=look.marker,
               markersize=3, linestyle="none", label="all its solutions"),
    ]  # fmt: skip
    if "on_test_front" in own and own["on_test_front"].any():
        handles.append(
            Line2D([], [], color=style.BLACK, linestyle=":", linewidth=0.9,
                   label="its best on these units")
        )  # fmt: skip
    for name in method_order(solutions["method"]):
        if name != method:
            look, many = method_style(name), int((solutions["method"] == name).sum()) > 1
            handles.append(
                Line2D([], [], color=look.colour, marker=look.marker, markerfacecolor=look.face,
                       markersize=3.5 if many else 6, linewidth=0.8,
                       linestyle="--" if many else "none", label=look.label)
            )  # fmt: skip
    return handles
