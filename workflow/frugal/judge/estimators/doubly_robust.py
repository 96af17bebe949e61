"""Doubly robust estimators: a model of the outcome, corrected by weighted residuals.

Not in the paper: users of the semi-offline view look for this row, so it is shown with the
estimators of [afape, eq. 3] and [afape, eq. A.9], of which it uses the weights. It must not know
how the outcome model or the propensities were fitted.

Models that may be wrong, all else being right (shown by enumeration in the tests):

| wrong nuisance            | `doubly_robust`       | `doubly_robust_afais`                    |
|---------------------------|-----------------------|------------------------------------------|
| m, the outcome mean       | exact                 | exact                                    |
| e, the propensity         | exact                 | exact                                    |
| m and e                   | biased                | biased                                   |
| h, the AFA propensity     | not used              | biased in general, even with m, e right  |
| p(R_s = 1 | X_adj)        | biased (s not empty)  | biased (s not empty)                     |

With s = ∅ the last row is void: the probability is 1. Write w for the weight; the reason is
E[w | X_adj] = 1 if e is right, and E[w (C − m) | X_adj] = 0 for any e(X_adj) if m is right.
"""

import numpy as np
from jaxtyping import Bool, Float

from frugal.judge.estimator import Estimator, Need, Terms, importance_weight, masked_product
from frugal.judge.estimators.afais import afais_weight
from frugal.judge.estimators.inverse_probability import complete_case_weight


def doubly_robust(
    outcome: Float[np.ndarray, "n o"],
    complete: Bool[np.ndarray, " n"],
    propensity: Float[np.ndarray, " n"],
    outcome_mean: Float[np.ndarray, "n o"],
    s_observed: Bool[np.ndarray, " n"],
    s_propensity: Float[np.ndarray, " n"],
) -> Terms:
    """Outcome model with residuals of complete cases; augmented IPW where s = ∅.

        Ĵ = (1/n) Σᵢ { 1{R_s,ᵢ = 1}/p(R_s = 1 | xᵢ) · m(xᵢ) + 1{Rᵢ = 1}/e(xᵢ) · (Cᵢ − m(xᵢ)) }

    with m(x) = E[C | X_adj = x, R = 1]; its residual weight is that of [afape, eq. 3].

    Args:
        outcome: outcomes of the rollout; read on complete rows. (n, o)
        complete: R = 1; implies R_s = 1. (n,)
        propensity: e(x) = p(R = 1 | X_adj); read on complete rows. (n,)
        outcome_mean: m(x); read where R_s = 1. (n, o)
        s_observed: R_s = 1, where X_adj is known; all True for s = ∅. (n,)
        s_propensity: p(R_s = 1 | X_adj); read where R_s = 1; ones for s = ∅. (n,)

    Raises:
        DataError: a probability that is read is outside (0, 1], or a value read is not finite.
    """
    weight = complete_case_weight(complete, propensity)
    return _augmented(outcome, weight, outcome_mean, s_observed, s_propensity)


def doubly_robust_afais(
    outcome: Float[np.ndarray, "n o"],
    propensity: Float[np.ndarray, " n"],
    afa_propensity: Float[np.ndarray, " n"],
    outcome_mean: Float[np.ndarray, "n o"],
    s_observed: Bool[np.ndarray, " n"],
    s_propensity: Float[np.ndarray, " n"],
) -> Terms:
    """Outcome model with residuals of all rows with R_s = 1, weighted as in AFAIS(s).

        Ĵ = (1/n) Σᵢ { 1{R_s,ᵢ = 1}/p(R_s = 1 | xᵢ) · m(xᵢ) + 1{R_s,ᵢ = 1} hᵢ/eᵢ · (Cᵢ − m(xᵢ)) }

    with m(x) = E[C | X_adj = x, R = 1], fitted on complete cases: the mean under blocking is not
    the quantity estimated. The residual weight is that of [afape, eq. A.9].

    Args:
        outcome: outcomes of the rollout under the mask; read where the weight is not zero. (n, o)
        propensity: e(x) = p(R = 1 | X_adj); read where R_s = 1. (n,)
        afa_propensity: h = p(R = 1 | X_adj[, X̂], R̂, R_s = 1); read where R_s = 1. (n,)
        outcome_mean: m(x); read where R_s = 1. (n, o)
        s_observed: R_s = 1, where X_adj is known; all True for s = ∅. (n,)
        s_propensity: p(R_s = 1 | X_adj); read where R_s = 1; ones for s = ∅. (n,)

    Raises:
        DataError: a probability that is read is out of range, or a value read is not finite.
    """
    weight = afais_weight(s_observed, propensity, afa_propensity)
    return _augmented(outcome, weight, outcome_mean, s_observed, s_propensity)


def _augmented(
    outcome: Float[np.ndarray, "n o"],
    weight: Float[np.ndarray, " n"],
    outcome_mean: Float[np.ndarray, "n o"],
    s_observed: Bool[np.ndarray, " n"],
    s_propensity: Float[np.ndarray, " n"],
) -> Terms:
    direct_weight = importance_weight(
        np.ones(len(weight)),
        s_propensity,
        s_observed,
        target_name="one",
        logging_name="propensity p(R_s=1|X_adj)",
    )
    direct = masked_product(direct_weight, outcome_mean, "outcome mean")
    residual = masked_product(weight, outcome - outcome_mean, "outcome or its mean")
    return Terms(direct + residual, np.ones(len(weight)), weight)


DOUBLY_ROBUST = Estimator(
    name="doubly_robust",
    place=180,
    label="doubly robust",
    look=("green", ">"),
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
)

DOUBLY_ROBUST_AFAIS = Estimator(
    name="doubly_robust_afais",
    place=190,
    label="doubly robust AFAIS",
    look=("green", "*"),
    needs=(Need.PROPENSITY, Need.AFA_PROPENSITY_BY_POLICY, Need.S_PROPENSITY, Need.OUTCOME_MEAN),
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
)
