"""Policies over time learned from records: fitted Q-iteration on trees, in the semi-offline view.

Windows are learned backwards. A record that contains a set a shows the state S_{t+1} to which it
leads, also where it holds more. So for each set

    Q_t(s, a) = price(a) + E[min_b Q_{t+1}(S_{t+1}, b) | S_t = s, a]

is a regression over the records that contain the panels drawn before t, and a in t, weighted by one
over the probability of that, as in `judge.over_time`. Earlier orders are drawn at random, so that
all states occur. It is fitted as Q_t(s, nothing), and the change by a against nothing in the same
record, so differences between records cancel; the less favourable of two fits, each on half of
the units, counts. At the end is the least expected cost of a decision, by a model of the label that
is not fitted to the record. Judge such a policy on units that it was not learned from.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.over_time import (
    LEARNED,
    DrawnOrders,
    TimedPaths,
    TreeOrders,
    follow,
    reveal,
    tree_inputs,
)
from frugal.core.over_time import TimedCosts, TimedRecords, TimedState
from frugal.core.world import set_codes
from frugal.judge.history_fits import (
    OrderLaw,
    TimedFit,
    chance_of,
    decision_inputs,
    fit_label,
    fit_order_law,
    history_inputs,
    unit_folds,
)
from frugal.judge.intervals import effective_sample_size
from frugal.judge.over_time import reach_of
from frugal.judge.semi_offline import least_probability
from frugal.judge.verdicts import LEAST_ESS
from frugal.learn.nuisance_choice import HeadModels
from frugal.learn.trees import fit_regression

COPIES = 2  # of each record, with other orders drawn
ORDERED = 2.0  # windows of a drawn path that have an order, on average


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
        self, policy: TreeOrders, window: int, panels: Bool[np.ndarray, " a"]
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


def learn_orders(
    records: TimedRecords,
    costs: TimedCosts,
    sets: Bool[np.ndarray, "s a"],
    fit: TimedFit,
    rng: np.random.Generator,
) -> TreeOrders:
    """A policy that orders one of some sets of panels in each window.

    A set is allowed in the windows that enough records hold (30 effective ones).

    Args:
        records: to learn from, with labels of two classes.
        costs: of panels, waiting and errors.
        sets: that it may order; the empty one is added.
        fit: how the law and the model of the label are fitted; trees are boosted.
        rng: of folds, drawn orders and learners.
    """
    records = replace(records, needed=None)  # it learns as if orders depend on the record alone
    a = len(records.panels)
    sets = np.unique(np.concatenate([np.zeros((1, a), dtype=bool), sets]), axis=0)
    price = costs.acquisition(sets[:, None], np.zeros(len(sets), dtype=np.int64))
    sets, price = sets[np.argsort(price, kind="stable")], np.sort(price, kind="stable")
    copies = _copies(records, costs, sets, fit, rng)
    allowed = np.zeros((records.windows, len(sets)), dtype=bool)
    policy = TreeOrders(LEARNED, sets, price, costs.waiting, {}, {}, allowed)
    for window in range(records.windows - 1, -1, -1):
        _learn_window(copies, policy, window, fit, rng)
    return policy


def _learn_window(
    copies: _DrawnCopies, policy: TreeOrders, window: int, fit: TimedFit, rng: np.random.Generator
) -> None:
    """Write the trees of a window, and the sets that are allowed in it, into a policy."""
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
            inputs = tree_inputs(before, choice)
            rows.append((inputs[usable], target[usable], weight[usable], copies.half[usable]))
    if not len(rows[0][1]):
        return
    settings = fit.settings["boosting"]
    inputs, target, weight, _ = rows[0]
    policy.base[window] = fit_regression(inputs, target, weight, rng, **settings)
    if rows[1:]:
        inputs, target, weight, half = (np.concatenate(p) for p in zip(*rows[1:], strict=True))
        policy.change[window] = [
            fit_regression(inputs[at], target[at], weight[at], rng, **settings)
            for at in (half == 0, half == 1)
        ]


def _copies(
    records: TimedRecords,
    costs: TimedCosts,
    sets: Bool[np.ndarray, "s a"],
    fit: TimedFit,
    rng: np.random.Generator,
) -> _DrawnCopies:
    n, t, _ = records.recorded.shape
    fold = unit_folds(records.cluster, fit.folds, rng)
    fitted_law = fit_order_law(
        records, history_inputs(records, costs), sets, sets[:0], fold, fit, rng
    )
    row = np.tile(np.arange(n), COPIES)
    many = records.take(row)
    order_law = OrderLaw({code: chance[row] for code, chance in fitted_law.holds.items()}, {})
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
