"""Costly acquisition as a decision process: units, panels, terminal actions; and state encoders.

Serves `diagnosis` (Yu et al. 2023), the trained agents of `afape`, and whatever learns to acquire.
Knows no policy, no trainer, no reward and no classifier.

A state is (unit, set of acquired panels). A set is also written as a code, Σⱼ acquiredⱼ 2ʲ.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.contracts.errors import DataError

MOST_ACTIONS = 62  # panels that fit into a 64-bit set code
MOST_ENUMERATED = 20  # panels whose 2^a sets are ever listed at once


@dataclass(frozen=True, eq=False)
class AcquisitionTask:
    """Units of a decision process. Shapes: n units, a acquirable panels, k classes.

    Actions 0 … a − 1 acquire a panel; actions a … a + terminals − 1 end the episode: either one
    "stop", or one diagnosis for each class, in the order of the classes.

    Attributes:
        available: True where the panel can be had for the unit at all. (n, a)
        label: class index. (n,)
        action_cost: price of each panel, in the data set's unit; never below zero. (a,)
        classes: number of classes k.
        terminals: 1 ("stop"), or k (a diagnosis for each class).
    """

    available: Bool[np.ndarray, "n a"]
    label: Int[np.ndarray, " n"]
    action_cost: Float[np.ndarray, " a"]
    classes: int
    terminals: int

    def __post_init__(self) -> None:
        n, a = self.available.shape
        if not n:
            raise DataError("a decision process needs at least one unit; there is none")
        if a > MOST_ACTIONS:
            raise DataError(f"there are {a} panels to acquire; at most {MOST_ACTIONS} are allowed")
        if (self.action_cost < 0).any() or not np.isfinite(self.action_cost).all():
            raise DataError("the cost of a panel is below zero or not a number")
        if self.terminals not in (1, self.classes):
            raise DataError(
                f"a decision process ends in {self.terminals} ways; allowed are 1 (stop) and "
                f"{self.classes} (one diagnosis for each class)"
            )

    def __len__(self) -> int:
        return len(self.label)

    @property
    def panels(self) -> int:
        """Number of panels that can be acquired, a."""
        return len(self.action_cost)

    @property
    def actions(self) -> int:
        """Number of actions, a + terminals."""
        return self.panels + self.terminals

    def take(self, rows: np.ndarray) -> "AcquisitionTask":
        """The same process restricted to units (indices or a boolean mask)."""
        return AcquisitionTask(
            self.available[rows], self.label[rows], self.action_cost, self.classes, self.terminals
        )


@runtime_checkable
class StateEncoder(Protocol):
    """Turns states into what a policy network reads; one call for all states of a step."""

    @property
    def width(self) -> int:
        """Entries of an observation, w."""
        ...

    def encode(
        self, row: Int[np.ndarray, " m"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float32[np.ndarray, "m w"]:
        """Observation of m states: unit (index into the task's units) and acquired panels. (m, w)

        It reads nothing of a unit but free columns and those that an acquired panel reveals.
        """
        ...
