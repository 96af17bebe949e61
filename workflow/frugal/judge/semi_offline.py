"""Costs of policies, each followed along records until it requests a missing panel.

A policy is played on a record as in practice, and stops at the first panel that the record does
not hold. A record that is followed to the end represents 1 / p(R_S = 1 | x) records, S the panels
that the policy ordered; values before the record stops enter by a regression, so all
rows count. Doubly robust: right where the missingness model is, or the regression.

    φᵢ = V₀ + Σₖ 1{followed to k} / πₖ (Vₖ − Vₖ₋₁)          [sequential AIPW]

V_k is the expected outcome at the k-th state, in the end the outcome. Outcomes are the panels
acquired and, for each verdict and class, whether this verdict falls on a unit of this class, so
that costs are linear in them. The class enters as a calibrated probability given the beliefs
of all policies (Rao–Blackwell): policies that end in the same state have equal cost. Knows no
policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import cho_solve
from scipy.special import expit

from frugal.core.scaling import fit_scaling
from frugal.judge.intervals import effective_sample_size
from frugal.learn.record_law import RecordLaw
from frugal.learn.weighted_logistic import logistic_mode

LEAST_BELIEF = 1e-3  # that a log-odds is taken of
MOST = 0.2  # of √n: the largest weight that is not cut
RIDGE = 1.0  # of the regressions of expected outcomes
FREE = 1e-6  # prior precision of intercept and slope of the mean predicted probability
# prior precisions of the label's regression
APART, AT_END, DECIDED, FOLLOWED, COVARIATE = 0.3, 2.0, 2.0, 10.0, 2.0
HALF = 0.5  # scale of standardised known columns in it
DONE = 1e-18  # squared Newton decrement


@dataclass(frozen=True, eq=False)
class Paths:
    """One policy along n records. a panels, k classes.

    Attributes:
        order: panel that it requested at each step, also the one that the record lacks; −1 after
            its last. (n, a)
        held: steps that the record answered. (n,)
        complete: whether the policy ended by itself. (n,)
        acquired: panels in the end. (n, a)
        belief: class probabilities at each state, NaN after the last. (n, a + 1, k)
        verdict: class that it decides for in the end, or k: it refers the case to a person. (n,)
    """

    order: Int[np.ndarray, "n a"]
    held: Int[np.ndarray, " n"]
    complete: Bool[np.ndarray, " n"]
    acquired: Bool[np.ndarray, "n a"]
    belief: Float[np.ndarray, "n a1 k"]
    verdict: Int[np.ndarray, " n"]

    def within(self, missingness: RecordLaw) -> "Paths":
        """The same, stopped where the record lacks a panel that the missingness model needs."""
        n, a = self.order.shape
        requested = np.zeros((n, a), dtype=bool)
        answered = np.zeros(n, dtype=np.int64)
        for step in range(a):
            going = (self.held > step) & (answered == step)
            requested[going, self.order[going, step]] = True
            answered += going & (missingness.closure(requested) <= missingness.observed).all(axis=1)
        complete = self.complete & (answered == self.held)
        return Paths(self.order, answered, complete, self.acquired, self.belief, self.verdict)

    def requested(self, step: int) -> Bool[np.ndarray, "n a"]:
        """Panels that it requested in the first steps. (n, a)"""
        requested = np.zeros(self.order.shape, dtype=bool)
        row, at = np.nonzero(self.order[:, :step] >= 0)
        requested[row, self.order[row, at]] = True
        return requested

    def requests(self, step: int) -> Bool[np.ndarray, " n"]:
        """Whether it is followed to a step, from 1 on, and requests a panel there. (n,)"""
        return (self.held >= step - 1) & (self.order[:, step - 1] >= 0)

    def requests_gappy(self, missingness: RecordLaw) -> Bool[np.ndarray, " n"]:
        """Whether it requests a panel that some record lacks, or that such a law needs. (n,)"""
        gappy = np.asarray(~missingness.observed.all(axis=0))
        return np.asarray((missingness.closure(self.requested(len(gappy))) & gappy).any(axis=1))

    @property
    def last_belief(self) -> Float[np.ndarray, "n k"]:
        """At the last state that the record holds. (n, k)"""
        return self.belief[np.arange(len(self.held)), self.held]


@dataclass(frozen=True, eq=False)
class OutcomeMeans:
    """Mean outcomes of one policy, and the parts of their errors. m outcomes.

    Attributes:
        mean: of each outcome. (m,)
        influence: of each row, mean 0. (n, m)
        prior: parts of the error that come from the prior of the label's regression. (z, m)
        weight: of each record that was followed to the end, else 0. (n,)
        first: outcomes that are expected before the first panel. (n, m)
        last: outcomes at the end; read where there is a weight. (n, m)
    """

    mean: Float[np.ndarray, " m"]
    influence: Float[np.ndarray, "n m"]
    prior: Float[np.ndarray, "z m"]
    weight: Float[np.ndarray, " n"]
    first: Float[np.ndarray, "n m"]
    last: Float[np.ndarray, "n m"]

    def shares(self, panels: int) -> Float[np.ndarray, " a"]:
        """Share of cases that acquire each panel; estimates may lie beyond 0 and 1. (a,)"""
        return np.clip(self.mean[:panels], 0.0, 1.0)

    def of(self, inside: Bool[np.ndarray, " n"]) -> "OutcomeMeans":
        """Means of some rows; the others count nothing."""
        term = self.mean + self.influence
        mean = term[inside].mean(axis=0)
        influence = np.where(inside[:, None], (term - mean) / inside.mean(), 0.0)
        return replace(self, mean=mean, influence=influence, prior=self.prior[:0])


def averaged(each: Sequence[OutcomeMeans]) -> OutcomeMeans:
    """Means over repeated divisions into folds, which are a further part of the error.

    Divisions are independent draws, so that part is the variance of the estimates over their
    number.
    """
    if len(each) == 1:
        return each[0]
    r = len(each)
    mean, influence, weight, first, last = (
        np.mean([getattr(means, name) for means in each], axis=0)
        for name in ("mean", "influence", "weight", "first", "last")
    )
    apart = np.stack([means.mean - mean for means in each]) / np.sqrt(r * (r - 1))
    z = max(len(means.prior) for means in each)  # of the same regression, so they add up
    prior = np.mean([np.pad(o.prior, ((0, z - len(o.prior)), (0, 0))) for o in each], axis=0)
    return OutcomeMeans(mean, influence, np.vstack([prior, apart]), weight, first, last)


def path_probability(paths: Paths, missingness: RecordLaw) -> Float[np.ndarray, "n a1"]:
    """πₖ: that a record holds the first k steps' panels and the arguments of their law. (n, a + 1)

    Never larger than πₖ₋₁; 1 at the first state; NaN beyond the last. Where weights were too large,
    bounded, see `bounded_probability`.
    """
    n, a = paths.order.shape
    least = 0.0 if missingness.known else least_probability(n)
    probability = np.full((n, a + 1), np.nan)
    probability[:, 0] = 1.0
    for step in range(1, a + 1):
        going = np.flatnonzero(paths.held >= step)
        if not len(going):
            break
        sets, which = np.unique(
            missingness.closure(paths.requested(step)[going]), axis=0, return_inverse=True
        )
        chance = np.empty(len(going))
        for k, panels in enumerate(sets):
            rows = which.ravel() == k
            chance[rows] = missingness.probability(panels)[going[rows]]
        before = probability[:, step - 1]
        represented = float((1 / before[paths.requests(step)]).sum())
        probability[going, step] = bounded_probability(chance, before[going], represented, least)
    return probability


def bounded_probability(
    chance: Float[np.ndarray, " m"],
    before: Float[np.ndarray, " m"],
    represented: float,
    least: float,
) -> Float[np.ndarray, " m"]:
    """π by which records that are followed one step further are weighed. (m,)

    Weights above 1 / `least` are cut to that  [Ionides, JCGS 17, 2008]. Where this cuts any, all
    are raised by one factor, such that they represent as many records as before the step
    [trimming with redistribution; Potter, Proc. ASA Survey Research Methods, 1990]. Without the
    factor, costs of policies that few records follow would be those of the regression alone.

    Args:
        chance: π by the missingness model.
        before: π of the same records one step earlier.
        represented: Σ 1 / π over records with a request at this step, one step earlier.
        least: π from which on a weight is not cut.
    """
    exact = np.minimum(chance, before)
    cut = np.minimum(np.maximum(chance, least), before)
    if (cut == exact).all():
        return exact
    return cut / max(represented / float((1 / cut).sum()), 1.0)


def step_support(
    paths: Paths, chance: Float[np.ndarray, "n a1"]
) -> tuple[Float[np.ndarray, " a"], Float[np.ndarray, " a"]]:
    """Share of cases that order a panel at each step; effective number of records that hold it."""
    n, a = paths.order.shape
    share, effective = np.zeros(a), np.zeros(a)
    for step in range(1, a + 1):
        share[step - 1] = (1 / chance[paths.requests(step), step - 1]).sum() / n
        effective[step - 1] = effective_sample_size(1 / chance[paths.held >= step, step])
    return share, effective


def end_weight(paths: Paths, chance: Float[np.ndarray, "n a1"]) -> Float[np.ndarray, " n"]:
    """1 / π of each record that was followed to the end, else 0. (n,)"""
    final = chance[np.arange(len(chance)), paths.held]
    return np.where(paths.complete, 1 / final, 0.0)


@dataclass(frozen=True, eq=False)
class Labels:
    """Class probabilities given the beliefs of all policies. n rows, k classes, p coefficients.

    Attributes:
        probability: of each class. (n, k)
        label: class index. (n,)
        design: of the regression; None where the label itself serves. (n, p)
        factor: lower Cholesky factor of its curvature. (p, p)
        precision: of the priors. (p,)
        relative: cost of each verdict on each row, as a share of the most that it costs in the
            row's class; None: always that. (n, k)
    """

    probability: Float[np.ndarray, "n k"]
    label: Int[np.ndarray, " n"]
    design: Float[np.ndarray, "n p"] | None = None
    factor: Float[np.ndarray, "p p"] | None = None
    precision: Float[np.ndarray, " p"] | None = None
    relative: Float[np.ndarray, "n k"] | None = None

    def errors(
        self, gradient: Float[np.ndarray, "p m"]
    ) -> tuple[Float[np.ndarray, "n m"], Float[np.ndarray, "p m"]]:
        """Contribution of coefficient errors to outcomes, by the delta method.

        Args:
            gradient: of the m mean outcomes.

        Returns:
            A term of each row, and parts that come from the prior. (n, m), (p, m)
        """
        assert self.design is not None
        assert self.precision is not None
        toward = cho_solve((self.factor, True), gradient)
        residual = self.label - self.probability[:, 1]
        rows = len(residual) * residual[:, None] * (self.design @ toward)
        return rows, np.sqrt(self.precision)[:, None] * toward


def fit_labels(
    paths: Sequence[Paths],
    weights: Sequence[Float[np.ndarray, " n"]],
    label: Int[np.ndarray, " n"],
    covariates: Float[np.ndarray, "n w"],
) -> Labels:
    """Calibrated class probabilities: a logistic regression on all policies' last log-odds.

    The mean log-odds has the prior slope 1. Further inputs have the slope 0: each policy's distance
    from the mean, the same where the record was followed to the end, the row's weight there and the
    weight times the verdict, by which the weighted mean of each verdict is that of the labels as
    rows grow, also where the regression is wrong  [van der Laan and Rubin, IJB 2, 2006]; and
    columns that are always known. The verdict of a policy that every record was followed along is
    free: its outcomes are the plain means of all rows.

    Args:
        paths: of every policy on the same rows; those without probabilities add nothing.
        weights: 1 / π of the records that each was followed to the end along, else 0. (n,) each
        label: 0 or 1. (n,)
        covariates: columns that every record holds. (n, w)
    """
    able = [j for j, path in enumerate(paths) if np.isfinite(path.last_belief).all()]
    odds = np.column_stack([log_odds(paths[j].last_belief[:, 1]) for j in able])
    centre = odds.mean(axis=1, keepdims=True)
    ended = np.column_stack([paths[j].complete for j in able])
    cut = ~ended.all(axis=0)
    weight = np.column_stack([weights[j] for j in able])
    weight = weight / (weight.sum(axis=0) / ended.sum(axis=0))  # 1 in the mean of those that ended
    decision = np.column_stack([paths[j].verdict for j in able])
    verdict, referred = (decision == 1) - HALF, decision == 2
    refers = referred.any(axis=0)
    scaled = HALF * fit_scaling(covariates, constant=np.inf).standardise(covariates)
    blocks = [
        (odds - centre, APART),
        ((ended * (odds - centre))[:, cut], AT_END),
        (weight * verdict, np.where(cut, DECIDED, FREE)),
        ((weight * referred)[:, refers], np.where(cut, DECIDED, FREE)[refers]),
        (weight[:, cut], FOLLOWED),
        (scaled, COVARIATE),
    ]
    inputs = np.hstack([block for block, _ in blocks])
    design = np.column_stack([np.ones(len(label)), centre, inputs - inputs.mean(axis=0)])
    precision = np.concatenate([[FREE, FREE], *(np.full(x.shape[1], p) for x, p in blocks)])
    start = np.append([0.0, 1.0], np.zeros(inputs.shape[1]))
    fitted, factor = logistic_mode(
        design,
        label,
        np.ones(len(label)),
        precision=precision,
        start=start,
        decrement=DONE,
        towards=start,
    )
    chance = expit(design @ fitted)
    return Labels(np.column_stack([1 - chance, chance]), label, design, factor, precision)


def log_odds(probability: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Of probabilities that are kept from 0 and 1."""
    inside = np.clip(probability, LEAST_BELIEF, 1 - LEAST_BELIEF)
    return np.log(inside) - np.log1p(-inside)


