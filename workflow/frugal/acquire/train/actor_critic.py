"""K pairs of networks with one shape: a masked policy and a state value each.

What lock-step PPO trains [diagnosis, app. D] and what trained policies are rebuilt from. Must not
know how it is trained, what the actions mean, nor the data.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from torch import Tensor

from frugal.learn.lockstep import (
    Activation,
    FlatParameters,
    hidden_forward,
    layers_of,
    orthogonal_layers,
    orthogonal_weights,
    product,
)

FORBIDDEN = -1e8  # logit of a masked action, as in sb3-contrib: its probability is exactly 0
POLICY_GAIN, VALUE_GAIN = 0.01, 1.0  # of the last layers' first weights, as in stable-baselines3
PARTS = ("policy", "value")
HIDDEN = "hidden."


def masked_log_prob(
    logits: Float[Tensor, "*m A"], mask: Bool[Tensor, "*m A"]
) -> Float[Tensor, "*m A"]:
    """Log-probabilities of a categorical law over the allowed actions; others about −1e8. (…, A)"""
    return torch.log_softmax(logits.masked_fill(~mask, FORBIDDEN), dim=-1)


class ActorCritic:
    """Policies and values of K learners. The first K of 2K hidden stacks are the policies'.

    Attributes:
        count: K.
        activation: between layers.
        parameters: "hidden.i.weight" (2K, in, out), "hidden.i.bias" (2K, 1, out), and heads
            "policy.weight" (K, h, A), "policy.bias" (K, 1, A), "value.weight" (K, 1, h),
            "value.bias" (K, 1).
    """

    def __init__(self, arrays: Mapping[str, Tensor], activation: Activation) -> None:
        self.count = len(arrays["policy.weight"])
        self.activation: Activation = activation
        self.parameters = FlatParameters.of(arrays)

    @classmethod
    def fresh(
        cls,
        count: int,
        width: int,
        actions: int,
        *,
        hidden: Sequence[int],
        activation: Activation,
        rng: np.random.Generator,
    ) -> "ActorCritic":
        """Learners before training: orthogonal weights, zero biases, almost uniform policies."""
        weights, biases = orthogonal_layers(2 * count, width, hidden, rng=rng)
        top = hidden[-1]
        policy = orthogonal_weights(count, top, actions, gain=POLICY_GAIN, rng=rng)
        value = orthogonal_weights(count, top, 1, gain=VALUE_GAIN, rng=rng)
        arrays = _named(weights, biases)
        arrays |= {"policy.weight": policy, "policy.bias": torch.zeros(count, 1, actions)}
        arrays |= {"value.weight": value.transpose(1, 2), "value.bias": torch.zeros(count, 1)}
        return cls(arrays, activation)

    @classmethod
    def of(
        cls, weights: Mapping[str, Float32[np.ndarray, "..."]], activation: Activation
    ) -> "ActorCritic":
        """Learners from exported weights; inverse of `export`."""
        layers = sum(name.startswith("policy.") for name in weights) // 2 - 1
        both = {
            f"hidden.{i}.{kind}": np.concatenate([weights[f"{part}.{i}.{kind}"] for part in PARTS])
            for i in range(layers)
            for kind in ("weight", "bias")
        }
        both = {k: v if k.endswith("weight") else v[:, None] for k, v in both.items()}
        both["policy.weight"] = weights[f"policy.{layers}.weight"]
        both["policy.bias"] = weights[f"policy.{layers}.bias"][:, None]
        both["value.weight"] = weights[f"value.{layers}.weight"].transpose(0, 2, 1)
        both["value.bias"] = weights[f"value.{layers}.bias"]
        return cls(
            {k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in both.items()}, activation
        )

    def export(self) -> dict[str, Float32[np.ndarray, "..."]]:
        """Copies of the weights: "policy.i.weight" (K, in, out), "policy.i.bias" (K, out); values.

        Layer i counts from 0; the last is the head: A outputs of "policy", 1 of "value".
        """
        weights, biases = layers_of(self.parameters.views, HIDDEN)
        views, k, layers = self.parameters.views, self.count, len(weights)
        result = {}
        for at, part in enumerate(PARTS):
            own = slice(at * k, (at + 1) * k)
            for i in range(layers):
                result[f"{part}.{i}.weight"] = weights[i][own]
                result[f"{part}.{i}.bias"] = biases[i][own, 0]
        result[f"policy.{layers}.weight"] = views["policy.weight"]
        result[f"policy.{layers}.bias"] = views["policy.bias"][:, 0]
        result[f"value.{layers}.weight"] = views["value.weight"].transpose(1, 2)
        result[f"value.{layers}.bias"] = views["value.bias"]
        return {name: array.clone().contiguous().numpy() for name, array in result.items()}

    @torch.no_grad()
    def act(
        self, observation: Tensor, mask: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Draw an action in each state: action, its log-probability, the state's value. (K, m)"""
        weights, biases = layers_of(self.parameters.views, HIDDEN)
        both = torch.cat([observation, observation])
        top = hidden_forward(weights, biases, both, self.activation)[0][-1]
        log_law = masked_log_prob(self._logits(top[: self.count]), mask)
        race = torch.empty_like(log_law).exponential_(generator=generator).log_()
        action = (log_law - race).argmax(dim=2)  # the shortest of exponential waiting times
        chosen = log_law.gather(2, action.unsqueeze(2)).squeeze(2)
        return action, chosen, self._value(top[self.count :])

    @torch.no_grad()
    def values(self, observation: Float[Tensor, "K m w"]) -> Float[Tensor, "K m"]:
        """Expected sum of rewards from each state on. (K, m)"""
        return self._value(self._top(observation, slice(self.count, None)))

    @torch.no_grad()
    def probabilities(
        self, observation: Float[Tensor, "K m w"], mask: Bool[Tensor, "K m A"]
    ) -> Float[Tensor, "K m A"]:
        """Probability of each action; 0 where masked. (K, m, A)"""
        return masked_log_prob(self.scores(observation), mask).exp()

    @torch.no_grad()
    def scores(self, observation: Float[Tensor, "K m w"]) -> Float[Tensor, "K m A"]:
        """Logits of the actions, which do not depend on what is masked. (K, m, A)"""
        return self._logits(self._top(observation, slice(0, self.count)))

    def _top(self, observation: Tensor, own: slice) -> Tensor:
        weights, biases = layers_of(self.parameters.views, HIDDEN)
        layers = [w[own] for w in weights], [b[own] for b in biases]
        return hidden_forward(*layers, observation, self.activation)[0][-1]

    def _logits(self, top: Tensor) -> Tensor:
        views = self.parameters.views
        return product(top, views["policy.weight"]) + views["policy.bias"]

    def _value(self, top: Tensor) -> Tensor:
        views = self.parameters.views
        return (top * views["value.weight"]).sum(dim=2) + views["value.bias"]


def _named(weights: Sequence[Tensor], biases: Sequence[Tensor]) -> dict[str, Tensor]:
    result = {f"hidden.{i}.weight": weight for i, weight in enumerate(weights)}
    return result | {f"hidden.{i}.bias": bias for i, bias in enumerate(biases)}
