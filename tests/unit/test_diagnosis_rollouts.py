"""`roll_out` of K members with verdicts, against one member and one unit at a time."""

from dataclasses import dataclass

import frugal.acquire.rollouts as module
import numpy as np
import pytest
from frugal.acquire.encoders import ValuesEncoder, observe_values, tabulate
from frugal.acquire.reading import Reading
from frugal.acquire.rollouts import decision_probabilities, roll_out, verdicts_at
from frugal.core.episodes import Policy, ReadingPolicy
from frugal.core.world import World

from tests.oracles.acquisition_worlds import world_of
from tests.oracles.policies import ConstantPolicy, SoftmaxPolicies

K, N, D, A = 3, 11, 5, 4
WEIGHT = np.random.default_rng(1).normal(size=(K, D + A, A + 2))


def problem() -> World:
    rng = np.random.default_rng(0)
    provides = rng.random((A, D)) < 0.5
    available, cost, values = rng.random((N, A)) < 0.7, rng.random(A), rng.normal(size=(N, D))
    return world_of(values, provides, rng.random(D) < 0.3, available=available, cost=cost)


@dataclass(frozen=True, eq=False)
class ReadingSoftmax(Reading):
    """The same policies, which keep what they read of a state apart from what they decide."""

    plain: SoftmaxPolicies

    @property
    def members(self):
        return self.plain.members

    def read(self, values, acquired):
        return observe_values(values, acquired, column_bits=False)

    def decide(self, reading, acquired, available):
        return self.plain.action_probabilities(reading[..., :D], acquired, available)

    def conclude(self, reading, acquired):
        return self.plain.predict(reading[..., :D], acquired)


def test_a_policy_that_reads_answers_values_as_it_answers_readings():
    world, rng = problem(), np.random.default_rng(7)
    acquired = rng.random((K, N, A)) < 0.4
    available = acquired | (rng.random((K, N, A)) < 0.7)
    values = np.stack([world.visible(np.arange(N), one) for one in acquired])
    plain = SoftmaxPolicies(WEIGHT, greedy=False)
    reader = ReadingSoftmax(plain)
    expected = plain.action_probabilities(np.nan_to_num(values), acquired, available)
    got = reader.action_probabilities(values, acquired, available)
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
    expected = plain.predict(np.nan_to_num(values), acquired)
    np.testing.assert_allclose(reader.predict(values, acquired), expected, rtol=1e-5, atol=1e-6)


def shares(world: World, k: int, i: int, acquired: set[int], *, open_panels: set[int]) -> list:
    """Softmax of the scores of what is open and of both verdicts, from the definition."""
    seen = []
    for c in range(D):
        shown = world.free_columns[c] or any(world.provides[j, c] for j in acquired)
        seen.append(world.values[i, c] if shown else 0.0)
    seen += [float(j in acquired) for j in range(A)]
    worth = {
        u: np.exp(sum(x * w for x, w in zip(seen, WEIGHT[k, :, u], strict=True)))
        for u in (*open_panels, A, A + 1)
    }
    return [worth.get(u, 0.0) / sum(worth.values()) for u in range(A + 2)]


def slow_rollout(world: World, k: int, i: int, uniform: np.ndarray | None) -> list[tuple]:
    """Decisions of one member on one unit: (action, price, probability, verdict if it ended)."""
    acquired: set[int] = set()
    log = []
    for t in range(A + 1):
        left = {j for j in range(A) if world.available[i, j]} - acquired
        share = shares(world, k, i, acquired, open_panels=left)
        law = [*share[:A], share[A] + share[A + 1]]
        if uniform is None:
            u = min(int(np.argmax(share)), A)
            law = [float(j == u) for j in range(A + 1)]
        else:
            u = int((np.cumsum(law) <= uniform[t]).sum())
        said = shares(world, k, i, acquired, open_panels=set())[A:]
        log.append((u, world.action_cost[u] if u < A else 0.0, law[u], said))
        if u == A:
            return log
        acquired.add(u)
    raise AssertionError("never ended")


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("at_once", [1 << 24, 100])
@pytest.mark.parametrize("by", ["by values", "by readings", "by a table"])
def test_rollouts_equal_one_unit_at_a_time(monkeypatch, sampled, at_once, by):
    monkeypatch.setattr(module, "ENTRIES_AT_ONCE", at_once)
    world = problem()
    uniforms = np.random.default_rng(2).random((N, A + 1))
    plain = SoftmaxPolicies(WEIGHT, greedy=not sampled)
    policy: Policy = plain if by == "by values" else ReadingSoftmax(plain)
    assert isinstance(policy, Policy)
    assert isinstance(policy, ReadingPolicy) == (by != "by values")
    kept = tabulate(ValuesEncoder.of(world), N, A, max_gib=0.01) if by == "by a table" else None
    found = roll_out(policy, world, uniforms=uniforms, states=kept, beliefs=True)
    assert found.verdict is not None
    assert found.belief is not None
    rel = 1e-9 if by == "by values" else 1e-5  # readings are float32
    at = 0
    for k in range(K):
        for i in range(N):
            log = slow_rollout(world, k, i, uniforms[i] if sampled else None)
            for t, (action, price, probability, said) in enumerate(log):
                head = (found.member[at], found.row[at], found.step[at], found.action[at])
                assert head == (k, i, t, action)
                assert found.price[at] == price
                assert found.probability[at] == pytest.approx(probability, rel=rel)
                np.testing.assert_allclose(found.belief[at], said, rtol=rel)
                at += 1
            np.testing.assert_allclose(found.verdict[k, i], log[-1][3], rtol=rel)
            assert np.flatnonzero(found.acquired[k, i]).tolist() == sorted(x[0] for x in log[:-1])
            assert found.cost[k, i] == pytest.approx(sum(x[1] for x in log))
    assert at == len(found.row)


