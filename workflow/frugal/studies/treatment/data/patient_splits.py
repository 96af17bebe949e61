"""Training and test units that share no patient.

Used by `treatment` (Håkansson et al. 2020, sec. 6.2 and C.2: 70/30, five splits). Knows who a unit
belongs to and nothing else.
"""

import numpy as np
from jaxtyping import Bool, Int

from frugal.core.errors import ConfigError, DataError


def split_patients(
    patient: Int[np.ndarray, " n"], *, test_share: float, rng: np.random.Generator
) -> Bool[np.ndarray, " n"]:
    """True for the units of the patients drawn for testing; the share is of patients. (n,)

    Args:
        patient: who each unit belongs to. (n,)
        test_share: in (0, 1); rounded to whole patients.
        rng: draws the patients.

    Raises:
        ConfigError: the share is not inside (0, 1).
        DataError: no patient is left on one of the two sides.
    """
    if not 0 < test_share < 1:
        raise ConfigError(f"test_share is {test_share}; allowed are values inside 0 … 1")
    persons, index = np.unique(patient, return_inverse=True)
    drawn = round(test_share * len(persons))
    if not 0 < drawn < len(persons):
        raise DataError(
            f"{len(persons)} patients leave {drawn} for testing at a share of {test_share:g}; "
            "both sides need one at least"
        )
    is_test = np.zeros(len(persons), dtype=bool)
    is_test[rng.permutation(len(persons))[:drawn]] = True
    return is_test[index]
