import numpy as np
from frugal.acquire.acquisition import DiagnosisReward, StopReward, release_reward, theorem_reward
from frugal.core.world import set_codes
from hypothesis import given
from hypothesis import strategies as st

NOTHING = np.zeros((4, 2), dtype=bool)
LABEL, DIAGNOSED = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
ROW = np.arange(4)


def four_ends(reward: DiagnosisReward, learner: int) -> np.ndarray:
    """Rewards of TN, FP, FN, TP."""
    return reward.end(np.full(4, learner), ROW, LABEL, NOTHING, DIAGNOSED)


def test_theorem_reward_counts_true_negatives_true_positives_and_cost():
    reward = theorem_reward(np.array([3.0, 7.0]), np.array([-0.5, -0.1]))
    np.testing.assert_array_equal(four_ends(reward, 1), np.array([1, 0, 0, 7], dtype=np.float32))
    np.testing.assert_allclose(reward.cost_weight, [0.5, 0.1], rtol=1e-7)


@given(st.floats(1, 10), st.floats(1, 100), st.floats(0, 600))
def test_release_is_the_theorem_scaled_less_a_constant_of_the_unit(ratio, penalty, cost):
    release = release_reward(np.array([ratio]), np.array([penalty]))
    theorem = theorem_reward(np.array([ratio]), np.array([-1 / penalty]))
    of_unit = np.where(LABEL == 1, penalty * ratio, penalty)
    np.testing.assert_allclose(
        four_ends(release, 0), penalty * four_ends(theorem, 0) - of_unit, atol=1e-3
    )
    np.testing.assert_allclose(
        release.cost_weight * cost, penalty * theorem.cost_weight * cost, rtol=1e-6
    )


def test_stopping_costs_the_loss_of_the_set_that_was_acquired():
    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    row, acquired = np.array([2, 0]), np.array([[0, 1], [1, 1]], dtype=bool)
    ends = (np.array([0, 1]), row, np.array([1, 0]), acquired, np.array([0, 0]))
    weight = np.ones(2, dtype=np.float32)
    expected = np.array([-10, -3], dtype=np.float32)
    np.testing.assert_array_equal(StopReward(table, weight).end(*ends), expected)

    def loss(row: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        return table[row, set_codes(acquired)].astype(np.float64)

    np.testing.assert_array_equal(StopReward(loss, weight).end(*ends), expected)
