"""Compiled smoothing over sub-histories of one (context, action) of `treatment`.

For every history h and distance d it needs S_d(h) = Σ p̂(h′) over the sub-histories h′ ⊂ h with
|h| − |h′| = d. One pass an action adds "that digit untried" to "that digit tried", one distance
further: k |Y|^k steps instead of (2|Y| − 1)^k. Digits are taken in groups whose tile fits a cache.
Knows nothing of records or policies; `tests/oracles` holds the sum written from its definition.
"""

from typing import no_type_check

import numpy as np
from numba import njit

_TILE = 4096  # histories of a tile; about 1.5 MB at 14 actions


@njit(cache=True, error_model="numpy")
@no_type_check
def _sum_sub_histories(sums, digits, base):
    """S_d(h) for all h and d in place of p̂ at d = 0. (r, digits + 1, y) flattened behind r"""
    histories, width = sums.shape
    low = 0
    while low < digits:
        stride = base**low
        group = 1  # at least one digit, then as many as fit the tile
        while low + group < digits and base ** (group + 1) <= _TILE:
            group += 1
        span = base**group
        for block in range(0, histories, stride * span):
            for offset in range(stride):
                start = block + offset
                for j in range(group):
                    step = base**j
                    top = min(width, (low + j + 2) * base)
                    for high in range(0, span, step * base):
                        for i in range(high, high + step):
                            source = sums[start + i * stride]
                            for y in range(1, base):
                                target = sums[start + (i + y * step) * stride]
                                for t in range(base, top):
                                    target[t] += source[t - base]
        low += group


@njit(cache=True, error_model="numpy")
@no_type_check
def smooth_cells(history, count, digits, weight, mass, uniform, sums, result):
    """Posterior mean p(Y(a) = y | h) for all h of one (context, action).

    Args:
        history: observed cells. (m,)
        count: their counts. (m, y)
        digits: number of other actions.
        weight: w(|h|, d) of a sub-history at distance d ≥ 1. (digits + 1, digits + 1)
        mass: total pseudo-count of the prior; below 0 it stays as it is.
        uniform: probability of each outcome where neither counts nor prior exist.
        sums: work space, zeros. (r, (digits + 1) · y)
        result: filled. (r, y)
    """
    histories, base = result.shape
    for m in range(len(history)):
        total = count[m].sum()
        for y in range(base):
            result[history[m], y] = count[m, y]
            sums[history[m], y] = count[m, y] / total
    _sum_sub_histories(sums, digits, base)
    for h in range(histories):
        size = 0
        rest = h
        for _ in range(digits):
            size += rest % base > 0
            rest //= base
        prior = np.zeros(base)
        for d in range(1, size + 1):
            for y in range(base):
                prior[y] += weight[size, d] * sums[h, d * base + y]
        prior_mass = prior.sum()
        scale = mass / prior_mass if mass >= 0 and prior_mass > 0 else 1.0
        total = 0.0
        for y in range(base):
            result[h, y] += scale * prior[y]
            total += result[h, y]
        for y in range(base):
            result[h, y] = result[h, y] / total if total > 0 else uniform
