"""The decision process for one unit at a time, as a Gymnasium environment.

The plain counterpart of the batched environment.
"""

from typing import Any

import gymnasium
import numpy as np
from frugal.acquire.acquisition import Reward, Start
from frugal.core.world import StateEncoder, World
from gymnasium import spaces
from jaxtyping import Bool, Float32


class AcquisitionEnv(gymnasium.Env):
    """One episode: a random unit, panels at a price, and a terminal action.

    A trainer should heed `action_masks`. An action that the mask excludes changes nothing and costs
    its panel's price (`info["masked"]` is then True); with such actions an episode can outlast its
    a + 1 steps, and is truncated there.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 (Gymnasium's own attribute)

    def __init__(
        self, task: World, encoder: StateEncoder, reward: Reward, *, learner: int, start: Start
    ) -> None:
        """Environment of one learner of a reward; `start` is "free" or "random"."""
        self.task = task
        self._encoder, self._reward, self._start = encoder, reward, start
        self._learner = np.array([learner])
        self._steps = 0
        self._row = np.zeros(1, dtype=np.int64)
        self._acquired = np.zeros((1, task.panels), dtype=bool)
        self.observation_space = spaces.Box(-np.inf, np.inf, (encoder.width,), np.float32)
        self.action_space = spaces.Discrete(task.actions)

    def action_masks(self) -> Bool[np.ndarray, " actions"]:
        """True where an action is allowed in the current state. (actions,)"""
        open_panels = self.task.available[self._row[0]] & ~self._acquired[0]
        return np.append(open_panels, np.ones(self.task.terminals, dtype=bool))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Float32[np.ndarray, " w"], dict[str, Any]]:
        """A new unit at its start."""
        super().reset(seed=seed)
        self._row[0] = self.np_random.integers(len(self.task))
        self._acquired[:], self._steps = False, 0
        if self._start == "random":
            starting = self.np_random.random(self.task.panels) < 0.5
            self._acquired[0] = starting & self.task.available[self._row[0]]
        return self._observe(), {}

    def step(
        self, action: Any
    ) -> tuple[Float32[np.ndarray, " w"], float, bool, bool, dict[str, Any]]:
        """Acquire a panel or end the episode."""
        chosen = int(action)
        self._steps += 1
        masked = not bool(self.action_masks()[chosen])
        if chosen < self.task.panels:
            price = self._reward.cost_weight[self._learner[0]] * self.task.action_cost[chosen]
            self._acquired[0, chosen] |= not masked
            late = self._steps > self.task.panels
            return self._observe(), -float(price), False, late, {"masked": masked}
        end = self._reward.end(
            self._learner,
            self._row,
            self.task.label[self._row],
            self._acquired,
            np.array([chosen - self.task.panels]),
        )
        return self._observe(), float(end[0]), True, False, {"masked": False}

    def _observe(self) -> Float32[np.ndarray, " w"]:
        return self._encoder.encode(self._row, self._acquired)[0]
