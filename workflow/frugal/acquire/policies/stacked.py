"""The kind `stacked`: trees of each set of panels and a network of all, acting in either way.

As a cascade it buys sets within windows of belief; as a lattice, the panel whose gain pays. Learns
on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.cascade_policies import CascadePolicies, learned_cascades
from frugal.acquire.policies.lattice import learned_lattice
from frugal.acquire.policies.lattice_policies import LatticePolicies
from frugal.acquire.train.cascade import fit_cascades
from frugal.acquire.train.for_cost import fit_for_cost
from frugal.acquire.train.lattice import fit_lattice
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.stacked_beliefs import fit_network
from frugal.acquire.train.tree_sets import TreeRows
from frugal.core.layout import Layout


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked; see `fit_for_cost`."""
    return fit_for_cost("stacked", learn, ground, settings)


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """Rules as a bundle holds them; `mean_return` is the score of each, told out of fold."""
    network, acting = fit_network(rows, settings["network"]), settings["acting"]
    if acting["kind"] == "cascade":
        return learned_cascades(
            *fit_cascades(rows, objective, settings=acting, budgets=budgets, network=network)
        )
    fitted = fit_lattice(rows, objective, settings=acting, budgets=budgets, network=network)
    return learned_lattice(rows, *fitted)


def build(
    settings: Mapping[str, Any], layout: Layout, stored: Stored
) -> CascadePolicies | LatticePolicies:
    """The trained rules."""
    acts = CascadePolicies if settings["acting"]["kind"] == "cascade" else LatticePolicies
    return acts.from_arrays(trained(stored, "stacked"), layout)


STACKED = AgentKind(
    name="stacked",
    build=build,
    fit=fit,
    settings={
        "boosting": ("cross_fitted_boosting", "the trees of each set of panels"),
        "network": ("masked_network", "of all sets, beside the trees"),
        "acting": ("acting_on_beliefs", "as a cascade or as a lattice"),
    },
    doc="trees of each set and a network of all sets, stacked out of fold; acts in either way",
)
