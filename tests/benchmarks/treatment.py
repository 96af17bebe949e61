"""CPU time and memory of treatment searches beside the same in vectorised NumPy; growth per action.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.treatment [largest k]`. Imports
and compilation are done before the clock starts. Both sides take turns in one run and must agree:
on the sweep's every efficacy and number of trials, else on every value of the policy. The baseline
(`tests.benchmarks.numpy_searches`) plans all thresholds of a planner at once; units and records
are drawn by the same functions on both sides.
"""

import itertools
import resource
import statistics
import sys
import time

import numpy as np
from frugal.core.streams import Streams
from frugal.studies.treatment.data.records import GIB, SearchSizeError, search_bytes
from frugal.studies.treatment.models.outcome_counts import count_outcomes
from frugal.studies.treatment.models.outcome_forest import ForestOptions
from frugal.studies.treatment.models.outcome_tables import smoothed_table
from frugal.studies.treatment.planning.constrained import plan_constrained, stopping_statistic
from frugal.studies.treatment.search.repeats import search_repeat, world_repeat
from frugal.studies.treatment.search.searches import ComparisonOptions
from frugal.studies.treatment.search.simulated_worlds import (
    WorldOptions,
    build_world,
    draw_parameters,
    realise_world,
    sample_searches,
    sample_test_units,
    sample_training,
    sample_units,
)

from tests.benchmarks import numpy_searches as plain

