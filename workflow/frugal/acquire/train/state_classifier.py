"""One classifier for any state: fitted on randomly masked states, asked with completed rows.

The pretrained f_φ of [diagnosis, sec. 5.3], and the classifier that the simple ways of choosing
panels share with it. Must not know policies, rewards or costs.
"""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int

from frugal.acquire.train.lockstep_classifier import Classifiers, ClassifierTrainer
from frugal.config.learners import ClassifierSettings
from frugal.core.world import StateEncoder, World

ROWS_AT_ONCE = 1 << 16  # bounds memory
KNOWN_SHARE = 0.5  # chance of each available panel in a random state


def learn_states(
    trainer: ClassifierTrainer,
    task: World,
    completed: StateEncoder,
    row: Int[np.ndarray, "K b"],
    known: Bool[np.ndarray, "K b a"],
    *,
    input_bound: float,
) -> None:
    """One minibatch of each of K classifiers, from units and their known panels."""
    states = row.reshape(-1), known.reshape(-1, task.panels)
    seen = completed.encode(*states).reshape(*row.shape, -1)
    bounded = torch.from_numpy(seen).clamp(-input_bound, input_bound)
    trainer.learn(bounded, torch.from_numpy(task.label[row].astype(np.int64)))


@dataclass(frozen=True, eq=False)
class StateClassifier:
    """A fitted classifier.

    Attributes:
        networks: the only one of `Classifiers`.
        input_bound: completed values are clipped to ± this many standard deviations.
    """

    networks: Classifiers
    input_bound: float

    def belief(self, completed: Float32[np.ndarray, "m d"]) -> Float[np.ndarray, "m k"]:
        """Class probabilities of completed rows. (m, k)"""
        torch.set_num_threads(1)
        parts = []
        for start in range(0, len(completed), ROWS_AT_ONCE):
            part = np.clip(
                completed[start : start + ROWS_AT_ONCE], -self.input_bound, self.input_bound
            )
            parts.append(self.networks.probabilities(torch.from_numpy(part)[None])[0].numpy())
        return np.concatenate(parts).astype(np.float64)


def fit_state_classifier(
    task: World,
    completed: StateEncoder,
    *,
    settings: ClassifierSettings,
    updates: int,
    input_bound: float,
    rng: np.random.Generator,
) -> StateClassifier:
    """Fit on random units, each available panel known with chance ½.

    Args:
        task: the units and their labels.
        completed: completed rows of their states, standardised.
        settings: shape, learning rate, minibatch, class weights.
        updates: minibatches.
        input_bound: of completed values, in standard deviations.
        rng: first weights, units, panels.
    """
    torch.set_num_threads(1)
    networks = Classifiers.fresh(1, completed.width, task.classes, settings=settings, rng=rng)
    trainer = ClassifierTrainer(networks, settings)
    for _ in range(updates):
        row = rng.integers(len(task), size=(1, settings.batch))
        known = (rng.random((*row.shape, task.panels)) < KNOWN_SHARE) & task.available[row]
        learn_states(trainer, task, completed, row, known, input_bound=input_bound)
    return StateClassifier(networks, input_bound)