def terms(
    paths: Paths,
    chance: Float[np.ndarray, "n a1"],
    labels: Labels,
    price: Float[np.ndarray, " a"],
    errors: Float[np.ndarray, "k k"],
    fold: Int[np.ndarray, " n"],
    further: Float[np.ndarray, "n e"] | None = None,
) -> OutcomeMeans:
    """Mean outcomes of one policy: panels acquired, verdict × class, further ones, row by row.

    Args:
        paths: within the missingness model.
        chance: π, see `path_probability`.
        labels: class probabilities.
        price: of the panels.
        errors: cost of a verdict (column) on a class (row).
        fold: of each row, by which the regressions are cross-fitted. (n,)
        further: other outcomes, between 0 and 1. (n, e)
    """
    k = labels.probability.shape[1]
    decided = np.eye(k + 1)[paths.verdict][:, :k]
    if labels.relative is not None:
        decided = decided * labels.relative
    cells = (decided[:, :, None] * labels.probability[:, None, :]).reshape(len(decided), k * k)
    more = np.zeros((len(cells), 0)) if further is None else further
    outcome = np.hstack([paths.acquired.astype(np.float64), cells, more])
    influence, first = sequential_terms(paths, chance, outcome, price, errors, fold)
    weight = end_weight(paths, chance)
    mean = influence.mean(axis=0)
    influence -= mean
    prior = np.zeros((0, len(mean)))
    if labels.design is not None:
        gradient = _gradient(paths, weight, labels)
        added, prior = labels.errors(np.pad(gradient, ((0, 0), (0, more.shape[1]))))
        influence += added - added.mean(axis=0)  # which the priors move from 0
    return OutcomeMeans(mean, influence, prior, weight, first, outcome)


