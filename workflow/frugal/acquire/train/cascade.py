"""Cascades: a few sets of panels, one after the other, each bought if the belief lies in a window.

One boosted model per set, cross-fitted. Sets are found by forward search on out-of-fold loss and
price; which set follows which, and the windows of predicted probability in which it is bought, by
backward induction on realised payoffs, at a range of prices; what is kept is the best of all that
within each budget, or the cheapest. Knows no files and no policy interface.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.train.payoff import Objective, best_window
from frugal.acquire.train.tree_sets import (
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
SWEEPS = 2  # over the windows of a path, on the units that come to them
BEAM = 3  # sets of one size that are extended
ADDED = (0.5, 0.75, 1.0)  # shares of a panel's log-odds that a larger set may add
SHORTLIST = 2  # cascades a budget that are told again by all repeats
LEAST_ROWS = 40  # that have all panels of a fixed set, for it to be tried


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

    @classmethod
    def of(cls, panels: Sequence[PanelSet], beliefs: SetBeliefs) -> "Sets":
        """With what trees say of them."""
        probability = np.stack([beliefs.belief(panels_of_set) for panels_of_set in panels])
        price = np.stack([beliefs.rows.price(panels_of_set) for panels_of_set in panels])
        return cls(panels, beliefs.rows, probability, price, [belief_edges(b) for b in probability])

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
    """

    probability: Float[np.ndarray, "s n"]
    price: Float[np.ndarray, "s n"]
    edges: Sequence[np.ndarray]

    @classmethod
    def along(cls, sets: Sets, path: Sequence[int]) -> "Walk":
        """That of some sets, each inside the next."""
        probability, available = [sets.probability[path[0]]], sets.rows.world.available
        for before, after in pairwise(path):
            new = sets.rows.bits(sets.panels[after] - sets.panels[before])
            probability.append(
                np.where((available & new).any(axis=1), sets.probability[after], probability[-1])
            )
        return cls(np.stack(probability), sets.price[list(path)], [sets.edges[k] for k in path])

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
                gain = later - value[j]
                low[j], high[j], _ = best_window(
                    gain, self.probability[j], self.edges[j], reached[j]
                )
                later = np.where(self._open(j, low[j], high[j]), later, value[j])
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

    def _open(self, j: int, low: float, high: float) -> Bool[np.ndarray, " n"]:
        return (self.probability[j] >= low) & (self.probability[j] < high)

    def _reached(self, low: Sequence[float], high: Sequence[float]) -> Bool[np.ndarray, "s n"]:
        reached = [np.ones(self.probability.shape[1], dtype=bool)]
        for j in range(len(self.probability) - 1):
            reached.append(reached[-1] & self._open(j, low[j], high[j]))
        return np.stack(reached)


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
        objective: what is sought, on all of them.
        settings: `gates`, `sets`, `price_weights`, `linear`; see `acquire.policies.cascade`.
        budgets: most that a unit may cost on average; not read where the price is sought itself.
        network: that tells of every set in addition to the trees; None: trees alone.

    Returns:
        Cascades from the cheapest on, none twice; and the trees, of which their sets are part.
    """
    models_of = network.beside if network else partial(rows.beliefs, linear=settings["linear"])
    first = models_of(1)
    searched = searched_sets(first, most=settings["sets"])
    all_panels = rows.reduced(range(rows.world.panels)) | rows.base
    informed = objective.knowing(first.belief(all_panels))
    draft = planned(Sets.of(searched, first), informed, settings)
    short = within_budgets(draft, objective, budgets, most=SHORTLIST)
    used = sorted(
        {rows.base, *(panels for cascade in short for panels in cascade.path)}, key=_in_order
    )
    beliefs = models_of(rows.settings.repeats) if rows.settings.repeats > 1 else first
    informed = objective.knowing(beliefs.belief(all_panels))
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
        objective: what is sought, on all of them.
        settings: `panels`, `sets`, `linear`; see `acquire.policies.fixed_set`.
        budgets: most that a unit may cost on average; not read where the price is sought itself.
    """
    beliefs = rows.beliefs(rows.settings.repeats, linear=settings["linear"])
    all_panels = rows.reduced(range(rows.world.panels)) | rows.base
    if settings["panels"] == "constant":
        beliefs, sets = ConstantBeliefs(rows, 1), [rows.base]
    elif settings["panels"] == "best":
        sets = searched_sets(beliefs, most=settings["sets"])
    else:
        sets = [all_panels if settings["panels"] == "all" else rows.base]
    judged = [_judged_alone(option, beliefs, objective, only=len(sets) == 1) for option in sets]
    return within_budgets(
        [option for option in judged if option], objective, budgets, most=1
    ), beliefs


