import frugal.environments.diagnosis_rollouts as module
import numpy as np
import pytest
from frugal.contracts import AcquisitionTask
from frugal.environments.diagnosis_rollouts import roll_out_learners
from frugal.environments.encoders import ValuesEncoder

K, N, D, A = 3, 11, 5, 4


def problem() -> tuple[AcquisitionTask, ValuesEncoder]:
    rng = np.random.default_rng(0)
    provides = rng.random((A, D)) < 0.5
    task = AcquisitionTask(rng.random((N, A)) < 0.7, rng.integers(0, 2, N), rng.random(A), 2, 2)
    return task, ValuesEncoder(rng.normal(size=(N, D)), provides, rng.random(D) < 0.3)


WEIGHT = np.random.default_rng(1).normal(size=(K, D + A, A + 2))


def softmax_policy(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
    score = np.where(mask, observation.astype(np.float64) @ WEIGHT, -np.inf)
    share = np.exp(score - score.max(axis=2, keepdims=True))
    return share / share.sum(axis=2, keepdims=True)


def slow_rollout(task, encoder, k: int, i: int, uniforms) -> list[tuple]:
    """Decisions of one learner on one unit: (action, cost, probability, belief)."""
    acquired, log = np.zeros((1, A), dtype=bool), []
    for t in range(A + 1):
        seen = np.repeat(encoder.encode(np.array([i]), acquired)[None], K, axis=0)
        mask = np.append(task.available[i] & ~acquired[0], [True, True])
        law = softmax_policy(seen, np.broadcast_to(mask, (K, 1, A + 2)))[k, 0]
        u = int(law.argmax()) if uniforms is None else int((law.cumsum() <= uniforms[i, t]).sum())
        cost = task.action_cost[u] if u < A else 0.0
        log.append((u, cost, law[u], law[A:] / law[A:].sum()))
        if u >= A:
            return log
        acquired[0, u] = True
    raise AssertionError("never ended")


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("at_once", [1 << 24, 100])
def test_rollouts_equal_one_unit_at_a_time(monkeypatch, sampled, at_once):
    monkeypatch.setattr(module, "ENTRIES_AT_ONCE", at_once)
    task, encoder = problem()
    uniforms = np.random.default_rng(2).random((N, A + 1)) if sampled else None
    found = roll_out_learners(softmax_policy, task, encoder, learners=K, uniforms=uniforms)
    at = 0
    for k in range(K):
        for i in range(N):
            log = slow_rollout(task, encoder, k, i, uniforms)
            for t, (action, cost, probability, belief) in enumerate(log):
                head = (found.learner[at], found.row[at], found.step[at], found.action[at])
                assert head == (k, i, t, action)
                assert found.cost[at] == cost
                assert found.probability[at] == pytest.approx(probability, rel=1e-9)
                np.testing.assert_allclose(found.belief[at], belief, rtol=1e-9)
                at += 1
            assert found.terminal[k, i] == log[-1][0] - A
            np.testing.assert_allclose(found.terminal_belief[k, i], log[-1][3], rtol=1e-9)
            assert np.flatnonzero(found.acquired[k, i]).tolist() == sorted(x[0] for x in log[:-1])
            assert found.total_cost[k, i] == pytest.approx(sum(x[1] for x in log))
    assert at == len(found.row)


def test_a_greedy_law_of_zeros_and_ones_has_no_belief_before_its_end():
    task, encoder = problem()

    def first_allowed(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        law = np.zeros(mask.shape)
        np.put_along_axis(law, mask.argmax(axis=2)[:, :, None], 1.0, axis=2)
        return law

    found = roll_out_learners(first_allowed, task, encoder, learners=1, uniforms=None)
    ended = found.action >= A
    assert np.isnan(found.belief[~ended]).all()
    np.testing.assert_array_equal(found.belief[ended], [[1.0, 0.0]] * N)
    np.testing.assert_array_equal(found.acquired[0], task.available)


def test_a_policy_that_breaks_its_contract_is_our_own_mistake():
    task, encoder = problem()

    def uniform(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return np.full(mask.shape, 1 / (A + 2))

    with pytest.raises(AssertionError, match="masked action"):
        roll_out_learners(uniform, task, encoder, learners=K, uniforms=None)