def sequential_terms(
    paths: Paths,
    chance: Float[np.ndarray, "n a1"],
    outcome: Float[np.ndarray, "n m"],
    price: Float[np.ndarray, " a"],
    errors: Float[np.ndarray, "k k"],
    fold: Int[np.ndarray, " n"],
) -> tuple[Float[np.ndarray, "n m"], Float[np.ndarray, "n m"]]:
    """φ of outcomes at the end of paths, whose mean is their expectation, and V₀. (n, m) each

    Args:
        paths: within the missingness model.
        chance: π, see `path_probability`.
        outcome: each between 0 and 1, the panels acquired first; read where a path ended. (n, m)
        price: of the panels.
        errors: cost of a verdict (column) on a class (row).
        fold: of each row, by which the regressions are cross-fitted. (n,)
    """
    n, steps = paths.order.shape
    expected = np.zeros((steps + 1, n, outcome.shape[1]))
    _predict(expected, paths, chance, outcome, price, errors, fold)
    at_end = np.flatnonzero(paths.complete)
    expected[paths.held[at_end], at_end] = outcome[at_end]
    return telescoped(expected, chance, paths.held), expected[0]


def telescoped(
    expected: Float[np.ndarray, "s1 n m"],
    chance: Float[np.ndarray, "n s1"],
    answered: Int[np.ndarray, " n"],
) -> Float[np.ndarray, "n m"]:
    """φ = V₀ + Σₖ 1{followed to k} / πₖ (Vₖ − Vₖ₋₁) of each row. (n, m)

    Args:
        expected: V, read up to the last state that the record holds. (s + 1, n, m)
        chance: π, that a record is followed to each state. (n, s + 1)
        answered: steps that the record answered. (n,)
    """
    phi = expected[0].copy()
    for step in range(1, len(expected)):
        at = np.flatnonzero(answered >= step)
        phi[at] += (expected[step, at] - expected[step - 1, at]) / chance[at, step, None]
    return phi


