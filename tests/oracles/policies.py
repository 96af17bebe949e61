"""Policies for tests only: any law on the subsets, a law that reads values, and broken ones."""

from dataclasses import dataclass, field

import numpy as np
from frugal.core.episodes import Traits


def law_of_one(policy, values, acquired, available):
    """What a policy of one member says of m states. (m, a + 1)"""
    return policy.action_probabilities(values[None], acquired[None], available[None])[0]


def _normalised(weight, acquired, available):
    """Zero what may not be acquired; scale rows to sum 1; stop where nothing is left."""
    weight = np.array(weight, dtype=float)
    weight[..., :-1] *= available & ~acquired
    weight[weight.sum(axis=-1) == 0, -1] = 1.0
    return weight / weight.sum(axis=-1, keepdims=True)


class _One:
    """A single policy without a verdict."""

    @property
    def traits(self):
        return Traits()

    @property
    def members(self):
        return 1

    def predict(self, values, acquired):
        return None


@dataclass(frozen=True, eq=False)
class TabulatedPolicy(_One):
    """Any value-blind policy: one row of weights per acquired set, as binary code. (2ᵃ, a + 1)"""

    weight: np.ndarray

    @property
    def traits(self):
        return Traits(reads_values=False)

    def action_probabilities(self, values, acquired, available):
        code = acquired @ (1 << np.arange(acquired.shape[-1]))
        return _normalised(self.weight[code], acquired, available)


@dataclass(frozen=True)
class ThresholdPolicy(_One):
    """Goes on with probability `high` if the visible values sum above a threshold, else `low`.

    The next panel is drawn in proportion to its index + 1. Values are shown,
    as to any policy that promises nothing.
    """

    threshold: float
    low: float
    high: float

    def action_probabilities(self, values, acquired, available):
        a = acquired.shape[-1]
        go_on = np.where(np.nansum(values, axis=-1) > self.threshold, self.high, self.low)
        share = (np.arange(a) + 1.0) * (available & ~acquired)
        share = share / share.sum(axis=-1, keepdims=True).clip(min=1e-300)
        weight = np.concatenate([go_on[..., None] * share, 1 - go_on[..., None]], axis=-1)
        return _normalised(weight, acquired, available)


@dataclass(frozen=True)
class RecordingPolicy(_One):
    """Acquires in index order and keeps a copy of all that it was shown."""

    reads_values: bool
    shown: list = field(default_factory=list)

    @property
    def traits(self):
        return Traits(reads_values=self.reads_values)

    def action_probabilities(self, values, acquired, available):
        self.shown.append((values[0].copy(), acquired[0].copy(), available[0].copy()))
        stop = np.ones((*acquired.shape[:-1], 1), dtype=bool)
        first = np.concatenate([available & ~acquired, stop], axis=-1)
        return np.eye(first.shape[-1])[first.argmax(axis=-1)]


@dataclass(frozen=True, eq=False)
class ConstantPolicy(_One):
    """Answers the same row for every state, whatever is allowed. (a + 1,)"""

    answer: np.ndarray

    def action_probabilities(self, values, acquired, available):
        return np.tile(self.answer, (*acquired.shape[:-1], 1))


@dataclass(frozen=True, eq=False)
class SoftmaxPolicies:
    """K members that read masked values: softmax over open panels and two verdicts.

    Attributes:
        weight: scores of [values with 0 for NaN, acquired]. (K, d + a, a + 2)
        greedy: takes the likeliest action, a verdict among them as "stop".
    """

    weight: np.ndarray
    greedy: bool

    @property
    def traits(self):
        return Traits()

    @property
    def members(self):
        return len(self.weight)

    def shares(self, values, acquired, open_panels):
        """Of panels and verdicts. (K, m, a + 2)"""
        seen = np.concatenate([np.nan_to_num(values), acquired], axis=-1)
        mask = np.concatenate([open_panels, np.ones((*acquired.shape[:-1], 2), bool)], axis=-1)
        score = np.where(mask, seen @ self.weight, -np.inf)
        share = np.exp(score - score.max(axis=-1, keepdims=True))
        return share / share.sum(axis=-1, keepdims=True)

    def action_probabilities(self, values, acquired, available):
        a = acquired.shape[-1]
        share = self.shares(values, acquired, available & ~acquired)
        if self.greedy:
            return np.eye(a + 1)[np.minimum(share.argmax(axis=-1), a)]
        return np.concatenate([share[..., :a], share[..., a:].sum(axis=-1, keepdims=True)], axis=-1)

    def predict(self, values, acquired):
        return self.shares(values, acquired, np.zeros_like(acquired))[..., acquired.shape[-1] :]
