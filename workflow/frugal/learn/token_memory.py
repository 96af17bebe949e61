"""Memory vectors of feature tokens, computed once for all units that share a token.

The memory network of DADI's appendix B turns [value, one-hot position] into a vector, for many
encoders in lock-step. Its first layer is a value times one row plus another row, and the tokens of
binary columns are shared by all units. Must not know how the memory is read or what for.

Shapes: g encoders, k learners, n units, d columns, z shared tokens, s slots, w hidden units, h
width of a memory vector.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from frugal.learn.lockstep import rectified_layers
from frugal.learn.token_layout import FREE, TokenLayout


def encoder_shapes(columns: int, hidden: int, width: int) -> dict[str, tuple[int, ...]]:
    """Shapes of one encoder's parameters [dadi, app. B]; the cell reads [query, reading]."""
    return {
        "value": (1, hidden),
        "position": (columns, hidden),
        "first_bias": (1, hidden),
        "second": (hidden, hidden),
        "second_bias": (1, hidden),
        "third": (hidden, width),
        "third_bias": (1, width),
        "cell": (2 * width, 4 * width),
        "cell_bias": (1, 4 * width),
    }


@dataclass(frozen=True, eq=False)
class UnitTokens:
    """What the tokens of the n units at hand are made of, for each of k learners.

    Attributes:
        value: of the numeric columns. (k, n, c)
        one: which binary column of a group is 1, as index into `binary`. (k, n, s − c)
        binary: columns of zeros and ones. (z,)
        numeric: the other columns. (c,)
    """

    value: Float[Tensor, "k n c"]
    one: Int[Tensor, "k n b"]
    binary: Int[Tensor, " z"]
    numeric: Int[Tensor, " c"]


@dataclass(frozen=True, eq=False)
class Memory:
    """Memory vectors: one per shared token, one per unit and slot.

    Attributes:
        shared: of the tokens "binary column = 0". (g, z, h)
        own: of each unit's own tokens. (g, n, s, h)
    """

    shared: Float[Tensor, "g z h"]
    own: Float[Tensor, "g n s h"]

    def flat(self) -> tuple[Tensor, Tensor]:
        """Vectors cut off from their graph: shared (g, z, h) and own (g n, s, h)."""
        return self.shared.detach(), self.own.detach().flatten(0, 1)


def remember(named: Mapping[str, Tensor], prefix: str, units: UnitTokens) -> Memory:
    """Memory vectors mⱼ of tokens uⱼ = [xⱼ, I(j)]  [dadi, app. B].

        first layer:  xⱼ · value + position[j] + bias

    so that no one-hot vector is ever multiplied. Encoders 0 … k − 1, k … 2k − 1, … belong to
    learners 0 … k − 1 each.

    Args:
        named: the encoders' parameters, encoders on the leading axis.
        prefix: of their names.
        units: tokens of the k learners' units; g is a multiple of k.

    Returns:
        Memory vectors of the g encoders, with their graph.
    """
    value, position = named[prefix + "value"], named[prefix + "position"]
    g, _, w = value.shape
    k, n, c = units.value.shape
    z = len(units.binary)
    bias = position + named[prefix + "first_bias"]
    at_zero = bias[:, units.binary]
    shared = torch.cat((at_zero, at_zero + value), dim=1)  # "= 0" of all columns, then "= 1"
    own = units.value[None, :, :, :, None] * value.view(g // k, k, 1, 1, w)
    own = (own + bias[:, units.numeric].view(g // k, k, 1, c, w)).view(g, n * c, w)
    vectors = rectified_layers(named, prefix, torch.cat((shared, own), dim=1))
    h = vectors.shape[2]
    table = vectors[:, z : 2 * z].reshape(g * z, h)
    first = torch.arange(g).view(g // k, k, 1, 1) * z
    ones = table.index_select(0, (first + units.one).flatten()).view(g, n, units.one.shape[2], h)
    numeric = vectors[:, 2 * z :].view(g, n, c, h)
    return Memory(vectors[:, :z], torch.cat((numeric, ones), dim=2))


class UnitTable:
    """A table's tokens as tensors, asked for the units and sets at hand.

    Args:
        layout: tokens of the table.
        panels: number of panels that can be acquired, a.
    """

    def __init__(self, layout: TokenLayout, panels: int) -> None:
        self._value, self._one = torch.from_numpy(layout.value), torch.from_numpy(layout.one)
        self._zero, self._present = torch.from_numpy(layout.zero), torch.from_numpy(layout.present)
        self._binary = torch.from_numpy(layout.binary)
        self._numeric = torch.from_numpy(layout.numeric)
        self._zero_panel, self._slot_panel = (
            torch.from_numpy(np.where(panel == FREE, panels, panel))
            for panel in (layout.zero_panel, layout.slot_panel)
        )

    def __len__(self) -> int:
        return len(self._zero)

    def tokens(self, row: Int[Tensor, "k n"]) -> UnitTokens:
        """What the tokens of the given units are made of."""
        return UnitTokens(self._value[row], self._one[row], self._binary, self._numeric)

    def holdings(self, row: Int[Tensor, "k n"]) -> tuple[Tensor, Tensor]:
        """1 where a unit has a shared token (k, n, z), and a token in a slot (k, n, s)."""
        return self._zero[row], self._present[row]

    def members(
        self, holdings: tuple[Tensor, Tensor], known: Float[Tensor, "k n a1"]
    ) -> tuple[Tensor, Tensor]:
        """1 where a token is in a unit's set: it has the token, and the token's panel is known.

        Args:
            holdings: tokens of the units.
            known: 1 where a panel is acquired; the last column is 1, for columns that are free.

        Returns:
            Members among the shared tokens (k, n, z) and among the slots (k, n, s).
        """
        zero, present = holdings
        return zero * known[..., self._zero_panel], present * known[..., self._slot_panel]
