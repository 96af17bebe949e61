"""The kind `lattice`: one boosted model for all sets of panels, and trees of panels' gains.

From the largest set down trees predict for each panel the gain of buying it over predicting a class
now, in the value of the rule's own later steps. A value of money decides which gains pay. All
sets, or the best that single steps reach. Learns on blocked records for the table's own costs, and
in `diagnosis` for a score within budgets.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.kinds import AgentKind, Learned, Saved, trained
from frugal.acquire.policies.cascade import TREES, stated_by_models, stored_ensembles
from frugal.acquire.reading import ThresholdRules, panel_or_stop, with_stop
from frugal.acquire.train.payoff import Objective, Payoff, best_rules, fit_for_cost
from frugal.acquire.train.tree_sets import (
    DIGITS,
    NETWORK,
    FoldedNetwork,
    MaskedBeliefs,
    PanelSet,
    Stack,
    StackedBeliefs,
    TreeRows,
    fit_masked,
    hull,
    log_loss,
    numbered,
    predicted_risk,
    stored_trees,
)
from frugal.core.episodes import Belief, Law, Panels, Readings, RowValues, Traits
from frugal.core.layout import Layout
from frugal.core.stored import Stored, Within, apart, arrays_of, declared, under
from frugal.core.world import distinct_sets
from frugal.learn.cross_fitted_trees import FittedMeans, fit_means, joined, split_ensemble
from frugal.learn.tree_scoring import leaf_sums
from frugal.learn.trees import TreeEnsemble

SHARES = (0.03, 1.5)  # worths of money for which gains are learnt
NEARBY = np.geomspace(0.4, 2.5, 9)  # times the worth that gains were learnt for, when they act
MOST_COUNTED = 2**12  # sets; those of twelve panels
SAMPLE = 2000  # units on which sets are compared
NO_GAIN = -np.inf
SMALLEST = 1e-9
BELIEVER, GAINS = "belief.", "gains."  # prefixes among the bundle's arrays


@dataclass(frozen=True, eq=False)
class Lattice:
    """The sets of a search, smaller ones first. Shapes: M sets, n units, a panels."""

    sets: Sequence[PanelSet]
    rows: TreeRows
    probability: Float[np.ndarray, "M n"]

    @cached_property
    def larger(self) -> Int[np.ndarray, "M a"]:
        """Number of the set with one more panel, −1 where there is none."""
        number = {subset: k for k, subset in enumerate(self.sets)}
        panels = range(self.rows.world.panels)
        return np.array(
            [[number.get(s | {p}, -1) if p not in s else -1 for p in panels] for s in self.sets]
        )

    @cached_property
    def reachable(self) -> Bool[np.ndarray, "M n"]:
        """Units that can have all of a set, panels without a price aside."""
        available = self.rows.world.available
        return np.stack(
            [
                (available | ~self.rows.bits(panels - self.rows.base)).all(axis=1)
                for panels in self.sets
            ]
        )

    def features(self, k: int) -> Float[np.ndarray, "n w"]:
        """Inputs of trees for units at a set: values, and the predicted probability. (n, d + 1)"""
        return with_belief(self.rows.visible(self.sets[k]), self.probability[k])


def with_belief(
    values: RowValues, probability: Float[np.ndarray, " m"]
) -> Float[np.ndarray, "m w"]:
    """Values, then the log-odds of a predicted probability. (m, d + 1)"""
    p = np.clip(probability, SMALLEST, 1 - SMALLEST)
    return np.column_stack([values, np.log(p) - np.log1p(-p)])


@dataclass(frozen=True, eq=False)
class LatticeGains:
    """Gain of each further panel at each set, learnt for one value of money.

    Attributes:
        weight: that value.
        fitted: trees of each set. (M)
        gain: of each unit, by trees that did not see it. (M, n, a)
    """

    weight: float
    fitted: Sequence[FittedMeans]
    gain: Float[np.ndarray, "M n a"]


@dataclass(frozen=True)
class LatticeRule:
    """One member of a front.

    Attributes:
        gains: number of the gains that it acts by.
        weight: value of money that it acts for.
        threshold: predicted probability from which a unit is classified as ill.
        score: of the objective, out of fold.
        price: mean, on the same units.
    """

    gains: int
    weight: float
    threshold: float
    score: float
    price: float


def fit_lattice(
    rows: TreeRows,
    objective: Objective,
    *,
    settings: Mapping[str, Any],
    budgets: Float[np.ndarray, " b"],
    network: FoldedNetwork | None = None,
) -> tuple[list[LatticeRule], Lattice, MaskedBeliefs | StackedBeliefs, list[LatticeGains]]:
    """The best rule within each budget, or the cheapest of all, and their models.

    Args:
        rows: training units, and units for evaluation.
        objective: of the search, on all of them.
        settings: `copies`, `sets`, `price_weights`, `gains`; see `studies.field.policies.lattice`.
        budgets: most that a unit may cost on average; not read where the price is sought itself.
        network: that tells of every set in addition to trees of each set; None: one model of all
            sets.
    """
    masked = fit_masked(rows, copies=settings["copies"])
    sets = lattice_sets(masked, most=settings["sets"])
    beliefs = network.stacked(rows.settings.repeats) if network else masked
    lattice = Lattice(sets, rows, np.stack([beliefs.belief(panels) for panels in sets]))
    informed = objective.knowing(lattice.probability[-1])
    full = float(rows.price(sets[-1]).mean())
    shares = np.geomspace(*SHARES, settings["price_weights"])
    half = rows.rng.permutation(len(rows.world)) % 2
    score = informed.judged(lattice.probability[-1], rows.price(sets[-1]))[0]
    every, rules = [], []
    for weight in informed.price_weights(full, shares):
        payoff = informed.payoff(score)
        gains = learnt_gains(lattice, informed.ill, payoff, float(weight), half, settings["gains"])
        nearby = weight * NEARBY if informed.budgeted else [weight]
        nearby_rules = [judged(lattice, gains, informed, float(w), len(every)) for w in nearby]
        score = max(rule.score for rule in nearby_rules)
        every.append(gains)
        rules += nearby_rules
    return best_rules(rules, informed, budgets), lattice, beliefs, every


def learnt_gains(
    lattice: Lattice,
    ill: Float[np.ndarray, " n"],
    payoff: Payoff,
    weight: float,
    half: Int[np.ndarray, " n"],
    settings: Mapping[str, Any],
) -> LatticeGains:
    """From the largest set down: regress the gain of each panel over predicting a class now."""
    world, units = lattice.rows.world, np.arange(len(lattice.rows.world))
    stop = payoff.of_verdicts(ill, lattice.probability)
    value, fitted = stop.copy(), []
    gains = np.full((*stop.shape, world.panels), NO_GAIN, dtype=np.float32)
    for k in reversed(range(len(lattice.sets))):
        larger = lattice.larger[k]
        counts = (larger >= 0) & world.available & lattice.reachable[k][:, None]
        targets = np.where(counts, (value[larger] - stop[k]).T, 0.0)
        means = fit_means(
            lattice.features(k), targets, counts, half, seed=lattice.rows.seed, **settings
        )
        fitted.append(means)
        gains[k] = np.where(counts, means.out_of_fold, NO_GAIN)
        net = gains[k] - weight * world.action_cost
        best = net.argmax(axis=1)
        goes = net[units, best] > 0
        after = value[larger[best], units] - weight * world.action_cost[best]
        value[k] = np.where(goes, after, stop[k])
    return LatticeGains(weight, fitted[::-1], gains)


def ends(
    lattice: Lattice, gains: LatticeGains, weight: float
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Predicted probability and price at which each unit's episode ends."""
    world = lattice.rows.world
    at, units = np.zeros(len(world), dtype=np.int64), np.arange(len(world))
    for _ in range(world.panels):
        net = gains.gain[at, units] - weight * world.action_cost
        best = net.argmax(axis=1)
        goes = net[units, best] > 0
        if not goes.any():
            break
        at = np.where(goes, lattice.larger[at, best], at)
    price = np.stack([lattice.rows.price(panels) for panels in lattice.sets])
    return lattice.probability[at, units], price[at, units]


