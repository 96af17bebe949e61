"""Exact probability that a policy ends with a given set, or takes a given sequence, of panels.

Holds the step from the sequence view to the set view of [afape, sec. 3.1 and sec. A.9]: a policy is
known decision by decision, importance ratios need it set by set. From there also the true AFA
propensity, the numerator of the AFAIS weight [afape, eq. 4 and sec. A.9].

It must not know outcomes, costs or estimators; the retrospective missingness model comes as
an array of pattern probabilities.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.rollouts import decision_probabilities
from frugal.core.episodes import Policy, RowPanels
from frugal.core.world import World, distinct_sets
from frugal.missing.chain import IndicatorChain

STATES_AT_ONCE = 1 << 16  # subset states of several units held at a time: changes no result
MOST_STATES = 1 << 16  # subset states of one unit held at a time: beyond, its answer is NaN
MOST_SWEPT = 16  # panels up to which subsets are gone through even where a closed form is known
CELLS_AT_ONCE = 1 << 21  # (unit, pattern) pairs held at a time: the same
FIRST_DRAWS = 256  # patterns of a row, and again as many until the sum is known well enough
MOST_DRAWS = 8192
LARGEST_ERROR = 0.03  # relative standard error of a drawn sum
ROWS_AT_ONCE = 1 << 12


def terminal_set_probability(
    policy: Policy, world: World, *, target: Bool[np.ndarray, "n a"]
) -> Float[np.ndarray, " n"]:
    """π_AFA(R̂ = target | X): the unblocked policy ends with exactly this set  [afape, sec. A.9].

    As `blocked_set_probability` with every panel available.

    Args:
        policy: to be evaluated.
        world: n units, whose values must be known where `target` reveals them.
        target: the set in question of each unit. (n, a)

    Returns:
        Probabilities. (n,)
    """
    return blocked_set_probability(policy, world, available=np.ones_like(target), target=target)


def blocked_set_probability(
    policy: Policy,
    world: World,
    *,
    available: Bool[np.ndarray, "n a"],
    target: Bool[np.ndarray, "n a"],
) -> Float[np.ndarray, " n"]:
    """p(R̂ = target | X, R = available), the policy being blocked outside R  [afape, sec. A.3].

    The probability of passing through a subset S of the target, and of stopping there:

        f(∅) = 1,   f(S) = Σ_{j ∈ S} f(S∖j) π(j | x_{S∖j}, S∖j, R),   p = f(target) π(stop | target)

    so 2^|target| states a unit stand for |target|! orders; states that the policy never reaches are
    neither held nor requested. A target that is not available has probability 0. For a policy that
    reads no values, each distinct (available, target) is computed once. Beyond 16 panels a policy
    that knows the answer in closed form gives it (`Traits.terminal_probability`).

    Args:
        policy: to be evaluated.
        world: n units, whose values must be known where `target` reveals them.
        available: panels that the policy may acquire. (n, a)
        target: the set in question of each unit. (n, a)

    Returns:
        Probabilities; NaN where the policy may pass through more than 2^16 subsets of one size, so
        that the sum is not made. (n,)
    """
    row = np.arange(len(target))
    if policy.traits.reads_values:
        return _set_probability(policy, world, row, available, target)
    distinct = distinct_sets(np.hstack([available, target]))
    available, target = np.hsplit(distinct.sets, 2)
    row = row[: len(distinct.sets)]  # any unit: its values are not read
    result = _set_probability(policy, world, row, available, target)
    return result[distinct.which]


def terminal_sequence_probability(
    policy: Policy, world: World, *, order: Int[np.ndarray, "n a"]
) -> Float[np.ndarray, " n"]:
    """π_AFA(Û = u | X): the unblocked policy acquires exactly this sequence, then stops.

        p(u₁, …, u_k, stop) = Π_t π(u_t | x_{u₁…u_{t−1}}, {u₁, …, u_{t−1}}) · π(stop | x_u, u)

    This is the numerator of the off-policy ratio in the sequence view  [afape, eq. A.13].

    Args:
        policy: to be evaluated.
        world: n units, whose values must be known where `order` reveals them.
        order: distinct panels in the order of their acquisition, then only −1. (n, a)

    Returns:
        Probabilities. (n,)

    Raises:
        AssertionError: an order names a panel twice or goes on after −1, a mistake of our own.
    """
    n, a = order.shape
    steps = np.hstack([np.where(order < 0, a, order), np.full((n, 1), a)])
    assert (np.diff((steps == a).astype(np.int8)) >= 0).all(), "bug: an order goes on after −1"
    result = np.ones(n)
    acquired = np.zeros((n, a), dtype=bool)
    running = np.arange(n)
    for step in range(a + 1):
        action_probability = decision_probabilities(
            policy,
            world,
            row=running,
            acquired=acquired[running],
            available=np.ones((len(running), a), dtype=bool),
        )
        chosen = steps[running, step]
        result[running] *= action_probability[np.arange(len(running)), chosen]
        running, chosen = running[chosen < a], chosen[chosen < a]
        assert not acquired[running, chosen].any(), "bug: an order names a panel twice"
        acquired[running, chosen] = True
    return result


def true_afa_propensity(
    policy: Policy,
    world: World,
    *,
    target: Bool[np.ndarray, "n a"],
    patterns: Bool[np.ndarray, "q a"],
    pattern_probability: Float[np.ndarray, "n q"],
    s: Bool[np.ndarray, " a"],
) -> Float[np.ndarray, " n"]:
    """True AFA propensity p(R = 1 | X, R̂ = t, R_s = 1): numerator of AFAIS(s) [afape, eq. A.9].

    See `afa_propensity_and_chance`. (n,)
    """
    return afa_propensity_and_chance(
        policy,
        world,
        target=target,
        patterns=patterns,
        pattern_probability=pattern_probability,
        s=s,
    )[0]


def afa_propensity_and_chance(
    policy: Policy,
    world: World,
    *,
    target: Bool[np.ndarray, "n a"],
    patterns: Bool[np.ndarray, "q a"],
    pattern_probability: Float[np.ndarray, "n q"],
    s: Bool[np.ndarray, " a"],
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The AFA propensity h, and the chance g that a record lets the policy end as it did.

    By Bayes over the patterns r that could have let the agent end with t:

        h = p(t | x_t, R=1) p(R=1 | x) / Σ_{r ⊇ t, r_s = 1} p(t | x_t, r) p(r | x)

    Differs from the paper: p(t | x_t, r) holds the acquired values x_t, as a policy that reads
    values needs it; for one that does not, it is the paper's p(R=1 | X_adj, R̂, R_s=1).

        g = Σ_{r ⊇ t, r_s = 1} p(t | x_t, r) p(r | x) / max_r p(t | x_t, r)

    For a policy that is deterministic and ends with t where nothing lacks, g is the chance that a
    record holds the panels that it needs, p(R_t = 1, R_s = 1 | x).

    Args:
        policy: the one that was run blocked.
        world: n units, whose values must be known where `target` reveals them.
        target: R̂ of the blocked episode. (n, a)
        patterns: distinct retrospective patterns; every one that can occur, and R = 1. (q, a)
        pattern_probability: p(R = r | x). (n, q)
        s: panels that must be observed. (a,)

    Returns:
        Propensities and chances; NaN where no pattern with r_s = 1 can lead to the target. By the
        law that the masks were drawn from, these are units that violate R_s = 1 and carry no
        weight; a fitted law says so of any unit whose own pattern it holds for impossible. NaN,
        too, where `blocked_set_probability` is. (n,) each

    Raises:
        AssertionError: the complete pattern is not named exactly once, a mistake of our own.
    """
    allowed = patterns[:, s].all(axis=1)
    patterns, pattern_chance = patterns[allowed], pattern_probability[:, allowed]
    complete = np.flatnonzero(patterns.all(axis=1))
    assert len(complete) == 1, f"bug: {len(complete)} patterns are complete, one must be"
    result, chance = np.full(len(target), np.nan), np.full(len(target), np.nan)
    for row in rows_in_parts(target, len(patterns)):
        likelihood = _likelihood(policy, world, row, target[row], patterns)
        joint = likelihood * pattern_chance[row]
        total = joint.sum(axis=1)
        possible = total > 0  # NaN is not
        result[row[possible]] = joint[possible, complete[0]] / total[possible]
        share = total[possible] / likelihood[possible].max(axis=1)
        chance[row[possible]] = np.minimum(share, 1.0)  # sums of laws round
    return result, chance


