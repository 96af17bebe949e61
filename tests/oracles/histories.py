"""Every complete history of one unit, by recursion from the definition: one state at a time."""

import itertools

import numpy as np

from tests.oracles.policies import law_of_one


def complete_histories(policy, x, free_columns, provides, available, acquired=()):
    """Pairs (order of acquisition, probability) of all histories that end with "stop"."""
    a, d = provides.shape
    left = [j for j in range(a) if available[j] and j not in acquired]
    if not left:
        return [(acquired, 1.0)]
    seen = [
        x[c] if free_columns[c] or any(provides[j, c] for j in acquired) else np.nan
        for c in range(d)
    ]
    state = np.array([[j in acquired for j in range(a)]])
    law = law_of_one(policy, np.array([seen]), state, np.array([available], dtype=bool))[0]
    histories = [(acquired, float(law[a]))]
    for j in left:
        for order, probability in complete_histories(
            policy, x, free_columns, provides, available, (*acquired, j)
        ):
            histories.append((order, float(law[j]) * probability))
    return histories


def set_law(policy, x, free_columns, provides, available):
    """Probability of each terminal set, as a dictionary frozenset → probability."""
    law = {}
    for order, p in complete_histories(policy, x, free_columns, provides, available):
        law[frozenset(order)] = law.get(frozenset(order), 0.0) + p
    return law


def all_sets(a):
    """All subsets of a panels, as boolean rows. (2ᵃ, a)"""
    return np.array(list(itertools.product([False, True], repeat=a))).reshape(-1, a)


def afa_propensity(policy, x, free_columns, provides, target, patterns, probability, s):
    """p(R = 1 | x, R̂ = target, R_s = 1) from the joint law of (R, R̂) of one unit; NaN if 0/0."""
    wanted = frozenset(np.flatnonzero(target).tolist())
    total = complete = 0.0
    for pattern, p in zip(patterns, probability, strict=True):
        if not all(pattern[j] for j in range(len(pattern)) if s[j]):
            continue
        joint = p * set_law(policy, x, free_columns, provides, pattern).get(wanted, 0.0)
        total += joint
        complete += joint if all(pattern) else 0.0
    return complete / total if total > 0 else float("nan")
