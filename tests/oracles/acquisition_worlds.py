"""Small acquisition problems for tests: values, a free column, and panels that may overlap."""

import numpy as np
from frugal.core.world import World


def world_of(values, provides, free_columns, *, available=None, label=None, cost=None, terminals=1):
    """A World of two classes; everything can be had, costs 1 and is of class 0 unless said."""
    n, a = len(values), len(provides)
    return World(
        name="full",
        draw=0,
        row_id=np.arange(n),
        values=values,
        provides=provides,
        free_columns=free_columns,
        available=np.ones((n, a), dtype=bool) if available is None else available,
        label=np.zeros(n, dtype=np.int64) if label is None else label,
        action_cost=np.ones(a) if cost is None else cost,
        classes=2,
        terminals=terminals,
    )


def overlapping_world(n, a, rng, *, available=None, cost=None):
    """One free column, a + 1 costly ones; panel j reveals columns j + 1 and j + 2 (overlaps)."""
    d = a + 2
    provides = np.zeros((a, d), dtype=bool)
    for j in range(a):
        provides[j, [j + 1, j + 2]] = True
    values = rng.normal(size=(n, d))
    return world_of(values, provides, np.arange(d) == 0, available=available, cost=cost)
