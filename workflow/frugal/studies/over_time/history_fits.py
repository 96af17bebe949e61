"""Nuisances of policies over time, cross-fitted: laws of ordering, expected outcomes, predictions.

Regressions on the history of a record before a window. The law of ordering is one regression for
each set of panels that some policy orders, on all windows; expected outcomes are fitted backwards,
for each policy and fold. Learners are those of `nuisance_choice`. Knows no estimator.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from frugal.core.scaling import fit_scaling
from frugal.core.world import set_codes
from frugal.judge.semi_offline import belief_inputs, least_probability, ridge_coefficients
from frugal.learn.nuisance_choice import Head, HeadModels, MeanHead, fit_mean_models, fit_models
from frugal.studies.over_time.config import TimedSettings
from frugal.studies.over_time.estimates import TimedCase, reach_of
from frugal.studies.over_time.orders import FADE, TimedPaths, follow
from frugal.studies.over_time.records import TimedCosts, TimedRecords, TimedState

SETTINGS = {
    "logistic": {"C": 1.0},
    "boosting": {"trees": 60, "leaves": 12, "learning_rate": 0.1, "min_leaf": 40},
    "network": {"hidden": 64, "epochs": 4, "batch": 1024},
}


@dataclass(frozen=True)
class TimedFit:
    """How nuisances are fitted.

    Attributes:
        method: `linear` (logistic and ridge regressions) or `boosting` (LightGBM).
        folds: of cross-fitting, 2 or more; units of one cluster share a fold.
        draws: of folds, on each of which answers fit all nuisances anew.
        bounded: keep π from 0, see `TimedCase.least`.
        learner: of a policy: `trees` (LightGBM) or `network`.
        settings: of the learners, by method.
    """

    method: Literal["linear", "boosting"] = "boosting"
    folds: int = 3
    draws: int = 5
    bounded: bool = True
    learner: Literal["trees", "network"] = "trees"
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: SETTINGS)

    @staticmethod
    def of(settings: TimedSettings) -> "TimedFit":
        """As a YAML has it."""
        drawn = (settings.folds, settings.fold_draws)
        return TimedFit(settings.method, *drawn, learner=settings.learner)

    def probabilities(self, heads: Sequence[Head], rng: np.random.Generator, **rows: Any) -> list:
        """Models of probabilities, see `nuisance_choice.fit_models`."""
        method = "logistic" if self.method == "linear" else "boosting"
        return fit_models(heads, method=method, settings=self.settings[method], rng=rng, **rows)


def unit_folds(
    cluster: Int[np.ndarray, " n"], folds: int, rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """Fold of each unit; the units of a cluster share one. (n,)"""
    clusters = int(cluster.max()) + 1
    return (rng.permutation(clusters) % folds)[cluster]


def state_inputs(
    records: TimedRecords, last: Float[np.ndarray, "*m n d"], age: Float[np.ndarray, "*m n d"]
) -> Float[np.ndarray, "*m n f"]:
    """Finite inputs of states: static columns, last values, and how fresh each is, exp(−age / 4).

    Values are standardised by all recorded values; one that is unknown is 0, with freshness 0.
    """
    every = records.values.reshape(-1, records.values.shape[2])
    value = np.nan_to_num(fit_scaling(every, unknown=True).standardise(last))
    fresh = np.exp(-age / FADE)
    missing = np.isnan(records.static)
    scaling = fit_scaling(records.static, unknown=True)
    still = np.nan_to_num(scaling.standardise(records.static))
    still = np.column_stack([still, missing[:, missing.any(axis=0)]])
    still = np.broadcast_to(still, (*last.shape[:-1], still.shape[1]))
    return np.concatenate([still, value, fresh], axis=-1)


def history_inputs(records: TimedRecords, costs: TimedCosts) -> Float[np.ndarray, "t1 n f"]:
    """The history of each record before each window and after the last, H. (t + 1, n, f)

    The state under recorded practice, panels of the previous window, and their mean number so far.
    """
    practice = follow(records, None, costs)
    n, t, a = records.recorded.shape
    before = np.zeros((t + 1, n, 2 * a))
    for now in range(1, t + 1):
        before[now, :, :a] = records.recorded[:, now - 1]
        before[now, :, a:] = records.recorded[:, :now].mean(axis=1)
    return np.concatenate([state_inputs(records, practice.last, practice.age), before], axis=2)


def decision_inputs(records: TimedRecords, state: TimedState) -> Float[np.ndarray, "n f"]:
    """Inputs of a decision before a window: the state, the window, and whether the unit ended.

    Values mean less the earlier they were taken, and an end may itself be a sign.
    """
    passed = np.minimum(state.window, records.end)
    ended = state.window >= records.end
    return np.column_stack([state_inputs(records, state.last, state.age), passed, ended])


def fit_label(
    inputs: Float[np.ndarray, "m f"],
    positive: Bool[np.ndarray, " m"],
    weight: Float[np.ndarray, " m"],
    fit: TimedFit,
    rng: np.random.Generator,
) -> HeadModels | None:
    """A model of the label in states that records reach by containing the ordered panels.

    Rows are drawn in proportion to their weights, so they represent all units. Fitted to
    records as they are, a model would read from the presence of a result who was ill enough to get
    it.

    Args:
        inputs: of each state, see `decision_inputs`. (m, f)
        positive: the label. (m,)
        weight: one over the probability that the record contains the ordered panels; 0 where it
            does not. (m,)
        fit: how to fit.
        rng: of draws and learners.

    Returns:
        None where no row has weight.
    """
    rows = np.flatnonzero(weight)
    if not len(rows):
        return None
    total = np.cumsum(weight[rows])
    at = (np.arange(len(rows)) + rng.random()) / len(rows) * total[-1]
    drawn = rows[np.searchsorted(total, at)]  # systematic: equal weights draw each row once
    every = np.ones(len(rows), dtype=bool)
    head = Head(inputs[drawn], positive[drawn], every, is_law=False)
    return fit.probabilities([head], rng, train=every)[0]


def chance_of(
    model: HeadModels | None, inputs: Float[np.ndarray, "m f"]
) -> Float[np.ndarray, " m"]:
    """Probability of the second class; NaN without a model. (m,)"""
    if model is None:
        return np.full(len(inputs), np.nan)
    return model.predict(inputs, np.zeros(len(inputs), dtype=np.int64))[:, 0]


def _predictions(
    records: TimedRecords,
    path: TimedPaths,
    weight: Float[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
    fit: TimedFit,
    rng: np.random.Generator,
) -> Float[np.ndarray, "t1 n"]:
    """Probability of the second class at every state of a policy, cross-fitted. (t + 1, n)"""
    states = np.stack([decision_inputs(records, state) for state in path.states(records)])
    final = states[path.windows, np.arange(len(fold))]
    probability = np.full(states.shape[:2], np.nan)
    for number in np.unique(fold):
        others = np.where(fold == number, 0.0, weight)
        model = fit_label(final, records.label == 1, others, fit, rng)
        units = np.flatnonzero(fold == number)
        for window, at in enumerate(states[:, units]):
            probability[window, units] = chance_of(model, at)
    return probability


def outcomes_of(
    records: TimedRecords,
    path: TimedPaths,
    costs: TimedCosts,
    probability: Float[np.ndarray, "t1 n"],
) -> Float[np.ndarray, "n o"]:
    """Cost, its part of acquisition and its part of errors; NaN without a label. (n, 3)

    Args:
        records: with labels of two classes.
        path: of the policy.
        costs: in one unit.
        probability: of the second class at every state.
    """
    chance = probability[path.windows, np.arange(len(records))]
    verdict = costs.verdict(np.column_stack([1 - chance, chance]))
    errors = costs.errors[np.maximum(records.label, 0), verdict]
    errors = np.where(records.censored | np.isnan(chance), np.nan, errors)
    acquisition = costs.acquisition(path.acquired, path.windows)
    return np.column_stack([acquisition + errors, acquisition, errors])


@dataclass(frozen=True, eq=False)
class OrderLaw:
    """Fitted probabilities that a window holds a set of panels, or exactly this set.

    Attributes:
        holds, equals: set code → probability in each window, 1 after the end. (n, t) each
    """

    holds: Mapping[int, Float[np.ndarray, "n t"]]
    equals: Mapping[int, Float[np.ndarray, "n t"]]

    def take(self, rows: Shaped[np.ndarray, " m"]) -> "OrderLaw":
        """That of some units, by index or truth value."""
        laws = (self.holds, self.equals)
        return OrderLaw(*({code: p[rows] for code, p in law.items()} for law in laws))

    def chances(self, path: TimedPaths) -> tuple[np.ndarray, np.ndarray]:
        """P(A_t ⊇ a_t | H_t) and P(A_t = a_t | H_t) along a path, 1 once it fails. (n, t) each

        Of recorded practice, whose orders are those of each record, nothing but censoring counts.
        """
        n, t, _ = path.ordered.shape
        if path.practice:
            stays = self.holds.get(0, np.ones((n, t)))
            return stays, stays
        codes = set_codes(path.required.reshape(n * t, -1)).reshape(n, t)
        holds, equals = np.ones((n, t)), np.ones((n, t))
        for code in np.unique(codes):
            at = codes == code
            if code in self.holds:
                holds[at] = self.holds[code][at]
            if code in self.equals:
                equals[at] = self.equals[code][at]
        decided = np.arange(t) >= path.windows[:, None]
        return holds, np.where(decided, holds, equals)


def ordered_sets(
    paths: Sequence[TimedPaths],
) -> tuple[Bool[np.ndarray, "s a"], Bool[np.ndarray, "e a"]]:
    """Sets that a record must hold where it can be followed, with the empty one; and anywhere."""
    panels = paths[0].ordered.shape[2]
    contained = np.zeros((1, panels), dtype=bool)  # the empty set, whose law is that of censoring
    exact = contained[:0]
    for path in paths:
        if path.practice:
            continue
        window = np.arange(path.ordered.shape[1])
        reached = path.required[path.answered[:, None] >= window]
        contained = np.unique(np.concatenate([contained, reached]), axis=0)
        alive = path.required[window < path.windows[:, None]]
        exact = np.unique(np.concatenate([exact, alive]), axis=0)
    return contained, exact


def fit_order_law(
    records: TimedRecords,
    history: Float[np.ndarray, "t1 n f"],
    contained: Bool[np.ndarray, "s a"],
    exact: Bool[np.ndarray, "e a"],
    fold: Int[np.ndarray, " n"],
    fit: TimedFit,
    rng: np.random.Generator,
) -> OrderLaw:
    """The law of ordering in all windows, for sets that a window contains or equals.

    A window in which follow-up ends without a label holds no set, so the law includes that of
    censoring. With panels that are needed, it is fitted to records that held them so far.
    """
    n, t, _ = records.recorded.shape
    fitted = np.arange(t)[:, None] < records.end
    if records.needed is not None:
        lacks = (records.needed & ~records.recorded).any(axis=2).T
        fitted[1:] &= ~np.logical_or.accumulate(lacks)[:-1]
    window, unit = np.nonzero(fitted)
    inputs = np.column_stack([history[window, unit], np.eye(t)[window][:, 1:]])
    present = records.recorded[unit, window]
    stays = ~(records.censored[unit] & (window == records.end[unit] - 1))
    laws = []
    for sets, same in ((contained, False), (exact, True)):
        targets = {
            int(code): stays & (present == panels if same else present >= panels).all(axis=1)
            for code, panels in zip(set_codes(sets), sets, strict=True)
        }
        targets = {code: target for code, target in targets.items() if not target.all()}
        every = np.ones(len(unit), dtype=bool)
        heads = [Head(inputs, target, every) for target in targets.values()]
        models = fit.probabilities(heads, rng, fold=fold[unit]) if heads else []
        by_code = {}
        for code, model in zip(targets, models, strict=True):
            by_code[code] = np.ones((n, t))
            by_code[code][unit, window] = model.predict(inputs, fold[unit])[:, 0]
        laws.append(by_code)
    return OrderLaw(*laws)


def fit_expected(
    records: TimedRecords,
    inputs: Float[np.ndarray, "t1 n f"],
    path: TimedPaths,
    outcome: Float[np.ndarray, "n o"],
    chance: Float[np.ndarray, "n t"],
    fold: Int[np.ndarray, " n"],
    fit: TimedFit,
    rng: np.random.Generator,
    judged: Int[np.ndarray, " k"],
) -> Float[np.ndarray, "t1 n o"]:
    """V before each window and the outcome after the last, cross-fitted. (t + 1, n, o)

    Backwards: V_t is the regression of V_{t+1} on the history, over records that hold the panels
    ordered in window t. A window in which no record can fail needs none: there V_t = V_{t+1}, which
    the sums of all estimators cancel. The first outcome is the sum of the others, and so is its
    expectation.

    Args:
        records: whose windows are fitted.
        inputs: history before each window, with all else that predicts the outcome.
        path: of the policy.
        outcome: cost and its parts; read where the path is complete. (n, o)
        chance: P(A_t ⊇ a_t | H_t). (n, t)
        fold: of each unit. (n,)
        fit: how to fit.
        rng: of the learners.
        judged: folds in which it is predicted; NaN in others.
    """
    n, t = records.recorded.shape[:2]
    parts = np.where(path.complete[:, None], outcome[:, 1:], np.nan)
    expected = np.full((t + 1, n, parts.shape[1]), np.nan)
    for number in judged:
        value = parts
        expected[t, fold == number] = parts[fold == number]
        for now in range(t - 1, -1, -1):
            alive = records.end > now
            if (chance[alive & (path.answered >= now), now] == 1).all():
                expected[now, fold == number] = value[fold == number]
                continue
            train = alive & (path.answered > now) & (fold != number)
            train &= np.isfinite(value).all(axis=1)
            ask = alive & (path.answered >= now)
            previous, value = value, np.where(alive[:, None], np.nan, value)
            if train.any():
                value[ask] = _predicted(inputs[now], previous, train, ask, fit, rng)
            expected[now, fold == number] = value[fold == number]
    return np.concatenate([expected.sum(axis=2, keepdims=True), expected], axis=2)


def _predicted(
    inputs: np.ndarray,
    target: np.ndarray,
    train: Bool[np.ndarray, " n"],
    ask: Bool[np.ndarray, " n"],
    fit: TimedFit,
    rng: np.random.Generator,
) -> np.ndarray:
    """Predictions of the units to predict, by a regression on those to train on. (m, o)"""
    if fit.method == "linear":
        scaled = fit_scaling(inputs[train], constant=np.inf).standardise(inputs)
        design = np.column_stack([np.ones(len(scaled)), scaled])
        fitted = design[ask] @ ridge_coefficients(
            design[train], target[train], np.ones(train.sum())
        )
        return np.clip(fitted, target[train].min(axis=0), target[train].max(axis=0))
    heads = [MeanHead(inputs, column[:, None], train) for column in target.T]  # some are constant
    models = fit_mean_models(
        heads, method="boosting", settings=fit.settings["boosting"], rng=rng, train=train
    )
    single = np.zeros(int(ask.sum()), dtype=np.int64)
    return np.column_stack([model.predict(inputs[ask], single) for model in models])


def cases_over_time(
    records: TimedRecords,
    costs: TimedCosts,
    paths: Sequence[TimedPaths | Sequence[TimedPaths]],
    fit: TimedFit,
    rng: np.random.Generator,
    probability: Sequence[Float[np.ndarray, "t1 n"]] | None = None,
    fold: Int[np.ndarray, " n"] | None = None,
    progress: Callable[..., Any] = lambda rows, **_: rows,
    order_law: OrderLaw | None = None,
    learned_fold: Int[np.ndarray, " n"] | None = None,
) -> list[TimedCase]:
    """A case for each policy, with everything that estimators read.

    Args:
        records: of n units.
        costs: of panels, waiting and errors.
        paths: of each policy; of a learned one by fold of `learned_fold`: of the policy that was
            learned from the other folds. Its nuisances follow that policy in all folds, so none
            reads a unit that it judges.
        fit: how nuisances are fitted.
        rng: of folds and learners.
        probability: of the second class at every state of each policy; None: fitted. (t + 1, n)
        fold: of each unit; None: drawn. (n,)
        progress: bar over policies.
        order_law: of the records, for all sets that the policies order; None: it is fitted.
        learned_fold: of each unit, of those by which policies were learned; None: `fold`. (n,)
    """
    if fold is None:
        fold = unit_folds(records.cluster, fit.folds, rng)
    if learned_fold is None:
        learned_fold = fold
    history = history_inputs(records, costs)
    by_fold = [[path] if isinstance(path, TimedPaths) else list(path) for path in paths]
    if order_law is None:
        sets = ordered_sets([path for of_folds in by_fold for path in of_folds])
        order_law = fit_order_law(records, history, *sets, fold, fit, rng)
    cases = []
    least = least_probability(len(records)) if fit.bounded else 0.0
    streams = rng.spawn(len(paths))  # so that a policy's numbers do not depend on later ones
    for k, of_folds in enumerate(progress(by_fold, desc="policies")):
        parts = []
        for number, path in enumerate(of_folds):
            holds, equals = order_law.chances(path)
            reach = reach_of(holds)
            if probability is None:
                weight = np.where(path.complete, 1 / np.maximum(reach[:, -1], least), 0.0)
                chance = _predictions(records, path, weight, fold, fit, streams[k])
            else:
                chance = probability[k]
            outcome = outcomes_of(records, path, costs, chance)
            inputs = np.concatenate([history, _path_inputs(path, chance, costs)], axis=2)
            in_fold = learned_fold == number
            judged = np.unique(fold if len(of_folds) == 1 else fold[in_fold])
            expected = fit_expected(
                records, inputs, path, outcome, holds, fold, fit, streams[k], judged
            )
            parts.append(
                TimedCase(
                    outcome,
                    path.answered,
                    path.complete,
                    path.exact,
                    reach,
                    reach_of(equals),
                    expected,
                    records.end,
                    records.cluster,
                    least,
                )
            )
        cases.append(parts[0] if len(parts) == 1 else _by_fold(parts, learned_fold))
    return cases


def _by_fold(cases: Sequence[TimedCase], fold: Int[np.ndarray, " n"]) -> TimedCase:
    """The case of each fold in its rows."""
    row = np.arange(len(fold))
    joined = {
        name: np.stack([getattr(case, name) for case in cases])[fold, row]
        for name in ("outcome", "answered", "complete", "exact", "reach", "exact_reach")
    }
    expected = np.stack([case.expected for case in cases])[fold, :, row].swapaxes(0, 1)
    return replace(cases[0], **joined, expected=expected)


def _path_inputs(
    path: TimedPaths, chance: Float[np.ndarray, "t1 n"], costs: TimedCosts
) -> Float[np.ndarray, "t1 n p"]:
    """Money spent before each window, and inputs of the decision there. (t + 1, n, p)"""
    spent = np.zeros(chance.shape)
    spent[1:] = np.cumsum(path.ordered @ costs.price, axis=1).T
    finite = np.where(np.isnan(chance), 0.5, chance)  # such a policy is not judged
    by_window = [belief_inputs(np.column_stack([1 - p, p]), costs.errors) for p in finite]
    return np.concatenate([spent[:, :, None], np.stack(by_window)], axis=2)
