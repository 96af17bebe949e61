"""Cascades of boosted trees on worlds whose best cascade is known, and as stored policies."""

from dataclasses import replace

import numpy as np
import pytest
from frugal.acquire.policies import cascade, permutation
from frugal.acquire.policies.cascade import CascadePolicies, learned_cascades
from frugal.acquire.train.cascade import Sets, Walk, fit_cascades
from frugal.acquire.train.payoff import Objective, best_window
from frugal.acquire.train.tree_sets import belief_edges
from frugal.core.errors import DataError
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit import tree_agent_cases as cases
from tests.unit.tree_agent_cases import run, verdict_ill

pytestmark = pytest.mark.trains

BUDGETS = np.array([0.05, 0.33, 1.0, 2.0])


def policies_of(found, world):
    cascades, beliefs = found
    made = learned_cascades(cascades, beliefs)
    return CascadePolicies.from_arrays(made.arrays, cases.layout_of(world))


@pytest.fixture(scope="module")
def cheapest():
    world = cases.open_world(4000, 0)
    return fit_cascades(
        cases.rows_of(world),
        cases.objective("cost", world),
        settings=cases.CASCADE,
        budgets=np.array([np.inf]),
    )


@pytest.fixture(scope="module")
def front():
    world = cases.open_world(4000, 0)
    return fit_cascades(
        cases.rows_of(world), cases.objective("f1", world), settings=cases.CASCADE, budgets=BUDGETS
    )


def test_the_cheapest_cascade_orders_the_telling_panel_for_open_units_alone(cheapest):
    world = cases.open_world(4000, 1)
    (cascade,), _ = cheapest
    assert cascade.path == (frozenset(), frozenset({0}))
    episodes = run(policies_of(cheapest, world), world)
    np.testing.assert_array_equal(episodes.acquired[0, :, 0], world.values[:, 0] == 1)
    wrong = (verdict_ill(episodes)[0] > 0.5) != world.label
    cost = episodes.cost[0] + cases.ERROR * wrong
    assert abs(cost.mean() - cases.BEST_COST) < 4 * cost.std() / len(cost) ** 0.5
    assert abs(-cascade.score - cases.BEST_COST) < 4 * cost.std() / len(cost) ** 0.5


def test_a_front_has_the_best_cascade_within_each_budget(front):
    world = cases.open_world(6000, 1)
    cascades, _ = front
    prices = [one.price for one in cascades]
    assert prices == sorted(prices)
    assert cascades[0].path == (frozenset(),) or cascades[0].price <= BUDGETS[0]
    affordable = [one for one in cascades if one.price <= 0.33][-1]
    assert affordable.path == (frozenset(), frozenset({0}))
    episodes = run(policies_of(front, world), world)
    said, ill = verdict_ill(episodes) > 0.5, world.label == 1
    f1 = 2 * (said & ill).sum(axis=1) / (said.sum(axis=1) + ill.sum())
    told = cases.ACCURACY
    true, rate = 0.1 * 0.98 + 0.3 * 0.5 * told, 0.1 * 0.98 + 0.3 * 0.5 + 0.6 * 0.02
    best = 2 * true / (0.1 + 0.3 * 0.5 + rate)
    assert abs(f1[cascades.index(affordable)] - best) < 0.02
    assert f1[cascades.index(affordable)] > f1[0] + 0.1


