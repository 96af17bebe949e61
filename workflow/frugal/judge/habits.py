"""Whether a panel's being recorded predicts the label, and a policy's gain from that.

Where missing values are at random given the columns that every row has, nothing else is left in
the pattern of missing values. An association that remains is a habit of whoever ordered: a latent
cause, or the result of a panel, moved both the order and the label. Nuisances are ridge
regressions, so the test is cheap. Knows tables and estimates; no policy and no file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.scaling import average_ranks, fit_scaling
from frugal.judge.choice import Candidates
from frugal.judge.comparisons import LEVEL, gaussian, savings_quantile
from frugal.judge.fairness import IntervalEstimate
from frugal.judge.intervals import cluster_sums, mean_error, normal_interval

LEAST_ROWS = 30  # with a panel, without it, and of a class, that are needed for a test
RIDGES = (1.0, 10.0, 100.0, 1000.0)  # prior precisions of a slope, per standard deviation
KNOTS = (0.25, 0.5, 0.75)  # quantiles of a column at which a slope may change
MOST_PAIRED = 12  # columns up to which all products of two are inputs, too
SMALLEST = 1e-12


def cross_fitted(
    inputs: Float[np.ndarray, "n w"], targets: Float[np.ndarray, "n t"], fold: Int[np.ndarray, " n"]
) -> Float[np.ndarray, "n t"]:
    """Expected targets of each row by ridge regressions on the other folds. (n, t)

    Of each target the inputs (columns alone; also hinges at their quantiles and products) and the
    ridge of least cross-fitted squared error.

    Args:
        inputs: columns without gaps. (n, w)
        targets: of each row. (n, t)
        fold: of each row. (n,)
    """
    linear = fit_scaling(inputs, constant=np.inf).standardise(inputs)
    wider = _expanded(inputs, linear)
    best = np.full(targets.shape[1], np.inf)
    fitted = np.zeros_like(targets)
    for design in (linear, wider) if wider.shape[1] > linear.shape[1] else (linear,):
        predicted = np.zeros((len(RIDGES), *targets.shape))
        for number in np.unique(fold):
            learn, ask = fold != number, fold == number
            predicted[:, ask] = _ridge(design[learn], targets[learn], design[ask])
        for k in range(len(RIDGES)):
            loss = np.mean(np.square(targets - predicted[k]), axis=0)
            better = loss < best
            fitted[:, better] = predicted[k][:, better]
            best = np.minimum(best, loss)
    return fitted


def _expanded(inputs: np.ndarray, scaled: np.ndarray) -> np.ndarray:
    """Standardised columns, their hinges, and products of two where columns are few. (n, p)"""
    parts = [scaled]
    for column in scaled.T:
        if len(np.unique(column)) > 2:
            knots = np.unique(np.quantile(column, np.array(KNOTS)))
            parts.append(np.maximum(column[:, None] - knots, 0.0))
    if inputs.shape[1] <= MOST_PAIRED:
        first, second = np.triu_indices(inputs.shape[1])
        parts.append(scaled[:, first] * scaled[:, second])
    wider = np.hstack(parts)
    return fit_scaling(wider, constant=np.inf).standardise(wider)


def _ridge(design: np.ndarray, targets: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Predictions under each of `RIDGES`. (ridges, m, t)"""
    middle, mean = design.mean(axis=0), targets.mean(axis=0)
    centred = design - middle
    values, vectors = np.linalg.eigh(centred.T @ centred)
    onto = vectors.T @ (centred.T @ (targets - mean))
    turned = (at - middle) @ vectors
    shrunk = [onto / (np.maximum(values, 0.0) + ridge)[:, None] for ridge in RIDGES]
    return np.stack([mean + turned @ slope for slope in shrunk])


@dataclass(frozen=True)
class Habit:
    """Association of one panel's being recorded with a class, given the columns of every row.

    Attributes:
        panel: by index.
        label: the class of the strongest association, by index.
        z: its standardised covariance.
        p: of all panels and classes at once.
        difference: share of cases of the class that hold the panel, less that of other cases with
            equal known columns.
    """

    panel: int
    label: int
    z: float
    p: float
    difference: float


