"""The kind `lattice`: one boosted model for all sets of panels, and trees that tell what pays next.

Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.lattice_policies import LatticePolicies, believer_of
from frugal.acquire.train.for_cost import fit_for_cost
from frugal.acquire.train.lattice import Gains, Lattice, LatticeRule, fit_lattice
from frugal.acquire.train.masked_trees import MaskedBeliefs
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.stacked_beliefs import FoldedNetwork, StackedBeliefs
from frugal.acquire.train.tree_sets import TreeRows
from frugal.core.layout import Layout
from frugal.learn.cross_fitted_trees import joined


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked; see `fit_for_cost`."""
    return fit_for_cost("lattice", learn, ground, settings)


def learn(
    rows: TreeRows,
    objective: Objective,
    settings: Mapping[str, Any],
    budgets: np.ndarray,
    network: FoldedNetwork | None = None,
) -> Learned:
    """Rules as a bundle holds them; `mean_return` is the score of each, told out of fold."""
    fitted = fit_lattice(rows, objective, settings=settings, budgets=budgets, network=network)
    return _learned(rows, *fitted)


def _learned(
    rows: TreeRows,
    rules: Sequence[LatticeRule],
    lattice: Lattice,
    beliefs: MaskedBeliefs | StackedBeliefs,
    every: Sequence[Gains],
) -> Learned:
    """What rules leave: the trees of the gains that they act by, and what believes."""
    used = sorted({rule.gains for rule in rules})
    trees = [one.ensemble for k in used for one in every[k].fitted]
    policies = LatticePolicies(
        np.stack([rows.bits(one) for one in lattice.sets]),
        np.array([used.index(rule.gains) for rule in rules]),
        np.array([rule.weight for rule in rules]),
        np.array([rule.threshold for rule in rules]),
        believer_of(beliefs, lattice.sets),
        joined(trees),
        np.array([len(one.root) for one in trees]).reshape(len(used), len(lattice.sets)),
        rows.world.action_cost,
    )
    curve = pd.DataFrame(
        {
            "transitions": [len(rows.world)] * len(rules),
            "mean_return": [rule.score for rule in rules],
            "acquisition_cost": [rule.price for rule in rules],
        }
    )
    return Learned(policies.to_arrays(), curve)


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> LatticePolicies:
    """The trained rules."""
    del settings
    return LatticePolicies.from_arrays(trained(stored, "lattice"), layout)


LATTICE = AgentKind(
    name="lattice",
    build=build,
    fit=fit,
    front=learn,
    settings={
        "boosting": (
            "BoostingSettings",
            "the trees that believe, on all sets of panels",
            {"leaves": 24, "repeats": 1},
        ),
        "copies": ("Count", "of each row, in each of which other panels are hidden", 4),
        "sets": (
            "Count",
            "of panels in which something is decided, at most; the best are taken",
            40,
        ),
        "price_weights": ("Count", "worths of money that gains are learnt for; not for a cost", 5),
        "gains": ("Gains", "trees that tell what a panel gains, on either half of the rows", {}),
    },
    doc="one boosted model for all sets of panels; a panel is bought where what it gains pays",
    two_classes=True,
    acts_on_beliefs=True,
    looks={"lattice": (70, "lattice of trees", "green", "d")},
)
