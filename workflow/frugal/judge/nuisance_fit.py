"""What fitting the probabilities of gaps does to the error of an estimate that divides by them.

An estimate on n rows that is right whatever the true law is has, to first order, the influence

    ψᵢ − E[ψ Sᵀ] E[S Sᵀ]⁻¹ Sᵢ

with S the scores of the law's parameters, if the law was fitted to the same rows by maximum
likelihood: what the scores explain of ψ drops out, and weights by fitted probabilities err less
than weights by the true ones (Robins, Rotnitzky & Zhao, J. Am. Stat. Assoc. 89, 1994; Tsiatis,
Semiparametric Theory and Missing Data, 2006, sec. 9.1). If it was fitted to m other rows, their
error is added.

If it was fitted to m of the n rows, M, its parameters err by α̂ − α = E[S Sᵀ]⁻¹ Σ_{i ∈ M} Sᵢ / m,
which moves the estimate by −E[ψ Sᵀ] (α̂ − α). With q = E[ψ Sᵀ] E[S Sᵀ]⁻¹ S, what the scores explain,

    Ĵ − J = Σᵢ (ψᵢ − (n/m) 1{i ∈ M} qᵢ) / n,   n · variance = Var(ψ − q) + (n/m − 1) Var(q)

which for m = n is the above. Must not know which estimator or policy an estimate belongs to.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.blocks import TreeSum
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.scratch import Scratch
from frugal.judge.records import Records

LEAST_GRAM = 1 << 20  # entries of scores from which SᵀS is inverted once, in place of many fits
GRAM_ROUNDING = 1e-10  # of its largest eigenvalue: smaller ones are zero
LARGEST_SHARE = 0.1  # scores per row, above which too little is left to tell what they explain


@dataclass(frozen=True)
class FitRows:
    """Rows that a law was fitted to, beside n rows with p scores that are judged.

    Attributes:
        rows: n.
        scores: p.
        others: rows apart, m; 0 where it was fitted to the rows that are judged.
        learned: how many of those, m; n where it was fitted to all of them.
    """

    rows: int
    scores: int
    others: int
    learned: int

    @property
    def told(self) -> bool:
        """With more scores than a tenth of the rows the probabilities count as known."""
        return 0 < self.scores <= LARGEST_SHARE * self.rows

    def counted(
        self,
        psi: Float[np.ndarray, "n o"],
        explained: Float[np.ndarray, "n o"],
        inside: Bool[np.ndarray, " n"] | None,
    ) -> Float[np.ndarray, "n o"]:
        """Influence terms with the fit counted in: their squares sum to n² times the variance.

            ψ = r + q, q what the scores explain:   r on the same rows,  r + q √(1 + n/m) on others

        On the same rows it is scaled by √(n/(n − p)), for the p numbers that explain by chance; of
        m of them (n/m) q is taken off those.

        Args:
            psi: of some of the rows, or all.
            explained: q.
            inside: rows that were learned from; None: all.
        """
        if self.others:
            return psi + (np.sqrt(1 + self.rows / self.others) - 1) * explained
        if inside is not None:
            explained = np.where(inside[:, None], self.rows / self.learned * explained, 0.0)
        return (psi - explained) * np.sqrt(self.rows / (self.rows - self.scores))


@dataclass(frozen=True, eq=False)
class NuisanceFit:
    """The scores of the fitted law of gaps, and the rows that it was fitted to.

    Attributes:
        scores: of its parameters, a logistic law taken for the direction in which any fit errs; 0
            where a regression has no row. (n, p)
        others: m, rows apart that it was fitted to; 0 where these are the rows that it was
            cross-fitted on.
        learned: True for the rows that it was fitted to, if not to all of these. (n,)
    """

    scores: Float[np.ndarray, "n p"]
    others: int
    learned: Bool[np.ndarray, " n"] | None = None

    @classmethod
    def of(
        cls,
        records: Records,
        probability: Mapping[str, Float[np.ndarray, " n"]],
        *,
        others: int,
        learned: Bool[np.ndarray, " n"] | None = None,
    ) -> "NuisanceFit":
        """From the records and the fitted probability of each panel that can be missing.

        S = (R_j − p̂_j) · (1, causes of R_j), where the causes are recorded   [afape, eq. A.6]
        """
        scores = Scores().of(records, probability)
        return cls(np.ascontiguousarray(scores[:, (scores != 0).any(axis=0)]), others, learned)

    @classmethod
    def none(cls, rows: int) -> "NuisanceFit":
        """Where nothing was fitted."""
        return cls(np.empty((rows, 0)), 0)

    def counted(self, psi: Float[np.ndarray, "n o"]) -> Float[np.ndarray, "n o"]:
        """Influence terms with the fit counted in, see `FitRows.counted`."""
        n, p = self.scores.shape
        m = n if self.learned is None else int(self.learned.sum())
        rows = FitRows(n, p, self.others, m)
        if not rows.told:
            return psi
        if self.scores.size > LEAST_GRAM:
            explained = self.scores @ (self._inverse @ (self.scores.T @ psi))
        else:
            explained = self.scores @ np.linalg.lstsq(self.scores, psi, rcond=None)[0]
        return rows.counted(psi, explained, self.learned)

    @cached_property
    def _inverse(self) -> Float[np.ndarray, "p p"]:
        """Pseudo-inverse of SᵀS: made once for all that is regressed on the scores."""
        return _inverse(self.scores.T @ self.scores)


class ScoreBlocks:
    """The same over many blocks, whose scores are set aside.

    Args:
        kept: where the scores go.
        others: as of `NuisanceFit`.
    """

    def __init__(self, kept: Scratch, others: int) -> None:
        self._kept, self._others, self._scores = kept, others, Scores()
        self._gram = TreeSum()
        self._rows, self._learned, self._some = 0, 0, False
        self._read: tuple[int, np.ndarray] = (-1, np.empty((0, 0)))

    def add(
        self,
        records: Records | None,
        probability: Mapping[str, Float[np.ndarray, " n"]],
        rows: int,
        learned: Bool[np.ndarray, " n"] | None,
    ) -> None:
        """The scores of the next block; none where nothing was fitted."""
        found = np.empty((rows, 0)) if records is None else self._scores.of(records, probability)
        self._kept.put((self, "scores"), found)
        if learned is not None:
            self._kept.put((self, "learned"), learned)
            self._some = True
        self._gram.put(found.T @ found)
        self._rows += rows
        self._learned += rows if learned is None else int(learned.sum())

    @cached_property
    def about(self) -> FitRows:
        """How many rows and scores there are."""
        scores = int((np.diag(self._gram.total) > 0).sum())
        return FitRows(self._rows, scores, self._others, self._learned)

    @cached_property
    def inverse(self) -> Float[np.ndarray, "p p"]:
        """Pseudo-inverse of SᵀS."""
        return _inverse(self._gram.total)

    def block(self, number: int) -> Float[np.ndarray, "n p"]:
        """Scores of one block."""
        if self._read[0] != number:
            self._read = number, self._kept.block((self, "scores"), number)
        return self._read[1]

    def learned(self, number: int) -> Bool[np.ndarray, " n"] | None:
        """Rows of a block that the law was fitted to; None where it was to all."""
        return self._kept.block((self, "learned"), number) if self._some else None


class BlockFit:
    """What a fit does to influence terms of many blocks: each is gone through twice.

    What the scores explain is a regression on all rows: `regress` block by block, then `counted`.
    """

    def __init__(self, scores: ScoreBlocks) -> None:
        self._scores = scores
        self._crossed: dict[Hashable, TreeSum] = {}

    def regress(self, key: Hashable, number: int, psi: Float[np.ndarray, "n o"]) -> None:
        """Influence terms of a block, by the key of what they belong to."""
        if self._scores.about.told:
            self._crossed.setdefault(key, TreeSum()).put(self._scores.block(number).T @ psi)

    def counted(
        self, key: Hashable, number: int, psi: Float[np.ndarray, "n o"]
    ) -> Float[np.ndarray, "n o"]:
        """The same with the fit counted in, once all blocks were regressed."""
        if not self._scores.about.told:
            return psi
        weights = self._scores.inverse @ self._crossed[key].total
        explained = self._scores.block(number) @ weights
        return self._scores.about.counted(psi, explained, self._scores.learned(number))


def _inverse(gram: Float[np.ndarray, "p p"]) -> Float[np.ndarray, "p p"]:
    return np.linalg.pinv(gram, rcond=GRAM_ROUNDING, hermitian=True)


class Scores:
    """Scores of all regressions, block by block; causes are scaled as in the first block."""

    def __init__(self) -> None:
        self._scaling: dict[str, Scaling] = {}

    def of(
        self, records: Records, probability: Mapping[str, Float[np.ndarray, " n"]]
    ) -> Float[np.ndarray, "n p"]:
        """Of some records, all columns, also those that are zero."""
        found = [np.empty((len(records.observed), 0))]
        for factor in records.identification["factors"]:
            head, panel = records.factor_head(factor), factor["panel"]
            rows = head.usable & np.isfinite(probability[panel])
            if rows.any() and panel not in self._scaling:
                self._scaling[panel] = fit_scaling(head.inputs[rows])
            scaling = self._scaling.get(panel)
            found.append(_scores(head.inputs, head.target, rows, probability[panel], scaling))
        return np.hstack(found)


def _scores(
    inputs: Float[np.ndarray, "n c"],
    target: Bool[np.ndarray, " n"],
    rows: Bool[np.ndarray, " n"],
    probability: Float[np.ndarray, " n"],
    scaling: Scaling | None = None,
) -> Float[np.ndarray, "n w"]:
    """Of one regression, 0 in the rows that it does not serve."""
    scores = np.zeros((len(rows), inputs.shape[1] + 1))
    if rows.any():
        scaling = scaling or fit_scaling(inputs[rows])
        causes = scaling.standardise(inputs[rows])
        rest = (target[rows] - probability[rows])[:, None]
        scores[rows] = np.hstack([rest, rest * causes])
    return scores
