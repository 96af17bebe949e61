"""Trained diagnosis policies of K learners: class probabilities, and the next action.

Policies of SM-DDPO [diagnosis, sec. 5], rebuilt from named arrays; and a boosted model as
its belief: one for all learners, fitted to rows with panels hidden at random, and again, from time
to time, to these and to the states that the learners visited [diagnosis, sec. 5.3]. Of a training
unit trees tell that did not see it. Knows completed rows, panel bits and worlds; no rewards.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from frugal.acquire.reading import CompletesRows, panel_or_stop, tilted_belief, with_stop
from frugal.acquire.train.state_classifier import Classifiers
from frugal.acquire.train.tree_sets import TreeRows, fit_masked, numbered, predicted_risk
from frugal.config.learners import BoostedSettings
from frugal.core.episodes import (
    Belief,
    Law,
    Panels,
    Readings,
    RowPanels,
    RowReadings,
    RowValues,
    Traits,
)
from frugal.core.errors import DataError
from frugal.core.stored import Array, Stored, under
from frugal.core.world import StateEncoder, World, adds_column
from frugal.learn.imputer_kinds import Imputer
from frugal.learn.trees import TreeEnsemble
from frugal.studies.diagnosis.lockstep_ppo import ActorCritic

TREES = "trees."  # prefix of a model's arrays, before its number
MODEL = "model"  # of each learner, by number
Believer = Callable[[np.ndarray, np.ndarray], np.ndarray]
CLASSIFIER = "classifier."  # prefix of the classifier's weights among a policy's
SELECTOR = ("policy.", "value.")  # prefixes of the panel selector's
THRESHOLD = "threshold"  # of the belief, among the weights of policies whose verdict it is


@dataclass(frozen=True, eq=False)
class ModelProbabilities:
    """Beliefs that follow the completed row in a reading, one of each of M models.

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
    """Readings of states: the completed row, and the prediction of each model.

    Attributes:
        completed: rows as an imputer completes them.
        believers: of (unit, panels) each returns the probability of illness.
    """

    completed: StateEncoder
    believers: Sequence[Believer]

    @property
    def width(self) -> int:
        """Entries of a reading, d + M."""
        return self.completed.width + len(self.believers)

    def encode(self, row: Int[np.ndarray, " m"], acquired: RowPanels) -> RowReadings:
        """Readings of m states. (m, d + M)"""
        beliefs = [believe(row, acquired) for believe in self.believers]
        parts = [self.completed.encode(row, acquired), *(p[:, None] for p in beliefs)]
        return np.concatenate(parts, axis=1).astype(np.float32)


def believed_states(
    completed: StateEncoder, world: World, models: Sequence[TreeEnsemble]
) -> BelievedStates:
    """Readings of units that no tree saw."""

    def of(model: TreeEnsemble) -> Believer:
        return lambda row, acquired: predicted_risk(model, world.visible(row, acquired), acquired)

    return BelievedStates(completed, [of(model) for model in models])


class BoostedBelief:
    """The model while SM-DDPO learns.

    Attributes:
        settings: how it is fitted.
        models: every one that was fitted; the last is in use.
    """

    def __init__(
        self, train: World, also: World | None, settings: BoostedSettings, rng: np.random.Generator
    ) -> None:
        """Fit it to rows with panels hidden at random.

        Args:
            train: units of the decision process.
            also: further units that only trees learn from.
            settings: how.
            rng: folds, panels that are hidden, and the trees' draws.
        """
        self.settings, self._train = settings, train
        world = train if also is None else _joined(train, also)
        self._rows = TreeRows(world, np.ones(len(world), dtype=bool), settings.boosting, rng)
        self.models: list[TreeEnsemble] = []
        self._fit(None)

    def refit(self, row: Int[np.ndarray, " m"], acquired: RowPanels) -> None:
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
            completed,
            [
                lambda row, acquired: predicted_risk(
                    self.models[-1], world.visible(row, acquired), acquired
                )
            ],
        )

    def arrays(self, numbers: Sequence[int]) -> dict[str, np.ndarray]:
        """Some of the models by name."""
        return numbered(TREES, [self.models[number] for number in numbers])

    def _fit(self, visited: tuple[np.ndarray, np.ndarray] | None) -> None:
        self._now = fit_masked(self._rows, copies=self.settings.copies, visited=visited)
        self.models.append(self._now.ensemble)

    def _out_of_fold(self, row: np.ndarray, acquired: np.ndarray) -> np.ndarray:
        return self._now.at(row, acquired)


