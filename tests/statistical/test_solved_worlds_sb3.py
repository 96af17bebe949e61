"""Agents of stable-baselines3 against exact value iteration on a world that can be solved."""

from typing import Any

import numpy as np
import pytest
from frugal.acquire.acquisition import theorem_reward
from frugal.acquire.policies.sb3 import Sb3Policy
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.sb3 import fit_sb3

from tests.oracles.acquisition_values import theorem_value
from tests.unit.acquisition_cases import mean_rewards, small_environment, small_problem

pytestmark = [pytest.mark.statistical, pytest.mark.trains]

LAM, RHO = 5.0, -0.3  # the best policy without any panel reaches 94.6 % of the best value
SETTINGS: dict[str, Any] = {"gamma": 1.0, "gae_lambda": 1.0, "n_steps": 16, "batch_size": 512}
SETTINGS |= {"n_epochs": 5, "learning_rate": 0.002, "ent_coef": 0.02}


def share_of_best(algorithm: str, steps: int, seed: int) -> float:
    """Value of the trained policy over all units, as a share of the best value."""
    fit = fit_sb3(
        small_environment([(LAM, RHO)], 256, start="free"),
        algorithm=algorithm,
        policy="MlpPolicy",
        steps=steps,
        arguments=SETTINGS,
        rng=np.random.default_rng(seed),
    )
    world, _ = small_problem()
    centre, scale = np.zeros(world.values.shape[1]), np.ones(world.values.shape[1])
    policy = Sb3Policy(fit.layers, fit.activation, fit.stochastic, True, centre, scale, False)
    uniforms = np.random.default_rng(seed).random((len(world), world.panels + 1))
    reward = theorem_reward(np.array([LAM]), np.array([RHO]))
    value = mean_rewards(roll_out(policy, world, uniforms=uniforms), world, reward)
    return float(value[0] / theorem_value(LAM, RHO))


@pytest.mark.parametrize(("algorithm", "steps"), [("MaskablePPO", 200_000), ("PPO", 300_000)])
def test_the_best_value_is_reached_with_and_without_masks(algorithm, steps):
    """1 % below lie other policies. All of 14 seeds ended in the best one; this seed is fixed."""
    assert 0.99 <= share_of_best(algorithm, steps, seed=0) <= 1 + 1e-5
