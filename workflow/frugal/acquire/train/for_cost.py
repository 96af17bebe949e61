"""Kinds that learn within budgets, on blocked records: for the table's own costs, or for a score.

Of costs prices and errors have one unit, and no budget is asked for. Knows no kind.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from frugal.acquire.kinds import Ground, Learned
from frugal.acquire.train.payoff import Objective
from frugal.acquire.train.tree_sets import folded_rows

Learns = Callable[..., Learned]


def fit_for_cost(kind: str, learn: Learns, ground: Ground, settings: Mapping[str, Any]) -> Learned:
    """What `learn(rows, objective, settings, budgets)` makes of the records.

    Raises:
        DataError: the label has other than two classes, or one of them too few rows.
    """
    ground.require_two_classes(kind)
    world, rng = ground.world(terminals=2), ground.streams.generator("trees")
    rows = folded_rows(world, np.ones(len(world), dtype=bool), settings, rng)
    errors = ground.table.misclassification_cost
    objective = Objective.of(ground.objective, rows.world.label, errors)
    return learn(rows, objective, settings, np.array(ground.budgets or [np.inf]))
