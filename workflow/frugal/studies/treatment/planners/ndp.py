"""The planner `ndp`: the best outcome minus a price for each trial."""

import numpy as np

from frugal.core.errors import ConfigError
from frugal.studies.treatment.data.records import OutcomeTable, SearchPolicy, history_count
from frugal.studies.treatment.planner import Planning, SearchPlanner
from frugal.studies.treatment.planning.constrained import backward_induction

EMPTY_REWARD = -1.0  # of stopping before the first trial, as in the release


def plan_naive(
    table: OutcomeTable, *, trial_price: float, offset: float, ties: str
) -> SearchPolicy:
    """Best trade-off of outcome against trials at a fixed price, "NDP".  [treatment, eqs. 11, S8]

        r(h, stop) = μ(h) − λ|h|,   r(h, a) = 0;   here λ is paid trial by trial: same policy

    A price above the benefit of every trial ends the search before it begins.

    Args:
        table: model of the outcomes.
        trial_price: λ ≥ 0, unit of the outcome.
        offset: added to λ, so λ = 0 does not leave the number of trials open; 1e-4 in the
            release's sweeps, 0 for λ unchanged.
        ties: see `plan_constrained`; stopping comes first.

    Returns:
        The policy; its value is the expected outcome minus the price of trials still to come;
        its statistic is NaN.

    Raises:
        ConfigError: a negative price or offset, or an unknown tie rule.
    """
    if not trial_price >= 0 or not offset >= 0:
        raise ConfigError(f"lambda is {trial_price} and its offset {offset}; they must be ≥ 0")
    k, base = table.n_actions, table.n_outcomes
    reward = _stop_rewards(table.outcome_value, k)
    shape = (table.n_contexts, history_count(k, base))
    return backward_induction(
        table,
        np.full(shape, np.nan),
        stop_reward=np.ascontiguousarray(np.broadcast_to(reward, shape)),
        step_cost=trial_price + offset,
        best_reward=float(table.outcome_value[-1]),
        ties=ties,
    )


def _stop_rewards(outcome_value: np.ndarray, n_actions: int) -> np.ndarray:
    """Best outcome so far of each history; −1 if there is none. (h,)"""
    digit = np.zeros(1, dtype=np.int8)
    step = np.arange(len(outcome_value), dtype=np.int8)[:, None]
    for _ in range(n_actions):
        digit = np.maximum(step, digit[None]).ravel()
    return np.concatenate([[EMPTY_REWARD], outcome_value[:-1]])[digit]


def plan(planning: Planning, price: float) -> SearchPolicy:
    """Naive dynamic programming at a price of a trial."""
    assert planning.table is not None, "bug: it reads a model"
    options = planning.options
    return plan_naive(
        planning.table, trial_price=price, offset=options.price_offset, ties=options.ties
    )


NDP = SearchPlanner(
    name="ndp",
    place=30,
    label="NDP",
    look=("green", "^", "-."),
    reads="model",
    thresholds="trial_prices",
    plan=plan,
    doc="naive dynamic programming: the best outcome minus a price for each trial",
    may_try_nothing=True,
)
