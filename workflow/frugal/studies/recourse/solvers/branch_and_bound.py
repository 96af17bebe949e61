"""Cheapest action sets of all units at once, each with a certificate: the recourse study's labels.

Units whose every missing feature is met by any one action that touches it are weighted set covers:
they are looked up in the sets listed by cost, and searched over bit sets where these end. The
others need several actions for one feature and go to the search over remaining amounts. A unit
that these two leave open, as they do in sparse catalogues, goes to the tree with a Lagrangian
bound. Knows no data generator and no learner.
"""

from typing import no_type_check

import numba
import numpy as np
from jaxtyping import Bool, Int

from frugal.core.errors import DataError
from frugal.studies.recourse.instance import COST_DECIMALS, CoverInstance, Covers
from frugal.studies.recourse.solvers.bitsets import (
    NOTHING_LEFT,
    action_links,
    lowest_bit,
    pack_bits,
)
from frugal.studies.recourse.solvers.proofs import solve_proven
from frugal.studies.recourse.solvers.search_tree import solve_amounts, solve_batch


@numba.njit(cache=True)
@no_type_check
def _walk(cost, horizon, most, sets, total):
    """Every nonempty set of at most `horizon` cost: how many, and the most actions in one.

    Writes them to `sets` and their costs to `total` where these have rows; stops above `most`.
    """
    a, count, deepest, at = len(cost), 0, 0, 0
    stack = np.zeros(a + 1, dtype=np.int64)
    spent = np.zeros(a + 2, dtype=np.int64)
    while at >= 0:
        i = stack[at]
        if i >= a or spent[at] + cost[i] > horizon:  # actions ascend in cost
            at -= 1
            if at >= 0:
                stack[at] += 1
            continue
        if count < len(sets):
            sets[count, : at + 1] = stack[: at + 1]
            total[count] = spent[at] + cost[i]
        count += 1
        deepest = max(deepest, at + 1)
        if count > most:
            break
        spent[at + 1] = spent[at] + cost[i]
        at += 1
        stack[at] = i + 1
    return count, deepest


@numba.njit(cache=True)
@no_type_check
def sets_in_cost_order(cost, most):
    """All sets of actions up to the largest cost at which there are at most `most` of them.

    Args:
        cost: whole numbers above zero, ascending. (a,)
        most: sets at most.

    Returns:
        the sets, padded with −1 (r, m), and their costs, ascending (r,); equal ones as in `ties`.
    """
    none, no_cost = np.zeros((0, 0), dtype=np.int16), np.zeros(0, dtype=np.int64)
    low, high = np.int64(0), cost.sum()
    while low < high:
        middle = low + (high - low + 1) // 2
        if _walk(cost, middle, most, none, no_cost)[0] > most:
            high = middle - 1
        else:
            low = middle
    count, deepest = _walk(cost, low, most, none, no_cost)
    sets = np.full((count, max(deepest, 1)), -1, dtype=np.int16)
    total = np.zeros(count, dtype=np.int64)
    _walk(cost, low, most, sets, total)
    size = np.zeros(count, dtype=np.int64)
    for r in range(count):
        size[r] = (sets[r] >= 0).sum()
    order = np.argsort(size, kind="mergesort")  # the walk is in the order of the actions' numbers
    order = order[np.argsort(total[order], kind="mergesort")]
    return sets[order], total[order]


