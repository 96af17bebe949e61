"""How K diagnosis policies and their classifiers do while they are trained.

The curves of [diagnosis, figs 3 and 5] and the scores by which training stops. Knows outcomes and
labels; how policies are trained or finally judged is not known here.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.acquire.policies.diagnosis import DiagnosisPolicies, ImputedStates
from frugal.acquire.rewards import DiagnosisReward
from frugal.acquire.rollouts import roll_out
from frugal.core.episodes import Episodes
from frugal.core.scaling import average_ranks
from frugal.core.world import World

SMALLEST_PROBABILITY = 1e-7  # of float32 probabilities, in logarithms
SCORES = (
    "f1", "am", "auroc", "cost", "value", "classifier_auroc_random", "classifier_auroc_policy",
    "classifier_log_loss_random", "classifier_log_loss_policy",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class WatchedUnits:
    """Units on which policies are watched, and states of them drawn once at random.

    Attributes:
        task: the units.
        states: observations of their states.
        row: unit of each random state. (m,)
        acquired: panels of each random state. (m, a)
    """

    task: World
    states: ImputedStates
    row: Int[np.ndarray, " m"]
    acquired: Bool[np.ndarray, "m a"]

    @classmethod
    def drawn(cls, task: World, states: ImputedStates, rng: np.random.Generator) -> "WatchedUnits":
        """One random state of each unit: each available panel is known with probability ½."""
        known = (rng.random(task.available.shape) < 0.5) & task.available
        return cls(task, states, np.arange(len(task)), known)


def final_beliefs(policies: DiagnosisPolicies, units: WatchedUnits) -> Float[np.ndarray, "K n"]:
    """Probability of illness by each classifier where its deterministic episodes end. (K, n)"""
    world, completed = units.task, units.states.completed
    uniforms = np.zeros((len(world), world.panels + 1))
    acquired = roll_out(policies, world, uniforms=uniforms, states=completed).acquired
    rows = np.arange(len(world))
    seen = np.stack([completed.encode(rows, one) for one in acquired])
    return policies.beliefs(seen)[..., 1].astype(np.float64)


def score_policies(
    policies: DiagnosisPolicies, units: WatchedUnits, reward: DiagnosisReward
) -> dict[str, Float[np.ndarray, " K"]]:
    """Scores of the deterministic policies, from the free block on, and of their classifiers.

    Args:
        policies: of K learners.
        units: on which they are watched.
        reward: of each learner.

    Returns:
        For each of `SCORES` a value per learner (K,): F1, AM and AUROC of diagnoses; mean cost in
        the data set's unit; mean sum of rewards; AUROC and mean log-loss (nats) of the classifier
        on random states and on all states that the policy visits.
    """
    world, completed = units.task, units.states.completed
    episodes = roll_out(
        policies, world, uniforms=np.zeros((len(world), world.panels + 1)), states=completed,
        beliefs=True,
    )  # fmt: skip
    assert episodes.verdict is not None, "bug: these policies have a verdict"
    label, said = world.label, episodes.verdict.argmax(axis=2)
    f1, am = f1_and_am(label, said)
    at = np.arange(policies.members)[:, None]
    worth = reward.matrix[at, label, said].mean(axis=1)
    cost = episodes.cost.mean(axis=1)
    auroc = [area_under_curve(label, belief) for belief in episodes.verdict[:, :, 1]]
    result = {"f1": f1, "am": am, "auroc": np.array(auroc), "cost": cost}
    result["value"] = worth - reward.cost_weight * cost
    states = completed.encode(units.row, units.acquired)
    on_random = policies.beliefs(states)[:, :, 1]
    judged = {"random": [(label[units.row], p) for p in on_random]}
    judged["policy"] = _beliefs_on_visited(episodes, label, policies.members)
    for name, pairs in judged.items():
        result[f"classifier_auroc_{name}"] = np.array([area_under_curve(*pair) for pair in pairs])
        result[f"classifier_log_loss_{name}"] = np.array([_log_loss(*pair) for pair in pairs])
    return result


def f1_and_am(
    label: Int[np.ndarray, " n"], diagnosis: Int[np.ndarray, "K n"]
) -> tuple[Float[np.ndarray, " K"], Float[np.ndarray, " K"]]:
    """F1 = 2TP/(2TP + FP + FN), 0 without a positive; AM = (TPR + TNR)/2. (K,), (K,)"""
    ill, called = label == 1, diagnosis == 1
    hit, false = (called & ill).sum(axis=1), (called & ~ill).sum(axis=1)
    f1 = 2 * hit / np.maximum(hit + false + ill.sum(), 1)
    am = 0.5 * (hit / max(ill.sum(), 1) + 1 - false / max((~ill).sum(), 1))
    return f1, am


def area_under_curve(label: Int[np.ndarray, " n"], score: Float[np.ndarray, " n"]) -> float:
    """Probability that an ill unit scores higher than a healthy one, ties half; NaN undefined."""
    ill = label == 1
    pairs = ill.sum() * (~ill).sum()
    if not pairs or np.isnan(score).any():
        return float("nan")
    above = average_ranks(score)[ill].sum() - ill.sum() * (ill.sum() + 1) / 2
    return float(above / pairs)


def _log_loss(label: np.ndarray, probability: np.ndarray) -> float:
    bounded = np.clip(probability, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return float(-np.log(np.where(label == 1, bounded, 1 - bounded)).mean())


def _beliefs_on_visited(
    episodes: Episodes, label: np.ndarray, members: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(label, probability of illness) of all states visited by each member."""
    assert episodes.belief is not None, "bug: beliefs were not logged"
    cuts = np.bincount(episodes.member, minlength=members).cumsum()[:-1]
    parts = np.split(label[episodes.row], cuts), np.split(episodes.belief[:, 1], cuts)
    return list(zip(*parts, strict=True))
