"""Trees and a network that are stacked: what each sees of a world, and the policies as stored."""

from typing import Any

import numpy as np
import pytest
from frugal.acquire.kinds import Learned
from frugal.acquire.policies import fixed_set
from frugal.acquire.policies.cascade import CascadePolicies
from frugal.acquire.policies.stacked import build, learn
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.tree_sets import SetBeliefs, Stack, fit_network, log_loss
from frugal.core.errors import DataError
from frugal.core.world import World
from frugal.learn.masked_networks import MaskedNetworks, NormalScores

from tests.unit import tree_agent_cases as cases

pytestmark = pytest.mark.trains

NETWORK: dict[str, Any] = {"copies": 4, "hidden": 16, "layers": 1, "epochs": 8, "batch": 128}
NETWORK |= {"learning_rate": 0.01, "weight_decay": 0.001}
GAINS = {"trees": 20, "leaves": 4, "learning_rate": 0.2, "min_leaf": 40, "ridge": 1.0}
ACTING = {
    "cascade": {"kind": "cascade"} | cases.CASCADE,
    "lattice": {"kind": "lattice", "copies": 2, "sets": 20, "price_weights": 3, "gains": GAINS},
}


def linear_world(n: int, seed: int) -> World:
    """One free column and twelve in four panels, whose sum tells the label: trees see steps."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 13))
    label = (values.sum(axis=1) + values[:, 0] + rng.logistic(size=n) > 0).astype(np.int64)
    provides = np.zeros((4, 13), dtype=bool)
    for k in range(4):
        provides[k, 1 + 3 * k : 4 + 3 * k] = True
    return cases.of_values(values, provides, label, [1.0] * 4)


def settings(acting: str) -> dict:
    return {
        "kind": "stacked",
        "boosting": cases.BOOSTING,
        "network": NETWORK,
        "acting": ACTING[acting],
    }


def learnt(world: World, acting: str, budgets: list[float]) -> Learned:
    rows = cases.rows_of(world)
    return learn(rows, cases.objective("f1", world), settings(acting), np.array(budgets))


def test_the_stack_loses_less_than_trees_where_a_sum_states_and_no_more_where_a_step_does():
    world = linear_world(1500, 0)
    rows = cases.rows_of(world)
    stacked = fit_network(rows, NETWORK).stacked(2)
    for one in (frozenset({0}), frozenset(range(4))):
        alone = log_loss(SetBeliefs(rows, 2).of(one).log_odds, world.label)
        assert log_loss(stacked.of(one).log_odds, world.label) < alone - 0.005
    steps = cases.rows_of(cases.open_world(3000, 0))
    beside = fit_network(steps, NETWORK).stacked(2)
    whole = frozenset({0, 1})
    both, alone = (
        log_loss(beliefs.of(whole).log_odds, steps.world.label)
        for beliefs in (beside, SetBeliefs(steps, 2))
    )
    assert both < alone + 0.003


def test_a_row_is_stated_of_by_networks_that_did_not_see_it():
    """With labels drawn by chance nothing can be known of a row but its own label."""
    rng = np.random.default_rng(3)
    world = cases.of_values(
        rng.normal(size=(300, 8)), np.eye(8, dtype=bool)[1:], rng.integers(2, size=300), [1.0] * 7
    )
    hungry = NETWORK | {"epochs": 60, "weight_decay": 0.0, "hidden": 64, "layers": 3, "copies": 8}
    folded = fit_network(cases.rows_of(world), hungry)
    whole = frozenset(range(7))
    said = folded.log_odds_of(whole)[0]
    seen = folded.network.log_odds(folded.rows.visible(whole))
    assert np.corrcoef(seen, world.label)[0, 1] > 0.5
    assert np.corrcoef(said, world.label)[0, 1] < 0.2


@pytest.mark.parametrize("acting", ["cascade", "lattice"])
def test_a_front_pays_no_more_than_its_budgets_on_new_units(acting):
    budgets = [0.0, 1.0, 2.5]
    made = learnt(linear_world(2500, 0), acting, budgets)
    world = linear_world(3000, 1)
    policies = build(settings(acting), cases.layout_of(world), made.arrays)
    run = roll_out(policies, world, uniforms=np.zeros((len(world), 5)))
    assert run.verdict is not None
    paid = run.cost.mean(axis=1)
    assert np.allclose(paid, made.curve["acquisition_cost"], atol=0.15)
    said = run.verdict[..., 1] > 0.5
    hit = (said & (world.label == 1)).sum(axis=1)
    f1 = 2 * hit / (said.sum(axis=1) + world.label.sum())
    assert np.allclose(f1, made.curve["mean_return"], atol=0.05)
    assert f1[-1] > f1[0] + 0.05


def test_of_300_rows_it_costs_no_more_than_the_best_fixed_set():
    """A set for everyone is among its candidates: a window that holds every probability.

    Mean of five divisions of the rows, on 4,000 new units each: if both cost the same, the bound of
    two standard errors fails in 2.5 % of all seeds.
    """
    differences = []
    for seed in range(5):
        rows, new = linear_world(300, seed), linear_world(4000, 100 + seed)
        objective = cases.objective("cost", rows)
        fixed = {"panels": "best", "sets": 8, "linear": False}
        made = (
            learn(cases.rows_of(rows), objective, settings("cascade"), np.array([np.inf])),
            fixed_set.learn(cases.rows_of(rows), objective, fixed, np.array([np.inf])),
        )
        layout, costs = cases.layout_of(new), []
        for learned in made:
            policy = CascadePolicies.from_arrays(learned.arrays, layout)
            run = roll_out(policy, new, uniforms=np.zeros((len(new), 5)))
            assert run.verdict is not None
            wrong = run.verdict[0].argmax(axis=1) != new.label
            costs.append(cases.ERROR * wrong + run.cost[0])
        differences.append(costs[0] - costs[1])
    difference = np.concatenate(differences)
    assert difference.mean() < 2 * difference.std() / np.sqrt(len(difference))


@pytest.mark.parametrize("acting", ["cascade", "lattice"])
def test_stored_policies_act_alike_and_broken_ones_are_refused(acting):
    made = learnt(linear_world(800, 0), acting, [1.0, 4.0])
    world = linear_world(200, 1)
    layout = cases.layout_of(world)
    policies: Any = build(settings(acting), layout, made.arrays)
    again = build(settings(acting), layout, policies.to_arrays())
    first, second = (
        roll_out(each, world, uniforms=np.zeros((200, 5))) for each in (policies, again)
    )
    assert np.array_equal(first.acquired, second.acquired)
    broken: list[tuple[str, np.ndarray, str]] = [
        ("network.weights", np.zeros(2), "weights of the stack"),
        ("network.knots", -np.arange(13 * 101.0).reshape(13, 101), "knots that rise"),
        ("network.0.weight", np.full((6, 26, 16), np.nan, dtype=np.float32), "0.weight"),
    ]
    for name, wrong, words in broken:
        with pytest.raises(DataError, match=words):
            build(settings(acting), layout, dict(made.arrays) | {name: wrong})
    less = {k: v for k, v in made.arrays.items() if k != "network.0.bias"}
    with pytest.raises(DataError, match=r"0\.bias"):
        build(settings(acting), layout, less)


def test_normal_scores_keep_order_and_say_what_is_known():
    rng = np.random.default_rng(0)
    values = np.stack([np.exp(3 * rng.normal(size=500)), rng.integers(3, size=500) * 1.0], axis=1)
    values[::7, 0] = np.nan
    read = NormalScores.of(values).read(values)
    known = np.isfinite(values[:, 0])
    order = np.argsort(values[known, 0])
    assert (np.diff(read[known, 0][order]) >= 0).all()
    assert abs(read[known, 0].mean()) < 0.02
    assert abs(read[known, 0].std() - 0.97) < 0.03
    assert np.array_equal(read[:, 2:], np.isfinite(values))
    assert (read[~known, 0] == 0).all()
    assert len(np.unique(read[:, 1])) == 3  # one score for each of three values


def test_weights_stack_log_odds():
    network = MaskedNetworks(NormalScores(np.zeros((1, 2)), np.zeros((1, 2))), (), ())
    stack = Stack(network, np.array([0.5, 2.0, -1.0]))
    assert stack.log_odds(np.array([1.0, 30.0]), np.array([3.0, 0.0])).tolist() == [-0.5, 20.0]
