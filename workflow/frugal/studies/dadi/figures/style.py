"""Looks of the methods of `dadi`: the agent in blue along γ, one colour and marker per baseline.

Hollow marks read every panel. Knows no table.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from frugal.core.declarations import load_literals
from frugal.draw import style
from frugal.draw.marks import draw_series
from frugal.draw.style import Look

AGENT = {
    "dadi": Look("DADI (filled: on the front)", style.BLUE, "o"),
    "behind": Look("DADI", style.BLUE, "o", hollow=True),
    "degenerate": Look("decides nearly all alike", style.VERMILLION, "x"),
}
FEWEST_FOLDS = 3  # that have an interval worth drawing
HALF_MARK = 0.03  # of an axis that is as tall as those here, with some air
METHODS = style.looks_of(load_literals("frugal.learn.fair_baselines", "FairBaseline").values())
METHODS |= {
    name: look
    for name, look in style.looks_of(
        load_literals("frugal.acquire.policies", "AgentKind").values()
    ).items()
    if name not in METHODS
}


def method_kind(name: str) -> str:
    """The kind whose name begins a baseline's name; a name of none is refused."""
    return style.kind_of(name, METHODS, what="baseline")


def method_order(names: Iterable[str]) -> list[str]:
    """Distinct baselines in the order in which every figure lists them."""
    return style.kind_order(names, METHODS, what="baseline")


def method_labels(names: Iterable[str]) -> dict[str, str]:
    """Kind → words for it, with what the names add to it: "LASSO, 2, 4, 8 panels"."""
    added: dict[str, list[str]] = {}
    for name in method_order(names):
        kind = method_kind(name)
        added.setdefault(kind, []).append(style.words(name[len(kind) :].lstrip("_")))
    return {kind: _with_numbers(METHODS[kind], rest) for kind, rest in added.items()}


def method_handles(names: Iterable[str], *, dotted: str) -> list[Line2D]:
    """Entries of a legend, one for each kind of baseline; that of `dotted` with its line."""
    return [
        METHODS[kind].handle(line=":" if kind == dotted else "none", label=label)
        for kind, label in method_labels(names).items()
    ]


def _with_numbers(look: Look, added: Iterable[str]) -> str:
    numbers = ", ".join(sorted(filter(None, added), key=_number))
    return f"{look.label}, {numbers} {look.unit}".rstrip() if numbers else look.label


def _number(word: str) -> tuple[float, str]:
    """Numbers by size, before other words."""
    return (float(word), "") if word.replace(".", "", 1).isdigit() else (float("inf"), word)


def ends_of(rows: pd.DataFrame, measure: str) -> Float[np.ndarray, "2 n"]:
    """Ends of the whiskers: Student's interval, or the range of fewer than three folds.

    With two folds the interval is thirteen times as wide as the two are apart, and says nothing.
    """
    few = (rows["folds"] < FEWEST_FOLDS).to_numpy()
    ends = [
        np.where(few, rows[f"{measure}_{most}"], rows[f"{measure}_{high}"])
        for most, high in (("least", "low"), ("most", "high"))
    ]
    return np.array(ends, dtype=np.float64)


def draw_lines(
    axes: Axes, rows: pd.DataFrame, measure: str, looks: Mapping[str, Look], *, by: str
) -> None:
    """Means over folds along γ, with their whiskers where there are several folds."""
    rows = rows.sort_values("gamma")
    draw_series(axes, rows, looks, by=by, x="gamma", y=measure, y_ends=ends_of(rows, measure))


def limit(axes: Axes, tables: Iterable[tuple[pd.DataFrame, str]], *, least: float) -> None:
    """Vertical limits that hold all means, and no more of wide intervals than the means' spread.

    A mean at `least`, where the axis would end, is drawn whole.
    """
    values = np.concatenate([t[m].to_numpy(dtype=np.float64) for t, m in tables])
    values = values[np.isfinite(values)]
    reach = max(float(values.max() - values.min()), 0.02)
    lowest, top = float(values.min()), float(values.max()) + 0.35 * reach
    bottom = max(least, lowest - 0.35 * reach)
    axes.set_ylim(min(bottom, lowest - HALF_MARK * (top - bottom)), top)


def told_of(folds: int, *, whiskers: bool) -> str:
    """What marks and whiskers stand for, with so many folds."""
    if folds == 1:
        return "one fold"
    ends = "and their range" if folds < FEWEST_FOLDS else "with 95 % intervals"
    return f"means over {folds} folds {ends if whiskers else ''}".rstrip()


def titled(figure: Figure, title: str, said: str, means: str, caution: str | None) -> None:
    """The data set above the figure, and what is seen; below, what must be known to read it."""
    words = f"\n{style.wrapped(caution, characters=style.TITLE_CHARACTERS)}" if caution else ""
    figure.suptitle(f"{style.titled(title, f'{said}; {means}')}{words}", x=0.01, ha="left")
