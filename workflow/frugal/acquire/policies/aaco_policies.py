"""Acquisition-conditioned oracles that act. Arrays in, decisions out; knows no training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

from frugal.acquire.reading import Reading, panel_or_stop, tilted_belief
from frugal.acquire.train.aaco import Neighbours, next_panels
from frugal.acquire.train.masked_trees import told
from frugal.acquire.train.payoff import Payoff
from frugal.acquire.train.tree_sets import DIGITS
from frugal.core.episodes import Traits
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling
from frugal.core.stored import Array, part_of, under
from frugal.core.stored import Stored as Checked
from frugal.core.world import World
from frugal.learn.cross_fitted_trees import FoldedTrees, joined, split_ensemble
from frugal.learn.trees import TreeEnsemble

STRANGER = -1  # number of a unit that is not looked up in
TREES = "trees."  # prefix among the bundle's arrays


def with_unit(
    values: Float[np.ndarray, "m d"], unit: Int[np.ndarray, " m"]
) -> Float32[np.ndarray, "m w"]:
    """Readings: values, then the number of the unit among those looked up in. (m, d + 1)"""
    return np.column_stack([values, unit]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class OwnUnits:
    """Readings of units some of which are looked up in, so that none is its own neighbour.

    Attributes:
        world: the units.
        number: of each among those that are looked up in, or `STRANGER`. (n,)
    """

    world: World
    number: Int[np.ndarray, " n"]

    @property
    def width(self) -> int:
        """Entries of a reading, d + 1."""
        return self.world.values.shape[1] + 1

    def encode(
        self, row: Int[np.ndarray, " m"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float32[np.ndarray, "m w"]:
        """Readings of m states. (m, d + 1)"""
        return with_unit(self.world.visible(row, acquired), self.number[row])


@dataclass(frozen=True, eq=False)
class AacoPolicies(Reading):
    """K rules that look up in the same units. Shapes: a panels.

    Attributes:
        oracle: where they look up.
        base: panels without a price, bought at once. (a,)
        weight: worth of a unit of price. (K,)
        threshold: belief from which on a unit is called ill. (K,)
    """

    oracle: Neighbours
    base: Bool[np.ndarray, " a"]
    weight: Float[np.ndarray, " K"]
    threshold: Float[np.ndarray, " K"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(why=self.why, threshold=self.threshold)

    @property
    def members(self) -> int:
        """K."""
        return len(self.weight)

    @cached_property
    def _believer(self) -> TreeEnsemble:
        return self.oracle.trees.ensemble

    def read(
        self, values: Float[np.ndarray, "m d"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float32[np.ndarray, "m w"]:
        """What the state shows, and that its unit is not looked up in. (m, d + 1)"""
        return with_unit(values, np.full(len(acquired), STRANGER))

    def decide(
        self,
        reading: Float32[np.ndarray, "K m w"],
        acquired: Bool[np.ndarray, "K m a"],
        available: Bool[np.ndarray, "K m a"],
    ) -> Float[np.ndarray, "K m a+1"]:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        shape, a = acquired.shape[:2], acquired.shape[2]
        flat, own, can = (
            part.reshape(-1, part.shape[2]) for part in (reading, acquired, available)
        )
        weight = np.repeat(self.weight, shape[1])
        first = can & ~own & self.base
        panel, at_once = first.argmax(axis=1), first.any(axis=1)
        rest = np.flatnonzero(~at_once)
        panel[rest] = next_panels(
            self.oracle, flat[rest, :-1].astype(np.float64), own[rest], can[rest], weight[rest],
            flat[rest, -1].astype(np.int64),
        )  # fmt: skip
        panel = panel.reshape(shape)
        return panel_or_stop(panel, panel >= 0, a)

    def conclude(
        self, reading: Float32[np.ndarray, "K m w"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        return tilted_belief(self.believe(reading, acquired), self.threshold[:, None])

    def believe(
        self, reading: Float32[np.ndarray, "K m w"], acquired: Bool[np.ndarray, "K m a"]
    ) -> Float[np.ndarray, "K m 2"]:
        """Class probabilities as the trees have them. (K, m, 2)"""
        a = acquired.shape[2]
        values = reading[..., :-1].reshape(-1, reading.shape[2] - 1)
        ill = told(self._believer, values, acquired.reshape(-1, a))
        ill = ill.round(DIGITS).reshape(acquired.shape[:2])
        return np.stack([1 - ill, ill], axis=-1)

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """What tells the rules apart, in words."""
        del panels
        what = "a nat" if self.oracle.payoff is None else "a unit of cost"
        return [
            f"the best set of panels, {what} being worth {1 / max(w, 1e-12):.3g} of price; ill "
            f"from {100 * t:.3g} % on"
            for w, t in zip(self.weight, self.threshold, strict=True)
        ]

    def why(
        self,
        member: int,
        values: Float[np.ndarray, "m d"],
        belief: Float[np.ndarray, "m 2"],
        acquired: Bool[np.ndarray, "m a"],
        available: Bool[np.ndarray, "m a"],
        law: Float[np.ndarray, "m a+1"],
        layout: Layout,
    ) -> list[str]:
        """Whether a set of panels pays among the units that are most alike, for each state."""
        del member, values, acquired, available, layout
        bought = ("no set of panels pays", "in the set of panels that pays most")
        return [
            f"risk {100 * risk:.3g} %: {bought[int(stop < 1)]} among the units most alike"
            for risk, stop in zip(belief[:, 1].tolist(), law[:, -1].tolist(), strict=True)
        ]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the rules are; `from_arrays` is the inverse."""
        oracle, payoff = self.oracle, self.oracle.payoff
        trees, gap = joined(oracle.trees.parts).to_arrays(), np.isnan(oracle.world.values)
        return {
            "weight": self.weight,
            "threshold": self.threshold,
            "base": self.base,
            "sets": oracle.sets,
            "payoff": np.zeros(2) if payoff is None else np.array([payoff.hit, payoff.alarm]),
            "values": np.where(gap, 0.0, oracle.world.values).astype(np.float32),
            "gap": gap,
            "label": oracle.world.label,
            "available": oracle.world.available,
            "fold": oracle.trees.fold,
            "counts": np.array([len(part.root) for part in oracle.trees.parts]),
            "centre": oracle.scaling.centre,
            "scale": oracle.scaling.scale,
        } | {TREES + name: array for name, array in trees.items()}

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, np.ndarray], layout: Layout, *, neighbours: int
    ) -> "AacoPolicies":
        """The rules that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such rules; the sentence says where.
        """
        own = part_of(arrays, {name: name for name in arrays if not name.startswith(TREES)})
        a, d = len(layout.actions), len(layout.columns)
        stored = Checked("AACO policies", own)
        stored.require(
            {
                "weight": Array("float64", ("K",), low=0.0),
                "threshold": Array("float64", ("K",), above=0, high=1),
                "base": Array("bool", (a,)),
                "sets": Array("bool", ("M", a)),
                "payoff": Array("float64", (2,), low=0.0),
                "values": Array("float32", ("units", d)),
                "gap": Array("bool", ("units", d)),
                "label": Array("int64", ("units",), low=0, high=1),
                "available": Array("bool", ("units", a)),
                "fold": Array("int64", ("repeats", "units"), low=0),
                "counts": Array("int64", ("parts",), low=1),
                "centre": Array("float64", (d,)),
                "scale": Array("float64", (d,), above=0),
            }
        )
        trees = _trees(under(arrays, TREES), own, stored, columns=d + a)
        n = len(own["label"])
        values = np.where(own["gap"], np.nan, own["values"].astype(np.float64))
        world = World(
            "blocked", 0, np.arange(n), values, layout.provides, layout.free_columns,
            own["available"], own["label"], layout.action_cost, 2, 2,
        )  # fmt: skip
        payoff = None if not own["payoff"].all() else Payoff(*map(float, own["payoff"]))
        oracle = Neighbours(
            world, trees, Scaling(own["centre"], own["scale"]), own["sets"], payoff, neighbours
        )
        return AacoPolicies(oracle, own["base"], own["weight"], own["threshold"])


def _trees(
    arrays: Mapping[str, np.ndarray],
    own: Mapping[str, np.ndarray],
    stored: Checked,
    *,
    columns: int,
) -> FoldedTrees:
    """Trees of each repeat and fold."""
    ensemble = TreeEnsemble.from_arrays(arrays)
    if (ensemble.columns, ensemble.classes) != (columns, 2):
        raise Checked("trees", arrays).refusal(
            f"read {ensemble.columns} columns and tell {ensemble.classes} classes; allowed: "
            f"{columns} and 2"
        )
    counts, fold = own["counts"], own["fold"]
    if int(counts.sum()) != len(ensemble.root) or len(counts) % len(fold):
        raise stored.refusal(
            f"counts {counts.sum()} trees in {len(counts)} parts of {len(fold)} repeats; there are "
            f"{len(ensemble.root)} trees"
        )
    stored.require_between("fold", 0, len(counts) // len(fold) - 1)
    return FoldedTrees(split_ensemble(ensemble, counts), fold)
