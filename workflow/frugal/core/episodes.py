"""The policy interface, and finished episodes: decisions and outcomes of any method."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float, Float32, Int

# K members, m states of each, d columns, a panels, k classes; a reading has w entries
Values = Float[np.ndarray, "K m d"]
Panels = Bool[np.ndarray, "K m a"]
Readings = Float32[np.ndarray, "K m w"]
Law = Float[np.ndarray, "K m a+1"]
Belief = Float[np.ndarray, "K m k"]
RowValues = Float[np.ndarray, "m d"]
RowPanels = Bool[np.ndarray, "m a"]
RowReadings = Float32[np.ndarray, "m w"]
REFERRED = "a person"  # who decides in place of a policy that refers a case


@dataclass(frozen=True, eq=False)
class Traits:
    """Guarantees of a policy and its optional methods; by default none.

    Attributes:
        reads_values: False: it ignores feature values, is shown NaN only, and its probabilities are
            computed once for units in the same state.
        reads_columns: True for each column that decisions may depend on; None for all. (d,)
        consistent: a panel chosen among some is also chosen among fewer, as long as that
            is available; and it stops among fewer if it stops among more.
        compares: meaning of the numbers of `weigh`.
        weigh: scores compared, computed from the arguments of `action_probabilities` (of a
            `ReadingPolicy` of those of `decide`): "stop" last, −∞ for forbidden actions. (K, m, a +
            1)
        why: the reason of each of m decisions of a member, of `(member, values, belief, acquired,
            available, law, layout)`, where it compares nothing.
        believe: class probabilities at states in which it may still go on, of the arguments of
            `predict`; None: those of `predict`.
        threshold: probability of class 1 from which each member predicts it. (K,)
        in_steps: a tree of all its decisions describes it better than one of its first orders.
        terminal_probability: probability of ending with exactly the target, for all values, of
            `(available, target)`, both (n, a); for wide tables. (n,)
        mean_terminal_probability: mean of that over panels that are there by independent chance,
            and its largest value, of `(target, needed, present)`.
    """

    reads_values: bool = True
    reads_columns: Bool[np.ndarray, " d"] | None = None
    consistent: bool = False
    compares: str = ""
    weigh: Callable[..., Any] | None = None
    why: Callable[..., list[str]] | None = None
    believe: Callable[..., Any] | None = None
    threshold: Float[np.ndarray, " K"] | None = None
    in_steps: bool = False
    terminal_probability: Callable[..., Any] | None = None
    mean_terminal_probability: Callable[..., Any] | None = None

    def columns_read(self, columns: int) -> Bool[np.ndarray, " d"]:
        """True for each of d encoded columns on which decisions may depend. (d,)"""
        if self.reads_values and self.reads_columns is not None:
            return self.reads_columns
        return np.full(columns, self.reads_values)


@runtime_checkable
class Policy(Protocol):
    """Chooses the next panel or stops, for K members and m states each; has no state of its own."""

    @property
    def members(self) -> int:
        """K: policies that act together; 1 for a single one."""
        ...

    @property
    def traits(self) -> Traits:
        """Guarantees of the policy and its optional methods."""
        ...

    def action_probabilities(self, values: Values, acquired: Panels, available: Panels) -> Law:
        """Probability of acquiring each panel next; the last column is "stop".

        Args:
            values: encoded features; a policy must not read a column that is neither free nor
                revealed by `acquired`: such entries are NaN. (K, m, d)
            acquired: panels acquired so far. (K, m, a)
            available: panels that may be acquired at all (blocking sets others False). (K, m, a)

        Returns:
            Rows sum to 1; zero for panels acquired already or not available. (K, m, a + 1)
        """
        ...

    def predict(self, values: Values, acquired: Panels) -> Belief | None:
        """Class probabilities if the episode ended here; None: it has no verdict. (K, m, k)"""
        ...


@runtime_checkable
class RowPolicy(Protocol):
    """A single policy that knows rows by their identity, and nothing of their values.

    It has an answer to states of the records, and none to values that were filled in.
    """

    def law_of_rows(
        self, row_id: Int[np.ndarray, " m"], acquired: RowPanels, available: RowPanels
    ) -> Float[np.ndarray, "m A"]:
        """As `Policy.action_probabilities`, of m states. (m, a + 1)"""
        ...


@runtime_checkable
class ReadingPolicy(Policy, Protocol):
    """A policy that first turns a state into a reading, the same for all its members.

    Readings of (unit, set) can be made once and kept; the other methods take them in place of
    values.
    """

    def read(self, values: RowValues, acquired: RowPanels) -> RowReadings:
        """Inputs of its members at m states. (m, w)"""
        ...

    def decide(self, reading: Readings, acquired: Panels, available: Panels) -> Law:
        """As `Policy.action_probabilities`."""
        ...

    def conclude(self, reading: Readings, acquired: Panels) -> Belief | None:
        """As `Policy.predict`."""
        ...

    def believe(self, reading: Readings, acquired: Panels) -> Belief | None:
        """Class probabilities at states in which it may still go on. (K, m, k)"""
        ...


@dataclass(frozen=True, eq=False)
class Episodes:
    """One finished episode per member and unit. K members, n units, a panels, m decisions.

    Decisions are sorted by member, unit, step.

    Attributes:
        acquired: AFA missingness indicator R̂: panels acquired in the end. (K, n, a)
        verdict: class probabilities at the end; None where the policy has no verdict. (K, n, k)
        cost: price of the panels acquired, in the data set's unit. (K, n)
        member: of each decision. (m,)
        row: unit of each decision, as index into the n units. (m,)
        step: 0 for the first decision of a unit. (m,)
        action: panel index, or a for "stop". (m,)
        price: of each decision, in the data set's unit; 0 for "stop". (m,)
        probability: with which the policy took that decision. (m,)
        belief: class probabilities at the state in which it was taken; None without. (m, k)
    """

    acquired: Bool[np.ndarray, "K n a"]
    verdict: Float[np.ndarray, "K n k"] | None
    cost: Float[np.ndarray, "K n"]
    member: Int[np.ndarray, " m"]
    row: Int[np.ndarray, " m"]
    step: Int[np.ndarray, " m"]
    action: Int[np.ndarray, " m"]
    price: Float[np.ndarray, " m"]
    probability: Float[np.ndarray, " m"]
    belief: Float[np.ndarray, "m k"] | None
