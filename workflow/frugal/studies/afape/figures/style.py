"""Looks and words of the afape study: one colour per family of estimators, one marker for each.

Also the orders of estimators, agents and scenarios, and the room that agents need. Knows no figure.
"""

from collections.abc import Iterable, Sequence
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes

from frugal.draw.style import (
    COLOURS,
    WIDTH_IN,
    Look,
    agent_label,
    look_of,
    order_of,
    words,
    wrapped,
)
from frugal.judge.registry import ESTIMATORS as DECLARED

STATUS_WORDS = {
    "no_support": "no support",
    "not_identified": "not identified",
    "not_available": "not available",
}

ESTIMATORS: dict[str, Look] = {
    name: Look(estimator.label, COLOURS[estimator.look[0]], estimator.look[1])
    for name, estimator in DECLARED.items()
}

estimator_style = partial(look_of, looks=ESTIMATORS, subject="estimator")
estimator_order = partial(order_of, looks=ESTIMATORS, subject="estimator")
_CHARACTER_IN = 0.07  # generous mean width of a letter at 8 pt
_MECHANISMS = ("mcar", "mar", "mnar")
_AGENTS_FIRST = ("never", "random", "always", "fixed")


def estimator_label(estimator: str) -> str:
    """Words for an estimator."""
    return estimator_style(estimator).label


def quoted_estimator(estimator: str) -> str:
    """Words for an estimator within a sentence."""
    return estimator_style(estimator).quoted


def agent_order(names: Iterable[str]) -> list[str]:
    """Distinct agents: never, random by rising share, always, fixed sets, then learned ones."""

    def key(name: str) -> tuple[int, int, str]:
        head, _, tail = name.partition("_")
        rank = _AGENTS_FIRST.index(head) if head in _AGENTS_FIRST else len(_AGENTS_FIRST)
        return rank, int(tail) if tail.isdigit() else 0, name

    return sorted(set(names), key=key)


def scenario_order(table: pd.DataFrame) -> list[tuple[str, str]]:
    """Distinct (dataset, mechanism): data sets by first appearance, mechanisms MCAR, MAR, MNAR."""
    datasets = list(dict.fromkeys(table["dataset"]))

    def key(pair: tuple[str, str]) -> tuple[int, int, str]:
        place = [*_MECHANISMS, pair[1]].index(pair[1])  # others are last
        return datasets.index(pair[0]), place, pair[1]

    return sorted(set(zip(table["dataset"], table["mechanism"], strict=True)), key=key)


def scenario_title(scenario: tuple[str, str]) -> str:
    """Data set and mechanism as the title of a facet; the data set's first letter is a capital."""
    dataset, mechanism = words(scenario[0]), words(scenario[1])
    return f"{dataset[:1].upper()}{dataset[1:]}, {mechanism}"


def facet_columns(facets: int, *, slots: int, slot_in: float) -> int:
    """Facets side by side, 3, 2 or 1, so lines are full and each slot keeps its width.

    Args:
        facets: to be placed.
        slots: places along the horizontal axis of each facet.
        slot_in: least width of a slot, in inches.
    """
    fits = (c for c in (3, 2) if facets % c == 0 and _axes_width_in(c) / slots >= slot_in)
    return next(fits, 1)


def _axes_width_in(columns: int) -> float:
    """Width left to a facet without its axis' numbers and name."""
    return WIDTH_IN / columns - 0.6


def agent_ticks(axes: Axes, agents: Sequence[str], *, width_in: float) -> None:
    """Names of agents at x = 0, 1, 2, …, upright where a slot is narrower than the longest word.

    Args:
        axes: whose horizontal axis holds agents.
        agents: in their order.
        width_in: width of the axes, in inches.
    """
    longest = max(len(word) for a in agents for word in agent_label(a).split())
    narrow = width_in / len(agents) < _CHARACTER_IN * longest + 0.02
    labels = [wrapped(agent_label(a), characters=16 if narrow else 9) for a in agents]
    axes.set_xticks(range(len(agents)), labels, rotation=90 if narrow else 0)
    axes.tick_params(axis="x", length=0)


def name_facets(grid: Iterable[Axes], agents: Sequence[str], columns: int, quantity: str) -> None:
    """Agents below the last line of facets, the quantity before the first column."""
    grid = list(grid)
    for k, axes in enumerate(grid):
        agent_ticks(axes, agents, width_in=_axes_width_in(columns))
        axes.tick_params(labelbottom=k + columns >= len(grid))
        if k % columns == 0:
            axes.set_ylabel(quantity)


def window(
    centre: Float[np.ndarray, " n"], low: Float[np.ndarray, " n"], high: Float[np.ndarray, " n"]
) -> tuple[float, float]:
    """Limits of an axis that a single absurd estimate cannot flatten.

    Centres and ends of intervals set the limits as far as six interquartile ranges of the centres
    beyond their quartiles, or the longer half of the median interval, if that is more; points that
    lie farther must be marked at the edge by the caller.

    Args:
        centre: estimates and truths; NaN where there is none. (n,)
        low: lower ends of the bars around them, NaN allowed. (n,)
        high: upper ends, NaN allowed. (n,)

    Returns:
        Lower and upper limit, with a margin of 6 %.
    """
    finite = centre[np.isfinite(centre)]
    if not len(finite):
        return 0.0, 1.0
    first, third = np.quantile(finite, [0.25, 0.75])
    halves = np.fmax(centre - low, high - centre)
    half = float(np.median(halves[np.isfinite(halves)])) if np.isfinite(halves).any() else 0.0
    reach = max(6 * (third - first), 1.1 * half) if third > first else np.inf
    every = np.concatenate([finite, low[np.isfinite(low)], high[np.isfinite(high)]])
    clipped = np.clip(every, first - reach, third + reach)
    bottom, top = float(clipped.min()), float(clipped.max())
    margin = 0.06 * (top - bottom) or 0.06 * abs(top) or 1.0
    return bottom - margin, top + margin
