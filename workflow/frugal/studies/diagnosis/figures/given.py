"""What the drawing stages of the diagnosis study hand to figures."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True, eq=False)
class Front:
    """The front that the config names, and of it the policy that its budget leads to.

    Handed over by `draw_diagnosis_figures`.

    Attributes:
        title: of the data set.
        solutions: of all methods, on test units.
        names: method, scores, title and unit of cost, as the front's figures take them.
        highest_cost: right end of the zoomed front.
        training: curves.
        chosen: of the policy whose training is shown: pair, split, title, unit of cost.
        shares: of units that got each panel, by group.
        steps: of three patients.
        unit: `cost_unit`, as figures take it.
    """

    title: str
    solutions: pd.DataFrame
    names: Mapping[str, Any]
    highest_cost: float
    training: pd.DataFrame
    chosen: Mapping[str, Any]
    shares: pd.DataFrame
    steps: pd.DataFrame
    unit: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Families:
    """What every family reaches within each budget on one data set.

    Handed over by `draw_fronts`.

    Attributes:
        title: of the data set.
        budgets: of one data set, as the summary has them.
        reliability: of the policy of each family that the figures' budget leads to: method,
            log_loss, base_log_loss, calibration_slope, and `judge.beliefs.reliability`.
        budget_share: the figures' budget.
    """

    title: str
    budgets: pd.DataFrame
    reliability: pd.DataFrame
    budget_share: float
