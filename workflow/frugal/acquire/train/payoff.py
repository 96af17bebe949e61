"""Objectives of a rule that orders panels and predicts a class: F1, AM, or an expected cost.

For a given score each of the three is linear in units: a unit that is called ill brings `hit` if
it is ill and −`alarm` if not, and a panel costs its price. That is how rules are planned; they are
then evaluated by the score itself. Labels are replaced by the predicted probability of a unit once
all is known of it, where available: it has the same mean and far less chance in it, so the best
of many rules is less often the luckiest. Knows beliefs, labels and prices; no panels and no trees.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.kinds import UNTUNED, Ground, Learned
from frugal.acquire.train.tree_sets import folded_rows
from frugal.learn.calibration import best_threshold
from frugal.learn.weighted_logistic import fit_logistic

ObjectiveName = Literal["f1", "am", "cost"]
SMALLEST = 1e-9  # distance of a threshold from 0 and 1
Learns = Callable[..., Learned]


@dataclass(frozen=True)
class Payoff:
    """Value of saying "ill"; "healthy" has the value 0.

    Attributes:
        hit: of a unit that is ill; above 0.
        alarm: its cost for one that is not; above 0.
    """

    hit: float
    alarm: float

    @property
    def threshold(self) -> float:
        """Belief from which on "ill" is the better class to predict."""
        return self.alarm / (self.hit + self.alarm)

    def of_verdicts(
        self, ill: Float[np.ndarray, " n"], probability: Float[np.ndarray, "*n"]
    ) -> Float[np.ndarray, "*n"]:
        """Value of the better class to predict for units so likely to be ill. (…, n)"""
        return np.where(probability >= self.threshold, ill * self.hit - (1 - ill) * self.alarm, 0.0)


@dataclass(frozen=True, eq=False)
class Objective:
    """Objective on some units.

    Attributes:
        name: f1 or am: the highest within a budget; cost: the least sum of prices and errors.
        ill: 1 for an ill unit, 0 for another; or a probability. (n,)
        errors: cost of saying a class (column) of a unit of a class (row); read by `cost`. (2, 2)
    """

    name: ObjectiveName
    ill: Float[np.ndarray, " n"]
    errors: Float[np.ndarray, "2 2"]

    @classmethod
    def of(
        cls, name: ObjectiveName, label: Int[np.ndarray, " n"], errors: Float[np.ndarray, "2 2"]
    ) -> "Objective":
        """On units whose labels are all that is known."""
        return cls(name, label.astype(np.float64), errors)

    def knowing(self, probability: Float[np.ndarray, " n"]) -> "Objective":
        """The same with the belief of units when all is known, out of fold.

        It is fitted to the labels first, in log-odds by a slope and an intercept, so its mean
        is theirs.
        """
        odds = np.log(np.clip(probability, SMALLEST, 1 - SMALLEST))
        odds = (odds - np.log1p(-np.clip(probability, SMALLEST, 1 - SMALLEST)))[:, None]
        if np.ptp(odds) == 0:
            return self
        label = self.ill.astype(np.int64)
        fitted = fit_logistic(odds, label, np.ones(len(odds)), ridge=SMALLEST)
        return replace(self, ill=fitted.probability(odds))

    @property
    def budgeted(self) -> bool:
        """True where prices are bounded, False where they are part of the objective."""
        return self.name != "cost"

    def payoff(self, score: float) -> Payoff:
        """Values of units for a rule that is to pass a score.

        A rule has F1 above F exactly if Σ (1 − F/2) · hits − F/2 · alarms is above F/2 · ill units.
        """
        if self.name == "f1":
            return Payoff(1 - score / 2, max(score / 2, SMALLEST))
        if self.name == "am":
            ill = float(self.ill.mean())
            return Payoff(0.5 / ill, 0.5 / (1 - ill))
        hit = float(self.errors[1, 0] - self.errors[1, 1])
        return Payoff(
            max(hit, SMALLEST), max(float(self.errors[0, 1] - self.errors[0, 0]), SMALLEST)
        )

    def judged(
        self,
        probability: Float[np.ndarray, " n"],
        price: Float[np.ndarray, " n"],
        weight: Float[np.ndarray, " n"] | None = None,
    ) -> tuple[float, float]:
        """Score of beliefs at which episodes end, and the threshold that they are read by.

        For F1 and AM the threshold is the best on these units. For a cost it follows from the
        costs of errors, and the score is minus the mean cost.

        Args:
            probability: of each unit. (n,)
            price: paid for it. (n,)
            weight: of each unit, of mean 1; None: 1 each. (n,)
        """
        if self.budgeted:
            threshold, score = best_threshold(
                self.ill, probability, criterion=self.name, weight=weight
            )
            return score, float(np.clip(threshold, SMALLEST, 1 - SMALLEST))
        threshold = self.payoff(0.0).threshold
        cost = self.error(probability) + price
        return -float((cost if weight is None else weight * cost).mean()), threshold

    def represented(
        self,
        probability: Float[np.ndarray, " n"],
        price: Float[np.ndarray, " n"],
        weight: Float[np.ndarray, " n"] | None,
    ) -> tuple[float, float, float]:
        """Score and threshold, see `judged`, and mean price, by weights of any scale.

        The score is −∞ where no unit of one of the classes counts.
        """
        if weight is None:
            return *self.judged(probability, price), float(price.mean())
        if len(np.unique(self.ill[weight > 0])) < 2:
            return -np.inf, UNTUNED, float(price.mean())
        share = weight / weight.mean()
        return *self.judged(probability, price, share), float((share * price).mean())

    def error(self, probability: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Cost of the error that is expected of each unit where the cheaper class is predicted."""
        predicted = (probability >= self.payoff(0.0).threshold).astype(np.int64)
        return self.ill * self.errors[1, predicted] + (1 - self.ill) * self.errors[0, predicted]

    def price_weights(
        self, full: float, shares: Float[np.ndarray, " s"]
    ) -> Float[np.ndarray, " b"]:
        """Value of a unit of price for which rules are planned: 1 for a cost, else a range.

        Args:
            full: mean price of all panels.
            shares: of the value at which all panels cost as much as a call of every ill unit gains.
        """
        if not self.budgeted:
            return np.ones(1)
        return shares * float(self.ill.mean()) * self.payoff(0.5).hit / max(full, SMALLEST)


