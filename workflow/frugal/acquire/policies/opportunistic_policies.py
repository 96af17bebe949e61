"""Opportunistic learners that act: buy the panel of the largest value while it reaches a least one.

Arrays in, decisions out. Knows no labels and no training.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32

from frugal.acquire.encoders import observe_values
from frugal.acquire.policies.q_policy import QPolicy
from frugal.acquire.reading import Reading, panel_or_stop, tilted_belief, with_stop
from frugal.acquire.train.masked_trees import told
from frugal.acquire.train.tree_sets import DIGITS
from frugal.core.episodes import Traits
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling
from frugal.core.stored import Array, part_of, under
from frugal.core.stored import Stored as Checked
from frugal.core.world import adds_column
from frugal.learn.trees import TreeEnsemble

TREES, NETWORK = "trees.", "network."  # prefixes among the bundle's arrays


@dataclass(frozen=True, eq=False)
class OpportunisticPolicies(Reading):
    """K rules by one network. Shapes: a panels.

    Attributes:
        network: values of panels, in change of probabilities per mean price.
        believer: trees over values and bits of panels.
        adds: columns that each panel adds to the free ones. (a, d)
        base: panels without a price, bought at once. (a,)
        least: value below which nothing is bought. (K,)
        threshold: belief from which on a unit is called ill. (K,)
    """

    network: QPolicy
    believer: TreeEnsemble
    adds: Bool[np.ndarray, "a d"]
    base: Bool[np.ndarray, " a"]
    least: Float[np.ndarray, " K"]
    threshold: Float[np.ndarray, " K"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=True,
            compares="change of probabilities per mean price",
            weigh=self.weigh,
            threshold=self.threshold,
        )

    @property
    def members(self) -> int:
        """K."""
        return len(self.least)

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
        value, goes_on = weight[..., :-1], weight[..., :-1].max(axis=2) >= weight[..., -1]
        return panel_or_stop(value.argmax(axis=2), goes_on, acquired.shape[2])

    def weigh(
        self,
        reading: Float32[np.ndarray, "K m d"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float[np.ndarray, "K m a+1"]:
        """Value of each open panel, then the least one that is bought. (K, m, a + 1)"""
        a = acquired.shape[2]
        left = available & ~acquired
        value = self.values(reading.reshape(-1, reading.shape[2]), acquired.reshape(-1, a))
        open_panels = left & adds_column(self.adds, acquired)
        value = np.where(open_panels, value.reshape(acquired.shape), -np.inf)
        first = left & self.base
        return with_stop(np.where(first, np.inf, value), self.least[:, None])

    def values(
        self, values: Float32[np.ndarray, "m d"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float[np.ndarray, "m a"]:
        """Value of each panel, whether it can be had or not. (m, a)"""
        scaling = Scaling(self.network.centre, self.network.scale)
        shown = scaling.standardise(values.astype(np.float64))
        observation = observe_values(shown, acquired, column_bits=self.network.column_bits)
        return self.network.action_values(observation)[:, : acquired.shape[1]]

    def conclude(
        self, reading: Float32[np.ndarray, "K m d"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        return tilted_belief(self.believe(reading, acquired), self.threshold[:, None])

    def believe(
        self, reading: Float32[np.ndarray, "K m d"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities as the trees have them. (K, m, 2)"""
        a = acquired.shape[2]
        ill = told(self.believer, reading.reshape(-1, reading.shape[2]), acquired.reshape(-1, a))
        ill = ill.round(DIGITS).reshape(acquired.shape[:2])
        return np.stack([1 - ill, ill], axis=-1)

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """What tells the rules apart, in words."""
        del panels
        return [
            f"a panel that changes probabilities by {v:.3g} per mean price; positive from "
            f"{100 * t:.3g} % on"
            for v, t in zip(self.least, self.threshold, strict=True)
        ]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the rules are; `from_arrays` is the inverse."""
        own = {"least": self.least, "threshold": self.threshold, "base": self.base}
        own |= {NETWORK + name: array for name, array in self.network.to_arrays().items()}
        return own | {TREES + name: array for name, array in self.believer.to_arrays().items()}

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], layout: Layout) -> "OpportunisticPolicies":
        """The rules that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such rules; the sentence says where.
        """
        names = [name for name in arrays if not name.startswith((TREES, NETWORK))]
        own = part_of(arrays, {name: name for name in names})
        a, d = len(layout.actions), len(layout.columns)
        Checked("opportunistic policies", own).require(
            {
                "least": Array("float64", ("K",), low=0.0),
                "threshold": Array("float64", ("K",), above=0, high=1),
                "base": Array("bool", (a,)),
            }
        )
        trees = under(arrays, TREES)
        believer = TreeEnsemble.from_arrays(trees)
        if (believer.columns, believer.classes) != (d + a, 2):
            raise Checked("trees", trees).refusal(
                f"read {believer.columns} columns and tell {believer.classes} classes; allowed: "
                f"{d + a} and 2"
            )
        network = QPolicy.from_arrays(under(arrays, NETWORK)).require_layout(layout)
        return OpportunisticPolicies(
            network, believer, layout.provides & ~layout.free_columns, own["base"], own["least"],
            own["threshold"],
        )  # fmt: skip
