"""Influence terms of several estimates over many rows, with the fit of probabilities counted in.

Blocks are gone through twice: once for what the scores of the fit explain, once for what is left.
The terms of the first outcome are set aside, for what pairs estimates. Must not know an estimator.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from frugal.core.blocks import TreeSum, block_slices
from frugal.core.scratch import Scratch
from frugal.judge.intervals import influence_together
from frugal.judge.kept_terms import KeptTerms
from frugal.judge.nuisance_fit import NuisanceFit
from frugal.judge.sums import Spread


@runtime_checkable
class CountedFit(Protocol):
    """What a fit does to influence terms, block by block: regressed first, then counted."""

    def regress(self, key: Hashable, number: int, psi: Float[np.ndarray, "n o"]) -> None:
        """Note what the scores explain of a block."""
        ...

    def counted(
        self, key: Hashable, number: int, psi: Float[np.ndarray, "n o"]
    ) -> Float[np.ndarray, "n o"]:
        """A block with the fit counted in."""
        ...


class WholeFit:
    """A fit whose rows are one block."""

    def __init__(self, fit: NuisanceFit) -> None:
        self._fit = fit

    def regress(self, key: Hashable, number: int, psi: Float[np.ndarray, "n o"]) -> None:
        """Nothing is to be noted."""

    def counted(
        self, key: Hashable, number: int, psi: Float[np.ndarray, "n o"]
    ) -> Float[np.ndarray, "n o"]:
        """See `NuisanceFit.counted`."""
        return self._fit.counted(psi)


class Influences:
    """Of estimates on the same rows.

    Args:
        terms: of the estimates.
        cluster: of each row, from 0 on where there are several blocks; None where each row stands
            for itself. (n,)
        kept: where the terms of the first outcome go.
        key: under which, by the estimate's name.
    """

    def __init__(
        self,
        terms: KeptTerms,
        cluster: Int[np.ndarray, " n"] | None,
        kept: Scratch,
        key: Callable[[Hashable], Hashable],
    ) -> None:
        self._terms, self._cluster, self._kept, self._key = terms, cluster, kept, key
        self._spreads: dict[Hashable, TreeSum] = {}

    def make(self, names: Sequence[Hashable], fit_of: Callable[[Any], CountedFit | None]) -> None:
        """Go through all blocks.

        Args:
            names: estimates of which some row carries weight.
            fit_of: the fit of the probabilities that an estimate divides by, whose errors count;
                None if they are known.
        """
        blocks = range(len(self._terms.sizes))
        fits = {name: fit_of(name) for name in names}
        for number in blocks:
            for name, fit in fits.items():
                if fit is not None:
                    fit.regress(name, number, self._psi(name, number))
        across: dict[Hashable, np.ndarray] = {}
        for number in blocks:
            for name, fit in fits.items():
                psi = self._psi(name, number)
                counted = psi if fit is None else fit.counted(name, number, psi)
                if self._cluster is None or self._terms.single:
                    self._put(name, influence_together(counted, self._cluster))
                else:
                    added = self._clusters_of(number, counted[:, 0])
                    across[name] = across[name] + added if name in across else added
        for name, summed in across.items():
            for rows in block_slices(len(summed)):
                self._put(name, summed[rows, None])

    def _psi(self, name: Hashable, number: int) -> Float[np.ndarray, "n o"]:
        return self._terms.tally(name).influence(self._terms.block(name, number))

    def _put(self, name: Hashable, psi: Float[np.ndarray, "n o"]) -> None:
        self._spreads.setdefault(name, TreeSum()).put(Spread.of(psi))
        self._kept.put(self._key(name), psi[:, 0])

    def _clusters_of(self, number: int, psi: Float[np.ndarray, " n"]) -> Float[np.ndarray, " g"]:
        """What a block adds to the terms of clusters, whatever blocks their rows are in. (g,)"""
        assert self._cluster is not None, "bug: clusters of no rows"
        start, clusters = sum(self._terms.sizes[:number]), int(self._cluster.max()) + 1
        inside = self._cluster[start : start + len(psi)]
        summed = np.bincount(inside, weights=psi, minlength=clusters)
        return summed * (clusters / self._terms.rows)

    def spread(self, name: Hashable) -> Spread:
        """Sums of an estimate's influence terms."""
        return self._spreads[name].total


def blocks_of(kept: Scratch, keys: Iterable[Hashable]) -> Iterator[Float[np.ndarray, "k n"]]:
    """Terms that were set aside, of several estimates on the same rows, block by block. (k, n)"""
    keys = list(keys)
    return (kept.stack(keys, number) for number in range(kept.blocks(keys[0])))
