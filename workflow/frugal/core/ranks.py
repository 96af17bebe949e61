"""Ranks of scores: what areas under curves are made of, without loading a library of statistics."""

import numpy as np
from jaxtyping import Float64, Shaped


def average_ranks(score: Shaped[np.ndarray, "*b n"]) -> Float64[np.ndarray, "*b n"]:
    """Rank of each score among the n of its row, from 1; ties share the mean of their ranks."""
    return np.apply_along_axis(_ranks, -1, score) if score.size else np.empty(score.shape)


def _ranks(score: Shaped[np.ndarray, " n"]) -> Float64[np.ndarray, " n"]:
    _, value, ties = np.unique(score, return_inverse=True, return_counts=True)
    return (np.cumsum(ties) - (ties - 1) / 2)[value]
