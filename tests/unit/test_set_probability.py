"""Set and sequence probabilities against recursion over all histories, closed forms and limits."""

import math
from dataclasses import replace

import numpy as np
import pytest
from frugal.acquire import set_probability
from frugal.acquire.policies.fixed import FixedPolicy
from frugal.acquire.policies.random import RandomPolicy
from frugal.acquire.rollouts import acquisition_order, roll_out
from frugal.acquire.set_probability import (
    afa_propensity_and_chance,
    blocked_set_probability,
    terminal_sequence_probability,
    terminal_set_probability,
    true_afa_propensity,
)
from frugal.core.episodes import Traits
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tests.oracles.acquisition_worlds import overlapping_world
from tests.oracles.histories import afa_propensity, all_sets, complete_histories, set_law
from tests.oracles.policies import TabulatedPolicy, ThresholdPolicy


def _indices(target):
    return frozenset(np.flatnonzero(target).tolist())


def _value_policies():
    return [ThresholdPolicy(0.0, 0.3, 0.9), ThresholdPolicy(0.2, 0.0, 1.0)]


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.5, 0.9, 1 - 1e-9, 1.0])
def test_random_policy_ends_with_independent_coins(p):
    a = 6
    sets = all_sets(a)
    world = overlapping_world(len(sets), a, np.random.default_rng(0))
    size = sets.sum(axis=1)
    found = terminal_set_probability(RandomPolicy(p), world, target=sets)
    np.testing.assert_allclose(found, p**size * (1 - p) ** (a - size), rtol=1e-12, atol=1e-12)
    available = np.random.default_rng(1).random(sets.shape) < 0.7
    possible = ~(sets & ~available).any(axis=1)
    left = available.sum(axis=1) - size
    blocked = blocked_set_probability(RandomPolicy(p), world, available=available, target=sets)
    expected = np.where(possible, p**size * (1 - p) ** np.maximum(left, 0), 0.0)
    np.testing.assert_allclose(blocked, expected, rtol=1e-12, atol=1e-12)


def test_sequence_of_the_random_policy_is_its_set_shared_among_all_orders():
    a, p = 5, 0.3
    rng = np.random.default_rng(2)
    world = overlapping_world(200, a, rng)
    episodes = roll_out(RandomPolicy(p), world, uniforms=rng.random((200, a + 1)))
    (order,), (target,) = acquisition_order(episodes), episodes.acquired
    sequence = terminal_sequence_probability(RandomPolicy(p), world, order=order)
    whole = terminal_set_probability(RandomPolicy(p), world, target=target)
    orders = [math.factorial(k) for k in target.sum(axis=1)]
    np.testing.assert_allclose(sequence, whole / orders, rtol=1e-12)
    product = np.ones(200)
    np.multiply.at(product, episodes.row, episodes.probability)
    np.testing.assert_allclose(sequence, product, rtol=1e-12)


@settings(max_examples=40)
@given(
    weight=arrays(float, (16, 5), elements=st.floats(0, 1, allow_subnormal=False)),
    available=arrays(bool, 4),
)
def test_probabilities_of_all_sets_sum_to_one_for_any_policy(weight, available):
    sets = all_sets(4)
    world = overlapping_world(16, 4, np.random.default_rng(0))
    policy = TabulatedPolicy(weight)
    tiled = np.tile(available, (16, 1))
    found = blocked_set_probability(policy, world, available=tiled, target=sets)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    law = set_law(policy, world.values[0], world.free_columns, world.provides, available)
    expected = [law.get(_indices(t), 0.0) for t in sets]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("policy", _value_policies())
