"""A random forest for p(Y(a) | x, h): function approximation over trials, "_F".

Part of `treatment` (Håkansson et al. 2020, sec. B.2). Trials that agree in everything are one row
with a weight, and a bootstrap of trials is a multinomial draw of these weights: the same forest as
on one row per trial, grown on a few thousand rows. It must not know policies or stopping.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Float64, Int

from frugal.core.errors import ConfigError, DataError
from frugal.studies.treatment.data.records import (
    OutcomeTable,
    TrialRecords,
    history_count,
    insert_untried,
    outcomes_of,
    require_search_memory,
)
from frugal.studies.treatment.models.outcome_counts import trial_events

BLOCK_CELLS = 2**15  # cells that are encoded and answered at a time: a few MB for any table


@dataclass(frozen=True)
class ForestOptions:
    """How the forest is grown.

    Attributes:
        action_code: the tried action as `onehot` columns or as one `ordinal` column.
        trees: number of trees.
        max_depth: largest depth; None for no limit.
        min_leaf_trials: smallest number of (bootstrapped) trials in a leaf.
    """

    action_code: str
    trees: int
    max_depth: int | None
    min_leaf_trials: int

    def __post_init__(self) -> None:
        if self.action_code not in ("onehot", "ordinal"):
            raise ConfigError(
                f"the forest's action code is {self.action_code!r}; allowed are onehot and ordinal"
            )
        if self.trees < 1 or self.min_leaf_trials < 1:
            raise ConfigError(
                f"a forest has {self.trees} trees and leaves of {self.min_leaf_trials}; "
                "it needs at least 1 of each"
            )


def forest_table(
    records: TrialRecords,
    context_features: Float[np.ndarray, "x f"],
    rng: np.random.Generator,
    *,
    options: ForestOptions,
    outcome_value: Float64[np.ndarray, " y"],
    memory_gib: float,
) -> OutcomeTable:
    """p(Y(a) = y | x, h) of a forest fitted to all trials.               [treatment, eq. S11]

    φ(h) is the context's features and, per action, the outcome's index or −1 if untried: the order
    of trials is lost by construction. Trials made after the best outcome are used, too.

    Args:
        records: earlier searches.
        context_features: covariates of each context. (x, f)
        rng: source of bootstraps and of the columns tried at a cut.
        options: how the forest is grown.
        outcome_value: value of each outcome, ascending. (y,)
        memory_gib: limit of all tables of the search.

    Returns:
        The forest's answer for every context, action and history.

    Raises:
        SearchSizeError: the tables would take more than `memory_gib`.
        DataError: there is no trial, or contexts and their features disagree.
        ConfigError: outcome values that do not ascend.
    """
    k, base = records.n_actions, records.n_outcomes
    require_search_memory(
        n_contexts=records.n_contexts, n_actions=k, n_outcomes=base, memory_gib=memory_gib
    )
    if len(context_features) != records.n_contexts:
        raise DataError(
            f"{len(context_features)} contexts have features, the records {records.n_contexts}"
        )
    trees = _grown(records, context_features, rng, options)
    answer = np.zeros((records.n_contexts * k * history_count(k - 1, base), base))
    for start in range(0, len(answer), BLOCK_CELLS):
        block = answer[start : start + BLOCK_CELLS]
        features = _cells(records, context_features, options.action_code, start, len(block))
        for tree in trees:
            block[:, tree.classes_] += np.asarray(tree.predict_proba(features, check_input=False))
        block /= block.sum(axis=1, keepdims=True)
    shape = (records.n_contexts, k, history_count(k - 1, base), base)
    return OutcomeTable(answer.reshape(shape), outcome_value)


def _grown(
    records: TrialRecords,
    features: Float[np.ndarray, "x f"],
    rng: np.random.Generator,
    options: ForestOptions,
) -> list[Any]:
    """One of scikit-learn's classification trees for each bootstrap of the trials."""
    from sklearn.tree import DecisionTreeClassifier  # a second to import

    rows, outcome, count = _weighted_trials(records, features, options.action_code)
    total = int(count.sum())
    trees = []
    for seed in rng.integers(2**31, size=options.trees):
        drawn = rng.multinomial(total, count / total)
        used = drawn > 0
        tree = DecisionTreeClassifier(
            max_depth=options.max_depth,
            max_features="sqrt",
            min_weight_fraction_leaf=min(0.5, options.min_leaf_trials / total),
            random_state=int(seed),
        )
        trees.append(tree.fit(rows[used], outcome[used], sample_weight=drawn[used].astype(float)))
    return trees


def _encoded(
    features: Float[np.ndarray, "m f"],
    observed: Int[np.ndarray, "m a"],
    action: Int[np.ndarray, " m"],
    action_code: str,
) -> Float32[np.ndarray, "m c"]:
    """Columns of the forest: context, outcomes known, action. (m, c)"""
    if action_code == "onehot":
        code = action[:, None] == np.arange(observed.shape[1])
    else:
        code = action[:, None]
    return np.concatenate([features, observed, code], axis=1).astype(np.float32)


def _weighted_trials(
    records: TrialRecords, features: Float[np.ndarray, "x f"], action_code: str
) -> tuple[Float32[np.ndarray, "m c"], Int[np.ndarray, " m"], Int[np.ndarray, " m"]]:
    """Distinct trials as encoded rows, their outcomes, and how often each occurred."""
    events = trial_events(records)
    if not len(events.action):
        raise DataError("there is no trial to learn from")
    k, base = records.n_actions, records.n_outcomes
    key = events.context.astype(np.int64) * k + events.action
    key = key * (base + 1) ** k + ((events.observed + 1) * (base + 1) ** np.arange(k)).sum(axis=1)
    _, first, count = np.unique(key * base + events.outcome, return_index=True, return_counts=True)
    rows = _encoded(
        features[events.context[first]], events.observed[first], events.action[first], action_code
    )
    return rows, events.outcome[first], count


def _cells(
    records: TrialRecords,
    features: Float[np.ndarray, "x f"],
    action_code: str,
    start: int,
    count: int,
) -> Float32[np.ndarray, "m c"]:
    """Encoded rows of some (context, action, history without it), in the table's order."""
    k, base = records.n_actions, records.n_outcomes
    shape = (records.n_contexts, k, history_count(k - 1, base))
    x, action, reduced = np.unravel_index(np.arange(start, start + count), shape)
    observed = outcomes_of(insert_untried(reduced, action, base), k, base)
    return _encoded(features[x], observed, action, action_code)
