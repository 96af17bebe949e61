"""Bit sets as rows of 64-bit words, packed from booleans, for the compiled cover searches.

Knows no cost and no search. Compiled callers are cached and do not see edits here: edit them too.
"""

from typing import Any, no_type_check

import numpy as np
from jaxtyping import Bool, UInt64
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

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
