"""Costly acquisition as a decision process, run for all units at once, with every decision logged.

Holds the AFA graph's sampling of R̂ [afape, eq. A.1]: a policy is asked, step by step, which panel
to acquire next, and sees only what is free or acquired already. The same code runs the full table
(everything available) and the blocked records (only what was observed is available).

It must not know labels, classifiers, missingness laws or how a policy was made: a policy is asked
through `frugal.contracts.Policy` alone. A policy whose attribute `reads_values` is False is never
shown a value: it gets a table of NaN that takes no memory.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.contracts import Episodes, Policy

SUM_TOLERANCE = 1e-6  # of a row of action probabilities; float32 networks reach about 1e-7


def reads_values(policy: Policy) -> bool:
    """False if the policy says, by its attribute of this name, that it ignores feature values."""
    return bool(getattr(policy, "reads_values", True))


def columns_read(policy: Policy, columns: int) -> Bool[np.ndarray, " d"]:
    """True for each encoded column on which decisions may depend; all unless the policy says. (d,)

    Args:
        policy: with `reads_values = False` it reads none; else its `reads_columns` tells which.
        columns: d, how many there are.
    """
    if not reads_values(policy):
        return np.zeros(columns, dtype=bool)
    named = getattr(policy, "reads_columns", None)
    return np.ones(columns, dtype=bool) if named is None else np.asarray(named, dtype=bool)


def decision_probabilities(
    policy: Policy,
    values: Float[np.ndarray, "n d"],
    *,
    row: Int[np.ndarray, " m"],
    acquired: Bool[np.ndarray, "m a"],
    available: Bool[np.ndarray, "m a"],
    free_columns: Bool[np.ndarray, " d"],
    provides: Bool[np.ndarray, "a d"],
) -> Float[np.ndarray, "m a+1"]:
    """Law of the next decision in m states, π(Û⁽ᵏ⁾ | X̂⁽ᵏ⁾, R̂⁽ᵏ⁾, R)  [afape, sec. A.3].

    Columns that are neither free nor revealed by an acquired panel are NaN for the policy. A state
    that has nothing left to acquire stops with probability 1 without the policy being asked.

    Args:
        policy: asked once, for all states with a choice left.
        values: encoded features of all units; only the rows named by `row` are read. (n, d)
        row: unit of each state. (m,)
        acquired: R̂⁽ᵏ⁾, panels acquired so far. (m, a)
        available: R, panels that may be acquired at all. (m, a)
        free_columns: known before the first decision. (d,)
        provides: columns that a panel reveals. (a, d)

    Returns:
        Probabilities in float64, scaled to sum to 1 within rounding; last column "stop". (m, a + 1)

    Raises:
        AssertionError: the policy breaks its contract, a mistake in our own code.
    """
    probability = np.zeros((len(row), len(provides) + 1))
    probability[:, -1] = 1.0
    choice = np.flatnonzero((available & ~acquired).any(axis=1))
    if not choice.size:
        return probability
    acquired, available = acquired[choice], available[choice]
    if reads_values(policy):
        known = free_columns | (acquired.astype(np.float32) @ provides.astype(np.float32) > 0)
        visible = np.where(known, values[row[choice]], np.nan)
    else:
        visible = np.broadcast_to(np.nan, (len(choice), len(free_columns)))
    answer = policy.action_probabilities(visible, acquired, available).astype(np.float64)
    _check_answer(type(policy).__name__, acquired | ~available, answer)
    probability[choice] = answer / answer.sum(axis=1, keepdims=True)
    return probability


def _check_answer(
    name: str, forbidden: Bool[np.ndarray, "m a"], answer: Float[np.ndarray, "m a+1"]
) -> None:
    """Assert that rows are probabilities and that no panel is acquired twice or against a block."""
    assert answer.min() >= 0, f"bug: {name} gives a negative probability or NaN"
    gap = np.abs(answer.sum(axis=1) - 1).max()
    assert gap <= SUM_TOLERANCE, f"bug: probabilities of {name} sum to 1 only up to {gap:.1e}"
    taken = forbidden & (answer[:, :-1] > 0)
    assert not taken.any(), f"bug: {name} acquires a panel that is acquired already or unavailable"


def _draw(
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
    values: Float[np.ndarray, "n d"],
    *,
    free_columns: Bool[np.ndarray, " d"],
    provides: Bool[np.ndarray, "a d"],
    available: Bool[np.ndarray, "n a"],
    uniforms: Float[np.ndarray, "n a+1"],
) -> Episodes:
    """One episode per unit: sample Û⁽¹⁾, Û⁽²⁾, … until "stop"  [afape, eq. A.1].

        Û⁽ᵏ⁾ ~ π(· | X̂⁽ᵏ⁾, R̂⁽ᵏ⁾, R),    π("observe i" | …) = 0 where Rᵢ = 0

    Units that see the same uniforms and the same available panels act alike, so a complete case
    takes the same decisions in the blocked records as in the full table.

    Args:
        policy: to be run.
        values: encoded features; entries that are never revealed are never shown. (n, d)
        free_columns: known before the first decision. (d,)
        provides: columns that a panel reveals. (a, d)
        available: the retrospective mask R if blocked; all True for the full table. (n, a)
        uniforms: in [0, 1); entry k decides step k of its unit. (n, a + 1)

    Returns:
        Episodes whose decisions are sorted by unit, then step; the forced stop of a unit that has
        everything available is logged with probability 1.

    Raises:
        AssertionError: the policy breaks its contract, or a uniform lies outside [0, 1).
    """
    n, a = available.shape
    assert not uniforms.size or (uniforms.min() >= 0 and uniforms.max() < 1), "bug: not in [0, 1)"
    acquired = np.zeros((n, a), dtype=bool)
    action = np.full((n, a + 1), -1, dtype=np.int64)
    probability = np.zeros((n, a + 1))
    running = np.arange(n)
    for step in range(a + 1):
        law = decision_probabilities(
            policy,
            values,
            row=running,
            acquired=acquired[running],
            available=available[running],
            free_columns=free_columns,
            provides=provides,
        )
        chosen = _draw(law, uniforms[running, step])
        action[running, step] = chosen
        probability[running, step] = law[np.arange(len(running)), chosen]
        running, chosen = running[chosen < a], chosen[chosen < a]
        acquired[running, chosen] = True
    assert not running.size, "bug: a unit goes on although nothing is left to acquire"
    row, step_of = np.nonzero(action >= 0)
    return Episodes(acquired, row, step_of, action[row, step_of], probability[row, step_of])


def decision_costs(
    episodes: Episodes, action_cost: Float[np.ndarray, " a"]
) -> Float[np.ndarray, " m"]:
    """Cost of each logged decision, in the data set's unit; 0 for "stop". (m,)"""
    return np.append(action_cost, 0.0)[episodes.action]


def episode_costs(
    episodes: Episodes, action_cost: Float[np.ndarray, " a"]
) -> Float[np.ndarray, " n"]:
    """Acquisition cost Ĉ = Σⱼ R̂ⱼ c_acq(j) [afape, sec. 3.2], in the data set's unit. (n,)"""
    return episodes.acquired @ action_cost


def acquisition_order(episodes: Episodes) -> Int[np.ndarray, "n a"]:
    """Panels of each unit in the order of their acquisition, padded with −1. (n, a)"""
    n, a = episodes.acquired.shape
    order = np.full((n, a), -1, dtype=np.int64)
    taken = episodes.action < a
    order[episodes.row[taken], episodes.step[taken]] = episodes.action[taken]
    return order
