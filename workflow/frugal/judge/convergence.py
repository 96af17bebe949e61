"""Estimates on the first n₁ < n₂ < … rows, for the convergence figure [afape, fig. 5].

It must not know which estimator made the terms. The nuisances inside the terms stay as they are:
what converges here is the average, not the fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from frugal.core.errors import DataError
from frugal.core.terms import Terms


@dataclass(frozen=True, eq=False)
class PrefixEstimates:
    """Estimates on growing prefixes. Shapes: p prefixes, o outcomes.

    Attributes:
        sizes: rows in each prefix. (p,)
        usable_rows: of them, rows with weight. (p,)
        estimate: NaN exactly where `usable_rows` is zero. (p, o)
    """

    sizes: Int[np.ndarray, " p"]
    usable_rows: Int[np.ndarray, " p"]
    estimate: Float[np.ndarray, "p o"]


def prefix_estimates(terms: Terms, sizes: Int[np.ndarray, " p"]) -> PrefixEstimates:
    """Ratio of the terms' sums over the first n rows, for each n in `sizes`, in one pass.

    Args:
        terms: rows in the order in which they are to arrive.
        sizes: strictly increasing, each between 1 and the number of rows. (p,)

    Raises:
        DataError: `sizes` is empty, not increasing, or leaves the table.
    """
    n = len(terms.weight)
    if len(sizes) == 0 or sizes[0] < 1 or sizes[-1] > n or (np.diff(sizes) <= 0).any():
        raise DataError(
            f"prefix sizes {sizes.tolist()} are not allowed; they must increase within 1..{n}"
        )
    numerator = _prefix_sums(terms.numerator, sizes)
    denominator = _prefix_sums(terms.denominator[:, None], sizes)
    usable = _prefix_sums((terms.weight > 0).astype(np.int64)[:, None], sizes)[:, 0]
    value = np.full(numerator.shape, np.nan)
    np.divide(numerator, denominator, out=value, where=(usable > 0)[:, None])
    return PrefixEstimates(sizes, usable, value)


class PrefixDraws:
    """Which rows of several blocks come first in a random order of all of them.

    Args:
        sizes: rows of each block.
        cuts: strictly increasing numbers of rows; the last is all of them. (p,)
        rng: of how many rows of a block come before each cut.
    """

    def __init__(
        self, sizes: Sequence[int], cuts: Int[np.ndarray, " p"], rng: np.random.Generator
    ) -> None:
        left = np.array(sizes, dtype=np.int64)
        self._counts = []  # of each stretch between cuts, and block
        for more in np.diff(cuts[:-1], prepend=0):
            taken = rng.multivariate_hypergeometric(left, int(more))
            self._counts.append(taken)
            left = left - taken

    def sums(
        self, number: int, columns: Float[np.ndarray, "n c"], rng: np.random.Generator
    ) -> Float[np.ndarray, "p c"]:
        """Sums over a block's rows up to each cut.

        Args:
            number: of the block.
            columns: of its rows, what is summed. (n, c)
            rng: of the rows of this block.
        """
        counts = [int(taken[number]) for taken in self._counts]
        order = rng.permutation(len(columns))[: sum(counts)]
        stretches = np.split(order, np.cumsum(counts)[:-1]) if counts else []
        parts = [columns[rows].sum(axis=0) for rows in stretches]
        return np.vstack([*np.cumsum(parts, axis=0), columns.sum(axis=0)] if parts
                         else [columns.sum(axis=0)])  # fmt: skip


def prefixes_of_sums(
    sizes: Int[np.ndarray, " p"],
    numerator: Float[np.ndarray, " p"],
    denominator: Float[np.ndarray, " p"],
    usable: Float[np.ndarray, " p"],
) -> PrefixEstimates:
    """Estimates on prefixes from the sums up to each cut, of one outcome."""
    value = np.full((len(sizes), 1), np.nan)
    np.divide(numerator, denominator, out=value[:, 0], where=usable > 0)
    return PrefixEstimates(sizes, usable.astype(np.int64), value)


def _prefix_sums(values: np.ndarray, sizes: Int[np.ndarray, " p"]) -> np.ndarray:
    """Sum over the first n rows for each n in `sizes`: sums between cuts, then added up. (p, c)"""
    starts = np.concatenate(([0], sizes[:-1]))
    return np.add.reduceat(values[: sizes[-1]], starts, axis=0).cumsum(axis=0)
