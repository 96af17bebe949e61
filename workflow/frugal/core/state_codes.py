"""Sets of acquired panels as numbers, code = Σⱼ acquiredⱼ 2ʲ, or as bits in octets.

Shared by the decision process, its encoders and compact replay memories. It knows no unit, no cost
and no policy.
"""

import numpy as np
from jaxtyping import Bool, Int, Shaped, UInt8

from frugal.core.errors import DataError

MOST_ACTIONS = 62  # panels that fit into a 64-bit set code
MOST_ENUMERATED = 20  # panels whose 2^a sets are ever listed at once


def set_codes(acquired: Bool[np.ndarray, "m a"]) -> Int[np.ndarray, " m"]:
    """Code of each set, Σⱼ acquiredⱼ 2ʲ, in int64. (m,)

    Raises:
        DataError: more panels than fit into the code.
    """
    m, a = acquired.shape
    if a > MOST_ACTIONS:
        raise DataError(f"{a} panels do not fit a set code; at most {MOST_ACTIONS} are allowed")
    if not a:
        return np.zeros(m, dtype=np.int64)
    packed = np.packbits(acquired, axis=1, bitorder="little")
    if packed.shape[1] == 1:
        return packed[:, 0].astype(np.int64)
    octets = np.zeros((m, 8), dtype=np.uint8)
    octets[:, : packed.shape[1]] = packed
    return octets.view("<i8")[:, 0].astype(np.int64)


def sets_of(codes: Int[np.ndarray, " m"], a: int) -> Bool[np.ndarray, "m a"]:
    """The sets that the codes stand for; inverse of `set_codes`. (m, a)"""
    octets = codes.astype("<i8")[:, None].view(np.uint8)
    return np.unpackbits(octets, axis=1, count=a, bitorder="little").view(np.bool_)


def set_keys(acquired: Bool[np.ndarray, "m a"]) -> Shaped[np.ndarray, " m"]:
    """What names each set, of any number of panels: its code, else its octets as a string. (m,)"""
    if acquired.shape[1] <= MOST_ACTIONS:
        return set_codes(acquired)
    packed = packed_sets(acquired)
    return packed.view(f"S{packed.shape[1]}")[:, 0]


def packed_sets(acquired: Bool[np.ndarray, "*m a"]) -> UInt8[np.ndarray, "*m w"]:
    """Sets of any number of panels, one bit a panel. (…, ⌈a/8⌉)"""
    return np.packbits(acquired, axis=-1, bitorder="little")


def unpacked_sets(packed: UInt8[np.ndarray, "*m w"], a: int) -> Bool[np.ndarray, "*m a"]:
    """The inverse of `packed_sets`. (…, a)"""
    return np.unpackbits(packed, axis=-1, count=a, bitorder="little").view(np.bool_)


def all_sets(a: int) -> Bool[np.ndarray, "sets a"]:
    """Every set of a panels, in the order of the codes: row c is the set of code c. (2^a, a)

    Raises:
        DataError: too many panels to list their sets.
    """
    if a > MOST_ENUMERATED:
        raise DataError(
            f"all sets of {a} panels were asked for; at most {MOST_ENUMERATED} panels are allowed"
        )
    return sets_of(np.arange(1 << a, dtype=np.int64), a)
