"""Declaration of an estimator: its names, its needs and its formula."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from frugal.core.errors import DataError
from frugal.judge.case import Case


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
    """Weight × outcome, with zero where the weight is zero, for any outcome, even NaN. (n, o)

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


class Need(Enum):
    """Needs of an estimator, by attribute name of a case.

    Needs are checked in this order, and the first that is not met is the reported reason.
    """

    FULL_TABLE = "full"
    IMPUTED_BY_CHAINED_TREES = "chained_trees"
    IMPUTED_BY_MISSFOREST = "missforest"
    IMPUTED = "multiple"
    IMPUTED_WITH_LABEL = "multiple_label"
    COMPLETE_CASES = "complete"  # the rows that carry weight, else those with R_s = 1
    TRUE_PROPENSITY = "complete_probability"
    PROPENSITY = "propensity"
    EVERY_ROW = "every_row"  # all rows carry weight: s is empty
    AFA_PROPENSITY = "afa_propensity"  # given X_adj and R̂ alone, as in the paper
    AFA_PROPENSITY_BY_POLICY = "afa_propensity_policy"
    TRUE_AFA_PROPENSITY = "true_afa_propensity"
    S_PROPENSITY = "s_propensity"
    OUTCOME_MEAN = "outcome_mean"
    PATTERN_PROPENSITY = "pattern_propensity"
    SET_PROBABILITY = "set_probability"
    SEQUENCE_PROBABILITY = "sequence_probability"


_IMPUTED = {
    Need.IMPUTED_BY_CHAINED_TREES,
    Need.IMPUTED_BY_MISSFOREST,
    Need.IMPUTED,
    Need.IMPUTED_WITH_LABEL,
}
_FITTED = {Need.PROPENSITY, Need.PATTERN_PROPENSITY}
_WEIGHTS = {Need.PROPENSITY, Need.TRUE_PROPENSITY, Need.PATTERN_PROPENSITY}


@dataclass(frozen=True, eq=False)
class Estimator:
    """A declared estimator; a new one is a new file in `judge.estimators`.

    Attributes:
        name: in tables and in the config.
        place: tables and figures list estimators by this number; those of one place by name.
        label: in figures and on pages.
        look: colour, by its word in `draw.style`, and marker of matplotlib.
        needs: its inputs beyond the outcomes on the records; why it cannot be computed for a
            case, and the warnings of its row, follow from these.
        terms: its formula on a case in which nothing lacks.
        doc: one sentence on its method.
        equation: tag of the formula that `terms` calls.
        read: verdicts read the estimator with the lowest number of those that can be computed on
            enough rows; None for those that are shown but never read.
        needed: the panels that a record must hold for its row to carry weight (n, a), and the
            fitted probability that it lets the row do so (n,), by which hidden causes are bounded;
            None for those that are never read.
    """

    name: str
    place: int
    label: str
    look: tuple[str, str | tuple[int, Literal[0, 1, 2], int]]
    needs: tuple[Need, ...]
    terms: Callable[[Case], Terms]
    doc: str
    equation: str
    read: int | None = None
    needed: Callable[[Case], tuple[np.ndarray, np.ndarray]] | None = None

    @property
    def propensity(self) -> Need | None:
        """The probability by which its weights are divided; None if it has no weights."""
        return next((need for need in self.needs if need in _WEIGHTS), None)

    @property
    def fitted(self) -> bool:
        """Whether its weights divide by a probability that was fitted."""
        return self.propensity in _FITTED

    @property
    def imputation(self) -> str | None:
        """The method whose imputed copies it averages; None if it reads no copy."""
        return next((need.value for need in self.needs if need in _IMPUTED), None)
