"""Figures of the treatment study that open a policy: best outcome by trial, and a decision tree.

Counterpart of Fig. 3a of Håkansson et al. (2020); the tree is not in the paper. They place marks
from tidy tables and know neither how a policy was learned nor where a figure is kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from frugal.core.errors import DataError
from frugal.draw import style
from frugal.draw.figures import PrintedFigure
from frugal.draw.marks import draw_series
from frugal.studies.treatment.figures import seen
from frugal.studies.treatment.figures.given import Table, World
from frugal.studies.treatment.figures.series import SERIES, series_handles, series_order

MOST_LEAVES = 16  # of a tree that a page can hold
_TITLE_CHARACTERS = 92  # of a line as wide as the figure
_BEND = 0.84  # where a branch turns, in steps
_BOX = {"boxstyle": "round,pad=0.25", "linewidth": 0.8}
_IDENTITY = ["planner", "outcome_model", "bound", "threshold"]


@style.printed
def search_curve_figure(curves: pd.DataFrame, *, title: str, subtitle: str) -> Figure:
    """Best outcome found by the number of trials [treatment, fig. 3a].

    A line per planner: mean over all units of the best outcome so far, or at termination for
    searches that have ended; bars are ± one standard error over splits. The star is the mean
    outcome of the first trial in the records: later ones are seen of some units only.

    Args:
        curves: series, trials, outcome, outcome_se, repeats.
        title: of the data set.
        subtitle: which model and parameters.

    Raises:
        DataError: a column is missing, or there is no row.
        ConfigError: a series has no fixed look.
    """
    style.require(curves, ["series", "trials", "outcome", "outcome_se", "repeats"], single=[])
    figure = style.new_figure(height_in=2.8)
    axes = figure.subplots()
    names = series_order(curves["series"])
    rows = curves.sort_values("trials")
    first = rows["series"] == "observed"
    for part, size in ((rows[~first], 5.0), (rows[first], 9.0)):
        mean, error = (part[c].to_numpy(dtype=float) for c in ("outcome", "outcome_se"))
        draw_series(
            axes, part, SERIES, by="series", x="trials", y="outcome", size=size,
            y_ends=style.whiskers(mean, error, least=-np.inf, most=np.inf),
        )  # fmt: skip
    axes.set_xticks(np.arange(1, int(curves["trials"].max()) + 1))
    axes.set_xlabel("trials")
    axes.set_ylabel("best outcome so far\n(mean worth: R 0, I 1, S 2)")
    told = style.titled(title, f"{seen.curves(curves)}; {subtitle}")
    figure.suptitle(told, x=0.01, ha="left")
    style.add_legend(figure, series_handles(names))
    return figure


@dataclass(frozen=True)
class _Node:
    """A history in a tree: where it stands, what is done there, and how it was come to."""

    x: int
    y: float
    text: str
    edge: str
    parent: tuple[int, float] | None
    ends: bool


@style.printed
def policy_tree_figure(
    policies: pd.DataFrame, *, contexts: Sequence[str], title: str, best: str
) -> Figure:
    """A policy as a decision tree, one per context.

    Each box is what to try next; the branches are its outcomes short of the best one, after which
    every search ends. A leaf says what was best by then and the stopping statistic there. A tree
    of too many leaves is cut at a depth, where three dots stand.

    Args:
        policies: context, history, trials, best, next, better_untried of one policy.
        contexts: those to be drawn.
        title: of the data set and the policy.
        best: name of the best outcome.

    Raises:
        DataError: a column is missing, several policies, or a context without rows.
    """
    needed = ["context", "history", "trials", "best", "next", "better_untried"]
    style.require(policies, needed, single=[c for c in _IDENTITY if c in policies.columns])
    trees = [_tree(style.select(policies, context=name)) for name in contexts]
    leaves = [sum(node.ends for node in tree) for tree in trees]
    deepest = max(node.x for tree in trees for node in tree)
    told = f"{title}; after outcome {best} every search ends; ρ: stopping statistic"
    told = style.wrapped(told, characters=_TITLE_CHARACTERS)
    height = 0.54 + 0.16 * len(told.splitlines()) + 0.24 * sum(leaves) + 0.35 * len(trees)
    figure = style.new_figure(height_in=height)
    grid = figure.subplots(len(trees), 1, squeeze=False, height_ratios=[n + 1 for n in leaves])
    for name, tree, axes in zip(contexts, trees, grid[:, 0], strict=True):
        _draw_tree(axes, tree, deepest)
        if len(contexts) > 1 or name != "all":
            axes.set_title(name.replace("_", " "), loc="left")
    figure.suptitle(told, x=0.01, ha="left")
    return figure


def _tree(rows: pd.DataFrame) -> list[_Node]:
    """Nodes of a policy's tree with leaves at whole heights, cut where they are too many."""
    table = {
        _events(str(history)): row
        for history, row in zip(rows["history"], rows.to_dict("records"), strict=True)
    }
    depth = max(len(key) for key in table)
    while depth > 1 and _leaves(table, depth) > MOST_LEAVES:
        depth -= 1
    nodes: list[_Node] = []
    _grow(table, frozenset(), "", 0, depth, nodes)
    if frozenset() not in table:
        raise DataError("the policy has no first step: no row with an empty history")
    return nodes


