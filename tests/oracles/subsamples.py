"""Subsampling without replacement from its definition: all subsets, and the textbook variance."""

from collections.abc import Sequence
from itertools import combinations
from math import sqrt


def all_subset_ratios(
    numerator: Sequence[float], denominator: Sequence[float], size: int
) -> list[float]:
    """Ratio of sums for each subset of `size` rows; all equally likely."""
    return [
        sum(numerator[i] for i in rows) / sum(denominator[i] for i in rows)
        for rows in combinations(range(len(numerator)), size)
    ]


def linearised_sd(numerator: Sequence[float], denominator: Sequence[float], size: int) -> float:
    """Delta-method standard deviation of the ratio in a subsample without replacement.

    Cochran, Sampling Techniques, 3rd ed., eq. 2.38 (exact if all denominators are equal).
    """
    n = len(numerator)
    ratio = sum(numerator) / sum(denominator)
    residual = [t - ratio * b for t, b in zip(numerator, denominator, strict=True)]
    variance = sum(r * r for r in residual) / (n - 1)
    return sqrt((1 - size / n) / size * variance) / (sum(denominator) / n)
