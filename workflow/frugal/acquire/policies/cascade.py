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
from frugal.acquire.train.stacked_beliefs import FoldedNetwork
from frugal.acquire.train.tree_sets import TreeRows
from frugal.core.layout import Layout


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked; see `fit_for_cost`."""
    return fit_for_cost("cascade", learn, ground, settings)


def learn(
    rows: TreeRows,
    objective: Objective,
    settings: Mapping[str, Any],
    budgets: np.ndarray,
    network: FoldedNetwork | None = None,
) -> Learned:
    """Cascades as a bundle holds them; `mean_return` is the score of each, out of fold."""
    return learned_cascades(
        *fit_cascades(rows, objective, settings=settings, budgets=budgets, network=network)
    )


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> CascadePolicies:
    """The trained cascades."""
    del settings
    return CascadePolicies.from_arrays(trained(stored, "cascade"), layout)


CASCADE = AgentKind(
    name="cascade",
    build=build,
    fit=fit,
    front=learn,
    settings={
        "boosting": ("BoostingSettings", "the trees of each set of panels", {"repeats": 3}),
        "linear": ("bool", "whether a logistic regression is averaged with the trees", False),
        "gates": ("Count", "sets that are bought one after the other, at most", 3),
        "sets": ("Count", "of panels that trees are fitted to, at most; two at least", 16),
        "price_weights": (
            "Count",
            "worths of money that are tried, two at least; not for a cost",
            24,
        ),
    },
    doc="boosted trees per set of panels; the next set is bought if the belief is in a window",
    two_classes=True,
    acts_on_beliefs=True,
    graph="belief_windows",
    looks={"cascade": (60, "cascade of trees", "vermillion", "D")},
)
