"""Which estimator takes which stored arrays, and when it cannot be computed at all.

Adding an estimator: write it in `frugal.estimators`, add a line to `ESTIMATORS` and, if it needs
something that can be lacking, a line to `_OBSTACLES`.
"""

from collections.abc import Callable, Mapping, Sequence
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
        panels: names of the panels, in the order of the columns of R.
        factors: fitted p(R_j = 1 | its causes) of each panel, 1 if it is never missing. (n, a)
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
    panels: Sequence[str]
    factors: np.ndarray
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
    "off_policy_set": _off_policy(off_policy.stabilised_off_policy, "set_probability"),
    "off_policy_sequence": _off_policy(off_policy.stabilised_off_policy, "sequence_probability"),
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
_AFA = {
    **dict.fromkeys(AS_IN_PAPER, "afa_propensity"),
    **dict.fromkeys(_BY_POLICY, "afa_propensity_policy"),
    "stabilised_afais_s_true": "true_afa_propensity",
}  # the AFA propensity that an estimator reads
_WORDS = {
    "propensity": "The propensity p(R=1|X_adj)",
    "complete_probability": "The true propensity",
    "s_propensity": "p(R_s=1|X_adj)",
    "afa_propensity": "The AFA propensity p(R=1|X_adj,R̂,R_s=1)",
    "afa_propensity_policy": "The AFA propensity by the policy",
    "true_afa_propensity": "The true AFA propensity",
    "outcome_mean": "The mean cost given X_adj",
}
_FITTED = "'test' (or 'nuisance', where there is one)"
_NAMED = 3  # panels that a sentence lists
LEAST_MASS = 0.01  # sets of panels with less mass are not missed
_SURE = 3.0  # standard errors by which an estimated gap must exceed zero


def obstacle(name: str, case: Case) -> tuple[str, str] | None:
    """Why an estimator cannot be computed for a case: (status, sentence); None if it can.

    Statuses: `not_available` (the study did not make what it needs), `not_identified` (no data of
    this kind could tell), `no_support` (these records happen not to hold what it needs).
    """
    if name in UNWEIGHTED or name.endswith("_true"):
        return _not_made(name, case) or _unusable(name, case)
    known = case.identification
    if not known["propensity_identified"]:
        return "not_identified", _reason(known, "not identified")
    if np.isnan(case.factors).all(axis=0).any():
        every = np.ones(len(case.complete), dtype=bool)
        return "no_support", _not_known("propensity", every, every, case)
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
    return _off_policy_obstacle(name, case) if name in OFF_POLICY else _unusable(name, case)


def _not_made(name: str, case: Case) -> tuple[str, str] | None:
    """Obstacles of estimators that fit nothing."""
    if name == "ground_truth" and case.full is None:
        return "not_available", "The missingness is the data set's own, so the truth is unknown."
    if name in IMPUTED and IMPUTED[name] not in case.imputed:
        return "not_available", "The config leaves this imputation out."
    if name.endswith("_true") and np.isnan(case.fitted["complete_probability"]).any():
        return "not_available", "The missingness is the data set's own, so its law is unknown."
    return None


def _unusable(name: str, case: Case) -> tuple[str, str] | None:
    """A fitted value that is not known, or a propensity of zero, on a row that carries weight."""
    if name in UNWEIGHTED:
        return None
    for what, (value, rows) in _read(name, case).items():
        if (lost := rows & ~np.isfinite(value)).any():
            return "no_support", _not_known(what, lost, rows, case)
    divisors = {"propensity", "complete_probability", "s_propensity"}
    zero = np.zeros(len(case.complete), dtype=bool)
    for what, (value, rows) in _read(name, case).items():
        zero |= rows & (value == 0) if what in divisors else False
    return ("no_support", _infinite(zero, case)) if zero.any() else None


def _read(name: str, case: Case) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """What a weighted estimator reads: its values, NaN if one is not known, and the rows. (n,)"""
    on = case.complete if name in _ON_COMPLETE_ROWS else case.s_observed
    columns = {"complete_probability" if name.endswith("_true") else "propensity": on}
    if name in _AFA:
        columns[_AFA[name]] = on
    found = {what: (case.fitted[what], rows) for what, rows in columns.items()}
    if name.startswith("doubly_robust"):
        found["s_propensity"] = case.fitted["s_propensity"], case.s_observed
        found["outcome_mean"] = case.outcome_mean.sum(axis=1), case.s_observed
    return found


def _not_known(what: str, lost: np.ndarray, rows: np.ndarray, case: Case) -> str:
    """The sentence about values that are no numbers: how many, of which panels, what to do."""
    count, used = int(lost.sum()), int(rows.sum())
    begin = f"{_WORDS[what]} is not known in {count} of the {used} rows that would carry weight"
    unfitted = np.asarray(np.isnan(case.factors[lost]).any(axis=0))
    if unfitted.any():
        laws = {law["panel"]: law["columns"] for law in case.identification["factors"]}
        panel = case.panels[int(unfitted.argmax())]
        causes = ", ".join(laws.get(panel, ())) or "no column"
        return (
            f"{begin}: the law of {_listed_panels(unfitted, case)} is not known there (columns "
            f"that cause {panel!r}: {causes}), since some fold leaves no record to learn it from. "
            f"Give part {_FITTED} more rows under 'split' in the data set's YAML, or name fewer "
            "causes in the config."
        )
    lacking = np.asarray(~case.observed[lost].all(axis=0))
    if what == "outcome_mean" or not lacking.any():
        return (
            f"{begin}: some fold leaves no complete record to learn it from. Give part {_FITTED} "
            "more rows under 'split' in the data set's YAML."
        )
    return (
        f"{begin}, in which {_listed_panels(lacking, case)} can be missing: by the fitted law such "
        f"records cannot occur. Give part {_FITTED} more rows under 'split' in the data set's "
        "YAML, or put what is hardly ever missing into one panel with what is missing with it."
    )


def _listed_panels(chosen: np.ndarray, case: Case) -> str:
    names = [repr(name) for name, one in zip(case.panels, chosen, strict=True) if one]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"panel{'s' if len(names) > 1 else ''} {', '.join(names[:_NAMED])}{more}"


def _infinite(zero: np.ndarray, case: Case) -> str:
    """The sentence about weights that would be infinite: how many rows, of which panels."""
    laws = np.asarray((case.factors[zero] == 0).any(axis=0))
    where = f" (by the law of {_listed_panels(laws, case)})" if laws.any() else ""
    return (
        f"The propensity is 0 in {int(zero.sum())} of the rows that would carry weight{where}, so "
        "that their weight is infinite: look for values far from all others in the columns that "
        "cause missingness."
    )


def _off_policy_obstacle(name: str, case: Case) -> tuple[str, str] | None:
    """Off-policy evaluation needs the law of the recorded pattern, and every set of the policy."""
    pattern, own = case.fitted["pattern_propensity"], case.fitted[OFF_POLICY[name]]
    if too_wide := int(np.isnan(own).sum()):
        return "not_available", (
            f"The policy may pass through so many sets of the {len(case.panels)} panels that its "
            f"probability of the recorded set is not computed in {too_wide} rows; put columns "
            "that are measured together into one panel."
        )
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
    if (zero := (own > 0) & (pattern == 0)).any():
        return "no_support", _infinite(zero, case)
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
