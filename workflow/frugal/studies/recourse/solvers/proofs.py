"""Cheapest sets with their proof: the tree first, and the units left open by other means.

A search that counts sets of equal cost ends soon in most catalogues. A unit left open has a
second search for cheaper sets only, from a set that exchanges made cheap; then HiGHS.
Where the least cost is proven, sets of that cost are counted. Every step is limited by branches,
never by time, and takes one unit after the other, so an answer is the same on every run,
whichever other units are solved. Knows no catalogue and no sentence.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.studies.recourse.solvers.bitsets import NOTHING_LEFT, ActionLinks, Links
from frugal.studies.recourse.solvers.lagrangian_bound import too_dear
from frugal.studies.recourse.solvers.lagrangian_tree import MOST_TIES, solve_choices

_SLACK, _RELATIVE = 1e-6, 1e-9  # of a bound, in steps of cost
RESOLVES_STEPS = 1e9  # sum of costs in steps up to which a row of costs resolves one step
Program = tuple[Any, np.ndarray, np.ndarray]  # sparse rows; the least and the most that each may be
_OPTIMAL, _INFEASIBLE = 0, 2  # status of scipy.optimize.milp


@dataclass(frozen=True)
class OwnRules:
    """Constraints of one unit: see `lagrangian_tree.solve_choices`."""

    required: Bool[np.ndarray, " a"]
    shut: Bool[np.ndarray, " a"]
    most_actions: int
    budget: int


@dataclass(frozen=True, eq=False)
class ProgramAnswer:
    """Results of the programs for a unit.

    Attributes:
        sets: cheapest first; each as its actions in ascending order.
        bound: lower bound of the cheapest cost; `NOTHING_LEFT` if there is none.
        ended: no other set was there to be found.
    """

    sets: list[tuple[int, ...]]
    bound: int
    ended: bool


def cheapest_by_program(
    need: Int[np.ndarray, " d"],
    catalogue: ActionLinks,
    unit_rules: OwnRules,
    *,
    below: int | None,
    keep: int,
    most_nodes: int,
) -> ProgramAnswer:
    """The `keep` cheapest lean sets of a unit.

    Args:
        need: of each feature. (d,)
        catalogue: the catalogue.
        unit_rules: actions that the unit may and must take.
        below: only sets that cost less are sought; None for all.
        keep: sets at most.
        most_nodes: of HiGHS, for each set.
    """
    program, exact = _program(need, catalogue, unit_rules), catalogue.cost.sum() <= RESOLVES_STEPS
    if below is not None and exact:
        program = _at_most(program, catalogue.cost, below - 0.5)
    cheapest: list[tuple[int, ...]] = []
    lowest = int(NOTHING_LEFT)
    while len(cheapest) < keep:
        answer = _solved(catalogue, unit_rules, program, most_nodes)
        if answer.status == _INFEASIBLE:
            proven = bool(exact or unit_rules.budget >= NOTHING_LEFT)
            return ProgramAnswer(cheapest, lowest if proven or cheapest else 0, proven)
        bound = _integer_bound(answer.mip_dual_bound)
        lowest = lowest if cheapest else bound
        members = _lean_members(answer.x, need, catalogue, unit_rules)
        if members is None or catalogue.cost[list(members)].sum() > unit_rules.budget:
            break
        cheapest.append(members)
        if answer.status != _OPTIMAL or int(catalogue.cost[list(members)].sum()) > bound:
            break
        chosen = np.zeros(len(catalogue.cost))
        chosen[list(members)] = 1.0
        program = _at_most(program, chosen, len(members) - 1.0)
    return ProgramAnswer(cheapest, lowest, False)


def prices_by_program(
    need: Int[np.ndarray, "n d"], catalogue: ActionLinks, shut: Bool[np.ndarray, "n a"]
) -> Float[np.ndarray, "n d"]:
    """Prices of features by the linear program of each unit; zeros where it has no answer."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    a, d = len(catalogue.cost), need.shape[1]
    first, feature, gain = catalogue.links
    prices = np.zeros((len(need), d))
    for u, lack in enumerate(need):
        useful = np.minimum(gain, lack[feature]).astype(float)
        gains: Any = csr_array((useful, feature, first), shape=(a, d)).T.tocsr()
        lacking = np.flatnonzero(lack > 0)
        answer = linprog(
            catalogue.cost.astype(float),
            A_ub=-gains[lacking],
            b_ub=-lack[lacking].astype(float),
            bounds=np.stack([np.zeros(a), (~shut[u]).astype(float)], axis=1),
            method="highs",
        )
        if answer.status == _OPTIMAL:
            prices[u, lacking] = np.maximum(-answer.ineqlin.marginals, 0.0)
    return prices


