"""Every estimator, declared: the rows of the study's tables, in this order.

To add one: its formula in `frugal.judge.formulas`, an `Estimator` here, and a `Need` with its
obstacle if it reads what no other does. Must not know how a nuisance was fitted.
"""

from collections.abc import Callable, Mapping

from frugal.core.terms import Terms
from frugal.judge.case import Case
from frugal.judge.estimator import Estimator, Need
from frugal.judge.formulas.afais import afais, afais_s, stabilised_afais, stabilised_afais_s
from frugal.judge.formulas.doubly_robust import doubly_robust, doubly_robust_afais
from frugal.judge.formulas.inverse_probability import ipw, stabilised_ipw
from frugal.judge.formulas.off_policy import stabilised_off_policy
from frugal.judge.formulas.unweighted import blocking, complete_case, ground_truth, imputation


def _on_full_table(case: Case) -> Terms:
    assert case.full is not None
    return ground_truth(case.full)


def _mean_over_draws(need: Need) -> Callable[[Case], Terms]:
    return lambda case: imputation(case.imputed[need.value].mean(axis=0))


def _complete_cases(formula: Callable[..., Terms], propensity: Need) -> Callable[[Case], Terms]:
    return lambda case: formula(case.blocked, case.complete, case.fitted[propensity.value])


def _every_row(formula: Callable[..., Terms]) -> Callable[[Case], Terms]:
    return lambda case: formula(
        case.blocked, case.fitted["propensity"], case.fitted["afa_propensity"]
    )


def _rows_with_s(
    formula: Callable[..., Terms], propensity: Need, afa_propensity: Need
) -> Callable[[Case], Terms]:
    return lambda case: formula(
        case.blocked,
        case.s_observed,
        case.fitted[propensity.value],
        case.fitted[afa_propensity.value],
    )


def _recorded_sets(probability: Need) -> Callable[[Case], Terms]:
    return lambda case: stabilised_off_policy(
        case.recorded, case.fitted[probability.value], case.fitted["pattern_propensity"]
    )


