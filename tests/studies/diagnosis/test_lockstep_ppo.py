"""Lock-step PPO against sb3-contrib's MaskablePPO from the same start, and its parts alone."""

import random

import gymnasium as gym
import numpy as np
import pytest
import torch
from frugal.acquire.acquisition import theorem_reward
from frugal.config.learners import PpoSettings
from frugal.core.errors import ConfigError
from frugal.studies.diagnosis.lockstep_ppo import (
    ActorCritic,
    PpoTrainer,
    Rollout,
    generalised_advantages,
    masked_log_prob,
)
from gymnasium import spaces
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import DummyVecEnv

from tests.studies.diagnosis.sb3_ppo import fit_sb3_ppo, maskable_ppo, weights_of
from tests.unit.acquisition_cases import environment_of, fit_ppo, small_problem
from tests.unit.double_precision import GAP, LAST_PLACE, double_precision

pytestmark = pytest.mark.trains

EPISODES, LENGTH, WIDTH, ACTIONS, LEARNERS = 8, 32, 12, 5, 3
SETTINGS = PpoSettings(
    hidden=[32, 32],
    learning_rate=3e-4,
    steps=EPISODES * LENGTH,
    episodes=EPISODES,
    batch=64,
    epochs=80,
    entropy_weight=0.01,
)


class Blank(gym.Env):
    """Spaces, and nothing to learn."""

    observation_space = spaces.Box(-np.inf, np.inf, (WIDTH,), np.float32)
    action_space = spaces.Discrete(ACTIONS)

    def reset(self, *, seed=None, options=None):
        return np.zeros(WIDTH, dtype=np.float32), {}

    def step(self, action):
        return self.reset()[0], 0.0, True, False, {}


def rollout_of(learners: ActorCritic, rng: np.random.Generator) -> Rollout:
    n = EPISODES * LENGTH
    seen = torch.from_numpy(rng.normal(size=(LEARNERS, n, WIDTH)).astype(np.float32)).double()
    mask = torch.from_numpy(rng.random((LEARNERS, n, ACTIONS)) < 0.6)
    mask[..., -1] = True
    action, log_prob, value = learners.act(seen, mask, torch.Generator().manual_seed(1))
    advantage = torch.from_numpy(rng.normal(size=(LEARNERS, n)).astype(np.float32)).double()
    return Rollout(seen, mask, action, log_prob, advantage, advantage + value)


def give_weights(policy, weights, k: int) -> None:
    """Copy learner k into a policy of stable-baselines3."""
    nets = {
        "policy": (policy.mlp_extractor.policy_net, policy.action_net),
        "value": (policy.mlp_extractor.value_net, policy.value_net),
    }
    for part, (hidden, head) in nets.items():
        layers = [m for m in (*hidden, head) if isinstance(m, torch.nn.Linear)]
        for i, layer in enumerate(layers):
            layer.weight.data = torch.from_numpy(weights[f"{part}.{i}.weight"][k].T.copy())
            layer.bias.data = torch.from_numpy(weights[f"{part}.{i}.bias"][k].copy())


def fill_buffer(buffer, rollout: Rollout, k: int) -> None:
    """Put learner k's steps where stable-baselines3's update reads them."""

    def by_time(values: torch.Tensor) -> np.ndarray:
        return values[k].view(EPISODES, LENGTH, *values.shape[2:]).transpose(0, 1).numpy().copy()

    buffer.observations, buffer.log_probs = by_time(rollout.observation), by_time(rollout.log_prob)
    buffer.actions = by_time(rollout.action)[..., None].astype(np.float32)
    buffer.action_masks = by_time(rollout.mask).astype(np.float32)
    buffer.advantages, buffer.returns = by_time(rollout.advantage), by_time(rollout.target)
    buffer.values = buffer.returns - buffer.advantages
    buffer.full, buffer.pos = True, LENGTH


@pytest.mark.parametrize(
    ("activation", "batch", "entropy_weight"), [("silu", 64, 0.0), ("tanh", 60, 0.01)]
)
def test_weights_equal_those_of_sb3_after_300_updates(
    activation, batch, entropy_weight, monkeypatch
):
    """Four or five minibatches × 80 epochs; the last of an epoch may be short."""
    settings = SETTINGS.changed(activation=activation, batch=batch, entropy_weight=entropy_weight)
    rng = np.random.default_rng(5)
    learners = ActorCritic.fresh(
        LEARNERS, WIDTH, ACTIONS, hidden=[32, 32], activation=activation, rng=rng
    )
    start = learners.export()
    orders = [rng.permutation(EPISODES * LENGTH) for _ in range(settings.epochs)]
    k, left = 2, iter(orders)
    monkeypatch.setattr(np.random, "permutation", lambda n: next(left))
    with double_precision():
        learners = ActorCritic.of(start, activation)
        rollout = rollout_of(learners, rng)
        trainer = PpoTrainer(learners, settings)
        for order in orders:
            trainer.learn_epoch(rollout, torch.from_numpy(order))
        reference = maskable_ppo(DummyVecEnv([Blank] * EPISODES), settings=settings, seed=0)
        reference.set_logger(configure(None, []))
        give_weights(reference.policy, start, k)
        reference.policy.double()
        fill_buffer(reference.rollout_buffer, rollout, k)
        reference.train()
    theirs = weights_of(reference.policy.float())
    ours = ActorCritic(learners.parameters.views, activation).export()
    assert theirs.keys() == ours.keys()
    moved = {name: np.abs(ours[name][k] - start[name][k]).max() for name in ours}
    assert min(moved[f"{part}.1.weight"] for part in ("policy", "value")) > 1e-3
    for name, weights in theirs.items():
        np.testing.assert_allclose(
            ours[name][k], weights[0], rtol=LAST_PLACE, atol=GAP * max(moved.values())
        )


