"""Off-policy evaluation with the recorded acquisitions as actions [afape, sec. A.9, eq. A.13].

Here the retrospective missingness is the logging policy, not part of the environment: a row speaks
only for the set (or the order) of panels that was acquired in it. It must not know the mask.
"""

import numpy as np
from jaxtyping import Float

from frugal.contracts.terms import Terms
from frugal.estimators.weighting import importance_weight, weighted_terms


def off_policy_set(
    outcome: Float[np.ndarray, "n o"],
    policy_probability: Float[np.ndarray, " n"],
    pattern_probability: Float[np.ndarray, " n"],
) -> Terms:
    """Horvitz–Thompson estimate of the bandit whose action is the set of panels.

        Ĵ = (1/n) Σᵢ Cᵢ π(rᵢ | xᵢ) / p(R = rᵢ | xᵢ)      [afape, eq. A.13]

    Unbiased if every set that the policy may acquire occurs in the records at every x.

    Args:
        outcome: outcomes with the recorded set rᵢ itself acquired, whatever the policy would have
            chosen; read where the policy's probability is above zero. (n, o)
        policy_probability: π(r | x), of ending with exactly the recorded set. (n,)
        pattern_probability: p(R = r | x) of the recorded set; read where π > 0. (n,)

    Raises:
        DataError: π is outside [0, 1]; where π > 0, p is outside (0, 1] or an outcome not finite.
    """
    weight = _set_weight(policy_probability, pattern_probability)
    return weighted_terms(outcome, weight, normalised=False)


def stabilised_off_policy_set(
    outcome: Float[np.ndarray, "n o"],
    policy_probability: Float[np.ndarray, " n"],
    pattern_probability: Float[np.ndarray, " n"],
) -> Terms:
    """Self-normalised estimate of the bandit whose action is the set of panels.

        Ĵ = Σᵢ wᵢ Cᵢ / Σᵢ wᵢ,   wᵢ = π(rᵢ | xᵢ) / p(R = rᵢ | xᵢ)      [afape, eq. A.13]

    Arguments and errors as for `off_policy_set`.
    """
    weight = _set_weight(policy_probability, pattern_probability)
    return weighted_terms(outcome, weight, normalised=True)


def off_policy_sequence(
    outcome: Float[np.ndarray, "n o"],
    policy_probability: Float[np.ndarray, " n"],
    order_probability: Float[np.ndarray, " n"],
) -> Terms:
    """Horvitz–Thompson estimate with whole trajectories as actions.

        Ĵ = (1/n) Σᵢ Cᵢ π(uᵢ | xᵢ) / p(U = uᵢ | xᵢ)      [afape, eq. A.13]

    where π(u | x) and p(u | x) are products over the steps, "stop" included.

    Args:
        outcome: outcomes with the recorded set acquired; the order does not matter to it. (n, o)
        policy_probability: π(u | x), of acquiring in exactly the recorded order and stopping. (n,)
        order_probability: p(U = u | x) of the recorded order; read where π > 0. (n,)

    Raises:
        DataError: π is outside [0, 1]; where π > 0, p is outside (0, 1] or an outcome not finite.
    """
    weight = _order_weight(policy_probability, order_probability)
    return weighted_terms(outcome, weight, normalised=False)


def stabilised_off_policy_sequence(
    outcome: Float[np.ndarray, "n o"],
    policy_probability: Float[np.ndarray, " n"],
    order_probability: Float[np.ndarray, " n"],
) -> Terms:
    """Self-normalised estimate with whole trajectories as actions.

        Ĵ = Σᵢ wᵢ Cᵢ / Σᵢ wᵢ,   wᵢ = π(uᵢ | xᵢ) / p(U = uᵢ | xᵢ)   [afape, eq. A.13]

    Arguments and errors as for `off_policy_sequence`.
    """
    weight = _order_weight(policy_probability, order_probability)
    return weighted_terms(outcome, weight, normalised=True)


def _set_weight(
    policy_probability: Float[np.ndarray, " n"], pattern_probability: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    return importance_weight(
        policy_probability,
        pattern_probability,
        policy_probability != 0,  # NaN counts as used, and is refused
        target_name="policy's probability of the recorded set",
        logging_name="probability p(R=r|X) of the recorded set",
    )


def _order_weight(
    policy_probability: Float[np.ndarray, " n"], order_probability: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    return importance_weight(
        policy_probability,
        order_probability,
        policy_probability != 0,
        target_name="policy's probability of the recorded order",
        logging_name="probability p(U=u|X) of the recorded order",
    )
