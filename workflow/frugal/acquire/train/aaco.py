"""The acquisition-conditioned oracle: what further sets of panels told the most similar units.

For a state the nearest training units by what is known are looked up, and for each set u of further
panels what their loss falls by once they have u. The best set by fall and price is sought, not the
best panel, so that panels are found which tell nothing alone (Valancius, Lennon, Oliva, ICML 2024).
Nothing is trained but a boosted model of all sets. Knows no files and no policy interface.

Differs from the paper: a neighbour's loss is that of its own row, by trees that did not see it (the
paper's predictor sees the state's known values and learnt from its neighbours); and the fall is
averaged over neighbours that have all of u.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.train.masked_trees import MaskedBeliefs, with_bits
from frugal.acquire.train.payoff import Payoff
from frugal.acquire.train.tree_sets import DIGITS, TreeRows
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.world import World, adds_column, all_sets
from frugal.learn.cross_fitted_trees import FoldedTrees

SHARES = (0.01, 5.0)  # worths of money, in what all panels tell for their price
NOTHING = 1e6  # the last one, at which nothing is bought
SMALLEST = 1e-9
DISTANCES_AT_ONCE = 1 << 23  # bounds memory
MOST_ALL = 12  # panels, of which all sets are tried if they are few enough


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Training units in which it is looked up what sets of panels tell. Shapes: r units, a panels.

    Attributes:
        world: the units.
        trees: that believe, and the fold of each unit.
        scaling: of values, before distances.
        sets: of panels that are tried. (M, a)
        payoff: whose loss is counted; None: the loss is the logarithm of what was believed.
        count: units that stand for a state.
    """

    world: World
    trees: FoldedTrees
    scaling: Scaling
    sets: Bool[np.ndarray, "M a"]
    payoff: Payoff | None
    count: int
    _losses: dict[bytes, np.ndarray] = field(default_factory=dict)

    def loss(self, panels: Bool[np.ndarray, " a"]) -> Float[np.ndarray, " r"]:
        """Of each unit if it has what it can have of a set, by trees that did not see it. (r,)"""
        key = panels.tobytes()
        if key not in self._losses:
            acquired = self.world.available & panels
            visible = self.world.visible(np.arange(len(self.world)), acquired)
            belief = belief_of(self.trees.log_odds(with_bits(visible, acquired)))
            self._losses[key] = self._of(belief)
        return self._losses[key]

    def _of(self, belief: Float[np.ndarray, " r"]) -> Float[np.ndarray, " r"]:
        ill = self.world.label.astype(np.float64)
        if self.payoff is not None:
            return -self.payoff.of_verdicts(ill, belief)
        p = np.clip(belief, SMALLEST, 1 - SMALLEST)
        return -np.where(ill == 1, np.log(p), np.log1p(-p))

    def nearest(
        self, visible: Float[np.ndarray, "m d"], own: Int[np.ndarray, " m"]
    ) -> Int[np.ndarray, "m k"]:
        """The nearest units by what states show, a state's own unit aside. (m, k)

        Standardised, Euclidean. Where a unit has a gap, the distance is that expected of a unit
        drawn from all.
        """
        here = self.scaling.standardise(self.world.values)
        there = self.scaling.standardise(visible)
        known, gap = ~np.isnan(there), np.isnan(here)
        here, there = np.nan_to_num(here), np.nan_to_num(there)
        square = np.where(gap, 1.0, here**2)
        others = len(here) - bool((own >= 0).any())
        k, found = min(self.count, others), []
        at_once = max(1, DISTANCES_AT_ONCE // len(here))
        for start in range(0, len(there), at_once):
            part = slice(start, start + at_once)
            distance = known[part].astype(np.float64) @ square.T - 2 * there[part] @ here.T
            itself = own[part]
            mine = np.flatnonzero(itself >= 0)
            distance[mine, itself[mine]] = np.inf
            found.append(np.argpartition(distance, k - 1, axis=1)[:, :k])
        return np.concatenate(found) if found else np.zeros((0, k), dtype=np.int64)

    def rises(
        self, near: Int[np.ndarray, "m k"], known: Bool[np.ndarray, " a"]
    ) -> tuple[Float[np.ndarray, "m M"], Bool[np.ndarray, "M a"]]:
        """Mean rise of the neighbours' loss by each further set; infinite where none has it.

        Returns:
            The rises (below zero where a set tells something), and the further panels of each set.
        """
        further = np.unique(self.sets & ~known, axis=0)
        further = further[further.any(axis=1)]
        further = further[np.argsort(further.sum(axis=1), kind="stable")]
        before, rises = self.loss(known), np.full((len(near), len(further)), np.inf)
        for k, more in enumerate(further):
            has = self.world.available[:, more].sum(axis=1) == more.sum()
            weight = has[near]
            total = np.where(weight, (self.loss(known | more) - before)[near], 0.0).sum(axis=1)
            count = weight.sum(axis=1)
            np.divide(total, count, out=rises[:, k], where=count > 0)
        return rises, further


def next_panels(
    oracle: Neighbours,
    visible: Float[np.ndarray, "m d"],
    acquired: Bool[np.ndarray, "m a"],
    available: Bool[np.ndarray, "m a"],
    weight: Float[np.ndarray, " m"],
    own: Int[np.ndarray, " m"],
) -> Int[np.ndarray, " m"]:
    """The panel to buy in each state, −1 where nothing pays. (m,)

    Of the set whose fall of loss exceeds its price by most, the panel that is best alone.

    Args:
        oracle: where it is looked up.
        visible: what states show. (m, d)
        acquired: panels. (m, a)
        available: panels that can be had. (m, a)
        weight: worth of a unit of price, in the unit of the loss. (m,)
        own: number of the state's unit among the oracle's, −1 for others. (m,)
    """
    cost, adds = oracle.world.action_cost, oracle.world.adds
    panel = np.full(len(acquired), -1, dtype=np.int64)
    open_panels = available & ~acquired & adds_column(adds, acquired)
    places = np.unique(acquired, axis=0, return_inverse=True)
    for number, known in enumerate(places[0]):
        rows = np.flatnonzero((places[1].reshape(-1) == number) & open_panels.any(axis=1))
        if not rows.size:
            continue
        alike = np.column_stack([np.nan_to_num(visible[rows], nan=np.inf), own[rows]])
        first, place = np.unique(alike, axis=0, return_index=True, return_inverse=True)[1:]
        near = oracle.nearest(visible[rows[first]], own[rows[first]])
        rises, further = oracle.rises(near, known)
        rises = rises[place.reshape(-1)]
        allowed = ~(further[None] & ~open_panels[rows][:, None]).any(axis=2)
        price = weight[rows, None] * (further @ cost)
        net = np.where(allowed, rises + price, np.inf)
        best = net.argmin(axis=1)
        goes = net[np.arange(len(rows)), best] < 0
        panel[rows[goes]] = _best_alone(net, further, best)[goes]
    return panel


def _best_alone(
    net: Float[np.ndarray, "m M"], further: Bool[np.ndarray, "M a"], best: Int[np.ndarray, " m"]
) -> Int[np.ndarray, " m"]:
    """Of the best set the panel whose own set is best; where none is tried, its first one."""
    alone = np.full((len(net), further.shape[1]), np.finfo(np.float64).max)
    for k in np.flatnonzero(further.sum(axis=1) == 1):
        alone[:, further[k].argmax()] = np.minimum(net[:, k], np.finfo(np.float64).max)
    return np.where(further[best], alone, np.inf).argmin(axis=1)


def belief_of(log_odds: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Probability, rounded as all beliefs of trees are. (n,)"""
    return np.round(1 / (1 + np.exp(-log_odds)), DIGITS)


def oracle_of(
    beliefs: MaskedBeliefs,
    drawn: Int[np.ndarray, " r"],
    payoff: Payoff | None,
    settings: Mapping[str, Any],
) -> Neighbours:
    """Some of the units that trees learnt from, to look up in.

    Args:
        beliefs: of the model of all sets.
        drawn: the units.
        payoff: whose loss is counted; None: logarithms.
        settings: `sets`, `neighbours`.
    """
    rows = beliefs.rows
    trees = replace(beliefs.trees, fold=beliefs.trees.fold[:, drawn])
    world = rows.world.take(drawn)
    world = replace(world, values=world.values.astype(np.float32).astype(np.float64))  # as stored
    scaling = fit_scaling(world.values, unknown=True)
    sets = tried_sets(rows, most=settings["sets"])
    return Neighbours(world, trees, scaling, sets, payoff, settings["neighbours"])


def tried_sets(rows: TreeRows, *, most: int) -> Bool[np.ndarray, "M a"]:
    """All sets of panels if they are few, else single ones, all together, and some at random."""
    a = rows.world.panels
    if a <= MOST_ALL and 2**a - 1 <= most:
        return all_sets(a)[1:]
    size = rows.rng.integers(2, a, size=max(most - a - 1, 0))
    place = rows.rng.random((len(size), a)).argsort(axis=1).argsort(axis=1)
    sets = [np.eye(a, dtype=bool), np.ones((1, a), dtype=bool), place < size[:, None]]
    return np.unique(np.concatenate(sets), axis=0)


def price_weights(oracle: Neighbours, rows: TreeRows, count: int) -> Float[np.ndarray, " w"]:
    """Worths of a unit of price, in nats, around what all panels tell for their price."""
    panels = rows.world.panels
    fall = oracle.loss(rows.bits(rows.base)) - oracle.loss(np.ones(panels, dtype=bool))
    full = float(rows.price(range(panels)).mean())
    shares = np.append(np.geomspace(*SHARES, count - 1), NOTHING)
    return shares * max(float(fall.mean()), SMALLEST) / max(full, SMALLEST)
