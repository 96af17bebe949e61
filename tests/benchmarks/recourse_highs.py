"""Labels of 200 units of each dimension against HiGHS without a gap, optima counted by cuts.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.recourse_highs`; six minutes of
CPU. A fifth of the units have ties. Units are solved by the listed sets and by the search alone.
"""

import time

import numpy as np
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers
from frugal.studies.recourse.worlds import sample_world, variant_design

from tests.studies.recourse.cover_integer_program import solve_programs

UNITS, TIED, MAX_NODES = 200, 40, 10**7


def _compare(variant: str) -> None:
    """Print how many of the sampled units differ in cost or number of optima."""
    design = variant_design(
        variant, draws=100_000, feature_probability=0.68, actions=100, action_probability=0.5
    )
    world = sample_world(design, np.random.default_rng(77))
    listed = cheapest_covers(world.features, world.group, world.instance, max_nodes=MAX_NODES)
    rng = np.random.default_rng(3)
    tied = rng.permutation(np.flatnonzero(~listed.unique))[:TIED]
    rows = np.concatenate([tied, rng.permutation(len(world.features))[: UNITS - TIED]])
    features, group = world.features[rows], world.group[rows]
    searched = cheapest_covers(features, group, world.instance, max_nodes=MAX_NODES)
    start = time.process_time()
    programs = solve_programs(features, group, world.instance, most_optima=20)
    seconds = time.process_time() - start
    for name, cost, optima in (
        ("listed", listed.cost[rows], listed.optima[rows]),
        ("searched", searched.cost, searched.optima),
    ):
        print(
            f"{variant:8} {name:8} {len(rows)} units, HiGHS {seconds:.0f} s: "
            f"{int((cost != programs.cost).sum())} costs differ, "
            f"{int((optima != programs.optima).sum())} numbers of optima differ"
        )


if __name__ == "__main__":
    for variant in ("dim_20", "dim_50", "dim_100"):
        _compare(variant)
