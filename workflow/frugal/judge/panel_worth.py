"""Value of panels: costs of a policy that learned without them, compared with the policy itself.

Values are differences of estimates on the same rows, so their errors follow from the joint
covariance. Knows policies by name only, and no file.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from frugal.judge.choice import Candidates
from frugal.judge.comparisons import LEVEL, NOTHING, gaussian
from frugal.judge.fairness import IntervalEstimate
from frugal.judge.semi_offline import Paths

Weights = Mapping[str, float]  # policy → its factor in a sum of costs


def joint_intervals(
    candidates: Candidates, sums: Sequence[Weights], rng: np.random.Generator
) -> list[IntervalEstimate]:
    """Sums of costs of policies, for example of one less another; all intervals hold at once.

        value ± q s,   q the 95 % quantile of max |Z| / s, Z ~ N(0, A C Aᵀ)

    A sum that is the same for certain, such as that of two policies with the same acts, has an
    interval of no width and widens no other one.

    Args:
        candidates: policies that were judged together.
        sums: whose factors add up to 0.
        rng: of the draws of Z.
    """
    names = [*dict.fromkeys(name for weights in sums for name in weights)]
    if not names:
        return []
    factors = np.array([[weights.get(name, 0.0) for name in names] for weights in sums])
    each, covariance = np.array([*map(candidates.cost, names)]), candidates.covariance(names)
    of_sums = factors @ covariance @ factors.T
    variance = np.diag(of_sums)
    same = variance <= NOTHING * max(float(np.diag(covariance).max()), 1e-300)
    error = np.sqrt(np.where(same, 0.0, variance))
    scale = np.where(same, np.inf, error)
    quantile = float(np.quantile(np.abs(gaussian(of_sums, rng) / scale).max(axis=1), LEVEL))
    value, half = np.where(same, 0.0, factors @ each), quantile * error
    ends = zip(value.tolist(), half.tolist(), strict=True)
    return [IntervalEstimate(mean, mean - width, mean + width) for mean, width in ends]


def price_that_pays(price: float, value: IntervalEstimate, share: float) -> IntervalEstimate:
    """Price up to which a panel pays, at least; not below 0.

    The cost of the best policy is a minimum of lines in the price c, each as steep as the share of
    cases s that a policy orders the panel for, so it is concave and lies below its tangent:

        V(c) ≤ V(c₀) + s (c − c₀),   without the panel V₀ = V(c₀) + value for every price
        V(c) ≤ V₀ for c ≤ c₀ + value / s

    Beyond, a policy that orders it for fewer cases may still pay.

    Args:
        price: now, c₀.
        value: of the panel, in the same unit, a case.
        share: of cases that order it, above 0; taken as known.
    """
    ends = (max(price + end / share, 0.0) for end in (value.value, value.low, value.high))
    return IntervalEstimate(*ends)


def changed_decisions(
    paths: Paths, chance: Float[np.ndarray, "n a1"], errors: Float[np.ndarray, "k k"]
) -> Float[np.ndarray, " a"]:
    """Of the cases that order a panel, the share of which another decision is the cheapest then.

    The decision is that of least expected cost right before and right after its result; records
    that hold it are weighed by 1 / π. 0 for a panel that no record was followed along. (a,)

    Args:
        paths: within the missingness model.
        chance: π, see `path_probability`.
        errors: cost of a verdict (column) on a class (row).
    """
    a = paths.order.shape[1]
    row, step = np.nonzero(np.arange(a) < paths.held[:, None])
    decided = (paths.belief @ errors).argmin(axis=2)
    weight, panel = 1 / chance[row, step + 1], paths.order[row, step]
    changes = decided[row, step] != decided[row, step + 1]
    total = np.bincount(panel, weight, minlength=a)
    changed = np.bincount(panel, weight * changes, minlength=a)
    return changed / np.where(total > 0, total, 1.0)
