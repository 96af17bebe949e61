"""Which estimator takes which stored arrays, and when it cannot be computed at all.

Adding an estimator: write it in `frugal.estimators`, add a line to `ESTIMATORS` and, if it needs
something that can be lacking, a line to `_OBSTACLES`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from frugal.contracts import Terms
from frugal.estimators import afais, doubly_robust, inverse_probability, off_policy, unweighted


@dataclass(frozen=True, eq=False)
class Case:
    """All that is stored of one policy and seed on the n evaluation rows; o outcomes.

    Attributes:
        blocked: outcomes of the rollout on the records. (n, o)
        full: outcomes on the full table, None where it is unknown. (n, o)
        in_record_order: on the full table, the policy took the panels in the order in which
            records list them; None where it is unknown. (n,)
        recorded: outcomes at the records' own sets. (n, o)
        imputed: method → outcomes on each imputed copy. (draws, n, o)
        observed: R. (n, a)
        s_observed: R_s = 1. (n,)
        fitted: nuisances by column name, NaN where not evaluable. (n,) each
        outcome_mean: fitted E[outcome | X_adj, R=1] of the first three outcomes. (n, 3)
        identification: as `draw_missingness` stored it.
        reads_values: decisions depend on values.
        afa_propensity_suffices: AFAIS as in the paper is exact for this policy, which reads no
            value outside X_adj.
    """

    blocked: np.ndarray
    full: np.ndarray | None
    in_record_order: np.ndarray | None
    recorded: np.ndarray
    imputed: Mapping[str, np.ndarray]
    observed: np.ndarray
    s_observed: np.ndarray
    fitted: Mapping[str, np.ndarray]
    outcome_mean: np.ndarray
    identification: Mapping[str, Any]
    reads_values: bool
    afa_propensity_suffices: bool

    @property
    def complete(self) -> np.ndarray:
        """R = 1. (n,)"""
        return np.asarray(self.observed.all(axis=1))


def _mean_over_draws(case: Case, method: str) -> Terms:
    return unweighted.imputation(case.imputed[method].mean(axis=0))


def _doubly_robust(case: Case) -> Terms:
    return doubly_robust.doubly_robust(
        case.blocked[:, :3],
        case.complete,
        case.fitted["propensity"],
        case.outcome_mean,
        case.s_observed,
        case.fitted["s_propensity"],
    )


def _doubly_robust_afais(case: Case) -> Terms:
    return doubly_robust.doubly_robust_afais(
        case.blocked[:, :3],
        case.fitted["propensity"],
        case.fitted["afa_propensity_policy"],
        case.outcome_mean,
        case.s_observed,
        case.fitted["s_propensity"],
    )


def _weighted(function: Callable[..., Terms]) -> Callable[[Case], Terms]:
    return lambda case: function(case.blocked, case.complete, case.fitted["propensity"])


def _afais(function: Callable[..., Terms]) -> Callable[[Case], Terms]:
    return lambda case: function(
        case.blocked, case.fitted["propensity"], case.fitted["afa_propensity"]
    )


def _afais_s(
    function: Callable[..., Terms], propensity: str, afa_propensity: str
) -> Callable[[Case], Terms]:
    return lambda case: function(
        case.blocked, case.s_observed, case.fitted[propensity], case.fitted[afa_propensity]
    )


def _off_policy(function: Callable[..., Terms], probability: str) -> Callable[[Case], Terms]:
    return lambda case: function(
        case.recorded, case.fitted[probability], case.fitted["pattern_propensity"]
    )


def _full(case: Case) -> Terms:
    assert case.full is not None
    return unweighted.ground_truth(case.full)


ESTIMATORS: Mapping[str, Callable[[Case], Terms]] = {
    "ground_truth": _full,
    "blocking": lambda case: unweighted.blocking(case.blocked),
    "complete_case": lambda case: unweighted.complete_case(case.blocked, case.complete),
    "imputation_missforest": lambda case: _mean_over_draws(case, "missforest"),
    "multiple_imputation": lambda case: _mean_over_draws(case, "multiple"),
    "multiple_imputation_label": lambda case: _mean_over_draws(case, "multiple_label"),
    "ipw": _weighted(inverse_probability.ipw),
    "stabilised_ipw": _weighted(inverse_probability.stabilised_ipw),
    "stabilised_ipw_true": lambda case: inverse_probability.stabilised_ipw(
        case.blocked, case.complete, case.fitted["complete_probability"]
    ),
    "afais": _afais(afais.afais),
    "stabilised_afais": _afais(afais.stabilised_afais),
    "afais_s": _afais_s(afais.afais_s, "propensity", "afa_propensity"),
    "stabilised_afais_s": _afais_s(afais.stabilised_afais_s, "propensity", "afa_propensity"),
    "stabilised_afais_s_policy": _afais_s(
        afais.stabilised_afais_s, "propensity", "afa_propensity_policy"
    ),
    "stabilised_afais_s_true": _afais_s(
        afais.stabilised_afais_s, "complete_probability", "true_afa_propensity"
    ),
    "off_policy_set": _off_policy(off_policy.stabilised_off_policy_set, "set_probability"),
    "off_policy_sequence": _off_policy(
        off_policy.stabilised_off_policy_sequence, "sequence_probability"
    ),
    "doubly_robust": _doubly_robust,
    "doubly_robust_afais": _doubly_robust_afais,
}

IMPUTED = {
    "imputation_missforest": "missforest",
    "multiple_imputation": "multiple",
    "multiple_imputation_label": "multiple_label",
}
UNWEIGHTED = {"ground_truth", "blocking", "complete_case", *IMPUTED}
OFF_POLICY = {"off_policy_set": "set_probability", "off_policy_sequence": "sequence_probability"}
_BY_POLICY = {"stabilised_afais_s_policy", "doubly_robust_afais"}
_EVERY_ROW = {"afais", "stabilised_afais"}
AS_IN_PAPER = {*_EVERY_ROW, "afais_s", "stabilised_afais_s"}  # h given X_adj and R̂ alone
_ON_COMPLETE_ROWS = {"ipw", "stabilised_ipw", "stabilised_ipw_true", "doubly_robust"}
LEAST_MASS = 0.01  # sets of panels with less mass are not missed
_SURE = 3.0  # standard errors by which an estimated gap must exceed zero


def obstacle(name: str, case: Case) -> tuple[str, str] | None:
    """Why an estimator cannot be computed for a case: (status, sentence); None if it can.

    Statuses: `not_available` (the study did not make what it needs), `not_identified` (no data of
    this kind could tell), `no_support` (these records happen not to hold what it needs).
    """
    if name in UNWEIGHTED or name.endswith("_true"):
        return _not_made(name, case) or _zero_propensity(name, case)
    known = case.identification
    if not known["propensity_identified"]:
        return "not_identified", _reason(known, "not identified")
    if name in _EVERY_ROW and not known["afais_identified"]:
        return "not_identified", _reason(known, "smaller set")
    if name in _EVERY_ROW and known["s"]:
        return "not_available", (
            f"The config asks for s = {', '.join(known['s'])}, and the AFA propensity is fitted "
            "for that s; AFAIS with s = ∅ would be identified."
        )
    if name in _BY_POLICY and np.isnan(case.fitted["afa_propensity_policy"]).all():
        return "not_available", (
            "One missingness indicator causes another, and the graph or these records do not tell "
            "its law where a cause is missing, from which the policy's AFA propensity follows."
        )
    unknown_s = np.isnan(case.fitted["s_propensity"][case.s_observed]).any()
    if name.startswith("doubly_robust") and unknown_s:
        return "not_identified", "p(R_s=1|X_adj) does not factorise along the graph for this s."
    return _off_policy_obstacle(name, case) if name in OFF_POLICY else _zero_propensity(name, case)


def _not_made(name: str, case: Case) -> tuple[str, str] | None:
    """Obstacles of estimators that fit nothing."""
    if name == "ground_truth" and case.full is None:
        return "not_available", "The missingness is the data set's own, so the truth is unknown."
    if name in IMPUTED and IMPUTED[name] not in case.imputed:
        return "not_available", "The config leaves this imputation out."
    if name.endswith("_true") and np.isnan(case.fitted["complete_probability"]).any():
        return "not_available", "The missingness is the data set's own, so its law is unknown."
    return None


def _zero_propensity(name: str, case: Case) -> tuple[str, str] | None:
    """A propensity that is zero to all digits on a row in use: its weight would be infinite."""
    if name in UNWEIGHTED:
        return None
    kind = "complete_probability" if name.endswith("_true") else "propensity"
    used = case.complete if name in _ON_COMPLETE_ROWS else case.s_observed
    zero = int((case.fitted[kind][used] == 0).sum())
    if name.startswith("doubly_robust"):
        zero += int((case.fitted["s_propensity"][case.s_observed] == 0).sum())
    return ("no_support", _infinite(zero)) if zero else None


def _infinite(rows: int) -> str:
    return (
        f"The propensity is 0 in {rows} of the rows that would carry weight, so that their weight "
        "is infinite: look for values far from all others in the columns that cause missingness."
    )


def _off_policy_obstacle(name: str, case: Case) -> tuple[str, str] | None:
    """Off-policy evaluation needs the law of the recorded pattern, and every set of the policy."""
    pattern, own = case.fitted["pattern_propensity"], case.fitted[OFF_POLICY[name]]
    if np.isnan(pattern).all():
        return "not_identified", (
            "One missingness indicator causes another, and the graph or these records do not tell "
            "its law where a cause is missing, so that p(R=r|X_adj) is not known."
        )
    lost = (own > 0) & np.isnan(pattern)
    if lost.any():
        return "not_identified", (
            f"p(R=r|X_adj) cannot be evaluated on {int(lost.sum())} rows, where a cause of "
            "missingness is itself missing; leaving them out would bias the estimate."
        )
    if zero := int(((own > 0) & (pattern == 0)).sum()):
        return "no_support", _infinite(zero)
    return _unrecorded(name, case)


def _unrecorded(name: str, case: Case) -> tuple[str, str] | None:
    """What the policy does that no record shows: its sets, or their order in the sequence view.

    Exact for a policy that ignores values, whose probability of a recorded set is the same in
    every row. For another, the episodes on the full table; where there is none, E[w] = 1 if the
    records hold all that the policy does, and a gap counts beyond three standard errors.
    """
    own = case.fitted[OFF_POLICY[name]]
    in_sets = name == "off_policy_set"
    what = "end with a set of panels" if in_sets else "acquire panels in an order"
    recorded, first = np.unique(case.observed, axis=0, return_index=True)
    if not case.reads_values:
        gap = 1.0 - own[first].sum()
    elif case.full is not None and case.in_record_order is not None:
        held = {row.tobytes() for row in recorded}
        sets = np.ascontiguousarray(case.full[:, -case.observed.shape[1] :].astype(bool))
        shown = np.array([row.tobytes() in held for row in sets], dtype=bool)
        gap = 1.0 - (shown & (in_sets | (case.in_record_order == 1))).mean()
    else:
        return _light_weights(own, case.fitted["pattern_propensity"], what)
    if gap <= LEAST_MASS:
        return None
    return "no_support", (
        f"{gap:.0%} of the policy's run-time episodes {what} that no record holds"
        f"{' exactly' if in_sets else '; a record counts as acquired causes first'}."
    )


def _light_weights(own: np.ndarray, pattern: np.ndarray, what: str) -> tuple[str, str] | None:
    """The gap by the mean weight, where only the records themselves are known."""
    weight = np.divide(own, pattern, out=np.zeros(len(own)), where=own > 0)
    mean, error = weight.mean(), weight.std(ddof=1) / np.sqrt(len(weight))
    if 1.0 - mean <= max(LEAST_MASS, _SURE * error):
        return None
    return "no_support", (
        f"The weights average {mean:.2f} (standard error {error:.2f}) where 1 is expected: some "
        f"{1.0 - mean:.0%} of the policy's run-time episodes {what} that no record like them "
        "holds, or the propensities are misfitted."
    )


def _reason(known: Mapping[str, Any], words: str) -> str:
    """The stored reasons that speak of the matter, or all of them."""
    found = [reason for reason in known["reasons"] if words in reason]
    return " ".join(found or known["reasons"])
