"""A search policy as a decision tree, from the table of its histories. Not in the paper."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from frugal.core.errors import DataError
from frugal.draw import style

MOST_LEAVES = 16  # of a tree that a page can hold
_TITLE_CHARACTERS = 92  # of a line as wide as the figure
_BEND = 0.84  # where a branch turns, in steps
_IDENTITY = ("planner", "outcome_model", "bound", "threshold")
_Table = Mapping[frozenset[str], Mapping[str, Any]]  # events of a history → its row


@dataclass(frozen=True)
class _Node:
    """A history in a tree: its place, its words, the outcome that led to it, its branches."""

    x: int
    y: float
    text: str
    edge: str
    following: tuple[Any, ...] = ()

    def every(self) -> Iterator[Any]:
        """This node and all below it."""
        yield self
        for node in self.following:
            yield from node.every()

    @property
    def leaves(self) -> int:
        return sum(not node.following for node in self.every())


@style.printed
def policy_tree_figure(
    policies: pd.DataFrame, contexts: Sequence[str], name: str, best: str
) -> Figure:
    """A policy as a decision tree, one per context.

    Each box is the next treatment; the branches are its outcomes short of the best one, after which
    every search ends. A leaf has the best outcome so far and the stopping statistic. A tree
    of too many leaves is cut at a depth, marked by three dots.

    Args:
        policies: context, history, trials, best, next, better_untried of one policy.
        contexts: those to be drawn.
        name: of the data set and the policy.
        best: name of the best outcome.

    Raises:
        DataError: a column is missing, several policies, or a context without rows.
    """
    single = " ".join(column for column in _IDENTITY if column in policies.columns)
    style.require(policies, "context history trials best next better_untried", single=single)
    trees = [_tree(style.select(policies, context=context)) for context in contexts]
    leaves = [tree.leaves for tree in trees]
    deepest = max(node.x for tree in trees for node in tree.every())
    title = style.wrapped(
        f"{name}; after outcome {best} every search ends; ρ: stopping statistic",
        characters=_TITLE_CHARACTERS,
    )
    height = 0.54 + 0.16 * len(title.splitlines()) + 0.24 * sum(leaves) + 0.35 * len(trees)
    figure = style.new_figure(height_in=height)
    grid = figure.subplots(len(trees), 1, squeeze=False, height_ratios=[n + 1 for n in leaves])
    for context, tree, axes in zip(contexts, trees, grid[:, 0], strict=True):
        _draw_tree(axes, tree, deepest)
        if len(contexts) > 1 or context != "all":
            axes.set_title(context.replace("_", " "), loc="left")
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def _tree(rows: pd.DataFrame) -> _Node:
    """A policy's tree with leaves at whole heights, cut at a depth where they are too many."""
    table: dict[frozenset[str], Any] = {
        frozenset(filter(None, str(history).split(", "))): row
        for history, row in zip(rows["history"], rows.to_dict("records"), strict=True)
    }
    if frozenset() not in table:
        raise DataError("the policy has no first step: no row with an empty history")
    depth = max(map(len, table))
    while depth > 1 and _leaves(table, depth) > MOST_LEAVES:
        depth -= 1
    return _grown(table, frozenset(), "", 0, depth)


def _leaves(table: _Table, depth: int) -> int:
    """Leaves of the tree if it is cut at that depth."""
    return sum(
        len(key) == depth or (len(key) < depth and row["next"] == "stop")
        for key, row in table.items()
    )


def _grown(table: _Table, history: frozenset[str], edge: str, first_leaf: int, depth: int) -> _Node:
    """The node of a history with all that follows it, its leaves from a height on."""
    row, x = table[history], len(history)
    events: set[str] = set()
    if row["next"] != "stop" and x < depth:
        longer = (key - history for key in table if len(key) == x + 1 and key > history)
        events = {e for (e,) in longer if e.startswith(f"{row['next']}: ")}
    following: list[_Node] = []
    leaf = first_leaf
    for event in sorted(events):
        node = _grown(table, history | {event}, event.split(": ")[1], leaf, depth)
        following.append(node)
        leaf += node.leaves
    if not following:
        return _Node(x, float(first_leaf), _leaf_text(row), edge)
    text = style.wrapped(str(row["next"]).replace("_", " "), characters=14)
    return _Node(x, float(np.mean([n.y for n in following])), text, edge, tuple(following))


def _leaf_text(row: Mapping[str, Any]) -> str:
    if row["next"] != "stop":
        return f"{row['next']} …".replace("_", " ")
    statistic = row["better_untried"]
    return f"stop: best {row['best']}" + (f", ρ {statistic:.2f}" if np.isfinite(statistic) else "")


def _draw_tree(axes: Axes, tree: _Node, deepest: int) -> None:
    """Boxes and elbows; outcomes next to the branches."""
    nodes = list(tree.every())
    longest = max(len(node.edge) for node in nodes)
    bend = max(0.5, min(_BEND, 0.93 - 0.035 * longest))  # room for the outcome's name
    for node in nodes:
        turn = node.x + bend
        for after in node.following:
            branch = [node.x, turn, turn, after.x], [node.y, node.y, after.y, after.y]
            axes.plot(*branch, color=style.GREY, linewidth=0.8, zorder=1)
            axes.text(turn + 0.02, after.y, after.edge, va="bottom", color=style.GREY, zorder=2)
        stops = node.text.startswith("stop")
        box = {
            "boxstyle": "round,pad=0.25",
            "linewidth": 0.8,
            "facecolor": style.PALE if stops else style.lightened(style.SKY, share=0.6),
            "edgecolor": style.GREY if stops else style.BLUE,
        }
        axes.text(node.x, node.y, node.text, va="center_baseline", zorder=3, bbox=box)
    axes.set_xlim(-0.05, deepest + 1.0)
    axes.set_ylim(tree.leaves - 0.4, -0.6)
    axes.axis("off")
