"""Opportunistic learning: values are changes of probabilities per price, and it acts by them."""

from typing import Any

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.core.world import World
from frugal.studies.field.policies.opportunistic import (
    OpportunisticPolicies,
    learn,
    least_values,
    relative_price,
)

from tests.unit import tree_agent_cases as cases
from tests.unit.tree_agent_cases import run

pytestmark = pytest.mark.trains

N = 3000
DQN: dict[str, Any] = {"hidden": [32], "double": False, "dueling": False, "huber_bound": None}
DQN |= {"learning_rate": 3e-3, "learning_rate_last": 1e-4, "discount": 0.0, "batch": 128}
DQN |= {"memory": 10000, "learning_starts": 500, "transitions_per_update": 8, "target_every": 500}
DQN |= {"exploration_share": 0.5, "epsilon_first": 1.0, "epsilon_last": 0.5}
DQN |= {"max_gradient_norm": 10.0, "episodes": 64, "transitions": 20000}
OWN: dict[str, Any] = {"copies": 4, "dqn": DQN, "levels": 8}
ACCURACY = 0.9


def priced_world(n: int, seed: int) -> World:
    """Of group 1 panels A and B tell the same, B at twice the price; of group 0 nothing tells."""
    rng = np.random.default_rng(seed)
    group, label = rng.integers(2, size=(2, n))
    shown = np.where(rng.random(n) < ACCURACY, label, 1 - label)
    shown = np.where(group == 1, shown, rng.integers(2, size=n))
    values = np.stack([group, shown, shown], axis=1).astype(np.float64)
    return cases.of_values(values, np.eye(3, dtype=bool)[1:], label, [1.0, 2.0])


def policies_on(world: World, name, budgets):
    made = learn(cases.rows_of(world), cases.objective(name, world), OWN, np.array(budgets))
    return OpportunisticPolicies.from_arrays(made.arrays, cases.layout_of(world)), made


@pytest.fixture(scope="module")
def front():
    return policies_on(priced_world(N, 0), "f1", [0.0, 0.6, 3.0])


def test_values_are_changes_of_probabilities_per_price(front):
    """Undiscounted by what follows: 2 |.9 − .5| / (1 / 1.5) for A, half for B, 0 for group 0."""
    policies, _ = front
    values = np.array([[0, np.nan, np.nan], [1, np.nan, np.nan]], dtype=np.float32)
    found = policies.values(values, np.zeros((2, 2), dtype=bool))
    change = 2 * (ACCURACY - 0.5)
    np.testing.assert_allclose(found[1], [1.5 * change, 0.75 * change], atol=0.1)
    assert np.abs(found[0]).max() < 0.15
    np.testing.assert_allclose(relative_price(np.array([1.0, 2.0, 0.0])), [2 / 3, 4 / 3, 1])


def test_it_orders_the_cheaper_of_two_that_state_the_same_where_they_state(front):
    policies, made = front
    new = priced_world(N, 1)
    episodes = run(policies, new)
    price = episodes.cost.mean(axis=1)
    assert (price <= np.array([0.0, 0.6, 3.0])[: len(price)] + 0.05).all()
    within = int(np.flatnonzero(price <= 0.65)[-1])
    told = new.values[:, 0] == 1
    assert episodes.acquired[within, told, 0].mean() > 0.97
    assert not episodes.acquired[within, :, 1].any()
    assert episodes.acquired[within, ~told].mean() < 0.1
    assert episodes.verdict is not None
    said, ill = episodes.verdict[..., 1] > 0.5, new.label == 1
    f1 = 2 * (said & ill).sum(axis=1) / (said.sum(axis=1) + ill.sum())
    assert np.abs(f1 - made.curve["mean_return"]).max() < 0.05


def test_panels_that_a_unit_cannot_have_or_that_add_nothing_are_never_bought():
    world = cases.nested_world(1200, 3)
    policies, _ = policies_on(world, "cost", [np.inf])
    cases.require_useful_panels(run(policies, world), world)


def test_least_values_are_all_nothing_and_between():
    found = least_values(np.linspace(-1, 1, 101), 5)
    np.testing.assert_allclose(found, [0, 0.01, 0.99, 1e9])
    np.testing.assert_array_equal(least_values(np.array([0.3, 0.3 + 1e-9]), 5), [0, 1e9])
    assert len(least_values(np.linspace(0.1, 1, 101), 5)) == 5


def test_stored_learners_read_back_act_alike_and_spoilt_ones_are_refused(front):
    policies, made = front
    world, layout = priced_world(200, 3), cases.layout_of(priced_world(10, 0))
    again = OpportunisticPolicies.from_arrays(policies.to_arrays(), layout)
    np.testing.assert_array_equal(run(policies, world).acquired, run(again, world).acquired)
    for changed, words in (
        ({"least": -made.arrays["least"] - 1}, "'least'"),
        ({"threshold": made.arrays["threshold"] * 0}, "'threshold'"),
        ({"network.scale": made.arrays["network.scale"] * 0}, "scale"),
    ):
        with pytest.raises(DataError, match=words):
            OpportunisticPolicies.from_arrays(made.arrays | changed, layout)
