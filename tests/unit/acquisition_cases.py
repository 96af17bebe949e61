"""The small world of the oracle as a decision process of the package, and a rule to walk in it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from frugal.acquire.acquisition import (
    BatchedAcquisition,
    DiagnosisReward,
    Reward,
    Start,
    theorem_reward,
)
from frugal.acquire.encoders import ValuesEncoder, tabulate
from frugal.acquire.reading import Reading
from frugal.config.learners import PpoSettings
from frugal.core.episodes import Episodes
from frugal.core.world import StateEncoder, World

from tests.oracles import acquisition_values as oracle
from tests.oracles.acquisition_worlds import world_of

Pairs = Sequence[tuple[float, float]]
PAIRS = ((1.0, -0.1), (3.0, -0.2), (5.0, -0.3))  # (λ, ρ): acquiring some of the panels is best


def small_problem() -> tuple[World, ValuesEncoder]:
    """Every panel available, two diagnoses."""
    values, label = oracle.small_world()
    columns = np.arange(oracle.COLUMNS)
    provides = np.array([np.isin(columns, shown) for shown in oracle.PANEL_COLUMNS])
    cost = np.array(oracle.PANEL_COST)
    world = world_of(values, provides, columns == 0, label=label, cost=cost, terminals=2)
    return world, ValuesEncoder.of(world)


@dataclass(frozen=True, eq=False)
class BestActions(Reading):
    """K members that take the action of the largest score; a verdict among them is "stop".

    Attributes:
        members: K.
        score: (observation (K, m, w), mask (K, m, a + 2)) → (K, m, a + 2), of panels and verdicts.
    """

    members: int
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def read(self, values, acquired):
        raise AssertionError("readings are kept beside these policies")

    def decide(self, reading, acquired, available):
        a = acquired.shape[2]
        return np.eye(a + 1)[np.minimum(self._scores(reading, available & ~acquired).argmax(2), a)]

    def conclude(self, reading, acquired):
        score = self._scores(reading, np.zeros_like(acquired))
        return np.eye(2)[score.argmax(2) - acquired.shape[2]]

    def _scores(self, reading, open_panels):
        ends = np.ones((*open_panels.shape[:2], 2), dtype=bool)
        mask = np.concatenate([open_panels, ends], axis=2)
        return np.where(mask, self.score(reading, mask), -np.inf)


def first_of_equals(world: World) -> np.ndarray:
    """Uniforms for policies that leave nothing to chance. (n, a + 1)"""
    return np.zeros((len(world), world.panels + 1))


def verdicts(episodes: Episodes) -> np.ndarray:
    """Class said in the end. (K, n)"""
    assert episodes.verdict is not None
    return episodes.verdict.argmax(axis=2)


def mean_rewards(episodes: Episodes, world: World, reward: Reward) -> np.ndarray:
    """Mean sum of rewards of each member over all units, from the decision log. (K,)"""
    members, n = episodes.cost.shape
    total = -reward.cost_weight[episodes.member] * episodes.price
    ends = np.flatnonzero(episodes.action == world.panels)
    who, unit = episodes.member[ends], episodes.row[ends]
    said = verdicts(episodes)[who, unit]
    total[ends] = reward.end(who, unit, world.label[unit], episodes.acquired[who, unit], said)
    return np.bincount(episodes.member, weights=total, minlength=members) / n


def scaled_rewards(pairs: Pairs) -> DiagnosisReward:
    """Rewards of the theorem divided by λ, so that the networks' values are about 1."""
    lam, rho = (np.array(part) for part in zip(*pairs, strict=True))
    reward = theorem_reward(lam, rho)
    return DiagnosisReward(
        (reward.matrix / lam[:, None, None]).astype(np.float32),
        (reward.cost_weight / lam).astype(np.float32),
    )


def environment_of(
    task: World,
    encoder: StateEncoder,
    reward: Reward,
    *,
    learners: int = 1,
    episodes: int,
    start: Start = "random",
    seed: int | list[int] = 0,
) -> BatchedAcquisition:
    """Episodes of learners, whose starts are drawn by a seed."""
    rng = np.random.default_rng(seed)
    return BatchedAcquisition(
        task, encoder, reward, learners=learners, episodes=episodes, start=start, rng=rng
    )


def small_environment(pairs: Pairs, episodes: int, *, start: Start) -> BatchedAcquisition:
    """One learner for each pair, on the tabulated small world."""
    task, encoder = small_problem()
    table = tabulate(encoder, len(task), task.panels, max_gib=0.1)
    how = {"learners": len(pairs), "episodes": episodes, "seed": 1}
    return environment_of(task, table, scaled_rewards(pairs), start=start, **how)


def fit_ppo(
    environment: BatchedAcquisition,
    *,
    settings: PpoSettings,
    updates: int,
    rng: np.random.Generator,
) -> dict[str, np.ndarray]:
    """One policy per learner by the lock-step trainer; weights as `ActorCritic.export` has them."""
    import torch  # slow to import
    from frugal.studies.diagnosis.lockstep_ppo import ActorCritic, PpoTrainer, collect_rollout

    torch.set_num_threads(1)
    k, _, width = environment.observation.shape
    actions, hidden = environment.task.actions, settings.hidden
    learners = ActorCritic.fresh(
        k, width, actions, hidden=hidden, activation=settings.activation, rng=rng
    )
    generator = torch.Generator().manual_seed(int(rng.integers(2**63 - 1)))
    trainer = PpoTrainer(learners, settings)
    for _ in range(updates):
        rollout = collect_rollout(
            learners,
            environment,
            lambda env: torch.from_numpy(env.observation),
            steps=settings.steps // settings.episodes,
            gae_lambda=settings.gae_lambda,
            generator=generator,
        )
        trainer.learn(rollout, generator)
    return learners.export()
