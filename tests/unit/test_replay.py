import numpy as np
import pytest
from frugal.acquire.train.lockstep_dqn import ReplayMemory

from tests.oracles.acquisition_worlds import world_of


def play(memory: ReplayMemory, panels: int, steps: int, learners: int, episodes: int) -> list:
    """Random transitions; returned as they went in, one tuple of (K, E) arrays a step."""
    rng, log = np.random.default_rng(0), []
    for _ in range(steps):
        acquired = rng.random((learners, episodes, panels)) < 0.4
        action = rng.integers(panels + 2, size=(learners, episodes))
        went = (
            rng.integers(1000, size=(learners, episodes)),
            acquired,
            action,
            rng.normal(size=(learners, episodes)).astype(np.float32),
        )
        memory.add(*went)
        log.append(went)
    return log


@pytest.mark.parametrize("panels", [1, 6, 14, 33, 62])
@pytest.mark.parametrize("capacity", [12, 14])
def test_what_went_in_last_comes_out_whole(panels, capacity):
    memory = ReplayMemory(2, capacity, panels)
    log = play(memory, panels, steps=7, learners=2, episodes=4)
    assert memory.filled == capacity
    row, acquired, action, reward = (
        np.concatenate(part, axis=1)[:, -capacity:] for part in zip(*log, strict=True)
    )
    start = 28 % capacity  # place of the oldest
    index = np.broadcast_to((start + np.arange(capacity)) % capacity, (2, capacity))
    found = memory.take(index.copy())
    np.testing.assert_array_equal(found.row, row)
    np.testing.assert_array_equal(found.acquired, acquired)
    np.testing.assert_array_equal(found.action, action)
    np.testing.assert_array_equal(found.reward, reward)
    np.testing.assert_array_equal(found.done, action >= panels)
    expected = acquired.copy()
    for k, i in np.argwhere(action < panels):
        expected[k, i, action[k, i]] = True
    np.testing.assert_array_equal(found.next_acquired, expected)


def test_learners_are_sampled_apart():
    memory = ReplayMemory(2, 8, 3)
    log = play(memory, 3, steps=2, learners=2, episodes=4)
    row = np.concatenate([step[0] for step in log], axis=1)
    index = np.array([[0, 7, 7], [5, 2, 0]])
    np.testing.assert_array_equal(memory.take(index).row, np.take_along_axis(row, index, axis=1))


def test_masks_of_next_states_follow_from_the_same_bytes():
    memory = ReplayMemory(1, 2, 3)
    available = np.array([[True, True, False]])
    task = world_of(
        np.zeros((1, 3)),
        np.eye(3, dtype=bool),
        np.zeros(3, dtype=bool),
        available=available,
        terminals=2,
    )
    memory.add(
        np.zeros((1, 2), dtype=np.int64),
        np.array([[[False, False, False], [True, False, False]]]),
        np.array([[1, 4]]),
        np.zeros((1, 2), dtype=np.float32),
    )
    mask = memory.take(np.array([[0, 1]])).next_mask(task)
    np.testing.assert_array_equal(mask[0], [[1, 0, 0, 1, 1], [0, 1, 0, 1, 1]])


@pytest.mark.parametrize(
    ("panels", "expected"), [(6, 10), (14, 11), (30, 13), (62, 17), (70, 18), (200, 35)]
)
def test_a_transition_takes_few_bytes(panels, expected):
    assert ReplayMemory(1, 1, panels).bytes_per_transition == expected <= 35
