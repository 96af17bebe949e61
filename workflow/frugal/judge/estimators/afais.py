"""Active feature acquisition importance sampling: off-environment bandit view [afape, sec. 3.4.2].

AFAIS(s) spans the spectrum from all rows (s empty) to complete cases (s = all panels, which is
inverse probability weighting). It must not know how the two propensities were made.

    J = E[ C · 1{R_s = 1} · h / e ],   e = p(R = 1 | X_adj),   h = p(R = 1 | X_adj, R̂, R_s = 1)

The constant. The behaviour law of A.8 conditions on R_s = 1, and the ratio of A.9 carries the
factor p(R_s = 1); the mean over the rows with R_s = 1 times p(R_s = 1) is the mean over all rows
with the indicator inside. So the plain estimate divides by the number of *all* rows, and no
separate estimate of p(R_s = 1) is needed; the self-normalised one needs no constant at all.

Differs from the paper: h may, and for a policy that looks at values outside X_adj must, be
conditioned on the acquired values X̂ as well. The paper's derivation takes p(C | X_adj, R̂) to be
the same with and without blocking. If the policy's decisions depend on a value outside X_adj, the
set R̂ of a blocked episode has another distribution given that value than the same R̂ does at run
time, and the paper's weight is biased. With h = p(R = 1 | X_adj, X̂, R̂, R_s = 1) the estimate is
exact: the values that the policy saw are then reweighted, too. Both are the same for
policies that read no value, or only values in X_adj.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from frugal.judge.case import Case
from frugal.judge.estimator import Estimator, Need, Terms, importance_weight, weighted_terms


def afais(
    outcome: Float[np.ndarray, "n o"],
    propensity: Float[np.ndarray, " n"],
    afa_propensity: Float[np.ndarray, " n"],
) -> Terms:
    """AFAIS on all rows: `afais_s` with s = ∅.

        Ĵ_AFAIS = (1/n) Σᵢ Cᵢ hᵢ / eᵢ,   h = p(R = 1 | X_adj[, X̂], R̂)      [afape, eq. 4]

    Args:
        outcome: outcomes of the rollout under the mask. (n, o)
        propensity: e = p(R = 1 | X_adj); must be known in every row. (n,)
        afa_propensity: h, must be known in every row. (n,)

    Raises:
        DataError: e is outside (0, 1], h outside [0, 1], or an outcome with weight is not finite.
    """
    return afais_s(outcome, _every_row(propensity), propensity, afa_propensity)


def stabilised_afais(
    outcome: Float[np.ndarray, "n o"],
    propensity: Float[np.ndarray, " n"],
    afa_propensity: Float[np.ndarray, " n"],
) -> Terms:
    """Self-normalised AFAIS on all rows: `stabilised_afais_s` with s = ∅.

        Ĵ = Σᵢ wᵢ Cᵢ / Σᵢ wᵢ,   wᵢ = hᵢ / eᵢ      [afape, eq. 4]

    Arguments and errors as for `afais`.
    """
    return stabilised_afais_s(outcome, _every_row(propensity), propensity, afa_propensity)


def afais_s(
    outcome: Float[np.ndarray, "n o"],
    s_observed: Bool[np.ndarray, " n"],
    propensity: Float[np.ndarray, " n"],
    afa_propensity: Float[np.ndarray, " n"],
) -> Terms:
    """Modified AFAIS on the rows in which the panels in s are observed.

        Ĵ_AFAIS(s) = (1/n) Σᵢ Cᵢ 1{R_s,ᵢ = 1} hᵢ / eᵢ      [afape, eq. A.9]
        h = p(R = 1 | X_adj[, X̂], R̂, R_s = 1)

    n counts all rows, used or not (see the module's text for the constant).

    Args:
        outcome: outcomes of the rollout under the mask; read where the weight is not zero. (n, o)
        s_observed: R_s = 1. (n,)
        propensity: e; must be known where R_s = 1, else s is too small to be evaluated. (n,)
        afa_propensity: h; must be known where R_s = 1. (n,)

    Raises:
        DataError: where R_s = 1, e is outside (0, 1], h outside [0, 1], or an outcome with weight
            is not finite.
    """
    weight = afais_weight(s_observed, propensity, afa_propensity)
    return weighted_terms(outcome, weight, normalised=False)


def stabilised_afais_s(
    outcome: Float[np.ndarray, "n o"],
    s_observed: Bool[np.ndarray, " n"],
    propensity: Float[np.ndarray, " n"],
    afa_propensity: Float[np.ndarray, " n"],
) -> Terms:
    """Self-normalised AFAIS(s): the AFAIS row of the paper's figures.

        Ĵ = Σᵢ wᵢ Cᵢ / Σᵢ wᵢ,   wᵢ = 1{R_s,ᵢ = 1} hᵢ / eᵢ      [afape, eq. A.9]

    Arguments and errors as for `afais_s`.
    """
    weight = afais_weight(s_observed, propensity, afa_propensity)
    return weighted_terms(outcome, weight, normalised=True)


def afais_weight(
    s_observed: Bool[np.ndarray, " n"],
    propensity: Float[np.ndarray, " n"],
    afa_propensity: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    """Importance ratio ρ_AFAIS(s) = 1{R_s = 1} h / e of section 3.4.3. (n,)

    Raises:
        DataError: where R_s = 1, e is outside (0, 1] or h outside [0, 1].
    """
    return importance_weight(
        afa_propensity,
        propensity,
        s_observed,
        target_name="AFA propensity p(R=1|X_adj,R̂,R_s=1)",
        logging_name="propensity p(R=1|X_adj)",
    )


def _every_row(like: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    return np.ones(len(like), dtype=bool)


def _on_every_row(formula: Callable[..., Terms]) -> Callable[[Case], Terms]:
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


AFAIS = Estimator(
    name="afais",
    place=100,
    label="AFAIS",
    look=("blue", "d"),
    needs=(Need.EVERY_ROW, Need.PROPENSITY, Need.AFA_PROPENSITY),
    terms=_on_every_row(afais),
    doc="Importance sampling that reuses incomplete records: all of them.",
    equation="[afape, eq. 4]",
)

STABILISED_AFAIS = Estimator(
    name="stabilised_afais",
    place=110,
    label="stabilised AFAIS",
    look=("blue", "P"),
    needs=(Need.EVERY_ROW, Need.PROPENSITY, Need.AFA_PROPENSITY),
    terms=_on_every_row(stabilised_afais),
    doc="The same, divided by the sum of the weights.",
    equation="[afape, eq. 4]",
)

AFAIS_S = Estimator(
    name="afais_s",
    place=120,
    label="AFAIS(s)",
    look=("blue", "h"),
    needs=(Need.PROPENSITY, Need.AFA_PROPENSITY),
    terms=_rows_with_s(afais_s, Need.PROPENSITY, Need.AFA_PROPENSITY),
    doc="Importance sampling that reuses the records in which the panels of s are recorded.",
    equation="[afape, eq. A.9]",
)

STABILISED_AFAIS_S = Estimator(
    name="stabilised_afais_s",
    place=130,
    label="stabilised AFAIS(s)",
    look=("blue", "H"),
    needs=(Need.PROPENSITY, Need.AFA_PROPENSITY),
    terms=_rows_with_s(stabilised_afais_s, Need.PROPENSITY, Need.AFA_PROPENSITY),
    doc="The same, divided by the sum of the weights.",
    equation="[afape, eq. A.9]",
)

STABILISED_AFAIS_S_POLICY = Estimator(
    name="stabilised_afais_s_policy",
    place=140,
    label="stabilised AFAIS(s), policy known",
    look=("blue", (4, 1, 0)),
    needs=(Need.PROPENSITY, Need.AFA_PROPENSITY_BY_POLICY),
    terms=_rows_with_s(stabilised_afais_s, Need.PROPENSITY, Need.AFA_PROPENSITY_BY_POLICY),
    doc="The same; actions follow from the policy, where it was a regression.",
    equation="[afape, eq. A.9]",
    read=10,
    needed=lambda case: (case.needed, case.fitted["needed_propensity"]),
)

STABILISED_AFAIS_S_TRUE = Estimator(
    name="stabilised_afais_s_true",
    place=150,
    label="stabilised AFAIS(s), true p",
    look=("blue", "+"),
    needs=(Need.TRUE_PROPENSITY, Need.TRUE_AFA_PROPENSITY),
    terms=_rows_with_s(stabilised_afais_s, Need.TRUE_PROPENSITY, Need.TRUE_AFA_PROPENSITY),
    doc="The same with the probabilities that the masks were drawn from.",
    equation="[afape, eq. A.9]",
)
