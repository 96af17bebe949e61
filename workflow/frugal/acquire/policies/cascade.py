"""The kind `cascade`: boosted trees per set of panels, and windows of belief that lead to the next.

Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.cascade_policies import CascadePolicies, learned_cascades
from frugal.acquire.train.cascade import fit_cascades
from frugal.acquire.train.for_cost import fit_for_cost
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import TreeRows
from frugal.core.layout import Layout


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked; see `fit_for_cost`."""
    return fit_for_cost("cascade", learn, ground, settings)


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """Cascades as a bundle holds them; `mean_return` is the score of each, out of fold."""
    cascades, beliefs = fit_cascades(rows, objective, settings=settings, budgets=budgets)
    return learned_cascades(cascades, beliefs)


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> CascadePolicies:
    """The trained cascades."""
    del settings
    return CascadePolicies.from_arrays(trained(stored, "cascade"), layout)


CASCADE = AgentKind(
    name="cascade",
    build=build,
    fit=fit,
    settings={
        "boosting": ("cross_fitted_boosting", "the trees of each set of panels"),
        "linear": ("boolean", "whether a logistic regression is averaged with the trees"),
        "gates": ("count", "sets that are bought one after the other, at most"),
        "sets": ("count", "of panels that trees are fitted to, at most; two at least"),
        "price_weights": ("count", "worths of money that are tried, two at least; not for a cost"),
    },
    doc="boosted trees per set of panels; the next set is bought if the belief is in a window",
)
