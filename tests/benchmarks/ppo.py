"""CPU time of lock-step PPO against stable-baselines3, and of the whole front of SM-DDPO.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.ppo`. A table of clinical shape
(24,000 × 20, 6 panels); EMFlow completes the rows, live or tabulated once. All sides take turns in
one run; medians of three, in µs per step of one policy: networks of 64-64 with stable-baselines3's
settings, of 64-64 and of 128-128 with the release's. The baseline of each headline is
stable-baselines3 on our vectorised environment, reading the same table. The front is projected from
a slice of the real loop: classifier, validation, training curves and their units included.
"""

import statistics
import time
from collections.abc import Callable
from itertools import product

import numpy as np
import torch
from frugal.acquire.acquisition import BatchedAcquisition, DiagnosisReward, theorem_reward
from frugal.acquire.encoders import CallableEncoder, TabulatedEncoder, tabulate
from frugal.acquire.train.sb3 import AcquisitionVecEnv
from frugal.config.learners import PpoSettings
from frugal.core.world import StateEncoder, World
from frugal.studies.diagnosis.emflow_training import fit_emflow
from frugal.studies.diagnosis.lockstep_ppo import ActorCritic, PpoTrainer, collect_rollout
from frugal.studies.diagnosis.policies.fronts import ImputedStates
from frugal.studies.diagnosis.policies.sm_ddpo import fit_sm_ddpo
from stable_baselines3.common.vec_env import DummyVecEnv

from tests.oracles.acquisition_worlds import world_of
from tests.oracles.single_environment import AcquisitionEnv
from tests.studies.diagnosis.sb3_ppo import maskable_ppo

UNITS, COLUMNS, PANEL_SIZES = 24_000, 20, (4, 3, 4, 3, 3, 3)
REPEATS, LEARNERS, STEPS_OF_A_PAIR = 3, 16, 500_000
RELEASE = PpoSettings(
    hidden=[128, 128],
    activation="silu",
    learning_rate=1e-4,
    steps=1024,
    episodes=64,
    batch=128,
    epochs=10,
    clip=0.2,
    gae_lambda=0.95,
    value_weight=0.5,
    entropy_weight=0.0,
    max_gradient_norm=0.5,
    compiled=False,
)
DEFAULTS = RELEASE.changed(
    hidden=[64, 64], activation="tanh", learning_rate=3e-4, steps=2048, batch=64
)  # of stable-baselines3
EMFLOW = {
    "couplings": 8,
    "hidden": [32, 32],
    "passes": 1,
    "mask_draws": 1,
    "hidden_share": [0.1, 0.9],
    "batch": 256,
    "learning_rate": 1e-3,
    "weight_decay": 1e-6,
    "alpha": 1e6,
    "em_scale": 0.99,
    "em_power": 0.8,
}
LOOP = {
    "classifier": {
        "hidden": [64, 64],
        "activation": "silu",
        "learning_rate": 1e-3,
        "batch": 256,
        "class_weights": [1.0, 3.0],
    },
    "variant": "end2end",
    "pretraining_updates": 0,
    "tuned": True,
    "verdict": "actor",
    "policy_updates": 2,
    "classifier_updates": 8,
    "visited_states": 100_000,
    "input_bound": 5.0,
    "start": "random",
    "validate_every": 12,
    "patience": 1000,
    "criterion": "f1",
    "watched_units": 1000,
}


