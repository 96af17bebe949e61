"""Greedy information gain per cost: order the panel that is expected to tell most for its price.

A dynamic baseline beside SM-DDPO [diagnosis, sec. 6.2], with its completed rows and a classifier
fitted on randomly masked states. It looks one panel ahead, knows no rewards, and learns no policy.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.acquire.encoders import TabulatedEncoder
from frugal.acquire.reading import CompletesRows, panel_or_stop, tilted_belief, with_stop
from frugal.acquire.train.state_classifier import StateClassifier
from frugal.core.state_codes import set_codes
from frugal.learn.imputers import Imputer

SMALLEST_PROBABILITY = 1e-12  # in logarithms
DISTANCES_AT_ONCE = 1 << 24  # bounds memory


def entropy(belief: Float[np.ndarray, "*m k"]) -> Float[np.ndarray, "*m"]:
    """H(Y) of class probabilities, in nats."""
    return -(belief * np.log(np.maximum(belief, SMALLEST_PROBABILITY))).sum(axis=-1)


@dataclass(frozen=True, eq=False)
class ReferenceUnits:
    """Units on which it is looked up what a panel tells. Shapes: r units, a panels.

    Attributes:
        completed: completed rows at each set of panels, clipped. (r, 2^a, d)
        uncertainty: entropy of the classifier's belief there, in nats. (r, 2^a)
    """

    completed: Float32[np.ndarray, "r sets d"]
    uncertainty: Float[np.ndarray, "r sets"]

    @classmethod
    def drawn(
        cls,
        completed: TabulatedEncoder,
        classifier: StateClassifier,
        *,
        units: int,
        rng: np.random.Generator,
    ) -> "ReferenceUnits":
        """Some training units, drawn without replacement; all of them if there are fewer."""
        chosen = np.sort(rng.permutation(len(completed.table))[:units])
        return cls.of(TabulatedEncoder(completed.table[chosen]), classifier)

    @classmethod
    def of(cls, completed: TabulatedEncoder, classifier: StateClassifier) -> "ReferenceUnits":
        """All units of a table of completed rows."""
        bound = classifier.input_bound
        table = np.clip(completed.table, -bound, bound)
        belief = classifier.belief(table.reshape(-1, table.shape[2]))
        return cls(table, entropy(belief).reshape(table.shape[:2]))


def information_gains(
    reference: ReferenceUnits,
    completed: Float32[np.ndarray, "m d"],
    code: Int[np.ndarray, " m"],
    *,
    panels: int,
    neighbours: int,
) -> Float[np.ndarray, "m a"]:
    """Expected fall of the label's entropy by each panel, in nats; 0 for panels acquired. (m, a)

        gain_j(s) = 1/|N(s)| Σ_{u ∈ N(s)} [H(Y | u at S) − H(Y | u at S ∪ {j})]

    N(s): the training units nearest to the state (Euclidean, completed rows) when they show the
    same panels S. They stand for draws of panel j given what is known; H is by the classifier.

    Args:
        reference: the units.
        completed: rows of the states, completed. (m, d)
        code: of the panels known. (m,)
        panels: a.
        neighbours: |N|.
    """
    gain = np.zeros((len(code), panels))
    bits = np.int64(1) << np.arange(panels)
    at_once = max(1, DISTANCES_AT_ONCE // len(reference.completed))
    for known in np.unique(code):
        fall = reference.uncertainty[:, [known]] - reference.uncertainty[:, known | bits]
        shown = reference.completed[:, known]
        rows = np.flatnonzero(code == known)
        for start in range(0, len(rows), at_once):
            part = rows[start : start + at_once]
            near = _nearest(shown, completed[part], neighbours)
            gain[part] = fall[near].mean(axis=1)
    return gain


def _nearest(shown: np.ndarray, states: np.ndarray, count: int) -> Int[np.ndarray, "m c"]:
    """Indices of the nearest units of each state, in no particular order. (m, count)"""
    count = min(count, len(shown))
    distance = np.square(shown).sum(axis=1) - 2 * states @ shown.T  # less the state's own length
    if count == len(shown):
        return np.broadcast_to(np.arange(count), (len(states), count))
    return np.argpartition(distance, count - 1, axis=1)[:, :count]


@dataclass(frozen=True, eq=False)
class GreedyPolicies(CompletesRows):
    """K policies that order the best gain per cost while it reaches their threshold.

    Attributes:
        reference: where gains are looked up.
        classifier: gives beliefs and diagnoses.
        imputer: completes rows.
        action_cost: of each panel, in the data set's unit. (a,)
        neighbours: units that stand for a state.
        least_gain: per unit of cost, in nats; what each policy stops below. (K,)
        threshold: of the probability of illness, of each policy. (K,)
    """

    reference: ReferenceUnits
    classifier: StateClassifier
    imputer: Imputer
    action_cost: Float[np.ndarray, " a"]
    neighbours: int
    least_gain: Float[np.ndarray, " K"]
    threshold: Float[np.ndarray, " K"]
    compares: ClassVar[str] = "nats per unit of price"

    @property
    def members(self) -> int:
        """K."""
        return len(self.least_gain)

    def decide(
        self,
        reading: Float32[np.ndarray, "K m d"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float[np.ndarray, "K m a+1"]:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        weight = self.weigh(reading, acquired, available)
        per_cost = weight[..., :-1]
        goes_on = per_cost.max(axis=2) >= weight[..., -1]
        return panel_or_stop(per_cost.argmax(axis=2), goes_on, len(self.action_cost))

    def weigh(
        self,
        reading: Float32[np.ndarray, "K m d"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float[np.ndarray, "K m a+1"]:
        """Gain per cost of each open panel, then the least one that is ordered. (K, m, a + 1)"""
        a, shape = len(self.action_cost), acquired.shape[:2]
        gain = information_gains(
            self.reference, self._clipped(reading), set_codes(acquired.reshape(-1, a)),
            panels=a, neighbours=self.neighbours,
        )  # fmt: skip
        per_cost = _per_cost(gain, self.action_cost).reshape(*shape, a)
        per_cost = np.where(available & ~acquired, per_cost, -np.inf)
        return with_stop(per_cost, self.least_gain[:, None])

    def conclude(
        self, reading: Float32[np.ndarray, "K m d"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        belief = self.classifier.belief(self._clipped(reading)).reshape(*acquired.shape[:2], 2)
        return tilted_belief(belief, self.threshold[:, None])

    def _clipped(self, reading: np.ndarray) -> np.ndarray:
        bound = self.classifier.input_bound
        return np.clip(reading.reshape(-1, reading.shape[2]), -bound, bound)


def _per_cost(gain: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Gain per unit of cost; of a panel without cost, infinite with the sign of the gain."""
    unpaid = np.where(gain > 0, np.inf, -np.inf)
    return np.divide(gain, cost, out=unpaid, where=np.broadcast_to(cost > 0, gain.shape))
