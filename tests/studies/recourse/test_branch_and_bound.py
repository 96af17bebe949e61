"""Exact covers: against every subset, the reference, bounds, ties, and the two ways of solving."""

from dataclasses import replace

import numpy as np
import pytest
from frugal.core.errors import DataError
from frugal.studies.recourse.instance import CoverInstance
from frugal.studies.recourse.solvers.bitsets import pack_bits
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers, unreachable_features
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.studies.recourse.cover_cases import paper_example, random_case, reference_cases
from tests.studies.recourse.covers import cheapest_sets

PLENTY = 10**7


def _agrees_with_enumeration(features, group, instance):
    covers = cheapest_covers(features, group, instance, max_nodes=PLENTY)
    for u in range(len(features)):
        least, optimal, lean = cheapest_sets(
            features[u],
            instance.thresholds,
            instance.provides,
            instance.cost,
            instance.access[group[u]],
        )
        chosen = tuple(int(i) for i in covers.action_set[u] if i >= 0)
        if least is None:
            assert np.isinf(covers.cost[u])
            assert (chosen, covers.optima[u], covers.unique[u]) == ((), 0, False)
        else:
            assert covers.cost[u] == pytest.approx(float(least), abs=1e-9)
            assert covers.lower_bound[u] == covers.cost[u]
            assert chosen in lean
            assert covers.optima[u] == len(lean)
            assert covers.unique[u] == (len(optimal) == 1)
    assert (covers.coverable == ~unreachable_features(features, group, instance).any(axis=1)).all()


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), amounts=st.booleans())
def test_agrees_with_trying_every_subset(seed, amounts):
    _agrees_with_enumeration(*random_case(seed, amounts=amounts))


@pytest.mark.parametrize("case", list(reference_cases()), ids=lambda case: f"d={case[0].shape[1]}")
def test_reference_costs_and_numbers_of_optima(case):
    features, instance, cost, optima = case
    group = np.zeros(len(features), dtype=np.int64)
    covers = cheapest_covers(features, group, instance, max_nodes=PLENTY)
    assert (covers.cost == cost).all()
    assert (covers.optima == optima).all()
    assert covers.proven.all()


def test_the_papers_example_costs_13_and_its_empty_action_breaks_uniqueness():
    features, instance = paper_example()
    covers = cheapest_covers(features, np.zeros(1, dtype=np.int64), instance, max_nodes=PLENTY)
    assert covers.cost.tolist() == [13.0]
    assert covers.action_set.tolist() == [[2, 4, 7]]
    assert covers.optima.tolist() == [1]
    assert covers.unique.tolist() == [False]


@pytest.mark.parametrize("case", list(reference_cases()), ids=lambda case: f"d={case[0].shape[1]}")
def test_many_units_at_once_get_the_answers_of_few(case):
    features, instance, cost, optima = case
    many = np.concatenate([features, features])  # 600 units: enough for the listed sets
    covers = cheapest_covers(many, np.zeros(600, dtype=np.int64), instance, max_nodes=PLENTY)
    assert (covers.nodes == 0).all()
    assert (covers.cost == np.tile(cost, 2)).all()
    assert (covers.optima == np.tile(optima, 2)).all()


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_listing_agrees_with_searching_where_lists_end_or_actions_are_free(seed):
    rng = np.random.default_rng(seed)
    a, d = 70, 66  # two words each way; 66 features need more actions than the list holds
    instance = CoverInstance(
        cost=rng.integers(int(rng.integers(0, 2)), 9, a).astype(float),
        provides=rng.random((a, d)) < 0.3,
        thresholds=(rng.random(d) < 0.9).astype(np.int64),
        access=np.ones((1, a), dtype=bool),
    )
    features = rng.random((600, d)) < rng.uniform(0.8, 1, (600, 1))
    group = np.zeros(600, dtype=np.int64)
    together = cheapest_covers(features, group, instance, max_nodes=PLENTY)
    apart = [
        cheapest_covers(features[part], group[part], instance, max_nodes=PLENTY)
        for part in (slice(0, 300), slice(300, 600))
    ]
    assert (together.cost == np.concatenate([c.cost for c in apart])).all()
    assert (together.optima == np.concatenate([c.optima for c in apart])).all()
    assert (together.unique == np.concatenate([c.unique for c in apart])).all()


def drawn(rng, a, d, costs, *, share, need):
    """Actions that provide up to 2 of each feature, of which `need` are needed; None: 1 of 1."""
    return CoverInstance(
        cost=rng.integers(*costs, a).astype(float),
        provides=rng.random((a, d)) < share if need is None else rng.integers(0, 3, (a, d)),
        thresholds=np.full(d, need or 1),
        access=np.ones((1, a), dtype=bool),
    )


