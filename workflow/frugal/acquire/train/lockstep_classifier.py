"""K classifiers of one shape trained in lock-step by weighted cross-entropy.

The classifier f_φ of [diagnosis, sec. 5.3], one for each learner: from a completed row to class
probabilities. Must not know how rows were completed, which policy visited them, nor rewards.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float, Float32, Int
from torch import Tensor

from frugal.config.learners import ClassifierSettings
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
        law = torch.softmax(scores, dim=2)
        one_hot = torch.nn.functional.one_hot(label, law.shape[2])
        along = torch.tensor(class_weights, dtype=torch.float32)[label] / label.shape[1]
        slope = (law - one_hot) * along.unsqueeze(2)
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
