"""How often generated action sets are the cheapest, and the mistakes of the others.

Rows of outcomes, one per unit, and the tables of the recourse study that are sums over them. Knows
neither which generator answered nor files.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.special import ndtri

from frugal.core.errors import DataError
from frugal.judge.intervals import share_interval
from frugal.studies.recourse.instance import CoverInstance, LabelledUnits
from frugal.studies.recourse.learned.answers import as_action_sets, as_membership
from frugal.studies.recourse.solvers.branch_and_bound import cheapest_covers


@dataclass(frozen=True, eq=False)
class Repaired:
    """Answers that work, and the cost of making them work. Shapes: n units, a actions.

    Attributes:
        chosen: the repaired answer; the given one where that works already. (n, a)
        was_feasible: True where the given answer works unchanged. (n,)
        coverable: False where nothing the unit may do is enough; `chosen` is empty there. (n,)
        added: actions that the repair put in. (n, a)
        cost_before: of the given answer, unit of the catalogue. (n,)
        cost_after: of the repaired one; ∞ where not coverable. (n,)
    """

    chosen: Bool[np.ndarray, "n a"]
    was_feasible: Bool[np.ndarray, " n"]
    coverable: Bool[np.ndarray, " n"]
    added: Bool[np.ndarray, "n a"]
    cost_before: Float[np.ndarray, " n"]
    cost_after: Float[np.ndarray, " n"]


def is_feasible(
    features: Bool[np.ndarray, "n d"] | Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    chosen: Bool[np.ndarray, "n a"],
    instance: CoverInstance,
) -> Bool[np.ndarray, " n"]:
    """True where the unit may take all chosen actions and they make it positive. (n,)"""
    open_to = (~chosen | instance.access[group]).all(axis=1)
    return open_to & (_shortfall(features, chosen, instance) == 0).all(axis=1)


def repair_answers(
    features: Bool[np.ndarray, "n d"] | Int[np.ndarray, "n d"],
    group: Int[np.ndarray, " n"],
    chosen: Bool[np.ndarray, "n a"],
    instance: CoverInstance,
    *,
    max_nodes: int,
) -> Repaired:
    """Answers with the cheapest actions added that make them work.

        chosen* = chosen ∪ argmin {Σᵢ cᵢ : xⱼ + Σ_{i ∈ chosen ∪ extra} dᵢⱼ ≥ tⱼ for all j}

    Actions that a unit may not take are removed first, and actions that are idle in the end last,
    most expensive first. Answers that work are left alone, even if more expensive than needed.

    Args:
        features: the units' states x. (n, d)
        group: row of `instance.access`. (n,)
        chosen: the given answers, True where an action is taken. (n, a)
        instance: actions, costs, thresholds, access.
        max_nodes: see `cheapest_covers`.
    """
    was_feasible = is_feasible(features, group, chosen, instance)
    broken = np.flatnonzero(~was_feasible)
    retained = chosen[broken] & instance.access[group[broken]]
    extra, coverable = _cheapest_extra(
        features[broken], group[broken], retained, instance, max_nodes=max_nodes
    )
    repaired = _without_idle(features[broken], (retained | extra) & coverable[:, None], instance)
    result = chosen.copy()
    result[broken] = repaired
    can = np.ones(len(chosen), dtype=bool)
    can[broken] = coverable
    return Repaired(
        chosen=result,
        was_feasible=was_feasible,
        coverable=can,
        added=result & ~chosen,
        cost_before=instance.cost_of(chosen),
        cost_after=np.where(can, instance.cost_of(result), np.inf),
    )


def _shortfall(
    features: np.ndarray, chosen: Bool[np.ndarray, "n a"], instance: CoverInstance
) -> Int[np.ndarray, "n d"]:
    """Remaining need of each feature after the chosen actions. (n, d)"""
    return np.maximum(instance.deficit(features) - chosen.astype(np.int64) @ instance.gain, 0)


def _cheapest_extra(
    features: np.ndarray,
    group: Int[np.ndarray, " n"],
    retained: Bool[np.ndarray, "n a"],
    instance: CoverInstance,
    *,
    max_nodes: int,
) -> tuple[Bool[np.ndarray, "n a"], Bool[np.ndarray, " n"]]:
    """Cheapest actions in addition to the kept ones, and whether the unit can be covered at all."""
    reached = features.astype(np.int64) + retained.astype(np.int64) @ instance.gain
    remaining = instance
    if (instance.gain < instance.thresholds)[instance.gain > 0].any():
        # an action that gives a part could be taken twice: units with other kept sets are groups
        pairs, group = np.unique(instance.access[group] & ~retained, axis=0, return_inverse=True)
        remaining = CoverInstance(instance.cost, instance.provides, instance.thresholds, pairs)
    covers = cheapest_covers(reached, group.reshape(-1), remaining, max_nodes=max_nodes)
    extra = np.zeros(retained.shape, dtype=bool)
    row, place = np.nonzero(covers.action_set >= 0)
    extra[row, covers.action_set[row, place]] = True
    return extra, covers.coverable


def _without_idle(
    features: np.ndarray, chosen: Bool[np.ndarray, "n a"], instance: CoverInstance
) -> Bool[np.ndarray, "n a"]:
    """Sets that work, without the actions they do not need; the most expensive are tried first."""
    remaining = chosen.copy()
    works = (_shortfall(features, remaining, instance) == 0).all(axis=1)
    for i in np.argsort(-instance.cost_units, kind="stable"):
        rows = np.flatnonzero(works & remaining[:, i])
        if len(rows):
            without = remaining[rows]
            without[:, i] = False
            idle = (_shortfall(features[rows], without, instance) == 0).all(axis=1)
            remaining[rows[idle], i] = False
    return remaining


LEVEL = 0.95  # of every interval; part of the column names' meaning
HALF_WIDTHS = float(ndtri((1 + LEVEL) / 2))  # standard errors in half an interval
ALL = "all"


@dataclass(frozen=True, eq=False)
class AnswerOutcomes:
    """Outcome of each answer. Shapes: n units, m actions at most.

    Attributes:
        correct: the answer is the unit's one cheapest set. (n,)
        feasible: its actions are open to the unit and make it positive. (n,)
        answer_cost: of the answer, unit of the catalogue. (n,)
        true_cost: of the cheapest set. (n,)
        repaired_cost: of the answer after repair; that of the answer where it works. (n,)
        repaired_set: the answer after repair, ascending, padded with −1. (n, m)
        repaired_correct: the answer after repair is the cheapest set. (n,)
        repaired_feasible: the answer after repair works, tried anew. (n,)
        empty: the answer has no action. (n,)
        confidence: of the generator. (n,)
        size: actions in the cheapest set. (n,)
        group: of the unit. (n,)
        train_frequency: training units that have the unit's cheapest set; 0 if unseen. (n,)
    """

    correct: Bool[np.ndarray, " n"]
    feasible: Bool[np.ndarray, " n"]
    answer_cost: Float[np.ndarray, " n"]
    true_cost: Float[np.ndarray, " n"]
    repaired_cost: Float[np.ndarray, " n"]
    repaired_set: Int[np.ndarray, "n m"]
    repaired_correct: Bool[np.ndarray, " n"]
    repaired_feasible: Bool[np.ndarray, " n"]
    empty: Bool[np.ndarray, " n"]
    confidence: Float[np.ndarray, " n"]
    size: Int[np.ndarray, " n"]
    group: Int[np.ndarray, " n"]
    train_frequency: Int[np.ndarray, " n"]

    def frame(self) -> pd.DataFrame:
        """One row per unit, without the set."""
        columns = [name for name in self.__dataclass_fields__ if name != "repaired_set"]
        return pd.DataFrame({name: getattr(self, name) for name in columns})


def judge_answers(
    test: LabelledUnits,
    action_set: Int[np.ndarray, "n m"],
    confidence: Float[np.ndarray, " n"],
    train_sets: Int[np.ndarray, "t q"],
    *,
    max_nodes: int,
) -> AnswerOutcomes:
    """Compare answers with labels, try them, and repair those that do not work.

        L_eval(I, Î) = 0 if I = Î, else 1                               [recourse, eq. 7]

    Args:
        test: units with their proven cheapest sets. (n)
        action_set: answers, ascending, padded with −1. (n, m)
        confidence: of the generator. (n,)
        train_sets: cheapest sets of the units that the generator learnt from. (t, q)
        max_nodes: see `cheapest_covers`.
    """
    instance = test.instance
    chosen, truth = (
        as_membership(s, actions=len(instance.cost)) for s in (action_set, test.action_set)
    )
    repaired = repair_answers(test.features, test.group, chosen, instance, max_nodes=max_nodes)
    return AnswerOutcomes(
        correct=(chosen == truth).all(axis=1),
        feasible=repaired.was_feasible,
        answer_cost=instance.cost_of(chosen),
        true_cost=test.cost,
        repaired_cost=repaired.cost_after,
        repaired_set=as_action_sets(repaired.chosen),
        repaired_correct=(repaired.chosen == truth).all(axis=1),
        repaired_feasible=is_feasible(test.features, test.group, repaired.chosen, instance),
        empty=chosen.sum(axis=1) == 0,
        confidence=confidence,
        size=test.size,
        group=test.group,
        train_frequency=training_frequency(test.action_set, train_sets),
    )


def training_frequency(
    action_set: Int[np.ndarray, "n m"], train_sets: Int[np.ndarray, "t q"]
) -> Int[np.ndarray, " n"]:
    """How many training units have each unit's action set; 0 for an unseen one. (n,)"""
    width = max(action_set.shape[1], train_sets.shape[1])
    joined = np.concatenate(
        [
            np.pad(s, ((0, 0), (0, width - s.shape[1])), constant_values=-1)
            for s in (train_sets, action_set)
        ]
    )
    number = np.unique(joined, axis=0, return_inverse=True)[1].reshape(-1)
    count = np.bincount(number[: len(train_sets)], minlength=number.max(initial=0) + 1)
    return count[number[len(train_sets) :]]


