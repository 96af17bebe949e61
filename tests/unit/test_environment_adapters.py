from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from frugal.acquire.acquisition import BatchedAcquisition, theorem_reward
from frugal.acquire.train.sb3 import AcquisitionVecEnv
from gymnasium.utils.env_checker import check_env
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.env_checker import check_env as check_env_sb3

from tests.oracles.single_environment import AcquisitionEnv
from tests.unit.acquisition_cases import small_problem

REWARD = theorem_reward(np.array([3.0]), np.array([-0.05]))


def vector_environment(episodes: int, *, mask_in_observation: bool) -> AcquisitionVecEnv:
    task, encoder = small_problem()
    environment = BatchedAcquisition(
        task,
        encoder,
        REWARD,
        learners=1,
        episodes=episodes,
        start="random",
        rng=np.random.default_rng(0),
    )
    return AcquisitionVecEnv(environment, mask_in_observation=mask_in_observation)


@pytest.mark.parametrize("start", ["free", "random", "mixed"])
@pytest.mark.filterwarnings("ignore")  # advice on infinite boxes, which standardised values are
def test_the_single_environment_passes_the_checkers(start):
    task, encoder = small_problem()
    environment = AcquisitionEnv(task, encoder, REWARD, learner=0, start=start)
    check_env(environment, skip_render_check=True)
    check_env_sb3(environment)


@pytest.mark.parametrize(
    ("start", "share"), [("free", 1.0), ("random", 1 / 16), ("mixed", 17 / 32)]
)
def test_share_of_the_starts_that_know_the_free_columns_alone(start, share):
    """Of four panels none is known with probability 1/16; a mixed start is bare half the time.

    2,000 starts, one seed; 5 standard errors of a share are at most .056.
    """
    task, encoder = small_problem()
    environment = AcquisitionEnv(task, encoder, REWARD, learner=0, start=start)
    environment.reset(seed=3)
    open_panels = []
    for _ in range(2000):
        environment.reset()
        open_panels.append(environment.action_masks()[:4].sum())
    assert np.mean(np.array(open_panels) == 4) == pytest.approx(share, abs=0.056)


def test_a_masked_action_is_paid_for_in_vain_and_cannot_go_on_for_ever():
    task, encoder = small_problem()
    environment = AcquisitionEnv(task, encoder, REWARD, learner=0, start="free")
    before, _ = environment.reset(seed=1)
    first, _, *_ = environment.step(2)
    assert (first != before).any()
    for step in range(1, task.panels + 1):
        again, reward, ended, truncated, info = environment.step(2)
        np.testing.assert_array_equal(first, again)
        assert (ended, truncated, info) == (False, step == task.panels, {"masked": True})
        assert reward == pytest.approx(-0.05 * task.action_cost[2])


@pytest.mark.parametrize("appended", [False, True])
def test_vector_environment_shows_masks_rewards_and_last_states(appended):
    environment = vector_environment(6, mask_in_observation=appended)
    task, _ = small_problem()
    rng, seen = np.random.default_rng(1), np.asarray(environment.reset())
    assert environment.observation_space.shape == seen.shape[1:]
    assert is_masking_supported(environment)
    infos: Sequence[dict[str, Any]]
    for _ in range(25):
        mask = get_action_masks(environment)
        assert mask.shape == (6, task.actions)
        if appended:
            np.testing.assert_array_equal(seen[:, -task.actions :], mask)
        action = (rng.random(mask.shape) * mask).argmax(axis=1)
        after, reward, done, infos = environment.step(action)
        assert isinstance(after, np.ndarray)
        assert after.shape == seen.shape
        assert reward.shape == (6,)
        np.testing.assert_array_equal(done, action >= task.panels)
        for i in range(6):
            if done[i]:
                np.testing.assert_array_equal(infos[i]["terminal_observation"], seen[i])
            else:
                assert infos[i] == {}
        seen = after


def test_vector_environment_answers_for_chosen_episodes_and_refuses_the_rest():
    environment = vector_environment(3, mask_in_observation=False)
    assert len(environment.env_method("action_masks", indices=[0, 2])) == 2
    assert environment.env_is_wrapped(object) == [False] * 3
    assert environment.get_attr("render_mode") == [None] * 3
    with pytest.raises(AttributeError, match="no method 'close_door'"):
        environment.env_method("close_door")
    with pytest.raises(AttributeError, match="cannot be set"):
        environment.set_attr("task", None)