def _joined(first: World, other: World) -> World:
    """Units of both."""
    parts = {
        name: np.concatenate([getattr(first, name), getattr(other, name)])
        for name in ("row_id", "values", "available", "label")
    }
    return replace(first, **parts)


@dataclass(frozen=True, eq=False)
class ImputedStates:
    """[reading, panel bits]: observations of diagnosis policies.

    Attributes:
        completed: the row as an imputer completes it from the state's values, standardised; and
            then predictions of boosted models, where they are the predictor.
        panels: a.
    """

    completed: StateEncoder
    panels: int

    @property
    def width(self) -> int:
        """Entries of an observation, d + M + a."""
        return self.completed.width + self.panels

    def encode(self, row: Int[np.ndarray, " m"], acquired: RowPanels) -> RowReadings:
        """Observations of m states. (m, d + M + a)"""
        completed_row = self.completed.encode(row, acquired)
        return np.concatenate([completed_row, acquired.astype(np.float32)], axis=1)


def state_embedding(
    observation: Float[Tensor, "K m w"],
    classifiers: Classifiers | ModelProbabilities,
    *,
    columns: int,
    input_bound: float,
) -> Float[Tensor, "K m v"]:
    """Inputs of a panel selector, with the classifier as it is now.

        s_emb = (Imp(x ⊙ M), f_φ(Imp(x ⊙ M)), M)                          [diagnosis, eq. 3]

    Differs from the paper: M is given by the bits of the panels, not of each column.

    Args:
        observation: completed rows, beliefs of M models, and panel bits. (K, m, d + M + a)
        classifiers: of the K learners, or which of the M beliefs is each one's.
        columns: of a completed row, d.
        input_bound: completed values are clipped to ± this many standard deviations.

    Returns:
        Class probabilities, clipped completed rows, panel bits. (K, m, k + d + a)
    """
    row = observation[..., :columns].clamp(-input_bound, input_bound)
    if isinstance(classifiers, Classifiers):
        return torch.cat([classifiers.probabilities(row), row, observation[..., columns:]], dim=2)
    bits = columns + classifiers.models
    probability = classifiers.probabilities(observation[..., columns:bits])
    return torch.cat([probability, row, observation[..., bits:]], dim=2)


