"""Earlier searches that were never recorded: a rule by which drugs might have been prescribed.

The public susceptibility tables of `treatment` give the outcome of every drug, but not
treatments of units. The histories here are SIMULATED from a stated rule; results learned from them
evaluate planners, not actual treatment. How much the rule knows that the records do not
hold is adjustable, so the planners' assumption of no unmeasured confounding can be broken on
purpose. Must not know planners, models or splits.
"""

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.errors import ConfigError
from frugal.studies.treatment.data.records import TrialRecords
from frugal.studies.treatment.data.susceptibility import SusceptibilityTable


def simulate_prescriptions(
    table: SusceptibilityTable,
    *,
    is_test: Bool[np.ndarray, " n"],
    susceptible_share_weight: float,
    hidden_weight: float,
    stop_after_best: float,
    stop_otherwise: float,
    rng: np.random.Generator,
) -> TrialRecords:
    """Trials by a rule that is not in the paper, since the data hold no prescriptions.

        p(A_t = a | h) ∝ exp(w s_a(x) + c (Y(a) − E[Y(a) | x]) / max Y)   for untried a
        stop with probability p_best once the best outcome is known, else p_other; never at once

    s_a(x) is the share of the context's training units that are susceptible to a, as an antibiogram
    reports it: no test unit adds to the counts when anybody was treated. In a context without
    training units it is the share of all training units; so is the mean E[Y(a) | x].
    The second term uses the unit's own result, which no record holds before the trial: with c = 0
    there is no unmeasured confounding, with c > 0 a drug that would work is up to eᶜ times as
    likely to be chosen as one that would not, all else equal.

    Args:
        table: results of all tests.
        is_test: True for the units that will judge the policies. (n,)
        susceptible_share_weight: w.
        hidden_weight: c ≥ 0.
        stop_after_best: p_best, in [0, 1].
        stop_otherwise: p_other, in [0, 1].
        rng: draws choices and stops.

    Raises:
        ConfigError: c is negative, a probability is outside [0, 1], or every unit is a test unit.
    """
    _check(hidden_weight, {"stop_after_best": stop_after_best, "stop_otherwise": stop_otherwise})
    if is_test.all():
        raise ConfigError("every unit is a test unit; the rule needs the columns known of others")
    n, k = table.outcome.shape
    best = len(table.results) - 1
    susceptible = _context_mean(table, (table.outcome == best).astype(np.float64), ~is_test)
    value = table.outcome_value[table.outcome]
    surprise = (value - _context_mean(table, value, ~is_test)) / table.outcome_value[-1]
    score = susceptible_share_weight * susceptible + hidden_weight * surprise
    action, outcome = np.full((2, n, k), -1, dtype=np.int64)
    searching, tried = np.ones(n, dtype=bool), np.zeros((n, k), dtype=bool)
    rows = np.arange(n)
    for t in range(k):
        drawn = score + rng.gumbel(size=score.shape)  # the Gumbel maximum: p ∝ exp(score)
        chosen = np.where(tried, -np.inf, drawn).argmax(axis=1)
        result = table.outcome[rows, chosen]
        action[:, t] = np.where(searching, chosen, -1)
        outcome[:, t] = np.where(searching, result, -1)
        tried[rows, chosen] = True
        best_found = (outcome == best).any(axis=1)
        searching &= rng.random(n) >= np.where(best_found, stop_after_best, stop_otherwise)
    return TrialRecords(table.context, action, outcome, len(table.contexts), k, best + 1)


def _check(hidden_weight: float, probabilities: dict[str, float]) -> None:
    if not hidden_weight >= 0:
        raise ConfigError(f"hidden_weight is {hidden_weight}; allowed are values from 0 on")
    for name, value in probabilities.items():
        if not 0 <= value <= 1:
            raise ConfigError(f"{name} is {value}; allowed are values from 0 to 1")


def _context_mean(
    table: SusceptibilityTable, values: Float[np.ndarray, "n a"], training: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, "n a"]:
    """Mean of each column over the known units of a unit's own context, or over all. (n, a)"""
    context, index = np.unique(table.context, return_inverse=True)
    member = np.eye(len(context))[index][training]
    count = member.sum(axis=0)[:, None]
    mean = np.where(
        count > 0, member.T @ values[training] / np.maximum(count, 1), values[training].mean(axis=0)
    )
    return mean[index]
