"""The kind `aaco`: looks up, in similar units, which set of further panels pays.

Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored
from frugal.acquire.policies.aaco_policies import AacoPolicies
from frugal.acquire.train.aaco import fit_aaco
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import TreeRows, cost_rows
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked.

    Raises:
        DataError: the label has other than two classes, or one of them too few rows.
    """
    ground.require_two_classes("aaco")
    rows = cost_rows(ground.world(terminals=2), settings, ground.streams.generator("trees"))
    objective = Objective.of("cost", rows.world.label, ground.table.misclassification_cost)
    return learn(rows, objective, settings, np.array([np.inf]))


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """Rules as a bundle holds them; `mean_return` is the score of each, without the unit itself."""
    rules, oracle = fit_aaco(rows, objective, settings=settings, budgets=budgets)
    policies = AacoPolicies(
        oracle,
        rows.bits(rows.base),
        np.array([rule.weight for rule in rules]),
        np.array([rule.threshold for rule in rules]),
    )
    curve = pd.DataFrame(
        {
            "transitions": [len(rows.world)] * len(rules),
            "mean_return": [rule.score for rule in rules],
            "acquisition_cost": [rule.price for rule in rules],
        }
    )
    return Learned(policies.to_arrays(), curve)


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> AacoPolicies:
    """The rules, and the units that they look up in."""
    if not isinstance(stored, Mapping):
        raise ConfigError("an agent of kind 'aaco' acts by what `train_agent` made")
    return AacoPolicies.from_arrays(stored, layout, neighbours=settings["neighbours"])


AACO = AgentKind(
    name="aaco",
    build=build,
    fit=fit,
    settings={
        "boosting": ("cross_fitted_boosting", "the trees that believe, on all sets of panels"),
        "copies": ("count", "of each row, in each of which other panels are hidden"),
        "units": ("count", "training units to look up in, at most"),
        "neighbours": ("count", "that stand for a state"),
        "sets": ("count", "of panels that are tried: all if they are as few, else some at random"),
        "price_weights": ("count", "worths of money that are tried, two at least; not for a cost"),
    },
    doc="looks up, in the most similar training units, which set of further panels pays",
)
