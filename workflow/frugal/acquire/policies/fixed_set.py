"""The kind `fixed_set`: the same panels for every unit, and boosted trees of their values.

The panels are all, none, or the set of least cost found by forward search; `constant` reads
nothing and decides by the classes' shares. Learns on blocked records for the table's own costs, and
in `diagnosis` for a score within budgets. Of more than two classes each has its own models, which
predict it against all others; their probabilities are scaled to sum to 1, and the class of least
expected cost is predicted; such a label is one of costs alone.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from frugal.acquire.kinds import AgentKind, Learned
from frugal.acquire.policies.cascade import build, fit_paths, graph_of_windows, learned_cascades
from frugal.acquire.train.cascade import fit_fixed_sets
from frugal.acquire.train.class_paths import ClassSets, ClassWindows
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import TreeRows


def of_classes(sets: ClassSets, settings: Mapping[str, Any]) -> ClassWindows:
    """The set of least cost out of fold, or the one that is requested."""
    if settings["panels"] == "best":
        return sets.alone(sets.cheapest(settings["sets"]))
    if settings["panels"] == "constant":
        sets = sets.constant()
    return sets.alone(sets.every if settings["panels"] == "all" else sets.rows.base)


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """Sets as a bundle holds them; `mean_return` is the score of each, out of fold."""
    return learned_cascades(*fit_fixed_sets(rows, objective, settings=settings, budgets=budgets))


FIXED_SET = AgentKind(
    name="fixed_set",
    build=build,
    fit=partial(fit_paths, "fixed_set", learn, of_classes),
    settings={
        "panels": (
            ("all", "none", "best", "constant"),
            "all, none, best (of least cost), or constant (reads no column)",
        ),
        "boosting": ("BoostingSettings", "the trees of each set of panels", {}),
        "linear": ("bool", "whether a logistic regression is averaged with the trees", False),
        "missing": ("MissingPanels", "how rows that lack panels are learned from", "blocked"),
        "sets": ("Two", "of panels that are tried, at most", 16),
    },
    doc="the same panels for everyone: all, none, or those of least cost; trees of their results",
    graph=graph_of_windows,
    looks={"fixed_set": (93, "fixed set of panels", "black", "8")},
)
