"""K deep Q-learners of costly acquisition trained in lock-step as one batched model.

The value-based agents of [afape, sec. A.11] and of [diagnosis]: the update is that of
stable-baselines3's DQN, term by term, with action masks in choice and target, and double and
dueling networks as options. Must not know the meaning of panels and labels.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from frugal.acquire.acquisition import BatchedAcquisition
from frugal.config.learners import DqnSettings
from frugal.core.episodes import Panels
from frugal.core.world import World, packed_sets, unpacked_sets
from frugal.learn.lockstep import (
    LIBRARY,
    Adam,
    FlatParameters,
    hidden_backward,
    hidden_forward,
    layer_slopes,
    layer_sums,
    layers_of,
    product,
)

RELU = LIBRARY["relu"]
CLIP_EPSILON, ADAM_EPSILON = 1e-6, 1e-8  # as in torch and stable-baselines3


@dataclass(frozen=True, eq=False)
class Transitions:
    """m transitions of each of K learners; a panels.

    Attributes:
        row: unit. (K, m)
        acquired: panels known before. (K, m, a)
        action: taken. (K, m)
        reward: received. (K, m)
        next_acquired: panels known after; as before if the episode ended. (K, m, a)
        done: the episode ended. (K, m)
    """

    row: Int[np.ndarray, "K m"]
    acquired: Panels
    action: Int[np.ndarray, "K m"]
    reward: Float32[np.ndarray, "K m"]
    next_acquired: Panels
    done: Bool[np.ndarray, "K m"]

    def next_mask(self, task: World) -> Bool[np.ndarray, "K m actions"]:
        """Actions allowed in the next state; terminal ones always. (K, m, actions)"""
        mask = np.ones((*self.row.shape, task.actions), dtype=bool)
        mask[..., : task.panels] = task.available[self.row] & ~self.next_acquired
        return mask


class ReplayMemory:
    """The last transitions of each learner, the oldest overwritten.

    Attributes:
        filled: transitions kept of each learner.
        bytes_per_transition: size of one.
    """

    def __init__(self, learners: int, capacity: int, panels: int) -> None:
        """Empty memory of `capacity` transitions for each learner."""
        self._panels, self._capacity, self._at, self.filled = panels, capacity, 0, 0
        shape = (learners, capacity)
        self._row = np.zeros(shape, dtype=np.int32)
        self._known = np.zeros((*shape, -(-panels // 8)), dtype=np.uint8)
        # panels, and more ways to end than anybody needs
        self._action = np.zeros(shape, dtype=np.uint8 if panels < 192 else np.uint16)
        self._reward = np.zeros(shape, dtype=np.float32)
        parts = (self._row, self._known, self._action, self._reward)
        self.bytes_per_transition = sum(part[:1, :1].nbytes for part in parts)

    def add(
        self,
        row: Int[np.ndarray, "K E"],
        acquired: Bool[np.ndarray, "K E a"],
        action: Int[np.ndarray, "K E"],
        reward: Float32[np.ndarray, "K E"],
    ) -> None:
        """Keep one transition of each episode: the state before, the action, its result."""
        episodes = row.shape[1]
        place = (self._at + np.arange(episodes)) % self._capacity
        self._row[:, place] = row
        self._known[:, place] = packed_sets(acquired)
        self._action[:, place] = action
        self._reward[:, place] = reward
        self._at = (self._at + episodes) % self._capacity
        self.filled = min(self.filled + episodes, self._capacity)

    def take(self, index: Int[np.ndarray, "K m"]) -> Transitions:
        """The transitions at these places, which lie below `filled`."""
        row, action, reward = (
            np.take_along_axis(part, index, axis=1)
            for part in (self._row, self._action, self._reward)
        )
        action = action.astype(np.int64)
        learner = np.arange(len(index))[:, None]
        before = unpacked_sets(self._known[learner, index], self._panels)
        after, done = before.copy(), action >= self._panels
        who, which = np.nonzero(~done)
        after[who, which, action[who, which]] = True
        return Transitions(row.astype(np.int64), before, action, reward, after, done)


def _first_layer(fan_in: int, fan_out: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Weights and biases uniform in ±1/√fan_in: torch's start of a linear layer."""
    bound = 1 / math.sqrt(fan_in)
    return [
        rng.uniform(-bound, bound, size=shape).astype(np.float32)
        for shape in ((fan_in, fan_out), (1, fan_out))
    ]