UNITS, TESTED, MEMORY_GIB, REPEATS = 15_000, 3_000, 6.0, 5
LARGEST_COMPARED = 10  # actions up to which NumPy runs beside: its sums take k times our tables
VALUE = np.arange(3.0)
PRICES = DELTAS = tuple(np.linspace(0, 1, 10).tolist())
OFFSET = 1e-4
WORLD = WorldOptions("release", 5, 3, 1, 3, 1.0, 0.1, 0.9, True)
OPTIONS = ComparisonOptions(
    planners=("cdp", "cg", "ndp"),
    outcome_models=("smoothed",),
    bounds=("upper",),
    deltas=DELTAS,
    trial_prices=PRICES,
    price_offset=OFFSET,
    epsilon=0.0,
    alpha=1.0,
    stop_rule="<=",
    ties="lowest",
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


def _in_turn(ours, theirs):
    """Results of both sides, and the median CPU seconds of each over repeats that alternate."""
    pairs = [(_cpu_seconds(ours), _cpu_seconds(theirs)) for _ in range(REPEATS)]
    seconds = [statistics.median(pair[side][1] for pair in pairs) for side in (0, 1)]
    return pairs[0][0][0], pairs[0][1][0], *seconds


def _sweep(seed: int) -> dict[tuple[str, float], tuple[float, float]]:
    """(Planner, threshold) → efficacy and mean trials, by the package: units to scores."""
    streams = Streams(seed, "benchmark", {})
    repeat = world_repeat(
        streams, 0, world_options=WORLD, options=OPTIONS, n_train=UNITS, n_test=TESTED
    )
    rows = search_repeat(
        streams, repeat, n_train=UNITS, options=OPTIONS, keep_policies=False
    ).scores
    scores = zip(rows["efficacy"], rows["mean_trials"], strict=True)
    return dict(zip(zip(rows["planner"], rows["threshold"], strict=True), scores, strict=True))


def _drawn(seed: int):
    """Records of the sweep's training units, and its test units."""
    streams = Streams(seed, "benchmark", {})
    world = realise_world(streams, 0, WORLD, memory_gib=MEMORY_GIB)
    records = sample_training(streams, 0, world, WORLD, UNITS)
    return records, sample_test_units(streams, 0, world, TESTED)


def _numpy_sweep(seed: int) -> dict[tuple[str, float], tuple[float, float]]:
    """The same in NumPy."""
    records, (context, outcome) = _drawn(seed)
    histories, deltas = plain.Histories(5, 3), np.array(DELTAS)
    table = plain.smoothed(records, histories)
    policies = {
        "cdp": plain.constrained(table, histories, deltas)[1],
        "cg": plain.greedy(table, histories, deltas, VALUE),
        "ndp": plain.naive(table, histories, np.array(PRICES) + OFFSET, VALUE),
    }
    scores = {}
    for planner, action in policies.items():
        trials, best = plain.play(action, histories, context, outcome)
        near, mean = (best >= outcome.max(axis=1)).mean(axis=1), trials.mean(axis=1)
        scores |= {(planner, at): (e, t) for at, e, t in zip(DELTAS, near, mean, strict=True)}
    return scores


def _records(k: int):
    rng = np.random.default_rng(k)
    parameters = draw_parameters(
        rng, n_actions=k, n_covariates=1, n_moderators=3, covariate_scale=1.0, form="release"
    )
    world = build_world(parameters, n_outcomes=3, form="release")
    context, outcome = sample_units(world, UNITS, rng)
    return sample_searches(world, context, outcome, rng, p_stop=0.1, p_stop_best=0.9)


def _learned(records, bound="upper"):
    """Value of the policy of δ = 0.4: counts, smoothing, bound, planning."""
    table = smoothed_table(
        count_outcomes(records), outcome_value=VALUE, mode="release", memory_gib=MEMORY_GIB
    )
    statistic = stopping_statistic(table, bound=bound, epsilon=0.0)
    return plan_constrained(
        table, statistic, delta=0.4, alpha=1.0, stop_rule="<=", ties="lowest"
    ).value


def _numpy_learned(records):
    """The same in NumPy."""
    histories = plain.Histories(records.n_actions, records.n_outcomes)
    table = plain.smoothed(records, histories)
    return plain.constrained(table, histories, np.array([0.4]))[0][0]


def _compare_sweeps() -> None:
    ours, theirs, ours_s, numpy_s = _in_turn(lambda: _sweep(1), lambda: _numpy_sweep(1))
    _, drawing_s = _cpu_seconds(lambda: _drawn(1))
    assert ours.keys() == theirs.keys()
    assert all(np.allclose(ours[key], theirs[key], atol=1e-12) for key in ours)
    print(
        f"sweep, 10 δ or λ × 3 planners, 5 actions, {UNITS:,} + {TESTED:,} units, generation "
        f"included on both sides, same scores: {ours_s:.3f} CPU s (goal 0.25); vectorised NumPy "
        f"{numpy_s:.3f} CPU s, {numpy_s / ours_s:.1f} times ours; drawing units and records, "
        f"the same code on both sides, is {drawing_s:.3f} of each",
        flush=True,
    )


def _compare_at(k: int) -> float:
    """Print one number of actions; CPU seconds of ours."""
    records = _records(k)
    _, exact_s = _cpu_seconds(lambda: _learned(records, "exact"))
    if k <= LARGEST_COMPARED:
        ours, theirs, spent, numpy_s = _in_turn(
            lambda: _learned(records), lambda: _numpy_learned(records)
        )
        assert np.abs(ours - theirs).max() < 1e-9
        beside = f"; vectorised NumPy {numpy_s:.4f}, {numpy_s / spent:.1f} times ours, same values"
    else:
        (_, spent), beside = _cpu_seconds(lambda: _learned(records)), ""
    estimate = search_bytes(n_contexts=2, n_actions=k, n_outcomes=3) / GIB
    print(
        f"k = {k:2d}: one policy from {UNITS:,} records {spent:.4f}, with exact statistic "
        f"{exact_s:.4f} CPU s{beside}; our tables {estimate:.3f} GiB",
        flush=True,
    )
    return spent


def main(largest: int) -> None:
    """Print the sweep, one policy at each number of actions, growth, and the refusal."""
    _sweep(0)  # compiles every kernel on a small instance
    _learned(_records(3), "exact")
    _compare_sweeps()
    spent = {k: _compare_at(k) for k in itertools.chain(range(3, 11), range(12, largest + 1, 2))}
    first, last = max(min(spent), 8), max(spent)
    if last > first:
        growth = (spent[last] / spent[first]) ** (1 / (last - first))
        print(f"growth from k = {first} to {last}: ×{growth:.1f} an action")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak of this process, both sides: {peak:.2f} GiB")
    try:
        _learned(_records(17))
    except SearchSizeError as refusal:
        print(f"k = 17: {refusal}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
