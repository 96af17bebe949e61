"""Rollouts: what a policy is shown, what is drawn and logged, and the contract it must keep."""

from dataclasses import replace

import numpy as np
import pytest
from frugal.acquire.policies.fixed import FixedPolicy
from frugal.acquire.policies.random import RandomPolicy
from frugal.acquire.rollouts import acquisition_order, roll_out, visited_sets
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.acquisition_worlds import overlapping_world, world_of
from tests.oracles.histories import all_sets, complete_histories, set_law
from tests.oracles.policies import ConstantPolicy, RecordingPolicy, TabulatedPolicy, ThresholdPolicy


def _policies(a, rng):
    return [
        RandomPolicy(0.4),
        FixedPolicy(np.arange(a) % 2 == 0),
        TabulatedPolicy(rng.random((2**a, a + 1))),
        ThresholdPolicy(0.0, 0.3, 0.9),
    ]


def _run(policy, world, available, rng):
    n, a = available.shape
    return roll_out(policy, replace(world, available=available), uniforms=rng.random((n, a + 1)))


@settings(max_examples=25)
@given(a=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_decision_log_replays_to_the_acquired_set_and_stays_within_what_is_available(a, seed):
    rng = np.random.default_rng(seed)
    world = overlapping_world(30, a, rng)
    available = rng.random((30, a)) < 0.6
    for policy in _policies(a, rng):
        episodes = _run(policy, world, available, rng)
        assert not (episodes.acquired[0] & ~available).any()
        assert (np.lexsort((episodes.step, episodes.row)) == np.arange(len(episodes.row))).all()
        for i in range(30):
            mine = episodes.row == i
            actions = episodes.action[mine].tolist()
            assert episodes.step[mine].tolist() == list(range(len(actions)))
            assert actions[-1] == a  # ends with "stop", and with it only
            assert a not in actions[:-1]
            assert len(set(actions)) == len(actions)
            assert set(actions[:-1]) == set(np.flatnonzero(episodes.acquired[0, i]).tolist())
            padding = [-1] * (a + 1 - len(actions))
            assert acquisition_order(episodes)[0, i].tolist() == actions[:-1] + padding
            for k, known in enumerate(visited_sets(episodes)[mine]):
                assert set(np.flatnonzero(known).tolist()) == set(actions[:k])


@settings(max_examples=15)
@given(a=st.integers(1, 4), seed=st.integers(0, 2**32 - 1))
def test_logged_probabilities_multiply_to_the_probability_of_the_history(a, seed):
    rng = np.random.default_rng(seed)
    world = overlapping_world(6, a, rng)
    available = rng.random((6, a)) < 0.7
    for policy in _policies(a, rng):
        episodes = _run(policy, world, available, rng)
        (order,) = acquisition_order(episodes)
        for i in range(6):
            law = dict(
                complete_histories(
                    policy, world.values[i], world.free_columns, world.provides, available[i]
                )
            )
            product = episodes.probability[episodes.row == i].prod()
            assert product > 0
            # a handful of float64 products and one division per decision
            assert product == pytest.approx(law[tuple(j for j in order[i].tolist() if j >= 0)])


def test_complete_cases_act_alike_in_the_blocked_and_in_the_full_world():
    rng = np.random.default_rng(1)
    world = overlapping_world(400, 4, rng)
    observed = rng.random((400, 4)) < 0.7
    complete = np.asarray(observed.all(axis=1))
    assert 40 < complete.sum() < 360
    uniforms = rng.random((400, 5))
    for policy in _policies(4, rng):
        blocked = roll_out(policy, replace(world, available=observed), uniforms=uniforms)
        full = roll_out(policy, world, uniforms=uniforms)
        assert (blocked.acquired[0, complete] == full.acquired[0, complete]).all()
        b, f = complete[blocked.row], complete[full.row]
        assert (blocked.action[b] == full.action[f]).all()
        assert (blocked.probability[b] == full.probability[f]).all()
        assert (blocked.acquired != full.acquired).any()


def test_a_policy_is_shown_free_and_acquired_columns_only_and_running_units_only():
    rng = np.random.default_rng(3)
    world = overlapping_world(5, 3, rng)
    available = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0]], dtype=bool)
    policy = RecordingPolicy(reads_values=True)
    _run(policy, world, available, rng)
    asked = [[0, 1, 3, 4], [0, 1, 4], [0]]  # only while something is left to acquire
    assert [len(v) for v, _, _ in policy.shown] == [len(rows) for rows in asked]
    for rows, (values, acquired, may) in zip(asked, policy.shown, strict=True):
        assert (may == available[rows]).all()
        for i, x, done in zip(rows, values, acquired, strict=True):
            for c in range(5):
                known = c == 0 or any(done[j] and c in (j + 1, j + 2) for j in range(3))
                assert x[c] == world.values[i, c] if known else np.isnan(x[c])


def test_a_blind_policy_is_shown_no_value_and_no_table_is_copied_for_it():
    world = overlapping_world(5, 3, np.random.default_rng(4))
    policy = RecordingPolicy(reads_values=False)
    _run(policy, world, np.ones((5, 3), dtype=bool), np.random.default_rng(0))
    assert len(policy.shown) == 3
    assert all(np.isnan(values).all() and values.shape == (5, 5) for values, _, _ in policy.shown)


