"""Expected cost and outcome of a search policy, estimated from partial search records.

Serves the study `treatment` beyond its paper. A record bears on a policy as long as it made the
choices of the policy would have done; weights make up for the others.

    w_s = Π_{u ≤ s} 1[a_u = π(h_u)] / p(a_u | x, l, h_u)
    weights          Σᵢ w_T G / Σᵢ w_T              G: outcome of the policy's search, T its end
    doubly robust    mean of V(h_0) + Σ_{s: a_s = π(h_s)} d(h_s)/q(h_s, a_s) · r_s,
                     r_s = c + V(h_{s+1}) − V(h_s)

A history is a set, so a record that came to it in another order bears on later steps, too:
d(h) is how often the policy comes to h, q(h, a) how often records try a there. Both within strata
of covariates and confounders. Doubly robust estimates are right where either the ratio d/q or the
outcomes are modelled rightly. Knows no planner and no file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit, log_softmax, stdtrit

from frugal.core.errors import DataError
from frugal.studies.treatment.data.records import (
    OutcomeTable,
    SearchPolicy,
    TrialRecords,
    history_count,
    outcomes_of,
)
from frugal.studies.treatment.models.outcome_counts import OutcomeCounts, count_outcomes
from frugal.studies.treatment.models.outcome_tables import smoothed_table

RIDGE = 1.0  # squared length of all coefficients but the constants, in units of log-likelihood


@dataclass(frozen=True, eq=False)
class Behaviour:
    """A fitted model of the records' choices. Shapes: f features, a actions, y outcomes.

    Attributes:
        choice: coefficients of the next action, constants last. (f + 1, a)
        going_on: coefficients of trying something after a trial, the constant last. (f + 1,)
        n_outcomes: |Y|.
    """

    choice: Float[np.ndarray, "g a"]
    going_on: Float[np.ndarray, " g"]
    n_outcomes: int

    def probability(
        self,
        observed: Int[np.ndarray, "m a"],
        covariates: Float[np.ndarray, "m c"],
        action: Int[np.ndarray, " m"],
    ) -> Float[np.ndarray, " m"]:
        """p(on) p(a) of trying this action next after these outcomes. (m,)

        Args:
            observed: outcome index of each action tried so far, −1 where untried. (m, a)
            covariates: indicators of covariates and confounders. (m, c)
            action: untried ones. (m,)
        """
        features = history_features(observed, covariates, self.n_outcomes)
        logits = np.where(observed < 0, features @ self.choice, -np.inf)
        chosen = np.exp(log_softmax(logits, axis=1))[np.arange(len(observed)), action]
        begun = (observed >= 0).any(axis=1)
        return chosen * np.where(begun, expit(features @ self.going_on), 1.0)


def history_features(
    observed: Int[np.ndarray, "m a"], covariates: Float[np.ndarray, "m c"], n_outcomes: int
) -> Float[np.ndarray, "m g"]:
    """Covariates, indicators of each outcome of each action and of how many, and a constant."""
    m, actions = observed.shape
    indicators = (observed[:, :, None] == np.arange(n_outcomes)).reshape(m, actions * n_outcomes)
    tried = (observed >= 0).sum(axis=1)[:, None] == np.arange(1, actions)
    return np.concatenate([covariates, indicators, tried, np.ones((m, 1))], axis=1).astype(float)


def fit_behaviour(records: TrialRecords, covariates: Float[np.ndarray, "n c"]) -> Behaviour:
    """Penalised maximum likelihood of both models; trials after the best outcome are ignored.

    Args:
        records: searches with their trials in order; each begins with a trial.
        covariates: indicators of covariates and confounders of each unit. (n, c)
    """
    observed, unit, action, on = _decisions(records)
    features = history_features(observed, covariates[unit], records.n_outcomes)
    tried = action >= 0
    begun = (observed >= 0).any(axis=1)
    choice = _fit(_choice_loss, features[tried], observed[tried] < 0, action[tried])
    going_on = _fit(_on_loss, features[begun], None, on[begun].astype(np.int64))
    return Behaviour(choice, going_on, records.n_outcomes)


def _decisions(records: TrialRecords):
    """Every point at which something could be tried: history, unit, action, whether."""
    n, k = len(records), records.n_actions
    observed = np.full((n, k), -1, dtype=np.int64)
    alive, parts = np.arange(n), []
    for t in range(k):
        action = (
            records.action[alive, t] if t < records.action.shape[1] else np.full(len(alive), -1)
        )
        parts.append((observed[alive], alive, action, action >= 0))
        alive, tried = alive[action >= 0], action[action >= 0]
        outcome = records.outcome[alive, t] if len(alive) else tried
        observed[alive, tried] = outcome
        alive = alive[outcome < records.n_outcomes - 1]
        if not len(alive):
            break
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def _fit(
    loss, features: Float[np.ndarray, "m g"], free: Bool[np.ndarray, "m a"] | None, target
) -> np.ndarray:
    from scipy.optimize import minimize  # half a second that other stages need not wait for

    shape = (features.shape[1],) if free is None else (features.shape[1], free.shape[1])
    if not len(features):
        return np.zeros(shape)
    optimum = minimize(
        loss,
        np.zeros(int(np.prod(shape))),
        args=(features, free, target),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500},
    )
    return optimum.x.reshape(shape)


def _choice_loss(flat, features, free, action):
    weight = flat.reshape(features.shape[1], -1)
    logits = np.where(free, features @ weight, -np.inf)
    log_probability = log_softmax(logits, axis=1)
    rows = np.arange(len(action))
    residual = np.exp(log_probability)
    residual[rows, action] -= 1.0
    gradient = features.T @ residual
    gradient[:-1] += RIDGE * weight[:-1]
    penalty = 0.5 * RIDGE * (weight[:-1] ** 2).sum()
    return penalty - log_probability[rows, action].sum(), gradient.ravel()


def _on_loss(weight, features, _, on):
    logits = features @ weight
    gradient = features.T @ (expit(logits) - on)
    gradient[:-1] += RIDGE * weight[:-1]
    penalty = 0.5 * RIDGE * (weight[:-1] ** 2).sum()
    return penalty + np.logaddexp(0, logits).sum() - logits @ on, gradient


FOLDS = 10
QUANTITIES = ("mean_trials", "mean_outcome", "best_share")
ESTIMATORS = ("doubly_robust", "weights", "model")


@dataclass(frozen=True, eq=False)
class EvaluationRecords:
    """Records for evaluation, with models of their actions and outcomes. n units, c indicators.

    Attributes:
        records: searches of units that no policy was learned from.
        covariates: indicators of covariates and confounders. (n, c)
        stratum: number of the unit's covariates and confounders together. (n,)
        context_of: context of each stratum. (z,)
        cluster: units that belong together have the same number. (n,)
        fold: of each unit; the models of a fold have not seen its units. (n,)
        behaviour: of each fold.
        tables: of each fold, a model of the outcomes within strata.
    """

    records: TrialRecords
    covariates: Float[np.ndarray, "n c"]
    stratum: Int[np.ndarray, " n"]
    context_of: Int[np.ndarray, " z"]
    cluster: Int[np.ndarray, " n"]
    fold: Int[np.ndarray, " n"]
    behaviour: tuple[Behaviour, ...]
    tables: tuple[OutcomeTable, ...]


def prepare_judging(
    records: TrialRecords,
    covariates: Float[np.ndarray, "n c"],
    confounder: Int[np.ndarray, " n"],
    cluster: Int[np.ndarray, " n"],
    rng: np.random.Generator,
    *,
    outcome_value: Float[np.ndarray, " y"],
    memory_gib: float,
) -> EvaluationRecords:
    """Models of choices and outcomes, fitted across folds of whole clusters.

    Args:
        records: searches of units that no policy was learned from.
        covariates: indicators of covariates and confounders. (n, c)
        confounder: index of the combination of confounders; 0 where there are none. (n,)
        cluster: any label; units that belong together share it. (n,)
        rng: draws the folds.
        outcome_value: value of each outcome, ascending. (y,)
        memory_gib: limit of the tables of one fold.

    Raises:
        DataError: fewer clusters than folds.
        SearchSizeError: the tables would take more than `memory_gib`.
    """
    labels, number = np.unique(cluster, return_inverse=True)
    if len(labels) < 2 * FOLDS:
        raise DataError(f"{len(labels)} units are for evaluation; at least {2 * FOLDS} are needed")
    fold = (rng.permutation(len(labels)) % FOLDS)[number]
    pair = records.context * (int(confounder.max()) + 1) + confounder
    strata, stratum = np.unique(pair, return_inverse=True)
    context_of = strata // (int(confounder.max()) + 1)
    within = replace(records, context=stratum, n_contexts=len(strata))
    behaviour, tables = [], []
    for f in range(FOLDS):
        others = within.take(fold != f)
        behaviour.append(fit_behaviour(others, covariates[fold != f]))
        counts = count_outcomes(others)
        tables.append(
            smoothed_table(
                counts, outcome_value=outcome_value, mode="release", memory_gib=memory_gib
            )
        )
    return EvaluationRecords(
        records, covariates, stratum, context_of, number, fold, tuple(behaviour), tuple(tables)
    )


@dataclass(frozen=True, eq=False)
class FollowedRecords:
    """How far each record goes along with a policy. Shapes: n units, k steps at most.

    Attributes:
        history: index of the history before each step of the policy, and after the last. (n, k + 1)
        weight: w_s of each step; 0 from the step on at which a record does otherwise. (n, k)
        steps: steps that the record took with the policy. (n,)
        finished: True where it went along to the policy's end. (n,)
        best: best outcome by then, −1 for none. (n,)
        least: least probability of a choice among those followed; 1 where none was. (n,)
    """

    history: Int[np.ndarray, "n t"]
    weight: Float[np.ndarray, "n k"]
    steps: Int[np.ndarray, " n"]
    finished: Bool[np.ndarray, " n"]
    best: Int[np.ndarray, " n"]
    least: Float[np.ndarray, " n"]


def follow(policy: SearchPolicy, judged: EvaluationRecords) -> FollowedRecords:
    """Walk every record along the policy until it does otherwise, or the policy ends."""
    records = judged.records
    n, k, base = len(records), records.n_actions, records.n_outcomes
    observed = np.full((n, k), -1, dtype=np.int64)
    history, weight = np.zeros((n, k + 1), dtype=np.int64), np.zeros((n, k))
    steps, best = np.zeros(n, dtype=np.int64), np.full(n, -1)
    finished, least, running = np.zeros(n, dtype=bool), np.ones(n), np.ones(n)
    alive = np.arange(n)
    for t in range(k + 1):
        prescribed = policy.action[records.context[alive], history[alive, t]].astype(np.int64)
        ended = (prescribed == k) | (best[alive] == base - 1)
        finished[alive[ended]] = True
        alive, prescribed = alive[~ended], prescribed[~ended]
        if t == records.action.shape[1] or not len(alive):
            break
        same = records.action[alive, t] == prescribed
        alive, prescribed = alive[same], prescribed[same]
        chance = np.empty(len(alive))
        for f, model in enumerate(judged.behaviour):
            in_fold = judged.fold[alive] == f
            some = alive[in_fold]
            chance[in_fold] = model.probability(
                observed[some], judged.covariates[some], prescribed[in_fold]
            )
        running[alive] /= chance
        weight[alive, t] = running[alive]
        least[alive] = np.minimum(least[alive], chance)
        outcome = records.outcome[alive, t]
        observed[alive, prescribed] = outcome
        best[alive] = np.maximum(best[alive], outcome)
        steps[alive] = t + 1
        searching = outcome < base - 1
        step = (outcome + 1) * base**prescribed
        history[alive, t + 1 :] = (history[alive, t] + np.where(searching, step, 0))[:, None]
    return FollowedRecords(history, weight, steps, finished, best, least)


def model_value(
    table: OutcomeTable, policy: SearchPolicy, *, step: float, end: Float[np.ndarray, " y"]
) -> Float[np.ndarray, "x h"]:
    """Expected cost of trials and final value from every history on, under a model. (x, h)

    With step 1 and values 0 it is E[T], the expected number of trials     [treatment, eq. 1].

    Args:
        table: of the outcomes.
        policy: next treatments.
        step: of each trial.
        end: value of ending with each best outcome; of nothing tried it is 0. (y,)
    """
    k, base = policy.n_actions, policy.n_outcomes
    histories = policy.action.shape[1]
    tried = outcomes_of(np.arange(histories), k, base)
    count, best = (tried >= 0).sum(axis=1), tried.max(axis=1)
    value = np.zeros(policy.action.shape)
    value[:] = np.append(end, 0.0)[best]
    for t in range(k - 1, -1, -1):
        x, place = np.nonzero(policy.action[:, count == t] < k)
        h = np.flatnonzero(count == t)[place]
        probability, following = _next_step(table, policy, x, h)
        later = value[x[:, None], following]
        value[x, h] = (
            step + (probability[:, :-1] * later).sum(axis=1) + probability[:, -1] * end[-1]
        )
    return value


def comes_to(table: OutcomeTable, policy: SearchPolicy) -> Float[np.ndarray, "x h"]:
    """d(h): probability that a search under the policy comes to each history, under a model."""
    k, base = policy.n_actions, policy.n_outcomes
    count = (outcomes_of(np.arange(policy.action.shape[1]), k, base) >= 0).sum(axis=1)
    reached = np.zeros(policy.action.shape)
    reached[:, 0] = 1.0
    for t in range(k):
        x, place = np.nonzero((policy.action[:, count == t] < k) & (reached[:, count == t] > 0))
        h = np.flatnonzero(count == t)[place]
        probability, following = _next_step(table, policy, x, h)
        np.add.at(reached, (x[:, None], following), probability[:, :-1] * reached[x, h][:, None])
    return reached


def _next_step(table: OutcomeTable, policy: SearchPolicy, x: np.ndarray, h: np.ndarray):
    """Distribution of the next outcome, and the histories after all but the best."""
    base = policy.n_outcomes
    a = policy.action[x, h].astype(np.int64)
    power = base**a
    probability = table.probability[x, a, h // (power * base) * power + h % power]
    return probability, h[:, None] + power[:, None] * np.arange(1, base)


@dataclass(frozen=True, eq=False)
class FollowedTrials:
    """Trials of the records that are those of the policy after their history. Shapes: e trials.

    Attributes:
        unit: whose. (e,)
        history: index before the trial. (e,)
        later: index after it; −1 after the best outcome. (e,)
        tried: how often such a trial was made, as a share of the units of the stratum. (e,)
    """

    unit: Int[np.ndarray, " e"]
    history: Int[np.ndarray, " e"]
    later: Int[np.ndarray, " e"]
    tried: Float[np.ndarray, " e"]


def steps_of(policy: SearchPolicy, judged: EvaluationRecords) -> FollowedTrials:
    """All trials that the policy, by context, would have made after the same history."""
    records, base = judged.records, judged.records.n_outcomes
    alive, history, parts = np.arange(len(records)), np.zeros(len(records), dtype=np.int64), []
    for t in range(records.action.shape[1]):
        alive = alive[records.action[alive, t] >= 0]
        action, outcome, h = records.action[alive, t], records.outcome[alive, t], history[alive]
        going = outcome < base - 1
        later = np.where(going, h + (outcome + 1) * base**action, -1)
        matching = policy.action[records.context[alive], h] == action
        parts.append((alive[matching], h[matching], later[matching]))
        alive = alive[going]
        history[alive] = later[going]
    unit, h, later = (np.concatenate(column) for column in zip(*parts, strict=True))
    cell = judged.stratum[unit] * base**records.n_actions + h
    _, number, count = np.unique(cell, return_inverse=True, return_counts=True)
    size = np.bincount(judged.stratum)[judged.stratum[unit]]
    return FollowedTrials(unit, h, later, count[number] / size)


def estimates(policy: SearchPolicy, judged: EvaluationRecords) -> "Estimates":
    """Trials, outcome and share of the best outcome by every estimator, with 95 % intervals."""
    followed, steps, evaluated = (
        follow(policy, judged),
        steps_of(policy, judged),
        replace(
            policy,
            action=policy.action[judged.context_of],
            value=policy.value[judged.context_of],
            statistic=policy.statistic[judged.context_of],
        ),
    )
    stratum, fold = judged.stratum[steps.unit], judged.fold[steps.unit]
    reached, ratio = np.zeros(evaluated.action.shape), np.zeros(len(steps.unit))
    for f, table in enumerate(judged.tables):
        often, rows = comes_to(table, evaluated), fold == f
        ratio[rows] = often[stratum[rows], steps.history[rows]] / steps.tried[rows]
        reached += often
    reached /= len(judged.tables)
    cells: dict[tuple[str, str], dict[str, float]] = {}
    influence = {}
    for name, (step, end) in _ends(policy).items():
        first, before, after = np.zeros(len(judged.fold)), np.zeros(len(fold)), np.zeros(len(fold))
        for f, table in enumerate(judged.tables):
            value, rows = model_value(table, evaluated, step=step, end=end), fold == f
            first[judged.fold == f] = value[judged.stratum[judged.fold == f], 0]
            before[rows] = value[stratum[rows], steps.history[rows]]
            after[rows] = value[stratum[rows], steps.later[rows]]
        after = np.where(steps.later >= 0, after, end[-1])
        surprise = ratio * (step + after - before)
        terms = first + np.bincount(steps.unit, weights=surprise, minlength=len(first))
        influence[name] = terms
        cells[name, "doubly_robust"] = _interval(terms, terms.mean(), judged.cluster)
        outcome = step * followed.steps + np.append(end, 0.0)[followed.best]
        cells[name, "weights"] = _self_normalised(outcome, followed, judged.cluster)
        least, most = step, step * policy.n_actions + end[-1]
        if step == 0:
            least = end[0]
        for estimator in ("doubly_robust", "weights"):
            cell = cells[name, estimator]
            cell["ci_low"] = float(np.clip(cell["ci_low"], least, most))
            cell["ci_high"] = float(np.clip(cell["ci_high"], least, most))
        without_error = {"estimate": float(first.mean())}
        cells[name, "model"] = without_error | dict.fromkeys(
            ("std_error", "ci_low", "ci_high"), np.nan
        )
    counts = np.bincount(judged.stratum)
    visited = np.zeros(evaluated.action.shape, dtype=bool)
    visited[stratum, steps.history] = True
    going = (evaluated.action < policy.n_actions) & ~visited
    unseen = float(((reached * going).sum(axis=1) * counts).sum() / counts.sum())
    squares = np.bincount(steps.unit, weights=ratio, minlength=len(judged.stratum))
    return Estimates(
        cells, influence, followed, unseen, float(squares.sum() ** 2 / (squares**2).sum())
    )


@dataclass(frozen=True, eq=False)
class Estimates:
    """A policy's estimates and their evidence.

    Attributes:
        cells: quantity and estimator → estimate, std_error, ci_low, ci_high.
        influence: quantity → terms of its doubly robust estimate. (n,)
        followed: how far records go along with the policy.
        unseen: expected number of the policy's steps that no judging record took.
        effective: effective sample size of the records for the doubly robust estimates.
    """

    cells: Mapping[tuple[str, str], dict[str, float]]
    influence: Mapping[str, np.ndarray]
    followed: FollowedRecords
    unseen: float
    effective: float


def _ends(policy: SearchPolicy) -> Mapping[str, tuple[float, Float[np.ndarray, " y"]]]:
    """Contributions of a trial and of an end to each quantity."""
    top = np.zeros(policy.n_outcomes)
    top[-1] = 1.0
    return {
        "mean_trials": (1.0, np.zeros(policy.n_outcomes)),
        "mean_outcome": (0.0, policy.outcome_value),
        "best_share": (0.0, top),
    }


def _self_normalised(
    outcome: Float[np.ndarray, " n"], followed: FollowedRecords, cluster: Int[np.ndarray, " n"]
) -> dict[str, float]:
    weight = final_weights(followed)
    if weight.sum() <= 0:
        return dict.fromkeys(("estimate", "std_error", "ci_low", "ci_high"), np.nan)
    estimate = float(weight @ outcome / weight.sum())
    return _interval(weight * (outcome - estimate) / weight.mean() + estimate, estimate, cluster)


def final_weights(followed: FollowedRecords) -> Float[np.ndarray, " n"]:
    """w_T of the records that go along to the policy's end; 0 for the others. (n,)"""
    last = np.maximum(followed.steps - 1, 0)
    weight = followed.weight[np.arange(len(last)), last]
    return np.where(followed.finished, np.where(followed.steps > 0, weight, 1.0), 0.0)


