"""The reference trainer: masked everywhere, and its updates equal to those in lock-step."""

import numpy as np
import pytest
import torch
from frugal.acquire.acquisition import BatchedAcquisition, theorem_reward
from frugal.acquire.train.lockstep_dqn import Batch, DqnTrainer, QNetworks
from frugal.config.learners import DqnSettings
from frugal.core.errors import ConfigError

from tests.oracles.sb3_dqn import lockstep_weights, reference_dqn, train_reference
from tests.unit.acquisition_cases import environment_of, small_problem
from tests.unit.double_precision import GAP, LAST_PLACE, double_precision

pytestmark = pytest.mark.trains

SETTINGS = DqnSettings(
    double=False,
    huber_bound=1.0,
    learning_rate_last=1e-3,
    discount=0.99,
    batch=32,
    memory=2000,
    learning_starts=200,
    target_every=100,
    epsilon_last=0.1,
    max_gradient_norm=0.5,
    episodes=8,
    transitions=400,
)


def one_learner(episodes: int) -> BatchedAcquisition:
    task, encoder = small_problem()
    return environment_of(
        task, encoder, theorem_reward(np.array([3.0]), np.array([-0.2])), episodes=episodes
    )


def as_batch(sample, actions: int, target: QNetworks, copies: int) -> Batch:
    """A batch of stable-baselines3, [state, mask], for a few equal learners, in double."""

    def repeated(array: torch.Tensor) -> torch.Tensor:
        return array.unsqueeze(0).repeat(copies, *[1] * array.dim())

    after = repeated(sample.next_observations[:, :-actions].double())
    return Batch(
        repeated(sample.observations[:, :-actions].double()),
        repeated(sample.actions[:, 0]),
        repeated(sample.rewards[:, 0]),
        repeated(sample.dones[:, 0]),
        after,
        repeated(sample.next_observations[:, -actions:] > 0),
        target.values(after),
    )


@pytest.mark.filterwarnings("ignore:The number of environments")
@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("dueling", [False, True])
def test_300_updates_from_the_same_weights_and_batches_agree(monkeypatch, double, dueling):
    settings = SETTINGS.changed(double=double, dueling=dueling)
    environment = one_learner(8)
    model = reference_dqn(environment, settings=settings, seed=0).learn(400)
    model.policy.optimizer.state.clear()
    model.q_net_target.load_state_dict(model.q_net.state_dict())
    start = {k: np.repeat(v, 2, axis=0) for k, v in lockstep_weights(model).items()}
    drawn, sample = [], model.replay_buffer.sample  # pyright: ignore

    def remembered(*positional, **named):
        drawn.append(sample(*positional, **named))
        return drawn[-1]

    monkeypatch.setattr(model.replay_buffer, "sample", remembered)
    with double_precision():
        model.policy.double()
        trainer = DqnTrainer(start, settings)
        for _ in range(3):
            drawn.clear()
            model.train(100, settings.batch)
            for one in drawn:
                trainer.learn(as_batch(one, environment.task.actions, trainer.target, copies=2))
            model.q_net_target.load_state_dict(model.q_net.state_dict())
            trainer.copy_to_target()
    model.policy.float()
    theirs = lockstep_weights(model)
    ours = {k: v.float().numpy() for k, v in trainer.online.parameters.views.items()}
    assert theirs.keys() == ours.keys()
    moved = max(np.abs(ours[name] - start[name]).max() for name in ours)
    assert moved > 0.01
    for name, weights in theirs.items():
        for copy in ours[name]:
            np.testing.assert_allclose(copy, weights[0], rtol=LAST_PLACE, atol=GAP * moved)


@pytest.mark.filterwarnings("ignore:The number of environments")
def test_neither_exploring_nor_greedy_actions_are_masked():
    settings = SETTINGS.changed(dueling=True)
    model = reference_dqn(one_learner(8), settings=settings, seed=1)
    model.learn(400)  # the environment asserts that no masked action is taken
    observation = model.get_env().reset()  # pyright: ignore
    mask = observation[:, -6:]  # pyright: ignore
    for epsilon in (0.0, 1.0):
        model.exploration_rate = epsilon
        for _ in range(20):
            action, _ = model.predict(observation)
            assert mask[np.arange(8), action].all()


@pytest.mark.filterwarnings("ignore:The number of environments")
def test_training_moves_every_weight_and_repeats_itself():
    first, again = (train_reference(one_learner(8), settings=SETTINGS, seed=3) for _ in range(2))
    for name in first:
        np.testing.assert_array_equal(first[name], again[name])
    assert set(first) == {f"{i}.{kind}" for i in range(3) for kind in ("weight", "bias")}


def test_another_loss_than_that_of_the_reference_is_refused():
    settings = SETTINGS.changed(huber_bound=None)
    with pytest.raises(ConfigError, match="`huber_bound` is None"):
        reference_dqn(one_learner(8), settings=settings, seed=0)
