"""The kind `permutation`: one order of panels by permutation importance; it stops by belief.

Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored
from frugal.acquire.policies.cascade_policies import CascadePolicies, learned_cascades
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.permutation import fit_permutation
from frugal.acquire.train.tree_sets import TreeRows, cost_rows
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked.

    Raises:
        DataError: the label has other than two classes, or one of them too few rows.
    """
    ground.require_two_classes("permutation")
    rows = cost_rows(ground.world(terminals=2), settings, ground.streams.generator("trees"))
    objective = Objective.of("cost", rows.world.label, ground.table.misclassification_cost)
    return learn(rows, objective, settings, np.array([np.inf]))


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """Rules as a bundle holds them; `mean_return` is the score of each, out of fold."""
    rules, beliefs = fit_permutation(rows, objective, settings=settings, budgets=budgets)
    return learned_cascades(rules, beliefs)


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> CascadePolicies:
    """The trained rules."""
    del settings
    if not isinstance(stored, Mapping):
        raise ConfigError("an agent of kind 'permutation' acts by what `train_agent` made")
    return CascadePolicies.from_arrays(stored, layout)


PERMUTATION = AgentKind(
    name="permutation",
    build=build,
    fit=fit,
    settings={
        "boosting": ("cross_fitted_boosting", "the trees of each set of panels"),
        "windows": ("count", "even shares of the units between which a window begins and ends"),
    },
    doc="one order of panels by permutation importance for the price; it stops by belief",
)
