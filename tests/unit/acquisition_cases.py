"""The small world of the oracle as a decision process of the package, and a rule to walk in it."""

from collections.abc import Sequence

import numpy as np
from frugal.contracts import AcquisitionTask
from frugal.environments.acquisition import BatchedAcquisition, Start
from frugal.environments.diagnosis_rollouts import Outcomes
from frugal.environments.encoders import ValuesEncoder, tabulate
from frugal.environments.rewards import DiagnosisReward, Reward, theorem_reward

from tests.oracles import acquisition_values as oracle

Pairs = Sequence[tuple[float, float]]
PAIRS = ((1.0, -0.1), (3.0, -0.2), (5.0, -0.3))  # (λ, ρ): acquiring some of the panels is best


def small_problem() -> tuple[AcquisitionTask, ValuesEncoder]:
    """Every panel available, two diagnoses."""
    values, label = oracle.small_world()
    columns = np.arange(oracle.COLUMNS)
    provides = np.array([np.isin(columns, shown) for shown in oracle.PANEL_COLUMNS])
    task = AcquisitionTask(
        np.ones((len(label), len(provides)), dtype=bool),
        label,
        np.array(oracle.PANEL_COST),
        classes=2,
        terminals=2,
    )
    return task, ValuesEncoder(values, provides, columns == 0)


def mean_rewards(outcomes: Outcomes, task: AcquisitionTask, reward: Reward) -> np.ndarray:
    """Mean sum of rewards of each learner over all units, from the decision log. (K,)"""
    learners, n = outcomes.terminal.shape
    total = -reward.cost_weight[outcomes.learner] * outcomes.cost
    ends = np.flatnonzero(outcomes.action >= task.panels)
    who, unit = outcomes.learner[ends], outcomes.row[ends]
    total[ends] = reward.end(
        who,
        unit,
        task.label[unit],
        outcomes.acquired[who, unit],
        outcomes.action[ends] - task.panels,
    )
    return np.bincount(outcomes.learner, weights=total, minlength=learners) / n


def scaled_rewards(pairs: Pairs) -> DiagnosisReward:
    """Rewards of the theorem divided by λ, so that the networks' values are about 1."""
    lam, rho = (np.array(part) for part in zip(*pairs, strict=True))
    reward = theorem_reward(lam, rho)
    return DiagnosisReward(
        (reward.matrix / lam[:, None, None]).astype(np.float32),
        (reward.cost_weight / lam).astype(np.float32),
    )


def small_environment(pairs: Pairs, episodes: int, *, start: Start) -> BatchedAcquisition:
    """One learner for each pair, on the tabulated small world."""
    task, encoder = small_problem()
    return BatchedAcquisition(
        task,
        tabulate(encoder, len(task), task.panels, max_gib=0.1),
        scaled_rewards(pairs),
        learners=len(pairs),
        episodes=episodes,
        start=start,
        rng=np.random.default_rng(1),
    )
