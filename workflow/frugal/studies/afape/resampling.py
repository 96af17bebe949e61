"""Estimates on random parts of the rows: subsamples without replacement, and growing subsets.

From [afape, sec. 4.2, sec. A.12]: 300 subsamples of 70 % of the rows, for box plots, and from
[afape, fig. 5]: convergence. It must not know the estimators: it sees their terms, in which the
nuisances stay as they are. Of rows in several blocks it is drawn how many each block gives, by the
law of draws from all rows, and then which of them.

Each chunk of subsamples is one 0/1 matrix, multiplied with all numerators and denominators at once
in float32. Five steps keep the ratios within 1e-6 of float64 (1e-8 in practice):
numerators are centred by Ĵ × denominator, so the product holds the deviation alone; columns
are in a unit of their size; the rows that weigh most are summed in float64; the others are
multiplied in short runs of rows whose products are added up in float64; sums whose denominator
falls below a tenth of its expectation are taken again in float64.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import stdtrit

from frugal.core.blocks import TreeSum, tree_sum
from frugal.core.errors import DataError
from frugal.judge.estimator import Terms


@dataclass(frozen=True, eq=False)
class PooledEstimate:
    """Estimates pooled over multiple imputations. Shape: o outcomes.

    Attributes:
        estimate: mean over the completed tables. (o,)
        variance: total variance of that mean. (o,)
        degrees_of_freedom: of the t law; infinite where the tables agree exactly. (o,)
    """

    estimate: Float[np.ndarray, " o"]
    variance: Float[np.ndarray, " o"]
    degrees_of_freedom: Float[np.ndarray, " o"]

    def interval(self, *, level: float) -> tuple[Float[np.ndarray, " o"], Float[np.ndarray, " o"]]:
        """Two-sided t interval with the given coverage, for example 0.95: lower, upper. (o,)"""
        half = stdtrit(self.degrees_of_freedom, (1 + level) / 2) * np.sqrt(self.variance)
        return self.estimate - half, self.estimate + half


def rubin(
    estimates: Float[np.ndarray, "m o"], variances: Float[np.ndarray, "m o"]
) -> PooledEstimate:
    """Pool m estimates and their squared standard errors.

        Q̄ = mean Q,   W = mean U,   B = var Q (divisor m − 1)
        T = W + (1 + 1/m) B,   ν = (m − 1) (1 + W / ((1 + 1/m) B))²      [afape, sec. A.4]

    Args:
        estimates: Q, one row per completed table. (m, o)
        variances: U, squared standard error of each. (m, o)

    Raises:
        DataError: fewer than two tables, a variance below zero, or a value that is not finite.
    """
    m = len(estimates)
    if m < 2:
        raise DataError(f"{m} completed table was given; Rubin's rules need at least two")
    if not (np.isfinite(estimates).all() and np.isfinite(variances).all()):
        raise DataError("an estimate or variance of a completed table is not a finite number")
    if (variances < 0).any():
        raise DataError(f"a variance is {variances.min()}; a variance is never below zero")
    within = variances.mean(axis=0)
    between = (1 + 1 / m) * estimates.var(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(between > 0, within / between, np.inf)
    return PooledEstimate(
        estimates.mean(axis=0).astype(np.float64),
        (within + between).astype(np.float64),
        (m - 1) * (1 + ratio) ** 2,
    )


CHUNK = 25  # subsamples per matrix: 2.5 MB of booleans at 100,000 rows
RUN = 512  # rows per product: bounds the length of a float32 sum
HEAVY = 256  # rows of a block summed in float64: some ten for each of 24 estimators
SMALL_DENOMINATOR = 0.1  # of its expectation, below which float64 is used

Blocks = Iterable[Sequence[Terms]]  # terms of several estimators on the rows of each block
Generators = Callable[[int], np.random.Generator]  # of the draws in a block, by its number


def stack_terms(
    terms: Sequence[Terms],
) -> tuple[Float[np.ndarray, "n e"], Float[np.ndarray, "n e"]]:
    """Numerators and denominators of several estimators on the same rows, side by side.

    Column order: all outcomes of the first estimator, then of the second, and so on. (n, e) each

    Raises:
        DataError: no estimator is given, or the numbers of rows differ.
    """
    rows = sorted({len(part.weight) for part in terms})
    if len(rows) != 1:
        raise DataError(f"estimators on {rows} rows cannot be resampled together; one n is allowed")
    numerators = np.hstack([part.numerator for part in terms])
    denominators = np.hstack(
        [np.repeat(part.denominator[:, None], part.numerator.shape[1], axis=1) for part in terms]
    )
    return numerators, denominators


def resample(
    blocks: Blocks,
    sizes: Sequence[int],
    centre: Float[np.ndarray, " e"],
    *,
    resamples: int,
    share: float,
    rng_of: Generators,
) -> Float[np.ndarray, "b e"]:
    """Ratios Σ numerator / Σ denominator on random subsamples, the same rows for all columns.

    Args:
        blocks: terms of the estimators; finite, no denominator below zero.
        sizes: rows of each block.
        centre: Ĵ, ratios of all rows. (e,)
        resamples: number of subsamples b.
        share: of the rows in each subsample, drawn without replacement; in (0, 1).
        rng_of: sources of the draws; that of the first block also draws the value of each block.

    Returns:
        One row per subsample. NaN where every denominator of a subsample is zero, which is
        reported by `frugal.studies.afape.positivity`. (b, e)

    Raises:
        DataError: a term is not finite, a denominator is below zero, or `share` leaves out no row
            or every row.
    """
    n, first, total = sum(sizes), rng_of(0), TreeSum()
    if not 0 < (size := round(share * n)) < n:
        raise DataError(
            f"a subsample of {size} of {n} rows was requested; at least one row must be in and one "
            "out"
        )
    counts = first.multivariate_hypergeometric(list(sizes), size, size=resamples)
    for number, terms in enumerate(blocks):
        numerators, denominators = stack_terms(terms)
        rng = rng_of(number) if number else first
        total.put(_subsample_sums(numerators, denominators, centre, counts[:, number], rng))
    top, bottom = np.split(total.total, 2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return centre + top / bottom


def _subsample_sums(
    numerators: Float[np.ndarray, "n e"],
    denominators: Float[np.ndarray, "n e"],
    centre: Float[np.ndarray, " e"],
    sizes: Int[np.ndarray, " b"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "b 2*e"]:
    """Σ (numerator − Ĵ denominator) and Σ denominator on subsamples of a block's rows. (b, 2e)"""
    if not (np.isfinite(numerators).all() and np.isfinite(denominators).all()):
        raise DataError("a numerator or denominator is not a finite number")
    if (denominators < 0).any():
        raise DataError(f"a denominator is {denominators.min()}; it is never below zero")
    n, e = numerators.shape
    parts = np.hstack((numerators - centre * denominators, denominators))
    top = np.abs(parts).max(axis=0, initial=0.0)
    unit = np.ldexp(1.0, np.frexp(top)[1])  # a power of two rounds nothing
    parts /= unit
    heavy = _heaviest_rows(parts)
    apart = parts[heavy]
    parts[heavy] = 0
    light, expected = parts.astype(np.float32), denominators.sum(axis=0) / max(n, 1)
    sums = np.empty((len(sizes), 2 * e))
    for start in range(0, len(sizes), CHUNK):
        some = sizes[start : start + CHUNK]
        chosen = sample_subsets(n, some, rng)
        total = unit * (_product(chosen, light) + chosen[:, heavy] @ apart)
        small = total[:, e:] < SMALL_DENOMINATOR * some[:, None] * expected
        for b, column in np.argwhere(small):
            over, under = numerators[chosen[b], column], denominators[chosen[b], column]
            total[b, column] = (over - centre[column] * under).sum()
            total[b, e + column] = under.sum()
        sums[start : start + len(some)] = total
    return sums


