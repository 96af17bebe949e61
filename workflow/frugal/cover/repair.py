"""Repair of answers that do not work: the cheapest actions to add, found by the exact search.

Goes beyond the recourse paper, whose generators may hand a unit a set that leaves it negative.
Knows answers as sets of actions only, not the generator that gave them.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.cover.instance import CoverInstance
from frugal.cover.solvers.branch_and_bound import cheapest_covers


@dataclass(frozen=True, eq=False)
class Repaired:
    """Answers that work, and what making them work costs. Shapes: n units, a actions.

    Attributes:
        chosen: the repaired answer; the given one where that works already. (n, a)
        was_feasible: True where the given answer works as it stands. (n,)
        coverable: False where nothing the unit may do is enough; `chosen` is empty there. (n,)
        added: actions that the repair put in. (n, a)
        removed: actions that it took out: not open to the unit, or idle after the repair. (n, a)
        cost_before: of the given answer, unit of the catalogue. (n,)
        cost_after: of the repaired one; ∞ where not coverable. (n,)
    """

    chosen: Bool[np.ndarray, "n a"]
    was_feasible: Bool[np.ndarray, " n"]
    coverable: Bool[np.ndarray, " n"]
    added: Bool[np.ndarray, "n a"]
    removed: Bool[np.ndarray, "n a"]
    cost_before: Float[np.ndarray, " n"]
    cost_after: Float[np.ndarray, " n"]

    @property
    def extra_cost(self) -> Float[np.ndarray, " n"]:
        """What the repaired answer costs more than the given one. (n,)"""
        return self.cost_after - self.cost_before


def is_feasible(
    features: Bool[np.ndarray, "n d"] | Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    chosen: Bool[np.ndarray, "n a"],
    instance: CoverInstance,
) -> Bool[np.ndarray, " n"]:
    """True where the unit may take all chosen actions and they make it positive. (n,)"""
    open_to = (~chosen | instance.access[group]).all(axis=1)
    return open_to & (_shortfall(features, chosen, instance) == 0).all(axis=1)


def repair_answers(
    features: Bool[np.ndarray, "n d"] | Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    chosen: Bool[np.ndarray, "n a"],
    instance: CoverInstance,
    *,
    max_nodes: int,
) -> Repaired:
    """Answers with the cheapest actions added that make them work.

        chosen* = chosen ∪ argmin {Σᵢ cᵢ : xⱼ + Σ_{i ∈ chosen ∪ extra} dᵢⱼ ≥ tⱼ for all j}

    Actions that a unit may not take are removed first, and actions that are idle in the end last,
    dearest first. Answers that work are left alone, even if they are dearer than need be.

    Args:
        features: the units' states x. (n, d)
        group: row of `instance.access`. (n,)
        chosen: the given answers, True where an action is taken. (n, a)
        instance: actions, costs, thresholds, access.
        max_nodes: see `cheapest_covers`.
    """
    was_feasible = is_feasible(features, group, chosen, instance)
    broken = np.flatnonzero(~was_feasible)
    kept = chosen[broken] & instance.access[group[broken]]
    extra, coverable = _cheapest_extra(
        features[broken], group[broken], kept, instance, max_nodes=max_nodes
    )
    whole = _without_idle(features[broken], (kept | extra) & coverable[:, None], instance)
    result = chosen.copy()
    result[broken] = whole
    can = np.ones(len(chosen), dtype=bool)
    can[broken] = coverable
    return Repaired(
        chosen=result,
        was_feasible=was_feasible,
        coverable=can,
        added=result & ~chosen,
        removed=chosen & ~result,
        cost_before=instance.cost_of(chosen),
        cost_after=np.where(can, instance.cost_of(result), np.inf),
    )


def _shortfall(
    features: np.ndarray, chosen: Bool[np.ndarray, "n a"], instance: CoverInstance
) -> Int[np.ndarray, "n d"]:
    """What each feature still lacks after the chosen actions. (n, d)"""
    return np.maximum(instance.deficit(features) - chosen.astype(np.int64) @ instance.gain, 0)


def _cheapest_extra(
    features: np.ndarray,
    group: Int[np.ndarray, " n"],
    kept: Bool[np.ndarray, "n a"],
    instance: CoverInstance,
    *,
    max_nodes: int,
) -> tuple[Bool[np.ndarray, "n a"], Bool[np.ndarray, " n"]]:
    """Cheapest actions beside the kept ones, and whether the unit can be covered at all."""
    reached = features.astype(np.int64) + kept.astype(np.int64) @ instance.gain
    remaining = instance
    if (instance.gain < instance.thresholds)[instance.gain > 0].any():
        # an action that gives a part could be taken twice: units with other kept sets are groups
        pairs, group = np.unique(instance.access[group] & ~kept, axis=0, return_inverse=True)
        remaining = CoverInstance(instance.cost, instance.provides, instance.thresholds, pairs)
    covers = cheapest_covers(reached, group.reshape(-1), remaining, max_nodes=max_nodes)
    extra = np.zeros(kept.shape, dtype=bool)
    row, place = np.nonzero(covers.action_set >= 0)
    extra[row, covers.action_set[row, place]] = True
    return extra, covers.coverable


def _without_idle(
    features: np.ndarray, chosen: Bool[np.ndarray, "n a"], instance: CoverInstance
) -> Bool[np.ndarray, "n a"]:
    """Sets that work, without the actions they do not need; the dearest are tried first."""
    kept = chosen.copy()
    works = (_shortfall(features, kept, instance) == 0).all(axis=1)
    for i in np.argsort(-instance.cost_units, kind="stable"):
        rows = np.flatnonzero(works & kept[:, i])
        if len(rows):
            without = kept[rows]
            without[:, i] = False
            idle = (_shortfall(features[rows], without, instance) == 0).all(axis=1)
            kept[rows[idle], i] = False
    return kept
