"""Terms of estimators on the same rows, block by block, their sums and their influence terms.

Terms go to a scratch file; sums of all outcomes are held. Rows that belong together, a cluster,
count as one unit: their terms are summed, across blocks. Must not know which
estimator made the terms.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.blocks import TreeSum, block_slices, tree_sum
from frugal.core.rows import ScratchFile
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.table import Table
from frugal.judge.case import Case, Records
from frugal.judge.estimator import Terms
from frugal.judge.intervals import cluster_sums
from frugal.judge.sums import Spread, Tally
from frugal.studies.afape.cost_intervals import ErrorCosts

GRAM_ROUNDING = 1e-10  # of the largest eigenvalue of SᵀS: smaller ones are zero
LARGEST_SHARE = 0.1  # scores per row, above which too little is left to estimate what they explain


class NuisanceFit:
    """The scores of the fitted missingness model on the evaluated rows, block by block.

    A logistic law is taken for the direction in which any fit errs.

    Args:
        scratch: where the scores go.
        others: m, rows apart that the law was fitted to; 0 where these are the rows that it was
            cross-fitted on.
    """

    def __init__(self, scratch: ScratchFile, others: int) -> None:
        self._scratch, self._others = scratch, others
        self._scaling: dict[str, Scaling] = {}
        self._gram = TreeSum()
        self._rows, self._learned, self._some = 0, 0, False

    def add(self, data: Table, case: Case, learned: Bool[np.ndarray, " n"] | None = None) -> None:
        """The scores of the next block; causes are scaled as in the first one with rows.

            S = (R_j − p̂_j) · (1, causes of R_j), where the causes are recorded   [afape, eq. A.6]

        Args:
            data: the rows.
            case: any policy's on them; the missingness model does not depend on it.
            learned: True for the rows that the law was fitted to, if not to all of these. (n,)
        """
        parts = [np.empty((len(data), 0))]
        identification, panels = case.identification, [panel.name for panel in data.actions]
        records = Records(data, case.observed, identification, {}, {})
        for factor in identification["factors"] if identification["propensity_identified"] else ():
            head, panel = records.factor_head(factor), factor["panel"]
            probability = case.factors[:, panels.index(panel)]
            rows = head.usable & np.isfinite(probability)
            scores = np.zeros((len(data), head.inputs.shape[1] + 1))
            if rows.any():
                scaling = self._scaling.setdefault(panel, fit_scaling(head.inputs[rows]))
                rest = (head.target[rows] - probability[rows])[:, None]
                scores[rows] = np.hstack([rest, rest * scaling.standardise(head.inputs[rows])])
            parts.append(scores)
        self.put(np.hstack(parts), learned)

    def put(
        self, scores: Float[np.ndarray, "n p"], learned: Bool[np.ndarray, " n"] | None = None
    ) -> None:
        """The next block, by its scores; 0 where a regression has no row."""
        self._scratch.put((self, "scores"), scores)
        if learned is not None:
            self._scratch.put((self, "learned"), learned)
            self._some = True
        self._gram.put(scores.T @ scores)
        self._rows += len(scores)
        self._learned += len(scores) if learned is None else int(learned.sum())

    @cached_property
    def _count(self) -> int:
        """p, scores that are not zero in every row."""
        return int((np.diag(self._gram.total) > 0).sum())

    @property
    def counts(self) -> bool:
        """With more scores than a tenth of the rows the probabilities count as known."""
        return 0 < self._count <= LARGEST_SHARE * self._rows

    @cached_property
    def _inverse(self) -> Float[np.ndarray, "p p"]:
        """Pseudo-inverse of SᵀS."""
        return np.linalg.pinv(self._gram.total, rcond=GRAM_ROUNDING, hermitian=True)

    def scores(self, number: int) -> Float[np.ndarray, "n p"]:
        """S of one block; 0 where a regression has no row."""
        return self._scratch.block((self, "scores"), number)

    def corrected(
        self,
        number: int,
        psi: Float[np.ndarray, "n o"],
        scores: Float[np.ndarray, "n p"],
        crossed: Float[np.ndarray, "p o"],
    ) -> Float[np.ndarray, "n o"]:
        """Influence terms corrected for the fit: their squares sum to n² times the variance.

            ψ = r + q, q the explained part:   r on the same rows,  r + q √(1 + n/m) on others

        On the same rows it is scaled by √(n/(n − p)), for the p numbers that explain by chance; of
        m of them (n/m) q is taken off those.

        Args:
            number: of the block.
            psi: of its rows.
            scores: S of its rows.
            crossed: Sᵀψ, summed over all blocks.
        """
        explained, n = scores @ (self._inverse @ crossed), self._rows
        if self._others:
            return psi + (np.sqrt(1 + n / self._others) - 1) * explained
        if self._some:
            inside = self._scratch.block((self, "learned"), number)
            explained = np.where(inside[:, None], n / self._learned * explained, 0.0)
        return (psi - explained) * np.sqrt(n / (n - self._count))


_PARTS = ("numerator", "denominator", "weight")


@dataclass(eq=False)
class _Sums:
    """Sums of one estimator, and the first block's, about which squares are taken."""

    blocks: int = 0
    tally: TreeSum = field(default_factory=TreeSum)
    costs: TreeSum = field(default_factory=TreeSum)
    first: tuple[Tally, ErrorCosts] | None = None

    def put(self, terms: Terms, row: int, decisions: int) -> None:
        """The next block, whose first row has the number `row`."""
        if self.first is None:
            self.first = tally, costs = Tally.of(terms), ErrorCosts.of(terms, decisions)
        else:
            tally = Tally.of(terms, row, self.first[0].centre)
            costs = ErrorCosts.of(terms, decisions, self.first[1])
        self.tally.put(tally)
        self.costs.put(costs)
        self.blocks += 1


