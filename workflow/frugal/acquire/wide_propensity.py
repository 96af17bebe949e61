"""The AFA propensity where the patterns are too many to be listed. [afape, eq. 4 and sec. A.9]

    h = p(t | x_t, R = 1) p(R = 1 | x) / D,   D = Σ_{r ⊇ t, r_s = 1} p(t | x_t, r) p(r | x)

A row in which the policy would not end with t were nothing missing has h = 0, whatever D is. For
the others:

- A policy whose choice among fewer panels is its choice among more, as long as that can be had,
  ends with t on every record that holds t, if it draws no lots: D = p(R_t = 1, R_s = 1 | x).
- A policy that knows the mean of p(t | r) over independent indicators tells it.
- Else patterns that hold t and s are drawn, and D is a mean, with a relative standard error of at
  most 3 %; draws are independent from row to row, so that this error is part of the spread that
  intervals are made from. A row that needs more draws than allowed is NaN: not available.

It must not know outcomes, costs or estimators.
"""

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.set_probability import (
    blocked_set_probability,
    terminal_set_probability,
)
from frugal.core.episodes import Policy
from frugal.core.world import World
from frugal.missing.chain import IndicatorChain

FIRST_DRAWS = 256  # patterns of a row, and again as many until the sum is known well enough
MOST_DRAWS = 8192
LARGEST_ERROR = 0.03  # relative standard error of a drawn sum
ROWS_AT_ONCE = 1 << 12


def wide_propensity_and_chance(
    policy: Policy,
    world: World,
    *,
    target: Bool[np.ndarray, "n a"],
    law: IndicatorChain,
    rows: Int[np.ndarray, " n"],
    s: Bool[np.ndarray, " a"],
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """As `set_probability.afa_propensity_and_chance`, for any number of panels.

    Args:
        policy: the one that was run blocked.
        world: n units, whose values must be known where `target` reveals them.
        target: R̂ of the blocked episode. (n, a)
        law: of the indicators.
        rows: the units' places in the law. (n,)
        s: panels that must be observed. (a,)
        rng: source of the patterns.

    Returns:
        Propensities h; NaN where a sum is not made. Chances g, that a record lets the policy end
        as it did; NaN where h is 0 or NaN, for nothing reads them there. (n,) each
    """
    needed, every = target | s, np.ones_like(target)
    unhindered = terminal_set_probability(policy, world, target=target)
    complete = law.together(rows, every)
    result = np.where(unhindered == 0, 0.0, np.nan)
    chance = np.full(len(target), np.nan)
    held = law.together(rows, needed)
    sure = policy.traits.consistent & (unhindered == 1) & np.isfinite(held)
    result[sure], chance[sure] = complete[sure] / held[sure], held[sure]
    left = np.flatnonzero(~sure & (unhindered > 0))
    mean = policy.traits.mean_terminal_probability
    if mean is not None and law.independent and len(left):
        told, most = mean(target[left], needed[left], _each(law, rows[left], needed[left]))
        total = held[left] * told
        result[left] = unhindered[left] * complete[left] / total
        chance[left] = total / most
        return result, chance
    for start in range(0, len(left), ROWS_AT_ONCE):
        part = left[start : start + ROWS_AT_ONCE]
        total, most = _drawn(policy, world.take(part), target[part], needed[part], law, rows[part],
                             rng)  # fmt: skip
        result[part] = unhindered[part] * complete[part] / total
        chance[part] = np.minimum(total / np.maximum(most, unhindered[part]), 1.0)
    return result, chance


def _each(law: IndicatorChain, rows: np.ndarray, needed: np.ndarray) -> Float[np.ndarray, "m a"]:
    """p(R_j = 1 | x) of each panel that is not needed; 1 for the needed ones."""
    result = np.ones(needed.shape)
    for j in range(needed.shape[1]):
        only = np.zeros_like(needed)
        only[:, j] = True
        result[:, j] = np.where(needed[:, j], 1.0, law.together(rows, only))
    return result


def _drawn(
    policy: Policy,
    world: World,
    target: np.ndarray,
    needed: np.ndarray,
    law: IndicatorChain,
    rows: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """D by patterns that are drawn, NaN where it is not known well enough, and max p(t | x_t, r).

    Every row is drawn for in each round, so that its draws do not depend on the others' errors.
    """
    m = len(target)
    count, first, second, most = 0, np.zeros(m), np.zeros(m), np.zeros(m)
    total, open_rows = np.full(m, np.nan), np.arange(m)
    while len(open_rows) and count < MOST_DRAWS:
        count += FIRST_DRAWS
        for _ in range(FIRST_DRAWS):
            patterns, weight = law.draw(rows, needed, rng)
            at = open_rows
            said = blocked_set_probability(
                policy, world.take(at), available=patterns[at], target=target[at]
            )
            first[at] += weight[at] * said
            second[at] += (weight[at] * said) ** 2
            most[at] = np.maximum(most[at], said)
        mean = first[open_rows] / count
        spread = np.maximum(second[open_rows] / count - mean**2, 0.0)
        done = (mean > 0) & (np.sqrt(spread / count) <= LARGEST_ERROR * mean)
        total[open_rows[done]] = mean[done]
        open_rows = open_rows[~done & ~np.isnan(mean)]
    return total, most