def _events(history: str) -> frozenset[str]:
    """`gentamicin: R, cefepime: I` as a set of events."""
    return frozenset(part for part in history.split(", ") if part)


def _leaves(table: dict[frozenset[str], dict], depth: int) -> int:
    """Leaves of the tree if it is cut at that depth."""
    return sum(
        len(key) == depth or (len(key) < depth and row["next"] == "stop")
        for key, row in table.items()
    )


def _grow(
    table: dict[frozenset[str], dict],
    history: frozenset[str],
    edge: str,
    first_leaf: int,
    depth: int,
    nodes: list[_Node],
) -> tuple[float, int]:
    """Add a history and what follows it; returns its height and the number of leaves so far."""
    row = table[history]
    x, following = len(history), []
    if row["next"] != "stop" and x < depth:
        prefix = f"{row['next']}: "
        events = sorted(
            event for key in table if len(key) == x + 1 and key > history
            for event in key - history if event.startswith(prefix)
        )  # fmt: skip
        following = list(dict.fromkeys(events))
    if not following:
        nodes.append(_Node(x, float(first_leaf), _leaf_text(row), edge, None, True))
        return float(first_leaf), first_leaf + 1
    heights, leaf, start = [], first_leaf, len(nodes)
    for event in following:
        y, leaf = _grow(table, history | {event}, event.split(": ")[1], leaf, depth, nodes)
        heights.append(y)
    y = float(np.mean(heights))
    for k in range(start, len(nodes)):
        child = nodes[k]
        if child.x == x + 1 and child.parent is None:
            nodes[k] = _Node(child.x, child.y, child.text, child.edge, (x, y), child.ends)
    nodes.append(_Node(x, y, _name(row), edge, None, False))
    return y, leaf


def _name(row: dict) -> str:
    """What is tried next, long names on two lines."""
    return style.wrapped(str(row["next"]).replace("_", " "), characters=14)


def _leaf_text(row: dict) -> str:
    if row["next"] != "stop":
        return f"{row['next']} …".replace("_", " ")
    statistic = row["better_untried"]
    told = f", ρ {statistic:.2f}" if np.isfinite(statistic) else ""
    return f"stop: best {row['best']}{told}"


def _draw_tree(axes: Axes, nodes: list[_Node], deepest: int) -> None:
    """Boxes and elbows; outcomes beside the branches."""
    longest = max(len(node.edge) for node in nodes)
    bend = max(0.5, min(_BEND, 0.93 - 0.035 * longest))  # room for the outcome's name
    for node in nodes:
        if node.parent is not None:
            x, y = node.parent
            axes.plot(
                [x, x + bend, x + bend, node.x], [y, y, node.y, node.y], color=style.GREY,
                linewidth=0.8, zorder=1,
            )  # fmt: skip
            axes.text(
                x + bend + 0.02,
                node.y,
                node.edge,
                ha="left",
                va="bottom",
                color=style.GREY,
                zorder=2,
            )
        stops = node.text.startswith("stop")
        axes.text(
            node.x, node.y, node.text, ha="left",
            va="center_baseline", zorder=3,
            bbox=_BOX | {
                "facecolor": style.PALE if stops else style.lightened(style.SKY, share=0.6),
                "edgecolor": style.GREY if stops else style.BLUE,
            },
        )  # fmt: skip
    leaves = sum(node.ends for node in nodes)
    axes.set_xlim(-0.05, deepest + 1.0)
    axes.set_ylim(leaves - 0.4, -0.6)
    axes.axis("off")


def _curves(given: Table) -> tuple[Figure, pd.DataFrame]:
    figure = search_curve_figure(given.curves, subtitle=given.subtitle, **given.title)
    return figure, given.curves


def _policy_tree(given: World | Table) -> tuple[Figure, pd.DataFrame]:
    tree = given.tree
    figure = policy_tree_figure(tree.rows, contexts=tree.contexts, title=tree.name, best=tree.best)
    return figure, tree.rows[tree.rows["context"].isin(tree.contexts)]


SEARCH_CURVES = PrintedFigure(
    name="search_curves",
    place=10,
    stages=("draw_table_figures",),
    draw=_curves,
    doc="best outcome found after each trial",
)


TREE = PrintedFigure(
    name="tree",
    place=90,
    stages=("draw_world_figures", "draw_table_figures"),
    draw=_policy_tree,
    doc="a policy as a tree",
)
