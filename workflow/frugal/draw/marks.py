"""How seaborn draws rows of a table: series of marks and lines, bars, intervals, bands.

seaborn computes nothing here: it neither averages nor resamples, and every interval and band has
the ends that the table gives. Knows no study, no name and no file.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
import seaborn.objects as so
from jaxtyping import Float, Real
from matplotlib.axes import Axes

from frugal.draw.style import GREY, THEME, Look

Ends = Float[np.ndarray, "2 n"]  # lower and upper ends of intervals, in the order of the rows


def draw_series(
    axes: Axes,
    rows: pd.DataFrame,
    looks: Mapping[Any, Look],
    *,
    by: str,
    x: str,
    y: str,
    line: float | None = 1.2,
    size: float = 4.0,
    x_ends: Ends | None = None,
    y_ends: Ends | None = None,
    ends: Literal["bars", "band"] = "bars",
    **artist: Any,
) -> None:
    """Each name's rows as marks in its look, joined in the order of the rows; gaps stay gaps.

    Args:
        axes: with linear axes; scales, limits and ticks are to be set afterwards.
        rows: one per mark.
        looks: of the names in column `by`, first those that are drawn below.
        by: column of the names.
        x: column of places along the horizontal axis.
        y: column of places along the vertical axis.
        line: width of the line in points; None draws marks alone.
        size: of a mark, in points; 0 draws the line alone.
        x_ends: of horizontal intervals.
        y_ends: of vertical intervals.
        ends: whether vertical ends are bars or the edges of a band.
        artist: further arguments of the lines with their marks, as `zorder`.
    """
    frame = pd.DataFrame({"x": rows[x], "y": rows[y], "name": rows[by]}).reset_index(drop=True)
    frame["x"] = frame["x"].astype(float)
    for axis, given in (("x", x_ends), ("y", y_ends)):
        if given is not None:
            frame[f"{axis}min"], frame[f"{axis}max"] = given
    if frame.empty:
        return
    shown = {name: look for name, look in looks.items() if (frame["name"] == name).any()}
    frame["name"] = pd.Categorical(frame["name"], list(shown))  # in the order of the looks
    frame = frame[frame["name"].notna()]
    if frame.empty:
        return
    drawn, colours = so.Plot(frame), {name: look.colour for name, look in shown.items()}
    if ends == "band":
        drawn = _add_bands(drawn, shown)
    elif y_ends is not None:
        drawn = _add_ranges(drawn, frame, "y", colours)
    if x_ends is not None:
        drawn = _add_ranges(drawn, frame, "x", colours)
    paths = _Paths(artist_kws={"zorder": 3} | artist)
    paths.marks = {name: _path(look, line, size) for name, look in shown.items()}
    place(axes, drawn.add(paths, x="x", y="y", group="name", legend=False))


class _ByGroup:
    """A mark that draws each group by the properties of a mark of its own.

    The same as a layer a group, which seaborn takes 25 ms for, or as properties mapped to groups,
    of which it tries all combinations.
    """

    marks: Mapping[Any, Any]

    def _resolve(self, data: Any, name: str, scales: Any = None) -> Any:
        return self.marks[data["group"]]._resolve(data, name, scales)


class _Paths(_ByGroup, so.Path):
    pass


class _Ranges(_ByGroup, so.Range):
    pass


class _Bands(_ByGroup, so.Band):
    pass


def _path(look: Look, line: float | None, size: float) -> so.Path:
    """Marks in their look, joined by a line of a width."""
    marker: Any = look.marker if size else ""
    return so.Path(
        color=look.colour, marker=marker, fillcolor=look.face, pointsize=size * look.size,
        linewidth=0 if look.line == "none" else line or 0,
        linestyle="-" if look.line == "none" else look.line,
    )  # fmt: skip


def _add_bands(drawn: so.Plot, looks: Mapping[Any, Look]) -> so.Plot:
    """A band a name, between its vertical ends."""
    bands = _Bands()
    bands.marks = {
        name: so.Band(color=look.colour, alpha=0.15, edgewidth=0) for name, look in looks.items()
    }
    return drawn.add(bands, x="x", ymin="ymin", ymax="ymax", group="name", legend=False)


def _add_ranges(
    drawn: so.Plot, frame: pd.DataFrame, along: str, colours: Mapping[Any, Any]
) -> so.Plot:
    """Intervals along an axis, one a row; seaborn would join those that share a place."""
    across = "y" if along == "x" else "x"
    again = frame.groupby(["name", across], observed=True).cumcount()
    group = [f"{name} {k}" for name, k in zip(frame["name"], again, strict=True)]
    ranges = _Ranges()
    ranges.marks = {
        one: so.Range(color=colours[name], linewidth=0.9)
        for one, name in zip(group, frame["name"], strict=True)
    }
    reach = {name: name for name in (across, f"{along}min", f"{along}max")}
    frame = frame.assign(again=group)
    return drawn.add(ranges, data=frame, orient=across, group="again", legend=False, **reach)


def draw_bars(
    axes: Axes,
    at: Real[np.ndarray, " n"],
    length: Real[np.ndarray, " n"],
    *,
    colour: Any,
    width: float,
    base: float | Real[np.ndarray, " n"] = 0.0,
    ends: Ends | None = None,
    lying: bool = False,
    edge: Any = None,
) -> None:
    """Bars of a length from their base, with the given ends as whiskers.

    Args:
        axes: with linear axes; scales, limits and ticks are to be set afterwards.
        at: middles of the bars. (n,)
        length: from the base on; NaN draws none. (n,)
        colour: of all bars.
        width: of each, in units of `at`.
        base: where bars begin.
        ends: of the whiskers, NaN draws none.
        lying: True for bars along the horizontal axis.
        edge: colour of the edge; None for that of the bars.
    """
    along, across = ("x", "y") if lying else ("y", "x")
    frame = pd.DataFrame(
        {across: at, "name": "bars", "base": base, along: np.asarray(length) + base}
    )
    if ends is not None:
        frame[f"{along}min"], frame[f"{along}max"] = ends
    frame = frame[frame[along].notna()]
    gaps = np.diff(np.unique(frame[across]))  # seaborn takes widths in units of the least gap
    bar = so.Bar(
        color=colour, edgecolor=colour if edge is None else edge, alpha=1, edgewidth=0.6,
        width=width / gaps.min() if len(gaps) else width,
    )  # fmt: skip
    where = {"x": "x", "y": "y", "baseline": "base"}
    drawn = so.Plot().add(bar, data=frame, orient=across, legend=False, **where)
    place(axes, drawn if ends is None else _add_ranges(drawn, frame, along, {"bars": GREY}))


def place(axes: Axes, drawn: so.Plot) -> None:
    """Draw into axes that keep their words; seaborn would name them after the columns."""
    words = {"xlabel": axes.get_xlabel(), "ylabel": axes.get_ylabel()}
    named = {
        "labelbottom": axes.xaxis.get_tick_params()["labelbottom"],
        "labelleft": axes.yaxis.get_tick_params()["labelleft"],
    }
    drawn.theme(THEME).on(axes).plot()
    axes.set(**words, xscale="linear", yscale="linear")
    axes.tick_params(**named)
