"""Policies for tests only: any law on the subsets, a law that reads values, and broken ones."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np


def _normalised(weight, acquired, available):
    """Zero what may not be acquired; scale rows to sum 1; stop where nothing is left."""
    weight = np.array(weight, dtype=float)
    weight[:, :-1] *= available & ~acquired
    weight[weight.sum(axis=1) == 0, -1] = 1.0
    return weight / weight.sum(axis=1, keepdims=True)


@dataclass(frozen=True, eq=False)
class TabulatedPolicy:
    """Any value-blind policy: one row of weights per acquired set, as binary code. (2ᵃ, a + 1)"""

    weight: np.ndarray
    reads_values: ClassVar[bool] = False

    def action_probabilities(self, values, acquired, available):
        code = acquired @ (1 << np.arange(acquired.shape[1]))
        return _normalised(self.weight[code], acquired, available)


@dataclass(frozen=True)
class ThresholdPolicy:
    """Goes on with probability `high` if the visible values sum above a threshold, else `low`.

    The next panel is drawn in proportion to its index + 1. No attribute `reads_values`: values are
    shown, as to any policy that says nothing.
    """

    threshold: float
    low: float
    high: float

    def action_probabilities(self, values, acquired, available):
        a = acquired.shape[1]
        go_on = np.where(np.nansum(values, axis=1) > self.threshold, self.high, self.low)
        share = (np.arange(a) + 1.0) * (available & ~acquired)
        share = share / share.sum(axis=1, keepdims=True).clip(min=1e-300)
        weight = np.column_stack([go_on[:, None] * share, 1 - go_on])
        return _normalised(weight, acquired, available)


@dataclass(frozen=True)
class RecordingPolicy:
    """Acquires in index order and keeps a copy of all that it was shown."""

    reads_values: bool
    shown: list = field(default_factory=list)

    def action_probabilities(self, values, acquired, available):
        self.shown.append((values.copy(), acquired.copy(), available.copy()))
        first = np.column_stack([available & ~acquired, np.ones(len(acquired), dtype=bool)])
        return np.eye(first.shape[1])[first.argmax(axis=1)]


@dataclass(frozen=True, eq=False)
class ConstantPolicy:
    """Answers the same row for every state, whatever is allowed. (a + 1,)"""

    answer: np.ndarray

    def action_probabilities(self, values, acquired, available):
        return np.tile(self.answer, (len(acquired), 1))