def unseen_explanations(
    action_set: Int[np.ndarray, "n m"], train_sets: Int[np.ndarray, "t q"]
) -> dict[str, int]:
    """Test units, their distinct action sets, and how many of either no training unit has."""
    unseen = training_frequency(action_set, train_sets) == 0
    return {
        "test_units": len(action_set),
        "unseen_units": int(unseen.sum()),
        "test_explanations": len(np.unique(action_set, axis=0)),
        "unseen_explanations": len(np.unique(action_set[unseen], axis=0)),
    }


def accuracy_rows(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Accuracy with its binomial error, and the mistakes, for all units and by number of actions.

        half-width = 1.96 √(p (1 − p) / n)                              [recourse, table 2]

    Returns:
        actions ('all', '1', '2', …), n, accuracy, accuracy_se, half_width, accuracy_low and
        accuracy_high (see `share_interval`), mistakes,
        feasible_share_of_mistakes, cost_gap (mean over feasible mistakes of the cost of the answer
        beyond the cheapest, relative to that set), infeasible_cost_gap (the same over infeasible
        ones, below zero if they are cheaper), infeasible_share, repair_cost_gap (mean over
        infeasible answers of the extra cost of the repaired one, relative), repaired_accuracy,
        repaired_infeasible_share, empty_share (of answers without an action: their repair is the
        solver's own answer), unseen (units whose set no training unit has).
    """
    kinds = [(ALL, outcomes), *((str(size), rows) for size, rows in outcomes.groupby("size"))]
    return pd.DataFrame([{"actions": name, **_accuracy(rows)} for name, rows in kinds])


def group_rows(outcomes: pd.DataFrame) -> pd.DataFrame:
    """The columns of `accuracy_rows` for each group of units.           [recourse, table 4]"""
    return pd.DataFrame(
        [{"group": int(g), **_accuracy(rows)} for g, rows in outcomes.groupby("group")]  # pyright: ignore[reportArgumentType]
    )


def confidence_rows(outcomes: pd.DataFrame, *, bins: int) -> pd.DataFrame:
    """Confidence against accuracy in bins of equal width.               [recourse, fig. 7]

    Returns:
        bin, low, high, n, mean_confidence, accuracy, half_width, accuracy_low, accuracy_high,
        correct, wrong (units of either kind); bins without units have no row.

    Raises:
        DataError: a confidence lies outside [0, 1].
    """
    confidence = outcomes["confidence"].to_numpy()
    if not ((confidence >= 0) & (confidence <= 1 + 1e-9)).all():
        raise DataError(f"a confidence is {confidence.min()} or {confidence.max()}, outside [0, 1]")
    number = np.minimum((confidence * bins).astype(int), bins - 1)
    rows = []
    for k, part in outcomes.groupby(number):
        right = int(part["correct"].sum())
        rows.append(
            {
                "bin": int(k),
                "low": k / bins,
                "high": (k + 1) / bins,
                "n": len(part),  # pyright: ignore
                "mean_confidence": float(part["confidence"].mean()),
                **_without_error(part["correct"]),
                "correct": right,
                "wrong": len(part) - right,
            }
        )
    return pd.DataFrame(rows)


def frequency_rows(outcomes: pd.DataFrame, *, edges: tuple[int, ...]) -> pd.DataFrame:
    """Accuracy by how often the unit's cheapest set occurs in training.  [recourse, sec. 5.2]

    Args:
        outcomes: see `AnswerOutcomes.frame`.
        edges: first frequency of each class, ascending from 0: (0, 1, 11) are unseen, 1 to 10, and
            11 or more.

    Returns:
        at_least, at_most (−1 for no end), n, accuracy, half_width, accuracy_low, accuracy_high;
        empty classes have no row.
    """
    if edges[0] != 0 or list(edges) != sorted(set(edges)):
        raise DataError(f"edges are {edges}; they begin at 0 and ascend")
    number = np.searchsorted(edges, outcomes["train_frequency"], side="right") - 1
    rows = []
    for group, part in outcomes.groupby(number):
        k = int(group)  # pyright: ignore
        last = edges[k + 1] - 1 if k + 1 < len(edges) else -1
        rows.append(
            {
                "at_least": edges[k],
                "at_most": last,
                "n": len(part),
                **_without_error(part["correct"]),
            }
        )
    return pd.DataFrame(rows)


def _share(hits: pd.Series) -> dict[str, float]:
    """Share of True, its binomial standard error, and its interval.

    The half-width is the paper's, ± 1.96 standard errors; it is 0 where all hits agree, and may
    lead outside [0, 1]. The interval does neither.
    """
    share = float(hits.mean())
    spread = float(np.sqrt(share * (1 - share) / len(hits)))
    low, high = share_interval(int(hits.sum()), len(hits), level=LEVEL)
    return {
        "accuracy": share,
        "accuracy_se": spread,
        "half_width": HALF_WIDTHS * spread,
        "accuracy_low": low,
        "accuracy_high": high,
    }


def _without_error(hits: pd.Series) -> dict[str, float]:
    """The columns of `_share` that bins and classes show."""
    return {name: value for name, value in _share(hits).items() if name != "accuracy_se"}


def _accuracy(rows: pd.DataFrame) -> dict[str, float | int]:
    """One row of the study's tables; NaN where there is nothing to average."""
    wrong = rows[~rows["correct"]]
    feasible, infeasible = wrong[wrong["feasible"]], wrong[~wrong["feasible"]]
    return {
        "n": len(rows),
        **_share(rows["correct"]),
        "mistakes": len(wrong),
        "feasible_share_of_mistakes": len(feasible) / len(wrong) if len(wrong) else np.nan,
        "cost_gap": _cost_difference(feasible, "answer_cost"),
        "infeasible_cost_gap": _cost_difference(infeasible, "answer_cost"),
        "infeasible_share": len(infeasible) / len(rows),
        "repair_cost_gap": _cost_difference(infeasible, "repaired_cost"),
        "repaired_accuracy": float(rows["repaired_correct"].mean()),
        "repaired_infeasible_share": float((~rows["repaired_feasible"]).mean()),
        "empty_share": float(rows["empty"].mean()),
        "unseen": int((rows["train_frequency"] == 0).sum()),
    }


def _cost_difference(rows: pd.DataFrame, column: str) -> float:
    """Mean extra cost of a set over the cheapest, as a share of that; NaN without rows."""
    if rows.empty:
        return float("nan")
    return float(((rows[column] - rows["true_cost"]) / rows["true_cost"]).mean())
