"""Costly acquisition as a decision process, for K learners × E episodes at once, and its rewards.

The environment of [diagnosis, sec. 3] and of the trained agents of [afape]: units come at random, a
panel costs, a terminal action ends the episode and the next unit takes its place. One call of the
encoder serves all episodes of a step. Rewards are costs of panels and the value of the end: the
reshaped reward of [diagnosis, thm 4.1], the pairs that its front is made of, and the reward of an
agent that only stops [afape, eq. 1]; discounts are the trainers' matter, they are meant for
discount 1. Knows no policy, no trainer and no classifier.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.core.episodes import RowPanels
from frugal.core.errors import DataError
from frugal.core.world import StateEncoder, World, adds_column, set_codes

Loss = Callable[[Int[np.ndarray, " m"], RowPanels], Float[np.ndarray, " m"]]
Start = Literal["free", "random", "mixed"]
FREE_SHARE = 0.5  # of the episodes of a mixed start that begin with the free block alone


@runtime_checkable
class Reward(Protocol):
    """Rewards of K learners: −cost_weight·c for a panel, and an amount for the end."""

    @property
    def cost_weight(self) -> Float32[np.ndarray, " K"]:
        """Price of one unit of cost for each learner. (K,)"""
        ...

    def end(
        self,
        learner: Int[np.ndarray, " m"],
        row: Int[np.ndarray, " m"],
        label: Int[np.ndarray, " m"],
        acquired: RowPanels,
        terminal: Int[np.ndarray, " m"],
    ) -> Float32[np.ndarray, " m"]:
        """Reward of m ends: learner, unit, its class, its panels, terminal action from 0. (m,)"""
        ...


@dataclass(frozen=True, eq=False)
class DiagnosisReward:
    """Reward of a diagnosis, by the unit's class and the class diagnosed.

    Attributes:
        matrix: indexed by learner, true class and diagnosed class. (K, k, k)
        cost_weight: a panel of cost c is rewarded −cost_weight·c. (K,)
    """

    matrix: Float32[np.ndarray, "K k k"]
    cost_weight: Float32[np.ndarray, " K"]

    def end(
        self,
        learner: Int[np.ndarray, " m"],
        row: Int[np.ndarray, " m"],
        label: Int[np.ndarray, " m"],
        acquired: RowPanels,
        terminal: Int[np.ndarray, " m"],
    ) -> Float32[np.ndarray, " m"]:
        """Entry of the matrix. (m,)"""
        return self.matrix[learner, label, terminal]


@dataclass(frozen=True, eq=False)
class StopReward:
    """−loss of the decision that is taken with the panels acquired when the agent stops.

    Attributes:
        loss: of each unit at each set, by code (n, 2^a); or a function (row, acquired) → (m,).
        cost_weight: a panel of cost c is rewarded −cost_weight·c. (K,)
    """

    loss: Float32[np.ndarray, "n sets"] | Loss
    cost_weight: Float32[np.ndarray, " K"]

    def end(
        self,
        learner: Int[np.ndarray, " m"],
        row: Int[np.ndarray, " m"],
        label: Int[np.ndarray, " m"],
        acquired: RowPanels,
        terminal: Int[np.ndarray, " m"],
    ) -> Float32[np.ndarray, " m"]:
        """−loss(unit, set), the same for every learner. (m,)"""
        if isinstance(self.loss, np.ndarray):
            return -self.loss[row, set_codes(acquired)]
        return -self.loss(row, acquired).astype(np.float32)


def theorem_reward(lam: Float[np.ndarray, " K"], rho: Float[np.ndarray, " K"]) -> DiagnosisReward:
    """Reward whose expected sum is TN(π) + λ·TP(π) + ρ·Cost(π)  [diagnosis, thm 4.1].

        r = ρ·c(panel),   λ·1{y = 1} for diagnosing 1,   1{y = 0} for diagnosing 0

    Args:
        lam: weight of a true positive; a true negative has 1. (K,)
        rho: of one unit of cost; not above zero. (K,)
    """
    assert (rho <= 0).all(), "bug: a cost would be rewarded"
    matrix = np.zeros((len(lam), 2, 2), dtype=np.float32)
    matrix[:, 0, 0] = 1.0
    matrix[:, 1, 1] = lam
    return DiagnosisReward(matrix, (-rho).astype(np.float32))


def release_reward(
    ratio: Float[np.ndarray, " K"], penalty: Float[np.ndarray, " K"]
) -> DiagnosisReward:
    """The same front as penalties for errors, as in the authors' release  [diagnosis, thm 4.1].

        r = −c(panel),   −W·1{y = 0} for diagnosing 1,   −W·ratio·1{y = 1} for diagnosing 0

    For λ = ratio and ρ = −1/W it is W times the reward of `theorem_reward`, less a constant of the
    unit (W, or W·ratio if it is ill) that no policy changes: the two have the same best policies.

    Args:
        ratio: penalty of a missed ill unit over that of a false alarm. (K,)
        penalty: W, of a false alarm, in the unit of cost. (K,)
    """
    matrix = np.zeros((len(ratio), 2, 2), dtype=np.float32)
    matrix[:, 0, 1] = -penalty
    matrix[:, 1, 0] = -penalty * ratio
    return DiagnosisReward(matrix, np.ones(len(ratio), dtype=np.float32))


class BatchedAcquisition:
    """K × E episodes in arrays; `step` advances all of them and restarts those that end.

    Episode e of every learner draws its units and starting panels from the same numbers, so that
    a learner's draws do not depend on how many others are trained with it.

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
            starting = self._rng.random((episodes, self.task.panels), dtype=np.float32) < 0.5
            if self._start == "mixed":
                starting &= self._rng.random((episodes, 1)) >= FREE_SHARE
            self._acquired[ended] = starting[place] & self.task.available[row[place]]

    def _look(self) -> None:
        """Observations and masks of the current states."""
        observation = self.encoder.encode(self._row, self._acquired)
        self.observation: Float32[np.ndarray, "K E w"] = observation.reshape(*self._shape, -1)
        mask = np.ones((len(self._row), self.task.actions), dtype=bool)
        np.greater(self.task.available[self._row], self._acquired, out=mask[:, : self.task.panels])
        if self._only_new:
            mask[:, : self.task.panels] &= adds_column(self.task.adds, self._acquired)
        self.action_mask: Bool[np.ndarray, "K E actions"] = mask.reshape(*self._shape, -1)
