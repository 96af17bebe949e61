"""One row of results per estimator: estimate, interval, diagnostics, status [afape, sec. 4].

An estimate that cannot be made is a row with a status and a reason, never a missing row and never
an unexplained NaN. It must not know the names of estimators, policies or data sets.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from frugal.core.terms import Terms
from frugal.judge.intervals import (
    effective_sample_size,
    estimate,
    largest_weight_share,
    normal_interval,
    standard_error,
    together,
    usable_rows,
)
from frugal.judge.positivity import Finding, weight_findings

OK = "ok"
NO_SUPPORT = "no_support"


@dataclass(frozen=True, eq=False)
class Summary:
    """What is reported of one estimator on one evaluation set. Shape: o outcomes.

    Attributes:
        status: `ok` or `no_support`.
        reason: a sentence if the status is not `ok`, else empty.
        estimate: in the unit of each outcome; NaN unless the status is `ok`. (o,)
        std_error: same unit; infinite if fewer than two rows carry weight. (o,)
        ci_low: lower end of the normal interval. (o,)
        ci_high: upper end of the normal interval. (o,)
        n: evaluation rows.
        usable_rows: rows with weight above zero.
        ess: Kish's effective sample size; of clusters where rows belong together.
        largest_weight_share: share of all weight that one row carries, or one cluster.
        findings: named warnings.
    """

    status: str
    reason: str
    estimate: Float[np.ndarray, " o"]
    std_error: Float[np.ndarray, " o"]
    ci_low: Float[np.ndarray, " o"]
    ci_high: Float[np.ndarray, " o"]
    n: int
    usable_rows: int
    ess: float
    largest_weight_share: float
    findings: tuple[Finding, ...]


def summarise(
    terms: Terms,
    *,
    level: float,
    findings: tuple[Finding, ...],
    cluster: Int[np.ndarray, " n"] | None = None,
) -> Summary:
    """Everything that is reported of one estimator.

    Args:
        terms: of the estimator.
        level: coverage of the interval, for example 0.95.
        findings: warnings known from the masks and propensities; those of the weights are added.
        cluster: rows of one number count as one in all but `n` and `usable_rows`; None where each
            stands for itself. (n,)
    """
    outcomes = terms.numerator.shape[1]
    counted = together(terms, cluster)
    found = findings + weight_findings(counted.weight)
    usable = usable_rows(terms.weight)
    if usable == 0:
        value = error = low = high = np.full(outcomes, np.nan)
        status, reason = NO_SUPPORT, " ".join(one.sentence for one in found)
    else:
        value, error = estimate(terms), standard_error(counted)
        low, high = normal_interval(value, error, level=level)
        status, reason = OK, ""
    return Summary(
        status,
        reason,
        value,
        error,
        low,
        high,
        len(terms.weight),
        usable,
        effective_sample_size(counted.weight),
        largest_weight_share(counted.weight),
        found,
    )
