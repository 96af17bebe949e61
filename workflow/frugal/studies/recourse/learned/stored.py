"""Checks of a fitted generator's arrays before it answers from them: the common words.

Knows no kind of generator, not how one is fitted, nor how it answers.
"""

from collections.abc import Mapping
from itertools import count, pairwise

import numpy as np
import torch
from torch import nn

from frugal.core.stored import Array, Stored
from frugal.studies.recourse.instance import CoverInstance

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
        arrays = {"explanations": self.explanations, "open_to": self.open_to}
        self.require(of_network(**parts) | arrays)

    def require_names(self) -> None:
        """Rising actions, then −1 for none."""
        names = self.stored.arrays["names"]
        if names[-1] != -1 or (names[:-1] < 0).any() or (np.diff(names[:-1]) <= 0).any():
            raise self.stored.refusal(
                "has an array 'names' that is not rising numbers of actions and then -1"
            )

    def require_derived(self, name: str, expected: np.ndarray, because: str) -> None:
        """A part of the network that follows from the catalogue agrees with it."""
        self.stored.require_equal(NETWORK + name, expected, because)


def of_network(**parts: Array) -> dict[str, Array]:
    """The arrays of a network, by the names that they have in a file."""
    return {NETWORK + name: array for name, array in parts.items()}


def network_arrays(network: nn.Module) -> dict[str, np.ndarray]:
    """Weights and buffers of a network, named as in the network."""
    return {NETWORK + name: value.numpy() for name, value in network.state_dict().items()}


def put_back(network: nn.Module, arrays: Arrays) -> None:
    """Stored weights into a network, which then only answers."""
    state = network.state_dict()
    network.load_state_dict(
        {
            name: torch.from_numpy(np.array(arrays[NETWORK + name])).reshape(value.shape)
            for name, value in state.items()
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
