"""Memory vectors of feature tokens, computed once for all units that share a token.

The memory network of DADI's appendix B turns [value, one-hot position] into a vector, for many
encoders in lock-step. Its first layer is a value times one row plus another row, and the tokens of
binary columns are shared by all units. Must not know how or why the memory is read.

Shapes: g encoders, k learners, n units, d columns, z shared tokens, s slots, w hidden units, h
width of a memory vector.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from frugal.core.errors import DataError
from frugal.learn.lockstep import rectified_layers

FREE = -1  # panel of a column that is known from the start


@dataclass(frozen=True, eq=False)
class TokenLayout:
    """Tokens of n units: z shared ones "column = 0", s slots with a unit's own token each.

    A slot is a numeric column or a group of binary columns of which a unit has at most one 1. The
    first c slots are the numeric columns. Any layout of a table gives the same encodings.

    Attributes:
        columns: number of the table's columns, d.
        binary: columns that hold nothing but 0 and 1. (z,)
        numeric: the other columns. (c,)
        zero_panel: panel that reveals each binary column; FREE is known from the start. (z,)
        slot_panel: panel that reveals each slot. (s,)
        zero: 1 where a unit's binary column is 0. (n, z)
        value: value of the numeric columns; 0 where the table has none. (n, c)
        active: which binary column of a group is 1, as index into `binary`. (n, s − c)
        present: 1 where the unit has a token in the slot. (n, s)
    """

    columns: int
    binary: Int[np.ndarray, " z"]
    numeric: Int[np.ndarray, " c"]
    zero_panel: Int[np.ndarray, " z"]
    slot_panel: Int[np.ndarray, " s"]
    zero: Float32[np.ndarray, "n z"]
    value: Float32[np.ndarray, "n c"]
    active: Int[np.ndarray, "n g"]
    present: Float32[np.ndarray, "n s"]


def lay_out_tokens(
    values: Float32[np.ndarray, "n d"], panel_of_column: Int[np.ndarray, " p"]
) -> TokenLayout:
    """Layout of a table's tokens.

    Args:
        values: encoded features, one-hot columns as 0 and 1; NaN where the table has no value: such
            an entry is in no set. (n, d)
        panel_of_column: panel that reveals each column, or FREE; p must be d. (p,)

    Returns:
        The layout.

    Raises:
        DataError: one panel per column is not given, a panel's number is below FREE, or a value is
            infinite.
    """
    _check(values, panel_of_column)
    observed = ~np.isnan(values)
    is_zero, is_one = values == 0, values == 1
    binary_column = (is_zero | is_one | ~observed).all(axis=0)
    binary, numeric = np.flatnonzero(binary_column), np.flatnonzero(~binary_column)
    groups = _exclusive_groups(is_one[:, binary], panel_of_column[binary])
    active = np.zeros((len(values), len(groups)), dtype=np.int64)
    has_one = np.zeros((len(values), len(groups)), dtype=bool)
    for slot, group in enumerate(groups):
        hit = is_one[:, binary[group]]
        active[:, slot] = group[hit.argmax(axis=1)]
        has_one[:, slot] = hit.any(axis=1)
    group_panel = [int(panel_of_column[binary[group[0]]]) for group in groups]
    return TokenLayout(
        columns=values.shape[1],
        binary=binary,
        numeric=numeric,
        zero_panel=panel_of_column[binary].astype(np.int64),
        slot_panel=np.array([*panel_of_column[numeric], *group_panel], dtype=np.int64),
        zero=is_zero[:, binary].astype(np.float32),
        value=np.where(observed, values, np.float32(0))[:, numeric],
        active=active,
        present=np.hstack([observed[:, numeric], has_one]).astype(np.float32),
    )


def _check(values: np.ndarray, panel_of_column: np.ndarray) -> None:
    if len(panel_of_column) != values.shape[1]:
        raise DataError(
            f"panels are given for {len(panel_of_column)} columns, but the table has "
            f"{values.shape[1]}"
        )
    if len(panel_of_column) and panel_of_column.min() < FREE:
        raise DataError(
            f"a column belongs to panel {panel_of_column.min()}; panels are numbered from 0, and "
            f"{FREE} means known from the start"
        )
    if np.isinf(values).any():
        raise DataError("a feature is infinite; a set encoder reads finite values or none (NaN)")


def _exclusive_groups(
    is_one: Bool[np.ndarray, "n z"], panel: Int[np.ndarray, " z"]
) -> list[Int[np.ndarray, " g"]]:
    """Binary columns by panel where no unit has two ones in it, else each column on its own."""
    groups: list[np.ndarray] = []
    for number in np.unique(panel):
        members = np.flatnonzero(panel == number)
        exclusive = is_one[:, members].sum(axis=1).max(initial=0) <= 1
        groups += [members] if exclusive else list(members[:, None])
    return groups


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
    """Inputs of the tokens of the current n units, for each of k learners.

    Attributes:
        value: of the numeric columns. (k, n, c)
        active: which binary column of a group is 1, as index into `binary`. (k, n, s − c)
        binary: columns of zeros and ones. (z,)
        numeric: the other columns. (c,)
    """

    value: Float[Tensor, "k n c"]
    active: Int[Tensor, "k n b"]
    binary: Int[Tensor, " z"]
    numeric: Int[Tensor, " c"]


@dataclass(frozen=True, eq=False)
class Memory:
    """Memory vectors: one per shared token, one per unit and slot.

    Attributes:
        shared: of the tokens "binary column = 0". (g, z, h)
        private: of each unit's own tokens. (g, n, s, h)
    """

    shared: Float[Tensor, "g z h"]
    private: Float[Tensor, "g n s h"]

    def flat(self) -> tuple[Tensor, Tensor]:
        """Vectors cut off from their graph: shared (g, z, h) and own (g n, s, h)."""
        return self.shared.detach(), self.private.detach().flatten(0, 1)


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
    private = units.value[None, :, :, :, None] * value.view(g // k, k, 1, 1, w)
    private = (private + bias[:, units.numeric].view(g // k, k, 1, c, w)).view(g, n * c, w)
    vectors = rectified_layers(named, prefix, torch.cat((shared, private), dim=1))
    h = vectors.shape[2]
    table = vectors[:, z : 2 * z].reshape(g * z, h)
    first = torch.arange(g).view(g // k, k, 1, 1) * z
    ones = table.index_select(0, (first + units.active).flatten()).view(
        g, n, units.active.shape[2], h
    )
    numeric = vectors[:, 2 * z :].view(g, n, c, h)
    return Memory(vectors[:, :z], torch.cat((numeric, ones), dim=2))


class UnitTable:
    """A table's tokens as tensors, for the units and sets at hand.

    Args:
        layout: tokens of the table.
        panels: number of panels that can be acquired, a.
    """

    def __init__(self, layout: TokenLayout, panels: int) -> None:
        self._value, self._active = torch.from_numpy(layout.value), torch.from_numpy(layout.active)
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
        """Inputs of the tokens of the given units."""
        return UnitTokens(self._value[row], self._active[row], self._binary, self._numeric)

    def holdings(self, row: Int[Tensor, "k n"]) -> tuple[Tensor, Tensor]:
        """1 where a unit has a shared token (k, n, z), and a token in a slot (k, n, s)."""
        return self._zero[row], self._present[row]

    def members(
        self, holdings: tuple[Tensor, Tensor], acquired: Float[Tensor, "k n a1"]
    ) -> tuple[Tensor, Tensor]:
        """1 where a token is in a unit's set: it has the token, and the token's panel is known.

        Args:
            holdings: tokens of the units.
            acquired: 1 where a panel is acquired; the last column is 1, for columns that are free.

        Returns:
            Members among the shared tokens (k, n, z) and among the slots (k, n, s).
        """
        zero, present = holdings
        return zero * acquired[..., self._zero_panel], present * acquired[..., self._slot_panel]
