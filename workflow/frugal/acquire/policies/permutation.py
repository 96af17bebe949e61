"""The kind `permutation`: one order of panels by permutation importance; it stops by belief.

Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.cascade_policies import CascadePolicies, learned_cascades
from frugal.acquire.train.for_cost import fit_for_cost
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.permutation import fit_permutation
from frugal.acquire.train.tree_sets import TreeRows
from frugal.core.layout import Layout


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked; see `fit_for_cost`."""
    return fit_for_cost("permutation", learn, ground, settings)


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """Rules as a bundle holds them; `mean_return` is the score of each, out of fold."""
    rules, beliefs = fit_permutation(rows, objective, settings=settings, budgets=budgets)
    return learned_cascades(rules, beliefs)


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> CascadePolicies:
    """The trained rules."""
    del settings
    return CascadePolicies.from_arrays(trained(stored, "permutation"), layout)


PERMUTATION = AgentKind(
    name="permutation",
    build=build,
    fit=fit,
    front=learn,
    settings={
        "boosting": ("BoostingSettings", "the trees of each set of panels", {}),
        "linear": ("bool", "whether a logistic regression is averaged with the trees", False),
        "windows": ("Count", "even shares of the units between which a window begins and ends", 12),
    },
    doc="one order of panels by permutation importance for the price; it stops by belief",
    two_classes=True,
    graph="belief_windows",
    looks={"permutation": (80, "permutation importance", "purple", "<")},
)
