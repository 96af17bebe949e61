"""Self-normalised inverse propensity estimate, row by row, from its definition."""

from collections.abc import Sequence
from math import fsum


def self_normalised_value(
    cost: Sequence[float], followed: Sequence[bool], propensity: Sequence[float]
) -> float:
    """Σ 1{followed} cost / propensity over Σ 1{followed} / propensity, with exact summation."""
    top, bottom = [], []
    for c, f, e in zip(cost, followed, propensity, strict=True):
        if f:
            top.append(c / e)
            bottom.append(1 / e)
    return fsum(top) / fsum(bottom)
