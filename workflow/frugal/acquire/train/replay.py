"""Replay memory of K learners in few bytes a transition: unit, set code, action, reward.

A state of costly acquisition is (unit, set of panels), so that the memory of a DQN agent need not
keep observations: they are encoded again when sampled. The next set, the end of the episode and the
masks follow from the same few bytes. It knows no networks and no encoder.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int

from frugal.core.world import World, packed_sets, unpacked_sets


@dataclass(frozen=True, eq=False)
class Transitions:
    """m transitions of each of K learners; a panels.

    Attributes:
        row: unit. (K, m)
        acquired: panels known before. (K, m, a)
        action: taken. (K, m)
        reward: received. (K, m)
        next_acquired: panels known after; as before if the episode ended. (K, m, a)
        done: the episode ended. (K, m)
    """

    row: Int[np.ndarray, "K m"]
    acquired: Bool[np.ndarray, "K m a"]
    action: Int[np.ndarray, "K m"]
    reward: Float32[np.ndarray, "K m"]
    next_acquired: Bool[np.ndarray, "K m a"]
    done: Bool[np.ndarray, "K m"]

    def next_mask(self, task: World) -> Bool[np.ndarray, "K m actions"]:
        """Actions allowed in the next state; terminal ones always. (K, m, actions)"""
        mask = np.ones((*self.row.shape, task.actions), dtype=bool)
        mask[..., : task.panels] = task.available[self.row] & ~self.next_acquired
        return mask


class ReplayMemory:
    """The last transitions of each learner, the oldest overwritten.

    Attributes:
        filled: transitions kept of each learner.
        bytes_per_transition: what one takes.
    """

    def __init__(self, learners: int, capacity: int, panels: int) -> None:
        """Empty memory of `capacity` transitions for each learner."""
        self._panels, self._capacity, self._at, self.filled = panels, capacity, 0, 0
        shape = (learners, capacity)
        self._row = np.zeros(shape, dtype=np.int32)
        self._known = np.zeros((*shape, -(-panels // 8)), dtype=np.uint8)
        # panels, and more ways to end than anybody needs
        self._action = np.zeros(shape, dtype=np.uint8 if panels < 192 else np.uint16)
        self._reward = np.zeros(shape, dtype=np.float32)
        parts = (self._row, self._known, self._action, self._reward)
        self.bytes_per_transition = sum(part[:1, :1].nbytes for part in parts)

    def add(
        self,
        row: Int[np.ndarray, "K E"],
        acquired: Bool[np.ndarray, "K E a"],
        action: Int[np.ndarray, "K E"],
        reward: Float32[np.ndarray, "K E"],
    ) -> None:
        """Keep one transition of each episode: the state before, the action, what it brought."""
        episodes = row.shape[1]
        place = (self._at + np.arange(episodes)) % self._capacity
        self._row[:, place] = row
        self._known[:, place] = packed_sets(acquired)
        self._action[:, place] = action
        self._reward[:, place] = reward
        self._at = (self._at + episodes) % self._capacity
        self.filled = min(self.filled + episodes, self._capacity)

    def take(self, index: Int[np.ndarray, "K m"]) -> Transitions:
        """The transitions at these places, which lie below `filled`."""
        row, action, reward = (
            np.take_along_axis(part, index, axis=1)
            for part in (self._row, self._action, self._reward)
        )
        action = action.astype(np.int64)
        learner = np.arange(len(index))[:, None]
        known = unpacked_sets(self._known[learner, index], self._panels)
        after, done = known.copy(), action >= self._panels
        who, which = np.nonzero(~done)
        after[who, which, action[who, which]] = True
        return Transitions(row.astype(np.int64), known, action, reward, after, done)
