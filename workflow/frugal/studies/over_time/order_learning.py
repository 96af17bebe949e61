"""Policies over time learned from records: fitted Q-iteration, in the semi-offline view, guarded.

Windows are learned backwards. A record that contains a set a shows the state S_{t+1} to which it
leads, also where it holds more. So for each set

    Q_t(s, a) = price(a) + E[min_b Q_{t+1}(S_{t+1}, b) | S_t = s, a]

is a regression over the records that contain the panels drawn before t, and a in t, weighted by one
over the probability of that, as in `judge.over_time`. Earlier orders are drawn at random, so that
all states occur. It is fitted as Q_t(s, nothing), and the change by a against nothing in the same
record, so differences between records cancel; the less favourable of two fits, each on half of
the units, counts. At the end is the least expected cost of a decision, by a model of the label that
is not fitted to the record. The regressions are trees of each window, or networks that all windows
share, see `learn.window_regressions`.

Differences between choices are small, and the least of noisy ones looks too cheap. So a guard
compares, on units left out, doubly robust costs of the fixed plans, of no orders, and of the
learned policy where an order must save more than some margin; the least upper bound counts. Judge
such a policy on units that it was not learned from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import NoSupportError
from frugal.core.world import set_codes
from frugal.judge.intervals import effective_sample_size, mean_error
from frugal.judge.semi_offline import least_probability
from frugal.judge.verdicts import LEAST_ESS
from frugal.learn.nuisance_choice import HeadModels
from frugal.studies.over_time.estimates import estimate_over_time, reach_of
from frugal.studies.over_time.history_fits import (
    OrderLaw,
    TimedFit,
    cases_over_time,
    chance_of,
    decision_inputs,
    fit_label,
    fit_order_law,
    history_inputs,
    ordered_sets,
    unit_folds,
)
from frugal.studies.over_time.orders import (
    LEARNED,
    Bars,
    DrawnOrders,
    LearnedOrders,
    TimedPaths,
    choice_inputs,
    follow,
    reveal,
)
from frugal.studies.over_time.records import TimedCosts, TimedPolicy, TimedRecords, TimedState
from frugal.studies.over_time.window_regressions import REGRESSIONS

COPIES = 2  # of each record, with other orders drawn
ORDERED = 2.0  # windows of a drawn path that have an order, on average
MARGINS = (0.0, 0.5, 0.9)  # quantiles of the expected savings of orders that save something


@dataclass(frozen=True, eq=False)
class _DrawnCopies:
    """Copies of records with drawn orders. m copies, s sets.

    Attributes:
        records: the copies.
        costs: of the records.
        path: of the drawn orders.
        sets: that may be ordered. (s, a)
        chance: that a window holds each set, by the fitted law. (s, m, t)
        reach: that it holds the panels drawn before each window and after the last. (m, t + 1)
        least: probability by which is divided.
        labels: models of the label, by the fold to which they are not fitted.
        fold: of each copy. (m,)
        half: of each copy; those of a cluster share one. (m,)
    """

    records: TimedRecords
    costs: TimedCosts
    path: TimedPaths
    sets: Bool[np.ndarray, "s a"]
    chance: Float[np.ndarray, "s m t"]
    reach: Float[np.ndarray, "m t1"]
    least: float
    labels: list[HeadModels | None]
    fold: Int[np.ndarray, " m"]
    half: Int[np.ndarray, " m"]

    def after(self, window: int, panels: Bool[np.ndarray, " a"]) -> TimedState:
        """After a window in which these panels are ordered instead of the drawn ones."""
        ordered = self.path.ordered.copy()
        ordered[:, window] = panels
        last, age = self.path.last[window].copy(), self.path.age[window] + 1
        reveal(self.records, ordered, self.costs.delay, window + 1, last, age)
        since = np.where(panels, 1.0, self.path.since[window] + 1)
        return TimedState(window + 1, self.records.static, last, age, since)

    def ahead(
        self, policy: LearnedOrders, window: int, panels: Bool[np.ndarray, " a"]
    ) -> Float[np.ndarray, " m"]:
        """Expected cost after a window in which these panels are ordered; NaN if unknown. (m,)"""
        after, ends = self.after(window, panels), self.records.end == window + 1
        cost = np.full(len(ends), np.nan)
        if ends.any():
            cost[ends] = self.decision(after)[ends]
        if window + 1 < self.records.windows:
            cost[~ends] = policy.expected(after).min(axis=1)[~ends]
        return np.where(self.records.censored & ends, np.nan, cost)

    def decision(self, state: TimedState) -> Float[np.ndarray, " m"]:
        """Least expected cost of a decision, by models not fitted to the unit. (m,)

        NaN where a fold has no model.
        """
        inputs, cost = decision_inputs(self.records, state), np.full(len(self.fold), np.nan)
        for number, model in enumerate(self.labels):
            rows = self.fold == number
            chance = chance_of(model, inputs[rows])
            expected = np.column_stack([1 - chance, chance]) @ self.costs.errors
            cost[rows] = expected.min(axis=1)
        return cost


def learn_guarded(
    records: TimedRecords,
    costs: TimedCosts,
    plans: Sequence[TimedPolicy],
    fit: TimedFit,
    rng: np.random.Generator,
    support: Bars | None = None,
) -> LearnedOrders:
    """The learned policy with a margin, or a plan: that of the least upper bound of its cost.

    Candidates are compared with no orders, on each fold of the units by policies that are learned
    from the others. An order, or a plan, must save more than one standard error of that difference.

    Args:
        records: to learn from, with labels of two classes.
        costs: of panels, waiting and errors.
        plans: that it may follow; the learned policy orders one of their sets of panels, or none.
        fit: how the law, the model of the label and the policy are fitted.
        rng: of folds, drawn orders and learners.
        support: where it orders no set with some panel.
    """
    records = replace(records, needed=None)  # it learns as if orders depend on the record alone
    fold = unit_folds(records.cluster, fit.folds, rng)
    paths = [follow(records, plan, costs) for plan in plans]
    sets = ordered_sets(paths)[0]
    order_law = fit_order_law(
        records, history_inputs(records, costs), sets, sets[:0], fold, fit, rng
    )
    parts = [fold >= 0, *(fold != number for number in np.unique(fold))]
    learned = [
        learn_orders(records.take(part), costs, sets, fit, stream, order_law.take(part), support)
        for part, stream in zip(parts, rng.spawn(len(parts)), strict=True)
    ]
    tried = [
        [follow(records, with_margin(each, k), costs) for each in learned[1:]]
        for k in range(len(MARGINS) + 1)
    ]
    cases = cases_over_time(
        records, costs, [*tried, *paths], fit, rng, fold=fold, order_law=order_law
    )
    reference = estimate_over_time(cases[0])
    bound = np.full(len(cases), np.inf)
    for k, case in enumerate(cases):
        try:
            estimate = estimate_over_time(case)
        except NoSupportError:
            continue
        if estimate.effective >= LEAST_ESS:
            error = mean_error(estimate.psi - reference.psi, records.cluster)[0]
            bound[k] = estimate.mean[0] - reference.mean[0] + error
    best = int(bound.argmin())
    number = best - len(tried)
    if number < 0:
        return with_margin(learned[0], best)
    return replace(learned[0][0], plan=plans[number], number=number)


def with_margin(learned: tuple[LearnedOrders, np.ndarray], k: int) -> LearnedOrders:
    """A policy with one of its margins."""
    return replace(learned[0], margin=float(learned[1][k]))


def learn_orders(
    records: TimedRecords,
    costs: TimedCosts,
    sets: Bool[np.ndarray, "s a"],
    fit: TimedFit,
    rng: np.random.Generator,
    order_law: OrderLaw | None = None,
    support: Bars | None = None,
) -> tuple[LearnedOrders, Float[np.ndarray, " q"]]:
    """A policy that orders one of some sets of panels in each window, and margins to try.

    A set is allowed in the windows that enough records hold (30 effective ones).

    Args:
        records: to learn from, with labels of two classes.
        costs: of panels, waiting and errors.
        sets: that it may order; the empty one is added.
        fit: how the law, the model of the label and the policy are fitted.
        rng: of folds, drawn orders and learners.
        order_law: of the records, for these sets; None: it is fitted.
        support: where a set with some panel is not ordered; None: nowhere.

    Returns:
        The policy; infinity, at which nothing is ordered, and the quantiles `MARGINS` of what its
        orders are expected to save, over drawn states.
    """
    records = replace(records, needed=None)  # it learns as if orders depend on the record alone
    a = len(records.panels)
    sets = np.unique(np.concatenate([np.zeros((1, a), dtype=bool), sets]), axis=0)
    price = costs.acquisition(sets[:, None], np.zeros(len(sets), dtype=np.int64))
    sets, price = sets[np.argsort(price, kind="stable")], np.sort(price, kind="stable")
    copies = _copies(records, costs, sets, fit, rng, order_law)
    allowed = np.zeros((records.windows, len(sets)), dtype=bool)
    regressions = REGRESSIONS[fit.learner]()
    policy = LearnedOrders(
        LEARNED, sets, price, costs.waiting, regressions, allowed, support=support
    )
    for window in range(records.windows - 1, -1, -1):
        _learn_window(copies, policy, window, fit, rng)
    saved = []
    for state in copies.path.states(copies.records)[:-1]:
        cost = policy.expected(state)[copies.records.end > state.window]
        orders = cost[:, 1:-1].min(axis=1, initial=np.inf)
        saved.append(np.minimum(cost[:, 0], cost[:, -1]) - orders)
    some = np.concatenate(saved)
    some = np.append(some[some > 0], 0.0)
    return policy, np.append(np.inf, np.quantile(some, MARGINS))


def _learn_window(
    copies: _DrawnCopies,
    policy: LearnedOrders,
    window: int,
    fit: TimedFit,
    rng: np.random.Generator,
) -> None:
    """Write the regressions of a window, and the sets that are allowed in it, into a policy."""
    records, path, a = copies.records, copies.path, len(copies.records.panels)
    at_risk = (records.end > window) & (path.answered >= window)
    before = path.states(records)[window]
    nothing = copies.ahead(policy, window, copies.sets[0])
    policy.allowed[window, 0] = True
    stop = np.arange(a + 1) == a
    choices = [(np.append(panels, False), k) for k, panels in enumerate(copies.sets)]
    rows = []
    for choice, k in [*choices, (stop, -1)][: len(choices) + (copies.costs.waiting > 0)]:
        contains = at_risk & (records.recorded[:, window] >= choice[:a]).all(axis=1)
        chance = 1.0 if k < 0 else copies.chance[k, :, window]
        weight = contains / np.maximum(copies.reach[:, window] * chance, copies.least)
        ahead = copies.decision(before) if k < 0 else copies.ahead(policy, window, choice[:a])
        usable = contains & np.isfinite(ahead) & np.isfinite(nothing)
        if k > 0:
            effective = effective_sample_size(weight[usable]) if usable.any() else 0.0
            policy.allowed[window, k] = effective >= COPIES * LEAST_ESS
        if policy.allowed[window, k] or k < 0:
            target = ahead if k == 0 else ahead - nothing
            inputs = choice_inputs(before, choice)
            part = np.zeros(len(ahead), dtype=np.int64) if k == 0 else 1 + copies.half
            rows.append([of[usable] for of in (inputs, target, weight, part)])
    inputs, target, weight, part = (np.concatenate(of) for of in zip(*rows, strict=True))
    count = np.bincount(part, minlength=3)
    if not count[0] or (count[1:].any() and not count[1:].all()):
        policy.allowed[window] = False
        return
    settings = fit.settings[policy.regressions.method]
    policy.regressions.fit(window, inputs, target, weight, part, rng, **settings)


def _copies(
    records: TimedRecords,
    costs: TimedCosts,
    sets: Bool[np.ndarray, "s a"],
    fit: TimedFit,
    rng: np.random.Generator,
    order_law: OrderLaw | None,
) -> _DrawnCopies:
    n, t, _ = records.recorded.shape
    fold = unit_folds(records.cluster, fit.folds, rng)
    if order_law is None:
        history = history_inputs(records, costs)
        order_law = fit_order_law(records, history, sets, sets[:0], fold, fit, rng)
    row = np.tile(np.arange(n), COPIES)
    many, order_law = records.take(row), order_law.take(row)
    drawn = np.where(
        rng.random((len(row), t)) < min(0.6, ORDERED / t),
        rng.integers(0, len(sets), (len(row), t)),
        0,
    )
    path = follow(many, DrawnOrders("drawn", sets[drawn]), costs)
    reach = reach_of(order_law.chances(path)[0])
    least = least_probability(n) if fit.bounded else 0.0
    weight = np.where(path.complete, 1 / np.maximum(reach[:, -1], least), 0.0)
    parts, rows = [], []
    for state in path.states(many):  # where it may decide
        early = (costs.waiting > 0) & (state.window < many.end)
        at = np.flatnonzero((weight > 0) & (early | (state.window == many.end)))
        parts.append(decision_inputs(many, state)[at])
        rows.append(at)
    at = np.concatenate(rows)
    inputs, positive, fold_of_row = np.concatenate(parts), many.label[at] == 1, fold[row[at]]
    trees = replace(fit, method="boosting")
    labels = [
        fit_label(inputs, positive, np.where(fold_of_row == number, 0.0, weight[at]), trees, rng)
        for number in range(fit.folds)
    ]
    every = np.ones((len(row), t))
    chance = np.stack([order_law.holds.get(int(code), every) for code in set_codes(sets)])
    return _DrawnCopies(
        many,
        costs,
        path,
        sets,
        chance,
        reach,
        least,
        labels,
        fold[row],
        unit_folds(records.cluster, 2, rng)[row],
    )
