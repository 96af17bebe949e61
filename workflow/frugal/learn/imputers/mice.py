"""The imputer `mice`: chained Bayesian ridge regressions, from scikit-learn."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from frugal.core.errors import ConfigError
from frugal.core.scaling import Scaling
from frugal.learn.imputer_kinds import ImputerKind, ToFit


@dataclass(frozen=True, eq=False)
class MiceImputer:
    """Chained Bayesian ridge regressions (scikit-learn's IterativeImputer), conditional means.

    Attributes:
        scaling: of the training rows; the chain runs on standardised columns.
        chain: the fitted IterativeImputer.
    """

    scaling: Scaling
    chain: Any

    def impute(self, values: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m d"]:
        """See `Imputer`."""
        filled = self.scaling.restore(self.chain.transform(self.scaling.standardise(values)))
        return np.where(np.isnan(values), filled, values)


def fit(to: ToFit, *, rounds: int) -> MiceImputer:
    """All rounds are run (tolerance 0): complete training rows would end them after the first."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401  (opens the next line)
    from sklearn.impute import IterativeImputer
    from sklearn.linear_model import BayesianRidge

    if rounds < 1:
        raise ConfigError(f"MICE got {rounds} rounds; at least 1 is needed")
    chain = IterativeImputer(
        BayesianRidge(), max_iter=rounds, tol=0.0, random_state=int(to.rng.integers(2**31))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it was asked not to stop early
        chain.fit(to.scaling.standardise(to.train))
    return MiceImputer(to.scaling, chain)


MICE = ImputerKind(
    name="mice",
    fit=fit,
    settings={"rounds": ("Count", "", 10)},
    doc="chained Bayesian ridge regressions",
)