def _interval(
    terms: Float[np.ndarray, " n"], estimate: float, cluster: Int[np.ndarray, " n"]
) -> dict[str, float]:
    """Estimate and interval; units of a cluster count as one.

    Student's t, its degrees of freedom as few as the terms that make up the variance (Σe²)²/Σe⁴.
    """
    sums = np.bincount(cluster, weights=terms - estimate)
    groups = len(sums)
    error = float(np.sqrt((sums**2).sum() * groups / (groups - 1)) / len(terms))
    fourth = (sums**4).sum()
    freedom = (sums**2).sum() ** 2 / fourth if fourth > 0 else groups - 1.0
    quantile = float(stdtrit(max(freedom, 1.0), 0.975))
    return {
        "estimate": float(estimate),
        "std_error": error,
        "ci_low": float(estimate - quantile * error),
        "ci_high": float(estimate + quantile * error),
    }


def records_behind(counts: OutcomeCounts, *, contexts: int) -> Float[np.ndarray, "x h a"]:
    """How many records came to each history, as a set, and tried each action next. (x, h, a)"""
    k, base = counts.n_actions, counts.n_outcomes
    behind = np.zeros((contexts, history_count(k, base), k))
    power = base ** counts.action.astype(np.int64)
    history = counts.history // power * (power * base) + counts.history % power
    np.add.at(behind, (counts.context, history, counts.action), counts.count.sum(axis=1))
    return behind


def trials_left(policy: SearchPolicy, table: OutcomeTable) -> Float[np.ndarray, "x h"]:
    """Expected trials of the policy from every history on, by a model of the outcomes. (x, h)"""
    return model_value(table, policy, step=1.0, end=np.zeros(policy.n_outcomes))


def step_values(
    policy: SearchPolicy,
    table: OutcomeTable,
    trials: Float[np.ndarray, "x h"],
    x: Int[np.ndarray, " m"],
    h: Int[np.ndarray, " m"],
) -> Float[np.ndarray, "m a"]:
    """Expected trials left, this one counted, if an action is tried next and the policy goes on.

    By a model of the outcomes and its `trials_left`; NaN for actions that were tried. (m, a)
    """
    k, base = policy.n_actions, policy.n_outcomes
    tried = outcomes_of(h, k, base) >= 0
    values = np.full((len(h), k), np.nan)
    for a in range(k):
        power = base**a
        probability = table.probability[x, a, h // (power * base) * power + h % power]
        later = trials[
            x[:, None], np.where(tried[:, [a]], 0, h[:, None] + power * np.arange(1, base))
        ]
        values[:, a] = np.where(tried[:, a], np.nan, 1 + (probability[:, :-1] * later).sum(axis=1))
    return values
