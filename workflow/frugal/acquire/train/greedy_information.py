"""Greedy information gain per cost: order the panel that is expected to tell most for its price.

A dynamic baseline beside SM-DDPO [diagnosis, sec. 6.2], with its completed rows and a classifier
fitted on randomly masked states. It looks one panel ahead, knows no rewards, and learns no policy.
"""

from collections import OrderedDict
from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.acquire.encoders import CallableEncoder, TabulatedEncoder
from frugal.acquire.reading import CompletesRows, panel_or_stop, tilted_belief, with_stop
from frugal.acquire.train.state_classifier import StateClassifier
from frugal.core.episodes import Traits
from frugal.core.world import StateEncoder, packed_sets, set_codes, unpacked_sets
from frugal.learn.imputer_kinds import Imputer

SMALLEST_PROBABILITY = 1e-12  # in logarithms
DISTANCES_AT_ONCE = 1 << 24  # bounds memory
ENTRIES_KEPT = 1 << 26  # of completed rows at the sets asked for last: bounds memory


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
        completed: TabulatedEncoder | CallableEncoder,
        classifier: StateClassifier,
        *,
        units: int,
        rng: np.random.Generator,
    ) -> "ReferenceUnits | WideReferenceUnits":
        """Some training units, drawn without replacement; all of them if there are fewer."""
        if isinstance(completed, CallableEncoder):
            chosen = np.sort(rng.permutation(len(completed.world))[:units])
            asked = replace(completed, world=completed.world.take(chosen))
            return WideReferenceUnits(asked, len(chosen), classifier)
        chosen = np.sort(rng.permutation(len(completed.table))[:units])
        return cls.of(TabulatedEncoder(completed.table[chosen]), classifier)

    @classmethod
    def of(cls, completed: TabulatedEncoder, classifier: StateClassifier) -> "ReferenceUnits":
        """All units of a table of completed rows."""
        bound = classifier.input_bound
        table = np.clip(completed.table, -bound, bound)
        belief = classifier.belief(table.reshape(-1, table.shape[2]))
        return cls(table, entropy(belief).reshape(table.shape[:2]))

    def __len__(self) -> int:
        return len(self.completed)

    def at(
        self, known: Bool[np.ndarray, " a"]
    ) -> tuple[Float32[np.ndarray, "r d"], Float[np.ndarray, "r a"]]:
        """Completed rows at one set of panels, and the fall of uncertainty by each further one."""
        code = set_codes(known[None])[0]
        further = code | np.int64(1) << np.arange(len(known))
        return self.completed[:, code], self.uncertainty[:, [code]] - self.uncertainty[:, further]


@dataclass(frozen=True, eq=False)
class WideReferenceUnits:
    """The same of tables with more panels than all sets of which can be held: asked set by set.

    Attributes:
        states: completed rows of the units at any set.
        units: r.
        classifier: gives beliefs.
    """

    states: StateEncoder
    units: int
    classifier: StateClassifier
    _kept: OrderedDict[bytes, tuple] = field(default_factory=OrderedDict, repr=False)

    def __len__(self) -> int:
        return self.units

    def at(
        self, known: Bool[np.ndarray, " a"]
    ) -> tuple[Float32[np.ndarray, "r d"], Float[np.ndarray, "r a"]]:
        """As `ReferenceUnits.at`; answers given last are kept."""
        name = known.tobytes()
        if name not in self._kept:
            shown, now = self._uncertainty(known)
            fall = np.zeros((self.units, len(known)))
            for j in np.flatnonzero(~known):
                fall[:, j] = now - self._uncertainty(known | (np.arange(len(known)) == j))[1]
            self._kept[name] = shown, fall
            while len(self._kept) > max(1, ENTRIES_KEPT // (shown.size + fall.size)):
                self._kept.popitem(last=False)
        self._kept.move_to_end(name)
        return self._kept[name]

    def _uncertainty(
        self, known: np.ndarray
    ) -> tuple[Float32[np.ndarray, "r d"], Float[np.ndarray, " r"]]:
        row, bound = np.arange(self.units), self.classifier.input_bound
        everywhere = np.broadcast_to(known, (self.units, len(known)))
        shown = np.clip(self.states.encode(row, everywhere), -bound, bound)
        return shown, entropy(self.classifier.belief(shown))


def information_gains(
    reference: ReferenceUnits | WideReferenceUnits,
    completed: Float32[np.ndarray, "m d"],
    acquired: Bool[np.ndarray, "m a"],
    *,
    neighbours: int,
) -> Float[np.ndarray, "m a"]:
    """Expected fall of the label's entropy by each panel, in nats; 0 for panels acquired. (m, a)

        gain_j(s) = 1/|N(s)| Σ_{u ∈ N(s)} [H(Y | u at S) − H(Y | u at S ∪ {j})]

    N(s): the training units nearest to the state (Euclidean, completed rows) when they show the
    same panels S. They stand for draws of panel j given what is known; H is by the classifier.

    Args:
        reference: the units.
        completed: rows of the states, completed. (m, d)
        acquired: panels known. (m, a)
        neighbours: |N|.
    """
    gain = np.zeros(acquired.shape)
    packed = packed_sets(acquired)
    at_once = max(1, DISTANCES_AT_ONCE // len(reference))
    for one in np.unique(packed, axis=0):
        shown, fall = reference.at(unpacked_sets(one, acquired.shape[1]))
        rows = np.flatnonzero((packed == one).all(axis=1))
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

    reference: ReferenceUnits | WideReferenceUnits
    classifier: StateClassifier
    imputer: Imputer
    action_cost: Float[np.ndarray, " a"]
    neighbours: int
    least_gain: Float[np.ndarray, " K"]
    threshold: Float[np.ndarray, " K"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=True,
            compares="nats per unit of price",
            weigh=self.weigh,
            threshold=self.threshold,
        )

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
            self.reference, self._clipped(reading), acquired.reshape(-1, a),
            neighbours=self.neighbours,
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
