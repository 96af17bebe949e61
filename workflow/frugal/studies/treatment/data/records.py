"""Treatment search: records of earlier searches, outcome models and policies as dense tables.

Holds the frozen types of `treatment` (Håkansson et al. 2020) and the index of a history. They must
not know how a model was fitted, how a policy was planned, or later trials.

A history is a set: which actions were tried, with which outcome [treatment, eq. 3]. A search that
has reached the best outcome is over, so the histories that need a table are those in which every
tried action had a lesser outcome: |Y| digits an action, |Y|^k histories instead of (|Y|+1)^k.

    index(h) = Σₐ digitₐ |Y|ᵃ,   digitₐ = 0 if a is untried, 1 + y if its outcome was y < |Y| − 1

A model of Y(a) needs only histories without a: its index leaves digit a out.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Float64, Int, Int8

from frugal.core.errors import ConfigError, DataError, FrugalError

GIB = 2**30
PROBABILITY_SLACK = 1e-9  # of a row of the outcome table; sums of float64


class SearchSizeError(FrugalError):
    """The tables of a search would not fit into the memory that is allowed."""


def history_count(n_actions: int, n_outcomes: int) -> int:
    """|Y|^k, the number of histories without the best outcome."""
    return n_outcomes**n_actions


def search_bytes(
    *, n_contexts: int, n_actions: int, n_outcomes: int, policies: int = 1, judging: int = 0
) -> int:
    """Memory of planning policies, in bytes: model, smoothing, statistic, value, policy.

    Args:
        n_contexts: distinct values of the covariates.
        n_actions: k.
        n_outcomes: |Y|.
        policies: held at one time.
        judging: contexts of all models together, for evaluation.
    """
    histories = history_count(n_actions, n_outcomes)
    model = 8 * (n_contexts + judging) * n_actions * histories
    smoothing = 8 * n_actions * histories
    planning = (2 * 8 + 1) * (1 + policies) * n_contexts * histories
    return model + smoothing + planning


def require_search_memory(
    *, n_contexts: int, n_actions: int, n_outcomes: int, memory_gib: float, **copies: int
) -> None:
    """Refuses, before anything is allocated, a search whose tables would be too large.

    Args:
        n_contexts: distinct values of the covariates.
        n_actions: k.
        n_outcomes: |Y|.
        memory_gib: limit of the tables, in GiB.
        copies: policies and judging models, see `search_bytes`.

    Raises:
        SearchSizeError: names the size requested, the limit, and the size that would fit.
    """
    size = {"n_contexts": n_contexts, "n_outcomes": n_outcomes, **copies}
    needed = search_bytes(n_actions=n_actions, **size) / GIB
    if needed <= memory_gib:
        return
    fits = n_actions
    while fits and search_bytes(n_actions=fits, **size) > memory_gib * GIB:
        fits -= 1
    remedy = f"at most {fits} actions fit"
    if not fits:
        per_context = search_bytes(
            n_contexts=1, n_actions=n_actions, n_outcomes=n_outcomes, **copies
        )
        contexts = int(n_contexts * memory_gib / needed) if per_context <= memory_gib * GIB else 0
        remedy = f"at most {contexts} contexts fit with {n_actions} actions"
    raise SearchSizeError(
        f"{n_actions} actions with {n_outcomes} outcomes and {n_contexts} contexts need "
        f"{needed:.2g} GiB of tables, but the limit is {memory_gib:g} GiB; {remedy}"
    )


@dataclass(frozen=True, eq=False)
class TrialRecords:
    """Earlier searches: the trials of each unit in their order. Shapes: n units, t trials at most.

    Attributes:
        context: index of the covariates x. (n,)
        action: tried actions, −1 after the last. (n, t)
        outcome: index of each outcome, higher is better, −1 after the last. (n, t)
        n_contexts: number of distinct contexts.
        n_actions: k.
        n_outcomes: |Y|, at least 2.
    """

    context: Int[np.ndarray, " n"]
    action: Int[np.ndarray, "n t"]
    outcome: Int[np.ndarray, "n t"]
    n_contexts: int
    n_actions: int
    n_outcomes: int

    def __post_init__(self) -> None:
        if self.n_outcomes < 2 or self.n_actions < 1:
            raise DataError(
                f"a search has {self.n_outcomes} outcomes and {self.n_actions} actions; "
                "it needs at least 2 and 1"
            )
        for name, values, count in (
            ("context", self.context, self.n_contexts),
            ("action", self.action, self.n_actions),
            ("outcome", self.outcome, self.n_outcomes),
        ):
            lowest = 0 if name == "context" else -1
            if values.size and (values.min() < lowest or values.max() >= count):
                raise DataError(
                    f"an {name} of the trials is outside {lowest} … {count - 1}: "
                    f"{values.min()} … {values.max()}"
                )
        tried = self.action >= 0
        if (tried != (self.outcome >= 0)).any() or (tried[:, 1:] & ~tried[:, :-1]).any():
            raise DataError("a trial lacks its action or its outcome, or follows an empty one")
        ordered = np.sort(self.action, axis=1)
        if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
            raise DataError("a unit has tried the same action twice; outcomes do not change")

    def __len__(self) -> int:
        return len(self.context)

    def take(self, rows: np.ndarray | slice) -> "TrialRecords":
        """The same records restricted to units (indices, a slice or a boolean mask)."""
        return TrialRecords(
            self.context[rows],
            self.action[rows],
            self.outcome[rows],
            self.n_contexts,
            self.n_actions,
            self.n_outcomes,
        )


@dataclass(frozen=True, eq=False)
class OutcomeTable:
    """A model of p(Y(a) = y | x, h) for every untried a. Shapes: x contexts, a actions, y outcomes.

    Attributes:
        probability: by context, action, history without that action, outcome. (x, a, r, y),
            r = |Y|^(k−1)
        outcome_value: value of each outcome, strictly ascending, unit of the outcome. (y,)
    """

    probability: Float64[np.ndarray, "x a r y"]
    outcome_value: Float64[np.ndarray, " y"]

    def __post_init__(self) -> None:
        _, k, histories, outcomes = self.probability.shape
        assert histories == history_count(k - 1, outcomes), "bug: histories do not fit the actions"
        check_outcome_values(self.outcome_value, outcomes)

    @property
    def n_contexts(self) -> int:
        """Number of contexts."""
        return self.probability.shape[0]

    @property
    def n_actions(self) -> int:
        """Number of actions, k."""
        return self.probability.shape[1]

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes, |Y|."""
        return self.probability.shape[3]