def fresh_weights(
    width: int,
    actions: int,
    *,
    hidden: Sequence[int],
    dueling: bool,
    rngs: Sequence[np.random.Generator],
) -> dict[str, Float32[np.ndarray, "K _ _"]]:
    """Weights before training, each network's from its own generator.

    Returns:
        "i.weight" (K, in, out) and "i.bias" (K, 1, out) of layer i; the head is the last of them,
        or, of dueling networks, "advantage" is the last and "value" (one output) stands next to it.
    """
    sizes = [width, *hidden, actions]
    layers = {str(i): pair for i, pair in enumerate(pairwise(sizes))}
    if dueling:
        layers["value"] = (sizes[-2], 1)
    drawn = [[_first_layer(*layers[name], rng) for name in layers] for rng in rngs]
    return {
        f"{name}.{kind}": np.stack([network[i][j] for network in drawn])
        for i, name in enumerate(layers)
        for j, kind in enumerate(("weight", "bias"))
    }


@dataclass(frozen=True, eq=False)
class _Pass:
    """Inputs of each layer (the top last), rectified units, and the values."""

    entering: list[Tensor]
    before: list[Tensor]
    values: Float[Tensor, "K m A"]


class QNetworks:
    """K networks.

    Attributes:
        parameters: arrays by the names of `fresh_weights`.
        dueling: True if Q = V + A − mean A, from two heads.
    """

    def __init__(self, weights: Mapping[str, Float32[np.ndarray, "K _ _"]]) -> None:
        """Networks from weights by name; the arrays are copied."""
        self.parameters = FlatParameters.of({k: torch.from_numpy(v) for k, v in weights.items()})
        self.dueling = "value.weight" in weights
        self._weights, self._biases = layers_of(self.parameters.views)
        self._slopes = list(zip(*layers_of(self.parameters.gradient_views), strict=True))

    def export(self) -> dict[str, Float32[np.ndarray, "K _ _"]]:
        """Copies of the weights; `QNetworks(export())` is an equal one."""
        return {k: v.detach().clone().numpy() for k, v in self.parameters.views.items()}

    @torch.no_grad()
    def values(self, observation: Float[Tensor, "K m w"]) -> Float[Tensor, "K m A"]:
        """Q(s, ·) of every network at its own states. (K, m, A)"""
        return self.forward(observation).values

    def forward(self, observation: Float[Tensor, "K m w"]) -> _Pass:
        """Values, with the inputs of `write_gradient` from the layers below."""
        entering, before = hidden_forward(
            self._weights[:-1], self._biases[:-1], observation, "relu"
        )
        values = layer_sums(entering[-1], self._weights[-1], self._biases[-1], by=RELU)
        if self.dueling:
            views = self.parameters.views
            state_value = layer_sums(
                entering[-1], views["value.weight"], views["value.bias"], by=RELU
            )
            values = state_value + values - values.mean(dim=2, keepdim=True)
        return _Pass(entering, before, values)

    def write_gradient(self, passed: _Pass, slope: Float[Tensor, "K m A"]) -> None:
        """Fill `parameters.gradient` from the derivative of the loss by the values."""
        top, below = passed.entering[-1], None
        if self.dueling:
            views, gradient = self.parameters.views, self.parameters.gradient_views
            of_value = slope.sum(dim=2, keepdim=True)
            slope = slope - of_value / slope.shape[2]
            out = gradient["value.weight"], gradient["value.bias"]
            layer_slopes(top, of_value, by=RELU, out=out)
            below = product(of_value, views["value.weight"].transpose(1, 2), by=RELU)
        layer_slopes(top, slope, by=RELU, out=self._slopes[-1])
        if len(self._weights) > 1:
            slope = product(slope, self._weights[-1].transpose(1, 2), by=RELU)
            slope = slope if below is None else slope + below
            hidden_backward(
                self._weights[:-1], passed.entering, passed.before, slope, "relu", self._slopes[:-1]
            )

    def clip_gradient(self, longest: float, *, epsilon: float) -> None:
        """Scale each network's gradient down to a Euclidean length of at most `longest`."""
        parts = self.parameters.gradient_views.values()
        square = sum(torch.linalg.vector_norm(p, dim=(1, 2)).square() for p in parts)
        scale = (longest / (torch.sqrt(torch.as_tensor(square)) + epsilon)).clamp(max=1.0)
        for part in parts:
            part.mul_(scale.view(-1, 1, 1))