def test_advantages_are_those_of_the_definition():
    """Â_t = Σ_l λ^l δ_{t+l} up to the end of the episode, by a double loop."""
    rng = np.random.default_rng(0)
    reward, value = rng.normal(size=(2, 9, 4)).astype(np.float32)
    done, last = rng.random((9, 4)) < 0.3, rng.normal(size=4).astype(np.float32)
    got = generalised_advantages(reward, value, done, last, gae_lambda=0.9)
    for e in range(4):
        for t in range(9):
            total, weight = 0.0, 1.0
            for s in range(t, 9):
                after = last[e] if s == 8 else value[s + 1, e]
                total += weight * (reward[s, e] + (0 if done[s, e] else after) - value[s, e])
                weight *= 0.9
                if done[s, e]:
                    break
            assert got[t, e] == pytest.approx(total, abs=1e-5)


def test_masked_actions_have_no_probability_and_are_never_drawn():
    rng = np.random.default_rng(1)
    learners = ActorCritic.fresh(2, 3, 6, hidden=(8,), activation="tanh", rng=rng)
    seen = torch.from_numpy(rng.normal(size=(2, 500, 3)).astype(np.float32))
    mask = torch.from_numpy(rng.random((2, 500, 6)) < 0.5)
    mask[..., 2] = True
    law = learners.probabilities(seen, mask)
    assert (law[~mask] == 0).all()
    assert torch.allclose(law.sum(dim=2), torch.ones(2, 500), atol=1e-6)
    action, log_prob, _ = learners.act(seen, mask, torch.Generator().manual_seed(0))
    assert mask.gather(2, action[..., None]).all()
    chosen = law.gather(2, action[..., None])[..., 0]
    assert torch.allclose(log_prob.exp(), chosen, atol=1e-6)
    assert masked_log_prob(
        torch.zeros(4), torch.tensor([True, False, True, False])
    ).exp().tolist() == pytest.approx([0.5, 0, 0.5, 0])


def test_weights_come_back_from_their_arrays():
    rng = np.random.default_rng(2)
    learners = ActorCritic.fresh(3, 5, 4, hidden=[7, 6], activation="silu", rng=rng)
    again = ActorCritic.of(learners.export(), "silu")
    seen, mask = torch.randn(3, 11, 5), torch.ones(3, 11, 4, dtype=torch.bool)
    assert torch.equal(learners.probabilities(seen, mask), again.probabilities(seen, mask))
    assert torch.equal(learners.values(seen), again.values(seen))
    kept = again.export()
    assert all(np.array_equal(array, kept[name]) for name, array in learners.export().items())


def test_first_weights_are_orthogonal():
    rng = np.random.default_rng(3)
    weights = ActorCritic.fresh(2, 5, 4, hidden=[8, 8], activation="silu", rng=rng).export()
    for name, rows, gain in (("policy.0", 5, 2.0), ("value.1", 8, 2.0), ("policy.2", 4, 1e-4)):
        for matrix in weights[f"{name}.weight"].astype(float):
            gram = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
            assert np.allclose(gram, gain * np.eye(rows), atol=1e-5)


def global_state() -> str:
    """NumPy's, and Python's but for its place: the type checker of tests draws from it, too."""
    return repr((np.random.get_state(legacy=False), random.getstate()[1][:-1]))  # noqa: NPY002


def fitted(fit, updates: int) -> dict[str, np.ndarray]:
    task, encoder = small_problem()
    environment = environment_of(
        task, encoder, theorem_reward(np.array([3.0]), np.array([-0.05])), episodes=EPISODES
    )
    settings = SETTINGS.changed(epochs=2)
    return fit(environment, settings=settings, updates=updates, rng=np.random.default_rng(1))


@pytest.mark.parametrize("fit", [fit_ppo, fit_sb3_ppo])
def test_training_repeats_bit_for_bit_and_leaves_global_generators_alone(fit):
    random.seed(0)
    random.random()  # Python's state is drawn anew only after 624 numbers
    before = torch.random.get_rng_state(), global_state()
    first, second = fitted(fit, 2), fitted(fit, 2)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    assert torch.equal(before[0], torch.random.get_rng_state())
    assert before[1] == global_state()


def test_episodes_that_do_not_divide_the_steps_are_refused():
    with pytest.raises(ConfigError, match="episodes is 8; it must divide `steps`, 100"):
        SETTINGS.changed(steps=100)


@pytest.mark.parametrize(("steps", "batch"), [(584, 53), (72, 71)])
def test_a_minibatch_of_a_single_step_is_refused(steps, batch):
    with pytest.raises(ConfigError, match="the last minibatch would be a single step"):
        SETTINGS.changed(steps=steps, batch=batch)


def test_what_goes_wrong_in_one_learner_stays_there():
    """Rewards of one learner that are 10⁶ times as large, or NaN, move no other's weights."""
    weights = []
    for worth in (3.0, 3e6, np.nan):
        task, encoder = small_problem()
        environment = environment_of(
            task,
            encoder,
            theorem_reward(np.array([3.0, worth, 1.0]), np.full(3, -0.05)),
            learners=3,
            episodes=EPISODES,
        )
        settings = SETTINGS.changed(epochs=2)
        weights.append(
            fit_ppo(environment, settings=settings, updates=1, rng=np.random.default_rng(1))
        )
    for name, plain in weights[0].items():
        for other in weights[1:]:
            assert np.array_equal(plain[[0, 2]], other[name][[0, 2]])
