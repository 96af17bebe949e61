"""Lattices that act: at each set trees tell what a further panel gains, and its price decides.

Arrays in, decisions out. Knows no labels and no training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.acquire.policies.cascade_policies import TREES, stored_ensembles, told_by_models
from frugal.acquire.reading import Reading, panel_or_stop, tilted_belief, with_stop
from frugal.acquire.train.lattice import with_belief
from frugal.acquire.train.masked_trees import MaskedBeliefs, told
from frugal.acquire.train.stacked_beliefs import NETWORK, Stack, StackedBeliefs
from frugal.acquire.train.tree_sets import DIGITS, PanelSet
from frugal.core.episodes import Traits
from frugal.core.layout import Layout
from frugal.core.stored import Array, part_of, under
from frugal.core.stored import Stored as Checked
from frugal.core.world import distinct_sets
from frugal.learn.cross_fitted_trees import split_ensemble
from frugal.learn.tree_scoring import leaf_sums
from frugal.learn.trees import TreeEnsemble

BELIEF, GAINS = "belief.", "gains."  # prefixes among the bundle's arrays


@dataclass(frozen=True, eq=False)
class OneModel:
    """Trees of all sets, over values and bits of panels."""

    trees: TreeEnsemble

    def tell(
        self,
        reading: Float32[np.ndarray, "K m d"],
        acquired: Bool[np.ndarray, "K m a"],
        at: Int[np.ndarray, "K m"],
    ) -> Float[np.ndarray, "K m"]:
        """Probability of illness; panels outside the state's set count, too. (K, m)"""
        values, sets = (x.reshape(-1, x.shape[2]) for x in (reading, acquired))
        return told(self.trees, values, sets).reshape(at.shape)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The trees."""
        return {BELIEF + name: array for name, array in self.trees.to_arrays().items()}


@dataclass(frozen=True, eq=False)
class ModelPerSet:
    """Trees of each set, and a network of all.

    Attributes:
        trees: of the sets, over values. (M)
        stack: the network, and how it is weighed.
    """

    trees: Sequence[TreeEnsemble]
    stack: Stack

    def tell(
        self,
        reading: Float32[np.ndarray, "K m d"],
        acquired: Bool[np.ndarray, "K m a"],
        at: Int[np.ndarray, "K m"],
    ) -> Float[np.ndarray, "K m"]:
        """Probability of illness; panels outside the state's set count with the network. (K, m)"""
        del acquired
        return told_by_models(self.trees, at, reading, self.stack)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The trees and the network."""
        trees = {
            f"{TREES}{k}.{name}": array
            for k, one in enumerate(self.trees)
            for name, array in one.to_arrays().items()
        }
        return trees | self.stack.to_arrays()


Believer = OneModel | ModelPerSet


def believer_of(beliefs: MaskedBeliefs | StackedBeliefs, sets: Sequence[PanelSet]) -> Believer:
    """What training told by, as a policy asks it."""
    if isinstance(beliefs, MaskedBeliefs):
        return OneModel(beliefs.ensemble)
    return ModelPerSet([beliefs.of(one).ensemble for one in sets], beliefs.stack)


def _stored_believer(arrays: Mapping[str, np.ndarray], layout: Layout, sets: int) -> Believer:
    a, d = len(layout.actions), len(layout.columns)
    stack = Stack.from_arrays(arrays, columns=d)
    if stack is None:
        return OneModel(_ensemble(under(arrays, BELIEF), columns=d + a, told=2))
    trees = stored_ensembles(arrays, layout)
    if len(trees) != sets:
        raise Checked("lattice", arrays).refusal(
            f"has trees of {len(trees)} sets; there are {sets} sets"
        )
    return ModelPerSet(trees, stack)


@dataclass(frozen=True, eq=False)
class LatticePolicies(Reading):
    """K rules on M sets. Shapes: a panels, G gains.

    A state belongs to its own set, or, where that is none of the lattice, to the largest inside it.
    Panels of the first set are bought at once.

    Attributes:
        sets: the first is inside all others. (M, a)
        gains: by which each rule acts. (K,)
        weight: worth of a unit of price. (K,)
        threshold: belief from which on a unit is called ill. (K,)
        believer: what tells how likely a state is to be ill.
        trees: all trees of the gains, over values and belief; column i tells of panel i.
        counts: how many of them each set has, set after set, gains after gains. (G, M)
        cost: of the panels. (a,)
    """

    sets: Bool[np.ndarray, "M a"]
    gains: Int[np.ndarray, " K"]
    weight: Float[np.ndarray, " K"]
    threshold: Float[np.ndarray, " K"]
    believer: Believer
    trees: TreeEnsemble
    counts: Int[np.ndarray, "G M"]
    cost: Float[np.ndarray, " a"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=True, compares="gain less price", weigh=self.weigh, threshold=self.threshold
        )

    @property
    def members(self) -> int:
        """K."""
        return len(self.gains)

    @cached_property
    def _trees_of(self) -> tuple[TreeEnsemble, ...]:
        return split_ensemble(self.trees, self.counts.ravel())

    @cached_property
    def _offers(self) -> Bool[np.ndarray, "M a"]:
        """Panels that lead from a set of the lattice to another."""
        known = {one.tobytes() for one in self.sets}
        more = [[(one | extra).tobytes() for extra in np.eye(len(self.cost), dtype=bool)]
                for one in self.sets]  # fmt: skip
        return np.array([[code in known for code in row] for row in more]) & ~self.sets

    def read(
        self, values: Float[np.ndarray, "m d"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float32[np.ndarray, "m d"]:
        """What the state shows, as trees read it. (m, d)"""
        del acquired
        return values.astype(np.float32)

    def decide(
        self,
        reading: Float32[np.ndarray, "K m d"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float[np.ndarray, "K m a+1"]:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        weight = self.weigh(reading, acquired, available)
        net, goes_on = weight[..., :-1], weight[..., :-1].max(axis=2) > weight[..., -1]
        return panel_or_stop(net.argmax(axis=2), goes_on, acquired.shape[2])

    def weigh(
        self,
        reading: Float32[np.ndarray, "K m d"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float[np.ndarray, "K m a+1"]:
        """What each open panel gains beyond its price, then 0. (K, m, a + 1)"""
        left, at = available & ~acquired, self._set_of(acquired | self.sets[0])
        belief = self._belief(reading, acquired, at)
        gain = np.full(left.shape, -np.inf)
        for k, number in enumerate(self.gains):
            for one in np.unique(at[k]):
                here = at[k] == one
                trees = self._trees_of[number * len(self.sets) + one]
                seen = with_belief(reading[k, here], belief[k, here])
                gain[k, here] = leaf_sums(trees, seen, np.ones_like(seen, dtype=bool))
        open_panels = left & self._offers[at]
        net = np.where(open_panels, gain - self.weight[:, None, None] * self.cost, -np.inf)
        first = left & self.sets[0]
        net = np.where(first.any(axis=2, keepdims=True), np.where(first, np.inf, -np.inf), net)
        return with_stop(net, np.zeros(net.shape[:2]))

    def conclude(
        self, reading: Float32[np.ndarray, "K m d"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        return tilted_belief(self.believe(reading, acquired), self.threshold[:, None])

    def believe(
        self, reading: Float32[np.ndarray, "K m d"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities as the trees have them. (K, m, 2)"""
        ill = self._belief(reading, acquired, self._set_of(acquired | self.sets[0]))
        return np.stack([1 - ill, ill], axis=-1)

    def _belief(
        self, reading: np.ndarray, acquired: np.ndarray, at: np.ndarray
    ) -> Float[np.ndarray, "K m"]:
        return self.believer.tell(reading, acquired, at).round(DIGITS)

    def _set_of(self, acquired: Bool[np.ndarray, "K m a"]) -> Int[np.ndarray, "K m"]:
        """Number of the lattice's largest set inside each, the first of equals."""
        each = distinct_sets(acquired.reshape(-1, acquired.shape[2]))
        size = self.sets.sum(axis=1)
        number = [
            int(np.where((self.sets <= one).all(axis=1), size, -1).argmax()) for one in each.sets
        ]
        return np.array(number)[each.which].reshape(acquired.shape[:2])

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """What tells the rules apart, in words."""
        del panels
        return [
            f"a panel that gains {w:.3g} per unit of price; positive from {100 * t:.3g} % on"
            for w, t in zip(self.weight, self.threshold, strict=True)
        ]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the rules are; `from_arrays` is the inverse."""
        own = {name: getattr(self, name) for name in ("sets", "gains", "weight", "threshold")}
        own["counts"] = self.counts
        gains = {GAINS + name: array for name, array in self.trees.to_arrays().items()}
        return own | self.believer.to_arrays() | gains

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], layout: Layout) -> "LatticePolicies":
        """The rules that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such rules; the sentence says where.
        """
        names = [name for name in arrays if not name.startswith((BELIEF, GAINS, TREES, NETWORK))]
        own = part_of(arrays, {name: name for name in names})
        a, d = len(layout.actions), len(layout.columns)
        stored = Checked("lattice", own)
        stored.require(
            {
                "sets": Array("bool", ("M", a)),
                "gains": Array("int64", ("K",), low=0),
                "weight": Array("float64", ("K",), low=0.0),
                "threshold": Array("float64", ("K",), above=0, high=1),
                "counts": Array("int64", ("G", "M"), low=1),
            }
        )
        believer = _stored_believer(arrays, layout, len(own["sets"]))
        trees = _ensemble(under(arrays, GAINS), columns=d + 1, told=a)
        stored.require_between("gains", 0, len(own["counts"]) - 1)
        if int(own["counts"].sum()) != len(trees.root):
            raise stored.refusal(
                f"counts {own['counts'].sum()} trees of gains; there are {len(trees.root)}"
            )
        if (own["sets"][:1] > own["sets"]).any():
            raise stored.refusal("has a set that does not contain the first one")
        return LatticePolicies(
            own["sets"], own["gains"], own["weight"], own["threshold"], believer, trees,
            own["counts"], layout.action_cost,
        )  # fmt: skip


def _ensemble(arrays: Mapping[str, np.ndarray], *, columns: int, told: int) -> TreeEnsemble:
    ensemble = TreeEnsemble.from_arrays(arrays)
    if (ensemble.columns, ensemble.classes) != (columns, told):
        raise Checked("trees", arrays).refusal(
            f"read {ensemble.columns} columns and tell {ensemble.classes} numbers; allowed: "
            f"{columns} and {told}"
        )
    return ensemble
