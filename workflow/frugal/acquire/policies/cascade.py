"""The kind `cascade`: boosted trees per set of panels, and windows of belief that lead to the next.

Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored
from frugal.acquire.policies.cascade_policies import CascadePolicies, learned_cascades
from frugal.acquire.train.cascade import fit_cascades
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import TreeRows, cost_rows
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked.

    Raises:
        DataError: the label has other than two classes, or one of them too few rows.
    """
    ground.require_two_classes("cascade")
    rows = cost_rows(ground.world(terminals=2), settings, ground.streams.generator("trees"))
    objective = Objective.of("cost", rows.world.label, ground.table.misclassification_cost)
    return learn(rows, objective, settings, np.array([np.inf]))


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """Cascades as a bundle holds them; `mean_return` is the score of each, out of fold."""
    cascades, beliefs = fit_cascades(rows, objective, settings=settings, budgets=budgets)
    return learned_cascades(cascades, beliefs)


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> CascadePolicies:
    """The trained cascades."""
    del settings
    if not isinstance(stored, Mapping):
        raise ConfigError("an agent of kind 'cascade' acts by what `train_agent` made")
    return CascadePolicies.from_arrays(stored, layout)


CASCADE = AgentKind(
    name="cascade",
    build=build,
    fit=fit,
    settings={
        "boosting": ("cross_fitted_boosting", "the trees of each set of panels"),
        "gates": ("count", "sets that are bought one after the other, at most"),
        "sets": ("count", "of panels that trees are fitted to, at most; two at least"),
        "price_weights": ("count", "worths of money that are tried, two at least; not for a cost"),
    },
    doc="boosted trees per set of panels; the next set is bought if the belief is in a window",
)
