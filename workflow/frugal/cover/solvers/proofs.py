"""Cheapest sets with their proof: the tree first, and what it leaves open by other means.

A search that counts sets of equal cost ends soon in most catalogues. What it leaves open has a
second search that asks for cheaper sets only, from a set that exchanges made cheap; then HiGHS.
Where the least cost is proven, sets of that cost are counted. Every step is limited by branches,
never by time, and takes one unit after the other, so that an answer is the same on every run,
whatever units stand beside. Knows no catalogue and no sentence.
"""

import numpy as np
from jaxtyping import Int

from frugal.cover.solvers.bitsets import NOTHING_LEFT
from frugal.cover.solvers.integer_program import (
    TELLS_STEPS,
    OwnRules,
    ProgramAnswer,
    cheapest_by_program,
    prices_by_program,
)
from frugal.cover.solvers.lagrangian_bound import too_dear
from frugal.cover.solvers.lagrangian_tree import MOST_TIES, solve_choices
from frugal.cover.solvers.links import ActionLinks

FIRST_NODES, PROOF_NODES = 5_000, 25_000
COUNTED = 100  # the max_nodes-th part counts sets of equal cost
PROGRAM, ACTIONS = 200, 500  # branches of the tree for one of HiGHS, where so many actions are left
Own = tuple[np.ndarray, ...]  # required and shut (n, a), most actions and budget (n,)
Answer = tuple[np.ndarray, ...]


def solve_proven(
    need: Int[np.ndarray, "n d"], known: ActionLinks, own: Own, keep: int, max_nodes: int
) -> Answer:
    """The `keep` cheapest lean sets of n units: arguments and answer of `solve_choices`.

    A branch of HiGHS is counted as `PROGRAM` of the tree's, or more where many actions are left.
    """
    first = min(max_nodes, FIRST_NODES)
    answer = _tree(need, known, own, keep, first)
    if max_nodes <= FIRST_NODES:
        return answer
    _, _, optima, unsearched, nodes = answer
    left = np.flatnonzero((unsearched < NOTHING_LEFT) & (optima < MOST_TIES) | (nodes > 2 * first))
    if not len(left):
        return answer
    rules = len(known.rules[0][1]) + len(known.rules[2][1]) > 0
    plain = ~own[0].any(axis=1) & (own[2] >= len(known.cost)) & (keep == 1) & (not rules)
    plain &= answer[0][:, 0] >= 0
    for rows, further in ((left[plain[left]], _one), (left[~plain[left]], _several)):
        if len(rows):
            mine = tuple(part[rows] for part in own)
            some = tuple(part[rows] for part in answer)
            answer = _written(
                answer, rows, further(need[rows], known, mine, keep, max_nodes, first, some)
            )
    return answer


def _longer(known: ActionLinks, few: int, max_nodes: int) -> int:
    """Branches of the second search; all of them where a program can prove little."""
    return few if known.cost.sum() <= TELLS_STEPS else max_nodes


def _tree(
    need: np.ndarray, known: ActionLinks, own: Own, keep: int, most: int, start=None
) -> Answer:
    start = np.zeros((0, need.shape[1])) if start is None else start
    return solve_choices(
        need, known.cost, known.links, known.providers, known.rules, own, keep, most, start
    )