@numba.njit(cache=True)
@no_type_check
def covers_by_feature(sets, covers, features):
    """Word w of feature j: which of sets 64·w … 64·w + 63 provide j. (⌈r/64⌉, d)"""
    words = (len(sets) + 63) // 64
    table = np.zeros((words, features), dtype=np.uint64)
    for r in range(len(sets)):
        for v in range(covers.shape[1]):
            union = np.uint64(0)
            for i in sets[r]:
                if i >= 0:
                    union |= covers[i, v]
            while union != 0:
                table[r // 64, 64 * v + lowest_bit(union)] |= np.uint64(1) << np.uint64(r % 64)
                union &= union - np.uint64(1)
    return table


@numba.njit(cache=True)
@no_type_check
def look_up(need, table, total):
    """First set in cost order that covers each unit, and how many of that cost do.

    Args:
        need: features to be covered. (n, v) words
        table: from `covers_by_feature`.
        total: cost of each set, ascending; all sets of a cost that occurs are there. (r,)

    Returns:
        rank of the set, −1 if none covers the unit or it lacks nothing (n,), and number of covers
        of that cost (n,).
    """
    first = np.full(len(need), -1, dtype=np.int64)
    ties = np.zeros(len(need), dtype=np.int64)
    wanted = np.zeros(table.shape[1], dtype=np.int64)
    for u in range(len(need)):
        count = 0
        for v in range(need.shape[1]):
            word = need[u, v]
            while word != 0:
                wanted[count] = 64 * v + lowest_bit(word)
                word &= word - np.uint64(1)
                count += 1
        for w in range(len(table) if count > 0 else 0):
            if first[u] >= 0 and total[64 * w] > total[first[u]]:
                break
            alive = ~np.uint64(0)
            for k in range(count):
                alive &= table[w, wanted[k]]
                if alive == 0:
                    break
            while alive != 0:
                rank = 64 * w + lowest_bit(alive)
                alive &= alive - np.uint64(1)
                if first[u] < 0:
                    first[u] = rank
                elif total[rank] > total[first[u]]:
                    break
                ties[u] += 1
    return first, ties


_CHUNK_UNITS = 1 << 17  # bounds the memory of padded answers
_TABLE_SETS, _TABLE_PAYS = 1 << 15, 512  # sets listed at most; units for which listing them pays
_FIRST_NODES = 2000  # of a plain tree; what it leaves goes to the tree with a Lagrangian bound
_PLAIN_ACTIONS = 4096  # above, the plain tree's sets of actions by price would take too much memory


def cheapest_covers(
    features: Bool[np.ndarray, "n d"] | Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    instance: CoverInstance,
    *,
    max_nodes: int,
) -> Covers:
    """Cheapest set of actions that turns each unit positive, with proof and number of optima.

        min Σᵢ cᵢ aᵢ   subject to   xⱼ + Σᵢ dᵢⱼ aᵢ ≥ tⱼ for every feature j      [recourse, eq. 1]

    Differs from the paper: its program prints Σᵢ dᵢⱼ aᵢ ≥ tⱼ; features that the unit has already
    are no rows here.

    Args:
        features: the units' states x. (n, d)
        group: row of `instance.access` that holds for each unit. (n,)
        instance: actions, costs, thresholds, access.
        max_nodes: branches after which the search of one unit stops; `finished` is then
            False if a set as cheap may be left, and `optima` counts the sets seen. At least 1.

    Returns:
        Sets with cost, lower bound, number of irredundant optima; cost ∞ where uncoverable.

    Raises:
        DataError: shapes or groups do not fit the instance.
    """
    _check_units(features, group, instance)
    n = len(features)
    deficit = instance.deficit(features)
    costs = np.full(n, -1, dtype=np.int64)
    unsearched, nodes, optima = costs.copy(), np.zeros(n, np.int64), np.zeros(n, np.int64)
    sets = np.full((n, 1), -1, dtype=np.int64)
    for g in np.unique(group):
        for rows, single in _kinds_of_rows(deficit, np.flatnonzero(group == g), instance, g):
            for start in range(0, len(rows), _CHUNK_UNITS):
                part = rows[start : start + _CHUNK_UNITS]
                answer = _solve(deficit[part], instance, g, single=single, max_nodes=max_nodes)
                costs[part], some, optima[part], unsearched[part], nodes[part] = answer
                if some.shape[1] > sets.shape[1]:
                    sets = np.pad(
                        sets, ((0, 0), (0, some.shape[1] - sets.shape[1])), constant_values=-1
                    )
                sets[part, : some.shape[1]] = some
    return _as_covers(costs, sets, optima, unsearched, nodes, group, instance)


def unreachable_features(
    features: Bool[np.ndarray, "n d"] | Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    instance: CoverInstance,
) -> Bool[np.ndarray, "n d"]:
    """True where a feature stays short of its threshold even if every allowed action is taken."""
    _check_units(features, group, instance)
    reach = instance.access.astype(np.int64) @ instance.gain
    return instance.deficit(features) > reach[group]


def _check_units(features: np.ndarray, group: np.ndarray, instance: CoverInstance) -> None:
    d, g = instance.provides.shape[1], len(instance.access)
    if features.shape[1] != d:
        raise DataError(f"units have {features.shape[1]} features, but the actions have {d}")
    if len(group) and (group.min() < 0 or group.max() >= g):
        wrong = group[(group < 0) | (group >= g)][0]
        raise DataError(f"a unit is in group {int(wrong)}; groups run from 0 to {g - 1}")


def _kinds_of_rows(
    deficit: Int[np.ndarray, "n d"], rows: Int[np.ndarray, " m"], instance: CoverInstance, group
) -> list[tuple[np.ndarray, bool]]:
    """Rows that are plain set covers (True), and rows that need amounts (False)."""
    gain = instance.gain[instance.access[group]]
    weakest = np.where(gain > 0, gain, np.iinfo(np.int64).max).min(
        axis=0, initial=np.iinfo(np.int64).max
    )
    single = (deficit[rows] <= weakest).all(axis=1)
    return [(rows[single], True), (rows[~single], False)]


def _solve(
    deficit: Int[np.ndarray, "n d"], instance: CoverInstance, group, *, single: bool, max_nodes: int
) -> tuple[np.ndarray, ...]:
    """Costs, sets as in `Covers`, optima, unsearched costs and nodes of units of one group."""
    usable = np.flatnonzero(instance.access[group])
    order = usable[np.argsort(instance.cost_units[usable], kind="stable")]
    cost, gain = instance.cost_units[order], np.ascontiguousarray(instance.gain[order])
    if len(cost) > _PLAIN_ACTIONS:
        answer = _solve_bounded(deficit, cost, gain, max_nodes)
    else:
        first = min(max_nodes, _FIRST_NODES)
        if single:
            answer = _solve_bits(deficit > 0, cost, gain > 0, first)
        else:
            answer = solve_amounts(deficit, cost, gain, first)
        left = np.flatnonzero(answer[3] < NOTHING_LEFT)
        if len(left):
            answer = _replaced(answer, left, _solve_bounded(deficit[left], cost, gain, max_nodes))
    costs, sets, optima, unsearched, nodes = answer
    width = max(1, int((sets >= 0).any(axis=0).sum()))  # sets fill their first places
    named = np.append(order, len(instance.cost))[sets[:, :width]]  # −1 reads the end: sorts last
    named.sort(axis=1)
    return costs, np.where(named < len(instance.cost), named, -1), optima, unsearched, nodes


def _replaced(
    answer: tuple[np.ndarray, ...], rows: Int[np.ndarray, " m"], other: tuple[np.ndarray, ...]
) -> tuple[np.ndarray, ...]:
    """The answer with these rows of another, written in place; branches of both are counted."""
    costs, sets, optima, unsearched, nodes = answer
    width = int((other[1] >= 0).sum(axis=1).max())
    if width > sets.shape[1]:
        sets = np.pad(sets, ((0, 0), (0, width - sets.shape[1])), constant_values=-1)
    sets[rows] = -1
    sets[rows[:, None], np.arange(width)] = other[1][:, :width]
    costs[rows], optima[rows], unsearched[rows] = other[0], other[2], other[3]
    nodes[rows] += other[4]
    return costs, sets, optima, unsearched, nodes


def _solve_bounded(
    deficit: Int[np.ndarray, "n d"],
    cost: Int[np.ndarray, " a"],
    gain: Int[np.ndarray, "a d"],
    max_nodes: int,
) -> tuple[np.ndarray, ...]:
    """Result of the tree with a Lagrangian bound: sparse catalogues, and large ones.

    Actions that cost nothing are taken for granted, and the idle ones left out again; sets that
    differ in them alone are not counted, so another set may cost the same.
    """
    n, paid = len(deficit), cost > 0
    left = np.maximum(deficit - gain[~paid].sum(axis=0), 0)
    links = action_links(cost[paid], np.ascontiguousarray(gain[paid]))
    none = np.zeros((n, int(paid.sum())), dtype=bool)
    limits = (none, none, np.full(n, none.shape[1]), np.full(n, NOTHING_LEFT))
    costs, sets, optima, unsearched, nodes = solve_proven(left, links, limits, 1, max_nodes)
    costs = np.where(costs[:, 0] >= 0, costs[:, 0] * links.step, -1)
    unsearched[unsearched < NOTHING_LEFT] *= links.step
    sets = sets[:, 0].astype(np.int64)
    if not paid.all():
        sets = _with_free(deficit, gain, sets, np.flatnonzero(paid), costs >= 0)
        unsearched = np.where(costs >= 0, np.minimum(unsearched, costs), unsearched)
    return costs, sets, optima, unsearched, nodes


def _with_free(
    deficit: Int[np.ndarray, "n d"],
    gain: Int[np.ndarray, "a d"],
    sets: Int[np.ndarray, "n m"],
    paid: Int[np.ndarray, " p"],
    coverable: Bool[np.ndarray, " n"],
) -> Int[np.ndarray, "n a"]:
    """Sets of paid actions with the free ones that they need; later ones are left out first."""
    n, a = len(deficit), len(gain)
    chosen = np.zeros((n, a), dtype=bool)
    chosen[:, np.setdiff1d(np.arange(a), paid)] = True
    unit, place = np.nonzero(sets >= 0)
    chosen[unit, paid[sets[unit, place]]] = True
    chosen &= coverable[:, None]
    spare = chosen.astype(np.int64) @ gain - deficit
    for i in np.setdiff1d(np.arange(a), paid)[::-1]:
        idle = chosen[:, i] & (spare >= gain[i]).all(axis=1)
        chosen[idle, i] = False
        spare[idle] -= gain[i]
    answer = np.full((n, a), -1, dtype=np.int64)
    unit, action = np.nonzero(chosen)
    answer[unit, (np.cumsum(chosen, axis=1) - 1)[unit, action]] = action
    return answer


def _solve_bits(
    need: Bool[np.ndarray, "n d"],
    cost: Int[np.ndarray, " a"],
    covers: Bool[np.ndarray, "a d"],
    max_nodes: int,
) -> tuple[np.ndarray, ...]:
    """Plain set covers: the cheapest sets in order of cost first, the search for the rest.

    A table pays off for many units only, and an action that costs nothing would double
    the sets of each cost; both cases are searched at once.
    """
    bits, action_bits = pack_bits(need), pack_bits(covers)
    rank = np.full(len(need), -1, dtype=np.int64)
    ties = np.zeros(len(need), dtype=np.int64)
    listed, total = np.full((1, 1), -1, dtype=np.int16), np.zeros(1, dtype=np.int64)
    if len(need) >= _TABLE_PAYS and len(cost) and cost[0] > 0:
        listed, total = sets_in_cost_order(cost, _TABLE_SETS)
        rank, ties = look_up(bits, covers_by_feature(listed, action_bits, covers.shape[1]), total)
    rest = np.flatnonzero(rank < 0)
    searched = solve_batch(
        bits[rest],
        cost,
        action_bits,
        pack_bits(covers.T),
        pack_bits(np.tri(len(cost) + 1, len(cost), k=-1, dtype=bool)),
        max_nodes,
    )
    costs, optima, nodes = total[rank], ties, np.zeros(len(need), dtype=np.int64)
    unsearched = np.full(len(need), NOTHING_LEFT)
    sets = np.full((len(need), max(listed.shape[1], searched[1].shape[1])), -1, dtype=np.int64)
    sets[:, : listed.shape[1]] = listed[rank]
    costs[rest], optima[rest], unsearched[rest], nodes[rest] = searched[0], *searched[2:]
    sets[rest] = -1
    sets[rest[:, None], np.arange(searched[1].shape[1])] = searched[1]
    return costs, sets, optima, unsearched, nodes


def _as_covers(costs, sets, optima, unsearched, nodes, group, instance: CoverInstance) -> Covers:
    """The answer in the catalogue's unit of cost, and whether it is the only one."""
    coverable = costs >= 0
    finished = unsearched > costs
    free = instance.access & (instance.cost_units == 0)
    free_members = np.append(instance.cost_units == 0, False)[sets].sum(axis=1)  # −1 reads False
    addable = free.sum(axis=1)[group] > free_members
    scale = 10**COST_DECIMALS
    return Covers(
        action_set=sets,
        cost=np.where(coverable, costs / scale, np.inf),
        lower_bound=np.where(coverable, np.minimum(costs, unsearched) / scale, np.inf),
        optima=np.where(coverable, np.maximum(optima, 1), 0),
        unique=coverable & finished & (optima == 1) & ~addable,
        finished=finished,
        addable=addable,
        nodes=nodes,
    )
