"""One classifier of states, and the policies that choose panels plainly and use it.

It is the pretrained f_φ of [diagnosis, sec. 5.3], fitted on randomly masked states and used with
completed rows. The baselines RS and FS of [diagnosis, sec. 6.2] order panels at random, or the same
for everyone. Must not know rewards or costs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from frugal.acquire.kinds import UNTUNED, PolicySet, TrainingData
from frugal.acquire.reading import SMALLEST_BELIEF, CompletesRows, panel_or_stop, tilted_belief
from frugal.config.learners import ClassifierSettings
from frugal.core.episodes import Belief, Law, Panels, Readings, Traits
from frugal.core.world import StateEncoder, World
from frugal.learn.imputer_kinds import Imputer
from frugal.learn.lockstep import (
    Activation,
    Adam,
    FlatParameters,
    backward,
    forward,
    layers_of,
    orthogonal_layers,
    orthogonal_weights,
)

ADAM_EPSILON = 1e-8
ROWS_AT_ONCE = 1 << 16  # bounds memory
KNOWN_SHARE = 0.5  # chance of each available panel in a random state


class Classifiers:
    """K classifiers.

    Attributes:
        activation: between layers.
        parameters: "i.weight" (K, in, out) and "i.bias" (K, 1, out) of layer i; the last is linear.
    """

    def __init__(self, arrays: Mapping[str, Tensor], activation: Activation) -> None:
        self.activation: Activation = activation
        self.parameters = FlatParameters.of(arrays)

    @classmethod
    def fresh(
        cls,
        count: int,
        width: int,
        classes: int,
        *,
        settings: ClassifierSettings,
        rng: np.random.Generator,
    ) -> "Classifiers":
        """Classifiers before training: orthogonal weights, zero biases."""
        weights, biases = orthogonal_layers(count, width, settings.hidden, rng=rng)
        weights.append(orthogonal_weights(count, settings.hidden[-1], classes, gain=1.0, rng=rng))
        biases.append(torch.zeros(count, 1, classes))
        arrays = {f"{i}.weight": weight for i, weight in enumerate(weights)}
        arrays |= {f"{i}.bias": bias for i, bias in enumerate(biases)}
        return cls(arrays, settings.activation)

    @classmethod
    def of(
        cls, weights: Mapping[str, Float32[np.ndarray, "..."]], activation: Activation
    ) -> "Classifiers":
        """Classifiers from exported weights; inverse of `export`."""
        arrays = {k: v if k.endswith("weight") else v[:, None] for k, v in weights.items()}
        return cls({k: torch.from_numpy(v) for k, v in arrays.items()}, activation)

    def repeated(self, count: int) -> "Classifiers":
        """`count` copies of the only classifier."""
        arrays = {k: v.repeat(count, 1, 1) for k, v in self.parameters.views.items()}
        return Classifiers(arrays, self.activation)

    def export(self) -> dict[str, Float32[np.ndarray, "..."]]:
        """Copies of the weights: "i.weight" (K, in, out), "i.bias" (K, out)."""
        arrays = {
            k: v if k.endswith("weight") else v[:, 0] for k, v in self.parameters.views.items()
        }
        return {name: array.clone().contiguous().numpy() for name, array in arrays.items()}

    @torch.no_grad()
    def probabilities(self, inputs: Float[Tensor, "K m d"]) -> Float[Tensor, "K m k"]:
        """Class probabilities of completed rows, softmax(f_φ). (K, m, k)"""
        return torch.softmax(self._forward(inputs)[2], dim=2)

    def write_gradient(
        self,
        inputs: Float[Tensor, "K b d"],
        label: Int[Tensor, "K b"],
        class_weights: Sequence[float],
    ) -> None:
        """Fill `parameters.gradient` with that of the mean weighted cross-entropies.

        ℓ_c = −(1/b) Σ_j w_{y_j} log softmax(f_φ(x_j))_{y_j}              [diagnosis, app. D]
        """
        entering, before, scores = self._forward(inputs)
        probability = torch.softmax(scores, dim=2)
        one_hot = torch.nn.functional.one_hot(label, probability.shape[2])
        along = torch.tensor(class_weights, dtype=torch.float32)[label] / label.shape[1]
        slope = (probability - one_hot) * along.unsqueeze(2)
        weights, _ = layers_of(self.parameters.views)
        out = list(zip(*layers_of(self.parameters.gradient_views), strict=True))
        backward(weights, entering, before, slope, self.activation, out)

    def _forward(self, inputs: Tensor) -> tuple[list[Tensor], list[Tensor], Tensor]:
        return forward(*layers_of(self.parameters.views), inputs, self.activation)


class ClassifierTrainer:
    """Moves K classifiers by minibatches.

    Attributes:
        classifiers: changed in place by `learn`.
        settings: how.
    """

    def __init__(self, classifiers: Classifiers, settings: ClassifierSettings) -> None:
        self.classifiers, self.settings = classifiers, settings
        self._adam = Adam(
            classifiers.parameters, learning_rate=settings.learning_rate, epsilon=ADAM_EPSILON
        )

    @torch.no_grad()
    def learn(self, inputs: Float[Tensor, "K b d"], label: Int[Tensor, "K b"]) -> None:
        """One step of Adam on a minibatch of each classifier."""
        self.classifiers.write_gradient(inputs, label, self.settings.class_weights)
        self._adam.step()


def learn_states(
    trainer: ClassifierTrainer,
    task: World,
    completed: StateEncoder,
    row: Int[np.ndarray, "K b"],
    acquired: Bool[np.ndarray, "K b a"],
    *,
    input_bound: float,
) -> None:
    """One minibatch of each of K classifiers, from units and their known panels."""
    states = row.reshape(-1), acquired.reshape(-1, task.panels)
    observation = completed.encode(*states).reshape(*row.shape, -1)
    bounded = torch.from_numpy(observation).clamp(-input_bound, input_bound)
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
        acquired = (rng.random((*row.shape, task.panels)) < KNOWN_SHARE) & task.available[row]
        learn_states(trainer, task, completed, row, acquired, input_bound=input_bound)
    return StateClassifier(networks, input_bound)


Criterion = Literal["f1", "am"]


def tuned_threshold(
    label: Int[np.ndarray, " n"], probability: Float[np.ndarray, " n"], criterion: Criterion
) -> float:
    """Threshold of probability with the best F1, or AM, on some units; in (0, 1).

    It lies halfway between neighbouring probabilities, and among equals is the lowest.

    Args:
        label: 1 if ill. (n,)
        probability: of being ill. (n,)
        criterion: "f1" = 2TP/(2TP + FP + FN) or "am" = (TPR + TNR)/2.
    """
    order = np.argsort(probability, kind="stable")
    p, ill = probability[order], label[order] == 1
    missed = np.concatenate([[0], ill.cumsum()])  # ill units below the i-th cut
    cleared = np.concatenate([[0], (~ill).cumsum()])
    positives, negatives = max(int(ill.sum()), 1), max(int((~ill).sum()), 1)
    hit, false = ill.sum() - missed, (~ill).sum() - cleared
    score = {
        "f1": 2 * hit / np.maximum(hit + false + ill.sum(), 1),
        "am": 0.5 * (hit / positives + cleared / negatives),
    }[criterion]
    cut = np.concatenate([[0.0], p]) / 2 + np.concatenate([p, [1.0]]) / 2
    possible = np.concatenate([[True], p[1:] > p[:-1], [True]])
    best = np.flatnonzero(possible)[score[possible].argmax()]
    return float(np.clip(cut[best], SMALLEST_BELIEF, 1 - SMALLEST_BELIEF))


def fixed_plan(n: int, order: Int[np.ndarray, " a"]) -> Float32[np.ndarray, "n a"]:
    """The same order of panels for n units: places of the panels in it. (n, a)"""
    return np.tile(np.argsort(order).astype(np.float32), (n, 1))


def without_nested(
    plan: Float32[np.ndarray, "n a"],
    available: Bool[np.ndarray, "n a"],
    provides: Bool[np.ndarray, "a d"],
) -> Float32[np.ndarray, "n a"]:
    """Plans in which, of two panels one of which is inside the other, only the first is ordered.

    A panel that the unit cannot have drops no other. Later panels move up. (n, a)

    Args:
        plan: places of panels, from `fixed_plan`. (n, a)
        available: panels that a unit can have. (n, a)
        provides: columns that each panel adds to the free ones; at least one. (a, d)

    Returns:
        The plan with new places; infinite for dropped panels. (n, a)
    """
    nested = nested_panels(provides)
    ordered, dropped = np.zeros_like(available), np.zeros_like(available)
    units = np.arange(len(plan))
    for panel in plan.argsort(axis=1).T:
        twice = (ordered & nested[panel]).any(axis=1)
        dropped[units, panel] = twice
        ordered[units, panel] = available[units, panel] & ~twice
    place = np.where(dropped, np.inf, plan).argsort(axis=1).argsort(axis=1)
    return np.where(dropped, np.inf, place).astype(np.float32)


def panels_by_use(acquired: Bool[np.ndarray, "*n a"]) -> Int[np.ndarray, " a"]:
    """Panels from the most to the least acquired one, equals by index. (a,)

    FS takes the first two of the panels that the policies under comparison acquired.
    """
    uses = acquired.reshape(-1, acquired.shape[-1]).sum(axis=0)
    return np.argsort(-uses, kind="stable")


def nested_panels(provides: Bool[np.ndarray, "a d"]) -> Bool[np.ndarray, "a a"]:
    """True where the columns of one of two panels are among those of the other. (a, a)"""
    inside = (provides[:, None] <= provides[None]).all(axis=2)
    return (inside | inside.T) & ~np.eye(len(provides), dtype=bool)


@dataclass(frozen=True, eq=False)
class SelectionPolicies(CompletesRows):
    """K policies that take so many panels, at random or in one order, then diagnose.

    Of two panels one of which is inside the other, only the first is taken; a panel of the order
    that a unit cannot have is left out.

    Attributes:
        classifier: gives the diagnosis.
        imputer: completes rows.
        provides: columns that each panel adds to the free ones. (a, d)
        order: of the panels; None: each next panel is drawn evenly from the rest. (a,)
        length: panels that each policy takes. (K,)
        threshold: of the probability of illness, of each policy. (K,)
    """

    classifier: StateClassifier
    imputer: Imputer
    provides: Bool[np.ndarray, "a d"]
    order: Int[np.ndarray, " a"] | None
    length: Int[np.ndarray, " K"]
    threshold: Float[np.ndarray, " K"]

    @property
    def traits(self) -> Traits:
        """See `Traits`."""
        return Traits(threshold=self.threshold)

    @property
    def members(self) -> int:
        """K."""
        return len(self.length)

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (K, m, a + 1)"""
        nested, a = nested_panels(self.provides), len(self.provides)
        left = available & ~acquired
        if self.order is not None:
            flat = available.reshape(-1, a)
            plan = without_nested(fixed_plan(len(flat), self.order), flat, self.provides)
            place = np.where(left, plan.reshape(acquired.shape), np.inf)
            goes_on = place.min(axis=2) < self.length[:, None]
            return panel_or_stop(place.argmin(axis=2), goes_on, a)
        left &= ~(acquired.astype(np.float32) @ nested.astype(np.float32) > 0)
        left &= (acquired.sum(axis=2) < self.length[:, None])[..., None]
        action_probability = np.concatenate([left, ~left.any(axis=2, keepdims=True)], axis=2)
        return action_probability / action_probability.sum(axis=2, keepdims=True)

    def conclude(self, reading: Readings, acquired: Panels) -> Belief:
        """Class probabilities, tilted so that one half is the threshold. (K, m, 2)"""
        flat = self.classifier.belief(reading.reshape(-1, reading.shape[2]))
        return tilted_belief(flat.reshape(*acquired.shape[:2], 2), self.threshold[:, None])


def selected(
    data: TrainingData, order: Int[np.ndarray, " a"] | None, lengths: list[int]
) -> PolicySet:
    """Policies that take so many panels of an order, or at random; none of them inside another."""
    policies = SelectionPolicies(
        data.classifier,
        data.imputer,
        data.table.provides & ~data.table.free_columns,
        order,
        np.array(lengths, dtype=np.int64),
        np.full(len(lengths), UNTUNED),
    )
    words = ["1 panel" if n == 1 else f"{n} panels" for n in lengths]
    return PolicySet([(np.nan, np.nan, w) for w in words], policies, data.states)
