"""The one transition loop: K policies run on every unit of a world, with every decision logged.

Holds the AFA graph's sampling of R̂ [afape, eq. A.1] and the judging of trained policies
[diagnosis, sec. 5]: policies choose, step by step, which panel to acquire next, and see only
the values that the world shows. The same code runs the full table (everything available), the
blocked records (only observed panels are available) and imputed copies.

It must not know labels, classifiers, missingness models or how a policy was made. A policy whose
attribute `reads_values` is False is never shown a value: it gets a table of NaN that takes no
memory.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.episodes import Episodes, Policy, ReadingPolicy, RowPanels, RowPolicy
from frugal.core.world import StateEncoder, World

SUM_TOLERANCE = 1e-5  # of a row of action probabilities in float32
PER_UNIT = ("acquired", "verdict", "cost")  # fields of episodes; all others are logs
ENTRIES_AT_ONCE = 1 << 24  # entries of readings held at a time: bounds memory, changes no result


def decision_probabilities(
    policy: Policy,
    world: World,
    *,
    row: Int[np.ndarray, " m"],
    acquired: RowPanels,
    available: RowPanels,
    member: Int[np.ndarray, " m"] | None = None,
    states: StateEncoder | None = None,
) -> Float[np.ndarray, "m a+1"]:
    """Distribution of the next decision in m states, π(Û⁽ᵏ⁾ | X̂⁽ᵏ⁾, R̂⁽ᵏ⁾, R)  [afape, sec. A.3].

    Columns that are neither free nor revealed by an acquired panel are NaN for the policy. A state
    that has nothing left to acquire stops with probability 1 without the policy being queried.

    Args:
        policy: called once, for all states with a choice left.
        world: hides the unknown values of a state; only the rows named by `row` are read.
        row: unit of each state. (m,)
        acquired: R̂⁽ᵏ⁾, panels acquired so far. (m, a)
        available: R, panels that may be acquired at all. (m, a)
        member: whose state it is, in ascending order; None: of the only one. (m,)
        states: readings of the world's states that were kept; None: the policy reads them.

    Returns:
        Probabilities in float64, scaled to sum to 1 within rounding; last column "stop". (m, a + 1)

    Raises:
        AssertionError: the policy breaks its contract, a mistake in our own code.
    """
    probability = np.zeros((len(row), world.panels + 1))
    probability[:, -1] = 1.0
    choice = np.flatnonzero((available & ~acquired).any(axis=1))
    if not choice.size:
        return probability
    acquired, available = acquired[choice], available[choice]
    whose = None if member is None else member[choice]
    states_with_choice = PolicyStates(policy, world, row[choice], acquired, whose, states)
    answer = states_with_choice.action_probability(available).astype(np.float64)
    name = type(policy).__name__
    assert answer.min() >= 0, f"bug: {name} gives a negative probability or NaN"
    excess = np.abs(answer.sum(axis=1) - 1).max()
    assert excess <= SUM_TOLERANCE, f"bug: probabilities of {name} sum to 1 only up to {excess:.1e}"
    forbidden_panels = (acquired | ~available) & (answer[:, :-1] > 0)
    assert not forbidden_panels.any(), (
        f"bug: {name} acquires a panel that is acquired already or unavailable"
    )
    probability[choice] = answer / answer.sum(axis=1, keepdims=True)
    return probability


@dataclass(frozen=True, eq=False)
class PolicyStates:
    """States of K members, in one call of the policy: each member's precede its padding.

    Attributes:
        member: whose state, in ascending order; None: of the only one. (m,)
    """

    policy: Policy
    world: World
    row: np.ndarray
    acquired: np.ndarray
    member: np.ndarray | None
    states: StateEncoder | None

    def action_probability(self, available: np.ndarray) -> np.ndarray:
        """Action probabilities. (m, a + 1)"""
        if isinstance(self.policy, ReadingPolicy):
            inputs = self._reading(self.policy), self.acquired, available
            return self._batched(self.policy.decide, *inputs)
        if isinstance(self.policy, RowPolicy):
            row_id = self.world.row_id[self.row]
            return self.policy.law_of_rows(row_id, self.acquired, available)
        inputs = self._values(), self.acquired, available
        return self._batched(self.policy.action_probabilities, *inputs)

    def verdict(self) -> np.ndarray | None:
        """Class probabilities if the episodes ended here; None without. (m, k)"""
        if isinstance(self.policy, ReadingPolicy):
            return self._batched(self.policy.conclude, self._reading(self.policy), self.acquired)
        return self._batched(self.policy.predict, self._values(), self.acquired)

    def probability(self) -> np.ndarray | None:
        """Class probabilities where it may go on; None without. (m, k)"""
        if isinstance(self.policy, ReadingPolicy):
            return self._batched(self.policy.believe, self._reading(self.policy), self.acquired)
        if believe := self.policy.traits.believe:
            return self._batched(believe, self._values(), self.acquired)
        return self.verdict()

    def scores(self, available: np.ndarray) -> np.ndarray | None:
        """Compared values of each action; None where it compares nothing. (m, a + 1)"""
        weigh = self.policy.traits.weigh
        if weigh is None:
            return None
        if isinstance(self.policy, ReadingPolicy):
            return self._batched(weigh, self._reading(self.policy), self.acquired, available)
        return self._batched(weigh, self._values(), self.acquired, available)

    def _values(self) -> np.ndarray:
        if self.policy.traits.reads_values:
            return self.world.visible(self.row, self.acquired)
        return np.broadcast_to(np.nan, (len(self.row), self.world.values.shape[1]))

    def _reading(self, policy: ReadingPolicy) -> np.ndarray:
        if self.states is not None:
            return self.states.encode(self.row, self.acquired)
        return policy.read(self.world.visible(self.row, self.acquired), self.acquired)

    def _batched(self, ask: Callable[..., Any], *parts: np.ndarray) -> Any:
        """One call for all members, on arrays with a leading axis K. (m, …)"""
        if self.member is None or self.policy.members == 1:
            answer = ask(*(part[None] for part in parts))
            return None if answer is None else answer[0]
        count = np.bincount(self.member, minlength=self.policy.members)
        place = np.arange(len(self.member)) - (count.cumsum() - count)[self.member]
        padded = []
        for part in parts:
            stacked = np.zeros((len(count), count.max(), *part.shape[1:]), dtype=part.dtype)
            stacked[self.member, place] = part
            padded.append(stacked)
        answer = ask(*padded)
        return None if answer is None else answer[self.member, place]


def draw_actions(
    probability: Float[np.ndarray, "m b"], uniform: Float[np.ndarray, " m"]
) -> Int[np.ndarray, " m"]:
    """Inverse-CDF draw: the first action whose cumulative probability exceeds the uniform. (m,)

    Scaling by the last cumulative sum keeps a uniform below 1 below that sum after rounding, so an
    action of probability zero is never drawn.
    """
    cumulative = probability.cumsum(axis=1)
    return (cumulative <= (uniform * cumulative[:, -1])[:, None]).sum(axis=1)


def roll_out(
    policy: Policy,
    world: World,
    *,
    uniforms: Float[np.ndarray, "n {world.panels}+1"],
    states: StateEncoder | None = None,
    beliefs: bool = False,
    recorded: Bool[np.ndarray, "n a"] | None = None,
) -> Episodes:
    """One episode per member and unit: sample Û⁽¹⁾, Û⁽²⁾, … until "stop"  [afape, eq. A.1].

        Û⁽ᵏ⁾ ~ π(· | X̂⁽ᵏ⁾, R̂⁽ᵏ⁾, R),    π("observe i" | …) = 0 where Rᵢ = 0

    Units that see the same uniforms and the same available panels act in the same way, so a
    complete case takes the same decisions in the blocked records as in the full table. All members
    see the same uniforms.

    Args:
        policy: to be run; K members.
        world: where. n units, of which some panels are available.
        uniforms: in [0, 1); entry k decides step k of its unit. (n, a + 1)
        states: readings of the world's states that were kept; None: the policy reads them.
        beliefs: whether the predicted probabilities at each decision are logged.
        recorded: panels that each unit's record holds; an episode ends where the policy requests
            another, which is its last action and not among the panels acquired. None: all. (n, a)

    Returns:
        Episodes whose decisions are sorted by member, unit, then step; the forced stop of a unit
        that has everything available is logged with probability 1.

    Raises:
        AssertionError: the policy breaks its contract, or a uniform lies outside [0, 1).
    """
    assert not uniforms.size or (uniforms.min() >= 0 and uniforms.max() < 1), "bug: not in [0, 1)"
    width = world.values.shape[1] + world.panels if states is None else states.width
    at_once = max(1, ENTRIES_AT_ONCE // (policy.members * (width + world.actions)))
    parts = []
    for start in range(0, max(len(world), 1), at_once):
        units = np.arange(start, min(start + at_once, len(world)))
        parts.append(
            _roll_out_units(
                policy, world, uniforms, states, units, beliefs=beliefs, recorded=recorded
            )
        )
    return parts[0] if len(parts) == 1 else _joined(parts)


def _roll_out_units(
    policy: Policy,
    world: World,
    uniforms: np.ndarray,
    states: StateEncoder | None,
    units: np.ndarray,
    *,
    beliefs: bool,
    recorded: np.ndarray | None,
) -> Episodes:
    """The episodes of some units."""
    a, shape = world.panels, (policy.members, len(units))
    acquired = np.zeros((*shape, a), dtype=bool)
    action = np.full((*shape, a + 1), -1, dtype=np.int64)
    probability, logged = np.zeros((*shape, a + 1)), []
    member, unit = (index.ravel() for index in np.indices(shape))
    for step in range(a + 1):
        row, acquired_sets = units[unit], acquired[member, unit]
        action_probability = decision_probabilities(
            policy,
            world,
            row=row,
            acquired=acquired_sets,
            available=world.offered(row, acquired_sets),
            member=member,
            states=states,
        )
        if beliefs and len(row):
            believed = PolicyStates(policy, world, row, acquired_sets, member, states).probability()
            logged.append((member, unit, np.full(len(row), step), believed))
        chosen = draw_actions(action_probability, uniforms[row, step])
        action[member, unit, step] = chosen
        probability[member, unit, step] = action_probability[np.arange(len(row)), chosen]
        going = chosen < a
        if recorded is not None:
            going &= np.pad(recorded, ((0, 0), (0, 1)))[row, chosen]
        member, unit, chosen = member[going], unit[going], chosen[going]
        acquired[member, unit, chosen] = True
    assert not member.size, "bug: a unit goes on although nothing is left to acquire"
    who, place, step_of = np.nonzero(action >= 0)
    actions = action[who, place, step_of]
    verdict = verdicts_at(policy, world, acquired, units=units, states=states)
    episodes = Episodes(
        acquired,
        verdict,
        world.price(acquired),
        who,
        units[place],
        step_of,
        actions,
        np.append(world.action_cost, 0.0)[actions],
        probability[who, place, step_of],
        _in_order(logged),
    )
    if world.shared_costs is None:
        return episodes
    price = world.shared_costs.step_price(visited_sets(episodes), actions, world.action_cost)
    return replace(episodes, price=price)  # the first panel of a set-up pays for it


def verdicts_at(
    policy: Policy,
    world: World,
    acquired: Bool[np.ndarray, "K n a"],
    *,
    units: Int[np.ndarray, " n"] | None = None,
    states: StateEncoder | None = None,
) -> Float[np.ndarray, "K n k"] | None:
    """Verdict of the policy if episodes end with these sets; None where it has no verdict.

    Args:
        policy: K members.
        world: where the episodes end.
        acquired: the sets.
        units: whose sets they are; None: all of the world's, in order. (n,)
        states: readings of the world's states that were kept.
    """
    member, unit = (index.ravel() for index in np.indices(acquired.shape[:2]))
    if not len(unit):
        return None
    row = unit if units is None else units[unit]
    verdict = PolicyStates(policy, world, row, acquired[member, unit], member, states).verdict()
    return None if verdict is None else verdict.reshape(*acquired.shape[:2], -1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class States:
    """Decisions and predictions of a policy in m states, for any steps before.

    Attributes:
        action_probability: probability of each panel next, last "stop". (m, a + 1)
        scores: the values that it compares; None where it compares nothing. (m, a + 1)
        probability: class probabilities; None where it has none. (m, k)
        verdict: class probabilities if the episode ended here; None where it has none. (m, k)
    """

    action_probability: Float[np.ndarray, "m b"]
    scores: Float[np.ndarray, "m b"] | None
    probability: Float[np.ndarray, "m k"] | None
    verdict: Float[np.ndarray, "m k"] | None


def states_of(
    policy: Policy,
    world: World,
    *,
    row: Int[np.ndarray, " m"],
    acquired: RowPanels,
    member: int = 0,
) -> States:
    """Decision, scores, belief and verdict in m states, by one member of a policy.

    Args:
        policy: K members.
        world: hides the unknown values of a state.
        row: unit of each state. (m,)
        acquired: panels acquired so far. (m, a)
        member: the one that acts.
    """
    who, available = np.full(len(row), member), world.offered(row, acquired)
    action_probability = decision_probabilities(
        policy, world, row=row, acquired=acquired, available=available, member=who
    )
    policy_states = PolicyStates(policy, world, row, acquired, who, None)
    outputs = [
        policy_states.scores(available),
        policy_states.probability(),
        policy_states.verdict(),
    ]
    return States(
        action_probability,
        *(None if output is None else output.astype(np.float64) for output in outputs),
    )


def _in_order(logged: list[tuple]) -> np.ndarray | None:
    """Beliefs logged step by step, sorted by member, unit and step; None without. (m, k)"""
    if not logged or logged[0][3] is None:
        return None
    member, unit, step, believed = map(np.concatenate, zip(*logged, strict=True))
    return believed[np.lexsort((step, unit, member))].astype(np.float64)


def _joined(parts: list[Episodes]) -> Episodes:
    """Episodes of all units from those of some."""
    joined: dict[str, Any] = {}
    for field in fields(Episodes):
        pieces = [getattr(part, field.name) for part in parts]
        axis = int(field.name in PER_UNIT)
        joined[field.name] = None if pieces[0] is None else np.concatenate(pieces, axis=axis)
    order = np.lexsort((joined["step"], joined["row"], joined["member"]))
    logged = {k: v for k, v in joined.items() if k not in PER_UNIT and v is not None}
    return Episodes(**joined | {k: v[order] for k, v in logged.items()})


def acquisition_order(episodes: Episodes) -> Int[np.ndarray, "K n a"]:
    """Panels of each unit in the order of their acquisition, padded with −1. (K, n, a)"""
    a = episodes.acquired.shape[2]
    order = np.full(episodes.acquired.shape, -1, dtype=np.int64)
    acquires = episodes.action < a
    at = episodes.member[acquires], episodes.row[acquires], episodes.step[acquires]
    order[at] = episodes.action[acquires]
    return order


def visited_sets(episodes: Episodes) -> RowPanels:
    """Panels known at each logged decision. (m, a)"""
    a = episodes.acquired.shape[2]
    bought = np.eye(a + 1, dtype=np.int16)[episodes.action][:, :a]
    before = bought.cumsum(axis=0, dtype=np.int64) - bought
    first = np.flatnonzero(episodes.step == 0)
    length = np.diff(np.append(first, len(bought)))
    return (before - np.repeat(before[first], length, axis=0)) > 0
