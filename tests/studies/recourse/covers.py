"""Cheapest action sets from the definition: every subset of actions is tried."""

from fractions import Fraction
from itertools import combinations


def working_sets(features, thresholds, provides, allowed):
    """Every set of allowed actions after which all features reach their thresholds."""
    actions = [i for i, is_open in enumerate(allowed) if is_open]
    return [
        chosen
        for size in range(len(actions) + 1)
        for chosen in combinations(actions, size)
        if all(
            int(x) + sum(int(provides[i][j]) for i in chosen) >= int(t)
            for j, (x, t) in enumerate(zip(features, thresholds, strict=True))
        )
    ]


def cheapest_sets(features, thresholds, provides, cost, allowed):
    """Least cost, all sets of that cost, and those of them that contain no other working set.

    The cost is None where no set works. Costs are taken as the decimals that they print as.
    """
    working = working_sets(features, thresholds, provides, allowed)
    if not working:
        return None, [], []
    price = {chosen: sum(Fraction(str(float(cost[i]))) for i in chosen) for chosen in working}
    least = min(price.values())
    optimal = [chosen for chosen in working if price[chosen] == least]
    known = {frozenset(chosen) for chosen in working}
    lean = [
        chosen for chosen in optimal if not any(frozenset(chosen) - {i} in known for i in chosen)
    ]
    return least, optimal, lean
