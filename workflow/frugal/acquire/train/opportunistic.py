"""Opportunistic learning: a panel is worth the change of the predicted probabilities per price.

A Q-network learns what all further panels change in sum, discounted (Kachuee and others, ICLR
2019); a panel is bought while its value reaches a least one. Only the predictor reads labels.
Knows no files and no policy interface.

Differs from the paper: probabilities are those of trees of all sets, fitted before and, for units
learnt from, by trees that did not see them; no dropout tells how certain they are.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.acquire.acquisition import BatchedAcquisition
from frugal.acquire.encoders import ValuesEncoder
from frugal.acquire.rewards import Reward
from frugal.acquire.train.lockstep_dqn import fit_dqn
from frugal.acquire.train.masked_trees import MaskedBeliefs
from frugal.config.learners import DqnSettings
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.world import World

ALL, NOTHING = 0.0, 1e9  # least values at which everything, and nothing, is bought
_ROUNDING = 1e-6  # share of the largest value within which two are the same


@dataclass(frozen=True, eq=False)
class NoReward:
    """Nothing for an end, and no price: rewards are what panels change."""

    cost_weight: Float32[np.ndarray, " K"]

    def end(
        self,
        learner: Int[np.ndarray, " m"],
        row: Int[np.ndarray, " m"],
        label: Int[np.ndarray, " m"],
        acquired: Bool[np.ndarray, "m a"],
        terminal: Int[np.ndarray, " m"],
    ) -> Float32[np.ndarray, " m"]:
        """Zeros. (m,)"""
        return np.zeros(len(row), dtype=np.float32)


class ChangingBeliefs(BatchedAcquisition):
    """Episodes in which a panel is rewarded by what it changes.

    Args:
        beliefs: told of the units of the task.
        units: number of each of the task's units among the rows of the beliefs. (n,)
    """

    def __init__(
        self,
        task: World,
        encoder: ValuesEncoder,
        beliefs: MaskedBeliefs,
        units: Int[np.ndarray, " n"],
        *,
        episodes: int,
        rng: np.random.Generator,
    ) -> None:
        self._beliefs, self._units = beliefs, units
        reward: Reward = NoReward(np.zeros(1, dtype=np.float32))
        super().__init__(
            task, encoder, reward, learners=1, episodes=episodes, start="free", rng=rng,
            only_new=True,
        )  # fmt: skip

    def _advance(
        self, action: Int[np.ndarray, "K E"], allowed: Bool[np.ndarray, " KE"]
    ) -> tuple[Float32[np.ndarray, "K E"], Bool[np.ndarray, "K E"]]:
        chosen = action.reshape(-1)
        buys = np.flatnonzero(allowed & (chosen < self.task.panels))
        row, before = self._row[buys].copy(), self._acquired[buys].copy()
        reward, done = super()._advance(action, allowed)
        worth = self._changed(row, before, chosen[buys])
        flat = reward.reshape(-1)
        flat[buys] += worth.astype(np.float32)
        return flat.reshape(reward.shape), done

    def _changed(self, row: np.ndarray, before: np.ndarray, panel: np.ndarray) -> np.ndarray:
        """What panels change: Σ over classes of |p′ − p|, per price in mean prices. (m,)"""
        after = before.copy()
        after[np.arange(len(row)), panel] = True
        units = self._units[row]
        change = self._beliefs.at(units, after) - self._beliefs.at(units, before)
        return 2 * np.abs(change) / relative_price(self.task.action_cost)[panel]


def relative_price(cost: Float[np.ndarray, " a"]) -> Float[np.ndarray, " a"]:
    """Prices over their mean; those without a price are bought at once, and count as one. (a,)"""
    paid = cost > 0
    return np.where(paid, cost / (cost[paid].mean() if paid.any() else 1.0), 1.0)


@dataclass(frozen=True, eq=False)
class LearntValues:
    """A trained network: what is left to change, by the next panel.

    Attributes:
        weights: of the layers.
        scaling: of values that it reads.
        column_bits: whether it reads the known bits of columns.
        mean_return: of the episodes with exploration, at the end.
    """

    weights: dict[str, Float32[np.ndarray, "_ _"]]
    scaling: Scaling
    column_bits: bool
    mean_return: float


def fit_values(
    beliefs: MaskedBeliefs, settings: DqnSettings, rng: np.random.Generator
) -> LearntValues:
    """Train the network on the units that trees learnt from."""
    rows = beliefs.rows
    units = np.flatnonzero(rows.learns)
    task = replace(rows.world.take(units), terminals=1)
    scaling = fit_scaling(task.values, unknown=True)
    encoder = ValuesEncoder.of(replace(task, values=scaling.standardise(task.values)))
    environment = ChangingBeliefs(
        task, encoder, beliefs, units, episodes=settings.episodes, rng=rng.spawn(1)[0]
    )
    found = fit_dqn(environment, settings=settings, moments=1, rngs=[rng.spawn(1)[0]])
    weights = {name: array[0] for name, array in found.weights.items()}
    return LearntValues(weights, scaling, encoder.column_bits, float(found.mean_return[-1, 0]))


def least_values(first: Float[np.ndarray, " n"], count: int) -> Float[np.ndarray, " K"]:
    """Least values that are tried: all, nothing, and some that part the units by first values.

    Each lies midway between two units' values, for at a value itself rounding would decide.
    """
    told = np.sort(np.maximum(first, ALL))
    gaps = np.flatnonzero(np.diff(told) > _ROUNDING * told[-1])
    if not len(gaps):
        return np.array([ALL, NOTHING])
    shares = np.linspace(0, len(told) - 1, max(count - 2, 1))
    parted = gaps[np.searchsorted(gaps, shares).clip(max=len(gaps) - 1)]
    return np.unique([ALL, *(told[parted] + told[parted + 1]) / 2, NOTHING])
