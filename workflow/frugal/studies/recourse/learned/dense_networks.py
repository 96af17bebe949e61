"""The paper's dense networks: named (MC), named-action (NA) and padded full-action (FA) generators.

Hidden layers with ReLU, batch normalisation and dropout [recourse, sec. 4.3]; the paper's own size
is a matter of settings. They know states and, of each training unit, the data that their kind of
information gives; no costs, no classifier.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from frugal.config.learners import DenseSettings
from frugal.studies.recourse.instance import CoverInstance
from frugal.studies.recourse.learned.answers import (
    EMPTY,
    Answers,
    AnswerUnits,
    as_action_sets,
    sorted_sets,
    state_inputs,
)
from frugal.studies.recourse.learned.stored import NETWORK, Arrays, put_back
from frugal.studies.recourse.learned.training import (
    fill_weights,
    held_out_split,
    scored,
    torch_generator,
    train_network,
)

Trained = tuple[nn.Module, tuple[float, ...]]  # with the held-out accuracy after each epoch


def dense_answerer(
    arrays: Arrays, instance: CoverInstance, read: Callable[[Tensor], Answers]
) -> AnswerUnits:
    """(features, group) → answers, of a stored dense network whose outputs `read` reads."""
    groups = len(instance.access)
    linear = [w for name, w in _in_order(arrays) if w.ndim == 2]
    network = dense_network(
        linear[0].shape[1],
        len(linear[-1]),
        hidden=len(linear[0]),
        layers=len(linear) - 1,
        dropout=0.0,
        generator=torch.Generator(),
    )
    put_back(network, arrays)

    def answer(features: np.ndarray, group: np.ndarray) -> Answers:
        torch.set_num_threads(1)
        inputs = state_inputs(features, group, groups=groups)
        return read(scored(network, torch.from_numpy(inputs)))

    return answer


def _in_order(arrays: Arrays) -> list[tuple[str, np.ndarray]]:
    """Weights of a network of numbered layers, in the order of the layers."""
    weights = [(name, array) for name, array in arrays.items() if name.startswith(NETWORK)]
    return sorted(weights, key=lambda pair: int(pair[0].removeprefix(NETWORK).split(".")[0]))


def read_explanations(scores: Tensor, explanations: Int[np.ndarray, "k m"]) -> Answers:
    """The likeliest explanation of each unit, from the outputs of MC."""
    top, best = scores.softmax(dim=1).max(dim=1)
    return Answers(explanations[best.numpy()], top.double().numpy())


def read_actions(scores: Tensor) -> Answers:
    """Every action whose probability exceeds one half, from the outputs of NA.

    The confidence is the probability of the set if actions were independent.
    """
    likely = nn.functional.logsigmoid(scores.abs().double()).sum(dim=1).exp()
    return Answers(as_action_sets((scores > 0).numpy()), likely.numpy())


def read_blocks(
    scores: Tensor, names: Int[np.ndarray, " s"], effects: Bool[np.ndarray, "a d"]
) -> Answers:
    """The action that is likeliest under each block of d bits, from the outputs of padded FA."""
    offered = torch.from_numpy(np.pad(effects[names[:-1]], ((0, 1), (0, 0)))).double()  # last: none
    blocks = scores.reshape(len(scores), -1, effects.shape[1]).double()
    log_prob = blocks @ offered.T  # up to a term that all offered share
    top, best = log_prob.softmax(dim=2).max(dim=2)
    return Answers(sorted_sets(names[best.numpy()]), top.prod(dim=1).numpy())


def fit_named(
    inputs: Float[np.ndarray, "n i"],
    explanation: Int[np.ndarray, " n"],
    *,
    explanations: int,
    settings: DenseSettings,
    rng: np.random.Generator,
) -> Trained:
    """The multi-class generator MC: the likeliest of so many named explanations.

    L = −(1/m) Σᵢ Σₖ I_i⁽ᵏ⁾ log Î_i⁽ᵏ⁾                              [recourse, eq. 6]
    """
    target = torch.from_numpy(explanation)
    return _fit(
        inputs,
        target,
        nn.functional.cross_entropy,
        lambda scores, truth: scores.argmax(dim=1) == truth,
        outputs=explanations,
        settings=settings,
        rng=rng,
    )


def weighted_sparse_loss(
    scores: Tensor, target: Tensor, *, loss_weight: float, sparsity: float
) -> Tensor:
    """Cross-entropy of each action, weighted, and the absolute error of its probability.

        L = p_w · L_NA + α (1/m) Σᵢ |Îᵢ − Iᵢ|₁                          [recourse, eq. 4]

    Both parts are sums over actions and means over units.
    """
    entropy = nn.functional.binary_cross_entropy_with_logits(scores, target, reduction="sum")
    error = (torch.sigmoid(scores) - target).abs().sum()
    return (loss_weight * entropy + sparsity * error) / len(scores)


def fit_named_action(
    inputs: Float[np.ndarray, "n i"],
    member: Bool[np.ndarray, "n a"],
    *,
    settings: DenseSettings,
    rng: np.random.Generator,
) -> Trained:
    """The multi-label generator NA: every action whose probability exceeds one half.

    Î_i⁽ᵃ⁾ = σ(z_i⁽ᵃ⁾)                                             [recourse, eq. 2]
    """
    return _fit_bits(inputs, member, settings=settings, rng=rng)


def fit_padded_full_action(
    inputs: Float[np.ndarray, "n i"],
    action_set: Int[np.ndarray, "n m"],
    effects: Bool[np.ndarray, "a d"],
    *,
    settings: DenseSettings,
    rng: np.random.Generator,
) -> tuple[Trained, Int[np.ndarray, " s"]]:
    """The full-action generator FA as a multi-label network: the effects of m actions, padded.

    The target of a unit is the m·d bits of its actions' effects, in a fixed order of actions, all
    zero where it needs fewer. Each block of d bits is read as the action seen in training (or none)
    that is likeliest under them.                                       [recourse, sec. 3.2]

    Args:
        inputs: of the training units. (n, i)
        action_set: their actions. (n, m)
        effects: of all actions; only rows that occur in `action_set` are looked at. (a, d)
        settings: size, loss, steps.
        rng: first weights, held-out rows, order of rows.

    Returns:
        The network, and the index of each action that may be output; −1 for none, last. (k + 1,)
    """
    slots, d = action_set.shape[1], effects.shape[1]
    names = np.append(np.unique(action_set[action_set >= 0]), EMPTY)
    bits = np.pad(effects, ((0, 1), (0, 0)))[slot_order(action_set, effects)].reshape(-1, slots * d)
    return _fit_bits(inputs, bits, settings=settings, rng=rng), names


def slot_order(
    action_set: Int[np.ndarray, "n m"], effects: Bool[np.ndarray, "a d"]
) -> Int[np.ndarray, "n m"]:
    """Each set's actions, those that do most first, padding last (−1). (n, m)

    Ties are broken by the effects themselves, so the order adds no information.
    """
    doing = np.lexsort((*effects.T[::-1], -effects.sum(axis=1)))
    rank = np.empty(len(effects) + 1, dtype=np.int64)
    rank[doing] = np.arange(len(effects))
    rank[EMPTY] = len(effects)
    return np.take_along_axis(action_set, np.argsort(rank[action_set], axis=1, kind="stable"), 1)


def _fit_bits(inputs, bits: np.ndarray, *, settings: DenseSettings, rng) -> Trained:
    """A network of yes/no outputs; an answer counts as right if every output is."""

    def loss(scores: Tensor, target: Tensor) -> Tensor:
        return weighted_sparse_loss(
            scores, target, loss_weight=settings.loss_weight, sparsity=settings.sparsity
        )

    target = torch.from_numpy(bits.astype(np.float32))
    return _fit(
        inputs,
        target,
        loss,
        lambda scores, truth: ((scores > 0) == (truth > 0.5)).all(dim=1),
        outputs=bits.shape[1],
        settings=settings,
        rng=rng,
    )


def _fit(inputs, target: Tensor, loss, right, *, outputs, settings, rng) -> Trained:
    """Train a dense network on (inputs, target); `right` evaluates the held-out rows."""
    torch.set_num_threads(1)
    generator = torch_generator(rng)
    network = dense_network(
        inputs.shape[1],
        outputs,
        hidden=settings.hidden,
        layers=settings.layers,
        dropout=settings.dropout,
        generator=generator,
    )
    encoded = torch.from_numpy(inputs)
    rows, held_out = held_out_split(len(inputs), share=settings.held_out_share, rng=rng)

    def held_out_accuracy() -> float:
        return float(right(scored(network, encoded[held_out]), target[held_out]).float().mean())

    history = train_network(
        network,
        lambda chosen: loss(network(encoded[chosen]), target[chosen]),
        held_out_accuracy,
        rows=rows,
        settings=settings,
        generator=generator,
    )
    return network, tuple(history)


class SeededDropout(nn.Module):
    """Dropout whose masks come from a given generator, so nothing seeds globally."""

    def __init__(self, share: float, generator: torch.Generator) -> None:
        super().__init__()
        self.share, self.generator = share, generator

    def forward(self, values: Tensor) -> Tensor:
        """Values with a share of them zero and the others enlarged, in training only."""
        if not self.training or self.share == 0:
            return values
        retained = torch.rand(values.shape, generator=self.generator) >= self.share
        return values * retained / (1 - self.share)


def dense_network(
    inputs: int,
    outputs: int,
    *,
    hidden: int,
    layers: int,
    dropout: float,
    generator: torch.Generator,
) -> nn.Sequential:
    """Linear layers with batch normalisation, ReLU and dropout between.   [recourse, sec. 4.3]"""
    widths = [inputs, *[hidden] * layers]
    parts: list[nn.Module] = []
    for before, after in pairwise(widths):
        parts += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
        parts.append(SeededDropout(dropout, generator))
    network = nn.Sequential(*parts, nn.Linear(widths[-1], outputs))
    fill_weights(network, generator)
    return network
