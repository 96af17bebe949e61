"""A policy on records as a tree of its requests: in words, and as flows between its panels.

Shares of branches are those by which the policy is followed along records, calibrated to the shares
of cases that acquire each panel. Knows no policy.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.episodes import REFERRED
from frugal.judge.semi_offline import Paths

LINES = 15
LEAST = 0.005  # share of cases of a branch that is shown
SAME = 1e-9
ROUNDS = 100  # of the calibration
ROWS = 7  # of panels in the flows


@dataclass
class Node:
    """Cases with requests of the same panels in turn.

    Attributes:
        panels: that were requested last, together, by index; none at the root.
        share: of all cases.
        low: least probability of the last class among those that are requested these panels.
        high: the largest.
        stops: share of all cases that end here.
        decided: of these, the share decided for each class, then referred. (k + 1,)
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


def tree_of(
    paths: Paths, chance: Float[np.ndarray, "n a1"], shares: Float[np.ndarray, " a"]
) -> Node:
    """The tree of a policy on records.

    Args:
        paths: within the missingness model.
        chance: that a record holds the panels of the first k steps. (n, a + 1)
        shares: of cases that acquire each panel; those of the tree are raked to them
            [Deming and Stephan, Ann. Math. Stat. 11, 1940]. (a,)
    """
    rows = np.ones(len(chance), dtype=bool)
    root = _scaled(_node(paths, chance, rows, 0, []), 1.0)
    ends = list(ends_of(root))
    holds = np.array([[j in panels for j in range(len(shares))] for panels, _ in ends])
    weight = np.array([_ending(node) for _, node in ends])
    for j, share in [*enumerate(shares.tolist())] * ROUNDS:
        now = float(weight[holds[:, j]].sum())
        if 0 < now < 1:
            weight *= np.where(holds[:, j], share / now, (1 - share) / (1 - now))
    for (_, node), share in zip(ends, weight.tolist(), strict=True):
        node.share, node.stops = share, share if node.stops else 0.0
    return _summed(root)


def ends_of(node: Node, before: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Node]]:
    """Panels in turn, and the node at which cases end; also one that no record was followed to."""
    panels = (*before, *node.panels)
    if node.stops or not node.children:
        yield panels, node
    for child in node.children:
        yield from ends_of(child, panels)


def _ending(node: Node) -> float:
    return node.stops if node.children else node.share


def _summed(node: Node) -> Node:
    """The same, each share the sum of those below; the largest first."""
    if node.children:
        node.share = node.stops + sum(_summed(child).share for child in node.children)
        node.children.sort(key=lambda entry: (-entry.share, entry.panels))
    return node


def risk_of_orders(root: Node, a: int) -> list[list[float] | None]:
    """Least and largest probability of the last class at which each panel is ordered. (a,)

    Of branches that are large enough to be shown; None: in none of these.
    """
    ends: list[list[float]] = [[] for _ in range(a)]
    nodes = [root]
    while nodes:
        node = nodes.pop()
        nodes += node.children
        if node.share >= LEAST and np.isfinite(node.low):
            for panel in node.panels:
                ends[panel] += [node.low, node.high]
    return [[min(each), max(each)] if each else None for each in ends]


