"""The acquisition-conditioned oracle: what it looks up, the pair that is worth nothing alone."""

from typing import Any

import numpy as np
import pytest
from frugal.acquire.encoders import tabulate
from frugal.acquire.policies import permutation
from frugal.acquire.policies.cascade import CascadePolicies
from frugal.acquire.policies.greedy import GreedyPolicies, ReferenceUnits
from frugal.acquire.reading import completed_rows, completed_states
from frugal.acquire.train.payoff import best_within
from frugal.acquire.train.state_classifier import fit_state_classifier
from frugal.acquire.train.tree_sets import fit_masked
from frugal.config.learners import ClassifierSettings
from frugal.core.errors import DataError
from frugal.core.scaling import fit_scaling
from frugal.core.world import World
from frugal.learn.imputers.mean import MeanImputer
from frugal.studies.field.policies.aaco import (
    AacoPolicies,
    Neighbours,
    learn,
    next_panels,
    oracle_of,
    tried_sets,
)

from tests.unit import tree_agent_cases as cases
from tests.unit.tree_agent_cases import run

pytestmark = pytest.mark.trains

N = 3000
AACO: dict[str, Any] = {"copies": 6, "units": 2000, "neighbours": 60, "sets": 31}
AACO |= {"price_weights": 8}
CLASSIFIER: dict[str, Any] = {"hidden": [64, 64], "activation": "silu", "learning_rate": 3e-3}
CLASSIFIER |= {"batch": 256, "class_weights": [1.0, 1.0]}
TREES = {"trees": 120, "leaves": 12}
PAIR, ONE = [True, True, False], [False, False, True]


def xor_world(n: int, seed: int) -> World:
    """Group 0: ill where bits A and B differ; group 1: ill where C is; either told to 95 %."""
    rng = np.random.default_rng(seed)
    group, a, b, c = rng.integers(2, size=(4, n))
    label = np.where(group == 0, a ^ b, c) ^ (rng.random(n) < 0.05)
    values = np.stack([group, a, b, c], axis=1).astype(np.float64)
    return cases.of_values(values, np.eye(4, dtype=bool)[1:], label.astype(np.int64), [1.0] * 3)


def policies_on(world: World, name, budgets, **changed):
    made = learn(
        cases.rows_of(world, **TREES),
        cases.objective(name, world),
        AACO | changed,
        np.array(budgets),
    )
    layout = cases.layout_of(world)
    count = (AACO | changed)["neighbours"]
    return AacoPolicies.from_arrays(made.arrays, layout, neighbours=count), made


@pytest.fixture(scope="module")
def cheapest():
    return policies_on(xor_world(N, 0), "cost", [np.inf])


def test_it_finds_the_pair_that_is_worth_nothing_alone(cheapest):
    """Its cost is that of the best rule: both bits for group 0, the third for group 1."""
    policies, made = cheapest
    new = xor_world(N, 1)
    episodes = run(policies, new)
    assert episodes.verdict is not None
    first = new.values[:, 0] == 0
    wanted = np.where(first[:, None], PAIR, ONE)
    assert (episodes.acquired[0] == wanted).all(axis=1).mean() > 0.97
    wrong = (episodes.verdict[0, :, 1] > 0.5) != (new.label == 1)
    cost = episodes.cost[0] + cases.ERROR * wrong
    best = first.mean() * 2 + (1 - first.mean()) + 0.05 * cases.ERROR
    error = 4 * cost.std() / N**0.5
    assert abs(cost.mean() - best) < error + 0.05
    assert -made.curve["mean_return"][0] == pytest.approx(best, abs=error + 0.05)


def test_single_steps_by_the_same_trees_never_find_it(cheapest):
    """Each bit of the pair alone gains nothing, so that one who looks one panel ahead stops."""
    policies, _ = cheapest
    oracle, new = policies.oracle, xor_world(500, 2)
    ahead = Neighbours(
        oracle.world,
        oracle.trees,
        oracle.scaling,
        np.eye(3, dtype=bool),
        oracle.payoff,
        oracle.count,
    )
    greedy = AacoPolicies(ahead, policies.base, policies.weight, policies.threshold)
    bought = run(greedy, new).acquired[0]
    first = new.values[:, 0] == 0
    assert bought[first, :2].all(axis=1).mean() < 0.05
    assert bought[~first, 2].mean() > 0.97


def test_one_order_for_all_and_greedy_information_miss_it():
    """The order by its own trees, the other by a classifier that can use the pair if it has it."""
    world, new = xor_world(N, 0), xor_world(N, 1)
    first = new.values[:, 0] == 0
    made = permutation.learn(
        cases.rows_of(world, **TREES),
        cases.objective("cost", world),
        {"windows": 12, "linear": False},
        np.array([np.inf]),
    )
    one_order = CascadePolicies.from_arrays(made.arrays, cases.layout_of(world))
    imputer = MeanImputer(fit_scaling(world.values))
    states = completed_states(imputer, world)
    classifier = fit_state_classifier(
        world,
        states,
        settings=ClassifierSettings.of(CLASSIFIER),
        updates=1500,
        input_bound=5.0,
        rng=np.random.default_rng(0),
    )
    units = ReferenceUnits.of(tabulate(states, N, 3, max_gib=0.1), classifier)
    greedy = GreedyPolicies(
        units, classifier, imputer, world.action_cost, 40, np.array([0.01]), np.array([0.5])
    )
    whole = completed_rows(imputer, new.values[first])
    right = (classifier.belief(whole)[:, 1] > 0.5) == (new.label[first] == 1)
    assert right.mean() > 0.85  # it could use the pair
    for policies in (one_order, greedy):
        bought = run(policies, new).acquired[0]
        assert bought[first, :2].all(axis=1).mean() < 0.1


