"""The recourse study's integer program, solved by HiGHS: an independent check of the labels.

One program per unit and per optimum, hence for samples only. Counts optima by cutting each one off.
Knows neither the branch and bound nor the dynamic program.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from frugal.core.errors import NoSupportError
from frugal.studies.recourse.instance import COST_DECIMALS, CoverInstance
from jaxtyping import Bool, Float, Int
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, vstack

_OPTIMAL, _INFEASIBLE = 0, 2  # status of scipy.optimize.milp


@dataclass(frozen=True, eq=False)
class ProgramAnswers:
    """What the integer program says of n units.

    Attributes:
        chosen: the first optimum found, without idle actions. (n, a)
        cost: of the cheapest set; ∞ if the program is infeasible. (n,)
        optima: number of irredundant optima, counting stops at the limit. (n,)
    """

    chosen: Bool[np.ndarray, "n a"]
    cost: Float[np.ndarray, " n"]
    optima: Int[np.ndarray, " n"]


def solve_programs(
    features: Bool[np.ndarray, "n d"] | Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    instance: CoverInstance,
    *,
    most_optima: int,
) -> ProgramAnswers:
    """Cheapest sets by mixed-integer programming with no optimality gap.     [recourse, eq. 1]

    After each optimum S the cut Σ_{i ∈ S} aᵢ ≤ |S| − 1 forbids S and all sets that contain it; the
    program is solved again until its cost rises or `most_optima` are counted.

    Raises:
        NoSupportError: HiGHS stops for another reason than optimality or infeasibility.
    """
    deficit = instance.deficit(features)
    n, a = len(deficit), len(instance.cost)
    chosen, optima = np.zeros((n, a), dtype=bool), np.zeros(n, dtype=np.int64)
    cost = np.full(n, np.inf)
    for u in range(n):  # a program holds one unit
        sets, units = _optima(deficit[u], instance, instance.access[group[u]], most_optima)
        optima[u] = len(sets)
        if sets:
            chosen[u], cost[u] = sets[0], units / 10**COST_DECIMALS
    return ProgramAnswers(chosen, cost, optima)


def _optima(
    deficit: Int[np.ndarray, " d"],
    instance: CoverInstance,
    allowed: Bool[np.ndarray, " a"],
    most_optima: int,
) -> tuple[list[np.ndarray], int]:
    """Irredundant optima of one unit, and their cost in units of 10⁻⁶."""
    rows: Any = csr_array(instance.gain.T[deficit > 0].astype(np.float64))
    lower, upper = deficit[deficit > 0].astype(np.float64), np.full((deficit > 0).sum(), np.inf)
    scale = math.gcd(*(int(c) for c in instance.cost_units)) or 1
    objective = instance.cost_units / scale  # whole numbers: one apart is far above tolerances
    found: list[np.ndarray] = []
    cheapest = None
    while len(found) < most_optima:
        answer = _solve(objective, allowed, rows, (lower, upper))
        if answer.status == _INFEASIBLE:
            break
        if answer.status != _OPTIMAL:
            raise NoSupportError(f"HiGHS stopped without an answer: {answer.message}")
        chosen = _without_idle(answer.x > 0.5, deficit, instance)
        units = int(instance.cost_units[chosen].sum())
        if cheapest is not None and units > cheapest:
            break
        cheapest = units
        found.append(chosen)
        if not chosen.any():  # nothing needed; every other set contains this one
            break
        rows = vstack([rows, csr_array(chosen[None].astype(np.float64))], format="csr")
        lower = np.append(lower, -np.inf)
        upper = np.append(upper, chosen.sum() - 1.0)
    return found, cheapest or 0


def _solve(objective: np.ndarray, allowed: np.ndarray, rows: Any, sides: Any) -> Any:
    """One run of HiGHS: cheapest yes/no actions within the sides of the rows."""
    constraint: Any = LinearConstraint  # SciPy's stubs know scalar sides only
    bounds: Any = Bounds
    return milp(
        objective,
        integrality=np.ones(len(objective)),
        bounds=bounds(0, allowed.astype(np.float64)),
        constraints=constraint(rows, *sides) if rows.shape[0] else None,
        options={"mip_rel_gap": 0.0},
    )


def _without_idle(
    chosen: Bool[np.ndarray, " a"], deficit: Int[np.ndarray, " d"], instance: CoverInstance
) -> Bool[np.ndarray, " a"]:
    """The set without actions that it does not need, dearest first."""
    kept = chosen.copy()
    for i in sorted(np.flatnonzero(chosen), key=lambda i: -instance.cost_units[i]):
        kept[i] = False
        if (kept.astype(np.int64) @ instance.gain < deficit).any():
            kept[i] = True
    return kept