class DiagnosisPolicies(CompletesRows):
    """K policies over [completed row, panel bits]; deterministic functions of their weights.

    Attributes:
        learners: panel selectors and values.
        classifiers: f_φ of each, or which of the boosted models is its.
        models: the boosted ones; none where f_φ are networks.
        classes: k.
        panels: that can be acquired, a.
        adds: columns that each panel adds to the free ones; one that adds none to the acquired ones
            is never ordered. (a, d)
        terminals: ways to end, 1 or k.
        columns: of a completed row, d.
        threshold: predicted probability from which a unit is classified as ill; None: the actor
            predicts the class. (K,)
        input_bound: in standard deviations.
    """

    def __init__(
        self,
        weights: Mapping[str, np.ndarray],
        settings: Mapping[str, Any],
        *,
        adds: Bool[np.ndarray, "a d"],
        imputer: Imputer | None = None,
        greedy: bool = True,
    ) -> None:
        """Rebuild policies.

        Args:
            weights: by name, leading axis K, as `fit_sm_ddpo` returns them.
            settings: the block that they were trained with.
            adds: columns that each panel adds to the free ones.
            imputer: completes rows; None where completed rows are kept next to the policies.
            greedy: True takes the likeliest action; False draws among them.

        Raises:
            DataError: the weights are no such policies; the message names the place.
        """
        by_belief = settings["verdict"] == "belief"
        numbers = {name.split(".")[1] for name in weights if name.startswith(TREES)}
        self.models = tuple(
            TreeEnsemble.from_arrays(under(weights, f"{TREES}{k}.")) for k in range(len(numbers))
        )
        self.classes, self.panels, self.terminals, self.columns = _require_policies(
            {k: v for k, v in weights.items() if not k.startswith(TREES)},
            self.models,
            by_belief=by_belief,
            boosted="boosting" in settings["classifier"],
        )
        self.threshold = weights[THRESHOLD] if by_belief else None
        selector = {k: v for k, v in weights.items() if k.startswith(SELECTOR)}
        self.learners = ActorCritic.of(selector, settings["ppo"]["activation"])
        self.classifiers: Classifiers | ModelProbabilities
        if self.models:
            self.classifiers = ModelProbabilities(weights[MODEL], len(self.models))
        else:
            classifier_weights = under(weights, CLASSIFIER)
            self.classifiers = Classifiers.of(
                classifier_weights, settings["classifier"]["activation"]
            )
        self.adds, self.imputer, self.greedy = adds, imputer, greedy
        self.input_bound = float(settings["input_bound"])

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(consistent=self.greedy, compares="probability by the actor", weigh=self.weigh)

    @property
    def members(self) -> int:
        """K."""
        return self.learners.count

    def require_task(self, task: World, *, columns: int, count: int) -> None:
        """These are so many policies for a task's panels, classes and ends.

        Args:
            task: on which they are to act.
            columns: of its completed rows.
            count: wanted number of policies.

        Raises:
            DataError: they are others.
        """
        shape = (self.members, self.columns, self.panels, self.classes, self.terminals)
        expected = (count, columns, task.panels, task.classes, task.terminals)
        if shape != expected:
            raise DataError(
                "the stored diagnosis policies, their columns, panels, classes and ends are "
                f"{', '.join(map(str, shape))}; settings and table need "
                f"{', '.join(map(str, expected))}"
            )

    def read(self, values: RowValues, acquired: RowPanels) -> RowReadings:
        """Completed rows, standardised, and the prediction of each boosted model. (m, d + M)"""
        row = super().read(values, acquired)
        beliefs = [predicted_risk(model, values, acquired)[:, None] for model in self.models]
        return np.concatenate([row, *beliefs], axis=1).astype(np.float32)

    def readings(self, completed: StateEncoder, world: World) -> StateEncoder:
        """Readings of a world's states, of which completed rows were kept."""
        return believed_states(completed, world, self.models) if self.models else completed

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """Of completed rows; "stop" has the sum of the ends, or 1 if one of them is likeliest."""
        if self.greedy:
            # by logits: a sum over many open panels could round two probabilities to a tie
            score = self.learners.scores(self._observed(reading, acquired)).numpy()
            _require_numbers(score)
            best = np.where(self._mask(self._open(acquired, available)), score, -np.inf).argmax(
                axis=2
            )
            return panel_or_stop(best, best < self.panels, self.panels)
        action_probability = self.actor_law(reading, acquired, self._open(acquired, available))
        ends = action_probability[..., self.panels :].sum(axis=2, keepdims=True)
        return np.concatenate([action_probability[..., : self.panels], ends], axis=2)

    def weigh(
        self, reading: Readings, acquired: Panels, available: Panels
    ) -> Float32[np.ndarray, "K m b"]:
        """Probability of each panel, then of the likeliest end. (K, m, a + 1)"""
        action_probability = self.actor_law(reading, acquired, self._open(acquired, available))
        return with_stop(
            action_probability[..., : self.panels],
            action_probability[..., self.panels :].max(axis=2),
        )

    def _open(self, acquired: np.ndarray, available: np.ndarray) -> Panels:
        return available & ~acquired & adds_column(self.adds, acquired)

    def _observed(self, reading: np.ndarray, acquired: np.ndarray) -> Tensor:
        torch.set_num_threads(1)
        observation = np.concatenate([reading, acquired.astype(np.float32)], axis=2)
        return self._embed(torch.from_numpy(observation))

    def _mask(self, open_panels: np.ndarray) -> Bool[np.ndarray, "K m actions"]:
        ends = np.ones((*open_panels.shape[:2], self.terminals), dtype=bool)
        return np.concatenate([open_panels, ends], axis=2)

    def conclude(self, reading: Readings, acquired: Panels) -> Belief:
        """Of completed rows: probability of each diagnosis, no panel being open. (K, m, k)

        Where the belief decides, it is tilted, so one half is the threshold.
        """
        if self.threshold is not None:
            return tilted_belief(self.believe(reading, acquired), self.threshold[:, None])
        if self.terminals == 1:
            return self.beliefs(reading).astype(np.float64)
        action_probability = self.actor_law(reading, acquired, np.zeros_like(acquired))
        ends = action_probability[..., self.panels :].astype(
            np.float64
        )  # the smaller keeps the larger from 1
        return ends / ends.sum(axis=2, keepdims=True)

    def believe(self, reading: Readings, acquired: Panels) -> Belief:
        """Of completed rows: class probabilities by each member's classifier. (K, m, k)"""
        return self.beliefs(reading).astype(np.float64)

    def actor_law(
        self, reading: Readings, acquired: Panels, open_panels: Panels
    ) -> Float32[np.ndarray, "K m actions"]:
        """Probability of each panel that is open, and of each end. (K, m, a + terminals)

        Raises:
            DataError: a stored actor gives values that are not numbers.
        """
        mask = torch.from_numpy(self._mask(open_panels))
        action_probability = self.learners.probabilities(
            self._observed(reading, acquired), mask
        ).numpy()
        _require_numbers(action_probability)
        return action_probability

    def beliefs(self, imputed: Float32[np.ndarray, "*K m d"]) -> Float32[np.ndarray, "K m k"]:
        """Class probabilities by each learner's classifier, of readings. (K, m, k)"""
        torch.set_num_threads(1)
        full = np.broadcast_to(imputed, (self.members, *imputed.shape[-2:]))
        if isinstance(self.classifiers, ModelProbabilities):
            beliefs = torch.from_numpy(full[..., self.columns :].copy())
            return self.classifiers.probabilities(beliefs).numpy()
        rows = torch.from_numpy(np.clip(full, -self.input_bound, self.input_bound))
        return self.classifiers.probabilities(rows).numpy()

    def _embed(self, observation: Tensor) -> Tensor:
        return state_embedding(
            observation, self.classifiers, columns=self.columns, input_bound=self.input_bound
        )


