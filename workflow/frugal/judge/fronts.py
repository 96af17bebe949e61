"""Fronts of cost against a score: which solutions no other beats, their envelope, and its area.

The cost–F1 front of Yu et al. (2023) consists of all solutions except those that
cost no less and score no more than another [diagnosis, def. 3.1]. Costs are bad, scores are good.
Must not know which policy made a point, or files.
"""

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from frugal.core.errors import ConfigError, DataError
from frugal.results.files import all_digits

ROUNDING = 1e-9  # of a budget: a mean of prices may miss their sum in the last digits


def non_dominated(
    cost: Float[np.ndarray, " m"], score: Float[np.ndarray, " m"]
) -> Bool[np.ndarray, " m"]:
    """True for the points of the front.

        Π* = ∪_B argmax {score(π) subject to cost(π) ≤ B}               [diagnosis, eq. 1]

    A point is dominated if another costs no more and scores no less, and differs in one of the
    two. Points that are equal in both are on the front together. A point without a score (NaN)
    is never on it.

    Raises:
        DataError: a cost is not a finite number.
    """
    if not np.isfinite(cost).all():
        raise DataError("a point of a front has no finite cost; every solution has one")
    on_front = np.zeros(len(cost), dtype=bool)
    scored = np.flatnonzero(~np.isnan(score))
    order = scored[np.lexsort((-score[scored], cost[scored]))]
    c, s = cost[order], score[order]
    best_before = np.maximum.accumulate(np.concatenate([[-np.inf], s]))[:-1]
    first = np.r_[True, (np.diff(c) != 0) | (np.diff(s) != 0)][: len(c)]
    new_best = first & (s > best_before)
    leader = np.maximum.accumulate(np.where(first, np.arange(len(c)), 0))
    on_front[order] = new_best[leader] if len(c) else False
    return on_front


def hypervolume(
    cost: Float[np.ndarray, " m"],
    score: Float[np.ndarray, " m"],
    *,
    reference_cost: float,
    reference_score: float,
) -> float:
    """Area between the front and a reference point: larger is better.

        HV = ∫₀^c₀ max(0, max {score_i : cost_i ≤ c} − s₀) dc

    Args:
        cost: of each point, at least 0. (m,)
        score: of each point; NaN counts for nothing. (m,)
        reference_cost: c₀; points that cost more count for nothing. Usually the price of all
            panels.
        reference_score: s₀; points that score less count for nothing. Usually 0.

    Returns:
        In units of cost times score, between 0 and c₀ (max score − s₀).

    Raises:
        DataError: a cost is not a finite number.
        ConfigError: the reference point is not a number, or its cost is below 0.
    """
    if not (np.isfinite(reference_cost) and np.isfinite(reference_score) and reference_cost >= 0):
        raise ConfigError(
            f"the reference point of a hypervolume is cost {reference_cost}, score "
            f"{reference_score}; both are numbers, and the cost is at least 0"
        )
    front = non_dominated(cost, score) & (cost <= reference_cost) & (score > reference_score)
    order = np.argsort(cost[front], kind="stable")
    steps = np.append(cost[front][order], reference_cost)
    return float(np.diff(steps) @ (score[front][order] - reference_score))


def within(cost: Float[np.ndarray, " m"], budget: float | int) -> Bool[np.ndarray, " m"]:
    """True where a cost fits a budget, up to rounding: all panels fit the price of all. (m,)"""
    return cost <= budget * (1 + ROUNDING)


def policy_for_budget(front: pd.DataFrame, budget: float | int, *, score: str) -> int:
    """Position of the solution to use within a budget: highest score, then lowest cost, then first.

    Args:
        front: one row per solution; column `cost` and the column named `score`, both seen where
            solutions are chosen: on validation units.
        budget: most that a unit may cost on average, unit of `cost`.
        score: column to be maximised, for example f1.

    Raises:
        ConfigError: no solution with a score fits the budget.
        DataError: a column is lacking.
    """
    lacking = [c for c in ("cost", score) if c not in front.columns]
    if lacking:
        raise DataError(
            f"the front lacks column {lacking[0]!r}; it has {', '.join(map(str, front.columns))}"
        )
    cost, value = (front[c].to_numpy(dtype=np.float64) for c in ("cost", score))
    scored = ~np.isnan(value)
    if not scored.any():
        raise ConfigError(f"none of the {len(front)} solutions has a {score}; it is not defined")
    fits = np.flatnonzero(within(cost, budget) & scored)
    if not len(fits):
        cheapest = cost[scored].min()
        raise ConfigError(
            f"no solution costs at most {all_digits(budget)} on average; the cheapest costs "
            f"{all_digits(float(f'{cheapest:.10g}'))}"
        )
    return int(fits[np.lexsort((cost[fits], -value[fits]))[0]])
