"""The kind `permutation`: one order of panels by permutation importance; belief tells who stops.

The value of a panel is the rise of the loss of a boosted model of all panels, out of fold, when its
values are dealt anew among the units that have it. Each next panel of the order is bought while the
belief lies in one window, up to a number of panels. Trivial, and hard to beat. Learns on blocked
records for the table's own costs, and in `diagnosis` for a score within budgets. Of more than two
classes the window is of the expected cost of the best decision (`ClassPath`).
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from frugal.acquire.kinds import AgentKind, Learned
from frugal.acquire.policies.cascade import build, fit_paths, graph_of_windows, learned_cascades
from frugal.acquire.train.cascade import Cascade, Sets, Walk, within_budgets
from frugal.acquire.train.class_paths import ClassSets, ClassWindows
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import PanelSet, TreeRows, log_loss
from frugal.learn.cross_fitted_trees import fit_folded

SMALLEST_PRICE = 1e-12


def _stopping(
    walk: Walk, path: list[PanelSet], low: float, high: float, objective: Objective
) -> Cascade:
    """The cascade that goes on along a path while the belief lies in one window."""
    gates = len(path) - 1
    score, threshold, price = walk.judged([low] * gates, [high] * gates, objective)
    return Cascade(tuple(path), (low,) * gates, (high,) * gates, threshold, score, price)


def _growing(rows: TreeRows, order: Sequence[int]) -> list[PanelSet]:
    """No panel, then one more of the order at a time."""
    path = [rows.base]
    for panel in order:
        if rows.grows(path[-1], panel):
            path.append(path[-1] | {panel})
    return path


def panel_order(rows: TreeRows, importance: Float[np.ndarray, " a"]) -> list[int]:
    """Panels with a price, from the one whose loss weighs most for its price to the least.

    A panel inside another is left out: who goes on would pay for both.
    """
    price = np.maximum(rows.world.action_cost, SMALLEST_PRICE)
    order = np.argsort(-importance / price, kind="stable").tolist()
    return [panel for panel in order if panel in rows.every - rows.base]


def permutation_importance(rows: TreeRows) -> Float[np.ndarray, " a"]:
    """By how much the loss rises, out of fold, when a panel's values are dealt anew. (a,)"""
    world, label = rows.world, rows.world.label
    values = rows.visible(rows.offered)
    trees = fit_folded(values, label, rows.fold[:1], settings=rows.settings, seed=rows.seed)
    undisturbed, rise = log_loss(trees.log_odds(values), label), np.zeros(world.panels)
    for panel in rows.offered:
        has = np.flatnonzero(world.available[:, panel])
        dealt = values.copy()
        columns = np.flatnonzero(rows.adds[panel])
        dealt[np.ix_(has, columns)] = values[np.ix_(rows.rng.permutation(has), columns)]
        rise[panel] = log_loss(trees.log_odds(dealt), label) - undisturbed
    return rise


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """The best stopping rule along one order of panels within each budget, or the cheapest.

    They are stored as a bundle holds them; `mean_return` is the score of each, out of fold.
    """
    beliefs = rows.beliefs(rows.settings.repeats, linear=settings["linear"])
    path = _growing(rows, panel_order(rows, permutation_importance(rows)))
    informed = objective.knowing(beliefs.belief(path[-1]))
    path = list(filter(rows.held, path))
    sets = Sets.of(path, beliefs)
    at = np.arange(settings["windows"]) / settings["windows"]
    cuts = np.unique(np.quantile(sets.probability[0], at[1:]).round(6))
    tried = []
    for length in range(1, len(path) + 1):
        walk = Walk.along(sets, range(length))
        for low in (0.0, *cuts):
            for high in (np.inf, *cuts[cuts > low]):
                if length > 1 or (low == 0 and high == np.inf):
                    tried.append(_stopping(walk, path[:length], float(low), float(high), informed))
    return learned_cascades(within_budgets(tried, informed, budgets, most=1), beliefs)


def of_classes(sets: ClassSets, settings: Mapping[str, Any]) -> ClassWindows:
    """The best stopping rule along one order of panels, of more than two classes."""
    rows = [beliefs.rows for beliefs in sets.beliefs]
    importance = np.sum([permutation_importance(of_class) for of_class in rows], axis=0)
    path = list(filter(rows[0].held, _growing(rows[0], panel_order(rows[0], importance))))
    at = np.arange(1, settings["windows"]) / settings["windows"]
    cuts = np.unique(np.quantile(sets.least(path[0]), at).round(6))
    windows = [(low, high) for low in (0.0, *cuts) for high in (np.inf, *cuts[cuts > low])]
    tried = [sets.alone(path[0])]
    tried += [
        sets.judged(path[:length], [low] * (length - 1), [high] * (length - 1))
        for length in range(2, len(path) + 1)
        for low, high in windows
    ]
    return min(tried, key=lambda path: (path.cost, len(path.sets)))


PERMUTATION = AgentKind(
    name="permutation",
    build=build,
    fit=partial(fit_paths, "permutation", learn, of_classes),
    front=learn,
    settings={
        "boosting": ("BoostingSettings", "the trees of each set of panels", {}),
        "linear": ("bool", "whether a logistic regression is averaged with the trees", False),
        "missing": ("MissingPanels", "how rows that lack panels are learned from", "blocked"),
        "windows": ("Count", "even shares of the units between which a window begins and ends", 12),
    },
    doc="one order of panels for all cases, by permutation importance per price; it stops by the "
    "predicted probability",
    graph=graph_of_windows,
    looks={"permutation": (80, "permutation importance", "purple", "<")},
)
