"""Figures in print: declarations, panels and legends, and the marks that rows of a table become.

A study declares its figures in `studies.<study>.figures`; a stage draws all that are declared for
it. Nothing is computed here: every interval and band has the ends that the table gives. Knows no
study, no name and no file.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, ParamSpec

import numpy as np
import pandas as pd
from jaxtyping import Float, Real
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from frugal.draw.style import (
    GREY,
    TITLE_CHARACTERS,
    Look,
    add_legend,
    new_figure,
    printed,
    shade_every_second,
    titled,
    wrapped,
)

P = ParamSpec("P")
Ends = Float[np.ndarray, "2 n"]  # lower and upper ends of intervals, in the order of the rows


@dataclass(frozen=True, eq=False)
class PrintedFigure:
    """Declares a figure that a study's stages draw; decorates the function that draws it.

    The function has a table → the figure; all arguments are taken by name from those the stage
    hands over. It may draw several figures, each with a declaration.

    Attributes:
        name: of its files.
        place: the report lists the figures of a stage by this number.
        stages: that draw it.
        doc: its content, in a line, where that is not the first line of the function's.
        table: name of the table that it shows, where the argument has another name.
        fixed: arguments that no stage hands over.
    """

    name: str
    place: int
    stages: tuple[str, ...]
    doc: str = ""
    table: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, draw: Callable[P, Figure]) -> Callable[P, Figure]:
        """The function under the house settings, with its declarations."""
        drawn = draw if "figures" in vars(draw) else printed(draw)
        vars(drawn).setdefault("figures", {})[self.name] = self
        return drawn


def draw_all(
    figures: Mapping[str, Callable[..., Figure]], stage: str, inputs: Mapping[str, Any]
) -> dict[str, Any]:
    """Outputs of a stage: each figure as PNG and PDF, and its data as table and page."""
    outputs: dict[str, Any] = {}
    for name, draw in figures.items():
        declared: PrintedFigure = vars(draw)["figures"][name]
        if stage in declared.stages:
            first, *others = inspect.signature(draw).parameters
            table, words = inputs[declared.table or first], {**inputs, **declared.fixed}
            figure = draw(table, **{key: words[key] for key in others if key in words})
            outputs |= outputs_of(name, figure, table)
    return outputs


def outputs_of(name: str, figure: Figure, table: pd.DataFrame) -> dict[str, Any]:
    """One figure as PNG and PDF, and the table that it shows, also as a page."""
    pictures = {f"{name}_png": figure, f"{name}_pdf": figure}
    return pictures | {f"{name}_table": table, f"{name}_page": table}


def panels(
    count: int, columns: int, line_in: float, more_in: float = 0.0, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """A figure with so many axes, line by line; places that are left over stay empty.

    Args:
        count: of the axes.
        columns: at most.
        line_in: height of a line of axes, in inches.
        more_in: additional height.
        shared: further arguments of `subplots`.
    """
    columns = min(columns, count)
    lines = -(-count // columns)
    figure = new_figure(height_in=more_in + line_in * lines)
    grid = figure.subplots(lines, columns, squeeze=False, **shared).ravel()
    for axes in grid[count:]:
        axes.remove()
    return figure, list(grid[:count])


def finish(
    figure: Figure,
    subject: str,
    finding: str,
    handles: Sequence[Artist] = (),
    caution: str | None = None,
) -> Figure:
    """The figure with its title, which is its finding, and a legend below if there are entries.

    A caution to readers is below the title.
    """
    title = titled(subject, finding)
    title += f"\n{wrapped(caution, characters=TITLE_CHARACTERS)}" if caution else ""
    figure.suptitle(title, x=0.01, ha="left")
    if handles:
        add_legend(figure, handles)
    return figure


def name_rows(axes: Axes, names: Sequence[str]) -> None:
    """Names at 0, 1, 2, … from above, every second row shaded."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    shade_every_second(axes, len(names), vertical=False)


def entry(label: str, colour: str = GREY, **look: Any) -> Line2D:
    """Entry of a legend: a line, or with `linestyle="none"` a mark alone."""
    return Line2D([], [], color=colour, label=label, **look)