_DECLARED = (
    Estimator(
        name="ground_truth",
        label="ground truth",
        needs=(Need.FULL_TABLE,),
        terms=_on_full_table,
        doc="The mean on the full table: the estimand, known where the masks were drawn.",
        equation="[afape, eq. 1]",
    ),
    Estimator(
        name="blocking",
        label="blocking",
        needs=(),
        terms=lambda case: blocking(case.blocked),
        doc="The mean on the records, where acquisitions of missing panels are refused.",
        equation="[afape, sec. A.9]",
    ),
    Estimator(
        name="complete_case",
        label="complete case",
        needs=(Need.COMPLETE_CASES,),
        terms=lambda case: complete_case(case.blocked, case.complete),
        doc="The mean over the rows in which nothing is missing.",
        equation="[afape, sec. 4.1]",
    ),
    Estimator(
        name="imputation_chained_trees",
        label="imputation (chained trees)",
        needs=(Need.IMPUTED_BY_CHAINED_TREES,),
        terms=_mean_over_draws(Need.IMPUTED_BY_CHAINED_TREES),
        doc="The mean on the records, filled in by chained boosted trees.",
        equation="[afape, eq. A.2]",
    ),
    Estimator(
        name="imputation_missforest",
        label="imputation (MissForest)",
        needs=(Need.IMPUTED_BY_MISSFOREST,),
        terms=_mean_over_draws(Need.IMPUTED_BY_MISSFOREST),
        doc="The mean on the records, filled in by MissForest.",
        equation="[afape, eq. A.2]",
    ),
    Estimator(
        name="multiple_imputation",
        label="multiple imputation",
        needs=(Need.IMPUTED,),
        terms=_mean_over_draws(Need.IMPUTED),
        doc="The mean over several copies of the records, filled in by draws.",
        equation="[afape, eq. A.2]",
    ),
    Estimator(
        name="multiple_imputation_label",
        label="multiple imputation + label",
        needs=(Need.IMPUTED_WITH_LABEL,),
        terms=_mean_over_draws(Need.IMPUTED_WITH_LABEL),
        doc="The same, where the draws are also given the label.",
        equation="[afape, eq. A.2]",
    ),
    Estimator(
        name="ipw",
        label="IPW",
        needs=(Need.COMPLETE_CASES, Need.PROPENSITY),
        terms=_complete_cases(ipw, Need.PROPENSITY),
        doc="Complete cases, weighted by the inverse of their fitted probability to be complete.",
        equation="[afape, eq. 3]",
    ),
    Estimator(
        name="stabilised_ipw",
        label="stabilised IPW",
        needs=(Need.COMPLETE_CASES, Need.PROPENSITY),
        terms=_complete_cases(stabilised_ipw, Need.PROPENSITY),
        doc="The same, divided by the sum of the weights.",
        equation="[afape, eq. 3]",
    ),
    Estimator(
        name="stabilised_ipw_true",
        label="stabilised IPW, true p",
        needs=(Need.COMPLETE_CASES, Need.TRUE_PROPENSITY),
        terms=_complete_cases(stabilised_ipw, Need.TRUE_PROPENSITY),
        doc="The same with the probability that the masks were drawn from.",
        equation="[afape, eq. 3]",
    ),
    Estimator(
        name="afais",
        label="AFAIS",
        needs=(Need.EVERY_ROW, Need.PROPENSITY, Need.AFA_PROPENSITY),
        terms=_every_row(afais),
        doc="Importance sampling that reuses incomplete records: all of them.",
        equation="[afape, eq. 4]",
    ),
    Estimator(
        name="stabilised_afais",
        label="stabilised AFAIS",
        needs=(Need.EVERY_ROW, Need.PROPENSITY, Need.AFA_PROPENSITY),
        terms=_every_row(stabilised_afais),
        doc="The same, divided by the sum of the weights.",
        equation="[afape, eq. 4]",
    ),
    Estimator(
        name="afais_s",
        label="AFAIS(s)",
        needs=(Need.PROPENSITY, Need.AFA_PROPENSITY),
        terms=_rows_with_s(afais_s, Need.PROPENSITY, Need.AFA_PROPENSITY),
        doc="Importance sampling that reuses the records in which the panels of s are recorded.",
        equation="[afape, eq. A.9]",
    ),
    Estimator(
        name="stabilised_afais_s",
        label="stabilised AFAIS(s)",
        needs=(Need.PROPENSITY, Need.AFA_PROPENSITY),
        terms=_rows_with_s(stabilised_afais_s, Need.PROPENSITY, Need.AFA_PROPENSITY),
        doc="The same, divided by the sum of the weights.",
        equation="[afape, eq. A.9]",
    ),
    Estimator(
        name="stabilised_afais_s_policy",
        label="stabilised AFAIS(s), policy known",
        needs=(Need.PROPENSITY, Need.AFA_PROPENSITY_BY_POLICY),
        terms=_rows_with_s(stabilised_afais_s, Need.PROPENSITY, Need.AFA_PROPENSITY_BY_POLICY),
        doc="The same; what the policy did follows from the policy, where it was a regression.",
        equation="[afape, eq. A.9]",
    ),
    Estimator(
        name="stabilised_afais_s_true",
        label="stabilised AFAIS(s), true p",
        needs=(Need.TRUE_PROPENSITY, Need.TRUE_AFA_PROPENSITY),
        terms=_rows_with_s(stabilised_afais_s, Need.TRUE_PROPENSITY, Need.TRUE_AFA_PROPENSITY),
        doc="The same with the probabilities that the masks were drawn from.",
        equation="[afape, eq. A.9]",
    ),
    Estimator(
        name="off_policy_set",
        label="off-policy, set",
        needs=(Need.PATTERN_PROPENSITY, Need.SET_PROBABILITY),
        terms=_recorded_sets(Need.SET_PROBABILITY),
        doc="Records whose set of panels the policy could have acquired, weighted by how likely.",
        equation="[afape, eq. A.13]",
    ),
    Estimator(
        name="off_policy_sequence",
        label="off-policy, sequence",
        needs=(Need.PATTERN_PROPENSITY, Need.SEQUENCE_PROBABILITY),
        terms=_recorded_sets(Need.SEQUENCE_PROBABILITY),
        doc="The same for the order of the panels in the records.",
        equation="[afape, eq. A.13]",
    ),
    Estimator(
        name="doubly_robust",
        label="doubly robust",
        needs=(Need.COMPLETE_CASES, Need.PROPENSITY, Need.S_PROPENSITY, Need.OUTCOME_MEAN),
        terms=lambda case: doubly_robust(
            case.blocked_costs,
            case.complete,
            case.fitted["propensity"],
            case.outcome_mean,
            case.s_observed,
            case.fitted["s_propensity"],
        ),
        doc="A fitted mean cost, corrected by the weighted residuals of complete cases.",
        equation="[afape, eq. 3]",
    ),
    Estimator(
        name="doubly_robust_afais",
        label="doubly robust AFAIS",
        needs=(
            Need.PROPENSITY,
            Need.AFA_PROPENSITY_BY_POLICY,
            Need.S_PROPENSITY,
            Need.OUTCOME_MEAN,
        ),
        terms=lambda case: doubly_robust_afais(
            case.blocked_costs,
            case.fitted["propensity"],
            case.fitted["afa_propensity_policy"],
            case.outcome_mean,
            case.s_observed,
            case.fitted["s_propensity"],
        ),
        doc="A fitted mean cost, corrected by residuals weighted as in AFAIS(s), policy known.",
        equation="[afape, eq. A.9]",
    ),
)

ESTIMATORS: Mapping[str, Estimator] = {estimator.name: estimator for estimator in _DECLARED}
