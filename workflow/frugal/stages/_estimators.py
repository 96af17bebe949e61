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
        case.fitted["afa_propensity"],
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


def _afais_s(function: Callable[..., Terms], kind: str) -> Callable[[Case], Terms]:
    propensity = {"fitted": "propensity", "true": "complete_probability"}[kind]
    afa = {"fitted": "afa_propensity", "true": "true_afa_propensity"}[kind]
    return lambda case: function(
        case.blocked, case.s_observed, case.fitted[propensity], case.fitted[afa]
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
    "afais_s": _afais_s(afais.afais_s, "fitted"),
    "stabilised_afais_s": _afais_s(afais.stabilised_afais_s, "fitted"),
    "stabilised_afais_s_true": _afais_s(afais.stabilised_afais_s, "true"),
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
_NEEDS_PROPENSITY = {"ipw", "stabilised_ipw"}
_NEEDS_AFAIS = {"afais", "stabilised_afais"}
_NEEDS_S = {"afais_s", "stabilised_afais_s", "doubly_robust", "doubly_robust_afais"}
_OFF_POLICY = {"off_policy_set": "set_probability", "off_policy_sequence": "sequence_probability"}


def obstacle(name: str, case: Case) -> tuple[str, str] | None:
    """Why an estimator cannot be computed for a case: (status, sentence); None if it can.

    Statuses: `not_available` (the study did not make what it needs), `not_identified` (no data of
    this kind could tell), `no_support` is left to the weights themselves.
    """
    known = case.identification
    reasons = " ".join(known["reasons"])
    if name == "ground_truth" and case.full is None:
        return "not_available", "The missingness is the data set's own, so the truth is unknown."
    if name in IMPUTED and IMPUTED[name] not in case.imputed:
        return "not_available", "The config leaves this imputation out."
    if name.endswith("_true") and np.isnan(case.fitted["complete_probability"]).any():
        return "not_available", "The missingness is the data set's own, so its law is unknown."
    if name in _NEEDS_PROPENSITY | _NEEDS_AFAIS | _NEEDS_S and not known["propensity_identified"]:
        return "not_identified", reasons
    if name in _NEEDS_AFAIS and (not known["afais_identified"] or known["s"]):
        return "not_identified", reasons
    if (
        name.startswith("doubly_robust")
        and np.isnan(case.fitted["s_propensity"][case.s_observed]).any()
    ):
        return "not_identified", "p(R_s=1|X_adj) does not factorise along the graph for this s."
    if name in _OFF_POLICY:
        used = case.fitted[_OFF_POLICY[name]] > 0
        lost = used & np.isnan(case.fitted["pattern_propensity"])
        if lost.any():
            return "not_identified", (
                f"p(R=r|X_adj) cannot be evaluated on {int(lost.sum())} rows, where a cause of "
                "missingness is itself missing; leaving them out would bias the estimate."
            )
    return None
