"""The kind `sequence_full_action`: an encoder and a decoder, one action after the other."""

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from frugal.config.learners import TrainingSettings
from frugal.core.stored import Array
from frugal.studies.recourse.generator import GeneratorKind, Learned
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import (
    EMPTY,
    Answers,
    AnswerUnits,
    sorted_sets,
    state_inputs,
    unit_inputs,
)
from frugal.studies.recourse.learned.dense_networks import slot_order
from frugal.studies.recourse.learned.stored import (
    NETWORK,
    Arrays,
    StoredGenerator,
    linear,
    network_arrays,
    of_network,
    put_back,
)
from frugal.studies.recourse.learned.training import (
    fill_weights,
    held_out_split,
    scored,
    torch_generator,
    train_network,
)


class EncoderDecoder(nn.Module):
    """Scores of the next action, given the state and the effects of the actions before it.

    Args:
        inputs: width of a unit's inputs.
        effects: of the actions that may be output; a row of zeros is appended, for stop. (k, d)
        hidden: width of the internal state.
    """

    effects: Tensor
    words: Tensor

    def __init__(self, inputs: int, effects: Bool[np.ndarray, "k d"], *, hidden: int) -> None:
        super().__init__()
        extended = torch.from_numpy(np.pad(effects, ((0, 1), (0, 0)))).float()
        self.register_buffer("effects", extended)
        self.encoder = nn.Sequential(
            nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.move = nn.Linear(hidden + inputs + effects.shape[1], hidden)
        # what an action does, and last whether it is stop
        words = torch.cat([extended, torch.zeros(len(extended), 1)], dim=1)
        words[-1, -1] = 1.0
        self.register_buffer("words", words)
        self.out = nn.Linear(hidden, hidden)
        self.reading = nn.Sequential(
            nn.Linear(words.shape[1], hidden), nn.ReLU(), nn.Linear(hidden, hidden)
        )

    def start(self, inputs: Tensor) -> Tensor:
        """Internal state before the first action. (n, h)"""
        return self.encoder(inputs)

    def step(self, state: Tensor, inputs: Tensor, done: Tensor) -> tuple[Tensor, Tensor]:
        """Next internal state (n, h) and scores of the next action, stop last (n, k + 1).

        Args:
            state: internal state. (n, h)
            inputs: of the unit. (n, i)
            done: joint effect of the actions so far. (n, d)
        """
        moved = torch.relu(self.move(torch.cat([state, inputs, done], dim=1))) + state
        scores = self.out(moved) @ self.reading(self.words).T
        return moved, scores / self.out.in_features**0.5


def fit_sequence(
    inputs: Float[np.ndarray, "n i"],
    action_set: Int[np.ndarray, "n m"],
    effects: Bool[np.ndarray, "a d"],
    *,
    hidden: int,
    settings: TrainingSettings,
    rng: np.random.Generator,
) -> Learned:
    """Fit by cross-entropy of each next action, the true ones before given.  [recourse, sec. 3.2]

    Args:
        inputs: of the training units. (n, i)
        action_set: their actions. (n, m)
        effects: of all actions; only rows that occur in `action_set` are looked at. (a, d)
        hidden: width of the internal state.
        settings: steps and stopping.
        rng: first weights, held-out rows, order of rows.

    Returns:
        Arrays: the network, `names` of the actions that may be output, −1 for stop last, and
        `longest`, actions in an answer at most; and the held-out accuracy after each epoch.
    """
    torch.set_num_threads(1)
    actions = np.unique(action_set[action_set >= 0])
    names = np.append(actions, EMPTY)
    generator = torch_generator(rng)
    network = EncoderDecoder(inputs.shape[1], effects[actions], hidden=hidden)
    fill_weights(network, generator)
    ordered = slot_order(action_set, effects)
    words = np.where(ordered < 0, len(actions), np.searchsorted(actions, ordered))
    encoded, target = torch.from_numpy(inputs), torch.from_numpy(words)
    rows, held_out = held_out_split(len(inputs), share=settings.held_out_share, rng=rng)
    longest = words.shape[1]

    def held_out_accuracy() -> float:
        decoded = scored(lambda part: _say(network, part, longest), encoded[held_out])[
            :, :-1
        ].long()
        return float((decoded == target[held_out]).all(dim=1).float().mean())

    history = train_network(
        network,
        lambda chosen: _taught_loss(network, encoded[chosen], target[chosen]),
        held_out_accuracy,
        rows=rows,
        settings=settings,
        generator=generator,
    )
    arrays = network_arrays(network) | {"names": names, "longest": np.array([longest])}
    return arrays, tuple(history)


def _taught_loss(network: EncoderDecoder, inputs: Tensor, words: Tensor) -> Tensor:
    """Mean over units of the summed cross-entropy of their words; nothing counts after stop."""
    state, done = network.start(inputs), torch.zeros_like(network.effects[words[:, 0]])
    stop, running = len(network.effects) - 1, torch.ones(len(inputs))
    total = torch.zeros(())
    for t in range(words.shape[1]):
        state, scores = network.step(state, inputs, done)
        wrong = nn.functional.cross_entropy(scores, words[:, t], reduction="none")
        total = total + (wrong * running).sum()
        running = running * (words[:, t] != stop)
        done = torch.maximum(done, network.effects[words[:, t]])
    return total / len(inputs)


def _say(network: EncoderDecoder, inputs: Tensor, longest: int) -> Tensor:
    """Words of each unit, stop repeated to the end, and the probability of all. (n, longest + 1)"""
    stop = len(network.effects) - 1
    state = network.start(inputs)
    done = torch.zeros(len(inputs), network.effects.shape[1])
    running, likely, words = torch.ones(len(inputs), dtype=torch.bool), torch.ones(len(inputs)), []
    for _ in range(longest):
        state, scores = network.step(state, inputs, done)
        top, best = scores.softmax(dim=1).max(dim=1)
        word = torch.where(running, best, stop)
        likely = torch.where(running, likely * top, likely)
        running = running & (word != stop)
        done = torch.maximum(done, network.effects[word])
        words.append(word)
    return torch.stack([*[w.double() for w in words], likely.double()], dim=1)


MOST_WORDS = 10_000  # of an answer; a stored number may be anything, and each word takes time


def fit(settings, units: LabelledUnits, rng: np.random.Generator) -> Learned:
    """Each next action, the true ones before given."""
    return fit_sequence(
        unit_inputs(units),
        units.action_set,
        units.instance.gain > 0,
        hidden=settings["hidden"],
        settings=TrainingSettings.of(settings),
        rng=rng,
    )


def check(stored: StoredGenerator) -> None:
    """An encoder and a decoder, the effects of the actions it may output, and their names."""
    d, h, i = stored.features, "hidden", stored.inputs
    expected = (
        linear("encoder.0", i, h)
        | linear("encoder.2", h, h)
        | linear("out", h, h)
        | linear("reading.0", d + 1, h)
        | linear("reading.2", h, h)
    )
    expected["move.weight"] = Array("float32", (h, "moved"))
    expected["move.bias"] = Array("float32", (h,))
    bits = {"effects": d, "words": d + 1}
    expected |= {n: Array("float32", ("s", w), low=0, high=1) for n, w in bits.items()}
    longest = Array("int64", (1,), low=1, high=MOST_WORDS)
    size = stored.require(of_network(**expected) | {"names": stored.names, "longest": longest})
    if size["moved"] != size[h] + i + d:
        raise stored.stored.refusal(
            f"has {size['moved']} inputs of '{NETWORK}move.weight'; allowed: {size[h] + i + d}"
        )
    stored.require_names()
    effects = np.pad(stored.effects[stored.stored.arrays["names"][:-1]], ((0, 1), (0, 0)))
    stop = np.eye(len(effects), dtype=bool)[:, -1:]
    stored.require_derived("effects", effects, "effects of the catalogue's actions")
    stored.require_derived("words", np.hstack([effects, stop]), "made of its actions' effects")


def answerer(arrays: Arrays, instance: CoverInstance) -> AnswerUnits:
    """Output actions until stop."""
    groups, names = len(instance.access), arrays["names"]
    first = arrays[f"{NETWORK}encoder.0.weight"]
    network = EncoderDecoder(first.shape[1], (instance.gain > 0)[names[:-1]], hidden=first.shape[0])
    put_back(network, arrays)
    longest = int(arrays["longest"].item())

    def answer(features: np.ndarray, group: np.ndarray) -> Answers:
        torch.set_num_threads(1)
        inputs = torch.from_numpy(state_inputs(features, group, groups=groups))
        decoded = scored(lambda part: _say(network, part, longest), inputs)
        words = decoded[:, :-1].long().numpy()
        return Answers(sorted_sets(names[words]), decoded[:, -1].numpy())

    return answer


SEQUENCE_FULL_ACTION = GeneratorKind(
    name="sequence_full_action",
    place=50,
    label="full action, sequence",
    look=("vermillion", "v", True),
    fit=fit,
    check=check,
    answerer=answerer,
    settings={"hidden": ("Count", "units of a hidden layer", 128)},
    shares=("TrainingSettings",),
    doc="an encoder and a decoder that outputs one action after the other, from their effects",
)
