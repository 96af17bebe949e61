"""Cheapest sets of one unit by HiGHS, where the tree does not prove them.

One mixed-integer program for each set, each set cut off before the next. HiGHS computes in double
precision: sets are checked in whole numbers here, and bounds are rounded up to the next whole step
of cost only where they miss it by less than 10⁻⁶, or 10⁻⁹ of it. That no set is left is taken from
HiGHS only where it can tell one step of cost from none. Knows no catalogue and no batch of units.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.cover.solvers.bitsets import NOTHING_LEFT
from frugal.cover.solvers.links import ActionLinks, Links

_SLACK, _RELATIVE = 1e-6, 1e-9  # of a bound, in steps of cost
TELLS_STEPS = 1e9  # sum of costs in steps up to which a row of costs tells one step from none
Program = tuple[Any, np.ndarray, np.ndarray]  # sparse rows; the least and the most that each may be
_OPTIMAL, _INFEASIBLE = 0, 2  # status of scipy.optimize.milp


@dataclass(frozen=True)
class OwnRules:
    """What holds for one unit: see `lagrangian_tree.solve_choices`."""

    required: Bool[np.ndarray, " a"]
    shut: Bool[np.ndarray, " a"]
    most_actions: int
    budget: int


@dataclass(frozen=True, eq=False)
class ProgramAnswer:
    """What the programs say of a unit.

    Attributes:
        sets: cheapest first; each as its actions in ascending order.
        bound: what the cheapest costs at least; `NOTHING_LEFT` if there is none.
        ended: no other set was there to be found.
    """

    sets: list[tuple[int, ...]]
    bound: int
    ended: bool


def cheapest_by_program(
    need: Int[np.ndarray, " d"],
    known: ActionLinks,
    own: OwnRules,
    *,
    below: int | None,
    keep: int,
    most_nodes: int,
) -> ProgramAnswer:
    """The `keep` cheapest lean sets of a unit.

    Args:
        need: what each feature lacks. (d,)
        known: the catalogue.
        own: what the unit may and must take.
        below: only sets that cost less are sought; None for all.
        keep: sets at most.
        most_nodes: of HiGHS, for each set.
    """
    program, tells = _program(need, known, own), known.cost.sum() <= TELLS_STEPS
    if below is not None and tells:
        program = _at_most(program, known.cost, below - 0.5)
    found: list[tuple[int, ...]] = []
    lowest = int(NOTHING_LEFT)
    while len(found) < keep:
        answer = _solved(known, own, program, most_nodes)
        if answer.status == _INFEASIBLE:
            proven = bool(tells or own.budget >= NOTHING_LEFT)
            return ProgramAnswer(found, lowest if proven or found else 0, proven)
        bound = _whole(answer.mip_dual_bound)
        lowest = lowest if found else bound
        members = _lean_members(answer.x, need, known, own)
        if members is None or known.cost[list(members)].sum() > own.budget:
            break
        found.append(members)
        if answer.status != _OPTIMAL or int(known.cost[list(members)].sum()) > bound:
            break
        chosen = np.zeros(len(known.cost))
        chosen[list(members)] = 1.0
        program = _at_most(program, chosen, len(members) - 1.0)
    return ProgramAnswer(found, lowest, False)


def prices_by_program(
    need: Int[np.ndarray, "n d"], known: ActionLinks, shut: Bool[np.ndarray, "n a"]
) -> Float[np.ndarray, "n d"]:
    """Prices of features by the linear program of each unit; zeros where it has no answer."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    a, d = len(known.cost), need.shape[1]
    first, feature, gain = known.links
    prices = np.zeros((len(need), d))
    for u, lack in enumerate(need):
        useful = np.minimum(gain, lack[feature]).astype(float)
        gains: Any = csr_array((useful, feature, first), shape=(a, d)).T.tocsr()
        lacking = np.flatnonzero(lack > 0)
        answer = linprog(
            known.cost.astype(float),
            A_ub=-gains[lacking],
            b_ub=-lack[lacking].astype(float),
            bounds=np.stack([np.zeros(a), (~shut[u]).astype(float)], axis=1),
            method="highs",
        )
        if answer.status == _OPTIMAL:
            prices[u, lacking] = np.maximum(-answer.ineqlin.marginals, 0.0)
    return prices


def _whole(bound: float | None) -> int:
    """The least whole number of steps that is not below a bound."""
    if bound is None or not np.isfinite(bound):
        return 0
    return max(int(np.ceil(bound - max(_SLACK, _RELATIVE * abs(bound)))), 0)


def _program(need: np.ndarray, known: ActionLinks, own: OwnRules) -> Program:
    """Rows of the program, and the least and the most that each may come to."""
    from scipy.sparse import csr_array, vstack

    a, d = len(known.cost), len(need)
    first, feature, gain = known.links
    gains: Any = csr_array((gain.astype(float), feature, first), shape=(a, d)).T.tocsr()
    lacking = np.flatnonzero(need > 0)
    blocks, least, most = [gains[lacking]], [need[lacking]], [np.full(len(lacking), np.inf)]
    requires, _, excludes = known.rules
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
    if own.most_actions < a:
        program = _at_most(program, np.ones(a), float(own.most_actions))
    if own.budget < NOTHING_LEFT:
        program = _at_most(program, known.cost, own.budget + 0.5)
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


def _solved(known: ActionLinks, own: OwnRules, program: Program, most_nodes: int) -> Any:
    """What HiGHS answers."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    constraint: Any = LinearConstraint  # SciPy's stubs know scalar sides only
    limits: Any = Bounds
    return milp(
        known.cost.astype(float),
        integrality=np.ones(len(known.cost)),
        bounds=limits(own.required.astype(float), (~own.shut).astype(float)),
        constraints=constraint(*program) if program[0].shape[0] else None,
        options={"mip_rel_gap": 0.0, "node_limit": most_nodes},
    )


def _lean_members(
    x: np.ndarray | None, need: np.ndarray, known: ActionLinks, own: OwnRules
) -> tuple[int, ...] | None:
    """The actions of a set without idle ones; None where there is none, or it is not enough."""
    if x is None:
        return None
    chosen = (x > 0.5) & ~own.shut | own.required
    first, feature, gain = known.links
    action = np.repeat(np.arange(len(chosen)), np.diff(first))
    reach = np.bincount(
        feature[chosen[action]], weights=gain[chosen[action]], minlength=len(need)
    ).astype(np.int64)
    if (reach < need).any():
        return None
    first_dependent, dependent = known.rules[1]
    for i in np.flatnonzero(chosen)[::-1]:
        mine = slice(first[i], first[i + 1])
        on_it = dependent[first_dependent[i] : first_dependent[i + 1]]
        idle = (reach[feature[mine]] - gain[mine] >= need[feature[mine]]).all()
        if idle and not own.required[i] and not chosen[on_it].any():
            chosen[i] = False
            reach[feature[mine]] -= gain[mine]
    return tuple(int(i) for i in np.flatnonzero(chosen))