def judged(
    lattice: Lattice, gains: LatticeGains, objective: Objective, weight: float, number: int
) -> LatticeRule:
    """The rule that acts for a value of money by some gains."""
    probability, price = ends(lattice, gains, weight)
    score, threshold = objective.judged(probability, price)
    return LatticeRule(number, weight, threshold, score, float(price.mean()))


def lattice_sets(beliefs: MaskedBeliefs, *, most: int) -> list[PanelSet]:
    """All sets without a panel that adds nothing, or of each size the best that are reached.

    Sets of one size are compared on their hull of price and loss, then by loss.
    """
    rows = beliefs.rows
    level, retained, total = [rows.base], [rows.base], None
    sizes, all_panels = _all_sizes(rows), rows.reduced(range(rows.world.panels)) | rows.base
    if sum(sizes) > most:
        total = max(1, (most - 2) // max(len(sizes) - 2, 1))
    while level:
        level = _one_larger(rows, level)
        if total is not None and len(level) > total:
            level = _best_of(level, beliefs, all_panels, total)
        retained += level
    return [panels for panels in retained if panels != all_panels] + [all_panels]


def _one_larger(rows: TreeRows, level: Sequence[PanelSet]) -> list[PanelSet]:
    """Sets with one panel more, no panel of which adds nothing to the others."""
    extended: set[PanelSet] = set()
    for panels in level:
        larger = [panels | {p} for p in range(rows.world.panels) if rows.grows(panels, p)]
        extended |= {each for each in larger if rows.reduced(each) == each}
    return sorted(extended, key=sorted)


def _all_sizes(rows: TreeRows) -> list[int]:
    """Numbers of sets of each size, or as many as make it clear that they are too many."""
    level, sizes = [rows.base], []
    while level and sum(sizes) < MOST_COUNTED:
        sizes.append(len(level))
        level = _one_larger(rows, level)
    return sizes + [1] * (len(rows.reduced(range(rows.world.panels))) + 1 - len(sizes))


def _best_of(
    level: Sequence[PanelSet], beliefs: MaskedBeliefs, all_panels: PanelSet, most: int
) -> list[PanelSet]:
    """So many sets of one size: those on the hull of price and loss, then those of least loss."""
    rows = beliefs.rows
    loss = {}
    for panels in level:
        p = np.clip(beliefs.belief(panels, first=SAMPLE), SMALLEST, 1 - SMALLEST)
        loss[panels] = log_loss(np.log(p) - np.log1p(-p), rows.world.label[: len(p)])
    price = {panels: float(rows.price(panels).mean()) for panels in level}
    by_loss = sorted(level, key=lambda s: (loss[s], sorted(s)))
    leads = next(
        panels for panels in by_loss if panels <= all_panels
    )  # single steps lead from it to all panels
    return sorted(list(dict.fromkeys([leads, *hull(loss, price), *by_loss]))[:most], key=sorted)


@dataclass(frozen=True, eq=False)
class OneModel:
    """Trees of all sets, over values and bits of panels."""

    trees: TreeEnsemble

    def risk(
        self, reading: Readings, acquired: Panels, at: Int[np.ndarray, "K m"]
    ) -> Float[np.ndarray, "K m"]:
        """Probability of illness; panels outside the state's set count, too. (K, m)"""
        values, sets = (x.reshape(-1, x.shape[2]) for x in (reading, acquired))
        return predicted_risk(self.trees, values, sets).reshape(at.shape)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The trees."""
        return {BELIEVER + name: array for name, array in self.trees.to_arrays().items()}


@dataclass(frozen=True, eq=False)
class ModelPerSet:
    """Trees of each set, and a network of all.

    Attributes:
        trees: of the sets, over values. (M)
        stack: the network, and how it is weighed.
    """

    trees: Sequence[TreeEnsemble]
    stack: Stack

    def risk(
        self, reading: Readings, acquired: Panels, at: Int[np.ndarray, "K m"]
    ) -> Float[np.ndarray, "K m"]:
        """Probability of illness; panels outside the state's set count with the network. (K, m)"""
        return stated_by_models(self.trees, at, reading, self.stack)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The trees and the network."""
        return numbered(TREES, self.trees) | self.stack.to_arrays()


Believer = OneModel | ModelPerSet


def believer_of(beliefs: MaskedBeliefs | StackedBeliefs, sets: Sequence[PanelSet]) -> Believer:
    """The models of training, as a policy evaluates them."""
    if isinstance(beliefs, MaskedBeliefs):
        return OneModel(beliefs.ensemble)
    return ModelPerSet([beliefs.of(panels).ensemble for panels in sets], beliefs.stack)


def _stored_believer(arrays: Mapping[str, np.ndarray], layout: Layout, sets: int) -> Believer:
    a, d = len(layout.actions), len(layout.columns)
    stack = Stack.from_arrays(arrays, columns=d)
    if stack is None:
        return OneModel(stored_trees(under(arrays, BELIEVER), columns=d + a))
    trees = stored_ensembles(arrays, layout)
    if len(trees) != sets:
        raise Stored("lattice", arrays).refusal(
            f"has trees of {len(trees)} sets; there are {sets} sets"
        )
    return ModelPerSet(trees, stack)


@dataclass(frozen=True, eq=False)
class LatticePolicies(ThresholdRules):
    """K rules on M sets. Shapes: a panels, G gains.

    A state belongs to its own set, or, where that is none of the lattice, to the largest inside it.
    Panels of the first set are bought at once.

    Attributes:
        sets: the first is inside all others. (M, a)
        gains: by which each rule acts. (K,)
        weight: value of a unit of price. (K,)
        threshold: predicted probability from which a unit is classified as ill. (K,)
        believer: model of the probability of illness of a state.
        trees: all trees of the gains, over values and belief; column i belongs to panel i.
        counts: how many of them each set has, set after set, gains after gains. (G, M)
        cost: of the panels. (a,)
    """

    sets: Annotated[Bool[np.ndarray, "M a"], Within()]
    gains: Annotated[Int[np.ndarray, " K"], Within(low=0)]
    weight: Annotated[Float[np.ndarray, " K"], Within(low=0.0)]
    threshold: Annotated[Float[np.ndarray, " K"], Within(above=0, high=1)]
    believer: Believer
    trees: TreeEnsemble
    counts: Annotated[Int[np.ndarray, "G M"], Within(low=1)]
    cost: Float[np.ndarray, " a"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=True,
            compares="gain less price",
            weigh=self.weigh,
            threshold=self.threshold,
            in_steps=True,
        )

    @cached_property
    def _trees_of(self) -> tuple[TreeEnsemble, ...]:
        return split_ensemble(self.trees, self.counts.ravel())

    @cached_property
    def _offers(self) -> Bool[np.ndarray, "M a"]:
        """Panels that lead from a set of the lattice to another."""
        codes = {panels.tobytes() for panels in self.sets}
        more = [
            [(panels | extra).tobytes() for extra in np.eye(len(self.cost), dtype=bool)]
            for panels in self.sets
        ]
        return np.array([[code in codes for code in row] for row in more]) & ~self.sets

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        weight = self.weigh(reading, acquired, available)
        net, goes_on = weight[..., :-1], weight[..., :-1].max(axis=2) > weight[..., -1]
        return panel_or_stop(net.argmax(axis=2), goes_on, acquired.shape[2])

    def weigh(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """Gain of each open panel beyond its price, then 0. (K, m, a + 1)"""
        left, at = available & ~acquired, self._set_of(acquired | self.sets[0])
        probability = self._belief(reading, acquired, at)
        gain = np.full(left.shape, -np.inf)
        for k, number in enumerate(self.gains):
            for set_number in np.unique(at[k]):
                at_set = at[k] == set_number
                trees = self._trees_of[number * len(self.sets) + set_number]
                reading_at_set = with_belief(reading[k, at_set], probability[k, at_set])
                gain[k, at_set] = leaf_sums(
                    trees, reading_at_set, np.ones_like(reading_at_set, dtype=bool)
                )
        open_panels = left & self._offers[at]
        net = np.where(open_panels, gain - self.weight[:, None, None] * self.cost, -np.inf)
        first = left & self.sets[0]
        net = np.where(first.any(axis=2, keepdims=True), np.where(first, np.inf, -np.inf), net)
        return with_stop(net, np.zeros(net.shape[:2]))

    def believe(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities as the trees have them. (K, m, 2)"""
        ill = self._belief(reading, acquired, self._set_of(acquired | self.sets[0]))
        return np.stack([1 - ill, ill], axis=-1)

    def _belief(
        self, reading: np.ndarray, acquired: np.ndarray, at: np.ndarray
    ) -> Float[np.ndarray, "K m"]:
        return self.believer.risk(reading, acquired, at).round(DIGITS)

    def _set_of(self, acquired: Panels) -> Int[np.ndarray, "K m"]:
        """Number of the lattice's largest set inside each, the first of equals."""
        each = distinct_sets(acquired.reshape(-1, acquired.shape[2]))
        size = self.sets.sum(axis=1)
        number = [
            int(np.where((self.sets <= panels).all(axis=1), size, -1).argmax())
            for panels in each.sets
        ]
        return np.array(number)[each.which].reshape(acquired.shape[:2])

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """How the rules differ, in words."""
        return [
            f"a panel that gains {w:.3g} per unit of price; positive from {100 * t:.3g} % on"
            for w, t in zip(self.weight, self.threshold, strict=True)
        ]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the rules are; `from_arrays` is the inverse."""
        gains = {GAINS + name: array for name, array in self.trees.to_arrays().items()}
        return arrays_of(self) | self.believer.to_arrays() | gains

    @staticmethod
    def from_arrays(arrays: Mapping[str, np.ndarray], layout: Layout) -> "LatticePolicies":
        """The rules that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such rules; the message names the place.
        """
        part = apart(arrays, BELIEVER, GAINS, TREES, NETWORK)
        a, d = len(layout.actions), len(layout.columns)
        stored = Stored("lattice", part)
        stored.require(declared(LatticePolicies), a=a)
        believer = _stored_believer(arrays, layout, len(part["sets"]))
        trees = stored_trees(under(arrays, GAINS), columns=d + 1, outputs=a)
        stored.require_between("gains", 0, len(part["counts"]) - 1)
        if int(part["counts"].sum()) != len(trees.root):
            raise stored.refusal(
                f"counts {part['counts'].sum()} trees of gains; there are {len(trees.root)}"
            )
        if (part["sets"][:1] > part["sets"]).any():
            raise stored.refusal("has a set that does not contain the first one")
        return LatticePolicies(**part, believer=believer, trees=trees, cost=layout.action_cost)


def learn(
    rows: TreeRows,
    objective: Objective,
    settings: Mapping[str, Any],
    budgets: np.ndarray,
    network: FoldedNetwork | None = None,
) -> Learned:
    """Rules as a bundle holds them; `mean_return` is the score of each, out of fold."""
    fitted = fit_lattice(rows, objective, settings=settings, budgets=budgets, network=network)
    return _learned(rows, *fitted)


def _learned(
    rows: TreeRows,
    rules: Sequence[LatticeRule],
    lattice: Lattice,
    beliefs: MaskedBeliefs | StackedBeliefs,
    every: Sequence[LatticeGains],
) -> Learned:
    """Results of the rules: the trees of the gains that they act by, and the predictor."""
    used = sorted({rule.gains for rule in rules})
    trees = [part.ensemble for k in used for part in every[k].fitted]
    policies = LatticePolicies(
        np.stack([rows.bits(part) for part in lattice.sets]),
        np.array([used.index(rule.gains) for rule in rules]),
        np.array([rule.weight for rule in rules]),
        np.array([rule.threshold for rule in rules]),
        believer_of(beliefs, lattice.sets),
        joined(trees),
        np.array([len(part.root) for part in trees]).reshape(len(used), len(lattice.sets)),
        rows.world.action_cost,
    )
    score, price = [rule.score for rule in rules], [rule.price for rule in rules]
    return Learned.of_rules(policies.to_arrays(), len(rows.world), score, price)


def build(settings: Mapping[str, Any], layout: Layout, stored: Saved) -> LatticePolicies:
    """The trained rules."""
    return LatticePolicies.from_arrays(trained(stored, "lattice"), layout)


LATTICE = AgentKind(
    name="lattice",
    build=build,
    fit=partial(fit_for_cost, "lattice", learn),
    front=learn,
    settings={
        "boosting": (
            "BoostingSettings",
            "the trees that predict, on all sets of panels",
            {"leaves": 24, "repeats": 1},
        ),
        "copies": ("Count", "of each row, in each of which other panels are hidden", 4),
        "sets": (
            "Count",
            "of panels in which something is decided, at most; the best are taken",
            40,
        ),
        "price_weights": ("Count", "prices of panels that gains are learnt for; not for a cost", 5),
        "gains": (
            "Gains",
            "trees that predict the gain of a panel, on either half of the rows",
            {},
        ),
    },
    doc="one boosted model for all sets of panels; a panel is bought where its gain pays",
    two_classes=True,
    acts_on_beliefs=True,
    looks={"lattice": (70, "lattice of trees", "green", "d")},
)