def _judged_alone(
    panels: PanelSet, beliefs: SetBeliefs, objective: Objective, *, only: bool
) -> Cascade | None:
    """A set as a cascade, evaluated where all of it can be had.

    None where that is in too few rows, or in rows of one class.
    """
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

    What a larger set would tell is guessed by adding up log-odds before it is fitted, so that few
    sets are. Where no guess lies on the hull, the best set short of all grows by the panel of the
    most gain for its price.
    """
    rows, base = beliefs.rows, beliefs.rows.base
    all_panels = rows.reduced(range(rows.world.panels)) | base
    fitted = {panels: _loss(beliefs, panels) for panels in (base, all_panels)}
    used = np.bincount(
        beliefs.of(all_panels).ensemble.feature + 1, minlength=rows.adds.shape[1] + 1
    )
    weight = rows.adds @ used[1:]
    singles = [p for p in range(rows.world.panels) if p not in base and rows.grows(base, p)]
    singles = sorted(singles, key=lambda p: (-weight[p], p))[: most // 2]
    fitted |= {base | {p}: _loss(beliefs, base | {p}) for p in singles}
    while len(fitted) < most:
        guessed = _guessed(beliefs, fitted, singles)
        prices = {panels: float(rows.price(panels).mean()) for panels in [*fitted, *guessed]}
        promising = [panels for panels in hull(fitted | guessed, prices) if panels in guessed]
        promising = promising or _grown(fitted, guessed, prices, all_panels)
        if not promising:
            break
        for panels in promising[: most - len(fitted)]:
            fitted[panels] = _loss(beliefs, panels)
    return sorted(fitted, key=_in_order)


def _loss(beliefs: SetBeliefs, panels: PanelSet) -> float:
    return log_loss(beliefs.of(panels).log_odds, beliefs.rows.world.label)


def _guessed(
    beliefs: SetBeliefs, fitted: Mapping[PanelSet, float], singles: Sequence[int]
) -> dict[PanelSet, float]:
    """Losses of sets of one more panel, the information of a panel alone being added in part."""
    rows, label = beliefs.rows, beliefs.rows.world.label
    start = beliefs.of(rows.base).log_odds
    prices = {panels: float(rows.price(panels).mean()) for panels in fitted}
    guessed: dict[PanelSet, float] = {}
    for panels in _extended(fitted, prices):
        for p in singles:
            larger = panels | {p}
            if larger not in fitted and rows.grows(panels, p) and rows.reduced(larger) == larger:
                log_odds, more = (
                    beliefs.of(panels).log_odds,
                    beliefs.of(rows.base | {p}).log_odds - start,
                )
                guess = min(log_loss(log_odds + share * more, label) for share in ADDED)
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


def _extended(loss: Mapping[PanelSet, float], price: Mapping[PanelSet, float]) -> list[PanelSet]:
    """Sets on the hull, and the best few of each size."""
    chosen = set(hull(loss, price))
    for size in {len(panels) for panels in loss}:
        chosen |= set(sorted((o for o in loss if len(o) == size), key=loss.__getitem__)[:BEAM])
    return sorted(chosen, key=_in_order)


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
            probability, price = walk.ends(low, high)
            reached, threshold = objective.judged(probability, price)
            chain = tuple(sets.panels[k] for k in path)
            of_weight.append(
                Cascade(chain, tuple(low), tuple(high), threshold, reached, float(price.mean()))
            )
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
            gains = [_gain(sets, k, ahead[j] - value[k]) for j in larger]
            if gains and max(gain for gain, _ in gains) > 0:
                at = int(np.argmax([gain for gain, _ in gains]))
                best[k] = np.where(gains[at][1], ahead[larger[at]], value[k])
                paths[k] = [k, *after[larger[at]]]
        ahead, after = best, paths
    start = next(k for k, panels in enumerate(sets.panels) if panels == sets.rows.base)
    return [[start], *([start, *after[j]] for j in above[start])]


def _gain(sets: Sets, k: int, gain: np.ndarray) -> tuple[float, Bool[np.ndarray, " n"]]:
    """What the best window at a set gains in all, and who is in it."""
    low, high, total = best_window(gain, sets.probability[k], sets.edges[k])
    return total, (sets.probability[k] >= low) & (sets.probability[k] < high)


def within_budgets(
    cascades: Sequence[Cascade],
    objective: Objective,
    budgets: Float[np.ndarray, " b"],
    *,
    most: int,
) -> list[Cascade]:
    """The best few within each budget, none twice, from the cheapest on; at least the cheapest."""
    order = sorted(cascades, key=lambda cascade: (-cascade.score, cascade.price, len(cascade.path)))
    chosen: dict[int, Cascade] = {}
    for budget in budgets if objective.budgeted else [np.inf]:
        fitting = [cascade for cascade in order if cascade.price <= budget]
        chosen |= {id(cascade): cascade for cascade in fitting[:most]}
    cheapest = min(cascades, key=lambda cascade: cascade.price)
    return sorted(chosen.values() or [cheapest], key=lambda cascade: (cascade.price, cascade.score))
