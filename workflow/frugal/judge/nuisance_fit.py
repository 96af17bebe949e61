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

from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.blocks import TreeSum
from frugal.core.rows import Scratch
from frugal.core.scaling import Scaling, fit_scaling
from frugal.core.table import Table
from frugal.judge.case import Case
from frugal.judge.records import Records

GRAM_ROUNDING = 1e-10  # of the largest eigenvalue of SᵀS: smaller ones are zero
LARGEST_SHARE = 0.1  # scores per row, above which too little is left to tell what they explain


class NuisanceFit:
    """The scores of the fitted law of gaps on the rows that are judged, block by block.

    A logistic law is taken for the direction in which any fit errs.

    Args:
        scratch: where the scores go.
        others: m, rows apart that the law was fitted to; 0 where these are the rows that it was
            cross-fitted on.
    """

    def __init__(self, scratch: Scratch, others: int) -> None:
        self._scratch, self._others = scratch, others
        self._scaling: dict[str, Scaling] = {}
        self._gram = TreeSum()
        self._rows, self._learned, self._some = 0, 0, False

    def add(self, data: Table, case: Case, learned: Bool[np.ndarray, " n"] | None = None) -> None:
        """The scores of the next block; causes are scaled as in the first one with rows.

            S = (R_j − p̂_j) · (1, causes of R_j), where the causes are recorded   [afape, eq. A.6]

        Args:
            data: the rows.
            case: any policy's on them; the law of the gaps does not depend on it.
            learned: True for the rows that the law was fitted to, if not to all of these. (n,)
        """
        found = [np.empty((len(data), 0))]
        known, panels = case.identification, [panel.name for panel in data.actions]
        records = Records(data, case.observed, known, {}, {})
        for factor in known["factors"] if known["propensity_identified"] else ():
            head, panel = records.factor_head(factor), factor["panel"]
            probability = case.factors[:, panels.index(panel)]
            rows = head.usable & np.isfinite(probability)
            scores = np.zeros((len(data), head.inputs.shape[1] + 1))
            if rows.any():
                scaling = self._scaling.setdefault(panel, fit_scaling(head.inputs[rows]))
                rest = (head.target[rows] - probability[rows])[:, None]
                scores[rows] = np.hstack([rest, rest * scaling.standardise(head.inputs[rows])])
            found.append(scores)
        self.put(np.hstack(found), learned)

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

            ψ = r + q, q what the scores explain:   r on the same rows,  r + q √(1 + n/m) on others

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
