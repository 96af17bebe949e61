"""CPU time of lock-step DQN against stable-baselines3's DQN on our own VecEnv.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.dqn`. Synthetic table of Adult's
shape, one update of 32 transitions every 4 steps, networks of 64-64 units; the whole loop of
acting, remembering and learning. All sides in turn in one run, medians of three.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from frugal.acquire.acquisition import BatchedAcquisition, theorem_reward
from frugal.acquire.encoders import ValuesEncoder
from frugal.acquire.train.lockstep_dqn import ReplayMemory, fit_dqn
from frugal.config.learners import DqnSettings

from tests.benchmarks.environment import COLUMNS, PANELS, UNITS
from tests.oracles.acquisition_worlds import world_of
from tests.oracles.sb3_dqn import reference_dqn

REPEATS, STEPS = 3, 4096
SETTINGS = DqnSettings(
    hidden=[64, 64],
    double=False,
    dueling=False,
    huber_bound=1.0,
    learning_rate=1e-4,
    learning_rate_last=1e-4,
    discount=1.0,
    batch=32,
    memory=100_000,
    learning_starts=64,
    transitions_per_update=4,
    target_every=1024,
    exploration_share=0.1,
    epsilon_first=1.0,
    epsilon_last=0.05,
    max_gradient_norm=10.0,
    episodes=64,
    transitions=STEPS,
)


def _environment(learners: int) -> BatchedAcquisition:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(UNITS, COLUMNS))
    label = (values[:, :5].sum(axis=1) > 2).astype(np.int64)
    provides = np.arange(COLUMNS) % PANELS == np.arange(PANELS)[:, None]
    world = world_of(values, provides, np.zeros(COLUMNS, dtype=bool), label=label, terminals=2)
    return BatchedAcquisition(
        world,
        ValuesEncoder.of(world),
        theorem_reward(np.linspace(1, 5, learners), np.linspace(-0.1, -0.02, learners)),
        learners=learners,
        episodes=SETTINGS.episodes,
        start="free",
        rng=rng,
    )


def _lockstep(learners: int, settings: DqnSettings) -> Callable[[], int]:
    environment = _environment(learners)
    rngs = [np.random.default_rng(k) for k in range(learners)]

    def work() -> int:
        fit_dqn(environment, settings=settings, moments=1, rngs=rngs)
        return learners * STEPS

    return work


def _reference() -> Callable[[], int]:
    model = reference_dqn(_environment(1), settings=SETTINGS, seed=0)

    def work() -> int:
        model.learn(STEPS, reset_num_timesteps=True)
        return STEPS

    return work


def main() -> None:
    """Print microseconds a step of one learner, ratios, and the bytes of a transition."""
    torch.set_num_threads(1)
    both = SETTINGS.changed(double=True, dueling=True)
    sides = {
        "stable-baselines3 on our VecEnv": _reference(),
        "lock-step K = 1": _lockstep(1, SETTINGS),
        "lock-step K = 8": _lockstep(8, SETTINGS),
        "lock-step K = 16": _lockstep(16, SETTINGS),
        "lock-step K = 16, double and dueling": _lockstep(16, both),
    }
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(REPEATS):
        for name, work in sides.items():
            start = time.process_time()
            steps = work()
            spent[name].append((time.process_time() - start) / steps)
    first = statistics.median(next(iter(spent.values())))
    for name, times in spent.items():
        median = statistics.median(times)
        print(f"{name:40s}{median * 1e6:9.1f} µs a step   × {first / median:5.1f}")
    print(f"replay: {ReplayMemory(1, 1, PANELS).bytes_per_transition} bytes a transition")


if __name__ == "__main__":
    main()
