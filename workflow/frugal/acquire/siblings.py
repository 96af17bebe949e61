"""Policies that learned on different rows of one table, and act as one.

An answer judges each on the rows that it did not learn from, and hands out all of them. What they
decide together differs less from what was judged than one policy that learned on all rows, and less
from one seed to the next. Knows no kind.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from frugal.acquire.onnx_graph import GraphOutputs, State, mean
from frugal.acquire.reading import panel_or_stop, tilted_belief
from frugal.core.episodes import (
    Belief,
    Law,
    Panels,
    Policy,
    ReadingPolicy,
    RowPanels,
    RowValues,
    Traits,
    Values,
)
from frugal.core.errors import DataError
from frugal.core.layout import Bundle, Layout
from frugal.core.stored import StoredArrays, under

SIBLINGS = "siblings"  # key of a bundle's header: how many there are


@dataclass(frozen=True, eq=False)
class Siblings:
    """Single policies by a vote: "stop" where half of them stop, else the most frequent panel.

    Its class probabilities are the mean of theirs; where each has a threshold, so is its threshold.

    Attributes:
        each: of one kind and layout.
    """

    each: Sequence[Policy]

    @property
    def members(self) -> int:
        """1."""
        return 1

    @property
    def traits(self) -> Traits:
        """What they have in common; the vote itself guarantees nothing."""
        traits = [policy.traits for policy in self.each]
        reads = [trait.reads_columns for trait in traits if trait.reads_values]
        some = [columns for columns in reads if columns is not None]
        return Traits(
            reads_values=bool(reads),
            reads_columns=np.any(some, axis=0) if some and len(some) == len(reads) else None,
            why=self.why,
            believe=self.believe,
            threshold=self._threshold,
        )

    @property
    def _threshold(self) -> Float[np.ndarray, " K"] | None:
        each = [t for policy in self.each if (t := policy.traits.threshold) is not None]
        return np.mean(each, axis=0) if len(each) == len(self.each) else None

    def votes(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """Share of the policies that take each action, "stop" last. (1, m, a + 1)"""
        laws = [policy.action_probabilities(values, acquired, available) for policy in self.each]
        return np.mean(laws, axis=0)

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """1 for the next panel, or for "stop". (1, m, a + 1)"""
        votes = self.votes(values, acquired, available)
        panels = votes[..., :-1]
        return panel_or_stop(panels.argmax(axis=-1), votes[..., -1] < 0.5, panels.shape[-1])

    def predict(self, values: Values, acquired: Panels) -> Belief | None:
        """Class probabilities if the episode ended here; None where they have none. (1, m, k)"""
        threshold, risk = self._threshold, self.believe(values, acquired)
        if threshold is not None and risk is not None:
            return tilted_belief(risk, threshold[:, None])
        return _mean(policy.predict(values, acquired) for policy in self.each)

    def believe(self, values: Values, acquired: Panels) -> Belief | None:
        """Class probabilities where it may still go on. (1, m, k)"""
        return _mean(_belief(policy, values, acquired) for policy in self.each)

    def why(
        self,
        member: int,
        values: RowValues,
        probability: Float[np.ndarray, "m k"],
        acquired: RowPanels,
        available: RowPanels,
        action_probability: Float[np.ndarray, "m a+1"],
        layout: Layout,
    ) -> list[str]:
        """How many take the decision, and the reason of the one whose belief is closest to all."""
        state = values[None], acquired[None], available[None]
        laws = [policy.action_probabilities(*state)[0] for policy in self.each]
        agree = np.argmax(laws, axis=2) == action_probability.argmax(axis=1)
        beliefs = [_belief(policy, *state[:2]) for policy in self.each]
        off = [np.abs(b[0] - probability).max(axis=1) if b is not None else 0.0 for b in beliefs]
        closest = np.where(agree, np.broadcast_arrays(*off, agree[0] * 1.0)[:-1], np.inf)
        reasons = [
            ["" for _ in values]
            if (reason := policy.traits.why) is None
            else reason(
                member,
                values,
                probability if expected is None else expected[0],
                acquired,
                available,
                action,
                layout,
            )
            for policy, expected, action in zip(self.each, beliefs, laws, strict=True)
        ]
        n = len(self.each)
        return [
            f"{reasons[k][i]} ({count} of {n} policies agree)".strip()
            for i, (k, count) in enumerate(
                zip(closest.argmin(axis=0).tolist(), agree.sum(axis=0).tolist(), strict=True)
            )
        ]


def _belief(policy: Policy, values: Values, acquired: Panels) -> Belief | None:
    """Class probabilities of one policy where it may still go on. (1, m, k)"""
    if isinstance(policy, ReadingPolicy):
        return policy.believe(policy.read(values[0], acquired[0])[None], acquired)
    return (policy.traits.believe or policy.predict)(values, acquired)


def _mean(beliefs: Any) -> Belief | None:
    each = [shares for shares in beliefs if shares is not None]
    return np.mean(each, axis=0) if each else None


def joined(policies: Sequence[StoredArrays]) -> Bundle:
    """Stored policies of one kind and layout as a bundle of siblings."""
    header = dict(policies[0].header or {})
    digests = [str((policy.header or {})["trained_on"]) for policy in policies]
    header["trained_on"] = hashlib.sha256("".join(digests).encode()).hexdigest()
    arrays = {f"{k}.{key}": a for k, policy in enumerate(policies) for key, a in policy.items()}
    return Bundle(header | {SIBLINGS: len(policies)}, arrays)


def each_of(stored: StoredArrays, build: Callable[[StoredArrays], Policy]) -> Policy:
    """The policy of a bundle: siblings where it has some, else a single one.

    Raises:
        DataError: there is no sibling, or what `build` refuses.
    """
    header = stored.header or {}
    if SIBLINGS not in header:
        return build(stored)
    if header[SIBLINGS] < 1:
        raise DataError(f"the stored policy {stored.source} has {header[SIBLINGS]} siblings")
    return Siblings(
        [
            build(StoredArrays(dict(under(stored, f"{k}.")), stored.source, header))
            for k in range(header[SIBLINGS])
        ]
    )


def graph_of(
    formula: Callable[[State, Any, int], GraphOutputs], state: State, policy: Policy, member: int
) -> GraphOutputs:
    """The graph of a policy or of siblings, by the formula of their kind."""
    if not isinstance(policy, Siblings):
        return formula(state, policy, member)
    each = [formula(state, sibling, 0) for sibling in policy.each]
    votes = mean([outputs.action_probability for outputs in each])
    goes_on = votes.columns(state.panels, state.panels + 1) < 0.5
    beliefs = [outputs.probability for outputs in each if outputs.probability is not None]
    verdicts = [outputs.verdict for outputs in each if outputs.verdict is not None]
    action = state.panel_or_stop(votes.columns(0, state.panels), goes_on)
    means = [mean(parts) if parts else None for parts in (beliefs, verdicts)]
    return GraphOutputs(action, *means)
