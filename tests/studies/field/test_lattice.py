"""Lattices of sets of panels against exact dynamic programming, and as stored policies."""

import numpy as np
import pytest
from frugal.acquire.train.tree_sets import fit_masked, hull
from frugal.core.errors import DataError
from frugal.learn.cross_fitted_trees import joined, split_ensemble
from frugal.studies.field.policies.lattice import (
    NEARBY,
    LatticePolicies,
    fit_lattice,
    lattice_sets,
    learn,
)

from tests.unit import tree_agent_cases as cases
from tests.unit.tree_agent_cases import run, verdict_ill

pytestmark = pytest.mark.trains

N = 6000


def policies_on(world, name, budgets, **changed):
    made = learn(
        cases.rows_of(world, **changed),
        cases.objective(name, world),
        cases.LATTICE,
        np.array(budgets),
    )
    return LatticePolicies.from_arrays(made.arrays, cases.layout_of(world)), made


@pytest.fixture(scope="module")
def cheapest():
    return policies_on(cases.cell_world(N, 0), "cost", [np.inf], trees=150, leaves=16)


def test_its_cost_is_that_of_exact_dynamic_programming(cheapest):
    """Told out of fold, and paid by new units; two panels tell nothing alone and all together."""
    policies, made = cheapest
    world, best = cases.cell_world(N, 1), cases.best_cell_cost()
    episodes = run(policies, world)
    said = verdict_ill(episodes)[0] > 0.5
    risk = cases.cell_risk(world.values.astype(int))
    cost = episodes.cost[0] + cases.ERROR * np.where(said, 1 - risk, risk)
    error = 4 * cost.std() / N**0.5
    assert best - error < cost.mean() < best + error + 0.02
    assert abs(-made.curve["mean_return"][0] - best) < error + 0.05
    nothing = cases.ERROR * np.minimum(risk, 1 - risk)  # by who knows all and pays nothing
    assert cost.mean() > nothing.mean()


def test_a_front_pays_no_more_than_its_budgets_and_gains_with_them():
    budgets = [0.0, 0.3, 0.8, 1.6]
    world = cases.cell_world(N, 0)
    policies, made = policies_on(world, "f1", budgets)
    new = cases.cell_world(N, 2)
    episodes = run(policies, new)
    said, ill = verdict_ill(episodes) > 0.5, new.label == 1
    f1 = 2 * (said & ill).sum(axis=1) / (said.sum(axis=1) + ill.sum())
    price = episodes.cost.mean(axis=1)
    assert len(f1) >= 3
    assert (np.diff(price) > 0).all()
    assert (price < max(budgets) + 0.05).all()
    assert f1[-1] > f1[0] + 0.02
    assert np.abs(f1 - made.curve["mean_return"]).max() < 0.05


def test_panels_that_a_unit_cannot_have_or_that_add_nothing_are_never_bought():
    world = cases.nested_world(1500, 3)
    policies, _ = policies_on(world, "f1", [1.0, 3.0, 6.0])
    episodes = run(policies, world)
    assert not (episodes.acquired & ~world.available).any()
    assert (episodes.acquired[..., 2] == world.available[:, 2]).all()  # it has no price
    first = (episodes.action < 4) & (episodes.step == 0)
    has = world.available[episodes.row[first], 2]
    assert (episodes.action[first][has] == 2).all()
    second = episodes.acquired[..., 0] & episodes.acquired[..., 1]
    assert not second.any()


def test_all_sets_or_the_best_that_single_steps_reach():
    rows = cases.rows_of(cases.nested_world(900, 5))
    beliefs = fit_masked(rows, copies=2)
    every = lattice_sets(beliefs, most=16)
    assert sorted(map(sorted, every)) == [[0, 2], [0, 2, 3], [1, 2], [1, 2, 3], [2], [2, 3]]
    some = lattice_sets(beliefs, most=4)
    assert every[0] == some[0] == {2}
    assert every[-1] == some[-1] == {1, 2, 3}
    for one in some[1:]:
        assert any(one - {p} in some for p in one - {2})


def test_stored_lattices_read_back_act_alike_and_spoilt_ones_are_refused(cheapest):
    policies, made = cheapest
    world, layout = cases.cell_world(500, 3), cases.layout_of(cases.cell_world(10, 0))
    again = LatticePolicies.from_arrays(policies.to_arrays(), layout)
    np.testing.assert_array_equal(run(policies, world).acquired, run(again, world).acquired)
    np.testing.assert_array_equal(verdict_ill(run(policies, world)), verdict_ill(run(again, world)))
    arrays = dict(made.arrays)
    first = arrays["sets"].copy()
    first[0] = True
    for changed, words in (
        ({"sets": first}, "does not contain the first one"),
        ({"gains": arrays["gains"] + 9}, "allowed are 0 alone"),
        ({"counts": arrays["counts"] + 1}, "trees of gains; there are"),
        ({"weight": -arrays["weight"]}, "'weight'"),
    ):
        with pytest.raises(DataError, match=words):
            LatticePolicies.from_arrays(arrays | changed, layout)


def test_ensembles_that_are_joined_come_apart_as_they_were(cheapest):
    policies, _ = cheapest
    parts = split_ensemble(policies.trees, policies.counts.ravel())
    whole = joined(parts)
    for name, array in policies.trees.to_arrays().items():
        np.testing.assert_array_equal(whole.to_arrays()[name], array)


def test_a_rule_for_a_cost_weighs_money_as_it_is():
    world = cases.cell_world(900, 0)
    rules, *_ = fit_lattice(
        cases.rows_of(world),
        cases.objective("cost", world),
        settings=cases.LATTICE,
        budgets=np.array([0.0]),
    )
    assert [one.weight for one in rules] == [1.0]


def test_nearby_worths_lie_around_the_one_that_gains_are_learnt_for():
    np.testing.assert_allclose(NEARBY * NEARBY[::-1], 1.0)


def test_the_hull_holds_the_sets_that_are_best_for_some_worth_of_money():
    """Against a grid of worths; whole numbers, so that prices and losses tie."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        sets = [frozenset([k]) for k in range(8)]
        price = dict(zip(sets, rng.integers(0, 6, 8).astype(float).tolist(), strict=True))
        loss = dict(zip(sets, rng.integers(0, 6, 8).astype(float).tolist(), strict=True))
        worths = np.geomspace(0.01, 100, 4001)[:, None]
        total = [loss[s] for s in sets] + worths * [price[s] for s in sets]
        best = {(price[sets[k]], loss[sets[k]]) for k in total.argmin(axis=1)}
        found = hull(loss, price)
        assert [(price[s], loss[s]) for s in found] == sorted(best)
