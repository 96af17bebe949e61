"""Acquisition episodes: the decisions a policy took for each unit, and the policy interface."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Int

DECISION_COLUMNS = ("row_id", "step", "action", "cost", "probability")


@runtime_checkable
class Policy(Protocol):
    """Chooses the next panel or stops; batched over units, without state of its own.

    A policy may carry `reads_values = False` to promise that it ignores feature values: it is then
    shown NaN only, and its probabilities are computed once for units in the same state. One that
    reads some columns only may name them by `reads_columns`, True where it reads one. (d,)
    One that knows it may tell by `terminal_probability(available, target)`, both (n, a), with which
    probability it ends with exactly the target, whatever the values: it serves wide tables. (n,)
    """

    def action_probabilities(
        self,
        values: Float[np.ndarray, "n d"],
        acquired: Bool[np.ndarray, "n a"],
        available: Bool[np.ndarray, "n a"],
    ) -> Float[np.ndarray, "n a+1"]:
        """Probability of acquiring each panel next; the last column is "stop".

        Args:
            values: encoded features; a policy must not read a column that is neither free nor
                revealed by `acquired`: such entries are NaN. (n, d)
            acquired: panels acquired so far. (n, a)
            available: panels that may be acquired at all (blocking sets others False). (n, a)

        Returns:
            Rows sum to 1; zero for panels acquired already or not available. (n, a + 1)
        """
        ...


@dataclass(frozen=True, eq=False)
class Episodes:
    """One finished episode per unit. Shapes: n units, a actions, m decisions (stops included).

    Attributes:
        acquired: AFA missingness indicator R̂: panels acquired in the end. (n, a)
        row: unit of each decision, as index into the n units. (m,)
        step: 0 for the first decision of a unit. (m,)
        action: panel index, or a for "stop". (m,)
        probability: with which the policy took that decision. (m,)
    """

    acquired: Bool[np.ndarray, "n a"]
    row: Int[np.ndarray, " m"]
    step: Int[np.ndarray, " m"]
    action: Int[np.ndarray, " m"]
    probability: Float[np.ndarray, " m"]
