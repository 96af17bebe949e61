from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from frugal.acquire.acquisition import theorem_reward
from frugal.acquire.train.sb3 import AcquisitionVecEnv
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

from tests.unit.acquisition_cases import environment_of, small_problem

REWARD = theorem_reward(np.array([3.0]), np.array([-0.05]))


def vector_environment(episodes: int, *, mask_in_observation: bool) -> AcquisitionVecEnv:
    task, encoder = small_problem()
    environment = environment_of(task, encoder, REWARD, episodes=episodes)
    return AcquisitionVecEnv(environment, mask_in_observation=mask_in_observation)


@pytest.mark.parametrize(
    ("start", "share"), [("free", 1.0), ("random", 1 / 16), ("mixed", 17 / 32)]
)
def test_share_of_the_starts_that_know_the_free_columns_alone(start, share):
    """Of four panels none is known with probability 1/16; a mixed start is bare half the time.

    2,000 starts, one seed; 5 standard errors of a share are at most .056.
    """
    task, encoder = small_problem()
    environment = environment_of(task, encoder, REWARD, episodes=2000, start=start, seed=3)
    open_panels = environment.action_mask[0, :, :4].sum(axis=1)
    assert np.mean(open_panels == 4) == pytest.approx(share, abs=0.056)


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
