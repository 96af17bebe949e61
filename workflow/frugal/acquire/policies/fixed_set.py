"""The kind `fixed_set`: the same panels for every unit, and boosted trees of what they show.

The panels are all, none, or the set of least cost found by forward search; `constant` reads
nothing and decides by the classes' shares. Learns on blocked records for the table's own costs, and
in `diagnosis` for a score within budgets. A label of more than two classes is one of costs alone.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.cascade_policies import CascadePolicies, learned_cascades
from frugal.acquire.policies.class_sets import ClassSet, fit_class_set
from frugal.acquire.train.cascade import fit_fixed_sets
from frugal.acquire.train.for_cost import fit_for_cost
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import TreeRows
from frugal.core.layout import Layout


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked; see `fit_for_cost`."""
    if len(ground.table.classes) > 2 and not ground.budgets:
        return fit_class_set(ground, settings)
    return fit_for_cost("fixed_set", learn, ground, settings)


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """Sets as a bundle holds them; `mean_return` is the score of each, out of fold."""
    return learned_cascades(*fit_fixed_sets(rows, objective, settings=settings, budgets=budgets))


def build(
    settings: Mapping[str, Any], layout: Layout, stored: Stored
) -> CascadePolicies | ClassSet:
    """The set that was chosen, as a cascade of one."""
    del settings
    policy = CascadePolicies if len(layout.classes) == 2 else ClassSet
    return policy.from_arrays(trained(stored, "fixed_set"), layout)


FIXED_SET = AgentKind(
    name="fixed_set",
    build=build,
    fit=fit,
    settings={
        "panels": (
            ("all", "none", "best", "constant"),
            "all, none, best (of least cost), or constant (reads no column)",
        ),
        "boosting": ("BoostingSettings", "the trees of each set of panels", {}),
        "linear": ("bool", "whether a logistic regression is averaged with the trees", False),
        "sets": ("Count", "of panels that are tried, at most; two at least", 16),
    },
    doc="the same panels for everyone: all, none, or those of least cost; trees of what they show",
    graph="fixed_set",
    looks={"fixed_set": (93, "fixed set of panels", "black", "8")},
)