@pytest.mark.parametrize("sampled", [False, True])
def test_a_member_acts_alike_alone_and_next_to_others(sampled):
    world, uniforms = problem(), np.random.default_rng(2).random((N, A + 1))
    together = roll_out(SoftmaxPolicies(WEIGHT, not sampled), world, uniforms=uniforms)
    for k in range(K):
        alone = roll_out(SoftmaxPolicies(WEIGHT[[k]], not sampled), world, uniforms=uniforms)
        own = together.member == k
        for name in ("row", "step", "action", "price", "probability"):
            np.testing.assert_array_equal(getattr(alone, name), getattr(together, name)[own])
        np.testing.assert_array_equal(alone.verdict[0], together.verdict[k])  # pyright: ignore


def test_questions_of_some_states_of_some_members_are_answered_for_each_apart():
    """Numbers of states differ between members, and one member is not asked at all."""
    world, policy = problem(), SoftmaxPolicies(WEIGHT, greedy=False)
    rng = np.random.default_rng(3)
    member = np.array([0, 0, 0, 2, 2])
    row, acquired = rng.integers(N, size=5), rng.random((5, A)) < 0.4
    acquired &= world.available[row]
    found = decision_probabilities(
        policy, world, row=row, acquired=acquired, available=world.available[row], member=member
    )
    for k, i, known, law in zip(member, row, acquired, found, strict=True):
        taken = set(np.flatnonzero(known).tolist())
        left = set(np.flatnonzero(world.available[i]).tolist()) - taken
        share = shares(world, k, i, taken, open_panels=left)
        expected = [*share[:A], share[A] + share[A + 1]] if left else [0.0] * A + [1.0]
        np.testing.assert_allclose(law, expected, rtol=1e-9, atol=1e-15)


def test_verdicts_at_given_sets_are_those_of_episodes_that_end_there():
    world, policy = problem(), SoftmaxPolicies(WEIGHT, greedy=False)
    found = roll_out(policy, world, uniforms=np.random.default_rng(2).random((N, A + 1)))
    np.testing.assert_array_equal(verdicts_at(policy, world, found.acquired), found.verdict)
    silent = verdicts_at(ConstantPolicy(np.ones(1)), world, found.acquired[:1])
    assert silent is None


def test_no_belief_is_logged_unless_requested_for_or_where_the_policy_has_none():
    world, uniforms = problem(), np.zeros((N, A + 1))
    assert roll_out(SoftmaxPolicies(WEIGHT, greedy=True), world, uniforms=uniforms).belief is None
    stops = ConstantPolicy(np.eye(A + 1)[A])
    episodes = roll_out(stops, world, uniforms=uniforms, beliefs=True)
    assert episodes.belief is None
    assert episodes.verdict is None


def test_a_policy_that_breaks_its_contract_is_our_own_mistake():
    class Uniform(SoftmaxPolicies):
        def action_probabilities(self, values, acquired, available):
            return np.full((*acquired.shape[:2], A + 1), 1 / (A + 1))

    with pytest.raises(AssertionError, match="acquired already or unavailable"):
        roll_out(Uniform(WEIGHT, greedy=False), problem(), uniforms=np.zeros((N, A + 1)))