def _one(
    need: np.ndarray, known: ActionLinks, own: Own, keep: int, max_nodes: int, first: int,
    answer: Answer,
) -> Answer:  # fmt: skip
    """One set a unit, and no rules: proof, program, count."""
    open_ = np.flatnonzero((answer[4] > 2 * first) & (answer[3] < answer[0][:, 0]))
    if len(open_):
        mine = tuple(part[open_] for part in own)
        price = prices_by_program(need[open_], known, mine[1])
        most = _longer(known, min(max_nodes, PROOF_NODES), max_nodes)
        some = _tree(need[open_], known, mine, 1, most, price)
        answer = _written(answer, open_, _cheaper(_rows(answer, open_), some))
    for k, u in enumerate(open_):
        if answer[3][u] >= answer[0][u, 0]:
            continue
        mine = tuple(part[u : u + 1] for part in own)
        best = int(answer[0][u, 0])
        shut, bound = too_dear(need[u], mine[1][0], known.cost, known.links, best, price[k])
        answer[3][u] = max(answer[3][u], min(bound, best))
        if answer[3][u] == best:
            continue
        mine = (mine[0], shut[None], *mine[2:])
        found = _by_program(need[u], known, mine, best, 1, max_nodes)
        answer = _written(
            answer, np.array([u]), _with_program(_rows(answer, [u]), known, found, all_=False)
        )
    tied = np.flatnonzero((answer[3] == answer[0][:, 0]) & (answer[2] < MOST_TIES))
    if len(tied):
        mine = (*(part[tied] for part in own[:3]), answer[0][tied, 0])
        some = _tree(need[tied], known, mine, 1, max(max_nodes // COUNTED, 1))
        answer = _written(answer, tied, _counted(_rows(answer, tied), some))
    return answer


def _several(
    need: np.ndarray, known: ActionLinks, own: Own, keep: int, max_nodes: int, first: int,
    answer: Answer,
) -> Answer:  # fmt: skip
    """Several sets a unit, or rules: a longer search, then programs."""
    most = _longer(known, max(max_nodes // COUNTED, first), max_nodes)
    if most > first:
        answer = _tree(need, known, own, keep, most)
    for u in np.flatnonzero(answer[4] > 2 * most):
        mine = tuple(part[u : u + 1] for part in own)
        found = _by_program(need[u], known, mine, None, keep, max_nodes)
        answer = _written(
            answer, np.array([u]), _with_program(_rows(answer, [u]), known, found, all_=True)
        )
    return answer


def _by_program(
    need: np.ndarray, known: ActionLinks, own: Own, below: int | None, keep: int, max_nodes: int
) -> ProgramAnswer:
    rules = OwnRules(own[0][0], own[1][0], int(own[2][0]), int(own[3][0]))
    most = max_nodes // PROGRAM * ACTIONS // max(int((~rules.shut).sum()), ACTIONS)
    return cheapest_by_program(need, known, rules, below=below, keep=keep, most_nodes=max(most, 1))


def _rows(answer: Answer, rows) -> Answer:
    return tuple(part[rows] for part in answer)


def _written(answer: Answer, rows: np.ndarray, other: Answer) -> Answer:
    """The answer with these rows of another, which has as many sets."""
    found, sets, optima, unsearched, nodes = answer
    width = other[1].shape[2]
    if width > sets.shape[2]:
        sets = np.pad(sets, ((0, 0), (0, 0), (0, width - sets.shape[2])), constant_values=-1)
    sets[rows] = -1
    sets[rows, :, :width] = other[1]
    found[rows], optima[rows], unsearched[rows], nodes[rows] = other[0], *other[2:]
    return found, sets, optima, unsearched, nodes


def _cheaper(one: Answer, other: Answer) -> Answer:
    """Of each unit the cheaper set, the first where they cost the same, and the higher bound."""
    width = max(one[1].shape[2], other[1].shape[2])
    sets, new = _wide(one[1], width), _wide(other[1], width)
    better = (other[0][:, 0] >= 0) & ((one[0][:, 0] < 0) | (other[0][:, 0] < one[0][:, 0]))
    found = np.where(better[:, None], other[0], one[0])
    sets = np.where(better[:, None, None], new, sets)
    optima = np.where(better, other[2], one[2])
    bound = np.maximum(one[3], other[3])
    ended = (found[:, 0] >= 0) & (bound > found[:, 0])  # nothing cheaper is left: ties may be
    return found, sets, optima, np.where(ended, found[:, 0], bound), one[4] + other[4]


def _wide(sets: np.ndarray, width: int) -> np.ndarray:
    return np.pad(sets, ((0, 0), (0, 0), (0, width - sets.shape[2])), constant_values=-1)


def _with_program(
    answer: Answer, known: ActionLinks, program: ProgramAnswer, *, all_: bool
) -> Answer:
    """The answer of one unit with what the program found; `all_`: it sought sets of any cost."""
    found, sets, optima, unsearched, nodes = answer
    keep = found.shape[1]
    of_tree = [tuple(s[s >= 0].tolist()) for c, s in zip(found[0], sets[0], strict=True) if c >= 0]
    costs = {s: int(known.cost[list(s)].sum()) for s in (*of_tree, *program.sets)}
    ordered = sorted(costs, key=lambda s: (costs[s], len(s), s))[:keep]
    cost = np.full((1, keep), -1, dtype=np.int64)
    width = max(sets.shape[2], *(len(s) for s in ordered)) if ordered else sets.shape[2]
    told = np.full((1, keep, width), -1, dtype=np.int32)
    for k, some in enumerate(ordered):
        cost[0, k], told[0, k, : len(some)] = costs[some], some
    least = int(cost[0, 0])
    seen = int(optima[0]) if least == found[0, 0] else 0
    count = max(seen, sum(costs[s] == least for s in costs)) if ordered else 0
    bound = max(int(unsearched[0]), program.bound)
    if least >= 0 and not (program.ended and all_):
        bound = min(bound, least)
    return cost, told, np.array([count]), np.array([bound]), nodes


def _counted(one: Answer, other: Answer) -> Answer:
    """A proven answer, with the count and the first set of a search for sets of its cost."""
    found, sets, optima, unsearched, nodes = one
    width = max(sets.shape[2], other[1].shape[2])
    same = other[0][:, 0] == found[:, 0]
    told = np.where(same[:, None, None], _wide(other[1], width), _wide(sets, width))
    count = np.where(same, np.maximum(other[2], optima), optima)
    left = np.where(same, other[3], unsearched)
    return found, told, count, np.where(left < found[:, 0], found[:, 0], left), nodes + other[4]
