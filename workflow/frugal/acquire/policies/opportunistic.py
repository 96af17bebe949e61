"""The kind `opportunistic`: Q-learning of what panels change in the probabilities, per price.

Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.opportunistic_policies import OpportunisticPolicies
from frugal.acquire.policies.q_policy import QPolicy
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.for_cost import fit_for_cost
from frugal.acquire.train.masked_trees import MaskedBeliefs, fit_masked
from frugal.acquire.train.payoff import Objective, best_within
from frugal.acquire.train.tree_sets import TreeRows
from frugal.core.layout import Layout

if TYPE_CHECKING:
    from frugal.acquire.train.opportunistic import LearntValues


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked; see `fit_for_cost`."""
    return fit_for_cost("opportunistic", learn, ground, settings)


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """The best rule within each budget, or of all; `mean_return` is its score, out of fold."""
    from frugal.acquire.train.lockstep_dqn import DqnSettings  # torch is slow to import
    from frugal.acquire.train.opportunistic import fit_values, least_values

    beliefs = fit_masked(rows, copies=settings["copies"])
    found = fit_values(beliefs, DqnSettings.of(settings["dqn"]), rows.rng)
    start = rows.world.available & rows.bits(rows.base)
    seen = rows.world.visible(np.arange(len(rows.world)), start).astype(np.float32)
    one = _believing(beliefs, found)
    least = least_values(one.values(seen, start).max(axis=1), settings["levels"])
    tried = replace(one, least=least, threshold=np.full(len(least), 0.5))
    units = np.arange(len(rows.world))
    run = roll_out(tried, rows.world, uniforms=np.zeros((len(units), rows.world.panels + 1)))
    informed = objective.knowing(beliefs.at(units, rows.world.available))
    told = [informed.judged(beliefs.at(units, sets), price)
            for sets, price in zip(run.acquired, run.cost, strict=True)]  # fmt: skip
    score, price = np.array([one[0] for one in told]), run.cost.mean(axis=1)
    chosen = best_within(score, price, budgets if objective.budgeted else np.array([np.inf]))
    policies = replace(
        tried, least=tried.least[chosen], threshold=np.array([told[k][1] for k in chosen])
    )
    curve = pd.DataFrame(
        {
            "transitions": [settings["dqn"]["transitions"]] * len(chosen),
            "mean_return": score[chosen],
            "acquisition_cost": price[chosen],
        }
    )
    return Learned(policies.to_arrays(), curve)


def _believing(beliefs: MaskedBeliefs, found: "LearntValues") -> OpportunisticPolicies:
    """The network and the trees; what is bought, and who is ill, is still to be found."""
    rows, scaling = beliefs.rows, found.scaling
    network = QPolicy(found.weights, scaling.centre, scaling.scale, found.column_bits)
    return OpportunisticPolicies(
        network, beliefs.ensemble, rows.world.adds, rows.bits(rows.base), np.zeros(1),
        np.full(1, 0.5),
    )  # fmt: skip


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> OpportunisticPolicies:
    """The trained rules."""
    del settings
    return OpportunisticPolicies.from_arrays(trained(stored, "opportunistic"), layout)


OPPORTUNISTIC = AgentKind(
    name="opportunistic",
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
        "dqn": ("DqnSettings", "of what panels change", {"discount": 0.5, "epsilon_last": 0.1}),
        "levels": ("Count", "least values that are tried, three at least", 24),
    },
    doc="orders the panel that changes the predicted probabilities most per price, by Q-learning",
    two_classes=True,
    graph="opportunistic",
    looks={"opportunistic": (100, "opportunistic learning", "grey", "h")},
)
