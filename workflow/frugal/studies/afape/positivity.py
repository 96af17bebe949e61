"""Named warnings: properties of the data that weaken an estimate [afape, sec. A.10].

Each finding has a stable name, for tables, and one sentence, for people. The thresholds are part
of the names. It must not know how an estimator works: it sees weights, masks and propensities.
"""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from frugal.judge.sums import WeightSums

LOW_PROPENSITY = 0.01
LARGE_SHARE = 0.10
SMALL_SAMPLE = 30
FAR_FROM_ONE = 0.1


@dataclass(frozen=True)
class Finding:
    """One reason to distrust an estimate.

    Attributes:
        name: stable, for tables and tests.
        sentence: the finding and its meaning.
    """

    name: str
    sentence: str


def weight_findings(weight: WeightSums) -> tuple[Finding, ...]:
    """Warnings by the weights alone: `no_usable_row`, or few rows, or one row too heavy."""
    if weight.usable == 0:
        return (
            Finding(
                "no_usable_row",
                f"None of {weight.rows} rows carries weight, so there is nothing to average.",
            ),
        )
    findings = []
    share = weight.largest_share
    if share > LARGE_SHARE:
        findings.append(
            Finding(
                "one_row_carries_over_10_percent",
                f"Row {weight.at} carries {share:.1%} of all weight; the estimate hangs on it.",
            )
        )
    ess = weight.effective
    if ess < SMALL_SAMPLE:
        findings.append(
            Finding(
                "ess_below_30",
                f"{weight.usable} usable rows are worth {ess:.1f} equally weighted ones; "
                f"below {SMALL_SAMPLE} the normal interval is too short.",
            )
        )
    return tuple(findings)


def mean_findings(mean: float) -> tuple[Finding, ...]:
    """`mean_weight_off_1`: the weights do not average to 1, although E[w] = 1.

    Either the propensities are misfitted, or the records lack panels that the policy needs.
    """
    if abs(mean - 1) <= FAR_FROM_ONE:
        return ()
    return (
        Finding(
            "mean_weight_off_1",
            f"The weights average {mean:.3g} where their expectation is 1: the propensities are "
            f"misfitted, or the records lack panels that the policy acquires.",
        ),
    )


@dataclass(frozen=True)
class PropensitySums:
    """Support by the propensities of n rows.

    Attributes:
        rows: n.
        complete: rows with R = 1.
        evaluable: rows of which e is known.
        low: of them, rows below `LOW_PROPENSITY`.
        least: the smallest e; infinite where none is known.
    """

    rows: int
    complete: int
    evaluable: int
    low: int
    least: float

    @classmethod
    def of(
        cls, complete: Bool[np.ndarray, " n"], propensity: Float[np.ndarray, " n"]
    ) -> "PropensitySums":
        """Of some rows.

        Args:
            complete: R = 1. (n,)
            propensity: e = p(R = 1 | X_adj); NaN where it cannot be evaluated. (n,)
        """
        finite = propensity[np.isfinite(propensity)]
        low = int((finite < LOW_PROPENSITY).sum())
        return cls(
            len(complete), int(complete.sum()), len(finite), low, float(finite.min(initial=np.inf))
        )

    def __add__(self, other: "PropensitySums") -> "PropensitySums":
        return PropensitySums(
            self.rows + other.rows,
            self.complete + other.complete,
            self.evaluable + other.evaluable,
            self.low + other.low,
            min(self.least, other.least),
        )

    def findings(self) -> tuple[Finding, ...]:
        """Warnings about support by the records: `no_complete_case`, `propensity_below_0.01`."""
        findings = []
        if not self.complete:
            findings.append(
                Finding(
                    "no_complete_case",
                    f"None of {self.rows} rows has every panel observed, so no propensity of "
                    f"completeness can be learnt or used.",
                )
            )
        if self.low:
            findings.append(
                Finding(
                    "propensity_below_0.01",
                    f"{self.low / self.evaluable:.1%} of {self.evaluable} rows have a propensity "
                    f"of completeness below {LOW_PROPENSITY}; the least is {self.least:.2g}.",
                )
            )
        return tuple(findings)


def policy_findings(*, suffices: bool) -> tuple[Finding, ...]:
    """`policy_reads_values`: AFAIS as in the paper, for a policy that it is biased for.

    Args:
        suffices: p(R = 1 | X_adj, R̂, R_s = 1) is all that the policy's weights need: its decisions
            depend on no value outside X_adj.
    """
    if suffices:
        return ()
    return (
        Finding(
            "policy_reads_values",
            "The policy reads values outside X_adj, for which the AFA propensity given X_adj and "
            "the acquired set alone is biased; the one by the policy is not.",
        ),
    )


def gap_findings(
    policy_sets: Bool[np.ndarray, "t a"],
    mass: Float[np.ndarray, " t"],
    supported: Collection[bytes],
    *,
    least_mass: float,
) -> tuple[Finding, ...]:
    """`support_gap`: a set that the policy acquires at run time, but in no usable episode.

    Args:
        policy_sets: sets that the policy may end with when nothing is blocked. (t, a)
        mass: share of run-time episodes that end with each set. (t,)
        supported: sets, as bytes, that episodes with weight ended with.
        least_mass: sets with less mass than this are not missed.
    """
    # np.unique gives C-ordered rows; make the wanted sets so too, as bytes are compared
    sets = np.ascontiguousarray(policy_sets)
    unsupported = np.array([row.tobytes() not in supported for row in sets], dtype=bool)
    unsupported &= (mass >= least_mass) & (mass > 0)
    if not unsupported.any():
        return ()
    worst = int(np.where(unsupported, mass, -1.0).argmax())
    panels = np.flatnonzero(policy_sets[worst]).tolist()
    return (
        Finding(
            "support_gap",
            f"{int(unsupported.sum())} sets with {mass[unsupported].sum():.1%} of run-time "
            f"episodes are completed in no usable row; the likeliest is panels {panels} with "
            f"{mass[worst]:.1%}.",
        ),
    )


def resample_findings(resampled: Float[np.ndarray, "b e"]) -> tuple[Finding, ...]:
    """`resample_without_support`: subsamples in which no row carried weight (NaN rows).

    Args:
        resampled: from `frugal.studies.afape.resampling.resample`. (b, e)
    """
    empty = int(np.isnan(resampled).any(axis=1).sum())
    if empty == 0:
        return ()
    return (
        Finding(
            "resample_without_support",
            f"{empty} of {len(resampled)} subsamples hold no row with weight, so the spread over "
            f"subsamples is unknown.",
        ),
    )
