"""Costly acquisition as a decision process, for K learners × E episodes at once.

The environment of [diagnosis, sec. 3] and of the trained agents of [afape]: units come at random, a
panel costs, a terminal action ends the episode and the next unit takes its place. One call of the
encoder serves all episodes of a step. It knows no policy, no trainer and no classifier.
"""

from typing import Literal

import numpy as np
from jaxtyping import Bool, Float32, Int

from frugal.acquire.rewards import Reward
from frugal.core.errors import DataError
from frugal.core.world import StateEncoder, World, adds_column

Start = Literal["free", "random", "mixed"]
FREE_SHARE = 0.5  # of the episodes of a mixed start that begin with the free block alone


class BatchedAcquisition:
    """K × E episodes in arrays; `step` advances all of them and restarts those that end.

    Episode e of every learner draws its units and starting panels from the same numbers, so that
    what a learner meets does not depend on how many others are trained beside it.

    Attributes:
        task: units, panels and terminal actions.
        encoder: makes observations of states.
        observation: of the current states. (K, E, w)
        action_mask: True where an action is allowed: panels that are available and not acquired
            (with `only_new`: and add a column); terminal actions always. (K, E, a + terminals)
        row: unit of each episode. (K, E)
        acquired: panels known in each episode. (K, E, a)
    """

    def __init__(
        self,
        task: World,
        encoder: StateEncoder,
        reward: Reward,
        *,
        learners: int,
        episodes: int,
        start: Start,
        rng: np.random.Generator,
        only_new: bool = False,
    ) -> None:
        """Start K × E episodes.

        Args:
            task: the units.
            encoder: makes observations of states.
            reward: for each learner.
            learners: K.
            episodes: E, of each learner.
            start: "free": no panel is known at first; "random": each available panel is, at no
                cost, with probability ½ (the random subsets of [diagnosis, sec. 5]); "mixed": the
                one or the other with probability ½.
            rng: source of units and starting panels.
            only_new: whether panels that add no column to those known are masked.
        """
        assert len(reward.cost_weight) == learners, "bug: rewards and learners differ in number"
        if not len(task):
            raise DataError("a decision process needs at least one unit; there is none")
        self.task = task
        self.encoder, self._reward, self._start, self._rng = encoder, reward, start, rng
        self._only_new = only_new
        self._shape = (learners, episodes)
        m = learners * episodes
        self._at = np.arange(m)
        self._learner = np.repeat(np.arange(learners), episodes)
        price = np.zeros((learners, task.actions), dtype=np.float32)
        price[:, : task.panels] = reward.cost_weight[:, None] * task.action_cost
        self._price = price
        self._row = np.zeros(m, dtype=np.int64)
        self._acquired = np.zeros((m, task.panels), dtype=bool)
        self._restart(self._at)
        self._look()

    @property
    def row(self) -> Int[np.ndarray, "K E"]:
        """Unit of each episode. (K, E)"""
        return self._row.reshape(self._shape)

    @property
    def acquired(self) -> Bool[np.ndarray, "K E a"]:
        """Panels known in each episode. (K, E, a)"""
        return self._acquired.reshape(*self._shape, -1)

    def step(
        self, action: Int[np.ndarray, "K E"]
    ) -> tuple[Float32[np.ndarray, "K E"], Bool[np.ndarray, "K E"]]:
        """Take one action in every episode; ended ones go on with a new unit.

        The state in which an episode ends is the one before the step: a terminal action changes
        no panel.

        Returns:
            reward (K, E), in the reward's unit, and done (K, E).

        Raises:
            AssertionError: an action is masked, a mistake of our own.
        """
        allowed = self._allowed(action)
        assert allowed.all(), "bug: an action is taken that the mask excludes"
        return self._advance(action, allowed)

    def attempt(
        self, action: Int[np.ndarray, "K E"]
    ) -> tuple[Float32[np.ndarray, "K E"], Bool[np.ndarray, "K E"]]:
        """As `step`, for trainers without masks: a masked action is paid for and changes nothing.

        Such episodes may never end; `restart` cuts them off.
        """
        return self._advance(action, self._allowed(action))

    def restart(self, cut: Bool[np.ndarray, "K E"]) -> None:
        """Go on with a new unit where True, whatever the state."""
        self._restart(np.flatnonzero(cut))
        self._look()

    def _allowed(self, action: Int[np.ndarray, "K E"]) -> Bool[np.ndarray, " KE"]:
        mask = self.action_mask.reshape(len(self._at), -1)
        return mask[self._at, action.reshape(-1)]

    def _advance(
        self, action: Int[np.ndarray, "K E"], allowed: Bool[np.ndarray, " KE"]
    ) -> tuple[Float32[np.ndarray, "K E"], Bool[np.ndarray, "K E"]]:
        chosen = action.reshape(-1)
        reward = -self._price[self._learner, chosen]
        done = chosen >= self.task.panels
        going, ended = np.flatnonzero(allowed & ~done), np.flatnonzero(done)
        self._acquired[going, chosen[going]] = True
        if ended.size:
            reward[ended] = self._reward.end(
                self._learner[ended],
                self._row[ended],
                self.task.label[self._row[ended]],
                self._acquired[ended],
                chosen[ended] - self.task.panels,
            )
        self._restart(ended)
        self._look()
        return reward.reshape(self._shape), done.reshape(self._shape)

    def _restart(self, ended: Int[np.ndarray, " r"]) -> None:
        """New units, and starting panels, for the episodes that ended."""
        episodes = self._shape[1]
        row = self._rng.integers(len(self.task), size=episodes)
        place = ended % episodes
        self._row[ended] = row[place]
        if self._start == "free":
            self._acquired[ended] = False
        else:
            known = self._rng.random((episodes, self.task.panels), dtype=np.float32) < 0.5
            if self._start == "mixed":
                known &= self._rng.random((episodes, 1)) >= FREE_SHARE
            self._acquired[ended] = known[place] & self.task.available[row[place]]

    def _look(self) -> None:
        """Observations and masks of the current states."""
        seen = self.encoder.encode(self._row, self._acquired)
        self.observation: Float32[np.ndarray, "K E w"] = seen.reshape(*self._shape, -1)
        mask = np.ones((len(self._row), self.task.actions), dtype=bool)
        np.greater(self.task.available[self._row], self._acquired, out=mask[:, : self.task.panels])
        if self._only_new:
            mask[:, : self.task.panels] &= adds_column(self.task.adds, self._acquired)
        self.action_mask: Bool[np.ndarray, "K E actions"] = mask.reshape(*self._shape, -1)
