"""The batched decision process as a vectorised environment of stable-baselines3.

Action masks are asked for by `env_method("action_masks")`, or stand at the end of the observation
for trainers whose memory keeps observations only (the reference DQN). It also keeps what
stable-baselines3 does beside training away from all others: global seeds, folders of logs. The only
module of this layer that knows it.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from jaxtyping import Float, Float32
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.vec_env import VecEnv

from frugal.acquire.acquisition import BatchedAcquisition


@contextmanager
def generators_put_back() -> Iterator[None]:
    """Put the global generators of Python, NumPy and torch back, which every trainer seeds."""
    kept = np.random.get_state(legacy=False), torch.random.get_rng_state()  # noqa: NPY002
    kept_python = random.getstate()
    try:
        yield
    finally:
        np.random.set_state(kept[0])  # noqa: NPY002
        torch.random.set_rng_state(kept[1])
        random.setstate(kept_python)


def silence(learner: BaseAlgorithm) -> None:
    """Let a trainer log nothing; its own logger would make a folder among temporary files."""
    learner.set_logger(Logger(folder=None, output_formats=[]))


class AcquisitionVecEnv(VecEnv):
    """E episodes of one learner; an episode that ends goes on with a new unit.

    An action that the mask excludes is a mistake of the trainer and fails an assertion.
    """

    def __init__(self, environment: BatchedAcquisition, *, mask_in_observation: bool) -> None:
        """Wrap an environment of K = 1.

        Args:
            environment: the batched process.
            mask_in_observation: True appends the action mask, as 0 and 1, to the observation.
        """
        learners, episodes, width = environment.observation.shape
        assert learners == 1, "bug: stable-baselines3 trains one learner at a time"
        actions = environment.task.actions
        width += actions * mask_in_observation
        self._environment, self._append = environment, mask_in_observation
        self._no_infos: list[dict[str, Any]] = [{} for _ in range(episodes)]
        super().__init__(
            episodes,
            spaces.Box(-np.inf, np.inf, (width,), np.float32),
            spaces.Discrete(actions),
        )

    def reset(self) -> Float32[np.ndarray, "E w"]:
        """Current observations: the process restarts by itself and is never at an end."""
        self._seen = self._observe()
        return self._seen

    def step_async(self, actions: np.ndarray) -> None:
        """Keep the actions for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Observations, rewards, ends and infos of one step of all episodes."""
        last = self._seen
        reward, done = self._environment.step(self._actions[None])
        self._seen = self._observe()
        infos = self._no_infos
        if done.any():
            infos = list(infos)
            for i in np.flatnonzero(done[0]):
                infos[i] = {"terminal_observation": last[i], "TimeLimit.truncated": False}
        return self._seen, reward[0], done[0], infos

    def close(self) -> None:
        """Nothing is open."""

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """The attribute of the whole batch, once for each episode asked for."""
        return [getattr(self, attr_name, None)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Episodes share their attributes, so that none can be set for one of them."""
        raise AttributeError(f"{attr_name!r} cannot be set on a batched environment")

    def env_method(
        self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any
    ) -> list[Any]:
        """Answers `action_masks`, the one method that trainers ask for."""
        if method_name != "action_masks":
            raise AttributeError(f"a batched environment has no method {method_name!r}")
        mask = self._environment.action_mask[0]
        return [mask[i] for i in self._chosen(indices)]

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Never."""
        return [False] * len(self._chosen(indices))

    def has_attr(self, attr_name: str) -> bool:
        """True for `action_masks`: the trainer then asks for masks."""
        return attr_name == "action_masks" or hasattr(self, attr_name)

    def _chosen(self, indices: int | Sequence[int] | None) -> Sequence[int]:
        return list(self._get_indices(indices))

    def _observe(self) -> Float32[np.ndarray, "E w"]:
        seen = self._environment.observation[0]
        if not self._append:
            return seen
        return np.hstack([seen, self._environment.action_mask[0].astype(np.float32)])


class OpenVecEnv(AcquisitionVecEnv):
    """The same for trainers that may know no masks: as `gym_adapter.AcquisitionEnv`, in a batch.

    A masked action changes nothing and costs its panel's price; an episode is truncated after
    a + 1 steps. A reset begins every episode anew. It notes how episodes end.

    Attributes:
        transitions: so far, over all episodes.
        ends: at each step at which episodes ended: transitions so far, episodes that ended, and
            their sum of returns.
    """

    def __init__(self, environment: BatchedAcquisition) -> None:
        super().__init__(environment, mask_in_observation=False)
        self.ends: list[tuple[int, int, float]] = []
        self.transitions = 0
        self._steps = np.zeros(self.num_envs, dtype=np.int64)
        self._return: Float[np.ndarray, " E"] = np.zeros(self.num_envs)

    def reset(self) -> Float32[np.ndarray, "E w"]:
        """Observations of new episodes."""
        self._environment.restart(np.ones((1, self.num_envs), dtype=bool))
        self._steps[:], self._return[:] = 0, 0.0
        return super().reset()

    def step_wait(self) -> Any:
        """Observations, rewards, ends and infos of one step of all episodes."""
        last = self._seen
        gained, stopped = (part[0] for part in self._environment.attempt(self._actions[None]))
        self._steps += 1
        self._return += gained
        self.transitions += self.num_envs
        late = ~stopped & (self._steps > self._environment.task.panels)
        done, infos = stopped | late, list(self._no_infos)
        final = np.where(late[:, None], self._observe(), last)  # a terminal action changes no panel
        if late.any():
            self._environment.restart(late[None])
        for i in np.flatnonzero(done):
            infos[i] = {"terminal_observation": final[i], "TimeLimit.truncated": bool(late[i])}
        if done.any():
            ended = self.transitions, int(done.sum()), float(self._return[done].sum())
            self.ends.append(ended)
            self._steps[done], self._return[done] = 0, 0.0
        self._seen = self._observe()
        return self._seen, gained, done, infos