@pytest.mark.parametrize("learn", [cascade.learn, permutation.learn])
def test_sets_that_no_record_holds_are_not_ordered(learn):
    """Of two cheap panels that both tell, each record has one at most."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, 1200)
    values = label[:, None] + rng.normal(size=(1200, 3)) * [9, 1, 1]
    one = np.eye(2, dtype=bool)[rng.integers(0, 2, 1200)]
    world = cases.of_values(values, np.eye(3, dtype=bool)[1:], label, [0.01, 0.01], one)
    settings = {**cases.CASCADE, "windows": 4, "linear": False}
    objective = cases.objective("cost", world)
    made = learn(cases.rows_of(world), objective, settings, np.array([np.inf]))
    assert made.arrays["sets"].sum(axis=2).max() == 1


def test_plans_end_where_the_stored_policies_end(front):
    """Units that only judge are told by all trees, as any new unit is; panels are lacking."""
    world = cases.nested_world(1500, 3)
    rows = cases.rows_of(world, judging=500)
    found = fit_cascades(
        rows, cases.objective("f1", world), settings=cases.CASCADE, budgets=np.array([0.5, 2, 6])
    )
    policies = policies_of(found, world)
    episodes = run(policies, world)
    for k, one in enumerate(found[0]):
        walk = Walk.along(Sets.of(one.path, found[1]), range(len(one.path)))
        belief, price = walk.ends(one.low, one.high)
        judged = ~rows.learns
        np.testing.assert_allclose(episodes.cost[k, judged], price[judged])
        reading = policies.read(
            world.visible(np.arange(len(world)), episodes.acquired[k]), episodes.acquired[k]
        )
        told = policies.believe(
            np.broadcast_to(reading, (policies.members, *reading.shape)), episodes.acquired
        )[k, :, 1]
        np.testing.assert_allclose(told[judged], belief[judged], atol=1e-9)
        said = verdict_ill(episodes)[k] > 0.5
        np.testing.assert_array_equal(said[judged], belief[judged] >= one.threshold)


def test_free_panels_come_at_once_and_contained_ones_are_not_bought_after():
    world = cases.nested_world(1200, 4, missing=0.0)
    rows = cases.rows_of(world)
    assert rows.base == {2}
    assert rows.reduced(range(4)) == {1, 2, 3}
    cascades, beliefs = fit_cascades(
        rows, cases.objective("f1", world), settings=cases.CASCADE, budgets=np.array([3.0, 6.0])
    )
    for one in cascades:
        assert one.path[0] == {2}
        shown = [rows.columns(panels).sum() for panels in one.path]
        assert (np.diff(shown) > 0).all()
    episodes = run(policies_of((cascades, beliefs), world), world)
    assert episodes.acquired[..., 2].all()
    after = episodes.acquired[..., 0] & episodes.acquired[..., 1]
    assert not after.any() or any({0, 1} <= panels for one in cascades for panels in one.path)


def test_stored_cascades_read_back_act_alike_and_spoilt_ones_are_refused(front):
    world = cases.open_world(500, 2)
    cascades, beliefs = front
    arrays = dict(learned_cascades(cascades, beliefs).arrays)
    layout = cases.layout_of(world)
    one = CascadePolicies.from_arrays(arrays, layout)
    two = CascadePolicies.from_arrays(one.to_arrays(), layout)
    np.testing.assert_array_equal(run(one, world).acquired, run(two, world).acquired)
    np.testing.assert_array_equal(run(one, world).verdict, run(two, world).verdict)
    sets = arrays["sets"].copy()
    sets[-1, 0] = True
    sets[-1, 1] = False
    for changed, words in (
        ({"sets": sets}, "does not contain the one before"),
        ({"model": arrays["model"] + 50}, "names the model"),
        ({"threshold": arrays["threshold"] * 0}, "above 0"),
        ({"low": arrays["low"] - 2}, "'low'"),
    ):
        with pytest.raises(DataError, match=words):
            CascadePolicies.from_arrays(arrays | changed, layout)


def test_a_cascade_says_in_words_what_it_does(cheapest):
    (sentence,) = policies_of(cheapest, cases.open_world(10, 0)).sentences(["A", "B"])
    assert sentence.startswith("A if the risk is ")
    assert sentence.endswith("positive from 50 % on")


def test_sets_that_nobody_comes_to_are_not_stated(cheapest):
    policies = policies_of(cheapest, cases.open_world(10, 0))
    shut = replace(policies, low=np.ones_like(policies.low), high=np.ones_like(policies.high))
    assert shut.sentences(["A", "B"]) == ["no panel; positive from 50 % on"]


def test_the_reason_of_a_state_is_the_window_that_its_decision_follows_from(front):
    world = cases.open_world(400, 1)
    policies, rng = policies_of(front, world), np.random.default_rng(0)
    acquired, available = (rng.random((2, len(world), world.panels)) < 0.4) | [[[False]], [[True]]]
    values = world.visible(np.arange(len(world)), acquired)
    every = [
        np.broadcast_to(part, (policies.members, *part.shape))
        for part in (policies.read(values, acquired), acquired, available)
    ]
    law, belief = policies.decide(*every), policies.believe(*every[:2])
    for k in range(policies.members):
        layout = cases.layout_of(world)
        why = policies.why(k, values, belief[k], acquired, available, law[k], layout)
        stops = [one.endswith(("nothing more is bought", "no further panel")) for one in why]
        assert stops == (law[k, :, -1] == 1).tolist()
        for one, risk in zip(why, 100 * belief[k, :, 1], strict=True):
            if one.startswith("risk "):
                assert one.startswith(f"risk {risk:.3g} %")
            if "is below" in one or ", below" in one:
                assert risk < float(one.rsplit("below ", 1)[1].split(" %")[0]) * 1.01


@settings(max_examples=60)
@given(st.integers(0, 10_000))
def test_the_best_window_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    belief, gain = rng.random(n).round(1), rng.normal(size=n)
    among, edges = rng.random(n) < 0.8, belief_edges(belief)
    low, high, total = best_window(gain, belief, edges, among)
    ends = np.concatenate([[0.0], edges, [np.inf]])

    def worth(a, b):
        return gain[among & (belief >= a) & (belief < b)].sum()

    best = max(0.0, max(worth(a, b) for i, a in enumerate(ends) for b in ends[i + 1 :]))
    assert abs(total - best) < 1e-9
    assert abs(worth(low, high) - best) < 1e-9


def test_payoffs_of_a_score_are_zero_sum_at_the_score_itself():
    rng = np.random.default_rng(0)
    label, belief = rng.integers(2, size=200), rng.random(200)
    sought = Objective.of("f1", label, np.zeros((2, 2)))
    score, threshold = sought.judged(belief, np.zeros(200))
    said = belief >= threshold
    payoff = sought.payoff(score)
    worth = np.where(label == 1, payoff.hit, -payoff.alarm)[said].sum()
    assert abs(worth - score / 2 * label.sum()) < 1e-9


def test_a_known_panel_of_a_later_set_does_not_order_the_sets_before_it():
    """A unit whose last panel is known comes to the windows; units on the way keep their sets."""
    world = cases.nested_world(1200, 4, missing=0.0)
    found = fit_cascades(
        cases.rows_of(world),
        cases.objective("f1", world),
        settings=cases.CASCADE,
        budgets=np.array([6.0]),
    )
    policies = policies_of(found, world)
    first = np.zeros((1, 1, world.panels), dtype=bool)
    sets = np.zeros((1, 3, world.panels), dtype=bool)
    sets[0, 1, 0], sets[0, 2, :2] = True, True
    policies = replace(
        policies,
        sets=sets,
        model=np.zeros((1, 3), dtype=policies.model.dtype),
        low=np.full((1, 3), 0.4),
        high=np.full((1, 3), 0.6),
    )
    every = np.ones_like(first)
    second, begun = first.copy(), first.copy()
    second[..., 1], begun[..., 0] = True, True

    def ordered(risk, acquired, available=every):
        return int(policies.go_on(np.array([[risk]]), acquired, available)[0, 0].argmax())

    assert [ordered(risk, second) for risk in (0.1, 0.5, 0.9)] == [world.panels, 0, world.panels]
    assert [ordered(risk, begun) for risk in (0.1, 0.5)] == [world.panels, 1]
    assert ordered(0.5, first, ~begun) == 1  # the first set cannot be had
    assert ordered(0.1, second, ~begun) == world.panels


def test_a_weighted_cost_is_that_of_the_first_set_and_of_the_steps_from_it():
    none = np.zeros((2, 3))
    walk = Walk(none, none, [np.zeros(0)] * 2, none + 1)
    cost = np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
    assert walk.expected(cost, [0.5], [1.0]) == (2.0, 0.0)  # nobody comes to the second
    assert walk.expected(cost, [0.0], [1.0])[0] == 5.0