def _clinic() -> tuple[World, StateEncoder]:
    """Correlated columns, 15 % ill; rows completed by a fitted EMFlow at every step."""
    rng = np.random.default_rng(1)
    latent = rng.normal(size=(UNITS, 4))
    values = np.tanh(latent @ rng.normal(size=(4, COLUMNS)))
    values += 0.3 * rng.normal(size=values.shape)
    score = values @ rng.normal(size=COLUMNS) + values[:, 0] * values[:, 5]
    label = (score + rng.logistic(size=UNITS) > np.quantile(score, 0.85)).astype(np.int64)
    panel = np.repeat(np.arange(len(PANEL_SIZES)), PANEL_SIZES)
    provides = panel == np.arange(len(PANEL_SIZES))[:, None]
    flow = fit_emflow(values[:4000], validation=None, panels=provides, rng=rng, **EMFLOW)

    def complete(visible: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        return flow.scaling.standardise(flow.impute(visible)).astype(np.float32)

    cost = np.array([36.0, 48.0, 26.0, 40.0, 66.0, 26.0])
    nothing_free = np.zeros(COLUMNS, dtype=bool)
    world = world_of(
        values, provides, nothing_free, label=label, cost=cost / cost.mean(), terminals=2
    )
    return world, CallableEncoder(world, complete, COLUMNS)


def _reward(learners: int) -> DiagnosisReward:
    pairs = np.array(list(product(range(1, 11), [*range(1, 11), *range(20, 101, 10)])), dtype=float)
    ratio, penalty = pairs[np.linspace(0, 189, learners).astype(int)].T
    return theorem_reward(ratio, -1 / penalty)


def _environment(task, encoder: StateEncoder, learners: int, episodes: int) -> BatchedAcquisition:
    return BatchedAcquisition(
        task,
        ImputedStates(encoder, task.panels),
        _reward(learners),
        learners=learners,
        episodes=episodes,
        start="random",
        rng=np.random.default_rng(0),
    )


def _lockstep(task, encoder: StateEncoder, learners: int, settings: PpoSettings) -> Callable:
    """One update of each learner, rollout included."""
    environment = _environment(task, encoder, learners, settings.episodes)
    width, rng = environment.observation.shape[2], np.random.default_rng(0)
    networks = ActorCritic.fresh(
        learners,
        width,
        task.actions,
        hidden=settings.hidden,
        activation=settings.activation,
        rng=rng,
    )
    trainer, generator = PpoTrainer(networks, settings), torch.Generator().manual_seed(0)

    def run() -> int:
        rollout = collect_rollout(
            networks,
            environment,
            lambda env: torch.from_numpy(env.observation),
            steps=settings.steps // settings.episodes,
            gae_lambda=settings.gae_lambda,
            generator=generator,
        )
        trainer.learn(rollout, generator)
        return settings.steps * learners

    return run


def _reference(environment, settings: PpoSettings) -> Callable:
    learner = maskable_ppo(environment, settings=settings, seed=0)

    def run() -> int:
        learner.learn(settings.steps, reset_num_timesteps=False)
        return settings.steps

    return run


def _per_unit(task, encoder: StateEncoder) -> DummyVecEnv:
    """Eight environments that each complete one row a step, as the paper's release does."""
    states = ImputedStates(encoder, task.panels)
    make = [
        lambda: AcquisitionEnv(task, states, _reward(1), learner=0, start="random")
        for _ in range(8)
    ]
    return DummyVecEnv(make)  # pyright: ignore[reportArgumentType]


def _compare(sides: dict[str, Callable]) -> dict[str, float]:
    """Median CPU time of each side, µs per policy-step; the sides take turns."""
    seen: dict[str, list[float]] = {name: [] for name in sides}
    for repeat in range(REPEATS + 1):  # the first warms up
        for name, run in sides.items():
            start = time.process_time()
            steps = run()
            if repeat:
                seen[name].append((time.process_time() - start) / steps * 1e6)
    return {name: statistics.median(times) for name, times in seen.items()}


def trainers(task, live: StateEncoder, table: TabulatedEncoder, settings: PpoSettings) -> None:
    """Print µs per policy-step of every trainer, and the ratios."""
    vectorised = AcquisitionVecEnv(
        _environment(task, table, 1, settings.episodes), mask_in_observation=False
    )
    per_unit = settings.changed(episodes=8)
    compiled = settings.changed(compiled=True)
    cost = _compare(
        {
            "sb3 on DummyVecEnv 8, a row at a time": _reference(_per_unit(task, live), per_unit),
            "sb3 on our VecEnv, table": _reference(vectorised, settings),
            "lock-step K = 1, table": _lockstep(task, table, 1, settings),
            f"lock-step K = {LEARNERS}, live": _lockstep(task, live, LEARNERS, settings),
            f"lock-step K = {LEARNERS}, table": _lockstep(task, table, LEARNERS, settings),
            f"lock-step K = {LEARNERS}, table, compiled": _lockstep(
                task, table, LEARNERS, compiled
            ),
        }
    )
    per_row, batched, *_ = cost.values()
    best = min(list(cost.values())[2:])
    size = "-".join(map(str, settings.hidden))
    print(
        f"{size} networks, {settings.activation}, batch {settings.batch}: ours "
        f"{batched / best:.1f} times as fast as stable-baselines3 on the same batched environment "
        f"and table ({per_row / best:.1f} times its DummyVecEnv of 8, which completes a row at a "
        "time)"
    )
    for name, value in cost.items():
        print(f"  {name:40s} {value:8.1f} µs a step of a policy", flush=True)


def front(task, table: TabulatedEncoder, settings: PpoSettings, *, outer_loops: int) -> None:
    """Print what all 190 pairs would take, from a slice of the real loop."""
    train, validation = np.arange(12_000), np.arange(12_000, 14_400)
    block = {**vars(settings), "hidden": list(settings.hidden)}
    start = time.process_time()
    fit_sm_ddpo(
        task.take(train),
        TabulatedEncoder(table.table[train]),
        (task.take(validation), TabulatedEncoder(table.table[validation])),
        reward=_reward(LEARNERS),
        rng=np.random.default_rng(0),
        settings={**LOOP, "ppo": block, "outer_loops": outer_loops},
    )
    taken = time.process_time() - start
    steps = outer_loops * LOOP["policy_updates"] * settings.steps * LEARNERS
    minutes = taken / steps * 190 * STEPS_OF_A_PAIR / 60
    print(
        f"front, networks {settings.hidden} {settings.activation}, {settings.epochs} epochs: "
        f"{taken:.0f} CPU s for {steps / 1e6:.2f} M policy-steps, {taken / steps * 1e6:.1f} µs "
        f"each; 190 pairs × 500,000 steps: {minutes:.0f} core-minutes"
    )


def products() -> None:
    """Print how fast matrix products are now: the ceiling of every trainer here."""
    a, b = np.random.default_rng(0).normal(size=(2, 32, 128, 128)).astype(np.float32)
    times = []
    for _ in range(20):
        start = time.process_time()
        for _ in range(10):
            np.matmul(a, b)
        times.append((time.process_time() - start) / 10)
    speed = 2 * 32 * 128**3 / statistics.median(times) / 1e9
    print(f"products of 32 pairs of 128 × 128 matrices: {speed:.0f} GFLOP/s")


if __name__ == "__main__":
    torch.set_num_threads(1)
    products()
    clinic, completing = _clinic()
    began = time.process_time()
    tabulated = tabulate(completing, UNITS, len(PANEL_SIZES), max_gib=2.0)
    print(f"table of {UNITS} × 64 completed rows: {time.process_time() - began:.0f} CPU s, once")
    trainers(clinic, completing, tabulated, DEFAULTS)
    trainers(clinic, completing, tabulated, RELEASE.changed(hidden=[64, 64]))
    trainers(clinic, completing, tabulated, RELEASE)
    products()
    front(clinic, tabulated, RELEASE.changed(hidden=[64, 64]), outer_loops=48)
    front(clinic, tabulated, RELEASE, outer_loops=24)
    products()
