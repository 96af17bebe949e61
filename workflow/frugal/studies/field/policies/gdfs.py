"""The kind `gdfs`: a selector that learnt which panel lowers the loss most next, less its price.

Prices are a penalty in training, where "stop" is one of the choices; it acts by the same logits.
Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from frugal.acquire.kinds import AgentKind, Learned, Saved, trained
from frugal.acquire.train.payoff import ClassCost, Objective, fit_for_cost
from frugal.acquire.train.tree_sets import FoldedRows
from frugal.core.layout import Layout
from frugal.studies.field.policies.panel_networks import (
    Believers,
    NetworkPolicies,
    fit_rules,
    learned_networks,
    walks,
)

SHARES = (0.02, 3.0)  # penalties at which all panels cost so many entropies of the label
LEASTS = (-2.0, -1.0, 0.0, 1.0, 2.0)  # above the logit of "stop"; 0 as in training


def learn(
    rows: FoldedRows,
    objective: Objective | ClassCost,
    settings: Mapping[str, Any],
    budgets: np.ndarray,
) -> Learned:
    """The best rule within each budget, or of all; `mean_return` is its score, out of fold."""
    from frugal.studies.field.panel_choosers import (  # torch is slow to import
        GdfsSettings,
        GdfsTraining,
        Units,
    )

    believers, folds = Believers.of(rows, settings["network"]), settings["folds"]
    penalty = penalties(rows, settings["price_weights"])
    how = GdfsSettings(
        settings["updates"],
        settings["batch"],
        settings["learning_rate"],
        tuple(settings["temperatures"]),
        settings["network"]["weight_decay"],
    )
    training = GdfsTraining(
        Units.of(rows, believers.networks.reads),
        believers.parameters(len(penalty)),
        np.repeat(penalty, folds).tolist(),
        list(range(folds)) * len(penalty),
        how,
        rows.rng.spawn(folds + 1),
    )
    training.run()
    networks = believers.with_chooser("logits", training.predictor, training.chooser)
    walked = walks(rows, networks, floor=min(LEASTS))
    rules = fit_rules(rows, walked, lambda walk: LEASTS, believers.informed(objective), budgets)
    steps = settings["updates"] * settings["batch"]
    return learned_networks(networks, penalty, rules, objective, transitions=steps)


def penalties(rows: FoldedRows, count: int) -> np.ndarray:
    """From one at which nearly all pays to one at which hardly anything does. (count,)"""
    label = rows.world.label[rows.learns]
    if rows.world.classes > 2:
        entropy = float(stats.entropy(np.bincount(label)))
    else:
        rate = float(label.mean())
        entropy = -rate * np.log(rate) - (1 - rate) * np.log1p(-rate)
    full = float(rows.price(rows.reduced(range(rows.world.panels))).mean())
    return np.geomspace(*SHARES, count) * entropy / (full or 1.0)


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> NetworkPolicies:
    """The trained rules."""
    return NetworkPolicies.from_arrays(trained(stored, "gdfs"), layout, "logits")


GDFS = AgentKind(
    name="gdfs",
    build=build,
    fit=partial(fit_for_cost, "gdfs", learn, many=True),
    front=learn,
    settings={
        "folds": ("Two", "of cross-fitting", 3),
        "network": (
            "MaskedNetworkSettings",
            "the predictor, on random panels at first; the selector",
            {"hidden": 64},
        ),
        "updates": ("Count", "steps along the selector's own episodes", 2000),
        "batch": ("Count", "episodes of each network side by side", 128),
        "learning_rate": ("Positive", "of these steps; it falls to 0", 0.001),
        "temperatures": ("PositivePair", "of the relaxation, at first and at last", [1.0, 0.1]),
        "price_weights": ("Count", "penalties that are trained side by side", 8),
    },
    doc="a selector learnt one step ahead by a falling relaxation; prices are a penalty",
    looks={"gdfs": (110, "GDFS", "sky", "<")},
)
