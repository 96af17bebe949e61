"""Why an estimator cannot be computed for a case: it follows from what the estimator needs.

Each need has at most one sentence on what lacks; what is read row by row must besides be known, and
no propensity zero, in every row that carries weight. Must not know an estimator by its name.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from frugal.core.state_codes import distinct_sets
from frugal.core.terms import Terms
from frugal.judge.case import Case, acquired_sets
from frugal.judge.estimator import Estimator, Need
from frugal.judge.intervals import standard_error, together

Obstacle = tuple[str, str]

_WORDS = {
    Need.PROPENSITY: "The propensity p(R=1|X_adj)",
    Need.TRUE_PROPENSITY: "The true propensity",
    Need.S_PROPENSITY: "p(R_s=1|X_adj)",
    Need.AFA_PROPENSITY: "The AFA propensity p(R=1|X_adj,R̂,R_s=1)",
    Need.AFA_PROPENSITY_BY_POLICY: "The AFA propensity by the policy",
    Need.TRUE_AFA_PROPENSITY: "The true AFA propensity",
    Need.OUTCOME_MEAN: "The mean cost given X_adj",
}  # what is read row by row
_DIVISORS = {Need.PROPENSITY, Need.TRUE_PROPENSITY, Need.S_PROPENSITY}
_BESIDE = {Need.S_PROPENSITY, Need.OUTCOME_MEAN}  # read where R_s = 1, whatever rows have weight
_FITTED = "'test' (or 'nuisance', where there is one)"
_NAMED = 3  # panels that a sentence lists
LEAST_MASS = 0.01  # sets of panels with less mass are not missed
_SURE = 3.0  # standard errors by which an estimated gap must exceed zero


def obstacle(estimator: Estimator, case: Case) -> Obstacle | None:
    """Why an estimator cannot be computed for a case: (status, sentence); None if it can.

    Statuses: `not_available` (the study did not make what it needs), `not_identified` (no data of
    this kind could tell), `no_support` (these records happen not to hold what it needs).
    """
    for need in Need:
        if need in estimator.needs and need in _LACKING:
            why = _LACKING[need](case)
            if why is not None:
                return why
    return _unusable(estimator, case)


def _no_truth(case: Case) -> Obstacle | None:
    if case.full is not None:
        return None
    if case.answers_rows and _no_true_law(case) is None:
        return _lacking_states("where nothing is missing")
    return "not_available", "The missingness is the data set's own, so the truth is unknown."


def _lacking_states(where: str) -> Obstacle:
    return "not_available", f"The policy is a table that lacks states which it comes to {where}."


def _no_copies(method: str, case: Case) -> Obstacle | None:
    if method in case.imputed:
        return None
    if case.answers_rows:
        return "not_available", (
            "The policy is a table of states of the records, without an answer to values that are "
            "filled in."
        )
    return "not_available", "The config leaves this imputation out."


def _no_true_law(case: Case) -> Obstacle | None:
    if not np.isnan(case.fitted["complete_probability"]).any():
        return None
    return "not_available", "The missingness is the data set's own, so its law is unknown."


def _no_fitted_law(case: Case) -> Obstacle | None:
    if not case.identification["propensity_identified"]:
        return "not_identified", _reason(case.identification, "not identified")
    if np.isnan(case.factors).all(axis=0).any():
        every = np.ones(len(case.complete), dtype=bool)
        return "no_support", _not_known(Need.PROPENSITY, every, every, case)
    return None


def _rows_left_out(case: Case) -> Obstacle | None:
    known = case.identification
    if not known["afais_identified"]:
        return "not_identified", _reason(known, "smaller set")
    if known["s"]:
        return "not_available", (
            f"The config asks for s = {', '.join(known['s'])}, and the AFA propensity is fitted "
            "for that s; AFAIS with s = ∅ would be identified."
        )
    return None


def _no_law_of_patterns(case: Case) -> Obstacle | None:
    if not np.isnan(case.fitted["afa_propensity_policy"]).all():
        return None
    if case.lacks:
        return "not_available", f"{case.lacks}."
    return "not_available", (
        "One missingness indicator causes another, and the graph or these records do not tell "
        "its law where a cause is missing, from which the policy's AFA propensity follows."
    )


def _no_true_afa_law(case: Case) -> Obstacle | None:
    if case.answers_rows and np.isnan(case.fitted["true_afa_propensity"]).all():
        return _lacking_states("by the way to its sets, had other panels been missing")
    return None


def _no_factors_of_s(case: Case) -> Obstacle | None:
    if not np.isnan(case.fitted["s_propensity"][case.s_observed]).any():
        return None
    return "not_identified", "p(R_s=1|X_adj) does not factorise along the graph for this s."


def _unusable(estimator: Estimator, case: Case) -> Obstacle | None:
    """A fitted value that is not known, or a propensity of zero, on a row that carries weight."""
    read = [need for need in Need if need in estimator.needs and need in _WORDS]
    weighted = case.complete if Need.COMPLETE_CASES in estimator.needs else case.s_observed
    rows = {need: case.s_observed if need in _BESIDE else weighted for need in read}
    for need in read:
        if (lost := rows[need] & ~np.isfinite(_values(need, case))).any():
            return "no_support", _not_known(need, lost, rows[need], case)
    zero = np.zeros(len(case.complete), dtype=bool)
    for need in _DIVISORS.intersection(read):
        zero |= rows[need] & (_values(need, case) == 0)
    return ("no_support", _infinite(zero, case)) if zero.any() else None


def _values(need: Need, case: Case) -> np.ndarray:
    """What is read row by row, NaN where it is not known. (n,)"""
    if need is Need.OUTCOME_MEAN:
        return case.outcome_mean.sum(axis=1)
    return case.fitted[need.value]


def _not_known(need: Need, lost: np.ndarray, rows: np.ndarray, case: Case) -> str:
    """The sentence about values that are no numbers: how many, of which panels, what to do."""
    count, used = int(lost.sum()), int(rows.sum())
    begin = f"{_WORDS[need]} is not known in {count} of the {used} rows that would carry weight"
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
    if need is Need.OUTCOME_MEAN or not lacking.any():
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


def _no_recorded_action(need: Need, case: Case) -> Obstacle | None:
    """Off-policy evaluation needs the law of the recorded pattern, and every set of the policy."""
    pattern, own = case.fitted["pattern_propensity"], case.fitted[need.value]
    if case.answers_rows and np.isnan(own).all():
        return _lacking_states("on its way to the recorded sets")
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
    return _unrecorded(need, case)


def _unrecorded(need: Need, case: Case) -> Obstacle | None:
    """What the policy does that no record shows: its sets, or their order in the sequence view.

    Exact for a policy that ignores values, whose probability of a recorded set is the same in
    every row. For another, the episodes on the full table; where there is none, E[w] = 1 if the
    records hold all that the policy does, and a gap counts beyond three standard errors.
    """
    own = case.fitted[need.value]
    in_sets = need is Need.SET_PROBABILITY
    what = "end with a set of panels" if in_sets else "acquire panels in an order"
    recorded = distinct_sets(case.observed)
    if not case.reads_values:
        gap = 1.0 - own[recorded.first].sum()
    elif case.full is not None and case.in_record_order is not None:
        held = {row.tobytes() for row in recorded.sets}
        sets = np.ascontiguousarray(acquired_sets(case.full))
        shown = np.array([row.tobytes() in held for row in sets], dtype=bool)
        gap = 1.0 - (shown & (in_sets | (case.in_record_order == 1))).mean()
    else:
        return _light_weights(own, case, what)
    if gap <= LEAST_MASS:
        return None
    return "no_support", (
        f"{gap:.0%} of the policy's run-time episodes {what} that no record holds"
        f"{' exactly' if in_sets else '; a record counts as acquired causes first'}."
    )


def _light_weights(own: np.ndarray, case: Case, what: str) -> Obstacle | None:
    """The gap by the mean weight, where only the records themselves are known."""
    pattern, each = case.fitted["pattern_propensity"], np.ones(len(own))
    weight = np.divide(own, pattern, out=np.zeros(len(own)), where=own > 0)
    error = float(standard_error(together(Terms(weight[:, None], each, each), case.cluster))[0])
    mean = weight.mean()
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


_LACKING: Mapping[Need, Callable[[Case], Obstacle | None]] = {
    Need.FULL_TABLE: _no_truth,
    Need.IMPUTED_BY_CHAINED_TREES: partial(_no_copies, Need.IMPUTED_BY_CHAINED_TREES.value),
    Need.IMPUTED_BY_MISSFOREST: partial(_no_copies, Need.IMPUTED_BY_MISSFOREST.value),
    Need.IMPUTED: partial(_no_copies, Need.IMPUTED.value),
    Need.IMPUTED_WITH_LABEL: partial(_no_copies, Need.IMPUTED_WITH_LABEL.value),
    Need.TRUE_PROPENSITY: _no_true_law,
    Need.PROPENSITY: _no_fitted_law,
    Need.EVERY_ROW: _rows_left_out,
    Need.AFA_PROPENSITY_BY_POLICY: _no_law_of_patterns,
    Need.TRUE_AFA_PROPENSITY: _no_true_afa_law,
    Need.S_PROPENSITY: _no_factors_of_s,
    Need.PATTERN_PROPENSITY: _no_fitted_law,
    Need.SET_PROBABILITY: partial(_no_recorded_action, Need.SET_PROBABILITY),
    Need.SEQUENCE_PROBABILITY: partial(_no_recorded_action, Need.SEQUENCE_PROBABILITY),
}
