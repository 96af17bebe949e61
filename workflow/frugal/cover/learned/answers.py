"""Answers of a recourse generator, and the names it may learn from.

An answer is a set of actions for each unit with the generator's confidence in it. Also the coding
of action sets as yes/no vectors. Knows no learner and no solver.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count, pairwise

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import nn

from frugal.core.stored import Array, Stored
from frugal.cover.instance import CoverInstance, LabelledUnits

NETWORK = "network."  # prefix of a network's weights
_LAYERS_APART = 4  # numbers of two linear layers in a row: normalisation, ReLU, dropout between

Arrays = Mapping[str, np.ndarray]


class StoredGenerator:
    """Arrays that are to be a generator of some kind for one catalogue.

    Args:
        kind: of the generator.
        arrays: that are to be checked.
        instance: the catalogue.
    """

    def __init__(self, kind: str, arrays: Arrays, instance: CoverInstance) -> None:
        self.stored = Stored(f"generator of kind {kind!r}", arrays)
        self.actions, self.features = instance.gain.shape
        self.effects = instance.gain > 0
        self.groups = len(instance.access)
        self.inputs = self.features + (self.groups if self.groups > 1 else 0)
        self.explanations = Array("int64", ("k", "slots"), low=-1, high=self.actions - 1)
        self.open_to = Array("bool", (self.groups, "k"))
        self.names = Array("int64", ("s",), low=-1, high=self.actions - 1)

    def require(self, expected: Mapping[str, Array]) -> dict[str, int]:
        """Exactly these arrays; see `Stored.require`."""
        return self.stored.require(expected)

    def require_dense(self, outputs: int | str, more: Mapping[str, Array]) -> dict[str, int]:
        """Linear layers, each but the last followed by a normalisation, and more arrays."""
        arrays = self.stored.arrays
        layers = next(i for i in count() if f"{NETWORK}{_LAYERS_APART * i}.weight" not in arrays)
        sizes = [self.inputs, *["hidden"] * max(1, layers - 1), outputs]
        expected: dict[str, Array] = {}
        for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
            at = _LAYERS_APART * i
            expected |= linear(str(at), fan_in, fan_out)
            if i < len(sizes) - 2:
                expected |= _normalisation(str(at + 1), fan_out)
        return self.require(of_network(**expected) | dict(more))

    def require_scores(self, **parts: Array) -> None:
        """A scorer of explanations with these parts, and the explanations that it knows."""
        known = {"explanations": self.explanations, "open_to": self.open_to}
        self.require(of_network(**parts) | known)

    def require_names(self) -> None:
        """Rising actions, then −1 for none."""
        names = self.stored.arrays["names"]
        if names[-1] != -1 or (names[:-1] < 0).any() or (np.diff(names[:-1]) <= 0).any():
            raise self.stored.refusal(
                "has an array 'names' that is not rising numbers of actions and then -1"
            )

    def require_derived(self, name: str, wanted: np.ndarray, because: str) -> None:
        """A part of the network that follows from the catalogue is what it must be."""
        self.stored.require_equal(NETWORK + name, wanted, because)


def of_network(**parts: Array) -> dict[str, Array]:
    """The arrays of a network, by the names that they have in a file."""
    return {NETWORK + name: array for name, array in parts.items()}


def network_arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """Weights and buffers of a network, named as in the network."""
    return {NETWORK + name: value.numpy() for name, value in network.state_dict().items()}


def put_back(network: nn.Module, arrays: Arrays) -> None:
    """Stored weights into a network, which then only answers."""
    own = network.state_dict()
    network.load_state_dict(
        {
            name: torch.from_numpy(np.array(arrays[NETWORK + name])).reshape(value.shape)
            for name, value in own.items()
        }
    )
    network.eval()


def linear(name: str, fan_in: int | str, fan_out: int | str) -> dict[str, Array]:
    """The arrays of a linear layer."""
    return {
        f"{name}.weight": Array("float32", (fan_out, fan_in)),
        f"{name}.bias": Array("float32", (fan_out,)),
    }


def _normalisation(name: str, width: int | str) -> dict[str, Array]:
    vector = Array("float32", (width,))
    return {
        f"{name}.weight": vector,
        f"{name}.bias": vector,
        f"{name}.running_mean": vector,
        f"{name}.running_var": Array("float32", (width,), low=0),
        f"{name}.num_batches_tracked": Array("int64", (), low=0),
    }


EMPTY = -1  # pads action sets


@dataclass(frozen=True, eq=False)
class Answers:
    """Generated action sets. Shapes: n units, m actions at most.

    Attributes:
        action_set: indices of the actions, ascending, padded with −1. (n, m)
        confidence: the generator's own probability that the set is right, in [0, 1]. (n,)
    """

    action_set: Int[np.ndarray, "n m"]
    confidence: Float[np.ndarray, " n"]


AnswerUnits = Callable[[np.ndarray, np.ndarray], Answers]  # (features, group) → answers


def of_explanations(
    explanations: Int[np.ndarray, "k m"],
    row: Int[np.ndarray, " n"],
    confidence: Float[np.ndarray, " n"],
    known: Bool[np.ndarray, " n"],
) -> Answers:
    """Named explanations as answers; the empty set, without confidence, where none is known.

    Args:
        explanations: padded with −1. (k, m)
        row: of the explanation of each unit. (n,)
        confidence: in it. (n,)
        known: False where a unit's group was seen with no explanation. (n,)
    """
    return Answers(
        np.where(known[:, None], explanations[row], EMPTY), np.where(known, confidence, 0.0)
    )


def as_membership(action_set: Int[np.ndarray, "n m"], *, actions: int) -> Bool[np.ndarray, "n a"]:
    """True where an action is in the set. (n, a)"""
    member = np.zeros((len(action_set), actions), dtype=bool)
    row, place = np.nonzero(action_set >= 0)
    member[row, action_set[row, place]] = True
    return member


def as_action_sets(member: Bool[np.ndarray, "n a"]) -> Int[np.ndarray, "n m"]:
    """Indices of the True entries of each row, ascending, padded with −1; m at least 1. (n, m)"""
    size = member.sum(axis=1)
    sets = np.full((len(member), max(1, int(size.max(initial=0)))), EMPTY, dtype=np.int64)
    row, action = np.nonzero(member)
    sets[row, np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)] = action
    return sets


def sorted_sets(action_set: Int[np.ndarray, "n m"]) -> Int[np.ndarray, "n m"]:
    """Each row ascending, its padding last, an action that comes twice kept once. (n, m)"""
    far = np.iinfo(np.int64).max
    ranked = np.sort(np.where(action_set < 0, far, action_set), axis=1)
    ranked[:, 1:][ranked[:, 1:] == ranked[:, :-1]] = far
    ranked = np.sort(ranked, axis=1)
    return np.where(ranked == far, EMPTY, ranked)


def state_inputs(
    features: Bool[np.ndarray, "n d"], group: Int[np.ndarray, " n"], *, groups: int
) -> Float[np.ndarray, "n i"]:
    """Inputs of a generator for a unit: 1 where it lacks a feature, and its group if there are any.

    The paper hands groups to nobody, yet units of its groups differ in nothing else, so that no
    generator could know which actions are open to them; here the group is one of the inputs.
    """
    lacks = (~features).astype(np.float32)
    if groups == 1:
        return lacks
    return np.concatenate([lacks, np.eye(groups, dtype=np.float32)[group]], axis=1)


def unit_inputs(units: LabelledUnits) -> Float[np.ndarray, "n i"]:
    """The inputs of training units."""
    return state_inputs(units.features, units.group, groups=len(units.instance.access))
