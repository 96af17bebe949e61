"""The kind `aaco`: looks up, in similar units, which set of further panels pays.

For a state the nearest training units by known values are looked up, and for each set u of further
panels the fall of their loss once they have u. The best set by fall and price is sought, not the
best panel, so panels are found which predict nothing alone (Valancius, Lennon, Oliva, ICML
2024). Nothing is trained but a boosted model of all sets, on blocked records, for the table's own
costs or, in `diagnosis`, for a score within budgets.

Differs from the paper: a neighbour's loss is that of its own row, by trees that did not see it (the
paper's predictor sees the state's known values and learnt from its neighbours); and the fall is
averaged over neighbours that have all of u, with `missing: weighted` weighted to represent all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.kinds import AgentKind, Learned, Saved, trained
from frugal.acquire.reading import ThresholdRules, panel_or_stop
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.payoff import Objective, Payoff, best_within, fit_for_cost
from frugal.acquire.train.row_weights import RowWeights
from frugal.acquire.train.tree_sets import (
    DIGITS,
    MaskedBeliefs,
    TreeRows,
    fit_masked,
    predicted_risk,
    stored_trees,
    weighs,
    with_bits,
)
from frugal.core.episodes import (
    Belief,
    Law,
    Panels,
    Readings,
    RowPanels,
    RowReadings,
    RowValues,
    Traits,
)
from frugal.core.layout import Layout
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.stored import Array, Stored, Within, apart, arrays_of, declared, under
from frugal.core.world import World, adds_column, all_sets
from frugal.learn.cross_fitted_trees import FoldedTrees, joined, split_ensemble
from frugal.learn.trees import TreeEnsemble

SHARES = (0.01, 5.0)  # worths of money, in what all panels tell for their price
NOTHING = 1e6  # the last one, at which nothing is bought
SMALLEST = 1e-9
DISTANCES_AT_ONCE = 1 << 23  # bounds memory
MOST_ALL = 12  # panels, of which all sets are tried if they are few enough
STRANGER = -1  # number of a unit that is not looked up in
TREES = "trees."  # prefix among the bundle's arrays


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Training units that show the information of sets of panels. Shapes: r units, a panels.

    Attributes:
        world: the units.
        trees: that believe, and the fold of each unit.
        scaling: of values, before distances.
        sets: of panels that are tried. (M, a)
        payoff: whose loss is counted; None: the loss is the logarithm of the belief.
        count: units that represent a state.
        weighted: whether units that have a set count for those that lack some of it.
    """

    world: World
    trees: FoldedTrees
    scaling: Scaling
    sets: Bool[np.ndarray, "M a"]
    payoff: Payoff | None
    count: int
    weighted: bool = False
    _losses: dict[bytes, np.ndarray] = field(default_factory=dict)

    @cached_property
    def weights(self) -> RowWeights | None:
        """Of the units, in the folds of their trees; None where every unit counts once."""
        incomplete = self.weighted and not self.world.available.all()
        return RowWeights(self.world, self.trees.fold[0]) if incomplete else None

    def loss(self, panels: Bool[np.ndarray, " a"]) -> Float[np.ndarray, " r"]:
        """Of each unit with the available panels of a set, by trees that did not see it. (r,)"""
        key = panels.tobytes()
        if key not in self._losses:
            acquired = self.world.available & panels
            visible = self.world.visible(np.arange(len(self.world)), acquired)
            probability = np.round(
                1 / (1 + np.exp(-self.trees.log_odds(with_bits(visible, acquired)))), DIGITS
            )
            self._losses[key] = self._of(probability)
        return self._losses[key]

    def _of(self, probability: Float[np.ndarray, " r"]) -> Float[np.ndarray, " r"]:
        ill = self.world.label.astype(np.float64)
        if self.payoff is not None:
            return -self.payoff.of_verdicts(ill, probability)
        p = np.clip(probability, SMALLEST, 1 - SMALLEST)
        return -np.where(ill == 1, np.log(p), np.log1p(-p))

    def nearest(self, visible: RowValues, unit: Int[np.ndarray, " m"]) -> Int[np.ndarray, "m k"]:
        """The nearest units by the values of states, a state's own unit aside. (m, k)

        Standardised, Euclidean. Where a unit has a missing value, the distance is that expected of
        a unit drawn from all.
        """
        oracle_values = self.scaling.standardise(self.world.values)
        state_values = self.scaling.standardise(visible)
        observed, missing = ~np.isnan(state_values), np.isnan(oracle_values)
        oracle_values, state_values = np.nan_to_num(oracle_values), np.nan_to_num(state_values)
        square = np.where(missing, 1.0, oracle_values**2)
        others = len(oracle_values) - bool((unit >= 0).any())
        k, nearest = min(self.count, others), []
        at_once = max(1, DISTANCES_AT_ONCE // len(oracle_values))
        for start in range(0, len(state_values), at_once):
            part = slice(start, start + at_once)
            distance = (
                observed[part].astype(np.float64) @ square.T
                - 2 * state_values[part] @ oracle_values.T
            )
            itself = unit[part]
            mine = np.flatnonzero(itself >= 0)
            distance[mine, itself[mine]] = np.inf
            nearest.append(np.argpartition(distance, k - 1, axis=1)[:, :k])
        return np.concatenate(nearest) if nearest else np.zeros((0, k), dtype=np.int64)

    def rises(
        self, near: Int[np.ndarray, "m k"], acquired: Bool[np.ndarray, " a"]
    ) -> tuple[Float[np.ndarray, "m M"], Bool[np.ndarray, "M a"]]:
        """Mean rise of the neighbours' loss by each further set; infinite where none has it.

        Returns:
            The rises (below zero where a set is informative), and the further panels of each set.
        """
        further = np.unique(self.sets & ~acquired, axis=0)
        further = further[further.any(axis=1)]
        further = further[np.argsort(further.sum(axis=1), kind="stable")]
        before, rises = self.loss(acquired), np.full((len(near), len(further)), np.inf)
        for k, more in enumerate(further):
            if self.weights is None:
                counts = np.asarray(self.world.available[:, more].all(axis=1), dtype=np.float64)
            else:
                counts = self.weights.step(acquired, acquired | more)
            weight = counts[near]
            total = (weight * (self.loss(acquired | more) - before)[near]).sum(axis=1)
            count = weight.sum(axis=1)
            np.divide(total, count, out=rises[:, k], where=count > 0)
        return rises, further


def next_panels(
    oracle: Neighbours,
    visible: RowValues,
    acquired: RowPanels,
    available: RowPanels,
    weight: Float[np.ndarray, " m"],
    unit: Int[np.ndarray, " m"],
) -> Int[np.ndarray, " m"]:
    """The panel to buy in each state, −1 where nothing pays. (m,)

    Of the set whose fall of loss exceeds its price by most, the panel that is best alone.

    Args:
        oracle: where it is looked up.
        visible: values of states. (m, d)
        acquired: panels. (m, a)
        available: panels that can be had. (m, a)
        weight: value of a unit of price, in the unit of the loss. (m,)
        unit: number of the state's unit among the oracle's, −1 for others. (m,)
    """
    cost, adds = oracle.world.action_cost, oracle.world.adds
    panel = np.full(len(acquired), -1, dtype=np.int64)
    open_panels = available & ~acquired & adds_column(adds, acquired)
    places = np.unique(acquired, axis=0, return_inverse=True)
    for number, acquired_set in enumerate(places[0]):
        rows = np.flatnonzero((places[1].reshape(-1) == number) & open_panels.any(axis=1))
        if not rows.size:
            continue
        keys = np.column_stack([np.nan_to_num(visible[rows], nan=np.inf), unit[rows]])
        first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)[1:]
        near = oracle.nearest(visible[rows[first]], unit[rows[first]])
        rises, further = oracle.rises(near, acquired_set)
        rises = rises[place.reshape(-1)]
        allowed = ~(further[None] & ~open_panels[rows][:, None]).any(axis=2)
        price = weight[rows, None] * (further @ cost)
        net = np.where(allowed, rises + price, np.inf)
        best = net.argmin(axis=1)
        goes = net[np.arange(len(rows)), best] < 0
        alone = np.full((len(net), further.shape[1]), np.finfo(np.float64).max)
        for k in np.flatnonzero(further.sum(axis=1) == 1):
            alone[:, further[k].argmax()] = np.minimum(net[:, k], np.finfo(np.float64).max)
        panel[rows[goes]] = np.where(further[best], alone, np.inf).argmin(axis=1)[goes]
    return panel


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
        settings: `sets`, `neighbours`, `missing`.
    """
    rows = beliefs.rows
    trees = replace(beliefs.trees, fold=beliefs.trees.fold[:, drawn])
    world = rows.world.take(drawn)
    world = replace(world, values=world.values.astype(np.float32).astype(np.float64))  # as stored
    scaling = fit_scaling(world.values, unknown=True)
    sets = tried_sets(rows, most=settings["sets"])
    count, weighted = settings["neighbours"], weighs(settings)
    return Neighbours(world, trees, scaling, sets, payoff, count, weighted)


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
    """Values of a unit of price, in nats, around the information of all panels per price."""
    panels = rows.world.panels
    fall = oracle.loss(rows.bits(rows.base)) - oracle.loss(np.ones(panels, dtype=bool))
    full = float(rows.price(range(panels)).mean())
    shares = np.append(np.geomspace(*SHARES, count - 1), NOTHING)
    return shares * max(float(fall.mean()), SMALLEST) / max(full, SMALLEST)


def with_unit(values: RowValues, unit: Int[np.ndarray, " m"]) -> RowReadings:
    """Readings: values, then the number of the unit among those looked up in. (m, d + 1)"""
    return np.column_stack([values, unit]).astype(np.float32)


@dataclass(frozen=True, eq=False)
class UnitStates:
    """Readings of units some of which are looked up in, so none is its own neighbour.

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

    def encode(self, row: Int[np.ndarray, " m"], acquired: RowPanels) -> RowReadings:
        """Readings of m states. (m, d + 1)"""
        return with_unit(self.world.visible(row, acquired), self.number[row])