def test_a_policy_reads_all_columns_unless_it_says_otherwise():
    assert not RandomPolicy(0.4).traits.columns_read(3).any()
    assert RecordingPolicy(reads_values=True).traits.columns_read(3).all()


def test_a_panel_whose_columns_are_all_revealed_may_still_be_acquired():
    values = np.array([[1.0, 2.0]])
    provides = np.array([[True, True], [True, False]])  # the second lies inside the first
    world = world_of(values, provides, np.zeros(2, dtype=bool))
    episodes = roll_out(FixedPolicy(np.ones(2, dtype=bool)), world, uniforms=np.zeros((1, 3)))
    assert episodes.action.tolist() == [0, 1, 2]
    assert episodes.probability.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1.0, 0.0)])
def test_extreme_uniforms_draw_only_actions_of_positive_probability(uniform):
    world = overlapping_world(1, 3, np.random.default_rng(0))
    for answer in ([0.0, 0.1, 0.0, 0.9], [0.0, 0.7, 0.3, 0.0], [0.0, 1.0, 0.0, 0.0]):
        policy = TabulatedPolicy(np.tile(answer, (8, 1)))
        episodes = roll_out(policy, world, uniforms=np.full((1, 4), uniform))
        assert (episodes.probability > 0).all()


def test_inverse_cdf_against_hand_computed_actions():
    world = overlapping_world(5, 2, np.random.default_rng(0))
    uniforms = np.zeros((5, 3))
    uniforms[:, 0] = [0.0, 0.1999, 0.2, 0.4999, 0.5]
    policy = TabulatedPolicy(np.tile([0.2, 0.3, 0.5], (4, 1)))
    episodes = roll_out(policy, world, uniforms=uniforms)
    assert episodes.action[episodes.step == 0].tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("blocked", [False, True])
def test_frequencies_of_terminal_sets_follow_the_enumerated_law(blocked):
    n, a = 100_000, 3
    rng = np.random.default_rng(5)
    one = overlapping_world(1, a, rng)
    available = np.array([True, not blocked, True])
    world = replace(one.take(np.zeros(n, dtype=int)), available=np.tile(available, (n, 1)))
    for policy in _policies(a, rng):
        episodes = roll_out(policy, world, uniforms=rng.random((n, a + 1)))
        law = set_law(policy, one.values[0], one.free_columns, one.provides, available)
        for target in all_sets(a):
            p = law.get(frozenset(np.flatnonzero(target).tolist()), 0.0)
            rate = (episodes.acquired[0] == target).all(axis=1).mean()
            # 5 standard errors, 64 comparisons over both cases: false alarm below 4e-5
            assert abs(rate - p) <= 5 * np.sqrt(p * (1 - p) / n) + 1e-12


def test_costs_of_decisions_add_up_to_the_cost_of_the_episode():
    rng = np.random.default_rng(6)
    cost = np.array([0.5, 0.84, 0.0, 2.0])
    world = overlapping_world(50, 4, rng, cost=cost)
    episodes = _run(RandomPolicy(0.5), world, np.ones((50, 4), dtype=bool), rng)
    assert (episodes.price[episodes.action == 4] == 0).all()
    total = [episodes.price[episodes.row == i].sum() for i in range(50)]
    np.testing.assert_allclose(episodes.cost[0], total, rtol=1e-14)
    np.testing.assert_allclose(total, (episodes.acquired[0] * cost).sum(axis=1), rtol=1e-14)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ([0.5, 0.0, 0.4], "sum to 1 only up to 1.0e-01"),
        ([1.5, 0.0, -0.5], "negative probability or NaN"),
        ([np.nan, 0.0, 1.0], "negative probability or NaN"),
        ([0.0, 0.5, 0.5], "acquired already or unavailable"),  # panel 1 is blocked
        ([1.0, 0.0, 0.0], "acquired already or unavailable"),  # panel 0 a second time
    ],
)
def test_a_policy_that_breaks_its_contract_is_named(answer, sentence):
    available = np.array([[True, False, True]] if answer[0] == 1.0 else [[True, False]])
    answer = np.array([1.0, 0.0, 0.0, 0.0] if answer[0] == 1.0 else answer)
    world = overlapping_world(1, available.shape[1], np.random.default_rng(0))
    with pytest.raises(AssertionError, match=f"bug: .*ConstantPolicy.*{sentence}|{sentence}"):
        _run(ConstantPolicy(answer), world, available, np.random.default_rng(0))


def test_uniforms_outside_the_unit_interval_are_refused():
    world = overlapping_world(1, 2, np.random.default_rng(0))
    with pytest.raises(AssertionError, match=r"not in \[0, 1\)"):
        roll_out(RandomPolicy(0.5), world, uniforms=np.ones((1, 3)))


def test_no_units_and_no_panels_give_empty_and_trivial_episodes():
    rng = np.random.default_rng(0)
    nobody = _run(RandomPolicy(0.5), overlapping_world(0, 3, rng), np.ones((0, 3), bool), rng)
    assert nobody.acquired.shape == (1, 0, 3)
    assert not nobody.row.size
    nothing = _run(RandomPolicy(0.5), overlapping_world(4, 0, rng), np.ones((4, 0), bool), rng)
    assert nothing.action.tolist() == [0, 0, 0, 0]  # action a = 0 is "stop"
    assert nothing.probability.tolist() == [1.0] * 4
