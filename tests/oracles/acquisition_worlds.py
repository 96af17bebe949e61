"""Small acquisition problems for tests: values, a free column, and panels that may overlap."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class AcquisitionWorld:
    values: np.ndarray
    free_columns: np.ndarray
    provides: np.ndarray

    @property
    def layout(self):
        """Keyword arguments that every rollout and set probability takes."""
        return {"free_columns": self.free_columns, "provides": self.provides}


def overlapping_world(n, a, rng):
    """One free column, a + 1 costly ones; panel j reveals columns j + 1 and j + 2 (overlaps)."""
    d = a + 2
    provides = np.zeros((a, d), dtype=bool)
    for j in range(a):
        provides[j, [j + 1, j + 2]] = True
    return AcquisitionWorld(rng.normal(size=(n, d)), np.arange(d) == 0, provides)