@dataclass(frozen=True, eq=False)
class Batch:
    """b transitions of each of K learners, as an update reads them.

    Attributes:
        observation: of the state before. (K, b, w)
        action: taken. (K, b)
        reward: received. (K, b)
        done: 1 where the episode ended. (K, b)
        next_observation: of the state after; read with `double` alone. (K, b, w)
        next_mask: actions allowed there. (K, b, A)
        next_value: Q of the target network there. (K, b, A)
    """

    observation: Float[Tensor, "K b w"]
    action: Int[Tensor, "K b"]
    reward: Float[Tensor, "K b"]
    done: Float[Tensor, "K b"]
    next_observation: Float[Tensor, "K b w"]
    next_mask: Bool[Tensor, "K b A"]
    next_value: Float[Tensor, "K b A"]

    def take(self, part: slice) -> "Batch":
        """Some of the transitions of every learner."""
        return Batch(*(array[:, part] for array in vars(self).values()))


class DqnTrainer:
    """Moves K learners by updates.

    Attributes:
        online: the networks that act, changed in place by `learn`.
        target: their copies that value next states.
        settings: how.
    """

    def __init__(
        self, weights: Mapping[str, Float32[np.ndarray, "K _ _"]], settings: DqnSettings
    ) -> None:
        self.online, self.target = QNetworks(weights), QNetworks(weights)
        self.settings = settings
        self._adam = Adam(
            self.online.parameters, learning_rate=settings.learning_rate, epsilon=ADAM_EPSILON
        )

    def set_progress(self, share: float) -> None:
        """Set the learning rate for a share of training done, in [0, 1]."""
        first, last = self.settings.learning_rate, self.settings.learning_rate_last
        self._adam.learning_rate = first + share * (last - first)

    @torch.no_grad()
    def learn(self, batch: Batch) -> Float[Tensor, " K"]:
        """One update of every learner; returns the mean |temporal-difference error|.

            y = r + γ (1 − done) max_{a allowed} Q⁻(s′, a),   ℓ = mean of ½ (Q(s, a) − y)²

        beyond `huber_bound` continued linearly.

        With `double` the action is the online network's best, not the target network's.
        """
        if self.settings.double:
            choice = self.online.values(batch.next_observation)
            best = choice.masked_fill_(~batch.next_mask, -torch.inf).argmax(dim=2, keepdim=True)
            future = batch.next_value.gather(2, best).squeeze(2)
        else:
            future = batch.next_value.masked_fill(~batch.next_mask, -torch.inf).amax(dim=2)
        goal = batch.reward + self.settings.discount * (1 - batch.done) * future
        passed, action = self.online.forward(batch.observation), batch.action.unsqueeze(2)
        error = passed.values.gather(2, action).squeeze(2) - goal
        bound = self.settings.huber_bound
        slope = error if bound is None else error.clamp(-bound, bound)
        slope = slope.div(error.shape[1]).unsqueeze(2)
        self.online.write_gradient(
            passed, torch.zeros_like(passed.values).scatter_(2, action, slope)
        )
        self.online.clip_gradient(self.settings.max_gradient_norm, epsilon=CLIP_EPSILON)
        self._adam.step()
        return error.abs().mean(dim=1)

    def copy_to_target(self) -> None:
        """Make the target networks equal to the online ones."""
        self.target.parameters.flat.copy_(self.online.parameters.flat)


@dataclass(frozen=True, eq=False)
class DqnFit:
    """Trained learners, and how it went at r moments.

    Attributes:
        weights: by the names of `frugal.acquire.train.lockstep_dqn.fresh_weights`; K first.
        transitions: of each learner by then. (r,)
        mean_return: sum of rewards of the episodes that ended since the moment before, with
            exploration; NaN if none ended. (r, K)
        td_error: mean |temporal-difference error| since then; NaN before the first update. (r, K)
    """

    weights: dict[str, Float32[np.ndarray, "K _ _"]]
    transitions: Int[np.ndarray, " r"]
    mean_return: Float[np.ndarray, "r K"]
    td_error: Float[np.ndarray, "r K"]


