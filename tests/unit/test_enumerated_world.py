import itertools

import numpy as np
import pytest

from tests.oracles.enumerated_world import (
    STOP,
    World,
    always_complete,
    enumerate_world,
    expectation,
    importance_value,
    logistic_patterns,
    observed_law,
    probability,
    regression_from_records,
)

P_Y = {(0, 0): 0.05, (0, 1): 0.5, (1, 0): 0.6, (1, 1): 0.3}  # p(y = 1 | x2, x3)


def world(*, free_first: bool) -> World:
    """Columns x1, x2, x3, binary and dependent; panels {x2} and {x3}; x1 free if asked."""
    units = {}
    for x1, x2, x3, y in itertools.product((0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0, 1)):
        p = 0.5 * (0.7 if x1 == x2 else 0.3) * (0.6 if x3 == x2 else 0.4)
        one = P_Y[int(x2), int(x3)]
        units[((x1, x2, x3), y)] = p * (one if y else 1 - one)
    return World(units, ((1,), (2,)), (0,) if free_first else (), (0.3, 0.2))


def misclassification(seen, y):
    """Predicts 1 once x2 and x3 are known to differ; a miss costs 4, a false alarm 1."""
    predicted = int(1 in seen and 2 in seen and seen[1] != seen[2])
    return 0.0 if predicted == y else (4.0 if y else 1.0)


def second_panel_if_first_shows_one(seen, acquired, available) -> dict[int | str, float]:
    """Acquires {x2} first, then {x3} only where x2 = 1."""
    if 0 not in acquired:
        return {0: 1.0} if 0 in available else {STOP: 1.0}
    return {1: 1.0} if seen[1] == 1 and 1 in available else {STOP: 1.0}


def coin(seen, acquired, available) -> dict[int | str, float]:
    """Acquires whatever is available or stops, all with equal probability."""
    choices = [*sorted(available), STOP]
    return {choice: 1 / len(choices) for choice in choices}


def free_column_decides(seen, acquired, available) -> dict[int | str, float]:
    """Acquires everything where the free x1 = 1, and nothing elsewhere."""
    if seen[0] == 1 and available:
        return {min(available): 1.0}
    return {STOP: 1.0}


def truth(w, decide):
    complete = enumerate_world(w, always_complete(2), decide, misclassification)
    return expectation(complete, lambda o: o.cost)


def test_all_probability_is_there_and_nothing_missing_is_acquired():
    w = world(free_first=True)
    patterns = logistic_patterns({0: (0.2, {0: 1.0}, {}), 1: (0.1, {1: -1.0}, {0: 0.5})}, 2)
    outcomes = enumerate_world(w, patterns, coin, misclassification)
    assert expectation(outcomes, lambda o: 1.0) == pytest.approx(1.0, abs=1e-14)
    assert all(a <= b for o in outcomes for a, b in zip(o.r_hat, o.r, strict=True))
    assert sum(observed_law(w, patterns).values()) == pytest.approx(1.0, abs=1e-14)


def test_conditional_probabilities_are_the_given_laws():
    w = world(free_first=True)
    patterns = logistic_patterns({0: (0.2, {0: 1.0}, {}), 1: (0.1, {1: -1.0}, {0: 0.5})}, 2)
    outcomes = enumerate_world(w, patterns, coin, misclassification)
    r2 = probability(outcomes, lambda o: o.r[0] == 1, lambda o: o.x[0] == 1)
    assert r2 == pytest.approx(1 / (1 + np.exp(-1.2)), abs=1e-14)
    r3 = regression_from_records(observed_law(w, patterns), 1, {1: 1.0}, [0])
    assert r3 == pytest.approx(1 / (1 + np.exp(0.4)), abs=1e-14)
    stops = probability(outcomes, lambda o: sum(o.r_hat) == 0, lambda o: sum(o.r) == 2)
    assert stops == pytest.approx(1 / 3, abs=1e-14)


def test_a_hidden_column_cannot_be_conditioned_on():
    w = world(free_first=True)
    law = observed_law(w, logistic_patterns({0: (0.0, {}, {})}, 2))
    with pytest.raises(KeyError):
        regression_from_records(law, 1, {1: 1.0}, [])


def test_hand_computed_cost_of_a_fixed_policy():
    """Acquire {x2} only: cost 0.3 + 4·p(y = 1), with p(y = 1 | x2) = 0.23 and 0.42."""
    value = truth(world(free_first=True), lambda seen, got, may: {STOP: 1.0} if got else {0: 1.0})
    assert value == pytest.approx(0.3 + 4 * (0.23 + 0.42) / 2, abs=1e-14)


def test_value_dependent_policy_needs_the_values_in_the_afa_propensity():
    """MCAR on the second panel: X_adj = ∅. Where r̂ = (1, 0), a row with x2 = 0 stopped by choice
    and one with x2 = 1 because it was blocked; the unconditioned weight averages over the two.
    By hand: the truth is (1.22 + 1.38) / 2, for x2 = 0 costs 0.3 + 4·0.23 and x2 = 1 costs
    0.5 + 0.6·4·0.3 + 0.4·0.4. Printed weights: 2/3 where r̂ = (1, 0), with mass 1/2 (cost 1.22) and
    1/4 (0.3 + 4·0.42), and 2 where r̂ = (1, 1), with mass 1/4 (1.38).
    """
    w = world(free_first=False)
    patterns = logistic_patterns({1: (0.0, {}, {})}, 2)
    decide = second_panel_if_first_shows_one
    outcomes = enumerate_world(w, patterns, decide, misclassification)
    conditioned = importance_value(outcomes, (), (), given_values=True)
    as_printed = importance_value(outcomes, (), (), given_values=False)
    assert truth(w, decide) == pytest.approx(1.30, abs=1e-12)
    assert conditioned == pytest.approx(1.30, abs=1e-12)
    assert as_printed == pytest.approx((1.22 / 2 + 1.98 / 4) * 2 / 3 + 1.38 / 4 * 2, abs=1e-12)
    assert abs(as_printed - 1.30) > 0.12


def test_a_policy_that_reads_a_free_column_outside_x_adj_needs_it_too():
    w = world(free_first=True)
    patterns = logistic_patterns({0: (0.5, {}, {}), 1: (0.0, {}, {0: 1.0})}, 2)
    outcomes = enumerate_world(w, patterns, free_column_decides, misclassification)
    value = truth(w, free_column_decides)
    conditioned = importance_value(outcomes, (), (), given_values=True)
    as_printed = importance_value(outcomes, (), (), given_values=False)
    assert conditioned == pytest.approx(value, abs=1e-12)
    assert abs(as_printed - value) > 1e-3
    with_column = importance_value(outcomes, (0,), (), given_values=False)
    assert with_column == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("given_values", [False, True])
def test_value_blind_policy_is_exact_either_way_under_mnar(given_values):
    w = world(free_first=True)
    patterns = logistic_patterns({0: (1.0, {0: -1.0}, {}), 1: (0.5, {1: -1.5}, {})}, 2)
    outcomes = enumerate_world(w, patterns, coin, misclassification)
    value = truth(w, coin)
    for s in [(0,), (0, 1)]:
        ours = importance_value(outcomes, (0, 1), s, given_values=given_values)
        assert ours == pytest.approx(value, abs=1e-12)
    blocked = expectation(outcomes, lambda o: o.cost)
    assert abs(blocked - value) > 0.05
