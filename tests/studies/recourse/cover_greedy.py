"""Greedy set covers of all units at once, with the harmonic bound on how dear they can be.

A fast answer with a weaker certificate than the recourse study's exact search, which it never uses.
"""

from dataclasses import dataclass

import numpy as np
from frugal.core.errors import DataError
from frugal.studies.recourse.instance import CoverInstance
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class GreedyCovers:
    """Greedy sets and what they prove. Shapes: n units, a actions.

    Attributes:
        chosen: True where an action is taken. (n, a)
        cost: of the set; ∞ where no set is enough. (n,)
        lower_bound: cost / H(k): no set is cheaper. (n,)
    """

    chosen: Bool[np.ndarray, "n a"]
    cost: Float[np.ndarray, " n"]
    lower_bound: Float[np.ndarray, " n"]


def greedy_covers(
    features: Bool[np.ndarray, "n d"] | Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    instance: CoverInstance,
) -> GreedyCovers:
    """Take the action with the lowest cost per newly covered feature until none is missing.

        cost ≤ H(k) · optimum,   H(k) = Σ_{i=1..k} 1/i                      [recourse, sec. 2.1]

    where k is the largest number of missing features that one action covers (Chvátal 1979).

    Raises:
        DataError: an action meets a threshold only in part; the bound is not valid then.
    """
    left = instance.deficit(features) > 0
    part = (instance.gain > 0) & (instance.gain < instance.thresholds)
    if part.any():
        i, j = (int(v) for v in np.argwhere(part)[0])
        raise DataError(
            f"action {i} meets the threshold of feature {j} only in part; greedy covers need "
            "actions that meet it alone"
        )
    covers, allowed = (instance.gain > 0).astype(np.float32), instance.access[group]
    hits = np.where(allowed, left.astype(np.float32) @ covers.T, 0)
    widest = hits.max(axis=1, initial=0).astype(np.int64)
    chosen = np.zeros(allowed.shape, dtype=bool)
    live = np.asarray(hits.any(axis=1))
    while live.any():
        rows = np.flatnonzero(live)
        with np.errstate(divide="ignore", invalid="ignore"):
            price = np.where(hits[rows] > 0, instance.cost / hits[rows], np.inf)
        pick = price.argmin(axis=1)
        chosen[rows, pick] = True
        left[rows] &= covers[pick] == 0
        hits[rows] = np.where(allowed[rows], left[rows].astype(np.float32) @ covers.T, 0)
        live[rows] = hits[rows].any(axis=1)
    harmonic = np.concatenate([[1.0], np.cumsum(1 / np.arange(1, covers.shape[1] + 1))])
    cost = np.where(left.any(axis=1), np.inf, chosen @ instance.cost)
    return GreedyCovers(chosen, cost, cost / np.maximum(1.0, harmonic[widest]))
