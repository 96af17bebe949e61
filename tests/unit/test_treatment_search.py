"""Playing a policy: all units at once against one unit after the other."""

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.search.environment import found_near_optimal, play_policy
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import treatment_searches as oracle
from tests.unit.search_cases import THREE, arbitrary, history_index
from tests.unit.test_search_planners import constrained


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), k=st.integers(1, 5), delta=st.sampled_from([0.0, 0.3, 1.0]))
def test_all_units_at_once_are_as_one_after_the_other(seed, k, delta):
    policy = constrained(arbitrary(seed, k=k), delta=delta)
    rng = np.random.default_rng(seed)
    context, outcome = rng.integers(2, size=60), rng.integers(3, size=(60, k))
    played = play_policy(policy, context=context, outcome=outcome)
    for i in range(60):

        def choose(h, x=context[i]):
            return int(policy.action[x, history_index(h, 3)])

        order, best = oracle.play_one(choose, outcome[i].tolist(), 3)
        assert played.action[i].tolist() == order + [-1] * (k - len(order))
        assert played.trials[i] == len(order)
        assert played.best[i] == best
        so_far = np.maximum.accumulate(outcome[i, order])
        assert played.best_after[i].tolist() == [*so_far, *[best] * (k - len(order))]


def test_near_optimal_allows_for_the_slack():
    outcome = np.array([[0, 2, 1], [0, 0, 0], [1, 2, 0], [2, 0, 0]])
    best = np.array([1, 0, 0, -1])
    for epsilon, answer in [(0.0, [0, 1, 0, 0]), (1.0, [1, 1, 0, 0]), (2.0, [1, 1, 1, 0])]:
        found = found_near_optimal(best, outcome, outcome_value=THREE, epsilon=epsilon)
        assert found.tolist() == [bool(a) for a in answer]
    tenths = np.array([0.1, 0.2, 0.3])  # 0.1 + 0.2 is 0.30000000000000004
    row = np.array([[0, 2, 0]])
    for epsilon, answer in [(0.2, True), (0.19, False)]:
        found = found_near_optimal(np.array([0]), row, outcome_value=tenths, epsilon=epsilon)
        assert found.tolist() == [answer]


def test_units_must_fit_the_policy():
    policy = constrained(arbitrary(0, k=3))
    zero = np.zeros(2, dtype=int)
    for context, outcome, said in [
        (zero, np.zeros((2, 4), dtype=int), "4 outcomes each, the policy has 3"),
        (zero, np.full((2, 3), 3), "allowed 0 … 2"),
        (zero + 2, np.zeros((2, 3), dtype=int), "the policy has 0 … 1"),
    ]:
        with pytest.raises(DataError, match=said):
            play_policy(policy, context=context, outcome=outcome)
