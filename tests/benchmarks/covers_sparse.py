"""Sparse catalogues: every unit proven, side by side with HiGHS called on each unit.

    OMP_NUM_THREADS=1 python -m tests.benchmarks.covers_sparse [equal | fuzz N]

Without a word: units' cheapest sets beside HiGHS on 100 units of each catalogue (two minutes), and
40,000 actions. `equal`: the same where every action costs the same (an hour; of the largest
catalogue 20 units), HiGHS stopped after so many branches as it has inside. `fuzz N`: N random
catalogues with every kind of rule, against enumeration, HiGHS and, where the package ortools is
there, CP-SAT; prints the number of disagreements.
"""

import importlib.util
import resource
import sys
import time

import numpy as np
from frugal.studies.recourse.choices import cheapest_choices
from frugal.studies.recourse.instance import CoverInstance
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers
from frugal.studies.recourse.solvers.proofs import PROGRAM
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array
from tqdm import tqdm

from tests.studies.recourse.cover_rules import (
    best_by_cp_sat,
    best_by_highs,
    granted,
    lean_sets,
    random_case,
)

SHAPES = ((500, 200, 4, 4), (300, 100, 3, 5), (200, 50, 3, 3))
UNITS, MAX_NODES, PLENTY = 100, 10**6, 10**6


def catalogue(rng: np.random.Generator, shape, dearest: int) -> CoverInstance:
    """Actions that raise a few features each, at whole prices from 1 to `dearest`."""
    a, d, least, most = shape
    provides = np.zeros((a, d), dtype=bool)
    for i in range(a):
        provides[i, rng.choice(d, int(rng.integers(least, most + 1)), replace=False)] = True
    for j in np.flatnonzero(~provides.any(axis=0)):
        provides[rng.integers(a), j] = True
    cost = rng.integers(1, dearest + 1, a).astype(float)
    return CoverInstance(cost, provides, np.ones(d, dtype=np.int64), np.ones((1, a), dtype=bool))


def units(rng: np.random.Generator, d: int) -> np.ndarray:
    """States that lack .3 to 1 of the features."""
    states = np.ones((UNITS, d), dtype=bool)
    for u, share in enumerate(rng.uniform(0.3, 1, UNITS)):
        states[u, rng.choice(d, int(share * d), replace=False)] = False
    return states


def by_highs(states: np.ndarray, known: CoverInstance) -> tuple[np.ndarray, np.ndarray]:
    """Costs by HiGHS without a gap, one program a unit, and whether they are proven."""
    cost, proven = np.zeros(len(states)), np.zeros(len(states), dtype=bool)
    for u, state in enumerate(states):
        rows = LinearConstraint(csr_array(known.gain.T[~state].astype(float)), lb=1)
        whole = np.ones(len(known.cost))
        answer = milp(
            known.cost,
            constraints=rows,
            integrality=whole,
            bounds=Bounds(0, 1),
            options={"mip_rel_gap": 0, "node_limit": MAX_NODES // PROGRAM},
        )
        cost[u], proven[u] = round(answer.fun, 6), answer.status == 0
    return cost, proven


def compare(shape, dearest: int, count: int) -> None:
    """Print seconds of both, how many units are proven, and how many proven costs differ."""
    rng = np.random.default_rng(1)
    known = catalogue(rng, shape, dearest)
    states = units(rng, shape[1])[:count]
    group = np.zeros(count, dtype=np.int64)
    cheapest_covers(states[:1], group[:1], known, max_nodes=MAX_NODES)
    start = time.process_time()
    covers = cheapest_covers(states, group, known, max_nodes=MAX_NODES)
    ours = time.process_time() - start
    start = time.process_time()
    cost, proven = by_highs(states, known)
    highs = time.process_time() - start
    both = proven & covers.proven
    print(
        f"{shape[0]} actions x {shape[1]} features, prices 1-{dearest}: proven "
        f"{covers.proven.sum()} of {count}, ties settled {covers.settled.sum()}; {ours:.2f} s, "
        f"HiGHS {proven.sum()}, {highs:.2f} s, ratio {highs / ours:.1f}; "
        f"proven costs differ {int((covers.cost != cost)[both].sum())}, "
        f"dearer than HiGHS's {int((covers.cost > cost).sum())}",
        flush=True,
    )


def side_by_side(prices: tuple[int, ...]) -> None:
    """All catalogues at these prices."""
    for shape in SHAPES:
        for dearest in prices:
            compare(shape, dearest, 20 if dearest == 1 and shape[0] == 500 else UNITS)


def many_actions() -> None:
    """40,000 actions."""
    rng = np.random.default_rng(1)
    known, states = catalogue(rng, (40_000, 200, 4, 4), 100), units(rng, 200)[:20]
    start = time.process_time()
    covers = cheapest_covers(states, np.zeros(20, dtype=np.int64), known, max_nodes=MAX_NODES)
    spent = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"40,000 actions x 200: proven {covers.proven.sum()} of 20, {spent:.1f} s, {peak:.2f} GiB"
    )


def fuzz(count: int) -> None:
    """Print how many of so many catalogues disagree in cost, number of optima or k best sets."""
    with_cp_sat = importlib.util.find_spec("ortools") is not None
    wrong = {"enumeration": 0, "HiGHS": 0, "CP-SAT": 0}
    asked = dict.fromkeys(wrong, 0)
    for seed in tqdm(range(count), desc="catalogues", mininterval=5):
        rng = np.random.default_rng([7, seed])
        small = bool(seed % 2)
        case = random_case(
            rng,
            actions=int(rng.integers(1, 11)) if small else int(rng.integers(15, 60)),
            features=int(rng.integers(1, 7)) if small else int(rng.integers(8, 25)),
            units=2,
            density=float(rng.choice([0.08, 0.15, 0.3, 0.6])),
            free=small,
        )
        keep = int(rng.integers(1, 5))
        found = cheapest_choices(
            case.features, case.group, case.catalogue, case.rules, keep=keep, max_nodes=PLENTY
        )
        for u in range(2):
            free = granted(case, u)
            ours = [
                (round(float(c), 6), tuple(np.flatnonzero(found.chosen[u, k] & ~free).tolist()))
                for k, c in enumerate(found.cost[u])
                if np.isfinite(c)
            ]
            if small:
                lean = lean_sets(case, u)
                optima = sum(cost == lean[0][0] for cost, _ in lean)
                differs = ours != [(round(c, 6), s) for c, s in lean[:keep]]
                asked["enumeration"] += 1
                wrong["enumeration"] += differs or found.optima[u] != optima
                continue
            asked["HiGHS"] += 1
            wrong["HiGHS"] += [c for c, _ in ours] != [c for c, _ in best_by_highs(case, u, keep)]
            if with_cp_sat:
                asked["CP-SAT"] += 1
                wrong["CP-SAT"] += [c for c, _ in ours] != best_by_cp_sat(case, u, keep)
    for name, number in asked.items():
        print(f"{name}: {number} units, {wrong[name]} disagreements")


if __name__ == "__main__":
    if sys.argv[1:2] == ["fuzz"]:
        fuzz(int(sys.argv[2]))
    elif sys.argv[1:2] == ["equal"]:
        side_by_side((1,))
    else:
        side_by_side((100, 10))
        many_actions()
