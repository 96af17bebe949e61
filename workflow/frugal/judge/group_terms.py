"""Terms of every quantity in every group of rows, block by block, and what follows from them.

A quantity in a group is a ratio of weighted sums, of which errors follow as of any estimate. Knows
no policy and no estimator by name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from frugal.core.scratch import Scratch
from frugal.core.terms import Terms
from frugal.judge.cost_intervals import ErrorCosts
from frugal.judge.influences import CountedFit, Influences, blocks_of
from frugal.judge.kept_terms import ClusteredTerms, KeptTerms
from frugal.judge.sums import Spread, WeightSums

SHARES = ("error_rate", "positive_share", "true_positive_rate", "false_positive_rate")

Ratio = tuple[np.ndarray, np.ndarray]  # a and b of each row


class GroupTerms:
    """Every quantity in every group by the weights of one estimator, block by block.

    Args:
        kept: where what is made of them goes.
        sizes: rows of each block.
        names: of the groups.
        cluster: rows of one number belong together; from 0 on where there are several blocks. (n,)
    """

    def __init__(
        self,
        kept: Scratch,
        sizes: Sequence[int],
        names: Sequence[str],
        cluster: Int[np.ndarray, " n"] | None,
    ) -> None:
        self.names, self.quantities, self._kept = names, list[str](), kept
        self.rows: dict[tuple[str, int], int] = {}
        self.terms = KeptTerms(kept, list(sizes), outcomes=None, decisions=0)
        self.together = ClusteredTerms(self.terms, cluster, kept, decisions=0)
        self._influences = Influences(self.terms, cluster, kept, lambda name: (self, name))

    def add(
        self,
        acted: Mapping[str, Ratio],
        weight: Float[np.ndarray, " n"],
        group: Int[np.ndarray, " n"],
    ) -> None:
        """The next block.

        Args:
            acted: what the policy did on the records, from `ratios`.
            weight: of the estimator, zero where a row is not used. (n,)
            group: of each row. (n,)
        """
        self.quantities = list(acted)
        for name, ratio in acted.items():
            top, bottom = (weight * part for part in ratio)
            for k in range(len(self.names)):
                inside = group == k
                below = np.where(inside, bottom, 0.0)
                terms = Terms(np.where(inside, top, 0.0)[:, None], below, below)
                self.terms.put((name, k), terms)
                told = int((inside & (ratio[1] > 0)).sum())
                self.rows[name, k] = self.rows.get((name, k), 0) + told

    def estimated(self, fit: CountedFit | None) -> "dict[str, Estimated]":
        """Every quantity, once all blocks are there; see `by_group`."""
        pairs = [(name, k) for name in self.quantities for k in range(len(self.names))]
        told = [pair for pair in pairs if self.weight(*pair).usable]
        self._influences.make(told, lambda _: fit)
        return {name: self._of(name, {k for q, k in told if q == name})
                for name in self.quantities}  # fmt: skip

    def weight(self, name: str, group: int) -> WeightSums:
        """Weights of one quantity in one group, those of rows that belong together as one."""
        return self.together.of((name, group)).tally((name, group)).weight

    def _of(self, name: str, told: set[int]) -> "Estimated":
        value, error, spreads = [], [], []
        groups = range(len(self.names))
        for k in groups:
            if k in told:
                spreads.append(self._influences.spread((name, k)))
                value.append(float(self.together.of((name, k)).tally((name, k)).estimate[0]))
                error.append(float(spreads[-1].error(self.weight(name, k).usable)[0]))
            else:
                spreads.append(None)
                value.append(np.nan)
                error.append(np.nan)
        return Estimated(
            np.array(value), np.array(error), spreads, [self.weight(name, k) for k in groups],
            np.array([self.rows[name, k] for k in groups]),
            [self.together.of((name, k)).error_costs((name, k)) for k in groups],
            lambda wanted: blocks_of(self._kept, [(self, (name, k)) for k in wanted]),
            name in SHARES,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Estimated:
    """One quantity in k groups.

    Attributes:
        value: NaN where no row of the group tells. (k,)
        error: standard error, infinite where one row or cluster alone tells. (k,)
        spreads: sums of influence terms; None where there is no value.
        weights: of each group, those of rows that belong together as one.
        n: rows that the quantity is of. (k,)
        costs: what rows tell of the costs of decisions, of each group.
        psi: influence terms of some groups, block by block.
        share: whether it is a share of rows.
    """

    value: Float[np.ndarray, " k"]
    error: Float[np.ndarray, " k"]
    spreads: Sequence[Spread | None]
    weights: Sequence[WeightSums]
    n: Int[np.ndarray, " k"]
    costs: Sequence[ErrorCosts]
    psi: Callable[[Sequence[int]], Iterator[Float[np.ndarray, "m c"]]]
    share: bool

    @property
    def known(self) -> Int[np.ndarray, " m"]:
        """Groups with a value that have an error."""
        return np.flatnonzero(np.isfinite(self.value) & np.isfinite(self.error))

    @property
    def ess(self) -> Float[np.ndarray, " k"]:
        """Kish's effective sample size. (k,)"""
        return np.array([one.effective for one in self.weights])
