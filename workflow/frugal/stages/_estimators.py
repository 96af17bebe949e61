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
        recorded: outcomes at the records' own sets. (n, o)
        imputed: method → outcomes on each imputed copy. (draws, n, o)
        observed: R. (n, a)
        s_observed: R_s = 1. (n,)
        fitted: nuisances by column name, NaN where not evaluable. (n,) each
        outcome_mean: fitted E[outcome | X_adj, R=1] of the first three outcomes. (n, 3)
        identification: as `draw_missingness` stored it.
    """

    blocked: np.ndarray
    full: np.ndarray | None
    recorded: np.ndarray
    imputed: Mapping[str, np.ndarray]
    observed: np.ndarray
    s_observed: np.ndarray
    fitted: Mapping[str, np.ndarray]
    outcome_mean: np.ndarray
    identification: Mapping[str, Any]

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
LEAST_MASS = 0.01  # sets of panels with less mass are not missed


def obstacle(name: str, case: Case) -> tuple[str, str] | None:
    """Why an estimator cannot be computed for a case: (status, sentence); None if it can.

    Statuses: `not_available` (the study did not make what it needs), `not_identified` (no data of
    this kind could tell), `no_support` (these records happen not to hold what it needs).
    """
    if name in UNWEIGHTED or name.endswith("_true"):
        return _not_made(name, case)
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
            "One missingness indicator causes another, so that the fitted factors give no law of "
            "patterns from which the policy's AFA propensity follows."
        )
    unknown_s = np.isnan(case.fitted["s_propensity"][case.s_observed]).any()
    if name.startswith("doubly_robust") and unknown_s:
        return "not_identified", "p(R_s=1|X_adj) does not factorise along the graph for this s."
    return _off_policy_obstacle(case, OFF_POLICY[name]) if name in OFF_POLICY else None


def _not_made(name: str, case: Case) -> tuple[str, str] | None:
    """Obstacles of estimators that fit nothing."""
    if name == "ground_truth" and case.full is None:
        return "not_available", "The missingness is the data set's own, so the truth is unknown."
    if name in IMPUTED and IMPUTED[name] not in case.imputed:
        return "not_available", "The config leaves this imputation out."
    if name.endswith("_true") and np.isnan(case.fitted["complete_probability"]).any():
        return "not_available", "The missingness is the data set's own, so its law is unknown."
    return None


def _off_policy_obstacle(case: Case, probability: str) -> tuple[str, str] | None:
    """Off-policy evaluation needs the law of the recorded pattern, and every set of the policy."""
    pattern = case.fitted["pattern_propensity"]
    if np.isnan(pattern).all():
        return "not_identified", (
            "One missingness indicator causes another, so that p(R=r|X_adj) is no product of the "
            "factors."
        )
    lost = (case.fitted[probability] > 0) & np.isnan(pattern)
    if lost.any():
        return "not_identified", (
            f"p(R=r|X_adj) cannot be evaluated on {int(lost.sum())} rows, where a cause of "
            "missingness is itself missing; leaving them out would bias the estimate."
        )
    if case.full is not None:
        recorded = {row.tobytes() for row in np.unique(case.observed, axis=0)}
        sets = np.ascontiguousarray(case.full[:, -case.observed.shape[1] :].astype(bool))
        gap = np.mean([row.tobytes() not in recorded for row in sets])
    else:  # E[w] = 1 if every set of the policy occurs in the records
        used = case.fitted[probability] > 0
        gap = 1.0 - (case.fitted[probability][used] / pattern[used]).sum() / len(pattern)
    if gap > LEAST_MASS:
        return "no_support", (
            f"About {gap:.0%} of the policy's run-time episodes end with a set of panels that no "
            "record holds exactly."
        )
    return None


def _reason(known: Mapping[str, Any], words: str) -> str:
    """The stored reasons that speak of the matter, or all of them."""
    found = [reason for reason in known["reasons"] if words in reason]
    return " ".join(found or known["reasons"])
