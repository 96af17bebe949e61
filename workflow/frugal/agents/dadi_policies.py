"""Trained DADI agents at work: greedy acquisition for all units and learners at once.

Rolls out K learners together, predicts from sets that anybody chose, and lends one learner as a
policy to whatever runs or judges policies. Must not know rewards or how the weights were learnt.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int
from torch import Tensor

from frugal.agents.dadi_acquisition import greedy_sets, logits_at_sets, values_at_sets
from frugal.agents.dadi_networks import (
    NetworkSizes,
    Weights,
    require_weights,
    stacked_weights,
)
from frugal.agents.dadi_settings import DadiSettings
from frugal.contracts.errors import ConfigError, DataError
from frugal.contracts.table import Table
from frugal.models.token_layout import FREE, lay_out_tokens
from frugal.models.token_memory import UnitTable

_DIVERGED = (
    "a stored DADI agent gives values that are not numbers: its weights are too large; train it "
    "again"
)
SETS_AT_A_TIME = 4096  # of all learners together, so that activations stay in cache


@dataclass(frozen=True, eq=False)
class DadiRollout:
    """Finished greedy acquisition. Shapes: k learners, n units, a panels.

    Attributes:
        acquired: panels acquired in the end. (k, n, a)
        order: panels in the order of acquisition, padded with −1. (k, n, a)
        q_values: value of each decision, "stop" included; NaN after it. (k, n, a + 1)
        label_probability: P(y = 1) by the classifier, at the final set. (k, n)
        adversary_probability: P(b = 1) by the adversary, at the final set. (k, n)
    """

    acquired: Bool[np.ndarray, "k n a"]
    order: Int[np.ndarray, "k n a"]
    q_values: Float32[np.ndarray, "k n a1"]
    label_probability: Float32[np.ndarray, "k n"]
    adversary_probability: Float32[np.ndarray, "k n"]


def panel_of_columns(table: Table) -> Int[np.ndarray, " d"]:
    """Action that reveals each column of a table, or FREE for a column known from the start. (d,)

    Raises:
        ConfigError: a column belongs to two panels; this agent has one panel per column.
    """
    holders = table.provides.sum(axis=0)
    twice = np.flatnonzero(~table.free_columns & (holders > 1))
    if twice.size:
        raise ConfigError(
            f"column {table.columns[twice[0]]!r} belongs to {holders[twice[0]]} panels; a DADI "
            "agent takes tables in which each column belongs to one"
        )
    return np.where(table.free_columns, FREE, table.provides.argmax(axis=0)).astype(np.int64)


class DadiPolicies:
    """K trained learners.

    Args:
        weights: of `fit_dadi`; learners on the leading axis.
        settings: that they were trained with.
        panel_of_column: action that reveals each column, or −1 if it is known from the start. (d,)

    Raises:
        DataError: the weights are not those of such learners; the sentence says where.
    """

    def __init__(
        self, weights: Mapping[str, np.ndarray], settings: DadiSettings, panel_of_column: np.ndarray
    ) -> None:
        torch.set_num_threads(1)  # the same sums whatever the number of cores
        self.panels = int(panel_of_column.max()) + 1
        sizes = NetworkSizes(len(panel_of_column), self.panels, settings)
        self.learners = require_weights(weights, sizes, "DADI agent")
        self._weights: Weights = dict(weights)
        self._named = stacked_weights(weights)
        self._settings, self._steps = settings, settings.processing_steps
        self._panel = panel_of_column

    def roll_out(
        self, values: Float32[np.ndarray, "n d"], *, label: Int[np.ndarray, " n"] | None
    ) -> DadiRollout:
        """Every learner acquires for every unit by its largest Q, until it stops.

        Args:
            values: encoded features as in training; NaN where the table has none. (n, d)
            label: y, which only the adversary of equalised odds reads; else it may be None. (n,)

        Returns:
            Sets, orders, values of decisions and predictions of all learners.

        Raises:
            DataError: the label is needed and not given.
        """
        units, told = self._table(values), self._told(label)
        parts = []
        for rows in self._parts(len(values)):
            row = rows.expand(self.learners, -1)
            known, decisions, q = greedy_sets(
                self._named, units, row, panels=self.panels, processing_steps=self._steps
            )
            panel = torch.where(decisions < self.panels, decisions, -1)[..., :-1]
            if bool((~torch.isfinite(q) & (decisions >= 0)).any()):
                raise DataError(_DIVERGED)
            parts.append((known[..., :-1] > 0, panel, q, *self._predict(units, row, known, told)))
        return DadiRollout(*(torch.cat(part, dim=1).numpy() for part in zip(*parts, strict=True)))

    def predict_from_sets(
        self,
        values: Float32[np.ndarray, "n d"],
        acquired: Bool[np.ndarray, "*k n a"],
        *,
        label: Int[np.ndarray, " n"] | None,
    ) -> tuple[Float32[np.ndarray, "k n"], Float32[np.ndarray, "k n"]]:
        """P(y = 1) by the classifiers and P(b = 1) by the adversaries, at given sets.

        Args:
            values: encoded features as in training. (n, d)
            acquired: panels of each unit's set, the same for all learners or one for each.
                (n, a) or (k, n, a)
            label: y, which only the adversary of equalised odds reads; else it may be None. (n,)

        Returns:
            Probabilities of all learners.

        Raises:
            DataError: the label is needed and not given.
        """
        units, told = self._table(values), self._told(label)
        sets = _known(acquired).expand(self.learners, -1, -1)
        parts = [
            self._predict(units, rows.expand(self.learners, -1), sets[:, rows], told)
            for rows in self._parts(len(values))
        ]
        of_label, of_sensitive = (torch.cat(part, dim=1) for part in zip(*parts, strict=True))
        return of_label.numpy(), of_sensitive.numpy()

    def state_values(
        self, values: Float32[np.ndarray, "n d"], acquired: Bool[np.ndarray, "n a"]
    ) -> Float32[np.ndarray, "k n b"]:
        """Q of every decision of every learner in the given states; "stop" last. (k, n, a + 1)"""
        units, sets = self._table(values), _known(acquired).expand(self.learners, -1, -1)
        parts = [
            values_at_sets(
                self._named, units, rows.expand(self.learners, -1), sets[:, rows],
                processing_steps=self._steps,
            )
            for rows in self._parts(len(values))
        ]  # fmt: skip
        return torch.cat(parts, dim=1).numpy()

    def policy(self, learner: int, *, exploration: float) -> "DadiPolicy":
        """One learner as a policy that any rollout or estimator can ask.

        Args:
            learner: 0 … K − 1.
            exploration: probability of a decision drawn evenly from all that are allowed.
        """
        one = {name: array[learner : learner + 1] for name, array in self._weights.items()}
        return DadiPolicy(DadiPolicies(one, self._settings, self._panel), exploration)

    def _table(self, values: np.ndarray) -> UnitTable:
        return UnitTable(lay_out_tokens(values, self._panel), self.panels)

    def _parts(self, n: int) -> tuple[Tensor, ...]:
        return torch.arange(n).split(max(1, SETS_AT_A_TIME // self.learners))

    def _told(self, label: np.ndarray | None) -> Tensor | None:
        if not self._settings.adversary_reads_label:
            return None
        if label is None:
            raise DataError("the adversary of equalised odds reads the label; it is not given")
        return torch.from_numpy(label.astype(np.float32))

    def _predict(
        self, units: UnitTable, row: Tensor, known: Tensor, told: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Probabilities of label and sensitive attribute. (k, n) each"""
        label = None if told is None else told[row]
        logits = logits_at_sets(self._named, units, row, known, label, processing_steps=self._steps)
        if bool(logits[0].isnan().any() | logits[1].isnan().any()):
            raise DataError(_DIVERGED)
        return torch.sigmoid(logits[0]), torch.sigmoid(logits[1])


