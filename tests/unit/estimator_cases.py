"""Random rows for the estimators' property tests; not a test module."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Rows:
    """Arrays as the estimators take them; nuisances need not be right for algebra to hold."""

    outcome: np.ndarray
    complete: np.ndarray
    s_observed: np.ndarray
    propensity: np.ndarray
    afa_propensity: np.ndarray
    outcome_mean: np.ndarray
    s_propensity: np.ndarray

    def take(self, rows: np.ndarray) -> "Rows":
        return Rows(**{name: array[rows] for name, array in vars(self).items()})


def draw_rows(n: int, outcomes: int, seed: int) -> Rows:
    rng = np.random.default_rng(seed)
    s_observed = rng.random(n) < 0.7
    complete = s_observed & (rng.random(n) < 0.5)
    complete[0] = s_observed[0] = True  # at least one row has weight
    return Rows(
        outcome=rng.normal(3, 2, (n, outcomes)),
        complete=complete,
        s_observed=s_observed,
        propensity=np.where(s_observed, rng.uniform(0.05, 1, n), np.nan),
        afa_propensity=np.where(s_observed, rng.uniform(0.05, 1, n), np.nan),
        outcome_mean=np.where(s_observed[:, None], rng.normal(3, 1, (n, outcomes)), np.nan),
        s_propensity=np.where(s_observed, rng.uniform(0.2, 1, n), np.nan),
    )


rows_strategy = st.builds(
    draw_rows, n=st.integers(2, 60), outcomes=st.integers(1, 4), seed=st.integers(0, 2**32 - 1)
)
