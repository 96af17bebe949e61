"""Estimators without a weight: the truth, and the three comparisons that the paper shows to fail.

From [afape, sec. 3.2, sec. 4.1 and sec. A.9]. What tells these apart is the world in which the
policy was rolled out, which the caller has done; this module sees outcomes only.
"""

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.terms import Terms
from frugal.judge.formulas.weighting import weighted_terms


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
    """Mean outcome when the acquisition of what is missing is refused and nothing is corrected.

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