def _known(acquired: Bool[np.ndarray, "*k n a"]) -> Tensor:
    """The sets as numbers, with the column that stands for free columns. (…, n, a + 1)"""
    sets = torch.from_numpy(acquired.astype(np.float32))
    return torch.nn.functional.pad(sets, (0, 1), value=1.0)


@dataclass(frozen=True, eq=False)
class DadiPolicy:
    """One DADI learner as `frugal.contracts.Policy`: its largest Q, or now and then any decision.

    Attributes:
        policies: with one learner.
        exploration: probability of a decision drawn evenly from all that are allowed.
    """

    policies: DadiPolicies
    exploration: float

    def action_probabilities(
        self,
        values: Float[np.ndarray, "n d"],
        acquired: Bool[np.ndarray, "n a"],
        available: Bool[np.ndarray, "n a"],
    ) -> Float[np.ndarray, "n a+1"]:
        """Probability of each panel next, and of "stop" in the last column. (n, a + 1)"""
        allowed = np.hstack([available & ~acquired, np.ones((len(acquired), 1), dtype=bool)])
        value = np.where(
            allowed, self.policies.state_values(values.astype(np.float32), acquired)[0], -np.inf
        )
        result = self.exploration * allowed / allowed.sum(axis=1, keepdims=True)
        result[np.arange(len(result)), value.argmax(axis=1)] += 1 - self.exploration
        return result
