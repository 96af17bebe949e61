"""The kind `aaco`: looks up, in similar units, which set of further panels pays.

Learns on blocked records for the table's own costs, and in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from frugal.acquire.kinds import AgentKind, Ground, Learned, Stored, trained
from frugal.acquire.policies.aaco_policies import STRANGER, AacoPolicies, OwnUnits
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.aaco import oracle_of, price_weights
from frugal.acquire.train.for_cost import fit_for_cost
from frugal.acquire.train.masked_trees import fit_masked
from frugal.acquire.train.payoff import Objective, best_within
from frugal.acquire.train.tree_sets import TreeRows
from frugal.core.layout import Layout


def fit(ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """Learn on the records, blocked; see `fit_for_cost`."""
    return fit_for_cost("aaco", learn, ground, settings)


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """The best rule within each budget, or the one of the costs; `mean_return` is its score.

    It is judged on the units that are looked up in, each without itself and by trees that did not
    see it, and on those that only judge.
    """
    beliefs = fit_masked(rows, copies=settings["copies"])
    drawn = np.sort(rows.rng.permutation(np.flatnonzero(rows.learns))[: settings["units"]])
    payoff = None if objective.budgeted else objective.payoff(0.0)
    oracle = oracle_of(beliefs, drawn, payoff, settings)
    count = settings["price_weights"]
    weight = price_weights(oracle, rows, count) if payoff is None else np.ones(1)
    tried = AacoPolicies(oracle, rows.bits(rows.base), weight, np.full(len(weight), 0.5))
    judges = np.concatenate([drawn, np.flatnonzero(~rows.learns)])
    number = np.where(np.arange(len(judges)) < len(drawn), np.arange(len(judges)), STRANGER)
    world = rows.world.take(judges)
    run = roll_out(
        tried, world, uniforms=np.zeros((len(world), world.panels + 1)),
        states=OwnUnits(world, number),
    )  # fmt: skip
    sought = replace(objective, ill=objective.ill[judges])
    informed = sought.knowing(beliefs.at(judges, world.available))
    told = [informed.judged(beliefs.at(judges, sets), price)
            for sets, price in zip(run.acquired, run.cost, strict=True)]  # fmt: skip
    score, price = np.array([one[0] for one in told]), run.cost.mean(axis=1)
    chosen = best_within(score, price, budgets if objective.budgeted else np.array([np.inf]))
    policies = replace(
        tried, weight=weight[chosen], threshold=np.array([told[k][1] for k in chosen])
    )
    curve = pd.DataFrame(
        {
            "transitions": [len(rows.world)] * len(chosen),
            "mean_return": score[chosen],
            "acquisition_cost": price[chosen],
        }
    )
    return Learned(policies.to_arrays(), curve)


def build(settings: Mapping[str, Any], layout: Layout, stored: Stored) -> AacoPolicies:
    """The rules, and the units that they look up in."""
    return AacoPolicies.from_arrays(
        trained(stored, "aaco"), layout, neighbours=settings["neighbours"]
    )


AACO = AgentKind(
    name="aaco",
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
        "units": ("Count", "training units to look up in, at most", 4000),
        "neighbours": ("Count", "that stand for a state", 100),
        "sets": (
            "Count",
            "of panels that are tried: all if they are as few, else some at random",
            127,
        ),
        "price_weights": (
            "Count",
            "worths of money that are tried, two at least; not for a cost",
            12,
        ),
    },
    doc="looks up, in the most similar training units, which set of further panels pays",
    two_classes=True,
    looks={"aaco": (90, "AACO", "vermillion", "p")},
)
