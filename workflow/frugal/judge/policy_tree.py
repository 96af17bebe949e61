"""What a policy does, as a tree of a few lines: which panels it asks for, of whom, and how it ends.

Shares are of all cases: a record that holds what was asked so far represents 1 / p(R_S = 1 | x).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from frugal.judge.semi_offline import Paths

LINES = 15
LEAST = 0.005  # share of cases of a branch that is shown
SAME = 1e-9


@dataclass
class Node:
    """Cases that have been asked for the same panels in turn.

    Attributes:
        panels: that were asked last, together, by index; none at the root.
        share: of all cases.
        low: least probability of the last class among those that are asked for these panels.
        high: the largest.
        stops: share of all cases that end here.
        decided: of these, the share decided for each class. (k,)
        stop_low: least probability of the last class among those that end here.
        stop_high: the largest.
        children: the largest share first.
    """

    panels: list[int]
    share: float
    low: float
    high: float
    stops: float = 0.0
    decided: Sequence[float] = ()
    stop_low: float = float("nan")
    stop_high: float = float("nan")
    children: list["Node"] = field(default_factory=list)


def tree_of(paths: Paths, chance: Float[np.ndarray, "n a1"]) -> Node:
    """The tree of a policy on records.

    Args:
        paths: within the law of the gaps.
        chance: that a record holds the panels of the first k steps. (n, a + 1)
    """
    rows = np.ones(len(chance), dtype=bool)
    root = _node(paths, chance, rows, 0, [])
    return _scaled(root, 1.0)


def _scaled(node: Node, share: float) -> Node:
    """The same with shares below that add up: later steps weigh fewer records."""
    below = node.stops + sum(child.share for child in node.children)
    factor = share / below if below > 0 else 0.0
    node.share, node.stops = share, node.stops * factor
    for child in node.children:
        _scaled(child, child.share * factor)
    return node


def _node(
    paths: Paths, chance: np.ndarray, rows: Bool[np.ndarray, " n"], step: int, panels: list[int]
) -> Node:
    """The node of rows that hold the first steps."""
    n, a = paths.order.shape
    weight = np.where(rows, 1 / np.where(rows, chance[:, step], 1.0), 0.0) / n
    belief = paths.belief[:, step, -1]
    ends = rows & paths.complete & (paths.held == step)
    k = paths.belief.shape[2]
    stops = float(weight[ends].sum())
    shares = np.bincount(paths.verdict[ends], weight[ends], minlength=k) / max(stops, SAME)
    found = Node(panels, float(weight.sum()), np.nan, np.nan, stops, shares.tolist())
    found.stop_low, found.stop_high = _range(belief[ends])
    if step == a:
        return found
    asked = np.where(rows, paths.order[:, step], -1)
    for panel in np.unique(asked[asked >= 0]).tolist():
        asks = asked == panel
        child = _node(paths, chance, asks & (paths.held > step), step + 1, [panel])
        child.share = float(weight[asks].sum())
        child.low, child.high = _range(belief[asks])
        while len(child.children) == 1 and child.stops <= LEAST * child.share:
            (only,) = child.children  # bought together
            only.panels, only.share = child.panels + only.panels, child.share
            only.low, only.high = child.low, child.high
            child = only
        found.children.append(child)
    found.children.sort(key=lambda one: (-one.share, one.panels))
    return found


def _range(belief: Float[np.ndarray, " m"]) -> tuple[float, float]:
    known = belief[np.isfinite(belief)]
    return (float(known.min()), float(known.max())) if len(known) else (np.nan, np.nan)


def lines_of(root: Node, panels: Sequence[str], classes: Sequence[str]) -> list[str]:
    """At most `LINES` lines: the branches of the largest shares, in the order of the tree."""
    chosen, open_ = {id(root)}, [root]
    while open_ and sum(_height(one, chosen) for one in [root]) < LINES:
        largest = max((c for n in open_ for c in n.children if id(c) not in chosen),
                      key=lambda c: c.share, default=None)  # fmt: skip
        if largest is None or largest.share < LEAST:
            break
        chosen.add(id(largest))
        open_.append(largest)
    return list(_lines(root, panels, classes, chosen, 0))[:LINES]


def _height(node: Node, chosen: set[int]) -> int:
    """Lines of a node with the children that are shown."""
    own = 1 + (node.stops >= LEAST)
    return own + sum(_height(c, chosen) for c in node.children if id(c) in chosen)


def _lines(node: Node, panels: Sequence[str], classes: Sequence[str], chosen: set[int], depth: int):
    pad = "  " * depth
    what = "risk" if len(classes) == 2 else f"probability of {classes[-1]}"
    if depth == 0:
        yield "Begin with what is known of everyone."
    else:
        names = " + ".join(panels[j] for j in node.panels)
        within = _range_of(what, node.low, node.high)
        yield f"{pad}{100 * node.share:.0f} %: order {names}{within}"
    if node.stops >= LEAST:
        decided = ", ".join(
            f"{name} {100 * share:.0f} %"
            for name, share in zip(classes, node.decided, strict=True)
            if share >= LEAST
        )
        within = _range_of(what, node.stop_low, node.stop_high)
        yield f"{pad}  {100 * node.stops:.0f} %: stop{within}; decide: {decided}"
    for child in node.children:
        if id(child) in chosen:
            yield from _lines(child, panels, classes, chosen, depth + 1)


def _range_of(what: str, low: float, high: float) -> str:
    """A range of a probability in words."""
    if not np.isfinite(low):
        return ""
    ends = [f"{float(f'{100 * one:.2g}'):g}" for one in (low, high)]
    return f" ({what} {' to '.join(ends)} %)"
