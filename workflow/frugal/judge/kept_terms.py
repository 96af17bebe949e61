"""Terms of estimators over many rows, set aside block by block, and their sums.

Of a single block the terms are held as they are. Of more, numerators of the first outcomes and
weights go to a scratch file, and sums of all outcomes are kept. Must not know which estimator made
the terms.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int

from frugal.core.blocks import TreeSum, block_slices
from frugal.core.scratch import Scratch
from frugal.core.terms import Terms
from frugal.judge.cost_intervals import ErrorCosts
from frugal.judge.intervals import together
from frugal.judge.sums import Tally

_PARTS = ("numerator", "denominator", "weight")


@dataclass(eq=False)
class _Summed:
    """Sums of one estimator, and the first block's, about which squares are taken."""

    blocks: int = 0
    tally: TreeSum = field(default_factory=TreeSum)
    costs: TreeSum = field(default_factory=TreeSum)
    first: tuple[Tally, ErrorCosts] | None = None

    def put(self, terms: Terms, row: int, decisions: int) -> None:
        """The next block, whose first row has the number `row`."""
        if self.first is None:
            self.first = Tally.of(terms), ErrorCosts.of(terms, decisions)
            tally, costs = self.first
        else:
            tally = Tally.of(terms, row, self.first[0].centre)
            costs = ErrorCosts.of(terms, decisions, self.first[1])
        self.tally.put(tally)
        self.costs.put(costs)
        self.blocks += 1


class KeptTerms:
    """Terms by the name of the estimator.

    Args:
        kept: where they go if there are several blocks.
        sizes: rows of each block.
        outcomes: how many are kept of each row; None: all.
        decisions: column of the misclassification cost.
    """

    def __init__(
        self, kept: Scratch, sizes: list[int], *, outcomes: int | None, decisions: int
    ) -> None:
        self._kept, self.sizes, self._outcomes = kept, sizes, outcomes
        self._decisions = decisions
        self._held: dict[Hashable, Terms] = {}
        self._sums: dict[Hashable, _Summed] = {}
        self._ratio: dict[tuple[Hashable, int], str] = {}  # what the denominators of a block are

    @property
    def single(self) -> bool:
        """All rows are one block."""
        return len(self.sizes) == 1

    @property
    def rows(self) -> int:
        """Of all blocks."""
        return sum(self.sizes)

    @property
    def names(self) -> list[Hashable]:
        """Estimators, in the order in which they came."""
        return list(self._sums)

    def put(self, name: Hashable, terms: Terms) -> None:
        """The next block of an estimator."""
        sums = self._sums.setdefault(name, _Summed())
        number = sums.blocks
        sums.put(terms, sum(self.sizes[:number]), self._decisions)
        if self.single:
            self._held[name] = terms
            return
        self._kept.put((self, name, "weight"), terms.weight)
        self._kept.put((self, name, "numerator"), terms.numerator[:, : self._outcomes])
        if np.array_equal(terms.denominator, terms.weight):
            self._ratio[name, number] = "weight"
        elif (terms.denominator == 1).all():
            self._ratio[name, number] = "one"
        else:
            self._kept.put((self, name, number), terms.denominator)

    def drop(self, name: Hashable) -> None:
        """Forget an estimator, which could not be computed in some block."""
        self._held.pop(name, None)
        self._sums.pop(name, None)

    def block(self, name: Hashable, number: int) -> Terms:
        """Terms of one block; with the first outcomes where there are several blocks."""
        if self.single:
            return self._held[name]
        weight = self._kept.block((self, name, "weight"), number)
        ratio = self._ratio.get((name, number))
        if ratio is None:
            denominator = self._kept.block((self, name, number), 0)
        else:
            denominator = weight if ratio == "weight" else np.ones(len(weight))
        return Terms(self._kept.block((self, name, "numerator"), number), denominator, weight)

    def blocks(self, name: Hashable) -> Iterator[Terms]:
        """Terms of all blocks, in order."""
        return (self.block(name, k) for k in range(len(self.sizes)))

    def weight(self, name: Hashable, number: int) -> Float[np.ndarray, " n"]:
        """Weights of one block."""
        if self.single:
            return self._held[name].weight
        return self._kept.block((self, name, "weight"), number)

    def tally(self, name: Hashable) -> Tally:
        """Sums over all rows, of all outcomes."""
        return self._sums[name].tally.total

    def error_costs(self, name: Hashable) -> ErrorCosts:
        """What all rows tell of the costs of decisions."""
        return self._sums[name].costs.total


class ClusteredTerms:
    """Terms of clusters: those of rows that belong together as one; see `intervals.together`.

    Args:
        terms: of rows.
        cluster: of each row, from 0 on where there are several blocks; None where each row stands
            for itself. (n,)
        kept: where those of clusters go if there are several blocks.
        decisions: column of the misclassification cost.
    """

    def __init__(
        self,
        terms: KeptTerms,
        cluster: Int[np.ndarray, " n"] | None,
        kept: Scratch,
        *,
        decisions: int,
    ) -> None:
        self._rows, self.cluster, self._kept = terms, cluster, kept
        self._decisions = decisions
        self._made: dict[Hashable, KeptTerms] = {}

    def of(self, name: Hashable) -> KeptTerms:
        """Terms of one estimator, under its name."""
        if self.cluster is None:
            return self._rows
        if name not in self._made:
            self._made[name] = self._joined(name, self.cluster)
        return self._made[name]

    def _joined(self, name: Hashable, cluster: np.ndarray) -> KeptTerms:
        single = self._rows.single
        whole = together(self._rows.block(name, 0), cluster) if single else self._summed(
            name, cluster
        )  # fmt: skip
        slices = [slice(0, len(whole.weight))] if single else block_slices(len(whole.weight))
        sizes = [rows.stop - rows.start for rows in slices]
        found = KeptTerms(self._kept, sizes, outcomes=None, decisions=self._decisions)
        for rows in slices:
            found.put(name, Terms(*(getattr(whole, part)[rows] for part in _PARTS)))
        return found

    def _summed(self, name: Hashable, cluster: np.ndarray) -> Terms:
        """Sums over the rows of each cluster, block after block."""
        sums: dict[str, np.ndarray] = {}
        start, clusters = 0, int(cluster.max()) + 1
        for terms in self._rows.blocks(name):
            inside = cluster[start : start + len(terms.weight)]
            start += len(terms.weight)
            for part in _PARTS:
                values = getattr(terms, part)
                into = sums.setdefault(part, np.zeros((clusters, *values.shape[1:])))
                np.add.at(into, inside, values)
        return Terms(*(sums[part] for part in _PARTS))
