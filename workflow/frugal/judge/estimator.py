"""What an estimator is: its names, what it needs of a case, and its formula, in one declaration."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Literal

import numpy as np

from frugal.judge.case import Case
from frugal.judge.weighting import Terms


class Need(Enum):
    """What an estimator reads of a case, by the name that it has there.

    What is lacking is looked for in this order, and the first that lacks is the reason told.
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
        needs: what it reads beyond the outcomes on the records; why it cannot be computed for a
            case, and what its row warns of, follow from these.
        terms: its formula on a case in which nothing lacks.
        doc: one sentence on what it does.
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
