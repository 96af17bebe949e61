"""Cascades: a few sets of panels, one after the other, each bought if the belief lies in a window.

One boosted model per set, cross-fitted. Sets are found by forward search on out-of-fold loss and
price; which set follows which, and the windows of predicted probability in which it is bought, by
backward induction on realised payoffs, at a range of prices; the result is the best of all that
within each budget, or the cheapest. Knows no files and no policy interface.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.train.payoff import Objective, best_rules, best_window
from frugal.acquire.train.tree_sets import (
    LEAST_ROWS,
    ConstantBeliefs,
    FoldedNetwork,
    PanelSet,
    SetBeliefs,
    TreeRows,
    belief_edges,
    hull,
    log_loss,
)

SHARES = (0.003, 3.0)  # worths of money, from nearly none to one at which no panel pays
ERRORS = 1.0  # standard errors by which a weighted gain must exceed zero
SWEEPS = 2  # over the windows of a path, on the units that come to them
BEAM = 3  # sets of one size that are extended
ADDED = (0.5, 0.75, 1.0)  # shares of a panel's log-odds that a larger set may add
SHORTLIST = 2  # cascades a budget that are told again by all repeats


@dataclass(frozen=True, eq=False)
class Cascade:
    """Sets that contain each other, and when the next one is bought.

    Attributes:
        path: the sets, the first one bought by everyone.
        low: predicted probability from which the next set is bought. (len(path) − 1,)
        high: below which it is.
        threshold: predicted probability from which a unit is classified as ill.
        score: of the objective, out of fold.
        price: mean, on the same units.
    """

    path: tuple[PanelSet, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    threshold: float
    score: float
    price: float


@dataclass(frozen=True, eq=False)
class Sets:
    """The sets of a search, with belief, price and cuts of each. Shapes: M sets, n units."""

    panels: Sequence[PanelSet]
    rows: TreeRows
    probability: Float[np.ndarray, "M n"]
    price: Float[np.ndarray, "M n"]
    edges: Sequence[np.ndarray]
    _steps: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)

    @classmethod
    def of(cls, panels: Sequence[PanelSet], beliefs: SetBeliefs) -> "Sets":
        """With the trees' predictions for them."""
        probability = np.stack([beliefs.belief(panels_of_set) for panels_of_set in panels])
        price = np.stack([beliefs.rows.price(panels_of_set) for panels_of_set in panels])
        edges = [belief_edges(b) for b in probability]
        return cls(panels, beliefs.rows, probability, price, edges)

    def step(self, k: int, j: int) -> Float[np.ndarray, " n"] | None:
        """Weights of units from set k to set j, see `FoldedRows.step_weight`; None: 1 each. (n,)"""
        if self.rows.weights is None:
            return None
        if (k, j) not in self._steps:
            self._steps[k, j] = self.rows.step_weight(self.panels[k], self.panels[j])
        return self._steps[k, j]

    def supersets(self, k: int) -> list[int]:
        """Sets that contain set k and add something that it does not show."""
        shown = self.rows.columns(self.panels[k])
        return [
            j
            for j, other in enumerate(self.panels)
            if self.panels[k] < other and (self.rows.columns(other) & ~shown).any()
        ]