def mark_edge(axes: Axes, at: Any, far: Any, marker: Any, *, along: str = "y", **look: Any) -> None:
    """Marks in grey, at places of one axis (`along`) and shares of the length of the other."""
    across = axes.get_yaxis_transform() if along == "y" else axes.get_xaxis_transform()
    x, y = (far, at) if along == "y" else (at, far)
    mark = {"color": GREY, "markersize": 4, "linestyle": "none", "clip_on": False}
    axes.plot(x, y, marker=marker, in_layout=False, transform=across, **(mark | look))


def draw_series(
    axes: Axes,
    rows: pd.DataFrame,
    looks: Mapping[Any, Look],
    by: str,
    x: str,
    y: str,
    *,
    line: float | None = 1.2,
    size: float = 4.0,
    x_ends: tuple[str, str] | Ends | None = None,
    y_ends: tuple[str, str] | Ends | None = None,
    ends: Literal["bars", "band"] = "bars",
    **artist: Any,
) -> None:
    """Each name's rows as marks in its look, joined in the order of the rows; gaps stay gaps.

    Args:
        axes: to draw into.
        rows: one per mark.
        looks: of the names in column `by`, first those that are drawn below; others are left out.
        by: column of the names.
        x: column of places along the horizontal axis.
        y: column of places along the vertical axis.
        line: width of the line in points; None draws marks alone.
        size: of a mark, in points; 0 draws the line alone.
        x_ends: of horizontal intervals, two columns or numbers.
        y_ends: of vertical intervals.
        ends: whether vertical ends are bars or the edges of a band.
        artist: further arguments of the lines with their marks, as `zorder`.
    """
    at, up = (rows[column].to_numpy(dtype=float) for column in (x, y))
    across, upright = (
        rows[list(ends_of)].to_numpy(dtype=float).T if isinstance(ends_of, tuple) else ends_of
        for ends_of in (x_ends, y_ends)
    )
    for name, look in looks.items():
        mine = (rows[by] == name).to_numpy()
        if not mine.any():
            continue
        if upright is not None and ends == "band":
            axes.fill_between(at[mine], *upright[:, mine], color=look.colour, alpha=0.15, lw=0)
        elif upright is not None:
            axes.vlines(at[mine], *upright[:, mine], color=look.colour, linewidth=0.9)
        if across is not None:
            axes.hlines(up[mine], *across[:, mine], color=look.colour, linewidth=0.9)
        stroke = {"linestyle": "none" if line is None else look.line, "linewidth": line or 0}
        mark = {"marker": look.marker if size else "", "markersize": size * look.size}
        look_of = {"color": look.colour, "markerfacecolor": look.face, "zorder": 3}
        axes.plot(at[mine], up[mine], **(stroke | mark | look_of | artist))


def draw_bars(
    axes: Axes,
    at: Real[np.ndarray, " n"],
    length: Real[np.ndarray, " n"],
    colour: Any,
    width: float,
    *,
    base: float | Real[np.ndarray, " n"] = 0.0,
    ends: Ends | None = None,
    lying: bool = False,
    edge: Any = None,
) -> None:
    """Bars of a length from their base, with the given ends as whiskers.

    Args:
        axes: to draw into.
        at: middles of the bars. (n,)
        length: from the base on; NaN draws none. (n,)
        colour: of all bars.
        width: of each, in units of `at`.
        base: where bars begin.
        ends: of the whiskers, NaN draws none.
        lying: True for bars along the horizontal axis.
        edge: colour of the edge; None for that of the bars.
    """
    finite = np.isfinite(length)
    some = finite & (length != 0)
    start = np.broadcast_to(base, finite.shape)[some]
    look: dict[str, Any] = {"color": colour, "edgecolor": colour if edge is None else edge}
    bars, whiskers = (axes.barh, axes.hlines) if lying else (axes.bar, axes.vlines)
    bars(at[some], length[some], width, start, linewidth=0.6, zorder=2, **look)
    if ends is not None:
        whiskers(at[finite], *ends[:, finite], color=GREY, linewidth=0.9, zorder=3)
