"""Which panels a unit has at all, where the table itself has gaps (`missing_values: partial`).

A record may hold a part of a panel: the panel is available if it tells anything, and what it does
not tell stays unknown. This is looser than the missingness masks of `afape`, where a panel with a
gap is missing as a whole.
"""

import numpy as np
from jaxtyping import Bool

from frugal.core.table import Table


def available_panels(table: Table) -> Bool[np.ndarray, "n a"]:
    """True where at least one column of a panel that is not free is known. (n, a)"""
    known = ~np.isnan(table.values)
    return (known.astype(np.float32) @ table.provides.T.astype(np.float32)) > 0


def absent_panels(table: Table) -> Bool[np.ndarray, "n a"]:
    """True where a unit has no value of a panel that is not free: it cannot be acquired. (n, a)"""
    return ~available_panels(table)
