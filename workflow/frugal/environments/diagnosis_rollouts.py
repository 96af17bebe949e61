"""K policies run on every unit once, from the free block on, with every decision logged.

Serves the judging of trained policies [diagnosis, sec. 5]: what each ordered, what it diagnosed,
and how sure it was. A policy is a function of observations and masks; its making is not known here.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.contracts import AcquisitionTask, StateEncoder

ENTRIES_AT_ONCE = 1 << 24  # observation entries held at a time: bounds memory, changes no result
SUM_TOLERANCE = 1e-4  # of action probabilities in float32

Act = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Decisions and ends. Shapes: K learners, n units, a panels, t terminals, m decisions.

    The decisions are sorted by learner, unit, step.

    Attributes:
        learner: of each decision. (m,)
        row: unit of each decision. (m,)
        step: 0 for the first decision of a unit. (m,)
        action: panel index, or a + terminal. (m,)
        cost: of the decision, in the data set's unit; 0 for a terminal one. (m,)
        probability: with which the policy took it. (m,)
        belief: probability of each terminal action among terminal actions, at the state in which
            the decision was taken; NaN where all of them are 0. (m, t)
        acquired: panels acquired in the end. (K, n, a)
        terminal: terminal action, from 0. (K, n)
        terminal_belief: `belief` at the last state. (K, n, t)
        total_cost: of the panels acquired, in the data set's unit. (K, n)
    """

    learner: Int[np.ndarray, " m"]
    row: Int[np.ndarray, " m"]
    step: Int[np.ndarray, " m"]
    action: Int[np.ndarray, " m"]
    cost: Float[np.ndarray, " m"]
    probability: Float[np.ndarray, " m"]
    belief: Float[np.ndarray, "m t"]
    acquired: Bool[np.ndarray, "K n a"]
    terminal: Int[np.ndarray, "K n"]
    terminal_belief: Float[np.ndarray, "K n t"]
    total_cost: Float[np.ndarray, "K n"]


def roll_out_learners(
    act: Act,
    task: AcquisitionTask,
    encoder: StateEncoder,
    *,
    learners: int,
    uniforms: Float[np.ndarray, "n steps"] | None,
) -> Outcomes:
    """Run K policies on every unit once, none of the panels known at first.

    Args:
        act: (observations (K, m, w), masks (K, m, actions)) → action probabilities of the same
            shape as the masks; masked actions must have probability 0.
        task: the units.
        encoder: makes observations; asked once a step for all learners.
        learners: K.
        uniforms: in [0, 1); entry t of a unit decides its step t, for every learner alike. None
            takes the most probable action (the lowest among equals). (n, a + 1)

    Raises:
        AssertionError: a policy breaks the contract above, a mistake of our own.
    """
    at_once = max(1, ENTRIES_AT_ONCE // (learners * (encoder.width + task.actions)))
    parts = [
        _roll_out_rows(
            act, task, encoder, learners, uniforms, np.arange(s, min(s + at_once, len(task)))
        )
        for s in range(0, len(task), at_once)
    ]
    joined = {}
    for field in fields(Outcomes):
        pieces = [getattr(part, field.name) for part in parts]
        joined[field.name] = np.concatenate(pieces, axis=int(field.name in _PER_UNIT))
    order = np.lexsort((joined["step"], joined["row"], joined["learner"]))
    return Outcomes(**{k: v if k in _PER_UNIT else v[order] for k, v in joined.items()})


_PER_UNIT = ("acquired", "terminal", "terminal_belief", "total_cost")


def _roll_out_rows(
    act: Act,
    task: AcquisitionTask,
    encoder: StateEncoder,
    learners: int,
    uniforms: np.ndarray | None,
    units: np.ndarray,
) -> Outcomes:
    """The rollout of some units. Each learner's running units stand in front of its padding."""
    shape = (learners, len(units))
    acquired = np.zeros((*shape, task.panels), dtype=bool)
    terminal = np.full(shape, -1, dtype=np.int64)
    terminal_belief = np.zeros((*shape, task.terminals))
    log = []
    for step in range(task.panels + 1):
        who, unit, law = _ask(act, task, encoder, units, acquired, terminal < 0)
        u = None if uniforms is None else uniforms[units[unit], step]
        action = _choose(law, u)
        belief = _among_terminals(law[:, task.panels :])
        taken = law[np.arange(len(law)), action]
        log.append((who, units[unit], np.full(len(who), step), action, taken, belief))
        on, off = action < task.panels, action >= task.panels
        acquired[who[on], unit[on], action[on]] = True
        terminal[who[off], unit[off]] = action[off] - task.panels
        terminal_belief[who[off], unit[off]] = belief[off]
        if (terminal >= 0).all():
            break
    learner, row, steps, action, probability, beliefs = map(np.concatenate, zip(*log, strict=True))
    price = np.concatenate([task.action_cost, np.zeros(task.terminals)])
    return Outcomes(
        learner,
        row,
        steps,
        action,
        price[action],
        probability,
        beliefs,
        acquired,
        terminal,
        terminal_belief,
        acquired @ task.action_cost,
    )


def _ask(
    act: Act,
    task: AcquisitionTask,
    encoder: StateEncoder,
    units: np.ndarray,
    acquired: np.ndarray,
    running: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Learner, unit and action law of every running state, by one call of encoder and policy."""
    who, unit = np.nonzero(running)
    counts = running.sum(axis=1)
    place = np.arange(len(who)) - (counts.cumsum() - counts)[who]
    known = acquired[who, unit]
    seen = encoder.encode(units[unit], known)
    mask = np.ones((len(who), task.actions), dtype=bool)
    mask[:, : task.panels] = task.available[units[unit]] & ~known
    padded = np.zeros((len(running), counts.max(), seen.shape[1]), dtype=np.float32)
    padded_mask = np.ones((len(running), counts.max(), task.actions), dtype=bool)
    padded[who, place], padded_mask[who, place] = seen, mask
    law = act(padded, padded_mask)[who, place].astype(np.float64)
    assert (np.abs(law.sum(axis=1) - 1) <= SUM_TOLERANCE).all(), "bug: probabilities do not sum"
    assert not (law[~mask] > 0).any(), "bug: a masked action has a positive probability"
    return who, unit, law


def _choose(law: np.ndarray, uniform: np.ndarray | None) -> np.ndarray:
    """Most probable action, or the one that a uniform falls on. (m,)"""
    if uniform is None:
        return law.argmax(axis=1)
    cumulative = law.cumsum(axis=1)
    return (cumulative <= (uniform * cumulative[:, -1])[:, None]).sum(axis=1)


def _among_terminals(law: np.ndarray) -> np.ndarray:
    """Scaled to sum to 1; NaN where all are 0. (m, t)"""
    total = law.sum(axis=1, keepdims=True)
    return np.divide(law, total, out=np.full_like(law, np.nan), where=total > 0)
