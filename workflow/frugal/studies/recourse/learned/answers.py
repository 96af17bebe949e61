"""Answers of a recourse generator, and the names it may learn from.

An answer is a set of actions for each unit with the generator's confidence in it. Also the coding
of action sets as yes/no vectors. Knows no learner and no solver.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.studies.recourse.instance import LabelledUnits

EMPTY = -1  # pads action sets


@dataclass(frozen=True, eq=False)
class Answers:
    """Generated action sets. Shapes: n units, m actions at most.

    Attributes:
        action_set: indices of the actions, ascending, padded with −1. (n, m)
        confidence: the generator's own probability that the set is right, in [0, 1]. (n,)
    """

    action_set: Int[np.ndarray, "n m"]
    confidence: Float[np.ndarray, " n"]


AnswerUnits = Callable[[np.ndarray, np.ndarray], Answers]  # (features, group) → answers


def of_explanations(
    explanations: Int[np.ndarray, "k m"],
    row: Int[np.ndarray, " n"],
    confidence: Float[np.ndarray, " n"],
    has_explanation: Bool[np.ndarray, " n"],
) -> Answers:
    """Named explanations as answers; the empty set, without confidence, where none is known.

    Args:
        explanations: padded with −1. (k, m)
        row: of the explanation of each unit. (n,)
        confidence: in it. (n,)
        has_explanation: False where a unit's group was seen with no explanation. (n,)
    """
    return Answers(
        np.where(has_explanation[:, None], explanations[row], EMPTY),
        np.where(has_explanation, confidence, 0.0),
    )


def as_membership(action_set: Int[np.ndarray, "n m"], *, actions: int) -> Bool[np.ndarray, "n a"]:
    """True where an action is in the set. (n, a)"""
    member = np.zeros((len(action_set), actions), dtype=bool)
    row, place = np.nonzero(action_set >= 0)
    member[row, action_set[row, place]] = True
    return member


def as_action_sets(member: Bool[np.ndarray, "n a"]) -> Int[np.ndarray, "n m"]:
    """Indices of the True entries of each row, ascending, padded with −1; m at least 1. (n, m)"""
    size = member.sum(axis=1)
    sets = np.full((len(member), max(1, int(size.max(initial=0)))), EMPTY, dtype=np.int64)
    row, action = np.nonzero(member)
    sets[row, np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)] = action
    return sets


def sorted_sets(action_set: Int[np.ndarray, "n m"]) -> Int[np.ndarray, "n m"]:
    """Each row ascending, its padding last, an action that comes twice kept once. (n, m)"""
    far = np.iinfo(np.int64).max
    ranked = np.sort(np.where(action_set < 0, far, action_set), axis=1)
    ranked[:, 1:][ranked[:, 1:] == ranked[:, :-1]] = far
    ranked = np.sort(ranked, axis=1)
    return np.where(ranked == far, EMPTY, ranked)


def state_inputs(
    features: Bool[np.ndarray, "n d"], group: Int[np.ndarray, " n"], *, groups: int
) -> Float[np.ndarray, "n i"]:
    """Inputs of a generator for a unit: 1 where it lacks a feature, and its group if there are any.

    The paper hands groups to nobody, yet units of its groups differ in nothing else, so no
    generator could know which actions are open to them; here the group is one of the inputs.
    """
    lacks = (~features).astype(np.float32)
    if groups == 1:
        return lacks
    return np.concatenate([lacks, np.eye(groups, dtype=np.float32)[group]], axis=1)


def unit_inputs(units: LabelledUnits) -> Float[np.ndarray, "n i"]:
    """The inputs of training units."""
    return state_inputs(units.features, units.group, groups=len(units.instance.access))