def check_outcome_values(outcome_value: Float[np.ndarray, " y"], n_outcomes: int) -> None:
    """Refuses outcome values that do not ascend or are not one for each outcome.

    Raises:
        ConfigError: as described above.
    """
    if len(outcome_value) != n_outcomes or not (np.diff(outcome_value) > 0).all():
        raise ConfigError(
            f"outcome values are {outcome_value.tolist()}; they must be {n_outcomes} "
            "ascending numbers"
        )


@dataclass(frozen=True, eq=False)
class SearchPolicy:
    """Next trial after every history, or stop. Shapes: x contexts, h = |Y|^k histories.

    Reaching the best outcome ends a search under every policy; the table holds all other histories.

    Attributes:
        action: index of the next action; k for "stop". (x, h)
        value: of going on from there in the planner's own unit; for the constrained planners minus
            the expected number of further trials; NaN where a planner has none. (x, h)
        statistic: bound on (or estimate of) the probability ρ(h) that an untried action is better;
            NaN where a planner uses none. (x, h)
        outcome_value: value of each outcome. (y,)
        n_actions: k.
    """

    action: Int8[np.ndarray, "x h"]
    value: Float64[np.ndarray, "x h"]
    statistic: Float64[np.ndarray, "x h"]
    outcome_value: Float64[np.ndarray, " y"]
    n_actions: int

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes, |Y|."""
        return len(self.outcome_value)


def outcomes_of(
    index: Int[np.ndarray, " m"], n_actions: int, n_outcomes: int
) -> Int8[np.ndarray, "m a"]:
    """Outcome index of each action in the histories of these indices, −1 where untried. (m, k)"""
    index = index.astype(np.int64)
    result = np.empty((len(index), n_actions), dtype=np.int8)
    for a in range(n_actions):
        result[:, a] = index // n_outcomes**a % n_outcomes - 1
    return result


def insert_untried(
    reduced: Int[np.ndarray, " m"], action: Int[np.ndarray, " m"], n_outcomes: int
) -> Int[np.ndarray, " m"]:
    """Index of a history from its index without an untried action. (m,)"""
    place = n_outcomes ** action.astype(np.int64)
    return reduced // place * (place * n_outcomes) + reduced % place