def habits(
    observed: Bool[np.ndarray, "n a"],
    label: Int[np.ndarray, " n"],
    columns: Float[np.ndarray, "n w"],
    fold: Int[np.ndarray, " n"],
    cluster: Int[np.ndarray, " n"] | None,
    rng: np.random.Generator,
) -> list[Habit]:
    """Association of each panel that can be tested with the label, by the generalised covariance.

        T = Σᵢ rᵢ / √Σᵢ (rᵢ − r̄)²,   rᵢ = (Rᵢ − Ê[R | xᵢ]) (Yᵢ − Ê[Y | xᵢ])
                                          [Shah and Peters, Ann. Stat. 48, 2020, eq. 3 and sec. 3.2]

    R is whether a record holds the panel, Y whether it is of a class, x the columns that every
    record holds. p-values are of max |T| over panels and classes by Gaussian multipliers: a habit
    is found where the smallest is below the level.

    Args:
        observed: panels that records hold. (n, a)
        label: class index. (n,)
        columns: those that every record holds. (n, w)
        fold: of each row, by which expectations are cross-fitted. (n,)
        cluster: rows of one number count as one, from 0 on; None: each for itself. (n,)
        rng: of the multipliers.
    """
    classes = np.bincount(label)
    tested = [
        c for c in range(len(classes)) if min(classes[c], len(label) - classes[c]) >= LEAST_ROWS
    ]
    tested = tested[1:] if len(classes) == 2 else tested  # the other class mirrors it
    count = observed.sum(axis=0)
    panels = np.flatnonzero(np.minimum(count, len(label) - count) >= LEAST_ROWS)
    if not len(panels) or not tested:
        return []
    targets = np.hstack([observed[:, panels], label[:, None] == np.array(tested)]).astype(
        np.float64
    )
    left = targets - cross_fitted(columns, targets, fold)
    recorded, outcome = left[:, : len(panels)], left[:, len(panels) :]
    product = (recorded[:, :, None] * outcome[:, None, :]).reshape(len(label), -1)
    if cluster is not None:
        product = cluster_sums(product, cluster, int(cluster.max()) + 1)
    apart = product - product.mean(axis=0)
    spread = np.sqrt(np.maximum(np.square(apart).sum(axis=0), SMALLEST))
    z = product.sum(axis=0) / spread
    largest = np.abs(gaussian(apart.T @ apart / spread / spread[:, None], rng)).max(axis=1)
    z = z.reshape(len(panels), len(tested))
    slope = (recorded.T @ outcome) / np.maximum(np.square(outcome).sum(axis=0), SMALLEST)
    strongest = np.abs(z).argmax(axis=1)
    return [
        Habit(
            int(j),
            tested[c],
            float(z[k, c]),
            float(((largest >= abs(z[k, c])).sum() + 1) / (len(largest) + 1)),
            float(slope[k, c]),
        )
        for k, (j, c) in enumerate(zip(panels, strongest, strict=True))
    ]


def pattern_area(
    observed: Bool[np.ndarray, "n a"],
    positive: Bool[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
    cluster: Int[np.ndarray, " n"] | None = None,
) -> IntervalEstimate | None:
    """AUROC of a prediction from nothing but which panels a record holds; None without pairs.

    The prediction is cross-fitted. Pairs are of one fold, as predictions of different folds have
    different means. The interval follows from placements [DeLong et al., Biometrics 44, 1988].

    Args:
        observed: panels that records hold. (n, a)
        positive: the predicted class. (n,)
        fold: of each row. (n,)
        cluster: rows of one number count as one, from 0 on; None: each for itself. (n,)
    """
    varies = observed[:, observed.any(axis=0) & ~observed.all(axis=0)].astype(np.float64)
    if not varies.shape[1]:
        return None
    score = cross_fitted(varies, positive[:, None].astype(np.float64), fold)[:, 0]
    return area(score, positive, fold, cluster)


def area(
    score: Float[np.ndarray, " n"],
    positive: Bool[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
    cluster: Int[np.ndarray, " n"] | None = None,
) -> IntervalEstimate | None:
    """Area under the curve over pairs of one fold, weighed by their number; None without pairs."""
    total, pairs = 0.0, 0
    influence = np.zeros(len(score))
    for number in np.unique(fold):
        yes, no = (np.flatnonzero((fold == number) & side) for side in (positive, ~positive))
        if not len(yes) or not len(no):
            continue
        rank = average_ranks(score[np.concatenate([yes, no])])
        above = rank[: len(yes)] - average_ranks(score[yes])
        below = len(yes) - (rank[len(yes) :] - average_ranks(score[no]))
        higher = float(above.sum())
        total, pairs = total + higher, pairs + len(yes) * len(no)
        influence[yes] = above - higher / len(yes)
        influence[no] = below - higher / len(no)
    if not pairs:
        return None
    influence /= pairs
    if cluster is not None:
        influence = np.bincount(cluster, influence)
    error = np.sqrt(np.square(influence).sum(keepdims=True))
    low, high = normal_interval(np.array([total / pairs]), error, level=LEVEL)
    return IntervalEstimate(total / pairs, max(float(low[0]), 0.0), min(float(high[0]), 1.0))


def differences(
    candidates: Candidates, policy: str, others: Sequence[str], rng: np.random.Generator
) -> Mapping[str, IntervalEstimate]:
    """Excess costs of others over a policy; each end one-sided, for all of them at once."""
    error, quantile = savings_quantile(candidates.covariance([policy, *others]), rng)
    cost, intervals = candidates.cost(policy), {}
    for name, std_error in zip(others, error[1:], strict=True):
        more, half = candidates.cost(name) - cost, quantile * float(std_error)
        intervals[name] = IntervalEstimate(more, more - half, more + half)
    return intervals


def savings(candidates: Candidates, policy: str) -> Float[np.ndarray, " n"]:
    """Savings of a policy against practice, row by row; the mean is the saving. (n,)"""
    practice = candidates.practice
    psi = {
        name: candidates.outcomes[name].influence @ candidates.slope(name)
        for name in (policy, practice)
    }
    return candidates.cost(practice) - candidates.cost(policy) + psi[practice] - psi[policy]


def vanishing(by_known: Candidates, by_label: Candidates, policy: str) -> IntervalEstimate:
    """The part of a saving that is lost where the label is among the causes of missing values.

    Args:
        by_known: a policy and practice, judged as if gaps were random given other causes.
        by_label: the same, the label being a cause of the gaps of every panel.
        policy: whose saving it is.
    """
    lost = savings(by_known, policy) - savings(by_label, policy)
    error = mean_error((lost - lost.mean())[:, None], by_known.cluster)
    low, high = normal_interval(np.array([lost.mean()]), error, level=LEVEL)
    return IntervalEstimate(float(lost.mean()), float(low[0]), float(high[0]))
