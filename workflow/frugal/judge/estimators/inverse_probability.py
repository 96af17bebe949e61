"""Inverse probability weighting of complete cases: black-box missing data [afape, sec. 3.4.1].

It must not know the policy's acquisitions: to this view a row is complete or worthless.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from frugal.judge.case import Case
from frugal.judge.estimator import Estimator, Need, Terms, importance_weight, weighted_terms


def ipw(
    outcome: Float[np.ndarray, "n o"],
    complete: Bool[np.ndarray, " n"],
    propensity: Float[np.ndarray, " n"],
) -> Terms:
    """Horvitz–Thompson estimate from complete cases.

        Ĵ_IPW = (1/n) Σᵢ Cᵢ 1{Rᵢ = 1} / e(xᵢ),   e(x) = p(R = 1 | X_adj = x)      [afape, eq. 3]

    Unbiased if e is right and positive wherever X_adj has mass.

    Args:
        outcome: outcomes of the rollout; read on complete rows. (n, o)
        complete: R = 1. (n,)
        propensity: e(x); read on complete rows, may be NaN elsewhere. (n,)

    Raises:
        DataError: on a complete row the propensity is outside (0, 1] or an outcome is not finite.
    """
    weight = complete_case_weight(complete, propensity)
    return weighted_terms(outcome, weight, normalised=False)


def stabilised_ipw(
    outcome: Float[np.ndarray, "n o"],
    complete: Bool[np.ndarray, " n"],
    propensity: Float[np.ndarray, " n"],
) -> Terms:
    """Self-normalised estimate from complete cases: the IPW row of the paper's figures.

        Ĵ = Σᵢ wᵢ Cᵢ / Σᵢ wᵢ,   wᵢ = 1{Rᵢ = 1} / e(xᵢ)      [afape, eq. 3]

    Consistent, with a bias of order 1/n, and a value between the smallest and largest outcome.
    Arguments and errors as for `ipw`.
    """
    weight = complete_case_weight(complete, propensity)
    return weighted_terms(outcome, weight, normalised=True)


def complete_case_weight(
    complete: Bool[np.ndarray, " n"], propensity: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Importance ratio ρ_IPW = 1{R = 1} / p(R = 1 | X_adj) of section 3.4.1. (n,)

    Raises:
        DataError: the propensity of a complete row is outside (0, 1].
    """
    return importance_weight(
        np.ones(len(complete)),
        propensity,
        complete,
        target_name="one",
        logging_name="propensity p(R=1|X_adj)",
    )


def _complete_cases(formula: Callable[..., Terms], propensity: Need) -> Callable[[Case], Terms]:
    return lambda case: formula(case.blocked, case.complete, case.fitted[propensity.value])


IPW = Estimator(
    name="ipw",
    place=70,
    label="IPW",
    look=("sky", "p"),
    needs=(Need.COMPLETE_CASES, Need.PROPENSITY),
    terms=_complete_cases(ipw, Need.PROPENSITY),
    doc="Complete cases, weighted by the inverse of their fitted probability to be complete.",
    equation="[afape, eq. 3]",
)

STABILISED_IPW = Estimator(
    name="stabilised_ipw",
    place=80,
    label="stabilised IPW",
    look=("sky", "X"),
    needs=(Need.COMPLETE_CASES, Need.PROPENSITY),
    terms=_complete_cases(stabilised_ipw, Need.PROPENSITY),
    doc="The same, divided by the sum of the weights.",
    equation="[afape, eq. 3]",
    read=20,
    needed=lambda case: (np.ones_like(case.observed), case.fitted["propensity"]),
)

STABILISED_IPW_TRUE = Estimator(
    name="stabilised_ipw_true",
    place=90,
    label="stabilised IPW, true p",
    look=("sky", "x"),
    needs=(Need.COMPLETE_CASES, Need.TRUE_PROPENSITY),
    terms=_complete_cases(stabilised_ipw, Need.TRUE_PROPENSITY),
    doc="The same with the probability that the masks were drawn from.",
    equation="[afape, eq. 3]",
)
