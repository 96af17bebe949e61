"""Looks of the methods of `dadi`: the agent in blue along γ, one colour and marker per baseline.

Hollow marks read every panel. Knows no table.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from frugal.contracts.errors import ConfigError
from frugal.figures import style


@dataclass(frozen=True)
class MethodStyle:
    """How a baseline looks in every figure.

    Attributes:
        label: words shown to the reader.
        colour: of the family.
        marker: matplotlib's code.
        hollow: True for what reads every panel.
        unit: of the numbers that names add: panels, or per cent of panels or of disparity.
    """

    label: str
    colour: str
    marker: str
    hollow: bool
    unit: str = ""


AGENT = style.BLUE
FEWEST_FOLDS = 3  # that have an interval worth drawing
HALF_MARK = 0.03  # of an axis that is as tall as those here, with some air
METHODS: dict[str, MethodStyle] = {
    "full_features": MethodStyle("all panels, set network", style.BLACK, "s", True),
    "boosting": MethodStyle("all panels, boosting", style.GREY, "D", True),
    "logistic": MethodStyle("all panels, logistic", style.GREY, "v", True),
    "all_and_group": MethodStyle("withheld too, boosting", style.VERMILLION, "D", True),
    "reduction": MethodStyle("reductions", style.GREEN, "P", True, "%"),
    "lasso": MethodStyle("LASSO", style.ORANGE, "^", False, "panels"),
    "lasso_fair": MethodStyle("fair LASSO", style.VERMILLION, "^", False, "panels"),
    "forward": MethodStyle("forward", style.ORANGE, "<", False, "panels"),
    "forward_fair": MethodStyle("fair forward", style.VERMILLION, "<", False, "panels"),
    "random": MethodStyle("random panels", style.PURPLE, "X", False, "%"),
}


def method_kind(name: str) -> str:
    """The kind whose name begins a baseline's name, the longest that does: `lasso_3` → lasso.

    Raises:
        ConfigError: there is none.
    """
    found = [kind for kind in METHODS if name == kind or name.startswith(f"{kind}_")]
    if not found:
        raise ConfigError(
            f"baseline {name!r} has no colour and marker; a name begins with one of "
            f"{', '.join(METHODS)}"
        )
    return max(found, key=len)


def method_order(names: Iterable[str]) -> list[str]:
    """Distinct baselines in the order in which every figure lists them."""
    kinds = list(METHODS)
    return sorted(set(names), key=lambda name: (kinds.index(method_kind(name)), name))


def draw_method(axes: Axes, x: float, y: float, name: str) -> None:
    """A mark for a baseline."""
    look = METHODS[method_kind(name)]
    axes.plot(
        [x], [y], linestyle="none", color=look.colour, marker=look.marker, markersize=6, zorder=4,
        markerfacecolor="white" if look.hollow else look.colour,
    )  # fmt: skip


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
        Line2D(
            [], [], linestyle=":" if kind == dotted else "none",
            color=METHODS[kind].colour, marker=METHODS[kind].marker,
            markersize=5, markerfacecolor="white" if METHODS[kind].hollow else METHODS[kind].colour,
            label=label,
        )
        for kind, label in method_labels(names).items()
    ]  # fmt: skip


def _with_numbers(look: MethodStyle, added: Iterable[str]) -> str:
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


def draw_line(axes: Axes, rows: pd.DataFrame, measure: str, **look: Any) -> None:
    """Means over folds along γ, with their whiskers where there are several folds."""
    rows = rows.sort_values("gamma")
    value = rows[measure].to_numpy(dtype=np.float64)
    spread = np.nan_to_num(np.abs(ends_of(rows, measure) - value))
    axes.errorbar(rows["gamma"], value, yerr=spread, capsize=2, markersize=4, **look)


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


def titled(figure: Figure, title: str, means: str, caution: str | None) -> None:
    """The data set above the figure, and what is drawn; below, what must be known to read it."""
    words = f"\n{style.wrapped(caution, characters=100)}" if caution else ""
    figure.suptitle(f"{title}: {means}{words}", fontsize=style.FONT_PT + 1)
