"""CPU time of batched rollouts against one unit at a time, side by side in one run.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.rollouts`. The loop is measured
on fewer units and scaled; both sides draw from the same uniforms and must acquire the same panels.
"""

import time

import numpy as np
from frugal.acquire.policies.random import RandomPolicy
from frugal.acquire.rollouts import roll_out
from frugal.acquire.set_probability import true_afa_propensity
from frugal.core.episodes import Policy

from tests.oracles.acquisition_worlds import world_of
from tests.oracles.histories import all_sets
from tests.oracles.policies import ThresholdPolicy, law_of_one

UNITS, COLUMNS, PANELS, LOOPED = 100_000, 23, 8, 500


def _cpu_seconds(work):
    """Result of the work and the CPU seconds that it took."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _one_unit(policy, x, world, uniforms):
    """Panels that a policy acquires for one unit, asked state by state. (a,)"""
    a = len(world.provides)
    acquired = np.zeros(a, dtype=bool)
    available = np.ones((1, a), dtype=bool)
    for uniform in uniforms:
        seen = np.where(world.free_columns | world.provides[acquired].any(axis=0), x, np.nan)
        law = law_of_one(policy, seen[None], acquired[None], available)[0]
        action = int(np.searchsorted(np.cumsum(law), uniform, side="right"))
        if action >= a or acquired.all():
            break
        acquired[action] = True
    return acquired


def _compare(name: str, policy: Policy, rng: np.random.Generator) -> None:
    """Print CPU seconds of both sides and their ratio for one policy."""
    values = rng.normal(size=(UNITS, COLUMNS))
    provides = np.arange(COLUMNS) % (PANELS + 1) == np.arange(PANELS)[:, None]
    world = world_of(values, provides, ~provides.any(axis=0))
    uniforms = rng.random((UNITS, PANELS + 1))
    batched, batched_s = _cpu_seconds(lambda: roll_out(policy, world, uniforms=uniforms))
    looped, looped_s = _cpu_seconds(
        lambda: [_one_unit(policy, values[i], world, uniforms[i]) for i in range(LOOPED)]
    )
    assert (np.array(looped) == batched.acquired[0, :LOOPED]).all()
    scaled = looped_s * UNITS / LOOPED
    print(
        f"{name}: {UNITS:,} units × {COLUMNS} columns × {PANELS} panels: batched {batched_s:.2f} "
        f"CPU s, unit by unit {scaled:.1f} CPU s (scaled from {LOOPED} units), "
        f"ratio {scaled / batched_s:.0f}"
    )


def _propensity(name: str, policy: Policy, rng: np.random.Generator, n: int, a: int) -> None:
    """Print CPU seconds of the true AFA propensity over all 2ᵃ patterns."""
    patterns = all_sets(a)
    target = rng.random((n, a)) < 0.5
    law = np.full((n, 2**a), 2.0**-a)
    nothing = np.zeros(a, dtype=bool)
    world = world_of(rng.normal(size=(n, a)), np.eye(a, dtype=bool), nothing)
    _, cpu_s = _cpu_seconds(
        lambda: true_afa_propensity(
            policy, world, target=target, patterns=patterns, pattern_probability=law, s=nothing
        )
    )
    print(f"{name}: true AFA propensity, {n:,} units, {a} panels: {cpu_s:.2f} CPU s")


def main() -> None:
    """Print all comparisons."""
    rng = np.random.default_rng(0)
    _compare("random 10 %", RandomPolicy(0.1), rng)
    _compare("random 90 %", RandomPolicy(0.9), rng)
    _compare("reads values", ThresholdPolicy(0.0, 0.5, 0.9), rng)
    _propensity("random 50 %", RandomPolicy(0.5), rng, n=10_000, a=9)
    _propensity("random 50 %", RandomPolicy(0.5), rng, n=100_000, a=9)
    _propensity("reads values", ThresholdPolicy(0.0, 0.5, 0.9), rng, n=1_000, a=9)


if __name__ == "__main__":
    main()