def sample_subsets(
    n: int, sizes: Int[np.ndarray, " b"], rng: np.random.Generator
) -> Bool[np.ndarray, "b n"]:
    """Subsets of so many of n rows, each equally likely; True where a row is in. (b, n)"""
    chosen = np.empty((len(sizes), n), dtype=bool)
    for row, size in zip(chosen, sizes, strict=True):
        fewer = min(size, n - size)  # draw the smaller side
        row[:] = fewer != size
        row[rng.choice(n, fewer, replace=False, shuffle=False)] ^= True
    return chosen


def prefix_estimates(
    blocks: Blocks, sizes: Sequence[int], cuts: Sequence[int], rng_of: Generators
) -> Float[np.ndarray, "p e"]:
    """Ratios on the first n₁ < n₂ < … of all rows in a random order. (p, e)

    Args:
        blocks: terms of the estimators.
        sizes: rows of each block.
        cuts: n₁, n₂, …; the last is all rows.
        rng_of: sources of the draws; that of the first block also draws the value of each block.

    Returns:
        NaN where none of the rows carries weight.
    """
    first, left, counts = rng_of(0), np.array(sizes, dtype=np.int64), []
    for more in np.diff(cuts, prepend=0):
        counts.append(first.multivariate_hypergeometric(left, int(more)))
        left = left - counts[-1]

    def sums(number: int, terms: Sequence[Terms]) -> Float[np.ndarray, "p c"]:
        """Numerators, denominators and rows with weight, from each cut to the next."""
        usable = np.stack([part.weight > 0 for part in terms], axis=1)
        columns = np.hstack([*stack_terms(terms), usable])
        order = (rng_of(number) if number else first).permutation(len(columns))
        stretches = np.split(order, np.cumsum([count[number] for count in counts])[:-1])
        return np.stack([columns[rows].sum(axis=0) for rows in stretches])

    total = tree_sum(sums(*numbered) for numbered in enumerate(blocks)).cumsum(axis=0)
    top, bottom, usable = np.split(total, 3, axis=1)
    return np.divide(top, bottom, out=np.full(top.shape, np.nan), where=usable > 0)


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


def _product(
    chosen: Bool[np.ndarray, "b n"], values: Float[np.ndarray, "n c"]
) -> Float[np.ndarray, "b c"]:
    """0/1 matrix product: float32 within runs of rows, float64 between them. (b, c)"""
    total = np.zeros((len(chosen), values.shape[1]))
    for start in range(0, len(values), RUN):
        rows = slice(start, start + RUN)
        total += chosen[:, rows].astype(np.float32) @ values[rows]
    return total


def _heaviest_rows(parts: Float[np.ndarray, "n c"]) -> Int[np.ndarray, " h"]:
    """Rows with the largest share of any column's absolute sum, at most `HEAVY`. (h,)"""
    share = np.abs(parts)
    total = share.sum(axis=0)
    share /= np.where(total > 0, total, 1)
    top = share.max(axis=1)
    count = min(HEAVY, len(top))
    return np.argpartition(top, len(top) - count)[len(top) - count :]
