"""Importance weights and the two ratios made of them, shared by all weighted estimators [afape].

Holds the arithmetic and its refusals only. It must not know which law a probability belongs to:
that is what the modules beside it say.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.errors import DataError


@dataclass(frozen=True, eq=False)
class Terms:
    """Per-row terms of the estimate Ĵ = Σᵢ numeratorᵢ / Σᵢ denominatorᵢ, for o outcomes at once.

    Every estimator of the project is such a ratio: plain means have denominator 1, self-normalised
    ones the weight itself. Standard errors, intervals, resampling and effective sample size all
    follow from these rows alone.

    Attributes:
        numerator: weight × outcome (or pseudo-outcome), per row. (n, o)
        denominator: per row. (n,)
        weight: importance weight of each row, zero where the row is not used. (n,)
    """

    numerator: Float[np.ndarray, "n o"]
    denominator: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]


def importance_weight(
    target: Float[np.ndarray, " n"],
    logging: Float[np.ndarray, " n"],
    used: Bool[np.ndarray, " n"],
    *,
    target_name: str,
    logging_name: str,
) -> Float[np.ndarray, " n"]:
    """Ratio of two probabilities on the rows that are used, zero elsewhere.

        wᵢ = 1{usedᵢ} · targetᵢ / loggingᵢ

    Args:
        target: probability in the numerator; not read where `used` is False. (n,)
        logging: probability in the denominator; not read where `used` is False. (n,)
        used: rows of which both probabilities must be known. (n,)
        target_name: how an error sentence calls `target`.
        logging_name: how an error sentence calls `logging`.

    Raises:
        DataError: on a used row, `target` is outside [0, 1] or `logging` outside (0, 1], or one is
            not a number.
    """
    require(used & ~((target >= 0) & (target <= 1)), target, target_name, "[0, 1]")
    require(used & ~((logging > 0) & (logging <= 1)), logging, logging_name, "(0, 1]")
    weight = np.zeros(len(used))
    np.divide(target, logging, out=weight, where=used)
    return weight


def weighted_terms(
    outcome: Float[np.ndarray, "n o"], weight: Float[np.ndarray, " n"], *, normalised: bool
) -> Terms:
    """Terms of the weighted mean, divided by the number of rows or by the sum of weights.

        Ĵ = Σᵢ wᵢ Cᵢ / n   (Horvitz–Thompson)     or     Ĵ = Σᵢ wᵢ Cᵢ / Σᵢ wᵢ   (Hájek)

    Args:
        outcome: any unit; not read where the weight is zero, where it may be NaN. (n, o)
        weight: zero where the row is not used. (n,)
        normalised: divide by the sum of weights.

    Raises:
        DataError: an outcome is not finite on a row that carries weight.
    """
    numerator = masked_product(weight, outcome, "outcome")
    denominator = weight if normalised else np.ones(len(weight))
    return Terms(numerator, denominator, weight)


def masked_product(
    weight: Float[np.ndarray, " n"], outcome: Float[np.ndarray, "n o"], name: str
) -> Float[np.ndarray, "n o"]:
    """Weight × outcome, with zero where the weight is zero, whatever the outcome holds. (n, o)

    Raises:
        DataError: an outcome is not finite on a row that carries weight.
    """
    used = weight != 0
    bad = used & ~np.isfinite(outcome).all(axis=1)
    if bad.any():
        raise DataError(
            f"{name} is not finite in row {int(bad.argmax())} and {int(bad.sum()) - 1} other rows "
            f"that carry weight; every outcome of a row that is used must be a finite number"
        )
    product = np.zeros(outcome.shape)
    np.multiply(weight[:, None], outcome, out=product, where=used[:, None])
    return product


def require(
    bad: Bool[np.ndarray, " n"], value: Float[np.ndarray, " n"], name: str, allowed: str
) -> None:
    """Refuse the first row that is marked bad.

    Raises:
        DataError: any row is bad; the sentence names the quantity, row, value and allowed range.
    """
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"{name} is {value[row]} in row {row} and out of range in {int(bad.sum()) - 1} other "
            f"rows that are used; it must lie in {allowed}"
        )