def _integer_bound(bound: float | None) -> int:
    """The least whole number of steps that is not below a bound."""
    if bound is None or not np.isfinite(bound):
        return 0
    return max(int(np.ceil(bound - max(_SLACK, _RELATIVE * abs(bound)))), 0)


def _program(need: np.ndarray, catalogue: ActionLinks, unit_rules: OwnRules) -> Program:
    """Rows of the program, and the least and the most that each may come to."""
    from scipy.sparse import csr_array, vstack

    a, d = len(catalogue.cost), len(need)
    first, feature, gain = catalogue.links
    gains: Any = csr_array((gain.astype(float), feature, first), shape=(a, d)).T.tocsr()
    lacking = np.flatnonzero(need > 0)
    blocks, least, most = [gains[lacking]], [need[lacking]], [np.full(len(lacking), np.inf)]
    requires, _, excludes = catalogue.rules
    for (who, whom), other, low, high in (
        (_pairs(requires), -1.0, -np.inf, 0.0),
        (_pairs(excludes), 1.0, -np.inf, 1.0),
    ):
        if len(who):
            row = np.arange(len(who))
            values = np.concatenate([np.ones(len(who)), np.full(len(who), other)])
            place = (np.concatenate([row, row]), np.concatenate([who, whom]))
            blocks.append(csr_array((values, place), shape=(len(who), a)))
            least.append(np.full(len(who), low))
            most.append(np.full(len(who), high))
    rows = vstack(blocks, format="csr")
    program = rows, np.concatenate(least).astype(float), np.concatenate(most)
    if unit_rules.most_actions < a:
        program = _at_most(program, np.ones(a), float(unit_rules.most_actions))
    if unit_rules.budget < NOTHING_LEFT:
        program = _at_most(program, catalogue.cost, unit_rules.budget + 0.5)
    return program


def _pairs(links: Links) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of all entries."""
    first, other = links
    return np.repeat(np.arange(len(first) - 1), np.diff(first)), other


def _at_most(program: Program, row: np.ndarray, most: float) -> Program:
    """The program with a further row."""
    from scipy.sparse import csr_array, vstack

    rows, low, high = program
    more = csr_array(row[None].astype(float))
    return vstack([rows, more], format="csr"), np.append(low, -np.inf), np.append(high, most)


def _solved(catalogue: ActionLinks, unit_rules: OwnRules, program: Program, most_nodes: int) -> Any:
    """Answer of HiGHS."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    constraint: Any = LinearConstraint  # SciPy's stubs know scalar sides only
    limits: Any = Bounds
    return milp(
        catalogue.cost.astype(float),
        integrality=np.ones(len(catalogue.cost)),
        bounds=limits(unit_rules.required.astype(float), (~unit_rules.shut).astype(float)),
        constraints=constraint(*program) if program[0].shape[0] else None,
        options={"mip_rel_gap": 0.0, "node_limit": most_nodes},
    )


def _lean_members(
    x: np.ndarray | None, need: np.ndarray, catalogue: ActionLinks, unit_rules: OwnRules
) -> tuple[int, ...] | None:
    """The actions of a set without idle ones; None where there is none, or it is not enough."""
    if x is None:
        return None
    chosen = (x > 0.5) & ~unit_rules.shut | unit_rules.required
    first, feature, gain = catalogue.links
    action = np.repeat(np.arange(len(chosen)), np.diff(first))
    reach = np.bincount(
        feature[chosen[action]], weights=gain[chosen[action]], minlength=len(need)
    ).astype(np.int64)
    if (reach < need).any():
        return None
    first_dependent, dependent = catalogue.rules[1]
    for i in np.flatnonzero(chosen)[::-1]:
        mine = slice(first[i], first[i + 1])
        on_it = dependent[first_dependent[i] : first_dependent[i + 1]]
        idle = (reach[feature[mine]] - gain[mine] >= need[feature[mine]]).all()
        if idle and not unit_rules.required[i] and not chosen[on_it].any():
            chosen[i] = False
            reach[feature[mine]] -= gain[mine]
    return tuple(int(i) for i in np.flatnonzero(chosen))


FIRST_NODES, PROOF_NODES = 5_000, 25_000
COUNTED = 100  # the max_nodes-th part counts sets of equal cost
PROGRAM, ACTIONS = 200, 500  # branches of the tree for one of HiGHS, where so many actions are left
LimitArrays = tuple[np.ndarray, ...]  # required and shut (n, a), most actions and budget (n,)
Answer = tuple[np.ndarray, ...]


