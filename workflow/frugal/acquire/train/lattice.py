"""Lattices of sets of panels: what each further panel is worth in each set, by backward induction.

One boosted model believes for all sets; from the largest set down trees tell of each panel what
buying it gains over saying a class now, in the worth of what the rule itself goes on to do. A worth
of money decides which gains pay. All sets, or the best that single steps reach. Knows no files and
no policy interface.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.train.masked_trees import MaskedBeliefs, fit_masked
from frugal.acquire.train.payoff import Objective, Payoff
from frugal.acquire.train.stacked_beliefs import FoldedNetwork, StackedBeliefs
from frugal.acquire.train.tree_sets import PanelSet, TreeRows, hull, log_loss
from frugal.learn.cross_fitted_trees import FittedMeans, fit_means

SHARES = (0.03, 1.5)  # worths of money for which gains are learnt
NEARBY = np.geomspace(0.4, 2.5, 9)  # times the worth that gains were learnt for, when they act
MOST_COUNTED = 2**12  # sets; those of twelve panels
SAMPLE = 2000  # units on which sets are compared
NO_GAIN = -np.inf
SMALLEST = 1e-9


@dataclass(frozen=True, eq=False)
class Lattice:
    """The sets of a search, smaller ones first. Shapes: M sets, n units, a panels."""

    sets: Sequence[PanelSet]
    rows: TreeRows
    belief: Float[np.ndarray, "M n"]

    @cached_property
    def larger(self) -> Int[np.ndarray, "M a"]:
        """Number of the set with one more panel, −1 where there is none."""
        number = {one: k for k, one in enumerate(self.sets)}
        panels = range(self.rows.world.panels)
        return np.array(
            [[number.get(s | {p}, -1) if p not in s else -1 for p in panels] for s in self.sets]
        )

    @cached_property
    def reachable(self) -> Bool[np.ndarray, "M n"]:
        """Units that can have all of a set, panels without a price aside."""
        available = self.rows.world.available
        return np.stack(
            [(available | ~self.rows.bits(one - self.rows.base)).all(axis=1) for one in self.sets]
        )

    def features(self, k: int) -> Float[np.ndarray, "n w"]:
        """What trees read of units at a set: values, and the belief. (n, d + 1)"""
        return with_belief(self.rows.visible(self.sets[k]), self.belief[k])


def with_belief(
    values: Float[np.ndarray, "m d"], belief: Float[np.ndarray, " m"]
) -> Float[np.ndarray, "m w"]:
    """Values, then the log-odds of a belief. (m, d + 1)"""
    p = np.clip(belief, SMALLEST, 1 - SMALLEST)
    return np.column_stack([values, np.log(p) - np.log1p(-p)])


@dataclass(frozen=True, eq=False)
class Gains:
    """What each further panel gains at each set, learnt for one worth of money.

    Attributes:
        weight: that worth.
        fitted: trees of each set. (M)
        told: of each unit, by trees that did not see it. (M, n, a)
    """

    weight: float
    fitted: Sequence[FittedMeans]
    told: Float[np.ndarray, "M n a"]


@dataclass(frozen=True)
class LatticeRule:
    """One member of a front.

    Attributes:
        gains: number of the gains that it acts by.
        weight: worth of money that it acts for.
        threshold: belief from which on a unit is called ill.
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
) -> tuple[list[LatticeRule], Lattice, MaskedBeliefs | StackedBeliefs, list[Gains]]:
    """The best rule within each budget, or the cheapest of all, and what they act by.

    Args:
        rows: units that trees learn from, and units that judge with them.
        objective: what is sought, on all of them.
        settings: `copies`, `sets`, `price_weights`, `gains`; see `acquire.policies.lattice`.
        budgets: most that a unit may cost on average; not read where the price is sought itself.
        network: that tells of every set beside trees of each set; None: one model of all sets.
    """
    masked = fit_masked(rows, copies=settings["copies"])
    sets = lattice_sets(masked, most=settings["sets"])
    beliefs = network.beside(rows.settings.repeats) if network else masked
    lattice = Lattice(sets, rows, np.stack([beliefs.belief(one) for one in sets]))
    informed = objective.knowing(lattice.belief[-1])
    full = float(rows.price(sets[-1]).mean())
    shares = np.geomspace(*SHARES, settings["price_weights"])
    half = rows.rng.permutation(len(rows.world)) % 2
    score = informed.judged(lattice.belief[-1], rows.price(sets[-1]))[0]
    every, made = [], []
    for weight in informed.price_weights(full, shares):
        payoff = informed.payoff(score)
        gains = learnt_gains(lattice, informed.ill, payoff, float(weight), half, settings["gains"])
        nearby = weight * NEARBY if informed.budgeted else [weight]
        here = [judged(lattice, gains, informed, float(w), len(every)) for w in nearby]
        score = max(rule.score for rule in here)
        every.append(gains)
        made += here
    chosen = within_budgets(made, informed, budgets)
    return chosen, lattice, beliefs, every


