"""Which feature tokens a table's units share, so that a set encoder computes each of them once.

A token of [dadi, app. B] is a column's value and its position. A column of zeros and ones has two
tokens, shared by all units; of a one-hot group at most one column is 1, so that a unit brings one
token of its own per group. Must not know networks, labels or decisions.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Int

from frugal.core.errors import DataError

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
        one: which binary column of a group is 1, as index into `binary`. (n, s − c)
        present: 1 where the unit has a token in the slot. (n, s)
    """

    columns: int
    binary: Int[np.ndarray, " z"]
    numeric: Int[np.ndarray, " c"]
    zero_panel: Int[np.ndarray, " z"]
    slot_panel: Int[np.ndarray, " s"]
    zero: Float32[np.ndarray, "n z"]
    value: Float32[np.ndarray, "n c"]
    one: Int[np.ndarray, "n g"]
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
    known = ~np.isnan(values)
    is_zero, is_one = values == 0, values == 1
    binary_column = (is_zero | is_one | ~known).all(axis=0)
    binary, numeric = np.flatnonzero(binary_column), np.flatnonzero(~binary_column)
    groups = _exclusive_groups(is_one[:, binary], panel_of_column[binary])
    one = np.zeros((len(values), len(groups)), dtype=np.int64)
    has_one = np.zeros((len(values), len(groups)), dtype=bool)
    for slot, group in enumerate(groups):
        hit = is_one[:, binary[group]]
        one[:, slot] = group[hit.argmax(axis=1)]
        has_one[:, slot] = hit.any(axis=1)
    group_panel = [int(panel_of_column[binary[group[0]]]) for group in groups]
    return TokenLayout(
        columns=values.shape[1],
        binary=binary,
        numeric=numeric,
        zero_panel=panel_of_column[binary].astype(np.int64),
        slot_panel=np.array([*panel_of_column[numeric], *group_panel], dtype=np.int64),
        zero=is_zero[:, binary].astype(np.float32),
        value=np.where(known, values, np.float32(0))[:, numeric],
        one=one,
        present=np.hstack([known[:, numeric], has_one]).astype(np.float32),
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