def solve_proven(
    need: Int[np.ndarray, "n d"],
    catalogue: ActionLinks,
    limits: LimitArrays,
    keep: int,
    max_nodes: int,
) -> Answer:
    """The `keep` cheapest lean sets of n units: arguments and answer of `solve_choices`.

    A branch of HiGHS is counted as `PROGRAM` of the tree's, or more where many actions are left.
    """
    first = min(max_nodes, FIRST_NODES)
    answer = _tree(need, catalogue, limits, keep, first)
    if max_nodes <= FIRST_NODES:
        return answer
    _, _, optima, unsearched, nodes = answer
    left = np.flatnonzero((unsearched < NOTHING_LEFT) & (optima < MOST_TIES) | (nodes > 2 * first))
    if not len(left):
        return answer
    rules = len(catalogue.rules[0][1]) + len(catalogue.rules[2][1]) > 0
    unrestricted = (
        ~limits[0].any(axis=1) & (limits[2] >= len(catalogue.cost)) & (keep == 1) & (not rules)
    )
    unrestricted &= answer[0][:, 0] >= 0
    for rows, further in (
        (left[unrestricted[left]], _solve_single),
        (left[~unrestricted[left]], _several),
    ):
        if len(rows):
            mine = tuple(part[rows] for part in limits)
            some = tuple(part[rows] for part in answer)
            answer = _written(
                answer, rows, further(need[rows], catalogue, mine, keep, max_nodes, first, some)
            )
    return answer


def _longer(catalogue: ActionLinks, few: int, max_nodes: int) -> int:
    """Branches of the second search; all of them where a program can prove little."""
    return few if catalogue.cost.sum() <= RESOLVES_STEPS else max_nodes


def _tree(
    need: np.ndarray, catalogue: ActionLinks, limits: LimitArrays, keep: int, most: int, start=None
) -> Answer:
    start = np.zeros((0, need.shape[1])) if start is None else start
    return solve_choices(
        need,
        catalogue.cost,
        catalogue.links,
        catalogue.providers,
        catalogue.rules,
        limits,
        keep,
        most,
        start,
    )


