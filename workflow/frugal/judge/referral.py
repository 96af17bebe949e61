"""Cases that a policy hands to a person: at a price, and with a bound on the cost of its errors.

At its end a policy decides, or refers the case where its decision is expected to cost at least λ
[Chow, IEEE Trans. Inf. Theory 16, 1970]:

    s(x) = Σᵢ p(i | x) c(i, decision) ≥ λ

λ is the price of a person, or less: for each pattern of missing panels the largest at which
decisions without a person cost at most α a case [Angelopoulos et al., ICLR 2024, thm 1]:

    λ̂ = sup {λ ≤ price : (Σᵢ cᵢ 1{sᵢ < λ} + B) / (n + 1) ≤ α},   B the most expensive error

A new case that is exchangeable with the n cases of its pattern has E[c 1{s < λ̂}] ≤ α, whatever the
probabilities; where λ̂ is below the price, it is above α − 2B / (n + 1) if no two scores
are equal. Knows no policy.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from frugal.core.world import distinct_sets
from frugal.judge.intervals import mean_error
from frugal.judge.semi_offline import Paths

LEAST = 125  # cases of a pattern; 2 / (n + 1) is below 0.02 for four fifths; rarer ones are pooled


def expected_costs(paths: Paths, errors: Float[np.ndarray, "k k"]) -> Float[np.ndarray, " n"]:
    """Expected cost of the decision at the end of each path; NaN without a belief. (n,)"""
    return (paths.last_belief @ errors)[np.arange(len(paths.verdict)), paths.verdict]


def referred(
    paths: Paths, errors: Float[np.ndarray, "k k"], threshold: Float[np.ndarray, "..."] | float
) -> Paths:
    """The same, with the verdict k where the expected cost of the decision is at least λ.

    Args:
        paths: of a policy that decides every case.
        errors: cost of a verdict (column) on a class (row).
        threshold: λ, one or of each row.
    """
    refers = paths.complete & (expected_costs(paths, errors) >= threshold)
    return replace(paths, verdict=np.where(refers, len(errors), paths.verdict))


def conformal_threshold(
    score: Float[np.ndarray, " n"],
    cost: Float[np.ndarray, " n"],
    *,
    most: float,
    bound: float,
    price: float,
) -> float:
    """λ̂, at or above which a case is referred; 0 where n is too small for the bound.

    Args:
        score: expected cost of each decision.
        cost: its cost by the label, from 0 to `most`.
        most: B.
        bound: α.
        price: of a person, the largest λ.
    """
    order = np.argsort(score, kind="stable")
    risk = (np.append(0.0, cost[order].cumsum()) + most) / (len(score) + 1)
    if risk[0] > bound:
        return 0.0
    beyond = score[order][risk[1:] > bound]
    return min(price, float(beyond[0])) if len(beyond) else price


def pattern_groups(
    observed: Bool[np.ndarray, "n a"], least: int = LEAST
) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, "g a"]]:
    """Number of each row's pattern, the commonest first, and the patterns.

    All with fewer than `least` rows have the number g, after the g others. (n,), (g, a)
    """
    distinct = distinct_sets(observed)
    ranked = np.argsort(-distinct.count, kind="stable")
    common = int((distinct.count >= least).sum())
    place = np.empty(len(ranked), dtype=np.int64)
    place[ranked] = np.minimum(np.arange(len(ranked)), common)
    return place[distinct.which], distinct.sets[ranked[:common]]


def by_pattern(
    paths: Paths,
    label: Int[np.ndarray, " n"],
    fold: Int[np.ndarray, " n"],
    observed: Bool[np.ndarray, "n a"],
    errors: Float[np.ndarray, "k k"],
    *,
    price: float,
    bound: float,
) -> Iterator[dict[str, Any]]:
    """Thresholds of each pattern of missing panels, and the cost of decisions by them.

    A row for each: positions of the `missing` panels (None: of rarer patterns together), `rows`,
    `threshold` λ̂ by all of them; by those of the other folds `share` referred, cost of `errors`
    without a person and its `std_error` (None: of one row); cost of errors
    `before`, if no case is referred.

    Args:
        paths: of a policy that queries only for panels of the record, so all are complete.
        label: class of each row.
        fold: of each row; thresholds are judged on other folds than they come from.
        observed: panels of the record.
        errors: cost of a verdict (column) on a class (row).
        price: of a person.
        bound: α, in the unit of costs.
    """
    score, cost = expected_costs(paths, errors), errors[label, paths.verdict]
    most = float(errors.max())

    def threshold(rows: Bool[np.ndarray, " n"]) -> float:
        return conformal_threshold(score[rows], cost[rows], most=most, bound=bound, price=price)

    group, patterns = pattern_groups(observed)
    for k in range(int(group.max()) + 1):
        inside = group == k
        limit = np.zeros(len(label))
        for part in np.unique(fold):
            limit[fold == part] = threshold(inside & (fold != part))
        decides = (score < limit)[inside]
        left = np.where(decides, cost[inside], 0.0)
        yield {
            "missing": np.flatnonzero(~patterns[k]).tolist() if k < len(patterns) else None,
            "rows": int(inside.sum()),
            "threshold": threshold(inside),
            "share": float(1 - decides.mean()),
            "errors": float(left.mean()),
            "std_error": float(mean_error(left[:, None] - left.mean())[0])
            if len(left) > 1
            else None,
            "before": float(cost[inside].mean()),
        }
