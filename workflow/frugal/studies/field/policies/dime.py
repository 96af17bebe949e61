"""The kind `dime`: a network that learnt the information of each panel, bought by nats per price.

Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from frugal.acquire.kinds import AgentKind, Learned, Saved, trained
from frugal.acquire.train.payoff import ClassCost, Objective, fit_for_cost
from frugal.acquire.train.tree_sets import FoldedRows
from frugal.core.layout import Layout
from frugal.studies.field.policies.panel_networks import (
    Believers,
    ChooserWalk,
    NetworkPolicies,
    fit_rules,
    learned_networks,
    walks,
)

ALL = 0.0  # nats per price above which all is bought


def learn(
    rows: FoldedRows,
    objective: Objective | ClassCost,
    settings: Mapping[str, Any],
    budgets: np.ndarray,
) -> Learned:
    """The best rule within each budget, or of all; `mean_return` is its score, out of fold."""
    from frugal.studies.field.panel_choosers import (  # torch is slow to import
        DimeSettings,
        DimeTraining,
        Units,
    )

    believers, folds = Believers.of(rows, settings["network"]), settings["folds"]
    how = DimeSettings(
        settings["updates"],
        settings["batch"],
        settings["learning_rate"],
        tuple(settings["exploration"]),
        settings["network"]["weight_decay"],
    )
    training = DimeTraining(
        Units.of(rows, believers.networks.reads),
        believers.parameters(1),
        list(range(folds)),
        how,
        rows.rng.spawn(folds + 1),
    )
    training.run()
    networks = believers.with_chooser("values", training.predictor, training.chooser)
    walked, tried = walks(rows, networks, floor=ALL), settings["levels"]
    informed = believers.informed(objective)
    rules = fit_rules(rows, walked, lambda walk: levels(walk, tried), informed, budgets)
    steps = settings["updates"] * settings["batch"]
    return learned_networks(networks, np.zeros(1), rules, objective, transitions=steps)


def levels(walk: ChooserWalk, count: int) -> list[float]:
    """From the one at which all is bought to one at which nothing is, at even shares of steps."""
    met = walk.margin[np.isfinite(walk.margin)]
    if not met.size:
        return [ALL]
    return np.unique([ALL, *np.quantile(met, np.linspace(0, 1, count - 1))]).tolist()


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> NetworkPolicies:
    """The trained rules."""
    return NetworkPolicies.from_arrays(trained(stored, "dime"), layout, "values")


DIME = AgentKind(
    name="dime",
    build=build,
    fit=partial(fit_for_cost, "dime", learn, many=True),
    front=learn,
    settings={
        "folds": ("Two", "of cross-fitting", 3),
        "network": (
            "MaskedNetworkSettings",
            "the predictor, on random panels at first; the values",
            {"hidden": 64},
        ),
        "updates": ("Count", "steps of predictor and values together", 4000),
        "batch": ("Count", "episodes of each network side by side", 128),
        "learning_rate": ("Positive", "of these steps; it falls to 0", 0.001),
        "exploration": (
            "ProbabilityPair",
            "probability of any panel in place of the best, at first and at last",
            [1.0, 0.1],
        ),
        "levels": ("Three", "prices of panels that are tried", 40),
    },
    doc="a network learnt the information of each panel; bought while nats per price suffice",
    looks={"dime": (120, "DIME", "sky", ">")},
)
