"""Common parts of policies: readings of states, verdicts, beliefs.

Some turn a state into a reading, the same for all members, before they decide: the half that is
computed once of `frugal.core.episodes.ReadingPolicy`; some leave the verdict to the study's
classifier. Knows no kind of agent.
"""

from abc import ABC, abstractmethod

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.acquire.encoders import CallableEncoder
from frugal.core.episodes import (
    Belief,
    Law,
    Panels,
    Readings,
    RowPanels,
    RowReadings,
    RowValues,
    Traits,
    Values,
)
from frugal.core.errors import DataError
from frugal.core.world import World
from frugal.learn.imputer_kinds import Imputer

ERRORS = "errors"  # name of the array of their costs among those of a policy
SMALLEST_BELIEF = 1e-9  # keeps odds finite


class SingleWithoutVerdict:
    """One policy, which says where to stop and not the class."""

    @property
    def members(self) -> int:
        """1."""
        return 1

    @property
    def traits(self) -> Traits:
        """It promises nothing."""
        return Traits()

    def predict(self, values: Values, acquired: Panels) -> None:
        """None: it has no verdict of its own."""


class Reading(ABC):
    """Results of `read`, `decide` and `conclude`."""

    @property
    def traits(self) -> Traits:
        """It promises nothing."""
        return Traits()

    @abstractmethod
    def read(self, values: RowValues, acquired: RowPanels) -> RowReadings:
        """Readings of all members of m states. (m, w)"""

    @abstractmethod
    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """Probability of each panel next, and of "stop" in the last column. (K, m, a + 1)"""

    @abstractmethod
    def conclude(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities if the episode ended here. (K, m, k)"""

    def believe(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities where it may go on: those of an end. (K, m, k)"""
        return self.conclude(reading, acquired)

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """Probability of each panel next, and of "stop" in the last column. (K, m, a + 1)"""
        return self.decide(self._read_all(values, acquired), acquired, available)

    def predict(self, values: Values, acquired: Panels) -> Belief:
        """Class probabilities if the episode ended here. (K, m, k)"""
        return self.conclude(self._read_all(values, acquired), acquired)

    def _read_all(self, values: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        flat = self.read(
            values.reshape(-1, values.shape[2]), acquired.reshape(-1, acquired.shape[2])
        )
        return flat.reshape(*values.shape[:2], -1)


class ThresholdRules(Reading):
    """K rules on the predicted probabilities of trees or networks, each with a threshold.

    Attributes:
        threshold: predicted probability from which a unit is classified as ill. (K,)
    """

    threshold: Float[np.ndarray, " K"]

    @property
    def members(self) -> int:
        """K."""
        return len(self.threshold)

    def read(self, values: RowValues, acquired: RowPanels) -> RowReadings:
        """The state's values, as trees read it. (m, d)"""
        return values.astype(np.float32)

    def conclude(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        return tilted_belief(self.believe(reading, acquired), self.threshold[:, None])


def cheapest_class(
    probability: Float[np.ndarray, "*m k"], errors: Float[np.ndarray, "k k"]
) -> Float[np.ndarray, "*m k"]:
    """1 for the class of least expected cost. (…, k)"""
    return np.eye(len(errors))[(probability @ errors).argmin(axis=-1)]


def completed_rows(imputer: Imputer, values: RowValues) -> Float32[np.ndarray, "m d"]:
    """Rows as an imputer completes them, standardised. (m, d)"""
    return imputer.scaling.standardise(imputer.impute(values)).astype(np.float32)


class CompletesRows(Reading):
    """A policy whose reading is the row as its imputer completes it, standardised.

    Attributes:
        imputer: None where the policy is only given readings.
    """

    imputer: Imputer | None

    def read(self, values: RowValues, acquired: RowPanels) -> Float32[np.ndarray, "m d"]:
        """Completed rows, standardised. (m, d)

        Raises:
            DataError: there is no imputer.
        """
        if self.imputer is None:
            raise DataError("these policies were loaded without the model that completes rows")
        return completed_rows(self.imputer, values)


def completed_states(imputer: Imputer, world: World) -> CallableEncoder:
    """Completed rows, standardised, of the states of a world, made when they are requested."""

    def complete(visible: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        return completed_rows(imputer, visible)

    return CallableEncoder(world, complete, world.values.shape[1])


def panel_or_stop(
    panel: Int[np.ndarray, "*m"], goes_on: Bool[np.ndarray, "*m"], a: int
) -> Float[np.ndarray, "*m {a}+1"]:
    """1 for the panel where the state goes on, else for "stop". (…, a + 1)"""
    return np.eye(a + 1)[np.where(goes_on, panel, a)]


def with_stop(
    panels: Float[np.ndarray, "*m a"], stop: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "*m b"]:
    """Compared values of each panel, and of "stop", in the last column. (…, a + 1)"""
    last = np.broadcast_to(stop, panels.shape[:-1])[..., None]
    return np.concatenate([panels, last], axis=-1)


def tilted_belief(
    probability: Float[np.ndarray, "*m 2"], threshold: Float[np.ndarray, "..."] | float
) -> Float[np.ndarray, "*m 2"]:
    """Beliefs with odds divided by those of a threshold τ, so p = τ becomes one half.

        p′ / (1 − p′) = p / (1 − p) · (1 − τ) / τ

    The most probable diagnosis is then 1 exactly if p ≥ τ (up to ties), and the order of units,
    hence the AUROC, is kept.
    """
    ill = np.clip(probability[..., 1], SMALLEST_BELIEF, 1 - SMALLEST_BELIEF)
    odds = ill / (1 - ill) * ((1 - threshold) / threshold)
    return np.stack([1 / (1 + odds), odds / (1 + odds)], axis=-1)
