"""What fitting the probabilities of gaps does to the error of an estimate that divides by them.

An estimate that is right whatever the true law is has, to first order, the influence

    ψᵢ − E[ψ Sᵀ] E[S Sᵀ]⁻¹ Sᵢ

with S the scores of the law's parameters, if the law was fitted to the same rows by maximum
likelihood: what the scores explain of ψ drops out, and weights by fitted probabilities err less
than weights by the true ones (Robins, Rotnitzky & Zhao, J. Am. Stat. Assoc. 89, 1994; Tsiatis,
Semiparametric Theory and Missing Data, 2006, sec. 9.1). If it was fitted to m other rows, their
error is added. Must not know which estimator or policy an estimate belongs to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.scaling import fit_scaling
from frugal.judge.records import Records

LEAST_GRAM = 1 << 20  # entries of scores from which SᵀS is inverted once, in place of many fits
GRAM_ROUNDING = 1e-10  # of its largest eigenvalue: smaller ones are zero
LARGEST_SHARE = 0.1  # scores per row, above which too little is left to tell what they explain


@dataclass(frozen=True, eq=False)
class NuisanceFit:
    """The scores of the fitted law of gaps, and the rows that it was fitted to.

    Attributes:
        scores: of its parameters, a logistic law taken for the direction in which any fit errs; 0
            where a regression has no row. (n, p)
        others: m, rows apart that it was fitted to; 0 where these are the rows that it was
            cross-fitted on.
    """

    scores: Float[np.ndarray, "n p"]
    others: int

    @classmethod
    def of(
        cls,
        records: Records,
        probability: Mapping[str, Float[np.ndarray, " n"]],
        *,
        others: int,
    ) -> "NuisanceFit":
        """From the records and the fitted probability of each panel that can be missing.

        S = (R_j − p̂_j) · (1, causes of R_j), where the causes are recorded   [afape, eq. A.6]
        """
        found = [np.empty((len(records.observed), 0))]
        for factor in records.identification["factors"]:
            head = records.factor_head(factor)
            found.append(
                _scores(head.inputs, head.target, head.usable, probability[factor["panel"]])
            )
        return cls(np.hstack(found), others)

    @classmethod
    def none(cls, rows: int) -> "NuisanceFit":
        """Where nothing was fitted."""
        return cls(np.empty((rows, 0)), 0)

    def counted(self, psi: Float[np.ndarray, "n o"]) -> Float[np.ndarray, "n o"]:
        """Influence terms with the fit counted in: their squares sum to n² times the variance.

            ψ = r + q, q what the scores explain:   r on the same rows,  r + q √(1 + n/m) on others

        r is scaled by √(n/(n − p)) on the same rows, for the p numbers that explain by chance. With
        more scores than a tenth of the rows ψ is left as it is: the probabilities count as known.
        """
        n, p = self.scores.shape
        if p == 0 or p > LARGEST_SHARE * n:
            return psi
        if self.scores.size > LEAST_GRAM:
            explained = self.scores @ (self._inverse @ (self.scores.T @ psi))
        else:
            explained = self.scores @ np.linalg.lstsq(self.scores, psi, rcond=None)[0]
        if self.others:
            return psi + (np.sqrt(1 + n / self.others) - 1) * explained
        return (psi - explained) * np.sqrt(n / (n - p))

    @cached_property
    def _inverse(self) -> Float[np.ndarray, "p p"]:
        """Pseudo-inverse of SᵀS: made once for all that is regressed on the scores."""
        return np.linalg.pinv(self.scores.T @ self.scores, rcond=GRAM_ROUNDING, hermitian=True)


def _scores(
    inputs: Float[np.ndarray, "n c"],
    target: Bool[np.ndarray, " n"],
    usable: Bool[np.ndarray, " n"],
    probability: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "n w"]:
    """Of one regression; columns that never vary are left out."""
    rows = usable & np.isfinite(probability)
    scores = np.zeros((len(rows), inputs.shape[1] + 1))
    if rows.any():
        causes = fit_scaling(inputs[rows]).standardise(inputs[rows])
        rest = (target[rows] - probability[rows])[:, None]
        scores[rows] = np.hstack([rest, rest * causes])
    return scores[:, (scores != 0).any(axis=0)]
