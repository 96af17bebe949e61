import numpy as np
import pytest
from frugal.acquire.acquisition import BatchedAcquisition, release_reward
from frugal.acquire.encoders import ValuesEncoder, tabulate
from frugal.core.errors import DataError
from frugal.core.world import World
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.acquisition_worlds import world_of
from tests.oracles.single_environment import AcquisitionEnv
from tests.unit.acquisition_cases import environment_of, small_problem


def random_problem(seed: int, *, terminals: int = 2) -> tuple[World, ValuesEncoder]:
    rng = np.random.default_rng(seed)
    n, d, a = 9, 6, 4
    provides = rng.random((a, d)) < 0.4
    available, label, cost = rng.random((n, a)) < 0.8, rng.integers(0, 2, n), rng.random(a)
    values, free_columns = rng.normal(size=(n, d)), rng.random(d) < 0.3
    task = world_of(
        values,
        provides,
        free_columns,
        available=available,
        label=label,
        cost=cost,
        terminals=terminals,
    )
    return task, ValuesEncoder.of(task)


def rewards(learners: int):
    return release_reward(np.arange(1.0, learners + 1), np.full(learners, 3.0))


def allowed_actions(environment: BatchedAcquisition, rng: np.random.Generator) -> np.ndarray:
    score = rng.random(environment.action_mask.shape) * environment.action_mask
    return score.argmax(axis=2)


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from(["free", "random"]))
def test_every_step_keeps_the_definition(seed, start):
    task, encoder = random_problem(seed)
    rng = np.random.default_rng(seed)
    environment = BatchedAcquisition(
        task, encoder, rewards(2), learners=2, episodes=3, start=start, rng=rng
    )
    reward = rewards(2)
    for _ in range(12):
        row, acquired = environment.row.copy(), environment.acquired.copy()
        action = allowed_actions(environment, rng)
        got, done = environment.step(action)
        for k, e in np.ndindex(2, 3):
            u, unit = action[k, e], row[k, e]
            if u < task.panels:
                assert task.available[unit, u]
                assert not acquired[k, e, u]
                np.testing.assert_allclose(got[k, e], -task.action_cost[u], rtol=1e-6)
                assert not done[k, e]
                acquired[k, e, u] = True
                assert environment.row[k, e] == unit
                np.testing.assert_array_equal(environment.acquired[k, e], acquired[k, e])
            else:
                assert done[k, e]
                assert got[k, e] == reward.matrix[k, task.label[unit], u - task.panels]
                assert start == "random" or not environment.acquired[k, e].any()
            assert not (environment.acquired[k, e] & ~task.available[environment.row[k, e]]).any()
        seen = encoder.encode(environment.row.ravel(), environment.acquired.reshape(6, -1))
        np.testing.assert_array_equal(environment.observation.reshape(6, -1), seen)
        expected = task.available[environment.row] & ~environment.acquired
        np.testing.assert_array_equal(environment.action_mask[:, :, : task.panels], expected)
        assert environment.action_mask[:, :, task.panels :].all()


def test_a_learner_meets_the_same_units_whatever_is_trained_next_to_it():
    task, encoder = random_problem(3)
    alone, beside = (
        environment_of(task, encoder, rewards(k), learners=k, episodes=5, seed=8) for k in (1, 4)
    )
    rng = np.random.default_rng(0)
    for _ in range(20):
        action = allowed_actions(alone, rng)
        other = np.concatenate([action, allowed_actions(beside, rng)[1:]])
        np.testing.assert_array_equal(alone.step(action)[0][0], beside.step(other)[0][0])
        np.testing.assert_array_equal(alone.observation[0], beside.observation[0])


def test_a_table_changes_nothing():
    task, encoder = random_problem(5, terminals=1)
    table = tabulate(encoder, len(task), task.panels, max_gib=0.01)
    runs = []
    for chosen in (encoder, table):
        environment = environment_of(task, chosen, rewards(1), episodes=4, start="free", seed=1)
        runs.append(environment.observation)
    np.testing.assert_array_equal(*runs)


def test_random_starts_are_half_full_and_never_hold_what_is_unavailable():
    task, encoder = small_problem()
    task.available[::2, 0] = False
    environment = environment_of(task, encoder, rewards(1), episodes=4000)
    known, available = environment.acquired[0], task.available[environment.row[0]]
    assert not (known & ~available).any()
    # 4 se of a share of about 2,000 and 4,000 coins: 0.045 and 0.032
    assert abs(known[available[:, 0], 0].mean() - 0.5) < 0.045
    assert np.abs(known[:, 1:].mean(axis=0) - 0.5).max() < 0.032


def test_half_of_the_mixed_starts_are_free_and_the_rest_half_full():
    task, encoder = small_problem()
    environment = environment_of(task, encoder, rewards(1), episodes=4000, start="mixed")
    known = environment.acquired[0]
    empty = ~known.any(axis=1)
    # a panel in 1/4, none in 1/2 + 1/2^(a + 1); 4 se of a share of 4,000 coins
    assert np.abs(known.mean(axis=0) - 0.25).max() < 4 * np.sqrt(0.1875 / 4000)
    expected = 0.5 + 0.5 ** (task.panels + 1)
    assert abs(empty.mean() - expected) < 4 * np.sqrt(0.25 / 4000)


def test_a_masked_action_is_our_own_mistake():
    task, encoder = random_problem(1)
    task.available[:, 0] = False
    environment = environment_of(task, encoder, rewards(1), episodes=1, start="free")
    with pytest.raises(AssertionError, match="mask excludes"):
        environment.step(np.zeros((1, 1), dtype=np.int64))


def test_batched_and_single_environments_agree_step_by_step():
    task, encoder = random_problem(2)
    rng = np.random.default_rng(4)
    single = AcquisitionEnv(task, encoder, rewards(2), learner=1, start="free")
    batched = BatchedAcquisition(
        task, encoder, rewards(2), learners=2, episodes=1, start="free", rng=rng
    )
    for _ in range(30):
        single.reset(seed=0)
        action = allowed_actions(batched, rng)
        single._row[0], single._acquired[0] = batched.row[1, 0], batched.acquired[1, 0]
        np.testing.assert_array_equal(single.action_masks(), batched.action_mask[1, 0])
        _, reward, ended, truncated, _ = single.step(action[1, 0])
        expected, done = batched.step(action)
        assert (reward, ended, truncated) == (expected[1, 0], done[1, 0], False)


@pytest.mark.parametrize("terminals", [3, 0])
def test_impossible_endings_are_refused(terminals):
    with pytest.raises(DataError, match="allowed are 1"):
        random_problem(0, terminals=terminals)