def flows_of(root: Node, panels: Sequence[str]) -> dict[str, Any]:
    """Cases as flows from panel to panel and to decisions, in plain JSON values.

    Panels are in the order of their mean step. Those that the same cases acquire are one, and of
    more than `ROWS` the smallest.

    Returns:
        `panels`, each with its words and share; `flows`, from a panel (1, 2, …; 0: no panel yet) to
        the next one, and their share; `ends`, from a panel to a decision (a class; then a person;
        then one that no record shows), and their share; `reordered`, the share of cases that
        acquire panels in another order.
    """
    turns, nodes = zip(*ends_of(root), strict=True)
    weight = np.array([_ending(node) for node in nodes])
    holds = np.array([[j in turn for j in range(len(panels))] for turn in turns])
    shares, sets = weight @ holds, dict[bytes, list[int]]()
    for j in np.argsort(-shares, kind="stable").tolist():
        if shares[j] >= LEAST:
            sets.setdefault(holds[weight > 0, j].tobytes(), []).append(j)
    shown = [(" + ".join(panels[j] for j in group), group) for group in sets.values()]
    if len(shown) > ROWS:
        rest = [j for _, group in shown[ROWS - 1 :] for j in group]
        shown[ROWS - 1 :] = [(f"{len(rest)} other panels", rest)]
    step = np.full((len(nodes), len(shown)), -1)
    for g, (_, group) in enumerate(shown):
        for e in np.flatnonzero(holds[:, group].any(axis=1)).tolist():
            step[e, g] = min(turns[e].index(j) for j in group if j in turns[e])
    shares = weight @ (step >= 0)
    order = np.argsort((weight @ np.maximum(step, 0)) / shares, kind="stable")
    flows, ends, reordered = Counter[tuple[int, int]](), Counter[tuple[int, int]](), 0.0
    for steps, node, share in zip(step[:, order], nodes, weight.tolist(), strict=True):
        requested = np.flatnonzero(steps >= 0)
        reordered += share * bool((np.diff(steps[requested]) < 0).any())
        path = [0, *(requested + 1).tolist()]
        for link in pairwise(path):
            flows[link] += share
        for decision, part in enumerate((*node.decided, 1.0 - sum(node.decided))):
            ends[path[-1], decision] += share * part
    return {
        "panels": [[shown[g][0], float(shares[g])] for g in order.tolist()],
        "flows": [[*link, share] for link, share in sorted(flows.items()) if share > SAME],
        "ends": [[*link, share] for link, share in sorted(ends.items()) if share > SAME],
        "reordered": reordered,
    }


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
    probability = paths.belief[:, step, -1]
    ends = rows & paths.complete & (paths.held == step)
    k = paths.belief.shape[2]
    stops = float(weight[ends].sum())
    shares = np.bincount(paths.verdict[ends], weight[ends], minlength=k + 1) / max(stops, SAME)
    node = Node(panels, float(weight.sum()), np.nan, np.nan, stops, shares.tolist())
    node.stop_low, node.stop_high = _range(probability[ends])
    if step == a:
        return node
    requested = np.where(rows, paths.order[:, step], -1)
    for panel in np.unique(requested[requested >= 0]).tolist():
        requests = requested == panel
        child = _node(paths, chance, requests & (paths.held > step), step + 1, [panel])
        child.share = float(weight[requests].sum())
        child.low, child.high = _range(probability[requests])
        while len(child.children) == 1 and child.stops <= LEAST * child.share:
            (only,) = child.children  # bought together
            only.panels, only.share = child.panels + only.panels, child.share
            only.low, only.high = child.low, child.high
            child = only
        node.children.append(child)
    node.children.sort(key=lambda entry: (-entry.share, entry.panels))
    return node


def _range(probability: Float[np.ndarray, " m"]) -> tuple[float, float]:
    finite = probability[np.isfinite(probability)]
    return (float(finite.min()), float(finite.max())) if len(finite) else (np.nan, np.nan)


def lines_of(
    root: Node, panels: Sequence[str], classes: Sequence[str], verb: str = "decide"
) -> list[str]:
    """At most `LINES` lines: the branches of the largest shares, in the order of the tree."""
    chosen, open_ = {id(root)}, [root]
    while open_ and sum(_height(node, chosen) for node in [root]) < LINES:
        largest = max(
            (c for n in open_ for c in n.children if id(c) not in chosen),
            key=lambda c: c.share,
            default=None,
        )
        if largest is None or largest.share < LEAST:
            break
        chosen.add(id(largest))
        open_.append(largest)
    return list(_lines(root, panels, classes, chosen, verb))[:LINES]


def _height(node: Node, chosen: set[int]) -> int:
    """Lines of a node with the children that are shown."""
    lines = 1 + (node.stops >= LEAST)
    return lines + sum(_height(c, chosen) for c in node.children if id(c) in chosen)


def _lines(node: Node, panels: Sequence[str], classes: Sequence[str], chosen: set[int], verb: str):
    two = len(classes) == 2 and verb == "decide"
    quantity = "risk" if two else f"probability of {classes[-1]}"
    if not node.panels:
        yield "Begin with what is known of everyone."
    else:
        names = " + ".join(panels[j] for j in node.panels)
        within = _range_of(quantity, node.low, node.high)
        yield f"{100 * node.share:.0f} %: order {names}{within}"
    if node.stops >= LEAST:
        decided = ", ".join(
            f"{name} {100 * share:.0f} %"
            for name, share in zip((*classes, REFERRED), node.decided, strict=True)
            if share >= LEAST
        )
        within = _range_of(quantity, node.stop_low, node.stop_high)
        yield f"  {100 * node.stops:.0f} %: stop{within}; {verb}: {decided}"
    for child in node.children:
        if id(child) in chosen:
            yield from (f"  {line}" for line in _lines(child, panels, classes, chosen, verb))


def _range_of(quantity: str, low: float, high: float) -> str:
    """A range of a probability in words."""
    if not np.isfinite(low):
        return ""
    ends = [f"{float(f'{100 * end:.2g}'):g}" for end in (low, high)]
    return f" ({quantity} {' to '.join(ends)} %)"
