"""A number as the label: the values that a policy may predict, and the cost of each one for a case.

A class is the range of numbers to which one value is nearest, so predicting it is best.
Policies decide by the mean costs of classes; a case costs exactly the loss of its own number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from jaxtyping import Float

Loss = Literal["absolute", "squared"]
ROUNDS = 100  # of Lloyd's algorithm
MOST_VALUES = 20  # to predict


def cuts_between(values: Sequence[float]) -> list[float]:
    """Numbers halfway between ascending values: from each on, the next value is nearest."""
    return [float((low + high) / 2) for low, high in pairwise(values)]


def best_values(number: Float[np.ndarray, " n"], k: int, loss: str) -> Float[np.ndarray, " j"]:
    """At most k values of small mean loss: medians, or means, of the ranges nearest to each.

    Lloyd's algorithm from quantiles  [Lloyd, IEEE Trans. Inf. Theory 28, 1982]; a local optimum.
    """
    centre = np.median if loss == "absolute" else np.mean
    values = np.unique(np.quantile(number, (np.arange(k) + 0.5) / k))
    for _ in range(ROUNDS):
        nearest = np.searchsorted(cuts_between(values.tolist()), number, side="right")
        moved = np.unique([float(centre(number[nearest == j])) for j in np.unique(nearest)])
        if np.array_equal(moved, values):
            break
        values = moved
    return values


@dataclass(frozen=True)
class NumericLabel:
    """Values to predict and the price of the loss. k values.

    Attributes:
        values: ascending, in the label's unit. (k,)
        loss: of the difference between a case's number and the value predicted.
        price: of one unit of loss, in the data set's unit of cost.
        unit: of the label; "1" for none.
        low, high: least and largest number of the table.
    """

    values: tuple[float, ...]
    loss: Loss
    price: float
    unit: str
    low: float = -np.inf
    high: float = np.inf

    def costs(self, number: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n k"]:
        """Cost of predicting each value for cases with these numbers. (n, k)"""
        off = np.abs(number[:, None] - np.array(self.values))
        return self.price * (off if self.loss == "absolute" else off**2)

    def mean_costs(self, number: Float[np.ndarray, " n"]) -> Float[np.ndarray, "k k"]:
        """Mean cost of predicting a value (column) in a class (row) over cases. (k, k)

        Of a class without a case, that of its value.
        """
        nearest = np.searchsorted(cuts_between(self.values), number, side="right")
        each, cost = self.costs(number), self.between
        for j in np.unique(nearest):
            cost[j] = each[nearest == j].mean(axis=0)
        return cost

    @property
    def between(self) -> Float[np.ndarray, "k k"]:
        """Cost of predicting a value (column) where another (row) is the number. (k, k)"""
        return self.costs(np.array(self.values))

    @property
    def largest_costs(self) -> Float[np.ndarray, "k k"]:
        """Largest cost of predicting a value (column) for a number of a class (row). (k, k)

        A loss is convex in the number, so it is largest at an end of the range.
        """
        cuts = cuts_between(self.values)
        ends = np.clip([[self.low, *cuts], [*cuts, self.high]], self.low, self.high)
        return np.maximum(*(self.costs(end) for end in ends))
