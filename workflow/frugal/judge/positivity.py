"""Named warnings: what about the data makes an estimate less than it seems [afape, sec. A.10].

Each finding has a stable name, for tables, and one sentence, for people. The thresholds are part
of the names. It must not know how an estimator works: it sees weights, masks and propensities.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.state_codes import distinct_sets
from frugal.judge.intervals import effective_sample_size, largest_weight_share, usable_rows

LOW_PROPENSITY = 0.01
LARGE_SHARE = 0.10
SMALL_SAMPLE = 30
FAR_FROM_ONE = 0.1


@dataclass(frozen=True)
class Finding:
    """One reason to distrust an estimate.

    Attributes:
        name: stable, for tables and tests.
        sentence: what was found and what it means.
    """

    name: str
    sentence: str


def weight_findings(weight: Float[np.ndarray, " n"]) -> tuple[Finding, ...]:
    """What the weights alone say: `no_usable_row`, or few rows, or one row too heavy.

    Args:
        weight: importance weights, never below zero. (n,)
    """
    usable = usable_rows(weight)
    if usable == 0:
        return (
            Finding(
                "no_usable_row",
                f"None of {len(weight)} rows carries weight, so there is nothing to average.",
            ),
        )
    found = []
    share = largest_weight_share(weight)
    if share > LARGE_SHARE:
        found.append(
            Finding(
                "one_row_carries_over_10_percent",
                f"Row {int(weight.argmax())} carries {share:.1%} of all weight; "
                f"the estimate hangs on it.",
            )
        )
    ess = effective_sample_size(weight)
    if ess < SMALL_SAMPLE:
        found.append(
            Finding(
                "ess_below_30",
                f"{usable} usable rows are worth {ess:.1f} equally weighted ones; "
                f"below {SMALL_SAMPLE} the normal interval is too short.",
            )
        )
    return tuple(found)


def balance_findings(weight: Float[np.ndarray, " n"]) -> tuple[Finding, ...]:
    """`mean_weight_off_1`: the weights do not average to 1, as E[w] = 1 says they should.

    Either the propensities are misfitted, or the records lack what the policy needs.

    Args:
        weight: importance weights, zero where a row is not used. (n,)
    """
    mean = float(weight.mean())
    if abs(mean - 1) <= FAR_FROM_ONE:
        return ()
    return (
        Finding(
            "mean_weight_off_1",
            f"The weights average {mean:.3g} where their expectation is 1: the propensities are "
            f"misfitted, or the records lack what the policy acquires.",
        ),
    )


def propensity_findings(
    complete: Bool[np.ndarray, " n"], propensity: Float[np.ndarray, " n"]
) -> tuple[Finding, ...]:
    """What the records say about support: `no_complete_case`, `propensity_below_0.01`.

    Args:
        complete: R = 1. (n,)
        propensity: e = p(R = 1 | X_adj); rows with NaN, where it is not evaluable, are left out
            of the share. (n,)
    """
    found = []
    if not complete.any():
        found.append(
            Finding(
                "no_complete_case",
                f"None of {len(complete)} rows has every panel observed, so no propensity of "
                f"completeness can be learnt or used.",
            )
        )
    known = np.isfinite(propensity)
    low = int((propensity[known] < LOW_PROPENSITY).sum())
    if low:
        found.append(
            Finding(
                "propensity_below_0.01",
                f"{low / known.sum():.1%} of {int(known.sum())} rows have a propensity of "
                f"completeness below {LOW_PROPENSITY}; the least is "
                f"{propensity[known].min():.2g}.",
            )
        )
    return tuple(found)


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


def support_findings(
    policy_sets: Bool[np.ndarray, "t a"],
    mass: Float[np.ndarray, " t"],
    acquired: Bool[np.ndarray, "n a"],
    weight: Float[np.ndarray, " n"],
    *,
    least_mass: float,
) -> tuple[Finding, ...]:
    """`support_gap`: a set that the policy acquires at run time, but in no usable episode.

    Args:
        policy_sets: sets that the policy may end with when nothing is blocked. (t, a)
        mass: share of run-time episodes that end with each set. (t,)
        acquired: panels acquired in the blocked rollout of each row. (n, a)
        weight: importance weights; a row is usable where above zero. (n,)
        least_mass: sets with less mass than this are not missed.
    """
    seen = {row.tobytes() for row in distinct_sets(acquired[weight > 0]).sets}
    # np.unique gives C-ordered rows; make the wanted sets so too, as bytes are compared
    wanted = np.ascontiguousarray(policy_sets)
    gap = np.array([row.tobytes() not in seen for row in wanted], dtype=bool)
    gap &= (mass >= least_mass) & (mass > 0)
    if not gap.any():
        return ()
    worst = int(np.where(gap, mass, -1.0).argmax())
    panels = np.flatnonzero(policy_sets[worst]).tolist()
    return (
        Finding(
            "support_gap",
            f"{int(gap.sum())} sets with {mass[gap].sum():.1%} of run-time episodes are completed "
            f"in no usable row; the likeliest is panels {panels} with {mass[worst]:.1%}.",
        ),
    )


def resample_findings(resampled: Float[np.ndarray, "b e"]) -> tuple[Finding, ...]:
    """`resample_without_support`: subsamples in which no row carried weight (NaN rows).

    Args:
        resampled: from `frugal.judge.resampling.resample`. (b, e)
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
