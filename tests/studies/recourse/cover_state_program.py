"""Dynamic program over all 2^d states: cheapest covers of every subset of features, d at most 22.

Shares no step with the branch and bound (it adds one action after the other and never branches), so
the recourse study checks each label of 20 features by it. Knows no data generator and no learner.
"""

from dataclasses import dataclass
from typing import no_type_check

import numba
import numpy as np
from frugal.core.errors import DataError
from frugal.studies.recourse.instance import COST_DECIMALS, CoverInstance
from jaxtyping import Bool, Float, Int

LARGEST_DIMENSION = 22
_NEVER = np.int64(1) << np.int64(62)


@dataclass(frozen=True, eq=False)
class StateTable:
    """Cheapest covers of all subsets of d features; feature j is bit j of a subset's number.

    Attributes:
        cost: of the cheapest set of actions that covers the subset; ∞ if none does. (2^d,)
        sets: number of sets of actions of that cost, idle actions of cost zero counted. (2^d,)
    """

    cost: Float[np.ndarray, " s"]
    sets: Int[np.ndarray, " s"]


def state_table(instance: CoverInstance, group: int) -> StateTable:
    """Cheapest covers of every subset of features, by the actions open to one group.

        g₀(∅) = 0,   gᵢ(U) = min(gᵢ₋₁(U), cᵢ + min {gᵢ₋₁(V) : V ∪ Dᵢ = U})
        f(S) = min {g_a(U) : U ⊇ S}                                        [recourse, eq. 1]

    Every set of actions has one union U, so that minimisers are counted once.

    Raises:
        DataError: more than 22 features, or an action that does not meet a threshold alone.
    """
    gain = instance.gain[instance.access[group]]
    d = gain.shape[1]
    if d > LARGEST_DIMENSION:
        raise DataError(f"there are {d} features; all 2^d states fit for at most 22")
    if ((gain > 0) & (gain < instance.thresholds)).any():
        raise DataError("an action meets a threshold only in part; states here are yes or no")
    bits = (gain > 0).astype(np.int64) @ (1 << np.arange(d))
    cost, sets = _fill(bits, instance.cost_units[instance.access[group]], d)
    return StateTable(np.where(cost < _NEVER, cost / 10**COST_DECIMALS, np.inf), sets)


def state_of(deficit: Bool[np.ndarray, "n d"] | Int[np.ndarray, "n d"]) -> Int[np.ndarray, " n"]:
    """Number of each unit's subset of lacking features, as index into a `StateTable`. (n,)"""
    return (deficit > 0).astype(np.int64) @ (1 << np.arange(deficit.shape[1]))


@numba.njit(cache=True)
@no_type_check
def _fill(bits, action_cost, d):
    """Costs and numbers of sets for exact unions, then for every superset of a subset."""
    states = 1 << d
    cost = np.full(states, _NEVER)
    sets = np.zeros(states, dtype=np.int64)
    cost[0], sets[0] = 0, 1
    for i in range(len(bits)):
        for state in range(states - 1, -1, -1):  # a target is never below its source
            if cost[state] < _NEVER:
                _offer(cost, sets, state | bits[i], cost[state] + action_cost[i], sets[state])
    for j in range(d):
        for state in range(states):
            if not state >> j & 1:
                above = state | 1 << j
                _offer(cost, sets, state, cost[above], sets[above])
    return cost, sets


@numba.njit(inline="always")
@no_type_check
def _offer(cost, sets, state, offered_cost, offered_sets):
    """Take a cheaper way to a state, or count an equally cheap one; counts stop at 2⁶²."""
    if offered_cost >= _NEVER:
        return
    if offered_cost < cost[state]:
        cost[state], sets[state] = offered_cost, offered_sets
    elif offered_cost == cost[state]:
        sets[state] = min(sets[state] + offered_sets, _NEVER)
