"""Best cut of one node by trying every threshold: impurities computed from their definition."""

import numpy as np


def impurity(target: np.ndarray, weight: np.ndarray, classes: int) -> float:
    """Weighted variance, or weighted Gini impurity 1 − Σ p², of one node."""
    if classes == 0:
        mean = np.average(target, weights=weight)
        return float(np.average((target - mean) ** 2, weights=weight))
    shares = [weight[target == c].sum() / weight.sum() for c in range(classes)]
    return float(1 - sum(p**2 for p in shares))


def smallest_impurity(
    bins: np.ndarray, target: np.ndarray, weight: np.ndarray, classes: int, min_leaf: int
) -> tuple[float, set[int]]:
    """Least weighted impurity of the two sides over all thresholds, and the thresholds giving it.

    A threshold is named by the largest bin on the left that is not empty.
    """
    found: dict[int, float] = {}
    for cut in sorted(set(bins.tolist()))[:-1]:
        left = bins <= cut
        if left.sum() < min_leaf or (~left).sum() < min_leaf:
            continue
        found[cut] = sum(
            weight[side].sum() * impurity(target[side], weight[side], classes)
            for side in (left, ~left)
        )
    if not found:
        return np.inf, set()
    least = min(found.values())
    return least, {cut for cut, value in found.items() if value <= least + 1e-9}