def rows_in_parts(
    target: Bool[np.ndarray, "n a"], patterns: int
) -> Iterator[Int[np.ndarray, " m"]]:
    """All rows, as many at a time as bounded memory allows; equal targets are adjacent."""
    at_once = max(1, CELLS_AT_ONCE // patterns)
    order = np.lexsort(target.T)  # equal targets are computed once
    for start in range(0, len(target), at_once):
        yield order[start : start + at_once]


def _likelihood(
    policy: Policy,
    world: World,
    row: Int[np.ndarray, " m"],
    target: RowPanels,
    patterns: Bool[np.ndarray, "q a"],
) -> Float[np.ndarray, "m q"]:
    """p(R̂ = target | x_target, R = pattern) by unit and pattern, 0 unless pattern ⊇ target."""
    which = np.arange(len(target))
    if not policy.traits.reads_values:
        distinct = distinct_sets(target)
        target, which = distinct.sets, distinct.which
        row = row[: len(target)]  # any unit: its values are not read
    outside = target.astype(np.float32) @ (~patterns).T.astype(np.float32)
    holds = outside == 0
    likelihood = np.zeros(outside.shape)
    if policy.traits.consistent:
        certain, ends, refused = _walk(policy, world, row, target)
        met = refused.astype(np.float32) @ patterns.T.astype(np.float32) == 0
        likelihood[holds & met & ends[:, None]] = 1.0
        holds[certain] = False  # answered
    unit, pattern = np.nonzero(holds)
    likelihood[unit, pattern] = _set_probability(
        policy, world, row[unit], patterns[pattern], target[unit]
    )
    return likelihood[which]


def _walk(
    policy: Policy, world: World, row: Int[np.ndarray, " m"], target: RowPanels
) -> tuple[Bool[np.ndarray, " m"], Bool[np.ndarray, " m"], RowPanels]:
    """Panels that a consistent policy must lack to end with the target: all patterns at once.

    It is offered every panel, and whatever it picks outside the target is taken away from it. If
    it is deterministic and then ends with the target, it does so on every record that holds the
    target and lacks the panels taken away, and on no other; if it ends elsewhere, on none.

    Returns:
        Whether no lot was drawn, whether it then ended with the target, and the panels that were
        taken away. (m,), (m,), (m, a)
    """
    acquired, available = np.zeros_like(target), np.ones_like(target)
    certain, ends = np.ones(len(target), dtype=bool), np.zeros(len(target), dtype=bool)
    going = np.arange(len(target))
    while len(going):
        action_probability = _decisions(policy, world, row, going, acquired[going], available)
        panel, sure = action_probability.argmax(axis=1), action_probability.max(axis=1) == 1
        stops = sure & (panel == target.shape[1])
        certain[going[~sure]] = False
        ends[going[stops]] = (acquired[going[stops]] == target[going[stops]]).all(axis=1)
        left = sure & ~stops
        going, panel = going[left], panel[left]
        in_target = target[going, panel]
        acquired[going[in_target], panel[in_target]] = True
        available[going[~in_target], panel[~in_target]] = False
    return certain, ends, ~available


def _set_probability(
    policy: Policy,
    world: World,
    row: Int[np.ndarray, " m"],
    available: RowPanels,
    target: RowPanels,
) -> Float[np.ndarray, " m"]:
    """Answers to m questions of `blocked_set_probability`: closed form, or sums over subsets."""
    closed = policy.traits.terminal_probability
    if closed is not None and target.shape[1] > MOST_SWEPT:
        return closed(available, target)
    result = np.zeros(len(target))
    size = target.sum(axis=1)
    possible = ~(target & ~available).any(axis=1)
    for k in np.unique(size[possible]):
        waiting = np.flatnonzero(possible & (size == k))
        at_once = max(1, STATES_AT_ONCE >> int(k))
        while len(waiting):
            part, waiting = waiting[:at_once], waiting[at_once:]
            question = (policy, world, row[part], available[part], target[part])
            allowed = MOST_STATES if len(part) == 1 else STATES_AT_ONCE
            probability, most = _sweep_subsets(*question, allowed)
            if probability is None and len(part) > 1:  # again, fewer of them
                waiting, at_once = np.concatenate([part, waiting]), len(part) // 2
                continue
            result[part] = np.nan if probability is None else probability
            at_once *= 2 if 2 * most <= STATES_AT_ONCE else 1
    return result


def _sweep_subsets(
    policy: Policy,
    world: World,
    row: Int[np.ndarray, " m"],
    available: RowPanels,
    target: RowPanels,
    allowed: int,
) -> tuple[Float[np.ndarray, " m"] | None, int]:
    """The recursion for m targets of one size k: from each level of subsets to the next larger.

    Only subsets that the policy reaches are held, so a policy that decides without chance
    takes one state a target, however many panels there are.

    Returns:
        The m probabilities, and the most states held at a time; None for the first where these are
        more than allowed.
    """
    item, acquired = np.arange(len(target)), np.zeros_like(target)
    reach, most = np.ones(len(target)), len(target)
    for _ in range(int(target[0].sum())):
        decision = _decisions(policy, world, row, item, acquired, available)
        going = (decision[:, :-1] > 0) & target[item] & ~acquired & (reach > 0)[:, None]
        panel, state = np.nonzero(going.T)  # the same subset is summed in the panels' order
        item, reach, acquired = item[state], reach[state] * decision[state, panel], acquired[state]
        acquired[np.arange(len(state)), panel] = True
        item, acquired, reach = _merged(item, acquired, reach)
        most = max(most, len(item))
        if most > allowed:
            return None, most
    decision = _decisions(policy, world, row, item, acquired, available)
    result = np.zeros(len(target))
    result[item] = reach * decision[:, -1]
    return result, most


def _decisions(
    policy: Policy,
    world: World,
    row: Int[np.ndarray, " m"],
    item: Int[np.ndarray, " states"],
    acquired: Bool[np.ndarray, "states a"],
    available: RowPanels,
) -> Float[np.ndarray, "states a+1"]:
    """Distribution of the next decision in states of some of m questions."""
    return decision_probabilities(
        policy, world, row=row[item], acquired=acquired, available=available[item]
    )


def _merged(
    item: Int[np.ndarray, " e"], acquired: Bool[np.ndarray, "e a"], reach: Float[np.ndarray, " e"]
) -> tuple[Int[np.ndarray, " s"], Bool[np.ndarray, "s a"], Float[np.ndarray, " s"]]:
    """Each (question, subset) once, with the sum of the ways that lead to it."""
    if len(np.unique(item)) == len(item):
        return item, acquired, reach
    codes = np.packbits(acquired, axis=1)
    order = np.lexsort([*codes.T, item])
    item, codes = item[order], codes[order]
    first = np.append(True, (item[1:] != item[:-1]) | (codes[1:] != codes[:-1]).any(axis=1))
    total = np.bincount(np.cumsum(first) - 1, weights=reach[order])
    return item[first], acquired[order[first]], total


def wide_propensity_and_chance(
    policy: Policy,
    world: World,
    *,
    target: Bool[np.ndarray, "n a"],
    missingness: IndicatorChain,
    rows: Int[np.ndarray, " n"],
    s: Bool[np.ndarray, " a"],
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """As `set_probability.afa_propensity_and_chance`, for any number of panels.

    Args:
        policy: the one that was run blocked.
        world: n units, whose values must be known where `target` reveals them.
        target: R̂ of the blocked episode. (n, a)
        missingness: of the indicators.
        rows: the units' rows in the missingness model. (n,)
        s: panels that must be observed. (a,)
        rng: source of the patterns.

    Returns:
        Propensities h; NaN where a sum is not made. Chances g, that a record lets the policy end
        as it did; NaN where h is 0 or NaN, for nothing reads them there. (n,) each
    """
    needed, every = target | s, np.ones_like(target)
    unhindered = terminal_set_probability(policy, world, target=target)
    complete = missingness.joint_probability(rows, every)
    result = np.where(unhindered == 0, 0.0, np.nan)
    chance = np.full(len(target), np.nan)
    has_needed = missingness.joint_probability(rows, needed)
    sure = policy.traits.consistent & (unhindered == 1) & np.isfinite(has_needed)
    result[sure], chance[sure] = complete[sure] / has_needed[sure], has_needed[sure]
    left = np.flatnonzero(~sure & (unhindered > 0))
    mean = policy.traits.mean_terminal_probability
    if mean is not None and missingness.independent and len(left):
        each = _each(missingness, rows[left], needed[left])
        average, most = mean(target[left], needed[left], each)
        total = has_needed[left] * average
        result[left] = unhindered[left] * complete[left] / total
        chance[left] = total / most
        return result, chance
    for start in range(0, len(left), ROWS_AT_ONCE):
        part = left[start : start + ROWS_AT_ONCE]
        total, most = _drawn(
            policy, world.take(part), target[part], needed[part], missingness, rows[part], rng
        )
        result[part] = unhindered[part] * complete[part] / total
        chance[part] = np.minimum(total / np.maximum(most, unhindered[part]), 1.0)
    return result, chance


def _each(
    missingness: IndicatorChain, rows: np.ndarray, needed: np.ndarray
) -> Float[np.ndarray, "m a"]:
    """p(R_j = 1 | x) of each panel that is not needed; 1 for the needed ones."""
    result = np.ones(needed.shape)
    for j in range(needed.shape[1]):
        only = np.zeros_like(needed)
        only[:, j] = True
        result[:, j] = np.where(needed[:, j], 1.0, missingness.joint_probability(rows, only))
    return result


def _drawn(
    policy: Policy,
    world: World,
    target: np.ndarray,
    needed: np.ndarray,
    missingness: IndicatorChain,
    rows: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """D by patterns that are drawn, NaN where it is not known well enough, and max p(t | x_t, r).

    Every row is drawn for in each round, so its draws do not depend on the others' errors.
    """
    m = len(target)
    count, first, second, most = 0, np.zeros(m), np.zeros(m), np.zeros(m)
    total, open_rows = np.full(m, np.nan), np.arange(m)
    while len(open_rows) and count < MOST_DRAWS:
        count += FIRST_DRAWS
        for _ in range(FIRST_DRAWS):
            patterns, weight = missingness.draw(rows, needed, rng)
            at = open_rows
            probability = blocked_set_probability(
                policy, world.take(at), available=patterns[at], target=target[at]
            )
            first[at] += weight[at] * probability
            second[at] += (weight[at] * probability) ** 2
            most[at] = np.maximum(most[at], probability)
        mean = first[open_rows] / count
        spread = np.maximum(second[open_rows] / count - mean**2, 0.0)
        done = (mean > 0) & (np.sqrt(spread / count) <= LARGEST_ERROR * mean)
        total[open_rows[done]] = mean[done]
        open_rows = open_rows[~done & ~np.isnan(mean)]
    return total, most
