"""Costs of policies over time, estimated from records: six estimators of one case.

The semi-offline view [von Kleist et al., arXiv 2312.01530]: a record is followed as long as it
contains the panels that the policy orders, so records with more panels count, too. Let H_t be
all that the record holds before window t, A_t its panels in the window and a_t those ordered:

    π_t = Π_{τ ≤ t} P(A_τ ⊇ a_τ | H_τ),    V_t(H_t) = E[V_{t+1} | H_t, A_t ⊇ a_t],  V_T the outcome

V₀ is the g-formula by iterated regressions. Assumed is that measuring changes no value and no
outcome, that panels are ordered by the recorded history, and that π is above zero. The formulas are
those of one window: weights are those of `inverse_probability`, the doubly robust sum is that of
`semi_offline`. Knows no policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.errors import NoSupportError
from frugal.judge.comparisons import covariance_of
from frugal.judge.estimator import Terms, weighted_terms
from frugal.judge.estimators.inverse_probability import stabilised_ipw
from frugal.judge.intervals import (
    cluster_sums,
    effective_sample_size,
    estimate,
    influence,
    mean_error,
    skewed_interval,
)
from frugal.judge.semi_offline import bounded_probability, telescoped
from frugal.judge.sums import Spread, WeightSums


@dataclass(frozen=True, eq=False)
class TimedCase:
    """One policy on n records. t windows, o outcomes.

    Attributes:
        outcome: at the end of each path, panels that the record lacks blocked; NaN where the label
            is unknown. (n, o)
        answered: windows until the record lacks a panel that was ordered. (n,)
        complete: the record was followed to the end. (n,)
        exact: it holds the ordered panels and no other. (n,)
        reach: π before the first window (1) and after each. (n, t + 1)
        exact_reach: the same of P(A_τ = a_τ | H_τ). (n, t + 1)
        expected: V; read up to the window that the record holds. (t + 1, n, o)
        end: windows of each unit. (n,)
        cluster: of each unit, numbered from 0 on. (n,)
        least: π from which on a weight is not cut, see `bounded_probability`. 0: none is.
    """

    outcome: Float[np.ndarray, "n o"]
    answered: Int[np.ndarray, " n"]
    complete: Bool[np.ndarray, " n"]
    exact: Bool[np.ndarray, " n"]
    reach: Float[np.ndarray, "n t1"]
    exact_reach: Float[np.ndarray, "n t1"]
    expected: Float[np.ndarray, "t1 n o"]
    end: Int[np.ndarray, " n"]
    cluster: Int[np.ndarray, " n"]
    least: float = 0.0

    @property
    def divisor(self) -> Float[np.ndarray, "n t1"]:
        """π by which is divided. (n, t + 1)"""
        divisor = self.reach.copy()
        for window in range(1, divisor.shape[1]):
            at, before = self.answered >= window, divisor[:, window - 1]
            represented = float((1 / before[self.answered >= window - 1]).sum())
            divisor[at, window] = bounded_probability(
                self.reach[at, window], before[at], represented, self.least
            )
        return divisor


def reach_of(chance: Float[np.ndarray, "n t"]) -> Float[np.ndarray, "n t1"]:
    """π before the first window and after each, from P(A_t ⊇ a_t | H_t). (n, t + 1)"""
    return np.column_stack([np.ones(len(chance)), np.cumprod(chance, axis=1)])


def blocking(case: TimedCase) -> Terms:
    """Mean over all records, in which the panels that a record lacks are refused; biased."""
    labelled = np.asarray(np.isfinite(case.outcome).all(axis=1), dtype=np.float64)
    return weighted_terms(case.outcome, labelled, normalised=True)


def offline_ipw(case: TimedCase) -> Terms:
    """Records that match the policy exactly, weighted, self-normalised.

    wᵢ = Π_t 1{A_t = a_t} / P(A_t = a_t | H_t)
    """
    return stabilised_ipw(case.outcome, case.exact, np.maximum(case.exact_reach[:, -1], case.least))


def semi_offline_ipw(case: TimedCase) -> Terms:
    """Records that contain the ordered panels, weighted, self-normalised.

    wᵢ = Π_t 1{A_t ⊇ a_t} / P(A_t ⊇ a_t | H_t)
    """
    return stabilised_ipw(case.outcome, case.complete, case.divisor[:, -1])


def semi_offline_direct(case: TimedCase) -> Terms:
    """Mean of V₀; its error leaves out that of the fit, and is too small.

    Raises:
        NoSupportError: an expected outcome could not be fitted.
    """
    return weighted_terms(_fitted(case.expected[0]), np.ones(len(case.answered)), normalised=True)


def semi_offline_imputation(case: TimedCase) -> Terms:
    """Mean of outcomes, V imputed where a record lacks a panel; its error leaves out the fit's.

    φᵢ = the outcome, or V_k(H_k) of a record that is followed up to window k

    Raises:
        NoSupportError: an expected outcome that is read could not be fitted.
    """
    imputed = case.expected[case.answered, np.arange(len(case.answered))]
    phi = np.where(case.complete[:, None], case.outcome, imputed)
    return weighted_terms(_fitted(phi), np.ones(len(phi)), normalised=True)


def semi_offline_doubly_robust(case: TimedCase) -> Terms:
    """Mean of V₀ + Σ_t ρ_t (V_{t+1} − V_t), ρ_t = 1{followed to t} / π_t.

    Exact if π or V is right.

    Raises:
        NoSupportError: an expected outcome that is read could not be fitted.
    """
    phi = _fitted(telescoped(case.expected, case.divisor, case.answered))
    weight = np.where(case.complete, 1 / case.divisor[:, -1], 0.0)
    return Terms(phi, np.ones(len(phi)), weight)


def _fitted(phi: Float[np.ndarray, "n o"]) -> Float[np.ndarray, "n o"]:
    if np.isnan(phi).any():
        raise NoSupportError(
            f"expected outcomes of {int(np.isnan(phi).any(axis=1).sum())} of {len(phi)} records "
            "cannot be fitted: in some fold no other record contains the ordered panels"
        )
    return phi


TIMED_ESTIMATORS = {
    "semi_offline_doubly_robust": semi_offline_doubly_robust,
    "semi_offline_direct": semi_offline_direct,
    "semi_offline_imputation": semi_offline_imputation,
    "semi_offline_ipw": semi_offline_ipw,
    "offline_ipw": offline_ipw,
    "blocking": blocking,
}
READ = "semi_offline_doubly_robust"  # that answers read


@dataclass(frozen=True, eq=False)
class TimedEstimate:
    """An estimate of mean outcomes. o outcomes, n records.

    Attributes:
        mean: of each outcome, in its unit. (o,)
        std_error: by influence terms, summed within clusters; nuisances as known. (o,)
        psi: influence terms, mean 0. (n, o)
        effective: Kish's number of records, by the weights.
        records: with weight.
        cluster_weight: summed by cluster. (g,)
        cluster_psi: summed by cluster, times g / n. (g, o)
    """

    mean: Float[np.ndarray, " o"]
    std_error: Float[np.ndarray, " o"]
    psi: Float[np.ndarray, "n o"]
    effective: float
    records: int
    cluster_weight: Float[np.ndarray, " g"]
    cluster_psi: Float[np.ndarray, "g o"]

    def interval(
        self, *, level: float = 0.95
    ) -> tuple[Float[np.ndarray, " o"], Float[np.ndarray, " o"]]:
        """Lower and upper ends, see `skewed_interval`: rare errors make costs skewed. (o,)"""
        spread, weight = Spread.of(self.cluster_psi), WeightSums.of(self.cluster_weight)
        return skewed_interval(self.mean, spread, weight, level=level)


def estimate_over_time(case: TimedCase, estimator: str = READ) -> TimedEstimate:
    """Estimate of one case.

    Args:
        case: a policy on records.
        estimator: name, see `TIMED_ESTIMATORS`.

    Raises:
        NoSupportError: no record carries weight, or only those of one cluster.
        DataError: a probability that is read is outside (0, 1].
    """
    if not case.complete.any():
        raise NoSupportError("no record contains the panels that it orders")
    if np.isnan(case.outcome[case.complete]).any():
        raise NoSupportError("in some fold no other record contains the ordered panels")
    terms = TIMED_ESTIMATORS[estimator](case)
    mean, psi = estimate(terms), influence(terms)
    clusters = int(case.cluster.max()) + 1
    by_cluster = cluster_sums(terms.weight, case.cluster, clusters)
    if (by_cluster > 0).sum() < 2:
        raise NoSupportError(
            f"{estimator}: {int((terms.weight > 0).sum())} of {len(psi)} records carry weight, all "
            "of one cluster; an error needs two clusters"
        )
    weight = terms.weight
    return TimedEstimate(
        mean,
        mean_error(psi, case.cluster),
        psi,
        effective_sample_size(weight),
        int((weight > 0).sum()),
        by_cluster,
        cluster_sums(psi, case.cluster, clusters) * (clusters / len(psi)),
    )


def median_over_draws(draws: Sequence[TimedEstimate]) -> tuple[TimedEstimate, int]:
    """The estimate of median cost over draws of folds, and its draw; of two the cheaper.

    Its influence terms are scaled, so errors count the spread of the draws, too:

        σ² = median over draws of σ_s² + (θ_s − θ)²      [Chernozhukov et al., Econom. J. 21, 2018]
    """
    mean = np.stack([each.mean for each in draws])
    at = int(np.argsort(mean[:, 0], kind="stable")[(len(draws) - 1) // 2])
    chosen, error = draws[at], np.stack([each.std_error for each in draws])
    error = np.sqrt(np.median(error**2 + (mean - mean[at]) ** 2, axis=0))
    scale = np.divide(error, chosen.std_error, out=np.ones_like(error), where=chosen.std_error > 0)
    psi, cluster_psi = chosen.psi * scale, chosen.cluster_psi * scale
    return replace(chosen, std_error=error, psi=psi, cluster_psi=cluster_psi), at


def covariance_over_draws(policies: Sequence[Sequence[TimedEstimate]]) -> Float[np.ndarray, "k k"]:
    """Covariance of the median costs of k policies, paired within each draw of folds. (k, k)

    That of the draw whose Σ_s + (θ_s − θ)(θ_s − θ)ᵀ has the median norm. A policy with fewer draws
    than others counts with its last one in the rest.

    Args:
        policies: the estimates of each draw, of each policy.
    """
    draws = max(map(len, policies))
    filled = [[each[min(s, len(each) - 1)] for each in policies] for s in range(draws)]
    middle = np.array([median_over_draws(each)[0].mean[0] for each in policies])
    every = []
    for row in filled:
        away = np.array([each.mean[0] for each in row]) - middle
        psi = np.stack([each.cluster_psi[:, 0] for each in row])
        every.append(covariance_of([psi]) + np.outer(away, away))
    norm = [float(np.linalg.norm(each, 2)) for each in every]
    return every[int(np.argsort(norm, kind="stable")[(draws - 1) // 2])]


def label_shift(case: TimedCase, positive: Bool[np.ndarray, " n"]) -> tuple[float, float]:
    """Share of positive labels in the weighted records less that in all records, and its error.

    No policy changes a label, so the shift is zero if orders depend on the recorded history only:
    a test of that assumption, and of the fitted law.

    Args:
        case: a policy on records without censoring.
        positive: label of each record. (n,)

    Raises:
        NoSupportError: no record carries weight.
    """
    label = positive[:, None].astype(np.float64)
    terms = stabilised_ipw(label, case.complete, case.divisor[:, -1])
    shift = estimate(terms) - label.mean(axis=0)
    psi = influence(terms) - (label - label.mean(axis=0))
    return float(shift[0]), float(mean_error(psi, case.cluster)[0])


def support_by_window(case: TimedCase) -> dict[str, Float[np.ndarray, " t"]]:
    """How far records support the policy after each window: counts and probabilities. (t,) each

    Returns:
        `at_risk`, units that have the window; `contained`, of these the records that contain all
        that was ordered up to it; `least` and `fifth`, the smallest and the 5 % smallest of π of
        these; `effective`, Kish's number of them by 1/π. NaN where there is none.
    """
    windows = case.reach.shape[1] - 1
    columns = {name: np.full(windows, np.nan) for name in ("least", "fifth", "effective")}
    columns |= {name: np.zeros(windows) for name in ("at_risk", "contained")}
    for window in range(windows):
        at_risk = case.end > window
        contained = at_risk & (case.answered > window)
        columns["at_risk"][window] = at_risk.sum()
        columns["contained"][window] = contained.sum()
        if contained.any():
            reach = case.reach[contained, window + 1]
            columns["least"][window] = reach.min()
            columns["fifth"][window] = np.quantile(reach, 0.05)
            columns["effective"][window] = effective_sample_size(1 / reach)
    return columns