@dataclass(frozen=True, eq=False)
class AacoPolicies(ThresholdRules):
    """K rules that look up in the same units. Shapes: a panels.

    Attributes:
        oracle: where they look up.
        base: panels without a price, bought at once. (a,)
        weight: value of a unit of price. (K,)
        threshold: predicted probability from which a unit is classified as ill. (K,)
    """

    oracle: Neighbours
    base: Annotated[Bool[np.ndarray, " a"], Within()]
    weight: Annotated[Float[np.ndarray, " K"], Within(low=0.0)]
    threshold: Annotated[Float[np.ndarray, " K"], Within(above=0, high=1)]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(why=self.why, threshold=self.threshold)

    @cached_property
    def _believer(self) -> TreeEnsemble:
        return self.oracle.trees.ensemble

    def read(self, values: RowValues, acquired: RowPanels) -> RowReadings:
        """The state's values, and that its unit is not looked up in. (m, d + 1)"""
        return with_unit(values, np.full(len(acquired), STRANGER))

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        shape, a = acquired.shape[:2], acquired.shape[2]
        flat, acquired_sets, can = (
            part.reshape(-1, part.shape[2]) for part in (reading, acquired, available)
        )
        weight = np.repeat(self.weight, shape[1])
        first = can & ~acquired_sets & self.base
        panel, at_once = first.argmax(axis=1), first.any(axis=1)
        rest = np.flatnonzero(~at_once)
        panel[rest] = next_panels(
            self.oracle,
            flat[rest, :-1].astype(np.float64),
            acquired_sets[rest],
            can[rest],
            weight[rest],
            flat[rest, -1].astype(np.int64),
        )
        panel = panel.reshape(shape)
        return panel_or_stop(panel, panel >= 0, a)

    def believe(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities as the trees have them. (K, m, 2)"""
        a = acquired.shape[2]
        values = reading[..., :-1].reshape(-1, reading.shape[2] - 1)
        ill = predicted_risk(self._believer, values, acquired.reshape(-1, a))
        ill = ill.round(DIGITS).reshape(acquired.shape[:2])
        return np.stack([1 - ill, ill], axis=-1)

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """How the rules differ, in words."""
        unit = "a nat" if self.oracle.payoff is None else "a unit of cost"
        return [
            f"the best set of panels, {unit} being valued at {1 / max(w, 1e-12):.3g} of price; ill "
            f"from {100 * t:.3g} % on"
            for w, t in zip(self.weight, self.threshold, strict=True)
        ]

    def why(
        self,
        member: int,
        values: RowValues,
        probability: Float[np.ndarray, "m 2"],
        acquired: RowPanels,
        available: RowPanels,
        action_probability: Float[np.ndarray, "m a+1"],
        layout: Layout,
    ) -> list[str]:
        """Whether a set of panels pays among the units that are most similar, for each state."""
        bought = ("no set of panels pays", "in the set of panels that pays most")
        return [
            f"risk {100 * risk:.3g} %: {bought[int(stop < 1)]} among the most similar units"
            for risk, stop in zip(
                probability[:, 1].tolist(), action_probability[:, -1].tolist(), strict=True
            )
        ]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the rules are; `from_arrays` is the inverse."""
        oracle, payoff = self.oracle, self.oracle.payoff
        trees, missing = joined(oracle.trees.parts).to_arrays(), np.isnan(oracle.world.values)
        return {
            **arrays_of(self),
            **arrays_of(oracle.scaling),
            "sets": oracle.sets,
            "payoff": np.zeros(2) if payoff is None else np.array([payoff.hit, payoff.alarm]),
            "values": np.where(missing, 0.0, oracle.world.values).astype(np.float32),
            "gap": missing,
            "label": oracle.world.label,
            "available": oracle.world.available,
            "fold": oracle.trees.fold,
            "counts": np.array([len(part.root) for part in oracle.trees.parts]),
        } | {TREES + name: array for name, array in trees.items()}

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, np.ndarray], layout: Layout, *, neighbours: int, weighted: bool = False
    ) -> "AacoPolicies":
        """The rules that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such rules; the message names the place.
        """
        part = apart(arrays, TREES)
        a, d = len(layout.actions), len(layout.columns)
        stored = Stored("AACO policies", part)
        stored.require(
            declared(AacoPolicies)
            | declared(Scaling)
            | {
                "sets": Array("bool", ("M", "a")),
                "payoff": Array("float64", (2,), low=0.0),
                "values": Array("float32", ("units", "d")),
                "gap": Array("bool", ("units", "d")),
                "label": Array("int64", ("units",), low=0, high=1),
                "available": Array("bool", ("units", "a")),
                "fold": Array("int64", ("repeats", "units"), low=0),
                "counts": Array("int64", ("parts",), low=1),
            },
            a=a,
            d=d,
        )
        trees = _trees(under(arrays, TREES), part, stored, columns=d + a)
        n = len(part["label"])
        values = np.where(part["gap"], np.nan, part["values"].astype(np.float64))
        world = World(
            "blocked",
            0,
            np.arange(n),
            values,
            layout.provides,
            layout.free_columns,
            part["available"],
            part["label"],
            layout.action_cost,
            2,
            2,
        )
        payoff = None if not part["payoff"].all() else Payoff(*map(float, part["payoff"]))
        oracle = Neighbours(
            world,
            trees,
            Scaling(part["centre"], part["scale"]),
            part["sets"],
            payoff,
            neighbours,
            weighted,
        )
        return AacoPolicies(oracle, part["base"], part["weight"], part["threshold"])