@dataclass(frozen=True, eq=False)
class Walk:
    """A path of sets as units go along it. Shapes: s sets, n units.

    Attributes:
        probability: at each set; where a set offers a unit nothing new, that before. (s, n)
        price: paid so far. (s, n)
        edges: cuts of the belief at each set.
        weight: of units for the step to each set; None: every unit counts once. (s, n)
    """

    probability: Float[np.ndarray, "s n"]
    price: Float[np.ndarray, "s n"]
    edges: Sequence[np.ndarray]
    weight: Float[np.ndarray, "s n"] | None = None

    @classmethod
    def along(cls, sets: Sets, path: Sequence[int]) -> "Walk":
        """That of some sets, each inside the next."""
        probability, available = [sets.probability[path[0]]], sets.rows.world.available
        for before, after in pairwise(path):
            new = sets.rows.bits(sets.panels[after] - sets.panels[before])
            probability.append(
                np.where((available & new).any(axis=1), sets.probability[after], probability[-1])
            )
        at = list(path)
        steps = [step for k, j in pairwise(at) if (step := sets.step(k, j)) is not None]
        first = np.ones(len(sets.rows.world))
        weight = None if sets.rows.weights is None else np.stack([first, *steps])
        return cls(np.stack(probability), sets.price[at], [sets.edges[k] for k in at], weight)

    def windows(self, value: Float[np.ndarray, "s n"]) -> tuple[list[float], list[float]]:
        """Windows of the highest value, by backward induction on the units that come to each.

        Args:
            value: of ending at each set. (s, n)
        """
        steps = len(self.probability) - 1
        low, high = [0.0] * steps, [np.inf] * steps
        for sweep in range(SWEEPS):
            reached = (
                self._reached(low, high) if sweep else np.ones_like(self.probability, dtype=bool)
            )
            later = value[-1]
            for j in reversed(range(steps)):
                weight = None if self.weight is None else self.weight[j + 1]
                goes_on = going_on(value[j], value[j + 1], later, weight)
                gain = goes_on - value[j]
                low[j], high[j], _ = best_window(
                    gain, self.probability[j], self.edges[j], reached[j]
                )
                later = np.where(self._open(j, low[j], high[j]), goes_on, value[j])
        return low, high

    def ends(
        self, low: Sequence[float], high: Sequence[float]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Predicted probability and price at which each unit's episode ends."""
        at, units = self.last(low, high), np.arange(self.probability.shape[1])
        return self.probability[at, units], self.price[at, units]

    def last(self, low: Sequence[float], high: Sequence[float]) -> Int[np.ndarray, " n"]:
        """Number of the set at which each unit's episode ends. (n,)"""
        return self._reached(low, high).sum(axis=0) - 1

    def judged(
        self, low: Sequence[float], high: Sequence[float], objective: Objective
    ) -> tuple[float, float, float]:
        """Score and threshold, see `Objective.judged`, and mean price.

        With weights a step counts by the units that have the panels that it adds, and a unit that
        ends counts by its weight for the last step. A score of costs is that of a mean less
        `ERRORS` standard errors, so a set that few units have is not the best by chance.
        """
        at, units = self.last(low, high), np.arange(self.probability.shape[1])
        probability, price = self.probability[at, units], self.price[at, units]
        if self.weight is None:
            return *objective.judged(probability, price), float(price.mean())
        paid = self.expected(self.price, low, high)[0]
        if not objective.budgeted:
            cost = np.stack([objective.error(of_set) for of_set in self.probability]) + self.price
            mean, error = self.expected(cost, low, high)
            return -(mean + ERRORS * error), objective.payoff(0.0).threshold, paid
        score, threshold, _ = objective.represented(probability, price, self.weight[at, units])
        return score, threshold, paid

    def expected(
        self, cost: Float[np.ndarray, "s n"], low: Sequence[float], high: Sequence[float]
    ) -> tuple[float, float]:
        """Mean cost of ending where each unit does, and the standard error of the weighted part.

            mean of c₀ + Σⱼ 1(j is reached) wⱼ (cⱼ − cⱼ₋₁)

        Args:
            cost: of ending at each set. (s, n)
            low: ends of the windows.
            high: their other ends.
        """
        if self.weight is None:
            return float(cost[self.last(low, high), np.arange(cost.shape[1])].mean()), 0.0
        steps = self._reached(low, high)[1:] * np.diff(cost, axis=0)
        mean, error = weighted_mean(steps, self.weight[1:])
        return float(cost[0].mean()) + mean, error

    def _open(self, j: int, low: float, high: float) -> Bool[np.ndarray, " n"]:
        return (self.probability[j] >= low) & (self.probability[j] < high)

    def _reached(self, low: Sequence[float], high: Sequence[float]) -> Bool[np.ndarray, "s n"]:
        reached = [np.ones(self.probability.shape[1], dtype=bool)]
        for j in range(len(self.probability) - 1):
            reached.append(reached[-1] & self._open(j, low[j], high[j]))
        return np.stack(reached)


def going_on(
    value: Float[np.ndarray, " n"],
    following: Float[np.ndarray, " n"],
    later: Float[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"] | None,
) -> Float[np.ndarray, " n"]:
    """Value of going on to a set, by the units that have all of it where they are weighted. (n,)

    Args:
        value: of ending here.
        following: of ending at the set that follows.
        later: of going on to it, and from there as planned.
        weight: of the units at the set that follows; None: 1 each.
    """
    if weight is None:
        return later
    return value + weight * (following - value) + (later - following)


def weighted_mean(
    steps: Float[np.ndarray, "s n"], weight: Float[np.ndarray, "s n"]
) -> tuple[float, float]:
    """Sum of the weighted means of some rows, and its standard error; weights have a mean of 1."""
    means = (weight * steps).mean(axis=1, keepdims=True)
    influence = (weight * (steps - means)).sum(axis=0)
    return float(means.sum()), float(np.sqrt(np.square(influence).sum()) / len(influence))


def fit_cascades(
    rows: TreeRows,
    objective: Objective,
    *,
    settings: Mapping[str, Any],
    budgets: Float[np.ndarray, " b"],
    network: FoldedNetwork | None = None,
) -> tuple[list[Cascade], SetBeliefs]:
    """The best cascade within each budget, or the cheapest of all, and the trees of their sets.

    Args:
        rows: training units, and units for evaluation.
        objective: the quantity to optimise, on all of them.
        settings: `gates`, `sets`, `price_weights`, `linear`; see `acquire.policies.cascade`.
        budgets: most that a unit may cost on average; not read where the price is sought itself.
        network: that tells of every set in addition to the trees; None: trees alone.

    Returns:
        Cascades from the cheapest on, none twice; and the trees, of which their sets are part.
    """
    models_of = network.stacked if network else partial(rows.beliefs, linear=settings["linear"])
    first = models_of(1)
    searched = searched_sets(first, most=settings["sets"])
    informed = objective.knowing(first.belief(rows.every))
    draft = planned(Sets.of(searched, first), informed, settings)
    short = within_budgets(draft, objective, budgets, most=SHORTLIST)
    used = sorted(
        {rows.base, *(panels for cascade in short for panels in cascade.path)}, key=_in_order
    )
    beliefs = models_of(rows.settings.repeats) if rows.settings.repeats > 1 else first
    informed = objective.knowing(beliefs.belief(rows.every))
    final = planned(Sets.of(used, beliefs), informed, settings)
    return within_budgets(final, objective, budgets, most=1), beliefs


def fit_fixed_sets(
    rows: TreeRows,
    objective: Objective,
    *,
    settings: Mapping[str, Any],
    budgets: Float[np.ndarray, " b"],
) -> tuple[list[Cascade], SetBeliefs]:
    """One set for every unit, as a cascade of it: the best within each budget, or the cheapest.

    A set is evaluated on the units that can have all of it.

    Args:
        rows: training units, and units for evaluation.
        objective: the quantity to optimise, on all of them.
        settings: `panels`, `sets`, `linear`; see `acquire.policies.fixed_set`.
        budgets: most that a unit may cost on average; not read where the price is sought itself.
    """
    beliefs = rows.beliefs(rows.settings.repeats, linear=settings["linear"])
    if settings["panels"] == "constant":
        beliefs, sets = ConstantBeliefs(rows, 1), [rows.base]
    elif settings["panels"] == "best":
        sets = searched_sets(beliefs, most=settings["sets"])
    else:
        sets = [rows.every if settings["panels"] == "all" else rows.base]
    judged = [_judged_alone(option, sets, beliefs, objective) for option in sets]
    if not any(judged):  # few rows hold any panels together
        judged = [_judged_alone(rows.base, [rows.base], beliefs, objective)]
    options = [option for option in judged if option]
    return within_budgets(options, objective, budgets, most=1), beliefs


def _judged_alone(
    panels: PanelSet, sets: Sequence[PanelSet], beliefs: SetBeliefs, objective: Objective
) -> Cascade | None:
    """A set as a cascade, evaluated where all of it can be had.

    None where that is in too few rows, or in rows of one class, and there are others. Of weighted
    units by the sets that lead to it from that of no panel.
    """
    only = len(sets) == 1
    if beliefs.rows.weights is not None and not only:
        path, before = [panels], _before(panels, sets)
        while before is not None:
            path, before = [before, *path], _before(before, sets)
        walk = Walk.along(Sets.of(path, beliefs), range(len(path)))
        gates = len(path) - 1
        score, threshold, price = walk.judged([0.0] * gates, [np.inf] * gates, objective)
        return Cascade((panels,), (), (), threshold, score, price)
    able = beliefs.rows.world.available[:, sorted(panels)].all(axis=1)
    if able.sum() < LEAST_ROWS or np.ptp(objective.ill[able]) == 0:
        if not only:
            return None
        able = np.ones_like(able)
    part = replace(objective, ill=objective.ill[able])
    price = beliefs.rows.price(panels)[able]
    score, threshold = part.judged(beliefs.belief(panels)[able], price)
    return Cascade((panels,), (), (), threshold, score, float(price.mean()))


def searched_sets(beliefs: SetBeliefs, *, most: int) -> list[PanelSet]:
    """No panel and all, single ones, and larger sets that may lie on the hull of price and loss.

    The gain of a larger set is guessed by adding up log-odds before it is fitted, and few
    sets are. Where no guess lies on the hull, the best set short of all grows by the panel of the
    most gain for its price.
    """
    rows, base, all_panels = beliefs.rows, beliefs.rows.base, beliefs.rows.every
    fitted = _with_losses(beliefs, {}, [base, all_panels])
    used = np.bincount(
        beliefs.of(all_panels).ensemble.feature + 1, minlength=rows.adds.shape[1] + 1
    )
    weight = rows.adds @ used[1:]
    singles = [p for p in rows.offered if p not in base and rows.grows(base, p)]
    singles = sorted(singles, key=lambda p: (-weight[p], p))[: most // 2]
    fitted = _with_losses(beliefs, fitted, [base | {p} for p in singles])
    while len(fitted) < most:
        guessed = _guessed(beliefs, fitted, singles)
        prices = {panels: rows.mean_price(panels) for panels in [*fitted, *guessed]}
        promising = [panels for panels in hull(fitted | guessed, prices) if panels in guessed]
        promising = promising or _grown(fitted, guessed, prices, all_panels)
        if not promising:
            break
        fitted = _with_losses(beliefs, fitted, promising[: most - len(fitted)])
    return sorted(filter(rows.held, fitted), key=_in_order)


def _with_losses(
    beliefs: SetBeliefs, fitted: Mapping[PanelSet, float], more: Sequence[PanelSet]
) -> dict[PanelSet, float]:
    """Losses of fitted sets, and of some more."""
    losses = dict(fitted)
    for panels in more:
        before = _before(panels, losses)
        losses[panels] = _loss(beliefs, before, panels, beliefs.of(panels).log_odds, losses)
    return losses


def _before(panels: PanelSet, others: Iterable[PanelSet]) -> PanelSet | None:
    """The largest of some sets that lies inside another one; None where none does."""
    inside = [other for other in others if other < panels]
    return max(inside, key=lambda other: (len(other), sorted(other))) if inside else None


def _loss(
    beliefs: SetBeliefs,
    before: PanelSet | None,
    panels: PanelSet,
    log_odds: Float[np.ndarray, " n"],
    fitted: Mapping[PanelSet, float],
) -> float:
    """Mean loss of predictions at a set; of weighted units that of a set inside it and the change.

    The change counts with so many standard errors that a set of few units is no bargain.
    """
    rows, label = beliefs.rows, beliefs.rows.world.label
    if rows.weights is None or before is None:
        return log_loss(log_odds, label)
    signed = np.where(label == 1, -1.0, 1.0)
    change = np.logaddexp(0.0, signed * log_odds)
    change -= np.logaddexp(0.0, signed * beliefs.of(before).log_odds)
    mean, error = weighted_mean(change[None], rows.step_weight(before, panels)[None])
    return fitted[before] + mean + ERRORS * error


def _guessed(
    beliefs: SetBeliefs, fitted: Mapping[PanelSet, float], singles: Sequence[int]
) -> dict[PanelSet, float]:
    """Losses of sets of one more panel, the information of a panel alone being added in part."""
    rows = beliefs.rows
    start = beliefs.of(rows.base).log_odds
    prices = {panels: rows.mean_price(panels) for panels in fitted}
    guessed: dict[PanelSet, float] = {}
    chosen = set(hull(fitted, prices))
    for size in {len(panels) for panels in fitted}:
        chosen |= set(sorted((o for o in fitted if len(o) == size), key=fitted.__getitem__)[:BEAM])
    for panels in sorted(chosen, key=_in_order):
        for p in singles:
            larger = panels | {p}
            if larger in fitted or not rows.held(larger):
                continue
            if rows.grows(panels, p) and rows.reduced(larger) == larger:
                log_odds, more = (
                    beliefs.of(panels).log_odds,
                    beliefs.of(rows.base | {p}).log_odds - start,
                )
                guess = min(
                    _loss(beliefs, panels, larger, log_odds + s * more, fitted) for s in ADDED
                )
                guessed[larger] = min(guess, guessed.get(larger, np.inf))
    return guessed


def _grown(
    fitted: Mapping[PanelSet, float],
    guessed: Mapping[PanelSet, float],
    prices: Mapping[PanelSet, float],
    all_panels: PanelSet,
) -> list[PanelSet]:
    """The best set short of all, and the panel of the most gain for its price; none if none is."""
    short = [panels for panels in fitted if panels != all_panels]  # none where every panel is free
    if not short:
        return []
    best = min(short, key=lambda panels: (fitted[panels], prices[panels]))
    larger = [panels for panels in guessed if best < panels]

    def gain(panels: PanelSet) -> float:
        return (fitted[best] - guessed[panels]) / max(prices[panels] - prices[best], 1e-12)

    return [max(larger, key=gain)] if larger else []


def _in_order(panels: PanelSet) -> tuple[int, list[int]]:
    return len(panels), sorted(panels)


def planned(sets: Sets, objective: Objective, settings: Mapping[str, Any]) -> list[Cascade]:
    """Cascades for a range of values of money, evaluated on all units."""
    highest_price = float(sets.price.mean(axis=1).max())
    cascades: list[Cascade] = []
    score = max(
        objective.judged(sets.probability[k], sets.price[k])[0] for k in range(len(sets.panels))
    )
    shares = np.append(0.0, np.geomspace(*SHARES, settings["price_weights"] - 1))
    for weight in objective.price_weights(highest_price, shares):
        payoff = objective.payoff(score)
        of_weight, ill = [], objective.ill
        value = payoff.of_verdicts(ill, sets.probability) - weight * sets.price
        for path in best_paths(sets, value, settings["gates"]):
            walk = Walk.along(sets, path)
            low, high = walk.windows(
                payoff.of_verdicts(ill, walk.probability) - weight * walk.price
            )
            reached, threshold, price = walk.judged(low, high, objective)
            chain = tuple(sets.panels[k] for k in path)
            of_weight.append(Cascade(chain, tuple(low), tuple(high), threshold, reached, price))
        cascades += of_weight
        score = max(cascade.score for cascade in of_weight) if objective.budgeted else score
    return cascades


def best_paths(sets: Sets, value: Float[np.ndarray, "M n"], gates: int) -> list[list[int]]:
    """From the first set on: for each next set the best continuation, of at most so many gates.

    Args:
        sets: with the first one that everyone has.
        value: of ending at each set. (M, n)
        gates: sets of a path, at most.
    """
    above = [sets.supersets(k) for k in range(len(sets.panels))]
    ahead, after = value, [[k] for k in range(len(sets.panels))]
    for _ in range(gates - 1):
        best, paths = value.copy(), [[k] for k in range(len(sets.panels))]
        for k, larger in enumerate(above):
            further = [going_on(value[k], value[j], ahead[j], sets.step(k, j)) for j in larger]
            gains = [_gain(sets, k, later - value[k]) for later in further]
            if gains and max(gain for gain, _ in gains) > 0:
                at = int(np.argmax([gain for gain, _ in gains]))
                best[k] = np.where(gains[at][1], further[at], value[k])
                paths[k] = [k, *after[larger[at]]]
        ahead, after = best, paths
    start = next(k for k, panels in enumerate(sets.panels) if panels == sets.rows.base)
    return [[start], *([start, *after[j]] for j in above[start])]


def _gain(sets: Sets, k: int, gain: np.ndarray) -> tuple[float, Bool[np.ndarray, " n"]]:
    """Total gain of the best window at a set, and who is in it."""
    low, high, total = best_window(gain, sets.probability[k], sets.edges[k])
    within = (sets.probability[k] >= low) & (sets.probability[k] < high)
    if sets.rows.weights is not None:
        total -= ERRORS * float(np.sqrt(np.square(gain[within]).sum()))
    return total, within


def within_budgets(
    cascades: Sequence[Cascade],
    objective: Objective,
    budgets: Float[np.ndarray, " b"],
    *,
    most: int,
) -> list[Cascade]:
    """See `best_within`; of equals the one of fewer sets."""
    return best_rules(sorted(cascades, key=lambda c: len(c.path)), objective, budgets, most=most)
