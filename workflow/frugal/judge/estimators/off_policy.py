"""Off-policy evaluation with the recorded acquisitions as actions [afape, sec. A.9, eq. A.13].

Here the retrospective missingness is the logging policy, not part of the environment: a row speaks
only for the panels acquired in it. That is u: the set of panels in the set view, where a row is a
bandit's one action; their order in the sequence view, where π(u | x) and p(u | x) are products
over the steps, "stop" included. It must not know the mask.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from frugal.judge.case import Case
from frugal.judge.estimator import Estimator, Need, Terms, importance_weight, weighted_terms


def stabilised_off_policy(
    outcome: Float[np.ndarray, "n o"],
    policy_probability: Float[np.ndarray, " n"],
    recorded_probability: Float[np.ndarray, " n"],
) -> Terms:
    """Self-normalised estimate with the recorded set, or the recorded order, as the action.

        Ĵ = Σᵢ wᵢ Cᵢ / Σᵢ wᵢ,   wᵢ = π(uᵢ | xᵢ) / p(U = uᵢ | xᵢ)      [afape, eq. A.13]

    Every set (order) that the policy may acquire must occur in the records at every x.

    Args:
        outcome: outcomes with the recorded set itself acquired, regardless of the panels that the
            policy would have chosen; read where the policy's probability is above zero. (n, o)
        policy_probability: π(u | x), of ending with exactly the recorded set; in the sequence
            view, of acquiring in exactly the recorded order and stopping. (n,)
        recorded_probability: p(U = u | x) of the recorded set or order; read where π > 0. (n,)

    Raises:
        DataError: π is outside [0, 1]; where π > 0, p is outside (0, 1] or an outcome not finite.
    """
    weight = importance_weight(
        policy_probability,
        recorded_probability,
        policy_probability != 0,  # NaN counts as used, and is refused
        target_name="policy's probability of the recorded set or order",
        logging_name="probability p(U=u|X) of the recorded set or order",
    )
    return weighted_terms(outcome, weight, normalised=True)


def _recorded_sets(probability: Need) -> Callable[[Case], Terms]:
    return lambda case: stabilised_off_policy(
        case.recorded, case.fitted[probability.value], case.fitted["pattern_propensity"]
    )


OFF_POLICY_SET = Estimator(
    name="off_policy_set",
    place=160,
    label="off-policy, set",
    look=("grey", "1"),
    needs=(Need.PATTERN_PROPENSITY, Need.SET_PROBABILITY),
    terms=_recorded_sets(Need.SET_PROBABILITY),
    doc="Records whose set of panels the policy could have acquired, weighted by how likely.",
    equation="[afape, eq. A.13]",
)

OFF_POLICY_SEQUENCE = Estimator(
    name="off_policy_sequence",
    place=170,
    label="off-policy, sequence",
    look=("grey", "2"),
    needs=(Need.PATTERN_PROPENSITY, Need.SEQUENCE_PROBABILITY),
    terms=_recorded_sets(Need.SEQUENCE_PROBABILITY),
    doc="The same for the order of the panels in the records.",
    equation="[afape, eq. A.13]",
)
