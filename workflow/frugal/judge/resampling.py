"""Spread of estimates over subsamples without replacement, as in the paper's box plots.

From [afape, sec. 4.2, sec. A.12]: 300 subsamples of 70 % of the rows. It must not know the
estimators: it sees numerators and denominators of E ratios.

Each chunk of subsamples is one 0/1 matrix, multiplied with all numerators and denominators at once
in float32. Five steps keep the ratios within 1e-6 of float64 (1e-8 in practice):
numerators are centred by Ĵ × denominator, so that the product holds the deviation alone; columns
are in a unit of their size; the rows that weigh most are summed in float64; the others are
multiplied in short blocks of rows whose products are added up in float64; a ratio whose denominator
falls below a tenth of its expectation is taken again in float64.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.blocks import TreeSum
from frugal.core.errors import DataError, NoSupportError
from frugal.core.terms import Terms

CHUNK = 25  # subsamples per matrix: 2.5 MB of booleans at 100,000 rows
BLOCK = 512  # rows per product: bounds the length of a float32 sum
HEAVY = 256  # rows summed in float64: some ten for each of 24 estimators
SMALL_DENOMINATOR = 0.1  # of its expectation, below which float64 is used


def stack_terms(
    terms: Sequence[Terms],
) -> tuple[Float[np.ndarray, "n e"], Float[np.ndarray, "n e"]]:
    """Numerators and denominators of several estimators on the same rows, side by side.

    Column order: all outcomes of the first estimator, then of the second, and so on. (n, e) each

    Raises:
        DataError: no estimator is given, or the numbers of rows differ.
    """
    rows = sorted({len(one.weight) for one in terms})
    if len(rows) != 1:
        raise DataError(f"estimators on {rows} rows cannot be resampled together; one n is allowed")
    numerators = np.hstack([one.numerator for one in terms])
    denominators = np.hstack(
        [np.repeat(one.denominator[:, None], one.numerator.shape[1], axis=1) for one in terms]
    )
    return numerators, denominators


def resample(
    numerators: Float[np.ndarray, "n e"],
    denominators: Float[np.ndarray, "n e"],
    *,
    resamples: int,
    share: float,
    rng: np.random.Generator,
) -> Float[np.ndarray, "b e"]:
    """Ratios Σ numerator / Σ denominator on random subsamples, the same rows for all columns.

    Args:
        numerators: finite. (n, e)
        denominators: finite and never below zero. (n, e)
        resamples: number of subsamples b.
        share: of the rows in each subsample, drawn without replacement; in (0, 1).
        rng: source of the draws.

    Returns:
        One row per subsample. NaN where every denominator of a subsample is zero, which is
        reported by `frugal.judge.positivity`. (b, e)

    Raises:
        DataError: a term is not finite, a denominator is below zero, or `share` leaves out no row
            or every row.
        NoSupportError: a column's denominators are all zero.
    """
    n = len(numerators)
    size = round(share * n)
    _check(numerators, denominators, size)
    mean_denominator = denominators.mean(axis=0)
    centre = numerators.mean(axis=0) / mean_denominator
    parts = np.hstack((numerators - centre * denominators, denominators))
    unit = np.ldexp(1.0, np.frexp(np.abs(parts).max(axis=0))[1])  # a power of two rounds nothing
    parts /= unit
    heavy = _heaviest_rows(parts)
    apart = parts[heavy]
    parts[heavy] = 0
    light = parts.astype(np.float32)
    smallest = SMALL_DENOMINATOR * size * mean_denominator
    ratios = np.empty((resamples, numerators.shape[1]))
    for start in range(0, resamples, CHUNK):
        chosen = sample_subsets(n, size, count=min(CHUNK, resamples - start), rng=rng)
        total = unit * (_block_product(chosen, light) + chosen[:, heavy] @ apart)
        top, bottom = np.split(total, 2, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = centre + top / bottom
        for b, e in np.argwhere(bottom < smallest):
            part[b, e] = _ratio(numerators[chosen[b], e], denominators[chosen[b], e])
        ratios[start : start + len(part)] = part
    return ratios


def resample_blocks(
    blocks: Iterable[tuple[np.ndarray, np.ndarray]],
    sizes: Sequence[int],
    centre: Float[np.ndarray, " e"],
    *,
    resamples: int,
    share: float,
    rng: np.random.Generator,
    rng_of: Callable[[int], np.random.Generator],
) -> Float[np.ndarray, "b e"]:
    """As `resample`, of rows in several blocks: how many of each block by the law of draws from all
    rows, then rows within the block.

    Args:
        blocks: numerators and denominators of each block, in order. (n, e) each
        sizes: rows of each block.
        centre: ratios of all rows. (e,)
        resamples: number of subsamples b.
        share: of all rows in each subsample.
        rng: of how many rows each block gives.
        rng_of: of the rows of one block, by its number.

    Raises:
        DataError: as `resample`.
    """
    n = int(sum(sizes))
    size = round(share * n)
    _require_size(size, n)
    given = rng.multivariate_hypergeometric(list(sizes), size, size=resamples)
    total = TreeSum()
    for number, (numerators, denominators) in enumerate(blocks):
        _require_terms(numerators, denominators)
        parts = np.hstack((numerators - centre * denominators, denominators))
        counts, draws, summed = given[:, number], rng_of(number), []
        for start in range(0, resamples, CHUNK):
            chosen = np.concatenate(
                [
                    sample_subsets(len(parts), int(count), count=1, rng=draws)
                    for count in counts[start : start + CHUNK]
                ]
            )
            summed.append(chosen.astype(np.float64) @ parts)
        total.put(np.concatenate(summed))
    top, bottom = np.split(total.total, 2, axis=1)
    ratios = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=ratios, where=bottom > 0)
    return centre + ratios


def sample_subsets(
    n: int, size: int, *, count: int, rng: np.random.Generator
) -> Bool[np.ndarray, "b n"]:
    """Subsets of `size` of n rows, each equally likely; True where a row is in. (b, n)"""
    fewer = min(size, n - size)  # draw the smaller side
    chosen = np.full((count, n), fewer != size)
    for row in chosen:
        row[rng.choice(n, fewer, replace=False, shuffle=False)] ^= True
    return chosen


def full_sample_interval(
    centre: Float[np.ndarray, " e"],
    resampled: Float[np.ndarray, "b e"],
    *,
    share: float,
    level: float,
) -> tuple[Float[np.ndarray, " e"], Float[np.ndarray, " e"]]:
    """Interval for the full-sample estimate from the spread over subsamples: lower, upper. (e,)

        Ĵ + √(share / (1 − share)) · (quantile of Ĵ* − Ĵ)

    A subsample of share f without replacement varies around the full estimate with variance
    σ² (1 − f) / (f n); the full estimate varies around the truth with σ² / n. The factor, 1.53 at
    70 %, takes one to the other. The raw 70 % boxes of the paper are too narrow by it.

    Args:
        centre: estimate on all rows. (e,)
        resampled: from `resample`; a NaN in a column makes its interval NaN. (b, e)
        share: of rows in each subsample.
        level: coverage, for example 0.95.
    """
    factor = np.sqrt(share / (1 - share))
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return centre + factor * (low - centre), centre + factor * (high - centre)


def _block_product(
    chosen: Bool[np.ndarray, "b n"], values: Float[np.ndarray, "n c"]
) -> Float[np.ndarray, "b c"]:
    """0/1 matrix product: float32 within blocks of rows, float64 between them. (b, c)"""
    total = np.zeros((len(chosen), values.shape[1]))
    for start in range(0, len(values), BLOCK):
        rows = slice(start, start + BLOCK)
        total += chosen[:, rows].astype(np.float32) @ values[rows]
    return total


def _heaviest_rows(parts: Float[np.ndarray, "n c"]) -> Int[np.ndarray, " h"]:
    """Rows with the largest share of any column's absolute sum, at most `HEAVY`. (h,)"""
    share = np.abs(parts)
    total = share.sum(axis=0)
    share /= np.where(total > 0, total, 1)
    top = share.max(axis=1)
    kept = min(HEAVY, len(top))
    return np.argpartition(top, len(top) - kept)[len(top) - kept :]


def _ratio(numerator: Float[np.ndarray, " m"], denominator: Float[np.ndarray, " m"]) -> float:
    total = denominator.sum()
    return float(numerator.sum() / total) if total > 0 else np.nan


def _check(
    numerators: Float[np.ndarray, "n e"], denominators: Float[np.ndarray, "n e"], size: int
) -> None:
    _require_size(size, len(numerators))
    _require_terms(numerators, denominators)
    empty = ~denominators.any(axis=0)
    if empty.any():
        raise NoSupportError(f"no row carries weight in columns {np.flatnonzero(empty).tolist()}")


def _require_size(size: int, n: int) -> None:
    if not 0 < size < n:
        raise DataError(
            f"a subsample of {size} of {n} rows was asked for; at least one row must be in and one "
            "out"
        )


def _require_terms(
    numerators: Float[np.ndarray, "n e"], denominators: Float[np.ndarray, "n e"]
) -> None:
    if not (np.isfinite(numerators).all() and np.isfinite(denominators).all()):
        raise DataError("a numerator or denominator is not a finite number")
    if (denominators < 0).any():
        raise DataError(f"a denominator is {denominators.min()}; it is never below zero")