def least_probability(rows: int) -> float:
    """The smallest π whose weight is not cut, which is `MOST` √n."""
    return min(1.0, 1 / (MOST * np.sqrt(rows)))


def ridge_coefficients(
    inputs: Float[np.ndarray, "n w"],
    target: Float[np.ndarray, "n m"],
    weight: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "w m"]:
    """Least squares with the penalty `RIDGE` of every coefficient. (w, m)"""
    weighted = inputs * weight[:, None]
    system = weighted.T @ inputs + RIDGE * np.eye(inputs.shape[1])
    return np.linalg.solve(system, weighted.T @ target)


def _gradient(paths: Paths, weight: np.ndarray, labels: Labels) -> np.ndarray:
    """Of the mean outcomes, by the coefficients of the label's regression. (p, a + 4)"""
    assert labels.design is not None
    chance = labels.probability[:, 1]
    slope = weight * chance * (1 - chance)
    by_verdict = np.eye(3)[paths.verdict][:, :2] * slope[:, None]
    of_cells = labels.design.T @ by_verdict / len(weight)
    cells = (of_cells[:, :, None] * np.array([-1.0, 1.0])).reshape(len(of_cells), 4)
    return np.hstack([np.zeros((len(cells), paths.order.shape[1])), cells])


def _predict(
    expected: np.ndarray,
    paths: Paths,
    chance: np.ndarray,
    outcome: np.ndarray,
    price: np.ndarray,
    errors: np.ndarray,
    fold: np.ndarray,
) -> None:
    """Expected outcomes at states that are no end, by ridge regression on the other folds."""
    a = paths.order.shape[1]
    step, row = np.nonzero(
        (paths.held > np.arange(a + 1)[:, None])
        | ((paths.held == np.arange(a + 1)[:, None]) & ~paths.complete)
    )
    if not len(row):
        return
    acquired = np.stack([paths.requested(k) for k in range(a + 1)])[step, row]
    inputs = _state_features(paths, row, step, acquired, price, errors)
    final = chance[row, paths.held[row]]
    ends = paths.complete[row]
    weight = np.where(ends, chance[row, step] / final, 0.0)
    low = np.hstack([acquired.astype(float), np.zeros((len(row), outcome.shape[1] - a))])
    for part in np.unique(fold):
        learn, ask = ends & (fold[row] != part), fold[row] == part
        fitted = ridge_coefficients(inputs[learn], outcome[row[learn]], weight[learn])
        predicted = np.clip(inputs[ask] @ fitted, low[ask], 1.0)
        expected[step[ask], row[ask]] = predicted


