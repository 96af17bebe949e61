"""The kind `stacked`: trees of each set of panels and a network of all, acting in either way.

As a cascade it buys sets within windows of predicted probability; as a lattice, the panel whose
gain pays. Learns on blocked records for the table's own costs, and in `diagnosis` for a score
within budgets.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from frugal.acquire.kinds import KINDS, AgentKind, Learned, Saved, trained
from frugal.acquire.train.payoff import Objective, fit_for_cost
from frugal.acquire.train.tree_sets import TreeRows, fit_network
from frugal.core.episodes import Policy
from frugal.core.errors import ConfigError
from frugal.core.layout import Layout


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """Rules as a bundle holds them; `mean_return` is the score of each, out of fold.

    Raises:
        ConfigError: units are weighted, and it does not act as a cascade.
    """
    acting = settings["acting"]
    if rows.weighted and "missing" not in KINDS[acting["kind"]].settings:
        raise ConfigError(
            f"a stacked agent that acts as a {acting['kind']} has missing: weighted; allowed is "
            "missing: blocked, or acting as a cascade"
        )
    network, front = fit_network(rows, settings["network"]), KINDS[acting["kind"]].front
    assert front is not None, "bug: a kind that acts on probabilities has a front"
    return front(rows, objective, acting, budgets, network=network)


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> Policy:
    """The trained rules."""
    acting = settings["acting"]
    return KINDS[acting["kind"]].build(acting, layout, trained(stored, "stacked"))


STACKED = AgentKind(
    name="stacked",
    build=build,
    fit=partial(fit_for_cost, "stacked", learn),
    front=learn,
    settings={
        "boosting": ("BoostingSettings", "the trees of each set of panels", {}),
        "missing": ("MissingPanels", "how rows that lack panels are learned from", "blocked"),
        "network": ("MaskedNetworkSettings", "of all sets, in addition to the trees", {}),
        "acting": (
            "Acting",
            "as a cascade or as a lattice",
            {"kind": "cascade", "gates": 3, "sets": 16, "price_weights": 24},
        ),
    },
    doc="trees of each set and a network of all sets, stacked out of fold; acts in either way",
    two_classes=True,
    looks={
        "stacked_lattice": (30, "stacked, as a lattice", "blue", "d", True),
        "stacked": (40, "stacked: trees and a network", "black", "D"),
    },
)