@pytest.mark.parametrize("a", [1, 2, 18, 40])
@pytest.mark.parametrize("need", [None, 3])
@pytest.mark.parametrize("some_shut", [False, True])
def test_where_all_actions_are_free_every_set_costs_nothing(a, need, some_shut):
    rng, d, n = np.random.default_rng(a), 5, 30
    instance = drawn(rng, a, d, (0, 1), share=0.3, need=need)
    if some_shut:
        instance = replace(instance, access=rng.random((1, a)) < 0.5)
    features, group = (rng.random((n, d)) < 0.5).astype(np.int64), np.zeros(n, dtype=np.int64)
    covers = cheapest_covers(features, group, instance, max_nodes=PLENTY)
    reachable = ~unreachable_features(features, group, instance).any(axis=1)
    assert covers.coverable.tolist() == reachable.tolist()
    assert (covers.cost == np.where(reachable, 0, np.inf)).all()
    gain = np.vstack([instance.gain, np.zeros((1, d))])[covers.action_set].sum(axis=1)  # -1: none
    assert (gain >= instance.deficit(features))[reachable].all()


@pytest.mark.parametrize("amounts", [False, True])
def test_a_stopped_search_says_so_and_its_bound_holds(amounts):
    rng, d, n = np.random.default_rng(7), 12, 40
    instance = drawn(rng, 24, d, (5, 30), share=0.25, need=3 if amounts else None)
    features, group = np.zeros((n, d), dtype=np.int64), np.zeros(n, dtype=np.int64)
    features[np.arange(n), np.arange(n) % d] = 1
    exact = cheapest_covers(features, group, instance, max_nodes=PLENTY)
    stopped = cheapest_covers(features, group, instance, max_nodes=3)
    assert exact.proven.all()
    assert not stopped.proven.all()
    assert (stopped.lower_bound <= exact.cost).all()
    assert (stopped.cost >= exact.cost).all()
    assert not stopped.unique[~stopped.proven].any()
    assert (stopped.cost[stopped.proven] == exact.cost[stopped.proven]).all()


@pytest.mark.parametrize("amounts", [False, True])
def test_a_stopped_search_never_calls_a_tie_unique(amounts):
    rng, d, n = np.random.default_rng(2), 5, 60  # of few costs: most units have ties
    instance = drawn(rng, 14, d, (2, 5), share=0.4, need=2 if amounts else None)
    features, group = (rng.random((n, d)) < 0.4).astype(np.int64), np.zeros(n, dtype=np.int64)
    exact = cheapest_covers(features, group, instance, max_nodes=PLENTY)
    assert exact.finished.all()
    doubtful = 0
    for most in range(1, 60, 2):
        stopped = cheapest_covers(features, group, instance, max_nodes=most)
        assert (stopped.unique <= exact.unique).all()
        assert (stopped.optima[stopped.finished] == exact.optima[stopped.finished]).all()
        assert (stopped.finished <= stopped.proven).all()
        settled = stopped.settled
        assert (stopped.unique[settled] == exact.unique[settled]).all()
        assert settled[stopped.proven & (stopped.optima > 1)].all()
        doubtful += (stopped.proven & ~settled & ~exact.unique & exact.coverable).sum()
    assert doubtful > 0 or amounts  # the case is met: the cost is proven, a tie was not looked at


def test_units_that_do_not_fit_are_refused():
    features, instance = paper_example()
    with pytest.raises(DataError, match="units have 4 features, but the actions have 5"):
        cheapest_covers(features[:, :4], np.zeros(1, dtype=np.int64), instance, max_nodes=1)
    with pytest.raises(DataError, match="a unit is in group 1; groups run from 0 to 0"):
        cheapest_covers(features, np.ones(1, dtype=np.int64), instance, max_nodes=1)


@pytest.mark.parametrize(
    ("cost", "gain", "sentence"),
    [
        (-1.0, 1, "costs -1.0; a cost is a number from 0"),
        (np.nan, 1, "costs nan"),
        (1 / 3, 1, "at most 6 decimals"),
        (1e12, 1, "can be compared exactly"),
        (1.0, -1, "adds -1 to feature 0; an action never makes a feature worse"),
    ],
)
def test_an_instance_that_cannot_be_solved_exactly_is_refused(cost, gain, sentence):
    with pytest.raises(DataError, match=sentence):
        CoverInstance(
            np.array([cost]), np.array([[gain]]), np.array([1]), np.ones((1, 1), dtype=bool)
        )


def test_no_units_and_no_actions():
    nothing = CoverInstance(
        np.zeros(0), np.zeros((0, 2), dtype=bool), np.array([1, 1]), np.ones((1, 0), dtype=bool)
    )
    covers = cheapest_covers(
        np.array([[True, True], [True, False]]), np.zeros(2, np.int64), nothing, max_nodes=1
    )
    assert covers.cost.tolist() == [0.0, np.inf]
    none = cheapest_covers(
        np.zeros((0, 2), dtype=bool), np.zeros(0, np.int64), nothing, max_nodes=1
    )
    assert none.cost.shape == (0,)


@pytest.mark.parametrize(
    ("columns", "words"), [(0, 1), (1, 1), (64, 1), (65, 2), (128, 2), (129, 3), (200, 4)]
)
def test_bits_fill_as_few_words_as_hold_them(columns, words):
    member = np.random.default_rng(columns).random((3, columns)) < 0.5
    packed = pack_bits(member)
    assert packed.shape == (3, words)
    for row, bits in zip(packed.tolist(), member, strict=True):
        number = sum(word << (64 * k) for k, word in enumerate(row))
        assert number == sum(1 << int(j) for j in np.flatnonzero(bits))
