"""CPU time and memory of treatment searches: the sweep, growth per action, and plain Python.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.treatment [largest k]`. Imports
and compilation are done before the clock starts. The release's times were measured on one core of
this kind of machine; the loop in plain Python (the tests' oracle) runs beside ours.
"""

import itertools
import resource
import sys
import time

import numpy as np
from frugal.contracts import Streams
from frugal.contracts.search import GIB, SearchSizeError, search_bytes
from frugal.environments.treatment_world import (
    build_world,
    draw_parameters,
    sample_searches,
    sample_units,
)
from frugal.evaluation.treatment_searches import SearchOptions
from frugal.evaluation.treatment_worlds import WorldOptions, compare_in_worlds
from frugal.models.outcome_counts import count_outcomes
from frugal.models.outcome_forest import ForestOptions
from frugal.models.outcome_tables import smoothed_table
from frugal.planners.constrained import plan_constrained, plan_greedy
from frugal.planners.naive import plan_naive
from frugal.planners.stopping import stopping_statistic

from tests.oracles import treatment_searches as oracle

UNITS, TESTED, MEMORY_GIB = 15_000, 3_000, 6.0
RELEASE_SWEEP_S = 110 + 16
RELEASE_LEARNING_S = {3: 0.06, 4: 0.46, 5: 3.8, 6: 25.6, 7: 174.0}
VALUE = np.arange(3.0)
PRICES = DELTAS = tuple(np.linspace(0, 1, 10).tolist())
OPTIONS = SearchOptions(
    planners=("cdp", "cg", "ndp"),
    outcome_models=("smoothed",),
    bounds=("upper",),
    deltas=DELTAS,
    trial_prices=PRICES,
    price_offset=1e-4,
    epsilon=0.0,
    alpha=1.0,
    stop_rule="<=",
    ties="improving",
    smoothing="release",
    pseudo_count=0.0,
    forest=ForestOptions("onehot", 100, None, 1),
    outcome_value=VALUE,
    memory_gib=MEMORY_GIB,
)


def _cpu_seconds(work):
    """Result of the work and the CPU seconds that it took."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _sweep(seed: int):
    """Generation of all units and searches, models, 30 policies and their play."""
    world = WorldOptions("release", 5, 3, 1, 3, 1.0, 0.1, 0.9, True)
    return compare_in_worlds(
        Streams(seed, "benchmark", {}),
        world_options=world,
        options=OPTIONS,
        n_train=[UNITS],
        n_test=TESTED,
        realisations=[0],
    )


def _records(k: int):
    rng = np.random.default_rng(k)
    parameters = draw_parameters(
        rng, n_actions=k, n_covariates=1, n_moderators=3, covariate_scale=1.0, form="release"
    )
    world = build_world(parameters, n_outcomes=3, form="release")
    context, outcome = sample_units(world, UNITS, rng)
    return sample_searches(world, context, outcome, rng, p_stop=0.1, p_stop_best=0.9)


def _smoothed(records):
    counts = count_outcomes(records)
    return smoothed_table(counts, outcome_value=VALUE, mode="release", memory_gib=MEMORY_GIB)


def _planned(table, bound="upper"):
    statistic = stopping_statistic(table, bound=bound, epsilon=0.0)
    return plan_constrained(
        table, statistic, delta=0.4, alpha=1.0, stop_rule="<=", ties="improving"
    )


def _plain_python(records):
    """The release's way at small k: dictionaries over (|Y| + 1)^k histories, one context."""
    k, counts = records.n_actions, {}
    for i in np.flatnonzero(records.context == 0):
        h = (-1,) * k
        for a, y in zip(records.action[i].tolist(), records.outcome[i].tolist(), strict=True):
            if a < 0:
                break
            counts.setdefault((h, a), [0, 0, 0])[y] += 1
            h = oracle.extended(h, a, y)
    law = oracle.smoothed_law(counts, 3, "release")

    def stop_reward(h):
        begun = max(h) >= 0
        return 0.0 if begun and oracle.bounds(law, h, [0, 1, 2], 0.0)[1] <= 0.4 else -np.inf

    return max(oracle.action_values(law, k, 3, stop_reward, 1.0)[(-1,) * k])


def _warm_up() -> None:
    """Compiles every kernel on a small instance."""
    _sweep(0)
    table = _smoothed(_records(3))
    _planned(table, "exact")
    plan_greedy(
        table,
        stopping_statistic(table, bound="lower", epsilon=0.0),
        delta=0.4,
        alpha=1.0,
        stop_rule="<=",
    )
    plan_naive(table, trial_price=0.1, offset=0.0, ties="lowest")


def main(largest: int) -> None:
    """Prints the sweep, the loop in plain Python, and growth per action."""
    _warm_up()
    times = [_cpu_seconds(lambda s=s: _sweep(s))[1] for s in range(1, 6)]
    print(
        f"sweep, 10 δ or λ × 3 planners, 5 actions, {UNITS:,} + {TESTED:,} units, generation "
        f"included: {min(times):.3f}–{max(times):.3f} CPU s (goal 0.25); release "
        f"{RELEASE_SWEEP_S} s, {RELEASE_SWEEP_S / max(times):,.0f} times ours"
    )
    for k in (3, 4):
        records = _records(k)
        ours, ours_s = _cpu_seconds(lambda r=records: _planned(_smoothed(r)).value[0, 0])
        plain, plain_s = _cpu_seconds(lambda r=records: _plain_python(r))
        assert abs(ours - plain) < 1e-12
        print(
            f"k = {k}: plain Python, one context {plain_s:.2f} CPU s, ours, both contexts "
            f"{ours_s:.4f} CPU s, ratio {plain_s / ours_s:.0f}; same value"
        )
    previous = None
    for k in itertools.chain(range(3, 11), range(12, largest + 1, 2)):
        records = _records(k)
        table, fit_s = _cpu_seconds(lambda r=records: _smoothed(r))
        _, plan_s = _cpu_seconds(lambda t=table: _planned(t))
        _, exact_s = _cpu_seconds(lambda t=table: _planned(t, "exact"))
        spent = fit_s + plan_s
        estimate = search_bytes(n_contexts=2, n_actions=k, n_outcomes=3) / GIB
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        growth = (
            ""
            if previous is None
            else f", ×{(spent / previous[1]) ** (1 / (k - previous[0])):.1f} an action"
        )
        release = RELEASE_LEARNING_S.get(k)
        beside = "" if release is None else f"; release {release} s, {release / spent:,.0f} times"
        print(
            f"k = {k:2d}: smoothing {fit_s:.4f}, upper bound and planning {plan_s:.4f}, with exact "
            f"statistic {exact_s:.4f} CPU s{growth}; tables {estimate:.3f} GiB, peak of process "
            f"{peak:.2f} GiB{beside}",
            flush=True,
        )
        previous = (k, spent)
        del table
    try:
        smoothed_table(
            count_outcomes(_records(17)), outcome_value=VALUE, mode="release", memory_gib=MEMORY_GIB
        )
    except SearchSizeError as refusal:
        print(f"k = 17: {refusal}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
