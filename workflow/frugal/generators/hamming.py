"""The baseline of the recourse study: the commonest explanation among the nearest training units.

Distances are counts of differing bits of packed states. Knows explanations as numbers only.
"""

import numba
import numpy as np
from jaxtyping import Bool, Float, Int


def nearest_rows(
    train: Bool[np.ndarray, "m d"], test: Bool[np.ndarray, "n d"], *, neighbours: int
) -> tuple[Int[np.ndarray, "n k"], Int[np.ndarray, "n k"]]:
    """Training rows at the smallest Hamming distance, and those distances, ascending.

        D(x, y) = Σⱼ |xⱼ − yⱼ|                                        [recourse, fig. 3]

    Of rows at equal distance the earlier one comes first; k is `neighbours`, or m if that is less.
    """
    k = min(neighbours, len(train))
    return _nearest(_words(train), _words(test), k)


def commonest_of_nearest(
    train: Bool[np.ndarray, "m d"],
    explanation: Int[np.ndarray, " m"],
    test: Bool[np.ndarray, "n d"],
    *,
    neighbours: int,
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """The commonest explanation among the nearest, and its share of their votes.  [recourse, 3.3]

    Of equally common ones, that of the nearest unit wins.

    Args:
        train: states of training units; groups may stand among the bits. (m, d)
        explanation: number of each training unit's explanation. (m,)
        test: states to be answered. (n, d)
        neighbours: k; the paper's are 5, 10 and 15 for 20, 50 and 100 features.
    """
    rows, _ = nearest_rows(train, test, neighbours=neighbours)
    votes = explanation[rows]
    count = (votes[:, :, None] == votes[:, None, :]).sum(axis=2)
    first = count.argmax(axis=1)  # the first of the highest is the nearest
    at = np.arange(len(votes))
    return votes[at, first], count[at, first] / rows.shape[1]


def _words(rows: Bool[np.ndarray, "n d"]) -> np.ndarray:
    """Rows as 64-bit words. (n, w)"""
    packed = np.packbits(rows, axis=1)
    spare = -packed.shape[1] % 8
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, spare)))).view(np.uint64)


@numba.njit(cache=True)
def _bits(word):
    """Number of ones in a 64-bit word."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    pairs = np.uint64(0x3333333333333333)
    word = (word & pairs) + ((word >> np.uint64(2)) & pairs)
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@numba.njit(cache=True)
def _nearest(train, test, k):
    """Insertion into a sorted list of k: nearly every row is refused by one comparison."""
    rows = np.full((len(test), k), -1, dtype=np.int64)
    distance = np.full((len(test), k), np.iinfo(np.int64).max, dtype=np.int64)
    for i in range(len(test)):
        for j in range(len(train)):
            far = np.int64(0)
            for w in range(train.shape[1]):
                far += _bits(train[j, w] ^ test[i, w])
            if far < distance[i, k - 1]:
                p = k - 1
                while p > 0 and distance[i, p - 1] > far:
                    distance[i, p] = distance[i, p - 1]
                    rows[i, p] = rows[i, p - 1]
                    p -= 1
                distance[i, p] = far
                rows[i, p] = j
    return rows, distance
