"""Networks that believe and networks that choose panels, and rules on their outputs.

Of each of C choosers there are F networks, one for each fold that did not learn; their output is
averaged. The output of a chooser for a panel is its **margin**: the panel of the largest one is
bought while that is above a least one. Two kinds of choosers: logits (`gdfs`) and values (`dime`).

Rules (how large a margin buys, and from which belief on a unit is ill) are chosen within budgets on
units that the networks did not learn from: out of fold, and those for evaluation only, pooled. A
chooser goes one way through a unit, and a rule decides where on it to stop, so all rules of a
chooser cost one walk. Knows no training of choosers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Float32, Int
from scipy.special import log_softmax, softmax

from frugal.acquire.kinds import Learned
from frugal.acquire.reading import ERRORS, ThresholdRules, cheapest_class, panel_or_stop, with_stop
from frugal.acquire.train.payoff import ClassCost, Objective, best_rules
from frugal.acquire.train.tree_sets import DIGITS, FoldedRows, networks_of_sets
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
from frugal.core.stored import Array, Stored, Within, apart, arrays_of, declared, under
from frugal.core.table import LARGEST
from frugal.core.world import adds_column
from frugal.learn.cross_fitted_trees import MOST_LOG_ODDS
from frugal.learn.masked_networks import MaskedNetworks, outputs
from frugal.learn.weighted_logistic import Logistic, fit_logistic

if TYPE_CHECKING:
    from frugal.learn.lockstep import FlatParameters

OutputKind = Literal["logits", "values"]
BOUGHT_AT_ONCE = np.inf  # margin of a panel without a price
RIDGE = 1e-6
BELIEVER, CHOOSER = "believer.", "chooser."  # prefixes among the bundle's arrays
_COMPARED = {"logits": "logit above stopping", "values": "nats per unit of price"}
WORDS: dict[OutputKind, str] = {
    "logits": "a panel whose logit is {least:.3g} above that of stopping, at a penalty of "
    "{penalty:.3g} nats per unit of price",
    "values": "a panel with more than {least:.3g} nats per unit of price",
}


@dataclass(frozen=True, eq=False)
class PanelNetworks:
    """C · F networks, those of a chooser together. Shapes: d columns, a panels.

    Attributes:
        output_kind: logits: the margin is the logit of a panel less that of "stop"; values:
            nats of log-loss that a panel saves, as a share of the entropy of the belief, and the
            margin is nats per unit of price.
        folds: F.
        believer: log-odds of class 1, or logits of each of more classes. (C · F)
        weights: of the choosers' layers. (C · F, in, out)
        biases: of the same. (C · F, 1, out)
        adds: columns that each panel adds to the free ones. (a, d)
        cost: of the panels. (a,)
    """

    output_kind: OutputKind
    folds: int
    believer: MaskedNetworks
    weights: tuple[Float32[np.ndarray, "N _ _"], ...]
    biases: tuple[Float32[np.ndarray, "N 1 _"], ...]
    adds: Bool[np.ndarray, "a d"]
    cost: Float[np.ndarray, " a"]

    @property
    def choosers(self) -> int:
        """C."""
        return self.believer.count // self.folds

    def of(self, choosers: Sequence[int]) -> "PanelNetworks":
        """The same with some choosers alone, in that order."""
        some = [c * self.folds + f for c in choosers for f in range(self.folds)]
        return self._with(some, self.folds)

    def of_fold(self, fold: int) -> "PanelNetworks":
        """One network of each chooser."""
        return self._with(list(range(fold, self.believer.count, self.folds)), 1)

    def _with(self, some: list[int], folds: int) -> "PanelNetworks":
        believer = MaskedNetworks(
            self.believer.reads,
            tuple(w[some] for w in self.believer.weights),
            tuple(b[some] for b in self.believer.biases),
        )
        return replace(
            self,
            folds=folds,
            believer=believer,
            weights=tuple(w[some] for w in self.weights),
            biases=tuple(b[some] for b in self.biases),
        )

    def open_panels(
        self, acquired: Bool[np.ndarray, "*m a"], available: Bool[np.ndarray, "*m a"]
    ) -> Bool[np.ndarray, "*m a"]:
        """Panels that can be had and that show a column which nothing else does. (…, a)"""
        return available & ~acquired & adds_column(self.adds, acquired)

    def log_odds(self, chooser: int, read: RowReadings) -> Float[np.ndarray, "m o"]:
        """Of class 1, or of each of more classes, by a chooser's predictors, averaged. (m, o)"""
        return self._each_log_odds(chooser, read.astype(np.float64)).mean(axis=0)

    def margins(
        self, chooser: int, read: RowReadings, acquired: RowPanels, available: RowPanels
    ) -> Float[np.ndarray, "m a"]:
        """Of each panel; −∞ where it cannot be had or shows nothing new. (m, a)"""
        exact = read.astype(np.float64)
        output = outputs(*self._layers(self.weights, self.biases, chooser), exact)
        if self.output_kind == "logits":
            margin = (output[..., :-1] - output[..., -1:]).mean(axis=0)
        else:
            odds = self._each_log_odds(chooser, exact)
            gain = entropy(odds) / (1 + np.exp(-output))
            margin = gain.mean(axis=0) / np.where(self.cost > 0, self.cost, 1.0)
        margin = np.where(self.cost > 0, margin, BOUGHT_AT_ONCE)
        return np.where(self.open_panels(acquired, available), margin, -np.inf)

    def _each_log_odds(self, chooser: int, exact: Float[np.ndarray, "m w"]) -> np.ndarray:
        layers = self._layers(self.believer.weights, self.believer.biases, chooser)
        return np.clip(outputs(*layers, exact), -MOST_LOG_ODDS, MOST_LOG_ODDS)

    def _layers(
        self, weights: Sequence[np.ndarray], biases: Sequence[np.ndarray], chooser: int
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """In float64, so the same state is told the same in batches of any size."""
        some = slice(chooser * self.folds, (chooser + 1) * self.folds)
        return [w[some].astype(np.float64) for w in weights], [
            b[some].astype(np.float64) for b in biases
        ]


def entropy(log_odds: Float[np.ndarray, "*m o"]) -> Float[np.ndarray, "*m 1"]:
    """Of predicted probabilities, in nats. (…, 1)"""
    if log_odds.shape[-1] > 1:
        p = softmax(log_odds, axis=-1)
        return -(p * log_softmax(log_odds, axis=-1)).sum(axis=-1, keepdims=True)
    p = 1 / (1 + np.exp(-log_odds))
    return p * np.logaddexp(0, -log_odds) + (1 - p) * np.logaddexp(0, log_odds)


@dataclass(frozen=True, eq=False)
class ChooserWalk:
    """A chooser's way through units as far as it goes. Shapes: T steps, n units.

    Attributes:
        margin: of the best panel at each step, −∞ where there is none or it ended before. (T, n)
        log_odds: of class 1, or of each of more classes, at each step. (T, n, o)
        price: paid so far. (T, n)
    """

    margin: Float[np.ndarray, "T n"]
    log_odds: Float[np.ndarray, "T n o"]
    price: Float[np.ndarray, "T n"]

    @classmethod
    def along(
        cls,
        networks: PanelNetworks,
        chooser: int,
        read: Float32[np.ndarray, "n w"],
        available: Bool[np.ndarray, "n a"],
        *,
        free: Bool[np.ndarray, " d"],
        floor: float,
    ) -> "ChooserWalk":
        """On units whose whole rows are read, hidden here again, while margins pass a floor.

        Args:
            networks: that go.
            chooser: which of them.
            read: of units of which all is known.
            available: panels that can be had.
            free: columns known before the first panel.
            floor: margin at which every rule stops.
        """
        n, a = available.shape
        shape = (a + 1, n)
        margin, price = np.full(shape, -np.inf), np.zeros(shape)
        odds = np.zeros((*shape, networks.believer.biases[-1].shape[-1]))
        acquired, going = np.zeros((n, a), dtype=bool), np.arange(n)
        adds = networks.adds.astype(np.float32)
        for step in range(a + 1):
            mine = acquired[going]
            observed = free | (mine.astype(np.float32) @ adds > 0)
            visible = read[going] * np.tile(observed, 2)
            odds[step:, going] = networks.log_odds(chooser, visible)
            price[step:, going] = mine @ networks.cost
            best = networks.margins(chooser, visible, mine, available[going])
            panel = best.argmax(axis=1)
            margin[step, going] = best[np.arange(len(going)), panel]
            on = margin[step, going] > floor
            acquired[going[on], panel[on]] = True
            going = going[on]
            if not going.size:
                break
        return cls(margin, odds, price)

    def ends(self, least: float) -> tuple[Float[np.ndarray, "n o"], Float[np.ndarray, " n"]]:
        """Log-odds and price where each unit stops, the first margin not above the least one."""
        at: Int[np.ndarray, " n"] = (self.margin <= least).argmax(axis=0)
        units = np.arange(len(at))
        return self.log_odds[at, units], self.price[at, units]

    @staticmethod
    def joined(parts: Sequence["ChooserWalk"], units: Sequence[np.ndarray]) -> "ChooserWalk":
        """Those of groups of units as one."""
        place = np.argsort(np.concatenate(units))
        return ChooserWalk(
            *(
                np.concatenate([getattr(part, name) for part in parts], axis=1)[:, place]
                for name in ("margin", "log_odds", "price")
            )
        )


@dataclass(frozen=True, eq=False)
class NetworkRule:
    """One member of a front.

    Attributes:
        chooser: whose way it goes.
        least: it goes on while the margin is above.
        calibration: intercept and slope of the believers' log-odds where it stops; 0 and 1 with
            more than two classes.
        threshold: predicted probability from which a unit is classified as ill, of two classes.
        score: of the objective, on units that were not learnt from.
        price: mean, on the same units.
    """

    chooser: int
    least: float
    calibration: tuple[float, float]
    threshold: float
    score: float
    price: float


@dataclass(frozen=True, eq=False)
class Believers:
    """Networks of all sets, fitted to rows with panels hidden at random, before any chooser.

    Attributes:
        rows: those that they learn from, and more.
        networks: one of each fold.
    """

    rows: FoldedRows
    networks: MaskedNetworks

    @classmethod
    def of(cls, rows: FoldedRows, settings: Mapping[str, Any]) -> "Believers":
        """Fit them."""
        return cls(rows, networks_of_sets(rows, settings))

    def parameters(self, copies: int) -> "FlatParameters":
        """So many copies of all, one after the other, to train further."""
        import torch  # slow to import

        from frugal.learn.lockstep import FlatParameters

        arrays = {}
        pairs = zip(self.networks.weights, self.networks.biases, strict=True)
        for layer, (weight, bias) in enumerate(pairs):
            arrays |= {f"{layer}.weight": weight, f"{layer}.bias": bias}
        return FlatParameters.of(
            {name: torch.from_numpy(array).repeat(copies, 1, 1) for name, array in arrays.items()}
        )

    def informed(self, objective: Objective | ClassCost) -> Objective | ClassCost:
        """With the probability of illness once all is known, of networks that did not see it."""
        if isinstance(objective, ClassCost):
            return objective
        world = self.rows.world
        visible = world.visible(np.arange(len(world)), world.available)
        odds, _ = self.networks.out_of_fold(visible, self.rows.fold)
        return objective.knowing(np.round(1 / (1 + np.exp(-odds)), DIGITS))

    def with_chooser(
        self, output_kind: OutputKind, predictor: "FlatParameters", chooser: "FlatParameters"
    ) -> PanelNetworks:
        """The networks that were trained further, with the choosers."""
        believer = MaskedNetworks(self.networks.reads, *_exported(predictor))
        return PanelNetworks(
            output_kind,
            self.rows.settings.folds,
            believer,
            *_exported(chooser),
            self.rows.adds,
            self.rows.world.action_cost,
        )


def _exported(
    parameters: "FlatParameters",
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Copies of weights and biases."""
    views = parameters.views
    weights, biases = (
        tuple(views[f"{k}.{part}"].numpy().copy() for k in range(len(views) // 2))
        for part in ("weight", "bias")
    )
    return weights, biases


def walks(rows: FoldedRows, networks: PanelNetworks, *, floor: float) -> list[ChooserWalk]:
    """Each chooser's way through all units, by networks that did not learn from the unit."""
    world, fold = rows.world, rows.fold[0]
    read = networks.believer.reads.read(world.values).astype(np.float32)
    groups = [np.flatnonzero(fold == number) for number in range(-1, networks.folds)]
    folded = [networks, *(networks.of_fold(number) for number in range(networks.folds))]
    return [
        ChooserWalk.joined(
            [
                ChooserWalk.along(
                    of_fold,
                    chooser,
                    read[units],
                    world.available[units],
                    free=world.free_columns,
                    floor=floor,
                )
                for of_fold, units in zip(folded, groups, strict=True)
            ],
            groups,
        )
        for chooser in range(networks.choosers)
    ]


def fit_rules(
    rows: FoldedRows,
    walked: Sequence[ChooserWalk],
    leasts: Callable[[ChooserWalk], Sequence[float]],
    objective: Objective | ClassCost,
    budgets: Float[np.ndarray, " b"],
) -> list[NetworkRule]:
    """The best rule within each budget, or of all, from the cheapest on.

    Args:
        rows: units for evaluation.
        walked: of each chooser.
        leasts: margins that are tried on a way.
        objective: the quantity to optimise.
        budgets: most that a unit may cost on average; not read where the price is sought itself.
    """
    rules = [
        _rule(rows, walk, chooser, float(least), objective)
        for chooser, walk in enumerate(walked)
        for least in leasts(walk)
    ]
    return best_rules(rules, objective, budgets)


def _rule(
    rows: FoldedRows,
    walk: ChooserWalk,
    chooser: int,
    least: float,
    objective: Objective | ClassCost,
) -> NetworkRule:
    """Stops at a margin; of two classes its belief is fitted to the labels of who stops there."""
    odds, price = walk.ends(least)
    if isinstance(objective, ClassCost):
        score = objective.score(softmax(odds, axis=1), price)
        return NetworkRule(chooser, least, (0.0, 1.0), 0.5, score, float(price.mean()))
    line = Logistic(0.0, np.ones(1))
    if np.ptp(odds) > 0:
        line = fit_logistic(odds, rows.world.label, np.ones(len(odds)), ridge=RIDGE)
    probability = np.round(line.probability(odds), DIGITS)
    score, threshold = objective.judged(probability, price)
    fitted = (line.intercept, float(line.slope[0]))
    return NetworkRule(chooser, least, fitted, threshold, score, float(price.mean()))


@dataclass(frozen=True, eq=False)
class NetworkPolicies(ThresholdRules):
    """K rules. Shapes: a panels, C choosers.

    Attributes:
        networks: C choosers, and the predictor of each.
        penalty: nats per unit of price that each chooser was trained for. (C,)
        chooser: of each rule. (K,)
        least: margin above which a panel is bought. (K,)
        calibration: intercept and slope of the believers' log-odds. (K, 2)
        threshold: predicted probability from which a unit is classified as ill, of two classes.
            (K,)
        errors: cost of saying a class (column) of a unit of a class (row); None: two classes.
            (k, k)
    """

    networks: PanelNetworks
    penalty: Annotated[Float[np.ndarray, " C"], Within(low=0.0)]
    chooser: Annotated[Int[np.ndarray, " K"], Within(low=0)]
    least: Annotated[Float[np.ndarray, " K"], Within()]
    calibration: Annotated[Float[np.ndarray, "K 2"], Within()]
    threshold: Annotated[Float[np.ndarray, " K"], Within(above=0, high=1)]
    errors: Float[np.ndarray, "k k"] | None = None

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(
            consistent=True,
            compares=_COMPARED[self.networks.output_kind],
            weigh=self.weigh,
            threshold=self.threshold if self.errors is None else None,
        )

    def read(self, values: RowValues, acquired: RowPanels) -> RowReadings:
        """Normal scores of the values that the state shows, and flags of these. (m, 2 d)"""
        return self.networks.believer.reads.read(values).astype(np.float32)

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        weight = self.weigh(reading, acquired, available)
        margin, goes = weight[..., :-1], weight[..., :-1].max(axis=2) > weight[..., -1]
        return panel_or_stop(margin.argmax(axis=2), goes, acquired.shape[2])

    def weigh(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """Margin of each panel, then the least one that is bought. (K, m, a + 1)"""
        states = zip(self.chooser.tolist(), reading, acquired, available, strict=True)
        margin = np.stack([self.networks.margins(*state) for state in states])
        return with_stop(margin, self.least[:, None])

    def believe(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities by the believers, calibrated if there are two. (K, m, k)"""
        pairs = zip(self.chooser.tolist(), reading, strict=True)
        odds = np.stack([self.networks.log_odds(*pair) for pair in pairs])
        if self.errors is not None:
            return softmax(odds, axis=2)
        odds = self.calibration[:, :1] + self.calibration[:, 1:] * odds[..., 0]
        ill = np.round(1 / (1 + np.exp(-odds)), DIGITS)
        return np.stack([1 - ill, ill], axis=-1)

    def conclude(self, reading: Readings, acquired: Panels) -> Belief:
        """Beliefs tilted to the threshold, or 1 for the class of least expected cost. (K, m, k)"""
        if self.errors is None:
            return super().conclude(reading, acquired)
        return cheapest_class(self.believe(reading, acquired), self.errors)

    def sentences(self, panels: Sequence[str]) -> list[str]:
        """How the rules differ, in words."""
        words, penalty = WORDS[self.networks.output_kind], self.penalty[self.chooser]
        ends = "then the class of least expected cost"
        return [
            f"{words.format(least=v, penalty=w)}; "
            + (f"positive from {100 * t:.3g} % on" if self.errors is None else ends)
            for v, w, t in zip(self.least, penalty, self.threshold, strict=True)
        ]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything the rules are; `from_arrays` is the inverse."""
        arrays = arrays_of(self)
        arrays |= {} if self.errors is None else {ERRORS: self.errors}
        believer = self.networks.believer.to_arrays()
        arrays |= {BELIEVER + name: array for name, array in believer.items()}
        pairs = zip(self.networks.weights, self.networks.biases, strict=True)
        for layer, (weight, bias) in enumerate(pairs):
            arrays |= {f"{CHOOSER}{layer}.weight": weight, f"{CHOOSER}{layer}.bias": bias}
        return arrays

    @staticmethod
    def from_arrays(
        arrays: Mapping[str, np.ndarray], layout: Layout, output_kind: OutputKind
    ) -> "NetworkPolicies":
        """The rules that `to_arrays` wrote.

        Raises:
            DataError: the arrays are no such rules; the message names the place.
        """
        part = apart(arrays, BELIEVER, CHOOSER)
        stored, k = Stored("rules of networks", part), len(layout.classes)
        many = {} if k == 2 else {ERRORS: Array("float64", (k, k), low=-LARGEST)}
        size = stored.require(many | declared(NetworkPolicies))
        stored.require_between("chooser", 0, size["C"] - 1)
        believer = MaskedNetworks.from_arrays(
            under(arrays, BELIEVER), columns=len(layout.columns), classes=k
        )
        if believer.count % size["C"]:
            raise stored.refusal(
                f"are for {size['C']} choosers; there are {believer.count} networks, and as many "
                "belong to each chooser"
            )
        chooser = _layers(under(arrays, CHOOSER), layout, output_kind, believer.count)
        networks = PanelNetworks(
            output_kind,
            believer.count // size["C"],
            believer,
            *chooser,
            layout.provides & ~layout.free_columns,
            layout.action_cost,
        )
        return NetworkPolicies(networks, **part)


def _layers(
    arrays: Mapping[str, np.ndarray], layout: Layout, output_kind: OutputKind, count: int
) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Weights and biases of the choosers, checked."""
    layers = sum(name.endswith(".weight") for name in arrays)
    n_outputs = len(layout.actions) + (output_kind == "logits")
    widths = [2 * len(layout.columns), *(f"units {k}" for k in range(layers - 1)), n_outputs]
    expected = {}
    for k in range(max(layers, 1)):
        shapes = {"weight": (count, widths[k], widths[k + 1]), "bias": (count, 1, widths[k + 1])}
        expected |= {
            f"{k}.{part}": Array("float32", shape, low=-LARGEST) for part, shape in shapes.items()
        }
    Stored("choosers", arrays).require(expected)
    weights, biases = (
        tuple(arrays[f"{k}.{part}"] for k in range(layers)) for part in ("weight", "bias")
    )
    return weights, biases


def learned_networks(
    networks: PanelNetworks,
    penalty: Float[np.ndarray, " C"],
    rules: Sequence[NetworkRule],
    objective: Objective | ClassCost,
    *,
    transitions: int,
) -> Learned:
    """Results of training; `mean_return` of the curve is the score of each rule, out of fold."""
    used = sorted({rule.chooser for rule in rules})
    policies = NetworkPolicies(
        networks.of(used),
        penalty[used],
        np.array([used.index(rule.chooser) for rule in rules]),
        np.array([rule.least for rule in rules]),
        np.array([rule.calibration for rule in rules]),
        np.array([rule.threshold for rule in rules]),
        objective.errors if isinstance(objective, ClassCost) else None,
    )
    score, price = [rule.score for rule in rules], [rule.price for rule in rules]
    return Learned.of_rules(policies.to_arrays(), transitions, score, price)
