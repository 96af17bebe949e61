"""One row of results per estimator: estimate, interval, diagnostics, status [afape, sec. 4].

An estimate that cannot be made is a row with a status and a reason, never a missing row and never
an unexplained NaN. It must not know the names of estimators, policies or data sets.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from frugal.judge.intervals import skewed_interval
from frugal.judge.sums import Spread
from frugal.studies.afape.positivity import Finding, weight_findings
from frugal.studies.afape.term_blocks import TermBlocks

OK = "ok"
NO_SUPPORT = "no_support"


@dataclass(frozen=True, eq=False)
class Summary:
    """Reported results of one estimator on one evaluation set; o outcomes, errors of the first.

    Attributes:
        status: `ok` or `no_support`.
        reason: a sentence if the status is not `ok`, else empty.
        estimate: in the unit of each outcome; NaN unless the status is `ok`. (o,)
        std_error: same unit; infinite if fewer than two rows carry weight. (1,)
        ci_low: lower end of the interval. (1,)
        ci_high: upper end of the interval. (1,)
        n: evaluation rows.
        usable_rows: rows with weight above zero.
        ess: Kish's effective sample size; of clusters where rows belong together.
        largest_weight_share: share of all weight that one row carries, or one cluster.
        findings: named warnings.
    """

    status: str
    reason: str
    estimate: Float[np.ndarray, " o"]
    std_error: Float[np.ndarray, " 1"]
    ci_low: Float[np.ndarray, " 1"]
    ci_high: Float[np.ndarray, " 1"]
    n: int
    usable_rows: int
    ess: float
    largest_weight_share: float
    findings: tuple[Finding, ...]


def summary_of(
    terms: TermBlocks,
    name: Hashable,
    spread: Spread | None,
    *,
    level: float,
    findings: tuple[Finding, ...],
) -> Summary:
    """Everything that is reported of one estimator.

    Args:
        terms: of all rows.
        name: of the estimator.
        spread: of its influence terms of the first outcome; None where no row has weight.
        level: coverage of the interval, for example 0.95.
        findings: warnings known from the masks and propensities; those of the weights are added.
    """
    tally, counted = terms.tally(name), terms.units(name).tally(name).weight
    warnings = findings + weight_findings(counted)
    if spread is None:
        value = np.full(len(tally.numerator), np.nan)
        error = low = high = np.full(1, np.nan)
        status, reason = NO_SUPPORT, " ".join(finding.sentence for finding in warnings)
    else:
        value, error = tally.estimate, spread.error(counted.usable)
        low, high = skewed_interval(value[:1], spread, counted, level=level)
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
        warnings,
    )
