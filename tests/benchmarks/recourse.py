"""CPU time of labelling every unit against one integer program per unit, side by side in one run.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.recourse`. The program is built
and solved with CVXPY and HiGHS, as the paper does it, where CVXPY can be imported (it is no
dependency of the project), and with SciPy's HiGHS else. Compile time is apart: each search runs
once on a few units first. The looped side has 20 units, and its costs must agree.
"""

import importlib.util
import time

import numpy as np
from frugal.studies.recourse.instance import CoverInstance
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers
from frugal.studies.recourse.worlds import sample_world, variant_design

from tests.studies.recourse.cover_integer_program import solve_programs
from tests.studies.recourse.cover_state_program import state_of, state_table

LOOPED, MAX_NODES = 20, 10**7
GOAL_SECONDS, GOAL_RATIO = {"dim_20": 1.0, "dim_50": 3.0, "dim_100": 15.0}, 5_000


def _cpu_seconds(work):
    """Result of the work and the CPU seconds that it took."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _by_cvxpy(features: np.ndarray, instance: CoverInstance) -> np.ndarray:
    """Cheapest cost of each unit, one CVXPY problem each, HiGHS at its own settings. (n,)"""
    import cvxpy  # pyright: ignore[reportMissingImports]

    costs = []
    for missing in instance.deficit(features):
        take = cvxpy.Variable(len(instance.cost), boolean=True)
        rows = instance.gain.T[missing > 0]
        problem = cvxpy.Problem(cvxpy.Minimize(instance.cost @ take), [rows @ take >= 1])
        problem.solve(solver=cvxpy.HIGHS)
        costs.append(instance.cost[take.value > 0.5].sum())
    return np.array(costs)


def _by_scipy(features: np.ndarray, instance: CoverInstance) -> np.ndarray:
    """Cheapest cost of each unit by SciPy's HiGHS without a gap, one program each. (n,)"""
    group = np.zeros(len(features), dtype=np.int64)
    return solve_programs(features, group, instance, most_optima=1).cost


def _compare(variant: str, seed: int) -> None:
    """Print both sides for one variant, and the dynamic program where it fits."""
    design = variant_design(
        variant, draws=100_000, feature_probability=0.68, actions=100, action_probability=0.5
    )
    world = sample_world(design, np.random.default_rng(seed))
    n = len(world.features)

    def label(rows):
        return cheapest_covers(
            world.features[rows], world.group[rows], world.instance, max_nodes=MAX_NODES
        )

    label(slice(0, 8))
    covers, labelled_s = _cpu_seconds(lambda: label(slice(None)))
    cvxpy = importlib.util.find_spec("cvxpy") is not None
    solve, name = (_by_cvxpy, "CVXPY + HiGHS") if cvxpy else (_by_scipy, "SciPy's HiGHS")
    solve(world.features[:1], world.instance)
    costs, looped_s = _cpu_seconds(lambda: solve(world.features[:LOOPED], world.instance))
    ours, theirs = labelled_s / n, looped_s / LOOPED
    print(
        f"{variant:8} {n:6} units labelled in {labelled_s:6.2f} s "
        f"(goal {GOAL_SECONDS[variant]:4}), "
        f"{ours * 1e6:6.1f} µs each, proven {covers.proven.mean():.0%}; {name} "
        f"{theirs * 1e3:7.1f} ms each: {theirs / ours:8,.0f}× (goal {GOAL_RATIO:,}×), "
        f"{int((np.abs(costs - covers.cost[:LOOPED]) > 1e-6).sum())} of {LOOPED} costs differ"
    )
    if variant == "dim_20":
        state_table(world.instance, 0)
        table, table_s = _cpu_seconds(lambda: state_table(world.instance, 0))
        state = state_of(world.instance.deficit(world.features))
        wrong = (table.cost[state] != covers.cost) | (table.sets[state] != covers.optima)
        print(
            f"{variant:8} all {len(table.cost):,} states in {table_s:.2f} s: "
            f"{int(wrong.sum())} of {n} units differ in cost or number of optima"
        )


if __name__ == "__main__":
    for variant in GOAL_SECONDS:
        _compare(variant, seed=20230501)