def learnt_gains(
    lattice: Lattice,
    ill: Float[np.ndarray, " n"],
    payoff: Payoff,
    weight: float,
    half: Int[np.ndarray, " n"],
    settings: Mapping[str, Any],
) -> Gains:
    """From the largest set down: regress what each panel gains over saying a class now."""
    world, units = lattice.rows.world, np.arange(len(lattice.rows.world))
    stop = payoff.of_verdicts(ill, lattice.belief)
    worth, fitted = stop.copy(), []
    told = np.full((*stop.shape, world.panels), NO_GAIN, dtype=np.float32)
    for k in reversed(range(len(lattice.sets))):
        larger = lattice.larger[k]
        counts = (larger >= 0) & world.available & lattice.reachable[k][:, None]
        targets = np.where(counts, (worth[larger] - stop[k]).T, 0.0)
        means = fit_means(
            lattice.features(k), targets, counts, half, seed=lattice.rows.seed, **settings
        )
        fitted.append(means)
        told[k] = np.where(counts, means.told, NO_GAIN)
        net = told[k] - weight * world.action_cost
        best = net.argmax(axis=1)
        goes = net[units, best] > 0
        after = worth[larger[best], units] - weight * world.action_cost[best]
        worth[k] = np.where(goes, after, stop[k])
    return Gains(weight, fitted[::-1], told)


def ends(
    lattice: Lattice, gains: Gains, weight: float
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Belief and price at which each unit's episode ends."""
    world = lattice.rows.world
    at, units = np.zeros(len(world), dtype=np.int64), np.arange(len(world))
    for _ in range(world.panels):
        net = gains.told[at, units] - weight * world.action_cost
        best = net.argmax(axis=1)
        goes = net[units, best] > 0
        if not goes.any():
            break
        at = np.where(goes, lattice.larger[at, best], at)
    price = np.stack([lattice.rows.price(one) for one in lattice.sets])
    return lattice.belief[at, units], price[at, units]


def judged(
    lattice: Lattice, gains: Gains, objective: Objective, weight: float, number: int
) -> LatticeRule:
    """The rule that acts for a worth of money by some gains."""
    belief, price = ends(lattice, gains, weight)
    score, threshold = objective.judged(belief, price)
    return LatticeRule(number, weight, threshold, score, float(price.mean()))


def within_budgets(
    made: Sequence[LatticeRule], objective: Objective, budgets: Float[np.ndarray, " b"]
) -> list[LatticeRule]:
    """The best within each budget, none twice, from the cheapest on."""
    order = sorted(made, key=lambda one: (-one.score, one.price))
    chosen = {}
    for budget in budgets if objective.budgeted else [np.inf]:
        chosen |= dict.fromkeys([one for one in order if one.price <= budget][:1])
    return sorted(chosen or order[:1], key=lambda one: (one.price, one.score))


def lattice_sets(beliefs: MaskedBeliefs, *, most: int) -> list[PanelSet]:
    """All sets without a panel that adds nothing, or of each size the best that are reached.

    Sets of one size are compared on their hull of price and loss, then by loss.
    """
    rows = beliefs.rows
    level, kept, total = [rows.base], [rows.base], None
    sizes, whole = _all_sizes(rows), rows.reduced(range(rows.world.panels)) | rows.base
    if sum(sizes) > most:
        total = max(1, (most - 2) // max(len(sizes) - 2, 1))
    while level:
        level = _one_larger(rows, level)
        if total is not None and len(level) > total:
            level = _best_of(level, beliefs, whole, total)
        kept += level
    return [one for one in kept if one != whole] + [whole]


def _one_larger(rows: TreeRows, level: Sequence[PanelSet]) -> list[PanelSet]:
    """Sets with one panel more, no panel of which adds nothing to the others."""
    found: set[PanelSet] = set()
    for one in level:
        larger = [one | {p} for p in range(rows.world.panels) if rows.grows(one, p)]
        found |= {each for each in larger if rows.reduced(each) == each}
    return sorted(found, key=sorted)


def _all_sizes(rows: TreeRows) -> list[int]:
    """Numbers of sets of each size, or as many as make it clear that they are too many."""
    level, sizes = [rows.base], []
    while level and sum(sizes) < MOST_COUNTED:
        sizes.append(len(level))
        level = _one_larger(rows, level)
    return sizes + [1] * (len(rows.reduced(range(rows.world.panels))) + 1 - len(sizes))


def _best_of(
    level: Sequence[PanelSet], beliefs: MaskedBeliefs, whole: PanelSet, most: int
) -> list[PanelSet]:
    """So many sets of one size: those on the hull of price and loss, then those of least loss."""
    rows = beliefs.rows
    loss = {}
    for one in level:
        p = np.clip(beliefs.belief(one, first=SAMPLE), SMALLEST, 1 - SMALLEST)
        loss[one] = log_loss(np.log(p) - np.log1p(-p), rows.world.label[: len(p)])
    price = {one: float(rows.price(one).mean()) for one in level}
    by_loss = sorted(level, key=lambda s: (loss[s], sorted(s)))
    leads = next(one for one in by_loss if one <= whole)  # single steps lead from it to all panels
    return sorted(list(dict.fromkeys([leads, *hull(loss, price), *by_loss]))[:most], key=sorted)
