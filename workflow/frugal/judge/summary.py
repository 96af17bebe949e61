"""One row of results per estimator: estimate, interval, diagnostics, status [afape, sec. 4].

An estimate that cannot be made is a row with a status and a reason, never a missing row and never
an unexplained NaN. It must not know the names of estimators, policies or data sets.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from frugal.core.terms import Terms
from frugal.judge.intervals import influence, influence_together, interval_of, together
from frugal.judge.nuisance_fit import NuisanceFit
from frugal.judge.positivity import Finding, weight_findings_of
from frugal.judge.sums import Spread, Tally, WeightSums

OK = "ok"
NO_SUPPORT = "no_support"


@dataclass(frozen=True, eq=False)
class Summary:
    """What is reported of one estimator on one evaluation set. Shape: o outcomes, c of them told.

    Attributes:
        status: `ok` or `no_support`.
        reason: a sentence if the status is not `ok`, else empty.
        estimate: in the unit of each outcome; NaN unless the status is `ok`. (o,)
        std_error: same unit; infinite if fewer than two rows carry weight. (c,)
        ci_low: lower end of the interval. (c,)
        ci_high: upper end of the interval. (c,)
        n: evaluation rows.
        usable_rows: rows with weight above zero.
        ess: Kish's effective sample size; of clusters where rows belong together.
        largest_weight_share: share of all weight that one row carries, or one cluster.
        findings: named warnings.
    """

    status: str
    reason: str
    estimate: Float[np.ndarray, " o"]
    std_error: Float[np.ndarray, " c"]
    ci_low: Float[np.ndarray, " c"]
    ci_high: Float[np.ndarray, " c"]
    n: int
    usable_rows: int
    ess: float
    largest_weight_share: float
    findings: tuple[Finding, ...]


def counted_influence(
    terms: Terms, fit: NuisanceFit | None, cluster: Int[np.ndarray, " n"] | None = None
) -> Float[np.ndarray, "g o"]:
    """Influence terms with the fit of the probabilities counted in, if there is one. (n or g, o)

    Those of rows that belong together are one, so that all that follows is of g clusters.
    """
    psi = influence(terms)
    return influence_together(psi if fit is None else fit.counted(psi), cluster)


def summarise(
    terms: Terms,
    *,
    level: float,
    findings: tuple[Finding, ...],
    fit: NuisanceFit | None = None,
    cluster: Int[np.ndarray, " n"] | None = None,
) -> Summary:
    """Everything that is reported of one estimator.

    Args:
        terms: of the estimator.
        fit: of the probabilities that it divides by, whose errors count; None if they are known.
        level: coverage of the interval, for example 0.95.
        findings: warnings known from the masks and propensities; those of the weights are added.
        cluster: rows of one number count as one in all but `n` and `usable_rows`; None where each
            stands for itself. (n,)
    """
    outcomes = terms.numerator.shape[1]
    tally, counted = Tally.of(terms), WeightSums.of(together(terms, cluster).weight)
    spread = Spread(0, np.zeros(outcomes), np.zeros(outcomes))
    if tally.weight.usable:
        spread = Spread.of(counted_influence(terms, fit, cluster))
    return summary_of(tally, counted, spread, level=level, findings=findings)


def summary_of(
    tally: Tally,
    counted: WeightSums,
    spread: Spread,
    *,
    level: float,
    findings: tuple[Finding, ...],
) -> Summary:
    """Everything that is reported of one estimator, from sums over all rows.

    Args:
        tally: of its terms.
        counted: its weights, those of rows that belong together as one.
        spread: its influence terms, of all outcomes or of the first ones, with the fit of the
            probabilities counted in; not read where no row has weight.
        level: coverage of the interval, for example 0.95.
        findings: warnings known from the masks and propensities; those of the weights are added.
    """
    found = findings + weight_findings_of(counted)
    told = len(spread.squares)
    if tally.weight.usable == 0:
        value = np.full(len(tally.numerator), np.nan)
        error = low = high = np.full(told, np.nan)
        status, reason = NO_SUPPORT, " ".join(one.sentence for one in found)
    else:
        value, error = tally.estimate, spread.error(counted.usable)
        low, high = interval_of(value[:told], spread, counted, level=level)
        status, reason = OK, ""
    return Summary(
        status,
        reason,
        value,
        error,
        low,
        high,
        tally.weight.rows,
        tally.weight.usable,
        counted.effective,
        counted.largest_share,
        found,
    )
