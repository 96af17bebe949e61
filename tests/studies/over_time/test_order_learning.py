"""Policies over time are learned: optimal in a world written out, judged on units left out."""

from collections import defaultdict
from dataclasses import replace

import frugal
import numpy as np
import pytest
from frugal.core.errors import ConfigError
from frugal.studies.over_time.history_fits import TimedFit, ordered_sets
from frugal.studies.over_time.order_learning import learn_guarded, learn_orders
from frugal.studies.over_time.orders import follow, plan
from frugal.studies.over_time.records import TimedPolicy

from tests.oracles import two_windows as world
from tests.studies.over_time.test_over_time import ATOMS, COSTS, RECORDS, records_of
from tests.studies.over_time.test_over_time_files import WARDS

FACTOR = 3.0  # of the costs of errors: with it the best policy orders, and stops early
DEAR = replace(COSTS, errors=FACTOR * COSTS.errors)
CHANCE = np.array([o.p for o in ATOMS])
SETS = np.array(world.SETS)


def drawn(n: int, seed: int):
    """Records of units drawn from the world."""
    rows = np.random.default_rng(seed).choice(len(ATOMS), n, p=CHANCE / CHANCE.sum())
    return replace(RECORDS.take(rows), cluster=np.arange(n))


def spread(n: int):
    """Records of n units with the shares of the world, to one unit an outcome."""
    at = (np.arange(n) + 0.5) / n
    rows = np.searchsorted(np.cumsum(CHANCE / CHANCE.sum()), at)
    return replace(RECORDS.take(np.random.default_rng(0).permutation(rows)), cluster=np.arange(n))


def true_cost(policy: TimedPolicy) -> float:
    """Where every value can be had, and the decision is the best one on what was acquired."""
    full = records_of([o.x for o in ATOMS], [o.y for o in ATOMS])
    path = follow(full, policy, DEAR)
    labels = defaultdict(lambda: [0.0, 0.0])
    for k, windows in enumerate(path.windows):
        acquired = np.where(path.acquired[k], full.values[k], -1)[:windows]
        labels[windows, tuple(acquired.ravel())][full.label[k]] += CHANCE[k]
    errors = sum(min(world.MISSED * ill, world.ALARM * well) for well, ill in labels.values())
    return float(CHANCE @ DEAR.acquisition(path.acquired, path.windows) + FACTOR * errors)


@pytest.mark.parametrize("learner", ["trees", "network"])
def test_the_learned_policy_costs_at_most_1_percent_more_than_the_best_of_all(learner):
    """The plan of the world costs 22 % more than the best policy."""
    fit = TimedFit(learner=learner)
    policy, _ = learn_orders(spread(40_000), DEAR, SETS, fit, np.random.default_rng(0))
    best = world.least_cost(FACTOR)
    assert best - 1e-9 <= true_cost(policy) <= 1.01 * best


def test_sets_that_few_records_hold_are_never_ordered():
    records = drawn(3_000, 1)
    rare = records.recorded.copy()
    rare[20:, 1, 1] = False
    values = np.where(rare, records.values, np.nan)
    records = replace(records, recorded=rare, values=values)
    policy, _ = learn_orders(records, DEAR, SETS, TimedFit(), np.random.default_rng(1))
    assert not policy.allowed[1][policy.sets[:, 1]].any()
    assert policy.allowed[:, 0].all()
    assert not follow(records, policy, DEAR).ordered[:, 1, 1].any()


@pytest.mark.parametrize("learner", ["trees", "network"])
def test_the_guard_follows_a_plan_where_orders_are_not_shown_to_save(learner):
    """Labels of chance lead to no orders; those of the world to a policy no dearer than a plan.

    The best plan costs 10 % more than the best policy of all, the learned one 8 %.
    """
    records, fit = drawn(10_000, 3), TimedFit(folds=2, learner=learner)
    plans = [plan(records, "nothing"), plan(records, "blood", {0: ["blood"]})]
    learned = learn_guarded(records, DEAR, plans, fit, np.random.default_rng(0))
    assert true_cost(learned) <= min(map(true_cost, plans))
    shuffled = np.random.default_rng(2).permutation(records.label)
    noise = replace(records, label=shuffled)
    learned = learn_guarded(noise, DEAR, plans, fit, np.random.default_rng(0))
    assert not follow(records, learned, DEAR).ordered.any()


def test_a_set_is_requested_of_records_that_held_all_before_it():
    record = records_of([[[None, None], [None, None]]], [0])
    ordered = plan(record, "gas, then blood", {0: ["gas"], 1: ["blood"]})
    contained, exact = ordered_sets([follow(record, ordered, COSTS)])
    assert contained.tolist() == [[False, False], [False, True]]
    assert exact.tolist() == [[False, True], [True, False]]


@pytest.fixture(scope="module")
def data():
    """The example's stays."""
    return frugal.load_over_time(WARDS)


def plans(data) -> list:
    """Plans of the example."""
    both = ["chemistry", "lactate"]
    return [
        frugal.order_plan(data, "nothing"),
        frugal.order_plan(data, "both once", {0: both}),
        frugal.order_plan(data, "chemistry once", {0: ["chemistry"]}),
    ]


def test_an_answer_includes_the_learned_policy_and_changes_no_other(data):
    alone = frugal.over_time(data, plans(data), method="linear")
    answer = frugal.over_time(data, plans(data), method="linear", learned=True)
    rows = answer.outcomes.set_index("policy")
    assert list(rows.index)[-2:] == ["learned", "recorded practice"]
    same = rows.drop(index="learned").reset_index()
    np.testing.assert_array_equal(same["cost"], alone.outcomes["cost"])
    parts = rows[["acquisition", "errors"]].sum(axis=1)
    np.testing.assert_allclose(rows["cost"], parts, rtol=1e-9)
    assert answer.learned is not None
    assert answer.learned.sets.tolist() == [[False, False], [True, False], [True, True]]
    assert alone.learned is None
    named = frugal.order_plan(data, "learned")
    with pytest.raises(ConfigError, match="none 'recorded practice' or 'learned'"):
        frugal.over_time(data, [named])


def test_labels_of_chance_are_no_gain(data):
    """Judged on the units that it learned from, a policy would seem to save errors.

    False alarms: 1e-4, where the saving against no orders is normal.
    """
    shuffled = np.random.default_rng(2).permutation(data.records.label)
    noise = replace(data, records=replace(data.records, label=shuffled))
    rows = frugal.over_time(noise, plans(data), method="linear", learned=True).outcomes
    saving = dict(zip(rows["policy"], rows["saving"], strict=True))
    width = dict(zip(rows["policy"], rows["ci_high"] - rows["ci_low"], strict=True))
    assert saving["learned"] - saving["nothing"] < 3.72 * width["learned"] / 3.92