class TermBlocks:
    """Terms by the name of the estimator.

    Args:
        scratch: where they go.
        sizes: rows of each block.
        cluster: of each row, numbered from 0 on; None: each row is its own cluster. (n,)
        decisions: column of the misclassification cost.
    """

    def __init__(
        self,
        scratch: ScratchFile,
        sizes: Sequence[int],
        cluster: Int[np.ndarray, " n"] | None = None,
        *,
        decisions: int = 0,
    ) -> None:
        self._scratch, self.sizes, self._cluster = scratch, list(sizes), cluster
        self._decisions = decisions
        self._clusters = 0 if cluster is None else int(cluster.max(initial=-1)) + 1
        self._sums: dict[Hashable, _Sums] = {}
        self._ratio: dict[tuple[Hashable, int], str] = {}  # what the denominators of a block are
        self._units: dict[Hashable, TermBlocks] = {}

    @property
    def rows(self) -> int:
        """Of all blocks."""
        return sum(self.sizes)

    @property
    def names(self) -> list[Hashable]:
        """Estimators, in the order in which they came."""
        return list(self._sums)

    def put(self, name: Hashable, terms: Terms) -> None:
        """The next block of an estimator; of each row the first outcome is set aside, or all."""
        sums = self._sums.setdefault(name, _Sums())
        number = sums.blocks
        sums.put(terms, sum(self.sizes[:number]), self._decisions)
        outcomes = 1 if self._cluster is None else None
        self._scratch.put((self, name, "weight"), terms.weight)
        self._scratch.put((self, name, "numerator"), terms.numerator[:, :outcomes])
        if np.array_equal(terms.denominator, terms.weight):
            self._ratio[name, number] = "weight"
        elif (terms.denominator == 1).all():
            self._ratio[name, number] = "one"
        else:
            self._scratch.put((self, name, number), terms.denominator)

    def drop(self, name: Hashable) -> None:
        """Forget an estimator, which could not be computed in some block."""
        self._sums.pop(name, None)

    def first(self, name: Hashable, number: int) -> Terms:
        """Terms of the first outcome on the rows of one block."""
        terms = self._block(name, number)
        return Terms(terms.numerator[:, :1], terms.denominator, terms.weight)

    def _block(self, name: Hashable, number: int) -> Terms:
        """Terms of one block: of the first outcome, or of all where rows belong together."""
        weight, ratio = self.weight(name, number), self._ratio.get((name, number))
        if ratio is None:
            denominator = self._scratch.block((self, name, number), 0)
        else:
            denominator = weight if ratio == "weight" else np.ones(len(weight))
        return Terms(self._scratch.block((self, name, "numerator"), number), denominator, weight)

    def weight(self, name: Hashable, number: int) -> Float[np.ndarray, " n"]:
        """Weights of one block."""
        return self._scratch.block((self, name, "weight"), number)

    def tally(self, name: Hashable) -> Tally:
        """Sums over all rows, of all outcomes."""
        return self._sums[name].tally.total

    def error_costs(self, name: Hashable) -> ErrorCosts:
        """Statistics of the costs of decisions over all rows."""
        return self._sums[name].costs.total

    def units(self, name: Hashable) -> "TermBlocks":
        """Terms of one estimator, under its name, in which each cluster is a row.

        The ratio is the same; its standard error, and all that counts rows, is then that of g
        clusters, with which a row that occurs k times in one cluster counts as once:

            se² = g/(g − 1) · Σ_c (Σ_{i ∈ c} ψᵢ)² / n²
        """
        if self._cluster is None:
            return self
        if name not in self._units:
            blocks = range(len(self.sizes))
            sums = [
                tree_sum(self._clustered(k, getattr(self._block(name, k), part)) for k in blocks)
                for part in _PARTS
            ]
            slices = block_slices(len(sums[0]))
            sizes = [rows.stop - rows.start for rows in slices]
            clustered = TermBlocks(self._scratch, sizes, decisions=self._decisions)
            for rows in slices:
                clustered.put(name, Terms(*(column[rows] for column in sums)))
            self._units[name] = clustered
        return self._units[name]

    def _clustered(self, number: int, values: np.ndarray) -> np.ndarray:
        """Sums over the rows of each cluster that are in a block. (g,) or (g, o)"""
        assert self._cluster is not None, "bug: clusters of no rows"
        start = sum(self.sizes[:number])
        return cluster_sums(values, self._cluster[start : start + len(values)], self._clusters)

    def influence_terms(
        self,
        names: Sequence[Hashable],
        fit: NuisanceFit | None,
        divides: Callable[[Any], bool],
        into: ScratchFile,
        key: Callable[[Hashable], Hashable],
    ) -> dict[Hashable, Spread]:
        """Set aside the influence terms of estimates, of the first outcome; returns their sums.

        Blocks are read twice: for the part that the scores of the fit explain, and for the rest.

        Args:
            names: of estimates in which some row carries weight.
            fit: of the missingness model, whose errors count; None if they are known.
            divides: whether an estimate divides by them.
            into: where the terms go, block by block; those of clusters where rows belong together.
            key: under which, by the estimate's name.
        """
        fitted = [] if fit is None or not fit.counts else [n for n in names if divides(n)]
        crossed, spreads = {n: TreeSum() for n in fitted}, {n: TreeSum() for n in names}
        summed: dict[Hashable, Any] = {}

        def put(name: Hashable, psi: np.ndarray) -> None:
            into.put(key(name), psi[:, 0])
            spreads[name].put(Spread.of(psi))

        for number, scores in self._scores(fit if fitted else None):
            for name in fitted:
                crossed[name].put(scores.T @ self._influence(name, number))
        for number, scores in self._scores(fit if fitted else None):
            for name in names:
                psi = self._influence(name, number)
                if fit is not None and name in crossed:
                    psi = fit.corrected(number, psi, scores, crossed[name].total)
                if self._cluster is None:
                    put(name, psi)
                else:
                    summed[name] = summed.get(name, 0.0) + self._clustered(number, psi)
        for name, psi in summed.items():
            for rows in block_slices(len(psi)):
                put(name, psi[rows] * (len(psi) / self.rows))
        return {name: spread.total for name, spread in spreads.items()}

    def _scores(self, fit: NuisanceFit | None) -> Iterator[tuple[int, Any]]:
        """Number of each block, and the scores of the fit on its rows."""
        for number in range(len(self.sizes)):
            yield number, None if fit is None else fit.scores(number)

    def _influence(self, name: Hashable, number: int) -> Float[np.ndarray, "n 1"]:
        """Influence terms of a block, the fit of the probabilities taken as known."""
        return self.tally(name).influence(self.first(name, number))


def stacked(scratch: ScratchFile, keys: Sequence[Hashable]) -> Iterator[Float[np.ndarray, "k n"]]:
    """Columns that were set aside of several estimates on the same rows, block by block. (k, n)"""
    return (scratch.stack(keys, number) for number in range(scratch.blocks(keys[0])))
