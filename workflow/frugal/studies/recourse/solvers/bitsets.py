"""Bit sets as rows of 64-bit words, packed from booleans, for the compiled cover searches.

Knows no cost and no search. Compiled callers are cached and do not see edits here: edit them too.
"""

from dataclasses import dataclass
from math import gcd
from typing import Any, no_type_check

import numba
import numpy as np
from jaxtyping import Bool, Int, UInt64
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@numba.njit(cache=True)
@no_type_check
def comes_before(one, one_size, other, other_size):
    """True if the first of two sets of equal cost comes before the second; both in any order."""
    if one_size != other_size:
        return one_size < other_size
    first, second = np.sort(one[:one_size]), np.sort(other[:other_size])
    for k in range(one_size):
        if first[k] != second[k]:
            return first[k] < second[k]
    return False


Links = tuple[np.ndarray, ...]  # place of each row's first entry, and one array or two of entries


@dataclass(frozen=True, eq=False)
class ActionLinks:
    """Actions of a catalogue in ascending cost. Shapes: a actions, d features.

    Attributes:
        cost: in steps. (a,)
        step: size of a step, in millionths of the catalogue's unit: the costs' common divisor.
        links: of each action its features and gains.
        providers: of each feature its actions.
        rules: of each action those that it requires, those that require it, those that it excludes.
    """

    cost: Int[np.ndarray, " a"]
    step: int
    links: Links
    providers: Links
    rules: tuple[Links, Links, Links]


def rows_as_links(member: Bool[np.ndarray, "r c"]) -> Links:
    """Place of the first entry of each row, and the columns of all entries. (r + 1,), (m,)"""
    first = np.concatenate([[0], np.cumsum(member.sum(axis=1))]).astype(np.int64)
    return first, np.nonzero(member)[1].astype(np.int64)


def action_links(
    cost: Int[np.ndarray, " a"],
    gain: Int[np.ndarray, "a d"],
    requires: Bool[np.ndarray, "a a"] | None = None,
    excludes: Bool[np.ndarray, "a a"] | None = None,
) -> ActionLinks:
    """The catalogue of actions that ascend in cost; costs are whole numbers from 0.

    Args:
        cost: ascending. (a,)
        gain: amount that each action adds, from 0. (a, d)
        requires: row i: all that action i requires, directly or not. None for no rule.
        excludes: pairs that may not be taken together. None for no rule.
    """
    step = max(gcd(*(int(c) for c in cost)), 1) if len(cost) else 1
    first, feature = rows_as_links(gain > 0)
    none = (np.zeros(len(cost) + 1, dtype=np.int64), np.zeros(0, dtype=np.int64))
    return ActionLinks(
        cost=cost // step,
        step=step,
        links=(first, feature, gain[gain > 0].astype(np.int64)),
        providers=rows_as_links(gain.T > 0),
        rules=(
            none if requires is None else rows_as_links(requires),
            none if requires is None else rows_as_links(requires.T),
            none if excludes is None else rows_as_links(excludes | excludes.T),
        ),
    )


NOTHING_LEFT = np.int64(np.iinfo(np.int64).max)  # cost of what a finished search did not look at

_instruction: Any = intrinsic  # its stubs take the typing context for an argument of the caller


def pack_bits(member: Bool[np.ndarray, "r c"]) -> UInt64[np.ndarray, "r w"]:
    """Rows of booleans as bits, column 64·w + b in bit b of word w; at least one word. (r, w)"""
    rows, columns = member.shape
    words = max(1, -(-columns // 64))
    padded = np.zeros((rows, 64 * words), dtype=bool)
    padded[:, :columns] = member
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64).reshape(rows, words)


@_instruction
@no_type_check
def popcount(typing_context: Any, word: Any) -> Any:
    """Number of set bits of a word, as one machine instruction."""
    del typing_context, word

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), build


@_instruction
@no_type_check
def lowest_bit(typing_context: Any, word: Any) -> Any:
    """Index of the lowest set bit of a word that is not zero, as one machine instruction."""
    del typing_context, word

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), build