def _trees(
    arrays: Mapping[str, np.ndarray],
    part: Mapping[str, np.ndarray],
    stored: Stored,
    *,
    columns: int,
) -> FoldedTrees:
    """Trees of each repeat and fold."""
    ensemble = stored_trees(arrays, columns=columns)
    counts, fold = part["counts"], part["fold"]
    if int(counts.sum()) != len(ensemble.root) or len(counts) % len(fold):
        raise stored.refusal(
            f"counts {counts.sum()} trees in {len(counts)} parts of {len(fold)} repeats; there are "
            f"{len(ensemble.root)} trees"
        )
    stored.require_between("fold", 0, len(counts) // len(fold) - 1)
    return FoldedTrees(split_ensemble(ensemble, counts), fold)


def learn(
    rows: TreeRows, objective: Objective, settings: Mapping[str, Any], budgets: np.ndarray
) -> Learned:
    """The best rule within each budget, or the one of the costs; `mean_return` is its score.

    It is evaluated on the units that are looked up in, each without itself and by trees that did
    not see it, and on those for evaluation only.
    """
    beliefs = fit_masked(rows, copies=settings["copies"])
    drawn = np.sort(rows.rng.permutation(np.flatnonzero(rows.learns))[: settings["units"]])
    payoff = None if objective.budgeted else objective.payoff(0.0)
    oracle = oracle_of(beliefs, drawn, payoff, settings)
    count = settings["price_weights"]
    weight = price_weights(oracle, rows, count) if payoff is None else np.ones(1)
    tried = AacoPolicies(oracle, rows.bits(rows.base), weight, np.full(len(weight), 0.5))
    judges = np.concatenate([drawn, np.flatnonzero(~rows.learns)])
    number = np.where(np.arange(len(judges)) < len(drawn), np.arange(len(judges)), STRANGER)
    world = rows.world.take(judges)
    offered = replace(world, available=np.ones_like(world.available)) if rows.weights else world
    run = roll_out(
        tried,
        offered,
        uniforms=np.zeros((len(world), world.panels + 1)),
        states=UnitStates(world, number),
    )
    sought = replace(objective, ill=objective.ill[judges])
    informed = sought.knowing(beliefs.at(judges, world.available))
    judged = [
        informed.represented(
            beliefs.at(judges, sets), cost, rows.weights and rows.weights.at(judges, sets)
        )
        for sets, cost in zip(run.acquired, run.cost, strict=True)
    ]
    score, price = (np.array([each[part] for each in judged]) for part in (0, 2))
    chosen = best_within(score, price, budgets if objective.budgeted else np.array([np.inf]))
    policies = replace(
        tried, weight=weight[chosen], threshold=np.array([judged[k][1] for k in chosen])
    )
    return Learned.of_rules(policies.to_arrays(), len(rows.world), score[chosen], price[chosen])


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> AacoPolicies:
    """The rules, and the units that they look up in."""
    return AacoPolicies.from_arrays(
        trained(stored, "aaco"),
        layout,
        neighbours=settings["neighbours"],
        weighted=weighs(settings),
    )


AACO = AgentKind(
    name="aaco",
    build=build,
    fit=partial(fit_for_cost, "aaco", learn),
    front=learn,
    settings={
        "boosting": (
            "BoostingSettings",
            "the trees that predict, on all sets of panels",
            {"leaves": 24, "repeats": 1},
        ),
        "missing": ("MissingPanels", "how rows that lack panels are learned from", "blocked"),
        "copies": ("Count", "of each row, in each of which other panels are hidden", 4),
        "units": ("Count", "training units to look up in, at most", 4000),
        "neighbours": ("Count", "that represent a state", 100),
        "sets": (
            "Count",
            "of panels that are tried: all if they are as few, else some at random",
            127,
        ),
        "price_weights": ("Two", "prices of panels that are tried; not for a cost", 12),
    },
    doc="looks up, in the most similar training units, which set of further panels pays",
    two_classes=True,
    looks={"aaco": (90, "AACO", "vermillion", "p")},
)
