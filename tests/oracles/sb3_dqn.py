"""Stable-baselines3's DQN on the batched decision process: the reference of `lockstep_dqn`.

Its DQN knows no action masks. Here the mask stands at the end of the observation
(`AcquisitionVecEnv(mask_in_observation=True)`): the network reads what is before it, and the values
of masked actions are lowered beyond reach, in choice and target alike; exploration draws among
allowed actions. The update is stable-baselines3's own, unless `double` is set. The only module of
this layer, beside other trainers of stable-baselines3, that knows stable-baselines3.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from frugal.acquire.acquisition import BatchedAcquisition
from frugal.acquire.train.sb3 import AcquisitionVecEnv, generators_put_back, silence
from frugal.config.learners import DqnSettings
from frugal.core.errors import ConfigError
from jaxtyping import Float32
from stable_baselines3 import DQN
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import Tensor, nn

MASKED = -1e9  # value of a masked action; finite, so that (1 − done)·value is never NaN


class MaskedQNetwork(QNetwork):
    """Q(s, ·) of [state, mask]; one head, or two for a dueling network."""

    def __init__(self, *positional: Any, dueling: bool, **settings: Any) -> None:
        super().__init__(*positional, **settings)
        self.dueling, self._actions = dueling, int(self.action_space.n)
        layers = list(self.q_net)[:-1]
        layers[0] = nn.Linear(self.features_dim - self._actions, self.net_arch[0])
        self.q_net = nn.Sequential(*layers)
        self.advantage = nn.Linear(self.net_arch[-1], self._actions)
        self.value = nn.Linear(self.net_arch[-1], 1) if dueling else None

    def forward(self, obs: Any) -> Tensor:
        """Values, those of masked actions lowered beyond reach. (b, A)"""
        features = self.extract_features(obs, self.features_extractor)
        top = self.q_net(features[:, : -self._actions])
        values = self.advantage(top)
        if self.value is not None:
            values = self.value(top) + values - values.mean(dim=1, keepdim=True)
        return values.masked_fill(features[:, -self._actions :] == 0, MASKED)


class MaskedDQNPolicy(DQNPolicy):
    """Online and target network of the masked kind."""

    def __init__(self, *positional: Any, dueling: bool, **settings: Any) -> None:
        self._dueling = dueling
        super().__init__(*positional, **settings)

    def make_q_net(self) -> QNetwork:
        """One network."""
        settings = self._update_features_extractor(self.net_args, features_extractor=None)
        return MaskedQNetwork(dueling=self._dueling, **settings).to(self.device)


class MaskedDQN(DQN):
    """DQN whose exploration draws among allowed actions; double as an option."""

    def __init__(self, *positional: Any, double: bool, **settings: Any) -> None:
        self.double = double
        super().__init__(*positional, **settings)
        self._explorer = np.random.default_rng(self.seed)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, Any]:
        """ε-greedy, each episode by its own draw."""
        action, state = self.policy.predict(observation, state, episode_start, deterministic=True)
        if deterministic:
            return action, state
        random = self._random_actions(observation)
        explores = self._explorer.random(len(random)) < self.exploration_rate
        return np.where(explores, random, action), state

    def train(self, gradient_steps: int, batch_size: int = 100) -> None:
        """Stable-baselines3's updates; with `double` the online network chooses the next action."""
        if not self.double:
            return super().train(gradient_steps, batch_size)
        plain = self.q_net_target
        chosen: Any = _DoubleTarget(self.q_net, plain)
        self.q_net_target = chosen  # all that the update asks of it is its values
        try:
            return super().train(gradient_steps, batch_size)
        finally:
            self.q_net_target = plain

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """As stable-baselines3, but the first random actions are drawn among allowed ones."""
        if self.num_timesteps >= learning_starts:
            return super()._sample_action(learning_starts, action_noise, n_envs)
        action = self._random_actions(np.asarray(self._last_obs))
        return action, action

    def _random_actions(self, observation: np.ndarray) -> np.ndarray:
        allowed = observation[:, -int(self.action_space.n) :]  # pyright: ignore
        return (self._explorer.random(allowed.shape) * allowed).argmax(axis=1)


class _DoubleTarget:
    """Target values at the online network's choice, as the only column: their maximum is they."""

    def __init__(self, online: nn.Module, target: nn.Module) -> None:
        self._online, self._target = online, target

    def __call__(self, observation: Tensor) -> Tensor:
        best = self._online(observation).argmax(dim=1, keepdim=True)
        return self._target(observation).gather(1, best)


def reference_dqn(
    environment: BatchedAcquisition, *, settings: DqnSettings, seed: int
) -> MaskedDQN:
    """Stable-baselines3's DQN with the settings of the lock-step one, untrained.

    Args:
        environment: of one learner.
        settings: of networks and learning.
        seed: of weights, exploration and replay. Stable-baselines3 seeds NumPy and torch globally
            with it; `train_reference` puts them back.

    Raises:
        ConfigError: the loss is not its Huber loss with bound 1.
    """
    if settings.huber_bound != 1:
        raise ConfigError(
            f"stable-baselines3's DQN has the Huber bound 1; `huber_bound` is "
            f"{settings.huber_bound}"
        )
    first, last = settings.learning_rate, settings.learning_rate_last
    learner = MaskedDQN(
        MaskedDQNPolicy,
        AcquisitionVecEnv(environment, mask_in_observation=True),
        double=settings.double,
        policy_kwargs={"net_arch": list(settings.hidden), "dueling": settings.dueling},
        learning_rate=lambda left: last + left * (first - last),
        buffer_size=settings.memory,
        learning_starts=settings.learning_starts,
        batch_size=settings.batch,
        gamma=settings.discount,
        train_freq=1,
        gradient_steps=settings.episodes // settings.transitions_per_update,
        target_update_interval=settings.target_every,
        exploration_fraction=settings.exploration_share,
        exploration_initial_eps=settings.epsilon_first,
        exploration_final_eps=settings.epsilon_last,
        max_grad_norm=settings.max_gradient_norm,
        seed=seed,
        device="cpu",
    )
    silence(learner)
    return learner


def lockstep_weights(model: MaskedDQN) -> dict[str, Float32[np.ndarray, "K _ _"]]:
    """The online network as the one learner of `frugal.acquire.train.lockstep_dqn.QNetworks`."""
    return network_weights(model.q_net.state_dict())


def network_weights(state: Mapping[str, Tensor]) -> dict[str, Float32[np.ndarray, "K _ _"]]:
    """The same from a state of a `MaskedQNetwork`: hidden layers, then the head or heads."""
    hidden = sorted({int(name.split(".")[1]) for name in state if name.startswith("q_net.")})
    names = {f"q_net.{at}": str(i) for i, at in enumerate(hidden)}
    names |= {"advantage": str(len(hidden)), "value": "value"}
    return {
        f"{ours}.{kind}": np.ascontiguousarray(
            (array.T if kind == "weight" else array[None]).detach().cpu().numpy()
        )[None]
        for theirs, ours in names.items()
        for kind in ("weight", "bias")
        if (array := state.get(f"{theirs}.{kind}")) is not None
    }


def train_reference(
    environment: BatchedAcquisition, *, settings: DqnSettings, seed: int
) -> dict[str, Float32[np.ndarray, "K _ _"]]:
    """Weights after `settings.transitions` transitions, for `QNetworks`."""
    torch.set_num_threads(1)
    with generators_put_back():
        model = reference_dqn(environment, settings=settings, seed=seed)
        return lockstep_weights(model.learn(settings.transitions))