def _require_numbers(output: np.ndarray) -> None:
    """Of an actor's outputs; raises DataError."""
    if not np.isfinite(output).all():
        raise DataError(
            "a stored diagnosis policy gives probabilities that are not numbers: its weights "
            "are too large; train it again"
        )


def _require_policies(
    weights: Mapping[str, np.ndarray],
    models: Sequence[TreeEnsemble],
    *,
    by_belief: bool,
    boosted: bool,
) -> tuple[int, int, int, int]:
    """Layers that fit one another; numbers of classes, of panels, of ways to end, of columns."""
    stored = Stored("diagnosis policies", weights)
    expected = {THRESHOLD: Array("float32", ("K",), above=0, high=1)} if by_belief else {}
    if boosted:
        expected[MODEL] = Array("int64", ("K",), low=0)
    for part, out in (("policy", "actions"), ("value", 1), ("classifier", "classes")):
        if part == "classifier" and boosted:
            continue
        start = "columns" if part == "classifier" else "inputs"
        stack = "classifier" if part == "classifier" else "hidden"  # policy and value alike
        layers = next(i for i in count() if f"{part}.{i}.weight" not in weights)
        sizes = [start, *(f"{stack} {i}" for i in range(max(layers, 2) - 1)), out]
        for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
            expected[f"{part}.{i}.weight"] = Array("float32", ("K", fan_in, fan_out))
            expected[f"{part}.{i}.bias"] = Array("float32", ("K", fan_out))
    size = stored.require(expected)
    if boosted:
        inputs = size["inputs"]
        stored.require_between(MODEL, 0, len(models) - 1)
        read = {model.columns for model in models}
        if read != {inputs - 2} or {model.classes for model in models} != {2}:
            raise stored.refusal(
                f"have {inputs} inputs and models that read {', '.join(map(str, sorted(read)))} "
                "columns; models predict two classes, and read the inputs other than the classes"
            )
        size |= {"classes": 2, "columns": inputs - size["actions"]}
    panels = size["inputs"] - size["classes"] - size["columns"]
    terminals = size["actions"] - panels
    if panels < 1 or terminals not in (1, size["classes"]):
        raise stored.refusal(
            f"have {size['inputs']} inputs and {size['actions']} actions for {size['columns']} "
            f"columns and {size['classes']} classes; inputs are classes, columns and panels, "
            "actions are panels and the ways to end, 1 or one for each class"
        )
    return size["classes"], panels, terminals, size["columns"]
