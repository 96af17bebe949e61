"""The independent ways to a cover: all 2^d states, HiGHS, greedy with its bound; and repair."""

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.studies.recourse.accuracy import is_feasible, repair_answers
from frugal.studies.recourse.instance import CoverInstance
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers
from frugal.studies.recourse.worlds import sample_world, variant_design
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.recourse.cover_cases import paper_example, random_case
from tests.studies.recourse.cover_greedy import greedy_covers
from tests.studies.recourse.cover_integer_program import solve_programs
from tests.studies.recourse.cover_state_program import state_of, state_table
from tests.studies.recourse.covers import cheapest_sets, working_sets

PLENTY = 10**7


def _world(variant, draws, seed):
    design = variant_design(
        variant, draws=draws, feature_probability=0.68, actions=100, action_probability=0.5
    )
    return sample_world(design, np.random.default_rng(seed))


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_state_table_counts_every_set_of_least_cost(seed):
    features, group, instance = random_case(seed, amounts=False)
    for u, g in enumerate(group):
        table = state_table(instance, int(g))
        state = state_of(instance.deficit(features))[u]
        least, optimal, _ = cheapest_sets(
            features[u], instance.thresholds, instance.provides, instance.cost, instance.access[g]
        )
        assert table.sets[state] == len(optimal)
        assert table.cost[state] == (np.inf if least is None else pytest.approx(float(least)))


def test_every_unit_of_a_world_of_20_features_agrees_with_all_its_states():
    world = _world("dim_20", 100_000, 11)
    covers = cheapest_covers(world.features, world.group, world.instance, max_nodes=PLENTY)
    table = state_table(world.instance, 0)
    state = state_of(world.instance.deficit(world.features))
    assert len(state) > 74_000
    assert (table.cost[state] == covers.cost).all()
    assert (table.sets[state] == covers.optima).all()  # no action is free here


def test_state_table_refuses_what_it_cannot_hold():
    one = np.ones((1, 1), dtype=bool)
    wide = CoverInstance(np.ones(1), np.ones((1, 23), dtype=bool), np.ones(23, np.int64), one)
    with pytest.raises(DataError, match="23 features; all 2\\^d states fit for at most 22"):
        state_table(wide, 0)
    part = CoverInstance(np.ones(1), np.ones((1, 1), dtype=np.int64), np.array([2]), one)
    with pytest.raises(DataError, match="meets a threshold only in part"):
        state_table(part, 0)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("amounts", [False, True])
def test_highs_finds_the_same_costs_and_numbers_of_optima(seed, amounts):
    features, group, instance = random_case(seed, amounts=amounts, units=3)
    covers = cheapest_covers(features, group, instance, max_nodes=PLENTY)
    programs = solve_programs(features, group, instance, most_optima=50)
    np.testing.assert_allclose(programs.cost, covers.cost, atol=1e-9)
    assert (programs.optima == covers.optima).all()


@pytest.mark.parametrize(("variant", "units"), [("dim_50", 6), ("dim_100", 1)])
def test_highs_agrees_on_units_of_many_features(variant, units):
    world = _world(variant, 600, 3)
    covers = cheapest_covers(world.features, world.group, world.instance, max_nodes=PLENTY)
    programs = solve_programs(
        world.features[:units], world.group[:units], world.instance, most_optima=3
    )
    assert (programs.cost == covers.cost[:units]).all()
    assert (programs.optima == covers.optima[:units]).all()


@settings(max_examples=80)
@given(seed=st.integers(0, 2**32))
def test_greedy_is_feasible_and_within_harmonic_bound(seed):
    features, group, instance = random_case(seed, amounts=False)
    exact = cheapest_covers(features, group, instance, max_nodes=PLENTY)
    greedy = greedy_covers(features, group, instance)
    assert (np.isfinite(greedy.cost) == exact.coverable).all()
    can = exact.coverable
    assert is_feasible(features[can], group[can], greedy.chosen[can], instance).all()
    assert (greedy.cost[can] >= exact.cost[can] - 1e-9).all()
    assert (greedy.lower_bound[can] <= exact.cost[can] + 1e-9).all()


def test_greedy_refuses_amounts():
    part = CoverInstance(
        np.ones(1), np.ones((1, 1), dtype=np.int64), np.array([2]), np.ones((1, 1), dtype=bool)
    )
    with pytest.raises(DataError, match="action 0 meets the threshold of feature 0 only in part"):
        greedy_covers(np.zeros((1, 1), dtype=np.int64), np.zeros(1, np.int64), part)


@settings(max_examples=120)
@given(seed=st.integers(0, 2**32), amounts=st.booleans())
def test_repair_adds_the_cheapest_actions_and_leaves_working_answers_alone(seed, amounts):
    features, group, instance = random_case(seed, amounts=amounts)
    given_sets = np.random.default_rng(seed).random((len(features), len(instance.cost))) < 0.3
    repaired = repair_answers(features, group, given_sets, instance, max_nodes=PLENTY)
    for u in range(len(features)):
        allowed = instance.access[group[u]]
        working = working_sets(features[u], instance.thresholds, instance.provides, allowed)
        answer = tuple(int(i) for i in np.flatnonzero(given_sets[u]))
        result = tuple(int(i) for i in np.flatnonzero(repaired.chosen[u]))
        assert repaired.coverable[u] == bool(working)
        assert repaired.was_feasible[u] == (answer in working)
        if answer in working:
            assert result == answer
        elif working:
            assert result in working
            usable = {i for i in answer if allowed[i]}
            least_extra = min(
                sum(instance.cost[i] for i in chosen if i not in usable)
                for chosen in working
                if usable <= set(chosen)
            )
            added = sum(instance.cost[i] for i in result if i not in usable)
            assert added <= least_extra + 1e-9
            assert instance.cost[list(result)].sum() <= (
                sum(instance.cost[i] for i in usable) + least_extra + 1e-9
            )
            assert not any(tuple(i for i in result if i != k) in working for k in result)
        else:
            assert result == ()
            assert np.isinf(repaired.cost_after[u])


def test_repair_says_what_it_costs():
    features, instance = paper_example()
    answer = np.zeros((1, 9), dtype=bool)
    answer[0, [2, 4]] = True  # feature 0 is still missing; action 7 gives it for 3
    repaired = repair_answers(
        features, np.zeros(1, dtype=np.int64), answer, instance, max_nodes=PLENTY
    )
    assert np.flatnonzero(repaired.added[0]).tolist() == [7]
    assert (repaired.cost_after - repaired.cost_before).tolist() == [3.0]
    assert repaired.cost_after.tolist() == [13.0]


def test_repair_takes_no_action_twice():
    """Two of a feature are needed and each action gives one: the kept one cannot give both."""
    instance = CoverInstance(
        np.array([1.0, 3.0]), np.array([[1], [1]]), np.array([2]), np.ones((1, 2), dtype=bool)
    )
    repaired = repair_answers(
        np.array([[0]]),
        np.zeros(1, dtype=np.int64),
        np.array([[True, False]]),
        instance,
        max_nodes=PLENTY,
    )
    assert repaired.chosen.tolist() == [[True, True]]
    assert repaired.cost_after.tolist() == [4.0]