def _solve_single(
    need: np.ndarray,
    catalogue: ActionLinks,
    limits: LimitArrays,
    keep: int,
    max_nodes: int,
    first: int,
    answer: Answer,
) -> Answer:
    """One set a unit, and no rules: proof, program, count."""
    open_ = np.flatnonzero((answer[4] > 2 * first) & (answer[3] < answer[0][:, 0]))
    if len(open_):
        mine = tuple(part[open_] for part in limits)
        price = prices_by_program(need[open_], catalogue, mine[1])
        most = _longer(catalogue, min(max_nodes, PROOF_NODES), max_nodes)
        some = _tree(need[open_], catalogue, mine, 1, most, price)
        answer = _written(answer, open_, _cheaper(_rows(answer, open_), some))
    for k, u in enumerate(open_):
        if answer[3][u] >= answer[0][u, 0]:
            continue
        mine = tuple(part[u : u + 1] for part in limits)
        best = int(answer[0][u, 0])
        shut, bound = too_dear(need[u], mine[1][0], catalogue.cost, catalogue.links, best, price[k])
        answer[3][u] = max(answer[3][u], min(bound, best))
        if answer[3][u] == best:
            continue
        mine = (mine[0], shut[None], *mine[2:])
        program = _by_program(need[u], catalogue, mine, best, 1, max_nodes)
        answer = _written(
            answer, np.array([u]), _with_program(_rows(answer, [u]), catalogue, program, all_=False)
        )
    tied = np.flatnonzero((answer[3] == answer[0][:, 0]) & (answer[2] < MOST_TIES))
    if len(tied):
        mine = (*(part[tied] for part in limits[:3]), answer[0][tied, 0])
        some = _tree(need[tied], catalogue, mine, 1, max(max_nodes // COUNTED, 1))
        answer = _written(answer, tied, _counted(_rows(answer, tied), some))
    return answer


def _several(
    need: np.ndarray,
    catalogue: ActionLinks,
    limits: LimitArrays,
    keep: int,
    max_nodes: int,
    first: int,
    answer: Answer,
) -> Answer:
    """Several sets a unit, or rules: a longer search, then programs."""
    most = _longer(catalogue, max(max_nodes // COUNTED, first), max_nodes)
    if most > first:
        answer = _tree(need, catalogue, limits, keep, most)
    for u in np.flatnonzero(answer[4] > 2 * most):
        mine = tuple(part[u : u + 1] for part in limits)
        program = _by_program(need[u], catalogue, mine, None, keep, max_nodes)
        answer = _written(
            answer, np.array([u]), _with_program(_rows(answer, [u]), catalogue, program, all_=True)
        )
    return answer


def _by_program(
    need: np.ndarray,
    catalogue: ActionLinks,
    limits: LimitArrays,
    below: int | None,
    keep: int,
    max_nodes: int,
) -> ProgramAnswer:
    rules = OwnRules(limits[0][0], limits[1][0], int(limits[2][0]), int(limits[3][0]))
    most = max_nodes // PROGRAM * ACTIONS // max(int((~rules.shut).sum()), ACTIONS)
    return cheapest_by_program(
        need, catalogue, rules, below=below, keep=keep, most_nodes=max(most, 1)
    )


def _rows(answer: Answer, rows) -> Answer:
    return tuple(part[rows] for part in answer)


def _written(answer: Answer, rows: np.ndarray, other: Answer) -> Answer:
    """The answer with these rows of another, which has as many sets."""
    costs, sets, optima, unsearched, nodes = answer
    width = other[1].shape[2]
    if width > sets.shape[2]:
        sets = np.pad(sets, ((0, 0), (0, 0), (0, width - sets.shape[2])), constant_values=-1)
    sets[rows] = -1
    sets[rows, :, :width] = other[1]
    costs[rows], optima[rows], unsearched[rows], nodes[rows] = other[0], *other[2:]
    return costs, sets, optima, unsearched, nodes


def _cheaper(first: Answer, other: Answer) -> Answer:
    """Of each unit the cheaper set, the first where they cost the same, and the higher bound."""
    width = max(first[1].shape[2], other[1].shape[2])
    sets, new = _wide(first[1], width), _wide(other[1], width)
    better = (other[0][:, 0] >= 0) & ((first[0][:, 0] < 0) | (other[0][:, 0] < first[0][:, 0]))
    costs = np.where(better[:, None], other[0], first[0])
    sets = np.where(better[:, None, None], new, sets)
    optima = np.where(better, other[2], first[2])
    bound = np.maximum(first[3], other[3])
    ended = (costs[:, 0] >= 0) & (bound > costs[:, 0])  # nothing cheaper is left: ties may be
    return costs, sets, optima, np.where(ended, costs[:, 0], bound), first[4] + other[4]


def _wide(sets: np.ndarray, width: int) -> np.ndarray:
    return np.pad(sets, ((0, 0), (0, 0), (0, width - sets.shape[2])), constant_values=-1)


def _with_program(
    answer: Answer, catalogue: ActionLinks, program: ProgramAnswer, *, all_: bool
) -> Answer:
    """The answer of one unit with the program's result; `all_`: it sought sets of any cost."""
    tree_costs, sets, optima, unsearched, nodes = answer
    keep = tree_costs.shape[1]
    of_tree = [
        tuple(s[s >= 0].tolist()) for c, s in zip(tree_costs[0], sets[0], strict=True) if c >= 0
    ]
    costs = {s: int(catalogue.cost[list(s)].sum()) for s in (*of_tree, *program.sets)}
    ordered = sorted(costs, key=lambda s: (costs[s], len(s), s))[:keep]
    cost = np.full((1, keep), -1, dtype=np.int64)
    width = max(sets.shape[2], *(len(s) for s in ordered)) if ordered else sets.shape[2]
    joined_sets = np.full((1, keep, width), -1, dtype=np.int32)
    for k, some in enumerate(ordered):
        cost[0, k], joined_sets[0, k, : len(some)] = costs[some], some
    least = int(cost[0, 0])
    counted = int(optima[0]) if least == tree_costs[0, 0] else 0
    count = max(counted, sum(costs[s] == least for s in costs)) if ordered else 0
    bound = max(int(unsearched[0]), program.bound)
    if least >= 0 and not (program.ended and all_):
        bound = min(bound, least)
    return cost, joined_sets, np.array([count]), np.array([bound]), nodes


def _counted(proven: Answer, other: Answer) -> Answer:
    """A proven answer, with the count and the first set of a search for sets of its cost."""
    costs, sets, optima, unsearched, nodes = proven
    width = max(sets.shape[2], other[1].shape[2])
    same = other[0][:, 0] == costs[:, 0]
    joined_sets = np.where(same[:, None, None], _wide(other[1], width), _wide(sets, width))
    count = np.where(same, np.maximum(other[2], optima), optima)
    left = np.where(same, other[3], unsearched)
    return (
        costs,
        joined_sets,
        count,
        np.where(left < costs[:, 0], costs[:, 0], left),
        nodes + other[4],
    )
