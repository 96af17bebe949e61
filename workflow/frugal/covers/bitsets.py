"""Bit sets as rows of 64-bit words, packed from booleans, for the compiled cover searches.

Knows no cost and no search.
"""

import numba
import numpy as np
from jaxtyping import Bool, UInt64

_DEBRUIJN = np.uint64(0x03F79D71B4CB0A89)
_POSITION = np.zeros(64, dtype=np.int64)
for _shift in range(64):
    _POSITION[((int(_DEBRUIJN) << _shift) & (2**64 - 1)) >> 58] = _shift


def pack_bits(member: Bool[np.ndarray, "r c"]) -> UInt64[np.ndarray, "r w"]:
    """Rows of booleans as bits, column 64·w + b in bit b of word w; at least one word. (r, w)"""
    rows, columns = member.shape
    words = max(1, -(-columns // 64))
    padded = np.zeros((rows, 64 * words), dtype=bool)
    padded[:, :columns] = member
    packed = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64).reshape(rows, words)


@numba.njit(inline="always")
def lowest_bit(word):
    """Index of the lowest set bit of a word that is not zero."""
    isolated = word & (~word + np.uint64(1))
    return _POSITION[(isolated * _DEBRUIJN) >> np.uint64(58)]


@numba.njit(inline="always")
def popcount(word):
    """Number of set bits of a word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@numba.njit(inline="always")
def first_member(words):
    """Smallest index in a bit set, or −1 if it is empty."""
    for w in range(len(words)):
        if words[w] != 0:
            return 64 * w + lowest_bit(words[w])
    return -1
