"""CPU time of DADI's lock-step training against a straightforward batched PyTorch version.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.dadi`; `--compiled` adds the
version through torch.compile. One table of Adult's shape, one iteration of one learner (64 agents
× 4 decisions, both encoders, all heads, target network, Adam), turns taken within one run.
"""

import argparse
import time
from statistics import median

import numpy as np
import torch
from frugal.config.learners import DadiSettings
from frugal.studies.dadi.networks import NetworkSizes, first_parameters, repeated
from frugal.studies.dadi.set_encoder import EncoderSteps, compiled_steps
from frugal.studies.dadi.token_memory import UnitTable, lay_out_tokens
from frugal.studies.dadi.training import JointTraining, Population, group_weights

from tests.studies.dadi.dadi_cases import all_in_reach
from tests.studies.dadi.plain_dadi import PlainDadi

UNITS, GROUPS = 45_222, [1, 1, 1, 1, 1, 1, 7, 14, 7, 14, 6, 5, 2, 37]  # 98 columns, 14 panels
LEARNERS, FOLDS, ITERATIONS = 18, 6, 20_000
PLAIN, CUT = "straightforward batched PyTorch", ", returns cut"
SETTINGS = DadiSettings(
    memory_width=64,
    encoding_width=32,
    processing_steps=5,
    head_width=64,
    pretraining_iterations=0,
    iterations=ITERATIONS,
    agents=64,
    window=4,
    returns="n_step",
    learning_rate=5e-4,
    decay_share=0.0,
    decay_to=1.0,
    target_every=100,
    exploration_start=0.3,
    exploration_end=0.3,
    exploration_iterations=0,
    objective="demographic_parity",
    reward="difference",
    group_normalised=True,
    cost_weight=0.0,
    evaluate_every=1000,
    evaluated_rows=1000,
    checkpoint_every=1000,
    compiled=False,
)


def _adult_like(rng: np.random.Generator):
    """Six numeric and eight one-hot variables, label and sensitive attribute from a few causes."""
    cause = rng.normal(size=(UNITS, 5))
    columns = []
    for size in GROUPS:
        if size == 1:
            columns.append(cause @ rng.normal(size=(5, 1)) / 2 + rng.normal(size=(UNITS, 1)))
        else:
            score = cause @ rng.normal(size=(5, size)) + rng.gumbel(size=(UNITS, size))
            columns.append(np.eye(size)[score.argmax(axis=1)])
    panel = np.repeat(np.arange(len(GROUPS)), GROUPS)
    label = (cause[:, 0] + rng.normal(size=UNITS) > 1).astype(np.int64)
    sensitive = (cause[:, 1] + rng.normal(size=UNITS) > 0).astype(np.int64)
    return np.hstack(columns).astype(np.float32), panel, label, sensitive


def _plain(values, panel, label, sensitive, weights, returns):
    """One iteration of the straightforward version, with its own draws."""
    plain = PlainDadi(
        values,
        panel,
        torch.from_numpy(label),
        torch.from_numpy(sensitive),
        weights,
        0.5,
        hidden=64,
        width=32,
        processing_steps=5,
        head=64,
        window=4,
        agents=64,
        learning_rate=5e-4,
        target_every=100,
        returns=returns,
    )

    def iterate():
        plain.iterate(
            torch.rand(4, 64) < 0.3, torch.rand(4, 64, len(GROUPS) + 1), torch.randint(UNITS, (64,))
        )

    return iterate


def _lockstep(learners, steps, population, columns, returns="n_step"):
    """K learners at the start of joint training."""
    sizes = NetworkSizes(columns, len(GROUPS), SETTINGS.changed(returns=returns))
    generator = torch.Generator().manual_seed(0)
    stack = repeated(first_parameters(sizes, generator), sizes, learners)
    gamma = torch.linspace(0.05, 0.95, learners)
    return JointTraining(
        stack, population, gamma=gamma, sizes=sizes, steps=steps, generator=generator
    )


def _check_compiled(population, columns):
    """The compiled version is the same function: equal weights, but for rounding."""
    one, other = (
        _lockstep(2, steps, population, columns) for steps in (EncoderSteps(), compiled_steps())
    )
    start = one.stack.flat.clone()
    for training in (one, other):
        for _ in range(3):
            training.iterate()
    gap, moved = ((one.stack.flat - x).abs().max() for x in (other.stack.flat, start))
    print(f"compiled and not: weights differ by {gap:.1e} after moving {moved:.1e}")
    assert gap < 1e-2 * moved


def _cpu_seconds(work, times):
    start = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - start) / times


def main() -> None:
    """Print milliseconds of an iteration of a learner, ratios, and what Adult takes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    values, panel, label, sensitive = _adult_like(np.random.default_rng(0))
    tables = group_weights(label, sensitive, objective="demographic_parity", group_normalised=True)
    weights = [torch.from_numpy(table[sensitive, label]) for table in tables]
    population = Population(
        UnitTable(lay_out_tokens(values, panel), len(GROUPS)),
        torch.from_numpy(label).float(),
        torch.from_numpy(sensitive).float(),
        weights[0],
        weights[1],
        torch.zeros(len(GROUPS) + 1),
        all_in_reach(len(values), len(GROUPS)),
    )
    inputs = (values, panel, label, sensitive, weights)
    versions = {
        PLAIN: (_plain(*inputs, "n_step"), 1),
        f"{PLAIN}{CUT}": (_plain(*inputs, "watkins"), 1),
    }
    for k in (1, 6, LEARNERS):
        versions[f"lock-step, K = {k}"] = (
            _lockstep(k, EncoderSteps(), population, values.shape[1]).iterate,
            k,
        )
    versions[f"lock-step, K = {LEARNERS}{CUT}"] = (
        _lockstep(LEARNERS, EncoderSteps(), population, values.shape[1], "watkins").iterate,
        LEARNERS,
    )
    if arguments.compiled:
        _check_compiled(population, values.shape[1])
        work = _lockstep(LEARNERS, compiled_steps(), population, values.shape[1]).iterate
        versions[f"lock-step, K = {LEARNERS}, compiled"] = (work, LEARNERS)
    for work, _ in versions.values():
        _cpu_seconds(work, 3)
    seen = {name: [] for name in versions}
    for _ in range(arguments.rounds):
        for name, (work, learners) in versions.items():
            seen[name].append(_cpu_seconds(work, 2) / learners)
    for name, seconds in seen.items():
        base = seen[f"{PLAIN}{CUT}" if name.endswith(CUT) else PLAIN]
        ratio = median(b / s for b, s in zip(base, seconds, strict=True))
        hours = ITERATIONS * LEARNERS * FOLDS / 3600  # per second of an iteration
        print(
            f"{name:44s} {median(seconds) * 1e3:7.2f} ms ({min(seconds) * 1e3:.2f} at best) "
            f"x{ratio:5.1f}   {LEARNERS} gammas x {FOLDS} folds x {ITERATIONS:,} iterations: "
            f"{median(seconds) * hours:5.1f} core-hours ({min(seconds) * hours:.1f} at best)"
        )


if __name__ == "__main__":
    main()
