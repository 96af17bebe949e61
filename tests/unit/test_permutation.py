"""One order of panels by permutation importance, and where it stops."""

import numpy as np
import pytest
from frugal.acquire.policies.cascade import CascadePolicies
from frugal.acquire.policies.permutation import learn, panel_order, permutation_importance
from frugal.acquire.rollouts import roll_out

from tests.unit import tree_agent_cases as cases

pytestmark = pytest.mark.trains


def test_a_panel_is_worth_what_the_loss_rises_by_without_it():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3000, 5))
    label = (values @ [0.5, 2.0, 1.0, 0.0, 0.0] + rng.logistic(size=3000) > 0).astype(np.int64)
    world = cases.of_values(values, np.eye(5, dtype=bool)[1:], label, [4.0, 1.0, 1.0, 0.0])
    rows = cases.rows_of(world)
    rise = permutation_importance(rows)
    assert rise[0] > rise[1] + 0.05
    assert rise[1] > 0.03
    assert np.abs(rise[2:]).max() < 0.01
    assert panel_order(rows, rise)[:2] == ([1, 0] if rise[1] > rise[0] / 4 else [0, 1])
    assert 3 not in panel_order(rows, rise)  # without a price: bought at once


def test_it_orders_the_telling_panel_and_stops_where_beliefs_are_sure():
    world = cases.open_world(4000, 0)
    made = learn(
        cases.rows_of(world),
        cases.objective("f1", world),
        {"windows": 10, "linear": False},
        np.array([0.0, 0.4, 2.0]),
    )
    policies = CascadePolicies.from_arrays(made.arrays, cases.layout_of(world))
    new = cases.open_world(4000, 1)
    episodes = roll_out(policies, new, uniforms=np.zeros((4000, 3)))
    assert episodes.verdict is not None
    said, ill = episodes.verdict[..., 1] > 0.5, new.label == 1
    f1 = 2 * (said & ill).sum(axis=1) / (said.sum(axis=1) + ill.sum())
    assert not episodes.acquired[0].any()
    assert episodes.acquired[1, new.values[:, 0] == 1, 0].all()
    assert not episodes.acquired[1, :, 1].any()
    assert episodes.cost[1].mean() < 0.42
    assert (f1[1:] > 0.9).all()


def test_a_panel_inside_another_is_not_in_the_order():
    world = cases.nested_world(1200, 2)
    rows = cases.rows_of(world)
    assert sorted(panel_order(rows, permutation_importance(rows))) == [1, 3]
    made = learn(
        cases.rows_of(world),
        cases.objective("cost", world),
        {"windows": 4, "linear": False},
        np.array([np.inf]),
    )
    shown = made.arrays["sets"][0]
    assert shown[0].tolist() == [False, False, True, False]
    assert len(made.arrays["sets"]) == 1
    assert not shown[:, 0].any()