def test_a_front_pays_no_more_than_its_budgets_and_gains_with_them():
    policies, made = policies_on(xor_world(N, 0), "f1", [0.0, 1.0, 3.0])
    new = xor_world(N, 1)
    episodes = run(policies, new)
    assert episodes.verdict is not None
    said, ill = episodes.verdict[..., 1] > 0.5, new.label == 1
    f1 = 2 * (said & ill).sum(axis=1) / (said.sum(axis=1) + ill.sum())
    price = episodes.cost.mean(axis=1)
    assert len(f1) == 3
    assert (np.diff(price) > 0).all()
    assert (price < np.array([0.0, 1.0, 3.0]) + 0.05).all()
    assert f1[-1] > 0.9 > f1[0]
    assert np.abs(f1 - made.curve["mean_return"]).max() < 0.05


def test_rises_are_means_over_neighbours_that_have_the_set_and_are_not_the_unit():
    """Against plain loops, in a world with gaps and panels inside others."""
    world = cases.nested_world(300, 0)
    own, beliefs = np.arange(300), fit_masked(cases.rows_of(world), copies=2)
    oracle = oracle_of(beliefs, own, None, AACO | {"neighbours": 7})
    known = np.array([False, False, True, False])
    seen = oracle.world.visible(own, oracle.world.available & known)
    near = oracle.nearest(seen, own)
    assert near.shape == (300, 7)
    assert not (near == own[:, None]).any()
    centre, scale = oracle.scaling.centre, oracle.scaling.scale
    here = (oracle.world.values - centre) / scale
    rises, further = oracle.rises(near, known)
    before = oracle.loss(known)
    for i in range(0, 300, 37):
        shown = np.flatnonzero(~np.isnan(seen[i]))
        parts = np.where(np.isnan(here), 1 + here[i] ** 2, (here - here[i]) ** 2)[:, shown]
        distance = parts.sum(axis=1)
        distance[i] = np.inf
        assert set(near[i]) == set(np.argsort(distance)[:7])
        for k, more in enumerate(further):
            rows = [j for j in near[i] if oracle.world.available[j, more].all()]
            loss = oracle.loss(known | more)
            wanted = np.mean([loss[j] - before[j] for j in rows]) if rows else np.inf
            assert rises[i, k] == pytest.approx(wanted)


def test_panels_that_a_unit_cannot_have_or_that_add_nothing_are_never_bought():
    world = cases.nested_world(1200, 3)
    policies, _ = policies_on(world, "f1", [1.0, 3.0, 6.0])
    episodes = run(policies, world)
    assert not (episodes.acquired & ~world.available).any()
    assert (episodes.acquired[..., 2] == world.available[:, 2]).all()  # it has no price
    taken = episodes.action == 0
    both = episodes.acquired[episodes.member[taken], episodes.row[taken], 1]
    order = episodes.step[taken]
    later = episodes.action == 1
    at = {
        (k, i): s
        for k, i, s in zip(
            episodes.member[later], episodes.row[later], episodes.step[later], strict=True
        )
    }
    for k, i, s, b in zip(episodes.member[taken], episodes.row[taken], order, both, strict=True):
        assert not b or at[k, i] > s  # the larger may follow the smaller, never the other way


def test_all_sets_if_they_are_few_else_single_ones_all_and_some():
    rows = cases.rows_of(cases.cell_world(200, 0))
    assert len(tried_sets(rows, most=7)) == 7
    some = tried_sets(rows, most=5)
    assert len(some) <= 5
    assert {tuple(one) for one in np.eye(3, dtype=bool)} < {tuple(one) for one in some}
    assert (True, True, True) in {tuple(one) for one in some}


def test_equal_states_decide_alike_and_nothing_is_bought_at_any_price(cheapest):
    policies, _ = cheapest
    world = xor_world(40, 5)
    none, can = np.zeros((40, 3), dtype=bool), np.ones((40, 3), dtype=bool)
    seen, stranger = world.visible(np.arange(40), none), np.full(40, -1)
    panel = next_panels(policies.oracle, seen, none, can, np.ones(40), stranger)
    for group in (0, 1):
        assert len(set(panel[world.values[:, 0] == group])) == 1
    dear = next_panels(policies.oracle, seen, none, can, np.full(40, 1e6), stranger)
    assert (dear == -1).all()


def test_stored_oracles_read_back_act_alike_and_spoilt_ones_are_refused(cheapest):
    policies, made = cheapest
    world, layout = xor_world(300, 3), cases.layout_of(xor_world(10, 0))
    again = AacoPolicies.from_arrays(policies.to_arrays(), layout, neighbours=60)
    np.testing.assert_array_equal(run(policies, world).acquired, run(again, world).acquired)
    for changed, words in (
        ({"counts": made.arrays["counts"] + 1}, "there are"),
        ({"fold": made.arrays["fold"] + 9}, "'fold'"),
        ({"label": made.arrays["label"] + 2}, "'label'"),
        ({"weight": -made.arrays["weight"]}, "'weight'"),
    ):
        with pytest.raises(DataError, match=words):
            AacoPolicies.from_arrays(made.arrays | changed, layout, neighbours=60)


def test_the_best_rule_within_each_budget_is_taken_once():
    score, price = np.array([0.1, 0.5, 0.5, 0.9]), np.array([0.0, 1.0, 0.8, 5.0])
    assert best_within(score, price, np.array([0.5, 1.0, 2.0, 5.0])) == [0, 2, 3]
    assert best_within(score, price, np.array([-1.0])) == [0]
