"""The agents without training, and their making from config."""

import numpy as np
import pytest
from frugal.acquire.kinds import KINDS, build_policy
from frugal.acquire.policies.fixed import FixedClassifiers, FixedPolicy
from frugal.acquire.policies.random import RandomPolicy
from frugal.core.errors import ConfigError
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from tests.oracles.policies import law_of_one
from tests.unit.missingness_tables import table_of


def _states(a, n, seed):
    rng = np.random.default_rng(seed)
    available = rng.random((n, a)) < 0.7
    return np.full((n, 2), np.nan), available & (rng.random((n, a)) < 0.5), available


@given(p=st.floats(0.001, 0.999), seed=st.integers(0, 1000))
def test_random_policy_stops_with_the_binomial_hazard(p, seed):
    values, acquired, available = _states(7, 20, seed)
    law = law_of_one(RandomPolicy(p), values, acquired, available)
    m, k = available.sum(axis=1), acquired.sum(axis=1)
    # scipy's tail sums are good to about 1e-10 relative
    np.testing.assert_allclose(law[:, -1], binom.pmf(k, m, p) / binom.sf(k - 1, m, p), rtol=1e-8)
    np.testing.assert_allclose(law.sum(axis=1), 1.0, atol=1e-14)
    assert (law[:, :-1][acquired | ~available] == 0).all()
    for row, left in zip(law[:, :-1], available & ~acquired, strict=True):
        assert len(set(row[left].tolist())) <= 1


@pytest.mark.parametrize("p", [0.0, 5e-324, 1e-300, 1e-17, 0.5, 1 - 2**-53, 1.0])
def test_random_policy_is_a_law_at_the_ends_and_with_many_panels(p):
    values, acquired, available = _states(40, 200, 0)
    law = law_of_one(RandomPolicy(p), values, acquired, available)
    np.testing.assert_allclose(law.sum(axis=1), 1.0, atol=1e-14)
    done = (acquired == available).all(axis=1)
    if p == 0:
        assert (law[:, -1] == 1).all()
    if p == 1:
        assert (law[~done, -1] == 0).all()


def test_random_policy_keeps_the_small_chance_to_go_on_in_full_precision():
    state = np.zeros((1, 3), dtype=bool)
    law = law_of_one(RandomPolicy(1e-20), np.zeros((1, 1)), state, ~state)
    np.testing.assert_allclose(law[0, :-1], 1e-20, rtol=1e-12)  # 3p in all, shared by three


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_random_policy_refuses_what_is_no_probability(p):
    with pytest.raises(ConfigError, match="lies between 0 and 1"):
        RandomPolicy(p)


def test_fixed_policy_acquires_what_it_wants_in_order_and_skips_what_is_missing():
    policy = FixedPolicy(np.array([True, False, True]))
    acquired = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 1], [0, 0, 0]], dtype=bool)
    available = np.array([[1, 1, 1], [1, 1, 1], [0, 1, 1], [1, 1, 1], [0, 1, 0]], dtype=bool)
    law = law_of_one(policy, np.zeros((5, 1)), acquired, available)
    assert law.argmax(axis=1).tolist() == [0, 2, 2, 3, 3]
    assert (law.max(axis=1) == 1).all()
    assert (law.sum(axis=1) == 1).all()


def _table(*panels):
    """A table with panels of one column each to acquire."""
    columns = {name: [f"X{k + 1}"] for k, name in enumerate(panels)}
    return table_of(np.zeros((2, len(panels))), columns, [])


def test_config_names_an_agent():
    table = _table("labs", "scan", "biopsy")
    random = build_policy({"kind": "random", "probability": 0.1}, table=table)
    assert random == RandomPolicy(0.1)
    for panels, expected in (
        ("all", [True, True, True]),
        ("none", [False, False, False]),
        (["biopsy", "labs"], [True, False, True]),
        ([], [False, False, False]),
    ):
        fixed = build_policy({"kind": "fixed", "panels": panels}, table=table)
        assert isinstance(fixed, FixedPolicy)
        assert fixed.panels.tolist() == expected


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"kind": "oracle"}, f"'oracle'; allowed are {', '.join(KINDS)}"),
        ({}, f"None; allowed are {', '.join(KINDS)}"),
        ({"kind": "random"}, "takes exactly kind, probability"),
        ({"kind": "random", "probability": 0.1, "seed": 3}, "takes exactly kind, probability"),
        ({"kind": "random", "probability": "often"}, "'often'; it must be a number"),
        ({"kind": "random", "probability": True}, "True; it must be a number"),
        ({"kind": "fixed", "panels": "some"}, "allowed are all, none, or a list of names"),
        ({"kind": "fixed", "panels": 3}, "allowed are all, none, or a list of names"),
        ({"kind": "fixed", "panels": ["labs", "xray"]}, "'xray'; panels to acquire are labs, scan"),
    ],
)
def test_config_that_names_no_agent_is_refused_in_one_sentence(settings, sentence):
    with pytest.raises(ConfigError, match=sentence):
        build_policy(settings, table=_table("labs", "scan"))


def test_fixed_classifiers_acquire_their_panels_in_order_and_say_a_risk():
    policies = FixedClassifiers(
        np.array([[True, True, False], [False, False, True]]),
        (lambda seen: seen[:, 0] / 4, lambda seen: seen[:, 1] / 4),
        np.array([0.5, 0.5]),
    )
    acquired = np.zeros((2, 3, 3), dtype=bool)
    acquired[:, 1, 0] = True
    available = np.ones((2, 3, 3), dtype=bool)
    available[:, 2] = False
    law = policies.action_probabilities(np.zeros((2, 3, 2)), acquired, available)
    assert law.argmax(axis=2).tolist() == [[0, 1, 3], [2, 2, 3]]
    assert (law.sum(axis=2) == 1).all()
    values = np.stack([np.array([[1.0, 3.0], [4.0, 0.0], [2.0, 1.0]])] * 2)
    said = policies.predict(values, acquired)
    assert said[:, :, 1].tolist() == [[0.25, 1.0, 0.5], [0.75, 0.0, 0.25]]
    assert said[:, :, 0].tolist() == [[0.75, 0.0, 0.5], [0.25, 1.0, 0.75]]