def fit_dqn(
    environment: BatchedAcquisition,
    *,
    settings: DqnSettings,
    moments: int,
    rngs: Sequence[np.random.Generator],
) -> DqnFit:
    """Train one network per learner of an environment on its observations  [afape, sec. A.11].

    A learner draws from its own generator, and learns the same, up to rounding,
    whatever is trained with it.

    Args:
        environment: its learners' rewards are maximised; has `settings.episodes` episodes.
        settings: of networks and learning.
        moments: how often the progress is written down.
        rngs: one per learner: first weights, exploration, replay. (K,)
    """
    torch.set_num_threads(1)
    learners, episodes, width = environment.observation.shape
    assert (learners, episodes) == (len(rngs), settings.episodes), "bug: sizes differ"
    task = environment.task
    weights = fresh_weights(
        width, task.actions, hidden=settings.hidden, dueling=settings.dueling, rngs=rngs
    )
    trainer = DqnTrainer(weights, settings)
    memory = ReplayMemory(learners, settings.memory, task.panels)
    curve = _Curve(learners, episodes)
    steps = -(-settings.transitions // episodes)
    updates = episodes // settings.transitions_per_update
    for step in range(steps):
        # an ε-greedy step of all episodes, remembered
        mask, row, acquired = environment.action_mask, environment.row, environment.acquired
        value = trainer.online.values(torch.from_numpy(environment.observation)).numpy()
        uniform = np.stack([r.random((row.shape[1], mask.shape[2] + 1), np.float32) for r in rngs])
        explores = uniform[:, :, -1] < settings.epsilon(step * episodes)
        score = np.where(explores[:, :, None], uniform[:, :, :-1], value)
        action = np.where(mask, score, -np.inf).argmax(axis=2)
        row, acquired = row.copy(), acquired.copy()
        reward, done = environment.step(action)
        memory.add(row, acquired, action, reward)
        curve.add(reward, done)
        trainer.set_progress(step / steps)
        if (step + 1) * episodes > settings.learning_starts:
            drawn = [r.integers(memory.filled, size=updates * settings.batch) for r in rngs]
            batch = _encode(memory.take(np.stack(drawn)), environment, trainer.target)
            for start in range(0, updates * settings.batch, settings.batch):
                curve.errors.append(trainer.learn(batch.take(slice(start, start + settings.batch))))
        if (step + 1) % max(settings.target_every // episodes, 1) == 0:
            trainer.copy_to_target()
        if (step + 1) * moments // steps > step * moments // steps:
            curve.mark((step + 1) * episodes)
    return curve.fit(trainer.online.export())


def _encode(drawn: Transitions, environment: BatchedAcquisition, target: QNetworks) -> Batch:
    """Transitions as an update reads them; the target network is fixed until then."""
    task, shape = environment.task, drawn.row.shape

    def observed(acquired: np.ndarray) -> Tensor:
        flat = acquired.reshape(-1, task.panels)
        observation = environment.encoder.encode(drawn.row.ravel(), flat)
        return torch.from_numpy(observation.reshape(*shape, -1))

    after = observed(drawn.next_acquired)
    return Batch(
        observed(drawn.acquired),
        torch.from_numpy(drawn.action),
        torch.from_numpy(drawn.reward),
        torch.from_numpy(drawn.done.astype(np.float32)),
        after,
        torch.from_numpy(drawn.next_mask(task)),
        target.values(after),
    )


class _Curve:
    """Sums of rewards, ends and errors between two moments."""

    def __init__(self, learners: int, episodes: int) -> None:
        self.errors: list[Tensor] = []
        self._running = np.zeros((learners, episodes))
        self._total, self._ended = np.zeros(learners), np.zeros(learners)
        self._rows: list[tuple[int, np.ndarray, np.ndarray]] = []

    def add(self, reward: np.ndarray, done: np.ndarray) -> None:
        """Take one step of all episodes into account."""
        self._running += reward
        self._total += (self._running * done).sum(axis=1)
        self._ended += done.sum(axis=1)
        self._running[done] = 0.0

    def mark(self, transitions: int) -> None:
        """Write down the means since the last moment."""
        with np.errstate(invalid="ignore"):
            mean = self._total / self._ended
        error = (
            torch.stack(self.errors).mean(dim=0).double().numpy() if self.errors else mean * np.nan
        )
        self._rows.append((transitions, mean, error))
        self.errors = []
        self._total, self._ended = np.zeros_like(mean), np.zeros_like(mean)

    def fit(self, weights: dict[str, Float32[np.ndarray, "K _ _"]]) -> DqnFit:
        """The trained learners with the curve."""
        transitions, mean, error = zip(*self._rows, strict=True)
        return DqnFit(weights, np.array(transitions), np.stack(mean), np.stack(error))
