"""K maskable PPO learners trained in lock-step as one batched model  [diagnosis, app. D].

Same numbers as sb3-contrib's MaskablePPO, whose arithmetic is followed term by term: masked
categorical policy, clipped surrogate, squared error of the values, entropy bonus, advantages
normalised within a minibatch, gradients clipped for each learner, Adam. The discount is 1: every
episode ends by itself. Must not know the meaning of actions, nor the data.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from torch import Tensor

from frugal.acquire.acquisition import BatchedAcquisition
from frugal.config.learners import PpoSettings
from frugal.learn.lockstep import (
    Activation,
    Adam,
    FlatParameters,
    hidden_backward,
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
ADVANTAGE_EPSILON, CLIP_EPSILON, ADAM_EPSILON = 1e-8, 1e-6, 1e-5  # as in stable-baselines3
Observe = Callable[[BatchedAcquisition], Tensor]


def masked_log_prob(
    logits: Float[Tensor, "*m A"], mask: Bool[Tensor, "*m A"]
) -> Float[Tensor, "*m A"]:
    """Log-probabilities of a distribution over the allowed actions; others −1e8. (…, A)"""
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
        arrays = {
            f"hidden.{i}.{kind}": np.concatenate([weights[f"{part}.{i}.{kind}"] for part in PARTS])
            for i in range(layers)
            for kind in ("weight", "bias")
        }
        arrays = {k: v if k.endswith("weight") else v[:, None] for k, v in arrays.items()}
        arrays["policy.weight"] = weights[f"policy.{layers}.weight"]
        arrays["policy.bias"] = weights[f"policy.{layers}.bias"][:, None]
        arrays["value.weight"] = weights[f"value.{layers}.weight"].transpose(0, 2, 1)
        arrays["value.bias"] = weights[f"value.{layers}.bias"]
        return cls(
            {k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in arrays.items()}, activation
        )

    def export(self) -> dict[str, Float32[np.ndarray, "..."]]:
        """Copies of the weights: "policy.i.weight" (K, in, out), "policy.i.bias" (K, out); values.

        Layer i counts from 0; the last is the head: A outputs of "policy", 1 of "value".
        """
        weights, biases = layers_of(self.parameters.views, HIDDEN)
        views, k, layers = self.parameters.views, self.count, len(weights)
        result = {}
        for at, part in enumerate(PARTS):
            half = slice(at * k, (at + 1) * k)
            for i in range(layers):
                result[f"{part}.{i}.weight"] = weights[i][half]
                result[f"{part}.{i}.bias"] = biases[i][half, 0]
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
        observations = torch.cat([observation, observation])
        top = hidden_forward(weights, biases, observations, self.activation)[0][-1]
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
        """Logits of the actions, which do not depend on the mask. (K, m, A)"""
        return self._logits(self._top(observation, slice(0, self.count)))

    def _top(self, observation: Tensor, half: slice) -> Tensor:
        weights, biases = layers_of(self.parameters.views, HIDDEN)
        layers = [w[half] for w in weights], [b[half] for b in biases]
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


@dataclass(frozen=True, eq=False)
class Rollout:
    """N steps of each of K learners: the input of an update.

    Attributes:
        observation: (K, N, w)
        mask: True where an action was allowed. (K, N, A)
        action: taken. (K, N)
        log_prob: of the action when it was taken. (K, N)
        advantage: generalised advantage estimate. (K, N)
        target: of the values, advantage + value. (K, N)
    """

    observation: Float[Tensor, "K N w"]
    mask: Bool[Tensor, "K N A"]
    action: Tensor
    log_prob: Float[Tensor, "K N"]
    advantage: Float[Tensor, "K N"]
    target: Float[Tensor, "K N"]

    def take(self, index: Tensor | slice) -> "Rollout":
        """Some of the steps, the same of every learner."""
        if isinstance(index, slice):
            return Rollout(*(part[:, index] for part in vars(self).values()))
        return Rollout(*(part.index_select(1, index) for part in vars(self).values()))


def generalised_advantages(
    reward: Float32[np.ndarray, "t *m"],
    value: Float32[np.ndarray, "t *m"],
    done: Bool[np.ndarray, "t *m"],
    last_value: Float32[np.ndarray, "*m"],
    *,
    gae_lambda: float,
) -> Float32[np.ndarray, "t *m"]:
    """Exponentially weighted sums of temporal-difference errors, with discount 1.

        Â_t = δ_t + λ (1 − done_t) Â_{t+1},   δ_t = r_t + (1 − done_t) V_{t+1} − V_t

    Args:
        reward: of each step. (t, …)
        value: of the state before the step. (t, …)
        done: the episode ended with the step. (t, …)
        last_value: of the state after the last step. (…)
        gae_lambda: λ.
    """
    result = np.empty_like(reward)
    advantage, next_value = np.zeros_like(last_value), last_value
    for t in reversed(range(len(reward))):
        goes_on = ~done[t]
        error = reward[t] + next_value * goes_on - value[t]
        advantage = error + np.float32(gae_lambda) * goes_on * advantage
        result[t], next_value = advantage, value[t]
    return result


def collect_rollout(
    learners: ActorCritic,
    environment: BatchedAcquisition,
    observe: Observe,
    *,
    steps: int,
    gae_lambda: float,
    generator: torch.Generator,
) -> Rollout:
    """Run the current policies for some steps in all episodes of the environment.

    Args:
        learners: whose policies act.
        environment: goes on from its current states.
        observe: inputs of the networks from the environment's current states. (K, E, w)
        steps: of each episode.
        gae_lambda: of the advantages.
        generator: draws the actions.
    """
    k, e = environment.row.shape
    observations, allowed, actions, log_prob = [], [], [], []
    reward, value = np.empty((2, steps, k, e), dtype=np.float32)
    done = np.empty((steps, k, e), dtype=bool)
    for t in range(steps):
        observations.append(observe(environment))
        allowed.append(torch.from_numpy(environment.action_mask))
        action, chosen, values = learners.act(observations[-1], allowed[-1], generator)
        actions.append(action)
        log_prob.append(chosen)
        value[t] = values.numpy()
        reward[t], done[t] = environment.step(action.numpy())
    last = learners.values(observe(environment)).numpy()
    advantage = generalised_advantages(reward, value, done, last, gae_lambda=gae_lambda)
    parts = (observations, allowed, actions, log_prob)
    joined = [torch.stack(part, dim=1).flatten(1, 2) for part in parts]
    numbers = [
        torch.from_numpy(part).transpose(0, 1).flatten(1, 2)
        for part in (advantage, advantage + value)
    ]
    return Rollout(*joined, *numbers)


def ppo_gradient(
    parameters: Mapping[str, Tensor], batch: Rollout, settings: PpoSettings
) -> dict[str, Tensor]:
    """Derivatives of every learner's loss by its parameters, not clipped.

        ℓ = mean[−min(ρ Â, clip(ρ, 1 ± ε) Â)] + c_v mean[(V − target)²] − c_e mean[H(π)]

    with ρ = π/π_old and Â normalised within the minibatch            [diagnosis, app. D].

    Args:
        parameters: of `ActorCritic`, by name.
        batch: a minibatch of each learner.
        settings: constants of the loss.
    """
    k, b = batch.action.shape
    weights, biases = layers_of(parameters, HIDDEN)
    observations = torch.cat([batch.observation, batch.observation])
    entering, before = hidden_forward(weights, biases, observations, settings.activation)
    top_policy, top_value = entering[-1][:k], entering[-1][k:]
    logits = product(top_policy, parameters["policy.weight"]) + parameters["policy.bias"]
    value = (top_value * parameters["value.weight"]).sum(2) + parameters["value.bias"]
    by_logits = _policy_slope(logits, batch, settings)
    by_value = (value - batch.target).mul_(2 * settings.value_weight / b)
    slope = torch.cat(
        [
            product(by_logits, parameters["policy.weight"].transpose(1, 2)),
            by_value.unsqueeze(2) * parameters["value.weight"],
        ]
    )
    by_weight, by_bias, _ = hidden_backward(weights, entering, before, slope, settings.activation)
    result = {f"hidden.{i}.weight": g for i, g in enumerate(by_weight)}
    result |= {f"hidden.{i}.bias": g for i, g in enumerate(by_bias)}
    result["policy.weight"] = product(top_policy.transpose(1, 2), by_logits)
    result["policy.bias"] = by_logits.sum(1, keepdim=True)
    result["value.weight"] = product(by_value.unsqueeze(1), top_value)
    result["value.bias"] = by_value.sum(1, keepdim=True)
    return result


def _policy_slope(logits: Tensor, batch: Rollout, settings: PpoSettings) -> Tensor:
    """Derivative of surrogate and entropy bonus by the logits. (K, b, A)"""
    b = batch.action.shape[1]
    advantage = batch.advantage - batch.advantage.mean(1, keepdim=True)
    advantage = advantage / (batch.advantage.std(1, keepdim=True) + ADVANTAGE_EPSILON)
    log_law = masked_log_prob(logits, batch.mask)
    probability, action = log_law.exp(), batch.action.unsqueeze(2)
    ratio = (log_law.gather(2, action).squeeze(2) - batch.log_prob).exp()
    free = advantage * ratio
    bounded = advantage * ratio.clamp(1 - settings.clip, 1 + settings.clip)
    by_log_prob = torch.where(free <= bounded, free, torch.zeros_like(free)).mul(-1 / b)
    slope = (-probability * by_log_prob.unsqueeze(2)).scatter_add(
        2, action, by_log_prob.unsqueeze(2)
    )
    if settings.entropy_weight:
        surprise = torch.where(batch.mask, probability * log_law, torch.zeros_like(probability))
        by_entropy = surprise - probability * surprise.sum(2, keepdim=True)
        slope = slope + (settings.entropy_weight / b) * by_entropy
    return slope


class PpoTrainer:
    """Moves K learners by PPO's updates.

    Attributes:
        learners: the policies and values, changed in place by `learn`.
        settings: how.
    """

    def __init__(self, learners: ActorCritic, settings: PpoSettings) -> None:
        self.learners, self.settings = learners, settings
        self._adam = Adam(
            learners.parameters, learning_rate=settings.learning_rate, epsilon=ADAM_EPSILON
        )
        self._gradient = ppo_gradient
        if settings.compiled:
            self._gradient = torch.compile(ppo_gradient, dynamic=False)

    def learn(self, rollout: Rollout, generator: torch.Generator) -> None:
        """All epochs over a rollout; the order of steps is the same for every learner."""
        n = rollout.action.shape[1]
        for _ in range(self.settings.epochs):
            self.learn_epoch(rollout, torch.randperm(n, generator=generator))

    @torch.no_grad()
    def learn_epoch(self, rollout: Rollout, order: Tensor) -> None:
        """One epoch in a given order of steps."""
        shuffled = rollout.take(order)
        for start in range(0, len(order), self.settings.batch):
            batch = shuffled.take(slice(start, start + self.settings.batch))
            self._clip(self._gradient(self.learners.parameters.views, batch, self.settings))
            self._adam.step()

    def _clip(self, gradient: Mapping[str, Tensor]) -> None:
        """Write the gradient, each learner's scaled to at most the longest length allowed."""
        k = self.learners.count
        square = torch.zeros(k)
        for part in gradient.values():
            length = torch.linalg.vector_norm(part.reshape(-1, k, part[0].numel()), dim=2)
            square += length.square().sum(dim=0)
        scale = (self.settings.max_gradient_norm / (square.sqrt() + CLIP_EPSILON)).clamp(max=1.0)
        twice = torch.cat([scale, scale])  # hidden layers of policies, then of values
        for name, part in gradient.items():
            along = (scale if len(part) == k else twice).view(-1, *[1] * (part.dim() - 1))
            torch.mul(part, along, out=self.learners.parameters.gradient_views[name])
