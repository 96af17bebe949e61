"""A boosted model as the belief of SM-DDPO: one for all learners, in the loop of Algorithm 1.

It is fitted to rows with panels hidden at random, and again, from time to time, to these and to the
states that the learners visited [diagnosis, sec. 5.3]. Of a training unit trees tell that did not
see it. Knows worlds; no rewards and no panel selectors.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from frugal.acquire.train.masked_trees import fit_masked, told
from frugal.acquire.train.tree_sets import TreeRows
from frugal.config.learners import BoostedSettings
from frugal.core.world import StateEncoder, World
from frugal.learn.trees import TreeEnsemble

TREES = "trees."  # prefix of a model's arrays, before its number
MODEL = "model"  # of each learner, by number

Believer = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class ToldBeliefs:
    """Beliefs that stand behind the completed row in a reading, one of each of M models.

    Attributes:
        model: that each learner goes by. (K,)
        models: M.
    """

    model: Int[np.ndarray, " K"]
    models: int

    def probabilities(self, beliefs: Float[Tensor, "K m M"]) -> Float[Tensor, "K m 2"]:
        """Class probabilities of each learner's states. (K, m, 2)"""
        place = torch.from_numpy(self.model)[:, None, None].expand(-1, beliefs.shape[1], 1)
        ill = beliefs.gather(2, place)
        return torch.cat([1 - ill, ill], dim=2)


@dataclass(frozen=True, eq=False)
class BelievedStates:
    """Readings of states: the completed row, and what each model believes.

    Attributes:
        completed: rows as an imputer completes them.
        believers: of (unit, panels) each tells the probability of illness.
    """

    completed: StateEncoder
    believers: Sequence[Believer]

    @property
    def width(self) -> int:
        """Entries of a reading, d + M."""
        return self.completed.width + len(self.believers)

    def encode(
        self, row: Int[np.ndarray, " m"], acquired: Bool[np.ndarray, "m a"]
    ) -> Float32[np.ndarray, "m w"]:
        """Readings of m states. (m, d + M)"""
        beliefs = [believe(row, acquired) for believe in self.believers]
        parts = [self.completed.encode(row, acquired), *(p[:, None] for p in beliefs)]
        return np.concatenate(parts, axis=1).astype(np.float32)


def believed_states(
    completed: StateEncoder, world: World, models: Sequence[TreeEnsemble]
) -> BelievedStates:
    """Readings of units that no tree saw."""

    def of(model: TreeEnsemble) -> Believer:
        return lambda row, acquired: told(model, world.visible(row, acquired), acquired)

    return BelievedStates(completed, [of(model) for model in models])


class BoostedBelief:
    """The model while SM-DDPO learns.

    Attributes:
        settings: how it is fitted.
        models: every one that was fitted; the last tells now.
    """

    def __init__(
        self,
        train: World,
        also: World | None,
        settings: BoostedSettings,
        rng: np.random.Generator,
    ) -> None:
        """Fit it to rows with panels hidden at random.

        Args:
            train: units of the decision process.
            also: further units that only trees learn from.
            settings: how.
            rng: folds, panels that are hidden, and the trees' draws.
        """
        self.settings, self._train = settings, train
        world = train if also is None else _together(train, also)
        self._rows = TreeRows(world, np.ones(len(world), dtype=bool), settings.boosting, rng)
        self.models: list[TreeEnsemble] = []
        self._fit(None)

    def refit(self, row: Int[np.ndarray, " m"], acquired: Bool[np.ndarray, "m a"]) -> None:
        """Fit it anew, to states that were visited, too."""
        self._fit((row, acquired))

    @property
    def enough(self) -> int:
        """Visited states that weigh as much as the others."""
        return self.settings.copies * len(self._rows.world)

    def of_training(self, completed: StateEncoder) -> BelievedStates:
        """Readings of the training units, by the trees of now that did not see them."""
        return BelievedStates(completed, [self._out_of_fold])

    def of_others(self, completed: StateEncoder, world: World) -> BelievedStates:
        """Readings of other units, by all trees of now."""
        return BelievedStates(
            completed, [lambda row, got: told(self.models[-1], world.visible(row, got), got)]
        )

    def arrays(self, numbers: Sequence[int]) -> dict[str, np.ndarray]:
        """Some of the models by name."""
        return {
            f"{TREES}{k}.{name}": array
            for k, number in enumerate(numbers)
            for name, array in self.models[number].to_arrays().items()
        }

    def _fit(self, visited: tuple[np.ndarray, np.ndarray] | None) -> None:
        self._now = fit_masked(self._rows, copies=self.settings.copies, visited=visited)
        self.models.append(self._now.ensemble)

    def _out_of_fold(self, row: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        return self._now.at(row, acquired)


def _together(one: World, other: World) -> World:
    """Units of both."""
    parts = {
        name: np.concatenate([getattr(one, name), getattr(other, name)])
        for name in ("row_id", "values", "available", "label")
    }
    return replace(one, **parts)
