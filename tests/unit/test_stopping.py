"""The stopping statistic, its bounds and the rule, against sums over all orders and outcomes."""

import itertools
from typing import Any

import numpy as np
import pytest
from frugal.core.errors import ConfigError
from frugal.search.planning.constrained import may_stop, stopping_statistic
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles import treatment_searches as oracle
from tests.unit.search_cases import (
    arbitrary,
    history_index,
    instances,
    joint_table,
    mixture,
    table_law,
)

SEEDS = st.integers(0, 10**6)
VALUES = st.sampled_from([(0.0, 1.0, 2.0), (0.5, 0.7, 1.0), (-3.0, 0.0, 0.25)])
EPSILONS = st.sampled_from([0.0, 0.25, 0.3, 1.0, 5.0])


@settings(max_examples=15)
@given(seed=SEEDS, values=VALUES, epsilon=EPSILONS, k=st.integers(1, 4))
def test_all_three_statistics_follow_their_definitions(seed, values, epsilon, k):
    model = arbitrary(seed, k=k, contexts=1)
    table = type(model)(model.probability, np.array(values))
    law = table_law(table, 0)
    found = {
        bound: stopping_statistic(table, bound=bound, epsilon=epsilon)[0]
        for bound in ("lower", "exact", "upper")
    }
    assert [found[b][0] for b in ("lower", "exact", "upper")] == [1, 1, k]  # μ(∅) = −∞
    for h in itertools.product(range(-1, 2), repeat=k):
        if max(h) >= 0:
            i = history_index(h, 3)
            lower, upper = oracle.bounds(law, h, values, epsilon)
            exact = oracle.rho_over_orders(law, h, values, epsilon)
            assert found["lower"][i] == pytest.approx(lower, abs=1e-12)
            assert found["upper"][i] == pytest.approx(upper, abs=1e-12)
            assert found["exact"][i] == pytest.approx(exact, abs=1e-12)


@settings(max_examples=25)
@given(seed=SEEDS, epsilon=EPSILONS, k=st.integers(1, 5))
def test_lower_exact_upper_are_in_order_under_a_coherent_model(seed, epsilon, k):
    table = mixture(seed, k=k)
    lower, exact, upper = (
        stopping_statistic(table, bound=bound, epsilon=epsilon)
        for bound in ("lower", "exact", "upper")
    )
    assert (lower <= exact + 1e-12).all()
    assert (exact <= upper + 1e-12).all()
    assert exact.min() >= -1e-12
    assert exact.max() <= 1 + 1e-12


def test_exact_statistic_of_a_joint_table_is_read_off_the_table():
    for k, n_outcomes, _, joint, _ in instances():
        statistic = stopping_statistic(joint_table(joint, n_outcomes), bound="exact", epsilon=0.0)
        for h in itertools.product(range(-1, n_outcomes - 1), repeat=k):
            possible = any(
                all(seen in (-1, y) for seen, y in zip(h, row, strict=True)) for row in joint
            )
            if max(h) >= 0 and possible:
                truth = float(oracle.joint_rho(joint, h))
                assert statistic[0, history_index(h, n_outcomes)] == pytest.approx(truth, abs=1e-12)


@settings(max_examples=20)
@given(seed=SEEDS, bound=st.sampled_from(["lower", "exact", "upper"]))
def test_slack_lowers_the_statistic(seed, bound):
    table = mixture(seed, k=4)
    some = [stopping_statistic(table, bound=bound, epsilon=e)[:, 1:] for e in (0.0, 1.0, 2.0)]
    assert (some[1] <= some[0] + 1e-12).all()
    assert (some[2] == 0).all()


RULE = {"n_actions": 2, "n_outcomes": 3}


def _stops(values, **options):
    """Answers for the histories {}, (0), (1) and (·, 0) of two actions and three outcomes."""
    statistic = np.full((1, 9), 0.3)
    statistic[0, :4] = values
    return may_stop(statistic, **RULE, **options)[0]


def test_the_two_rules_differ_at_equality_only():
    options = {"delta": 0.2, "alpha": 1.0}
    assert _stops([9, 0.1, 0.2, 0.3], stop_rule="<=", **options)[1:4].tolist() == [
        True,
        True,
        False,
    ]
    assert _stops([9, 0.1, 0.2, 0.3], stop_rule="<", **options)[1:4].tolist() == [
        True,
        False,
        False,
    ]
    third = 1 - 2 / 3  # 1/3 plus rounding; equal to 1/3 on paper
    assert third != 1 / 3
    for rule, answer in (("<=", True), ("<", False)):
        assert _stops([9, third, 1 / 3, 1], stop_rule=rule, delta=1 / 3, alpha=1.0)[1] == answer


def test_a_search_begins_and_ends_under_every_rule():
    for rule in ("<=", "<"):
        lax = _stops([0, 0, 0, 0], delta=2.0, alpha=1.0, stop_rule=rule)
        strict = _stops([1, 1, 1, 1], delta=0.0, alpha=1.0, stop_rule=rule)
        assert not lax[0]
        assert lax[1:].all()
        assert np.flatnonzero(strict).tolist() == [4, 5, 7, 8]  # both actions tried


def test_sensitivity_divides_the_confidence():
    """Theorem 2: α asks for δ/α."""
    table = mixture(5, k=4)
    statistic = stopping_statistic(table, bound="upper", epsilon=0.0)
    common = {"n_actions": 4, "n_outcomes": 3, "stop_rule": "<="}
    halved = may_stop(statistic, delta=0.5, alpha=2.0, **common)
    assert (halved == may_stop(statistic, delta=0.25, alpha=1.0, **common)).all()
    assert (halved <= may_stop(statistic, delta=0.5, alpha=1.0, **common)).all()


def test_options_outside_their_range_are_refused():
    table = mixture(0)
    with pytest.raises(ConfigError, match="allowed are upper, lower and exact"):
        stopping_statistic(table, bound="middle", epsilon=0.0)
    with pytest.raises(ConfigError, match="epsilon is -1"):
        stopping_statistic(table, bound="exact", epsilon=-1.0)
    for wrong in ({"delta": -0.1}, {"alpha": 0.5}, {"stop_rule": ">"}):
        options: dict[str, Any] = {"delta": 0.1, "alpha": 1.0, "stop_rule": "<="} | wrong
        with pytest.raises(ConfigError):
            may_stop(np.zeros((1, 9)), **RULE, **options)
