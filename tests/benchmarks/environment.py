"""CPU time of the batched decision process against one unit at a time and against DummyVecEnv.

Run with one thread: `OMP_NUM_THREADS=1 python -m tests.benchmarks.environment`. A network of 64-64
units, or a forest of 100 trees, looks at every state of a table of Adult's shape; random allowed
actions; all sides in turn in one run, medians of three.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from frugal.acquire.acquisition import BatchedAcquisition, theorem_reward
from frugal.acquire.encoders import CallableEncoder, tabulate
from frugal.acquire.train.sb3 import AcquisitionVecEnv
from frugal.core.world import StateEncoder, World
from sklearn.ensemble import RandomForestClassifier
from stable_baselines3.common.vec_env import DummyVecEnv

from tests.oracles.acquisition_worlds import world_of
from tests.oracles.single_environment import AcquisitionEnv

UNITS, COLUMNS, PANELS = 45_222, 98, 14
SMALL_UNITS, SMALL_COLUMNS, SMALL_PANELS = 23_950, 20, 6
EPISODES, WIDE, REPEATS = 64, 1024, 3
REWARD = theorem_reward(np.array([3.0]), np.array([-0.05]))


def _problem(units: int, columns: int, panels: int) -> World:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(units, columns))
    label = (values[:, :5].sum(axis=1) > 2).astype(np.int64)
    provides = np.arange(columns) % panels == np.arange(panels)[:, None]
    return world_of(values, provides, np.zeros(columns, dtype=bool), label=label, terminals=2)


def _encoder(world: World, share: Callable) -> CallableEncoder:
    """[visible values with 0 where unknown, panel bits, share of class 1]."""

    def look(visible: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        filled = np.nan_to_num(visible, nan=0.0).astype(np.float32)
        return np.hstack([filled, acquired.astype(np.float32), share(filled)[:, None]])

    return CallableEncoder(world, look, world.values.shape[1] + world.panels + 1)


def _network(columns: int) -> Callable:
    torch.manual_seed(0)
    layers = torch.nn.Sequential(
        torch.nn.Linear(columns, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 1),
    )

    @torch.no_grad()
    def share(filled: np.ndarray) -> np.ndarray:
        return torch.sigmoid(layers(torch.from_numpy(filled)))[:, 0].numpy()

    return share


def _forest(values: np.ndarray, label: np.ndarray) -> Callable:
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0)
    forest.fit(values[:5000].astype(np.float32), label[:5000])
    return lambda filled: np.asarray(forest.predict_proba(filled))[:, 1].astype(np.float32)


def _batched(task: World, encoder: StateEncoder, episodes: int) -> BatchedAcquisition:
    return BatchedAcquisition(
        task,
        encoder,
        REWARD,
        learners=1,
        episodes=episodes,
        start="free",
        rng=np.random.default_rng(1),
    )


def _step_batch(environment: BatchedAcquisition, steps: int) -> Callable[[], int]:
    rng, (_, episodes, actions) = np.random.default_rng(0), environment.action_mask.shape

    def work() -> int:
        for _ in range(steps):
            score = rng.random((1, episodes, actions), dtype=np.float32) * environment.action_mask
            environment.step(score.argmax(axis=2))
        return steps * episodes

    return work


def _step_vector(environment, steps: int) -> Callable[[], int]:
    rng = np.random.default_rng(0)
    environment.reset()

    def work() -> int:
        for _ in range(steps):
            mask = np.stack(environment.env_method("action_masks"))
            environment.step((rng.random(mask.shape) * mask).argmax(axis=1))
        return steps * environment.num_envs

    return work


def _step_single(environment: AcquisitionEnv, steps: int) -> Callable[[], int]:
    rng = np.random.default_rng(0)
    environment.reset(seed=0)

    def work() -> int:
        for _ in range(steps):
            mask = environment.action_masks()
            *_, ended, _, _ = environment.step((rng.random(len(mask)) * mask).argmax())
            if ended:
                environment.reset()
        return steps

    return work


def _compare(title: str, sides: dict[str, Callable[[], int]]) -> None:
    """Print CPU microseconds a step and the ratio to the first side."""
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for work in sides.values():
        work()
    for _ in range(REPEATS):
        for name, work in sides.items():
            start = time.process_time()
            steps = work()
            spent[name].append((time.process_time() - start) / steps)
    medians = {name: statistics.median(times) for name, times in spent.items()}
    first = next(iter(medians.values()))
    print(title)
    for name, median in medians.items():
        print(f"  {name:42s}{median * 1e6:10.2f} µs a step   × {first / median:7.1f}")


def main() -> None:
    """Print three comparisons."""
    torch.set_num_threads(1)
    task = _problem(UNITS, COLUMNS, PANELS)

    def single(encoder: StateEncoder) -> AcquisitionEnv:
        return AcquisitionEnv(task, encoder, REWARD, learner=0, start="free")

    network = _encoder(task, _network(COLUMNS))
    _compare(
        f"network, {UNITS} × {COLUMNS}, {PANELS} panels",
        {
            "one unit at a time": _step_single(single(network), 500),
            f"DummyVecEnv {EPISODES}": _step_vector(
                DummyVecEnv([lambda: single(network)] * EPISODES), 10
            ),
            f"our VecEnv {EPISODES}": _step_vector(
                AcquisitionVecEnv(_batched(task, network, EPISODES), mask_in_observation=False), 200
            ),
            f"batched {EPISODES}": _step_batch(_batched(task, network, EPISODES), 200),
            f"batched {WIDE}": _step_batch(_batched(task, network, WIDE), 30),
        },
    )
    forest = _encoder(task, _forest(task.values, task.label))
    _compare(
        "forest of 100 trees, the same table",
        {
            "one unit at a time": _step_single(single(forest), 20),
            f"batched {EPISODES}": _step_batch(_batched(task, forest, EPISODES), 10),
            f"batched {WIDE}": _step_batch(_batched(task, forest, WIDE), 5),
        },
    )
    task = _problem(SMALL_UNITS, SMALL_COLUMNS, SMALL_PANELS)
    small = _encoder(task, _network(SMALL_COLUMNS))
    table = tabulate(small, SMALL_UNITS, SMALL_PANELS, max_gib=1.0)
    _compare(
        f"network, {SMALL_UNITS} × {SMALL_COLUMNS}, {SMALL_PANELS} panels",
        {
            "one unit at a time": _step_single(
                AcquisitionEnv(task, small, REWARD, learner=0, start="free"), 500
            ),
            f"batched {WIDE}": _step_batch(_batched(task, small, WIDE), 50),
            f"batched {WIDE}, tabulated": _step_batch(_batched(task, table, WIDE), 100),
        },
    )


if __name__ == "__main__":
    main()
