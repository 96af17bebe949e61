"""Which of two sets of equal cost is the answer, the same in every search.

Fewer actions come first, then actions of lower number; actions are numbered by cost, and by their
place in the catalogue where they cost the same. Compiled callers do not see edits here: edit them.
"""

from typing import no_type_check

import numba
import numpy as np


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
