"""Rewards of costly acquisition, one for each of K learners: costs of panels, worth of the end.

Holds the reshaped reward of [diagnosis, thm 4.1], the pairs that its front is made of, and the
reward of an agent that only stops [afape, eq. 1]. It knows no policy, no encoder and no trainer.
Discounts are the trainers' matter; these rewards are meant for discount 1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.core.world import set_codes

RATIOS = tuple(range(1, 11))  # of the penalties: a missed ill unit over a false alarm
PENALTIES = (*range(1, 11), *range(20, 101, 10))  # W, in the unit of the panels' costs

Loss = Callable[[Int[np.ndarray, " m"], Bool[np.ndarray, "m a"]], Float[np.ndarray, " m"]]


@runtime_checkable
class Reward(Protocol):
    """What K learners get: −cost_weight·c for a panel, and an amount for the end."""

    @property
    def cost_weight(self) -> Float32[np.ndarray, " K"]:
        """Price of one unit of cost for each learner. (K,)"""
        ...

    def end(
        self,
        learner: Int[np.ndarray, " m"],
        row: Int[np.ndarray, " m"],
        label: Int[np.ndarray, " m"],
        acquired: Bool[np.ndarray, "m a"],
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
        acquired: Bool[np.ndarray, "m a"],
        terminal: Int[np.ndarray, " m"],
    ) -> Float32[np.ndarray, " m"]:
        """Entry of the matrix. (m,)"""
        return self.matrix[learner, label, terminal]


@dataclass(frozen=True, eq=False)
class StopReward:
    """−loss of the decision that is taken with what was acquired when the agent stops.

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
        acquired: Bool[np.ndarray, "m a"],
        terminal: Int[np.ndarray, " m"],
    ) -> Float32[np.ndarray, " m"]:
        """−loss(unit, set), the same for every learner. (m,)"""
        if isinstance(self.loss, np.ndarray):
            return -self.loss[row, set_codes(acquired)]
        return -self.loss(row, acquired).astype(np.float32)


def reward_pairs() -> Float[np.ndarray, "190 2"]:
    """The 190 pairs of the front: (penalty ratio, penalty W), the ratio outermost. (190, 2)

    ASSUME: the paper says 190 pairs only; these are the pairs of the authors' release.
    """
    ratio, penalty = np.meshgrid(RATIOS, PENALTIES, indexing="ij")
    return np.column_stack([ratio.ravel(), penalty.ravel()]).astype(np.float64)


def theorem_reward(lam: Float[np.ndarray, " K"], rho: Float[np.ndarray, " K"]) -> DiagnosisReward:
    """Reward whose expected sum is TN(π) + λ·TP(π) + ρ·Cost(π)  [diagnosis, thm 4.1].

        r = ρ·c(panel),   λ·1{y = 1} for diagnosing 1,   1{y = 0} for diagnosing 0

    Args:
        lam: worth of a true positive, a true negative being worth 1. (K,)
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
