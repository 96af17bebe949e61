"""Costs of policies for other cases than those that were judged, by their always-known columns.

    θ = mean over the other cases of m(x) + Σᵢ wᵢ (φᵢ − m(xᵢ)) / Σᵢ wᵢ

φᵢ is the term of a judged row, m a regression of it on x, and wᵢ the odds that a case with xᵢ is
one of the others  [Dahabreh and others, Biometrics 75, 2019]. Right where the odds are, or m. It
assumes that x carries all that differs between the two groups of cases and matters for costs.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from frugal.core.errors import DataError
from frugal.core.scaling import fit_scaling
from frugal.judge.intervals import effective_sample_size, largest_weight_share, mean_error
from frugal.learn.weighted_logistic import logistic_mode

RIDGE = 1.0  # prior precision of the slopes of both regressions, of standardised inputs
FREE = 1e-6  # of their intercepts
DONE = 1e-12  # squared Newton decrement
LARGEST_Z = 6.0  # standard deviations at which inputs are cut off


@dataclass(frozen=True, eq=False)
class Transported:
    """Means for the other cases. c quantities.

    Attributes:
        mean: of each quantity. (c,)
        std_error: of each. (c,)
        effective_rows: of equal weight that would vary as much as the weighted rows.
        largest_share: of all weight that one row carries.
    """

    mean: Float[np.ndarray, " c"]
    std_error: Float[np.ndarray, " c"]
    effective_rows: float
    largest_share: float


def transport(
    term: Float[np.ndarray, "n c"],
    covariates: Float[np.ndarray, "n w"],
    other: Float[np.ndarray, "m w"],
    fold: Int[np.ndarray, " n"],
    cluster: Int[np.ndarray, " n"] | None = None,
) -> Transported:
    """Mean of terms for other cases, with errors that count both samples and the fitted weights.

    Odds and regressions are fitted on the other folds; the others' cases are divided in the same
    way.

    Args:
        term: φ of each judged row, of c quantities. (n, c)
        covariates: always-known columns of the judged rows. (n, w)
        other: the same columns of the other cases. (m, w)
        fold: of each judged row. (n,)
        cluster: rows of one number count as one. (n,)

    Raises:
        DataError: there are fewer than two other cases, or a value is missing.
    """
    n, m = len(term), len(other)
    if m < 2 or not np.isfinite(other).all():
        raise DataError(
            f"transport needs at least 2 other cases, with a value in every column that is always "
            f"known; there are {m}, {int((~np.isfinite(other)).any(axis=1).sum())} of them with a "
            "missing value"
        )
    design = _inputs(np.vstack([covariates, other]), covariates)
    judged = design[:n]
    folds = np.unique(fold)
    part = np.append(fold, folds[np.arange(m) % len(folds)])
    target = np.append(np.zeros(n), np.ones(m))
    precision = np.append(FREE, np.full(design.shape[1] - 1, RIDGE))
    odds, expected = np.zeros(n), np.zeros((n + m, term.shape[1]))
    for number in folds:
        learns = part != number
        fitted, _ = logistic_mode(
            design[learns],
            target[learns],
            np.ones(int(learns.sum())),
            precision=precision,
            start=np.zeros(design.shape[1]),
            decrement=DONE,
        )
        odds[fold == number] = np.exp(judged[fold == number] @ fitted)
        inputs = judged[fold != number]
        system = inputs.T @ inputs + np.diag(precision)
        slopes = np.linalg.solve(system, inputs.T @ term[fold != number])
        expected[part == number] = design[part == number] @ slopes
    weight = odds / odds.mean()
    residual = term - expected[:n]
    shift = (weight[:, None] * residual).mean(axis=0)
    of_records = mean_error(weight[:, None] * (residual - shift), cluster)
    of_others = expected[n:].std(axis=0, ddof=1) / np.sqrt(m)
    return Transported(
        expected[n:].mean(axis=0) + shift,
        np.hypot(of_records, of_others),
        effective_sample_size(weight),
        largest_weight_share(weight),
    )


def _inputs(
    columns: Float[np.ndarray, "r w"], covariates: Float[np.ndarray, "n w"]
) -> Float[np.ndarray, "r p"]:
    """Intercept, standardised columns, and their squares where they have more than two values."""
    scaled = fit_scaling(covariates, constant=np.inf).standardise(columns)
    scaled = np.clip(scaled, -LARGEST_Z, LARGEST_Z)
    several = np.array([len(np.unique(column)) > 2 for column in covariates.T], dtype=bool)
    return np.column_stack([np.ones(len(columns)), scaled, scaled[:, several] ** 2])
