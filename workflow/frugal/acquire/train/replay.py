"""Replay memory of K learners in few bytes a transition: unit, set code, action, reward.

A state of costly acquisition is (unit, set of panels), so that the memory of a DQN agent need not
keep observations: they are encoded again when sampled. The next set, the end of the episode and the
masks follow from the same few bytes. It knows no networks and no encoder.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int, Shaped

from frugal.core.state_codes import set_codes, sets_of
from frugal.core.world import World


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
        self._code: Shaped[np.ndarray, "K c"] = np.zeros(shape, dtype=_code_type(panels))
        self._action = np.zeros(shape, dtype=np.uint8)
        self._reward = np.zeros(shape, dtype=np.float32)
        parts = (self._row, self._code, self._action, self._reward)
        self.bytes_per_transition = sum(part.itemsize for part in parts)

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
        self._code[:, place] = set_codes(acquired.reshape(-1, self._panels)).reshape(row.shape)
        self._action[:, place] = action
        self._reward[:, place] = reward
        self._at = (self._at + episodes) % self._capacity
        self.filled = min(self.filled + episodes, self._capacity)

    def take(self, index: Int[np.ndarray, "K m"]) -> Transitions:
        """The transitions at these places, which lie below `filled`."""
        row, code, action, reward = (
            np.take_along_axis(part, index, axis=1)
            for part in (self._row, self._code, self._action, self._reward)
        )
        code, action = code.astype(np.int64), action.astype(np.int64)
        done = action >= self._panels
        revealed = np.left_shift(np.int64(1), np.where(done, 0, action))
        return Transitions(
            row.astype(np.int64),
            self._sets(code),
            action,
            reward,
            self._sets(code | np.where(done, 0, revealed)),
            done,
        )

    def _sets(self, code: Int[np.ndarray, "K m"]) -> Bool[np.ndarray, "K m a"]:
        return sets_of(code.ravel(), self._panels).reshape(*code.shape, self._panels)


def _code_type(panels: int) -> type[np.unsignedinteger]:
    """The smallest unsigned integers that hold a set code."""
    for kind in (np.uint8, np.uint16, np.uint32):
        if panels <= np.iinfo(kind).bits:
            return kind
    return np.uint64