def test_a_policy_that_reads_values_matches_recursion_over_histories(policy):
    a, n = 4, 40
    rng = np.random.default_rng(3)
    world = overlapping_world(n, a, rng)
    available = rng.random((n, a)) < 0.7
    total = np.zeros(n)
    for target in all_sets(a):
        found = blocked_set_probability(
            policy, world, available=available, target=np.tile(target, (n, 1))
        )
        total += found
        for i in range(n):
            law = set_law(policy, world.values[i], world.free_columns, world.provides, available[i])
            assert found[i] == pytest.approx(law.get(_indices(target), 0.0), abs=1e-12)
    np.testing.assert_allclose(total, 1.0, atol=1e-12)


def test_targets_of_different_sizes_mix_and_pieces_change_nothing(monkeypatch):
    a, n = 5, 300
    rng = np.random.default_rng(4)
    world = overlapping_world(n, a, rng)
    target, available = rng.random((n, a)) < 0.5, rng.random((n, a)) < 0.9
    policy = ThresholdPolicy(0.0, 0.4, 0.8)
    whole = blocked_set_probability(policy, world, available=available, target=target)
    assert (whole[(target & ~available).any(axis=1)] == 0).all()
    assert (whole > 0).sum() > 100
    monkeypatch.setattr(set_probability, "STATES_AT_ONCE", 8)
    pieces = blocked_set_probability(policy, world, available=available, target=target)
    assert (whole == pieces).all()
    shuffle = rng.permutation(n)
    shuffled = blocked_set_probability(
        policy, world.take(shuffle), available=available[shuffle], target=target[shuffle]
    )
    assert (shuffled == whole[shuffle]).all()


@pytest.mark.parametrize("policy", _value_policies())
def test_every_sequence_matches_recursion_over_histories(policy):
    a = 3
    rng = np.random.default_rng(5)
    one = overlapping_world(16, a, rng)
    for x in rng.normal(size=(10, a + 2)):
        histories = complete_histories(policy, x, one.free_columns, one.provides, [True] * a)
        order = np.array([[*seq, *[-1] * (a - len(seq))] for seq, _ in histories])
        assert len(order) == 16  # 1 + 3 + 6 + 6 orders of three panels
        found = terminal_sequence_probability(
            policy, replace(one, values=np.tile(x, (16, 1))), order=order
        )
        np.testing.assert_allclose(found, [p for _, p in histories], atol=1e-12)


def test_orders_that_are_none_are_refused():
    world = overlapping_world(1, 2, np.random.default_rng(0))
    for order, sentence in (([0, 0], "twice"), ([-1, 0], "goes on after")):
        with pytest.raises(AssertionError, match=sentence):
            terminal_sequence_probability(RandomPolicy(0.5), world, order=np.array([order]))