def _state_features(
    paths: Paths,
    row: np.ndarray,
    step: np.ndarray,
    acquired: np.ndarray,
    price: np.ndarray,
    errors: np.ndarray,
) -> np.ndarray:
    """Predictors of the expected outcome of a state; money in units of the most expensive error."""
    unit, k = errors.max(), errors.shape[0]
    probability = paths.belief[row, step]
    probability = np.where(np.isfinite(probability), probability, 1 / k)
    return np.column_stack(
        [
            np.ones(len(row)),
            acquired @ price / unit,
            belief_inputs(probability, errors),
            step > 0,
            price[paths.order[row, step]] / unit,
        ]
    )


def belief_inputs(
    probability: Float[np.ndarray, "n k"], errors: Float[np.ndarray, "k k"]
) -> Float[np.ndarray, "n p"]:
    """Predictors of the expected cost of errors by class probabilities. (n, p)

    The least expected cost of a decision now, in units of the most expensive error; probabilities,
    their squares, the decision, and log-odds.
    """
    if_stopped = probability @ errors
    decided = np.eye(errors.shape[0])[if_stopped.argmin(axis=1)]
    return np.column_stack(
        [
            if_stopped.min(axis=1) / errors.max(),
            probability[:, 1:],
            probability[:, 1:] ** 2,
            decided[:, 1:],
            log_odds(probability[:, 1:]) / 4,
        ]
    )
