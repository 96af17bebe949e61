"""Estimators without a weight: the truth, and the three comparisons that the paper shows to fail.

From [afape, sec. 3.2, sec. 4.1 and sec. A.9]. They differ in the world in which the
policy was rolled out, which the caller has done; this module sees outcomes only.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from frugal.judge.case import Case
from frugal.judge.estimator import Estimator, Need, Terms, weighted_terms


def ground_truth(outcome_full: Float[np.ndarray, "n o"]) -> Terms:
    """Mean outcome of the policy on fully observed rows; the estimand itself.

        Ĵ = (1/n) Σᵢ Cᵢ,   C from the world do(R = 1)      [afape, eq. 1]

    Args:
        outcome_full: outcomes of the rollout on the table without missingness. (n, o)

    Raises:
        DataError: an outcome is not finite.
    """
    return _plain_mean(outcome_full)


def blocking(outcome_blocked: Float[np.ndarray, "n o"]) -> Terms:
    """Mean outcome when the acquisition of a missing panel is refused and nothing is corrected.

        Ĵ_R = (1/n) Σᵢ Cᵢ,   C from the world with R as drawn      [afape, sec. A.9]

    Unbiased only if the same refusals will happen at run time.

    Args:
        outcome_blocked: outcomes of the rollout under the retrospective mask. (n, o)

    Raises:
        DataError: an outcome is not finite.
    """
    return _plain_mean(outcome_blocked)


def imputation(outcome_imputed: Float[np.ndarray, "n o"]) -> Terms:
    """Mean outcome of the policy on a table whose missing values were filled in.

        Ĵ_Imp = (1/n) Σᵢ h(x̃ᵢ, yᵢ),   x̃ the completed row      [afape, eq. A.2]

    For multiple imputation pass each completed table to this function and pool with
    `rubin.rubin`; the mean of the outcomes over draws gives the same estimate.

    Args:
        outcome_imputed: outcomes of the rollout on the completed table. (n, o)

    Raises:
        DataError: an outcome is not finite.
    """
    return _plain_mean(outcome_imputed)


def complete_case(
    outcome_blocked: Float[np.ndarray, "n o"], complete: Bool[np.ndarray, " n"]
) -> Terms:
    """Mean outcome over the rows in which nothing is missing.

        Ĵ_{R=1} = Σᵢ 1{Rᵢ = 1} Cᵢ / Σᵢ 1{Rᵢ = 1}      [afape, sec. 4.1]

    Unbiased only if the missingness is completely at random.

    Args:
        outcome_blocked: outcomes of the rollout under the mask; read on complete rows. (n, o)
        complete: every panel is observed. (n,)

    Raises:
        DataError: an outcome of a complete row is not finite.
    """
    return weighted_terms(outcome_blocked, complete.astype(np.float64), normalised=True)


def _plain_mean(outcome: Float[np.ndarray, "n o"]) -> Terms:
    return weighted_terms(outcome, np.ones(len(outcome)), normalised=False)


def _on_full_table(case: Case) -> Terms:
    assert case.full is not None
    return ground_truth(case.full)


def _mean_over_draws(need: Need) -> Callable[[Case], Terms]:
    return lambda case: imputation(case.imputed[need.value].mean(axis=0))


GROUND_TRUTH = Estimator(
    name="ground_truth",
    place=00,
    label="ground truth",
    look=("black", "o"),
    needs=(Need.FULL_TABLE,),
    terms=_on_full_table,
    doc="The mean on the full table: the estimand, known where the masks were drawn.",
    equation="[afape, eq. 1]",
)

BLOCKING = Estimator(
    name="blocking",
    place=10,
    label="blocking",
    look=("vermillion", "s"),
    needs=(),
    terms=lambda case: blocking(case.blocked),
    doc="The mean on the records, where acquisitions of missing panels are refused.",
    equation="[afape, sec. A.9]",
)

COMPLETE_CASE = Estimator(
    name="complete_case",
    place=20,
    label="complete case",
    look=("orange", "D"),
    needs=(Need.COMPLETE_CASES,),
    terms=lambda case: complete_case(case.blocked, case.complete),
    doc="The mean over the rows in which nothing is missing.",
    equation="[afape, sec. 4.1]",
)

IMPUTATION_CHAINED_TREES = Estimator(
    name="imputation_chained_trees",
    place=30,
    label="imputation (chained trees)",
    look=("purple", "8"),
    needs=(Need.IMPUTED_BY_CHAINED_TREES,),
    terms=_mean_over_draws(Need.IMPUTED_BY_CHAINED_TREES),
    doc="The mean on the records, filled in by chained boosted trees.",
    equation="[afape, eq. A.2]",
)

IMPUTATION_MISSFOREST = Estimator(
    name="imputation_missforest",
    place=40,
    label="imputation (MissForest)",
    look=("purple", "^"),
    needs=(Need.IMPUTED_BY_MISSFOREST,),
    terms=_mean_over_draws(Need.IMPUTED_BY_MISSFOREST),
    doc="The mean on the records, filled in by MissForest.",
    equation="[afape, eq. A.2]",
)

MULTIPLE_IMPUTATION = Estimator(
    name="multiple_imputation",
    place=50,
    label="multiple imputation",
    look=("purple", "v"),
    needs=(Need.IMPUTED,),
    terms=_mean_over_draws(Need.IMPUTED),
    doc="The mean over several copies of the records, filled in by draws.",
    equation="[afape, eq. A.2]",
)

MULTIPLE_IMPUTATION_LABEL = Estimator(
    name="multiple_imputation_label",
    place=60,
    label="multiple imputation + label",
    look=("purple", "<"),
    needs=(Need.IMPUTED_WITH_LABEL,),
    terms=_mean_over_draws(Need.IMPUTED_WITH_LABEL),
    doc="The same, where the draws are also given the label.",
    equation="[afape, eq. A.2]",
)
