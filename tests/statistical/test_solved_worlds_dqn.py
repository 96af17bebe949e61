"""Both DQN trainers against exact value iteration on a world small enough to be solved.

Marked statistical for its length; its seeds are fixed, so that it gives the same verdict each time.
"""

import numpy as np
import pytest
import torch
from frugal.acquire.acquisition import theorem_reward
from frugal.acquire.rollouts import roll_out
from frugal.acquire.train.lockstep_dqn import QNetworks, fit_dqn
from frugal.config.learners import DqnSettings

from tests.oracles.acquisition_values import theorem_value
from tests.oracles.sb3_dqn import train_reference
from tests.unit.acquisition_cases import (
    PAIRS,
    BestActions,
    Pairs,
    first_of_equals,
    mean_rewards,
    small_environment,
    small_problem,
)

pytestmark = [pytest.mark.statistical, pytest.mark.trains]

SOLVING = DqnSettings(
    dueling=True,
    learning_rate=0.003,
    learning_rate_last=1e-5,
    batch=512,
    memory=300_000,
    transitions_per_update=128,
    target_every=1024,
    epsilon_last=0.3,
    episodes=1024,
    transitions=300_000,
)


def shares_of_best(weights: dict[str, np.ndarray], pairs: Pairs) -> np.ndarray:
    """Value of the greedy policies, over all units, as a share of the best value. (K,)"""
    task, encoder = small_problem()
    networks = QNetworks(weights)

    def score(observation: np.ndarray, mask: np.ndarray) -> np.ndarray:
        return networks.values(torch.from_numpy(observation)).numpy()

    policies = BestActions(len(pairs), score)
    found = roll_out(policies, task, uniforms=first_of_equals(task), states=encoder)
    lam, rho = (np.array(part) for part in zip(*pairs, strict=True))
    value = mean_rewards(found, task, theorem_reward(lam, rho))
    return value / np.array([theorem_value(*pair) for pair in pairs])


def test_lockstep_dqn_reaches_the_best_value_within_one_percent():
    """The better of two learners a pair; 1 % below the best value lie other policies than it.

    Of 36 learners from other seeds the worst reached 99.3 %. Were one in ten to miss 99 %, three
    pairs would fail together in 3 % of trials; with the rate seen (below 8 %, at 95 % confidence)
    in less.
    """
    pairs = (*PAIRS, *PAIRS)
    world = small_environment(pairs, SOLVING.episodes, start="free")
    rngs = [np.random.default_rng(k) for k in range(len(pairs))]
    fit = fit_dqn(world, settings=SOLVING, moments=5, rngs=rngs)
    share = shares_of_best(fit.weights, pairs)
    assert (share <= 1 + 1e-5).all()
    assert (share.reshape(2, -1).max(axis=0) >= 0.99).all()
    assert (share >= 0.95).all()
    assert (np.diff(fit.mean_return, axis=0)[:2] > 0).all()  # exploration falls, returns rise


def test_the_reference_reaches_the_best_value_within_one_percent():
    """Of one pair: its updates are those in lock-step (tests/unit/test_sb3_dqn.py)."""
    # rewards are divided by λ, so that errors stay below its Huber bound
    settings, (_, pair, _) = SOLVING.changed(huber_bound=1.0), PAIRS
    world = small_environment([pair], settings.episodes, start="free")
    weights = train_reference(world, settings=settings, seed=0)
    assert 0.99 <= shares_of_best(weights, [pair])[0] <= 1 + 1e-5