def best_window(
    gain: Float[np.ndarray, " n"],
    probability: Float[np.ndarray, " n"],
    edges: Float[np.ndarray, " e"],
    among: Bool[np.ndarray, " n"] | None = None,
) -> tuple[float, float, float]:
    """From which belief on and below which gains sum to most, and that sum; (1, 1, 0): nowhere.

    Args:
        gain: of going on, for each unit.
        probability: by which it is decided.
        edges: between the allowed ends, ascending; below the first and above the last: no end.
        among: units that count; None: all.
    """
    place = np.searchsorted(edges, probability, side="right")
    if among is not None:
        place, gain = place[among], gain[among]
    total = np.concatenate([[0.0], np.cumsum(np.bincount(place, gain, minlength=len(edges) + 1))])
    before = np.minimum.accumulate(total)
    last = int((total - before).argmax())
    best = float(total[last] - before[last])
    if best <= 0:
        return 1.0, 1.0, 0.0
    first = int(total[: last + 1].argmin())
    ends = np.concatenate([[0.0], edges, [np.inf]])
    return float(ends[first]), float(ends[last]), best


def best_within(
    score: Float[np.ndarray, " r"],
    price: Float[np.ndarray, " r"],
    budgets: Float[np.ndarray, " b"],
    *,
    most: int = 1,
) -> list[int]:
    """So many rules of the best scores within each budget, none twice, from the cheapest on.

    Of equals the first. Where none fits any budget, the cheapest.
    """
    order = sorted(range(len(score)), key=lambda k: (-score[k], price[k]))
    chosen: dict[int, None] = {}
    for budget in budgets:
        chosen |= dict.fromkeys([k for k in order if price[k] <= budget][:most])
    return sorted(chosen or [int(price.argmin())], key=lambda k: (price[k], score[k]))


def best_rules(
    rules: Sequence[Any],
    objective: "Objective | ClassCost",
    budgets: Float[np.ndarray, " b"],
    *,
    most: int = 1,
) -> list[Any]:
    """Of rules that have `score` and `price`, see `best_within`; of all for a cost."""
    score, price = (np.array([getattr(rule, key) for rule in rules]) for key in ("score", "price"))
    within = budgets if objective.budgeted else np.array([np.inf])
    return [rules[k] for k in best_within(score, price, within, most=most)]


@dataclass(frozen=True, eq=False)
class ClassCost:
    """The least sum of prices and errors, of a label of more than two classes.

    Attributes:
        label: class of each unit. (n,)
        errors: cost of saying a class (column) of a unit of a class (row). (k, k)
    """

    label: Int[np.ndarray, " n"]
    errors: Float[np.ndarray, "k k"]
    budgeted = False

    def score(self, probability: Float[np.ndarray, "n k"], price: Float[np.ndarray, " n"]) -> float:
        """Minus the mean cost where the class of least expected cost is predicted."""
        decided = (probability @ self.errors).argmin(axis=1)
        return -float((self.errors[self.label, decided] + price).mean())


def fit_for_cost(
    kind: str, learn: Learns, ground: Ground, settings: Mapping[str, Any], *, many: bool = False
) -> Learned:
    """Result of `learn(rows, objective, settings, budgets)` on the records.

    Args:
        kind: of the agent.
        learn: its training.
        ground: the records.
        settings: of the agent.
        many: whether it takes a label of more than two classes, with a `ClassCost`.

    Raises:
        DataError: the label has other than two classes, or one of them too few rows.
    """
    classes = len(ground.table.classes)
    if not many:
        ground.require_two_classes(kind)
    world, rng = ground.world(terminals=classes), ground.streams.generator("trees")
    every = np.ones(len(world), dtype=bool)
    rows = folded_rows(world, every, settings, rng, **ground.shared)
    errors = ground.table.misclassification_cost
    if classes > 2:
        return learn(rows, ClassCost(world.label, errors), settings, np.array([np.inf]))
    objective = Objective.of(ground.objective, rows.world.label, errors)
    return learn(rows, objective, settings, np.array(ground.budgets or [np.inf]))