@settings(max_examples=30)
@given(a=st.integers(1, 3), seed=st.integers(0, 2**32 - 1))
def test_true_afa_propensity_matches_enumeration(a, seed):
    rng = np.random.default_rng(seed)
    n = 8
    world = overlapping_world(n, a, rng)
    patterns = rng.permutation(all_sets(a))
    law = rng.dirichlet(np.full(2**a, 0.5), size=n)
    target, s = rng.random((n, a)) < 0.5, rng.random(a) < 0.4
    policies = [
        RandomPolicy(0.3),
        FixedPolicy(rng.random(a) < 0.5),
        TabulatedPolicy(rng.random((2**a, a + 1))),
        *_value_policies(),
    ]
    for policy in policies:
        found = true_afa_propensity(
            policy, world, target=target, patterns=patterns, pattern_probability=law, s=s
        )
        expected = [
            afa_propensity(
                policy,
                world.values[i],
                world.free_columns,
                world.provides,
                target[i],
                patterns,
                law[i],
                s,
            )
            for i in range(n)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_never_acquire_and_s_of_all_panels_give_the_two_limits():
    rng = np.random.default_rng(7)
    a, n = 3, 50
    world = overlapping_world(n, a, rng)
    law = rng.dirichlet(np.ones(2**a), size=n)

    def propensity(panels, s):
        return true_afa_propensity(
            FixedPolicy(np.full(a, panels)),
            world,
            target=np.full((n, a), panels),
            patterns=all_sets(a),
            pattern_probability=law,
            s=np.full(a, s),
        )

    # R̂ = ∅ says nothing about R: the propensity is p(R = 1 | x) itself, so AFAIS weighs all alike
    np.testing.assert_allclose(propensity(False, False), law[:, -1], rtol=1e-12)
    # R_s = 1 with s = all panels is R = 1: AFAIS(all) = IPW
    assert (propensity(False, True) == 1).all()
    assert (propensity(True, True) == 1).all()


def test_a_target_that_no_pattern_with_s_allows_has_no_propensity():
    world = overlapping_world(1, 2, np.random.default_rng(0))
    found = true_afa_propensity(
        FixedPolicy(np.ones(2, dtype=bool)),
        world,
        target=np.array([[False, True]]),  # the unit violates s = {0}
        patterns=all_sets(2),
        pattern_probability=np.full((1, 4), 0.25),
        s=np.array([True, False]),
    )
    assert np.isnan(found).all()


def test_patterns_must_hold_the_complete_one_once():
    world = overlapping_world(1, 2, np.random.default_rng(0))
    with pytest.raises(AssertionError, match="0 patterns are complete"):
        true_afa_propensity(
            RandomPolicy(0.5),
            world,
            target=np.zeros((1, 2), dtype=bool),
            patterns=all_sets(2)[:-1],
            pattern_probability=np.full((1, 3), 1 / 3),
            s=np.zeros(2, dtype=bool),
        )


def test_random_policy_propensity_has_its_closed_form_at_nine_panels_and_ten_thousand_rows():
    a, n, p = 9, 10_000, 0.5
    rng = np.random.default_rng(8)
    world = overlapping_world(n, a, rng)
    patterns = all_sets(a)
    rate = rng.uniform(0.3, 0.9, size=(n, 1))  # panels observed independently with this rate
    size = patterns.sum(axis=1)
    observed = rng.random((n, a)) < rate
    target = observed & (rng.random((n, a)) < p)
    found = true_afa_propensity(
        RandomPolicy(p),
        world,
        target=target,
        patterns=patterns,
        pattern_probability=rate**size * (1 - rate) ** (a - size),
        s=np.zeros(a, dtype=bool),
    )
    # each panel outside R̂ was observed with probability rate·(1 − p) / (rate·(1 − p) + 1 − rate)
    unseen = a - target.sum(axis=1)
    expected = (rate * (1 - p) / (rate * (1 - p) + 1 - rate))[:, 0] ** unseen
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_forty_panels_need_no_more_than_the_sets_that_a_policy_reaches():
    """A table of subsets would be 256 GiB for each unit."""
    a, n = 40, 50
    rng = np.random.default_rng(9)
    world = overlapping_world(n, a, rng)
    available = rng.random((n, a)) < 0.97
    chosen = rng.random(a) < 0.9
    target = available & chosen
    target[:5, 0] ^= True
    fixed = blocked_set_probability(FixedPolicy(chosen), world, available=available, target=target)
    assert (fixed == (target == (available & chosen)).all(axis=1)).all()
    target = available & (rng.random((n, a)) < 0.9)
    size = target.sum(axis=1)
    random = blocked_set_probability(RandomPolicy(0.9), world, available=available, target=target)
    np.testing.assert_allclose(
        random, 0.9**size * 0.1 ** (available.sum(axis=1) - size), rtol=1e-12
    )


def test_a_policy_that_may_pass_through_too_many_sets_has_no_answer(monkeypatch):
    a = 5
    world = overlapping_world(3, a, np.random.default_rng(4))
    target = np.array([[1, 1, 1, 1, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=bool)
    policy = ThresholdPolicy(0.0, 0.4, 0.8)
    ask = {"available": np.ones((3, a), dtype=bool), "target": target}
    whole = blocked_set_probability(policy, world, **ask)
    monkeypatch.setattr(set_probability, "MOST_STATES", 4)
    monkeypatch.setattr(set_probability, "STATES_AT_ONCE", 4)
    found = blocked_set_probability(policy, world, **ask)
    assert np.isnan(found[0])
    np.testing.assert_array_equal(found[1:], whole[1:])


@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
def test_the_closed_form_of_the_random_policy_is_the_sum_over_subsets(p, monkeypatch):
    a, n = 7, 100
    rng = np.random.default_rng(10)
    world = overlapping_world(n, a, rng)
    available = rng.random((n, a)) < 0.8
    target = rng.random((n, a)) < 0.5
    swept = blocked_set_probability(RandomPolicy(p), world, available=available, target=target)
    monkeypatch.setattr(set_probability, "MOST_SWEPT", 6)
    closed = blocked_set_probability(RandomPolicy(p), world, available=available, target=target)
    np.testing.assert_allclose(closed, swept, rtol=1e-12)


class ScoredPolicy:
    """Takes the open panel of the highest score, if that is above 0; reads the first column.

    In states of `lots` panels and more it does so with one half, and else stops.
    """

    traits = Traits(consistent=True)
    members = 1

    def __init__(self, score: np.ndarray, lots: int):
        self.score, self.lots = score, lots

    def action_probabilities(self, values, acquired, available):
        (value,), (got,), open_panels = values, acquired, (available & ~acquired)[0]
        code = got @ (1 << np.arange(got.shape[1]))
        score = np.where(open_panels, self.score[code] * np.sign(value[:, :1]), -np.inf)
        best, goes_on = score.argmax(axis=1), score.max(axis=1) > 0
        law = np.zeros((len(got), got.shape[1] + 1))
        share = np.where(goes_on, np.where(got.sum(axis=1) >= self.lots, 0.5, 1.0), 0.0)
        law[np.arange(len(got)), best] = share
        law[:, -1] = 1 - share
        return law[None]

    def predict(self, values, acquired):
        return None


@pytest.mark.parametrize("lots", [0, 2, 9])
def test_one_walk_states_a_consistent_policy_what_the_sums_over_subsets_do(lots, monkeypatch):
    a, rng = 5, np.random.default_rng(12 + lots)
    patterns, n = all_sets(a), 800
    world = overlapping_world(n, a, rng)
    policy = ScoredPolicy(rng.normal(-0.3, 1.0, (2**a, a)), lots)
    law = rng.dirichlet(np.ones(len(patterns)), n)
    played = roll_out(
        policy, replace(world, available=rng.random((n, a)) < 0.8), uniforms=rng.random((n, a + 1))
    ).acquired[0]
    target = np.where(rng.random((n, 1)) < 0.7, played, rng.random((n, a)) < 0.5)
    s = np.zeros(a, dtype=bool)
    asked = {"target": target, "patterns": patterns, "pattern_probability": law, "s": s}
    found = afa_propensity_and_chance(policy, world, **asked)
    assert (np.isfinite(found[0]) & (found[0] > 0)).sum() > 100
    monkeypatch.setattr(ScoredPolicy, "traits", Traits())
    summed = afa_propensity_and_chance(policy, world, **asked)
    np.testing.assert_array_equal(found, summed)


def test_a_chance_is_never_above_one_by_rounding():
    a = 2
    world = overlapping_world(1, a, np.random.default_rng(0))
    patterns = all_sets(a)
    law = np.outer([0.84, 1 - 0.84], [0.18, 1 - 0.18]).reshape(1, -1)
    assert law.sum() > 1  # as a product of two laws is
    _, chance = set_probability.afa_propensity_and_chance(
        FixedPolicy(np.zeros(a, dtype=bool)),
        world,
        target=np.zeros((1, a), dtype=bool),
        patterns=patterns,
        pattern_probability=law,
        s=np.zeros(a, dtype=bool),
    )
    assert chance[0] == 1
