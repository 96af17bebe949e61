"""More training units with known labels: worse-off copies of units whose cheapest actions stay so.

Augmentation of the recourse study (its Algorithm 1, read as AG1 and AG2). A copy keeps its source's
label by a theorem, so nothing is solved here. Knows no solver and no generator.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from frugal.core.errors import DataError
from frugal.studies.recourse.instance import LabelledUnits
from frugal.studies.recourse.worlds import explanation_index


@dataclass(frozen=True)
class AugmentationCounts:
    """Result of an augmentation.

    Attributes:
        candidates: distinct worse-off (state, group) pairs that are no training units.
        test_units_met: test units whose very state and group are among the candidates.
        leaked: derived units that were handed out though they are test units; 0 unless `leaky`.
        derived: units handed out.
    """

    candidates: int
    test_units_met: int
    leaked: int
    derived: int


def spare_features(units: LabelledUnits) -> Bool[np.ndarray, "n d"]:
    """True where a unit could lack the feature and still reach its threshold by its actions. (n, d)

    x_j = 1 and x_j + Σ_{i ∈ I} d_ij > t_j                          [recourse, alg. 1]
    """
    instance = units.instance
    chosen = np.zeros((len(units), len(instance.cost)), dtype=np.int64)
    row, place = np.nonzero(units.action_set >= 0)
    chosen[row, units.action_set[row, place]] = 1
    reached = units.features.astype(np.int64) + chosen @ instance.gain
    return units.features & (reached > instance.thresholds)


def derive_units(
    train: LabelledUnits,
    test: LabelledUnits,
    *,
    per_unit: int,
    target_frequency: int,
    leaky: bool,
    rng: np.random.Generator,
) -> tuple[LabelledUnits, AugmentationCounts]:
    """Worse-off copies of training units, more for rarer explanations.

    A copy loses each spare feature with probability ½. Its unique cheapest set is its source's:
    every set that covers the copy covers the source, so nothing cheaper or equally cheap can exist
    for it, and the source's set covers it.                                  [recourse, alg. 1]

    Differs from the paper: all 2^num copies are out of reach for 50 features and put most test
    units of 20 features into training. Here each unit gives at most `per_unit` copies, an
    explanation of f units gets at most `target_frequency` − f, and test units are left out.

    Args:
        train: sources of the copies.
        test: units whose states must not be trained on.
        per_unit: copies drawn of each training unit, before duplicates are dropped.
        target_frequency: units of an explanation, copies included, from which it gets no more.
        leaky: hand out copies that are test units, and count them.
        rng: draws copies, and which of too many are kept.

    Raises:
        DataError: the two sets have other numbers of features.
    """
    if train.features.shape[1] != test.features.shape[1]:
        raise DataError(
            f"training units have {train.features.shape[1]} features, test units "
            f"{test.features.shape[1]}"
        )
    source = np.repeat(np.arange(len(train)), per_unit)
    loses = spare_features(train)[source] & (
        rng.random((len(source), train.features.shape[1])) < 0.5
    )
    copies = train.features[source] & ~loses
    state = _state_numbers(
        np.concatenate([train.features, test.features, copies]),
        np.concatenate([train.group, test.group, train.group[source]]),
    )
    of_train, of_test, of_copy = np.split(state, [len(train), len(train) + len(test)])
    order = rng.permutation(len(copies))
    _, first = np.unique(of_copy[order], return_index=True)
    fresh = np.sort(first)  # a random order in which each state comes once
    fresh = order[fresh][~np.isin(of_copy[order[fresh]], of_train)]
    in_test = np.isin(of_copy[fresh], of_test)
    offered = fresh if leaky else fresh[~in_test]
    within_quota = offered[_within_quota(train.action_set, source[offered], target_frequency)]
    derived = train.take(source[within_quota])
    counts = AugmentationCounts(
        candidates=len(fresh),
        test_units_met=int(np.isin(of_test, of_copy[fresh]).sum()),
        leaked=int(np.isin(of_copy[within_quota], of_test).sum()),
        derived=len(within_quota),
    )
    return LabelledUnits(
        copies[within_quota],
        derived.action_set,
        derived.cost,
        derived.optima,
        derived.group,
        derived.instance,
    ), counts


def augment(
    train: LabelledUnits,
    test: LabelledUnits,
    *,
    per_unit: int,
    balanced_frequency: int,
    rare_frequency: int | None,
    leaky: bool,
    rng: np.random.Generator,
) -> tuple[LabelledUnits, tuple[AugmentationCounts, ...]]:
    """Training units with copies: AG1 alone, or AG1 and then AG2.

    AG1 lifts explanations towards `balanced_frequency`; AG2 takes the result and lifts those that
    still have fewer than `rare_frequency` (20 in the paper) towards it; None leaves AG2 out.
    """
    larger, counts = train, []
    for target in (balanced_frequency, rare_frequency):
        if target is not None:
            derived, count = derive_units(
                larger, test, per_unit=per_unit, target_frequency=target, leaky=leaky, rng=rng
            )
            larger = _joined(larger, derived)
            counts.append(count)
    return larger, tuple(counts)


def _within_quota(
    action_set: Int[np.ndarray, "n m"], source: Int[np.ndarray, " c"], target: int
) -> Int[np.ndarray, " k"]:
    """Candidates to keep, the first ones of each explanation up to the target."""
    index, _, frequency = explanation_index(action_set)
    explanation = index[source]
    order = np.argsort(explanation, kind="stable")
    start = np.searchsorted(explanation[order], np.arange(len(frequency)))
    place = np.arange(len(order)) - start[explanation[order]]
    return np.sort(order[place < np.maximum(target - frequency, 0)[explanation[order]]])


def _state_numbers(
    features: Bool[np.ndarray, "n d"], group: Int[np.ndarray, " n"]
) -> Int[np.ndarray, " n"]:
    """The same number for the same state of the same group. (n,)"""
    of_group = np.ascontiguousarray(group[:, None].astype("<i8")).view(np.uint8)
    packed = np.concatenate([np.packbits(features, axis=1), of_group], axis=1)
    as_one = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).reshape(-1)
    return np.unique(as_one, return_inverse=True)[1].reshape(-1)


def _joined(first: LabelledUnits, second: LabelledUnits) -> LabelledUnits:
    """Units of both, which have the same instance and width of sets."""
    return LabelledUnits(
        np.concatenate([first.features, second.features]),
        np.concatenate([first.action_set, second.action_set]),
        np.concatenate([first.cost, second.cost]),
        np.concatenate([first.optima, second.optima]),
        np.concatenate([first.group, second.group]),
        first.instance,
    )
