"""Why an estimator cannot be computed for a case: it follows from the estimator's needs.

Each need has at most one sentence on its obstacle; values read row by row must also be known,
and no propensity zero, in every row that carries weight. Must not know an estimator by its name.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from frugal.core.schema_check import listed
from frugal.judge.estimator import Estimator, Need, Terms
from frugal.judge.intervals import standard_error
from frugal.studies.afape.evidence import DIVISORS, READ_BY_ROW, Among, PolicyEvidence

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
_FITTED = "'test' (or 'nuisance', where there is one)"
_NAMED = 3  # panels that a sentence lists
LEAST_MASS = 0.01  # sets of panels with less mass are not missed
_SURE = 3.0  # standard errors by which an estimated difference must exceed zero


def obstacle(estimator: Estimator, evidence: PolicyEvidence) -> Obstacle | None:
    """Why an estimator cannot be computed: (status, sentence); None if it can.

    Statuses: `not_available` (the study lacks its inputs), `not_identified` (no data of
    this kind identify it), `no_support` (these records lack its inputs).
    """
    for need in Need:
        if need in estimator.needs and need in _LACKING:
            why = _LACKING[need](evidence)
            if why is not None:
                return why
    return _unusable(estimator, evidence)


def _no_truth(evidence: PolicyEvidence) -> Obstacle | None:
    if evidence.head.full is not None:
        return None
    if evidence.head.answers_rows and _no_true_law(evidence) is None:
        return _lacking_states("where nothing is missing")
    return "not_available", "The missingness is the data set's own, so the truth is unknown."


def _lacking_states(where: str) -> Obstacle:
    return "not_available", f"The policy is a table that lacks states which it comes to {where}."


def _no_copies(method: str, evidence: PolicyEvidence) -> Obstacle | None:
    if method in evidence.head.imputed:
        return None
    if evidence.head.answers_rows:
        return "not_available", (
            "The policy is a table of states of the records, without an answer to values that are "
            "filled in."
        )
    return "not_available", "The config leaves this imputation out."


def _no_true_law(evidence: PolicyEvidence) -> Obstacle | None:
    if not evidence.nan["complete_probability"]:
        return None
    return "not_available", "The missingness is the data set's own, so its law is unknown."


def _no_fitted_law(evidence: PolicyEvidence) -> Obstacle | None:
    if not evidence.identification["propensity_identified"]:
        return "not_identified", _reason(evidence.identification, "not identified")
    if evidence.never_fitted.any():
        assert evidence.every is not None, "bug: evidence of no row"
        return "no_support", _not_known(Need.PROPENSITY, evidence.every, evidence)
    return None


def _rows_left_out(evidence: PolicyEvidence) -> Obstacle | None:
    identification = evidence.identification
    if not identification["afais_identified"]:
        return "not_identified", _reason(identification, "smaller set")
    if identification["s"]:
        return "not_available", (
            f"The config asks for s = {listed(identification['s'])}, and the AFA propensity is "
            "fitted for that s; AFAIS with s = ∅ would be identified."
        )
    return None


def _no_law_of_patterns(evidence: PolicyEvidence) -> Obstacle | None:
    if evidence.nan["afa_propensity_policy"] < evidence.rows:
        return None
    if evidence.head.lacks:
        return "not_available", f"{evidence.head.lacks}."
    return "not_available", (
        "One missingness indicator causes another, and the graph or these records do not tell "
        "its law where a cause is missing, from which the policy's AFA propensity follows."
    )


def _no_true_afa_law(evidence: PolicyEvidence) -> Obstacle | None:
    if evidence.head.answers_rows and evidence.nan["true_afa_propensity"] == evidence.rows:
        return _lacking_states("by the way to its sets, had other panels been missing")
    return None


def _no_factors_of_s(evidence: PolicyEvidence) -> Obstacle | None:
    if not evidence.s_unknown:
        return None
    return "not_identified", "p(R_s=1|X_adj) does not factorise along the graph for this s."


def _unusable(estimator: Estimator, evidence: PolicyEvidence) -> Obstacle | None:
    """A fitted value that is not known, or a propensity of zero, on a row that carries weight."""
    read = [need for need in READ_BY_ROW if need in estimator.needs]
    complete = Need.COMPLETE_CASES in estimator.needs
    for need in [need for need in Need if need in read]:
        if (lost := evidence.lost[need, complete]).count:
            return "no_support", _not_known(need, lost, evidence)
    zero = evidence.zero[frozenset(DIVISORS.intersection(read)), complete]
    return ("no_support", _infinite(zero, evidence)) if zero.count else None


def _not_known(need: Need, lost: Among, evidence: PolicyEvidence) -> str:
    """The sentence about values that are no numbers: how many, of which panels, and the remedy."""
    begin = (
        f"{_WORDS[need]} is not known in {lost.count} of the {lost.out_of} rows that would carry "
        "weight"
    )
    if lost.unfitted.any():
        laws = {factor["panel"]: factor["columns"] for factor in evidence.identification["factors"]}
        panel = evidence.head.panels[int(lost.unfitted.argmax())]
        causes = listed(laws.get(panel, ())) or "no column"
        return (
            f"{begin}: the law of {_listed_panels(lost.unfitted, evidence)} is not known there "
            f"(columns that cause {panel!r}: {causes}), since some fold leaves no record to learn "
            f"it from. Give part {_FITTED} more rows under 'split' in the data set's YAML, or name "
            "fewer causes in the config."
        )
    if need is Need.OUTCOME_MEAN or not lost.lacking.any():
        return (
            f"{begin}: some fold leaves no complete record to learn it from. Give part {_FITTED} "
            "more rows under 'split' in the data set's YAML."
        )
    return (
        f"{begin}, in which {_listed_panels(lost.lacking, evidence)} can be missing: by the fitted "
        f"law such records cannot occur. Give part {_FITTED} more rows under 'split' in the data "
        "set's YAML, or put columns that are rarely missing into one panel with those missing with "
        "it."
    )


def _listed_panels(chosen: np.ndarray, evidence: PolicyEvidence) -> str:
    names = [
        repr(name)
        for name, is_chosen in zip(evidence.head.panels, chosen, strict=True)
        if is_chosen
    ]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"panel{'s' if len(names) > 1 else ''} {listed(names[:_NAMED])}{more}"


def _infinite(zero: Among, evidence: PolicyEvidence) -> str:
    """The sentence about weights that would be infinite: how many rows, of which panels."""
    laws = zero.impossible
    where = f" (by the law of {_listed_panels(laws, evidence)})" if laws.any() else ""
    return (
        f"The propensity is 0 in {zero.count} of the rows that would carry weight{where}, so "
        "that their weight is infinite: look for values far from all others in the columns that "
        "cause missingness."
    )


def _no_recorded_action(need: Need, evidence: PolicyEvidence) -> Obstacle | None:
    """Off-policy evaluation needs the law of the recorded pattern, and every set of the policy."""
    recorded = evidence.recorded[need]
    if evidence.head.answers_rows and recorded.unknown == evidence.rows:
        return _lacking_states("on its way to the recorded sets")
    if recorded.unknown:
        return "not_available", (
            f"The policy may pass through so many sets of the {len(evidence.head.panels)} panels "
            f"that its probability of the recorded set is not computed in {recorded.unknown} rows; "
            "put columns that are measured together into one panel."
        )
    if evidence.nan["pattern_propensity"] == evidence.rows:
        return "not_identified", (
            "One missingness indicator causes another, and the graph or these records do not tell "
            "its law where a cause is missing, so that p(R=r|X_adj) is not known."
        )
    if recorded.lost:
        return "not_identified", (
            f"p(R=r|X_adj) cannot be evaluated on {recorded.lost} rows, where a cause of "
            "missingness is itself missing; leaving them out would bias the estimate."
        )
    if recorded.zero.count:
        return "no_support", _infinite(recorded.zero, evidence)
    return _unrecorded(need, evidence)


def _unrecorded(need: Need, evidence: PolicyEvidence) -> Obstacle | None:
    """Behaviour of the policy without support in the records: its sets, or their order.

    Exact for a policy that ignores values, whose probability of a recorded set is the same in
    every row. For another, the episodes on the full table; where there is none, E[w] = 1 if the
    records hold all that the policy does, and a gap counts beyond three standard errors.
    """
    in_sets = need is Need.SET_PROBABILITY
    event = "end with a set of panels" if in_sets else "acquire panels in an order"
    if not evidence.head.reads_values:
        first = evidence.recorded[need].first
        ordered = sorted(first, key=lambda name: tuple(evidence.sets[name].tolist()))
        missing_mass = 1.0 - np.array([first[name] for name in ordered]).sum()
    elif evidence.head.full is not None and evidence.head.in_record_order is not None:
        shown = [
            rows if in_sets else in_order
            for name, (_, rows, in_order) in evidence.full_sets.items()
            if name in evidence.sets
        ]
        missing_mass = 1.0 - sum(shown) / evidence.rows
    else:
        return _light_weights(need, evidence, event)
    if missing_mass <= LEAST_MASS:
        return None
    return "no_support", (
        f"{missing_mass:.0%} of the policy's run-time episodes {event} that no record holds"
        f"{' exactly' if in_sets else '; a record counts as acquired causes first'}."
    )


def _light_weights(need: Need, evidence: PolicyEvidence, event: str) -> Obstacle | None:
    """The gap by the mean weight, where only the records themselves are known."""
    recorded = evidence.recorded[need]
    error = recorded.weight.standard_error[0]
    if recorded.clusters is not None:
        weight, rows = recorded.clusters.T
        error = standard_error(Terms(weight[:, None], rows, rows))[0]
    mean = recorded.weight.numerator[0] / evidence.rows
    if 1.0 - mean <= max(LEAST_MASS, _SURE * float(error)):
        return None
    return "no_support", (
        f"The weights average {mean:.2f} (standard error {error:.2f}) where 1 is expected: some "
        f"{1.0 - mean:.0%} of the policy's run-time episodes {event} that no record like them "
        "holds, or the propensities are misfitted."
    )


def _reason(identification: Mapping[str, Any], words: str) -> str:
    """The stored reasons that speak of the matter, or all of them."""
    matching = [reason for reason in identification["reasons"] if words in reason]
    return " ".join(matching or identification["reasons"])


_LACKING: Mapping[Need, Callable[[PolicyEvidence], Obstacle | None]] = {
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
