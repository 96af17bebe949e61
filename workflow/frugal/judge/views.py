"""Information of one record in each view of the problem, and its positivity needs (A.10).

Positivity is that of the true law where the missingness was induced, else that of the fitted one.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, factorial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from frugal.acquire.set_probability import rows_in_parts
from frugal.core.blocks import tree_sum
from frugal.core.errors import DataError
from frugal.core.table import Table
from frugal.core.world import distinct_sets
from frugal.judge.case import Case, acquired_sets
from frugal.missing.chain import IndicatorChain, chain_of
from frugal.missing.graphs import MissingnessGraph
from frugal.missing.law import (
    MOST_SUMMED,
    factorised_patterns,
    missable_patterns,
    pattern_probability,
)

VIEWS = (
    "off_policy_sequence",
    "off_policy_set",
    "black_box",
    "off_environment_bandit",
    "off_environment_sequence",
)


@dataclass(frozen=True)
class ViewEfficiency:
    """Data efficiency of one view, averaged over rows.

    Attributes:
        view: one of `VIEWS`.
        trajectories: mean n_Û, distinct acquisition sequences that one row can evaluate.
        runs: mean n_runs, times the policy must be run on a row to evaluate them.
        usable_share: share of rows that can evaluate any sequence.
    """

    view: str
    trajectories: float
    runs: float
    usable_share: float


@dataclass(frozen=True)
class ViewPositivity:
    """How nearly one view lacks the support that it needs for one policy.

    Attributes:
        view: one of `VIEWS`.
        minimum: least required probability over the rows.
        share_below: share of rows whose required probability is below the threshold.
        upper_bound: True if the requirement is at most this, because the records hold sets, not
            orders, and an order is never likelier than its set.
    """

    view: str
    minimum: float
    share_below: float
    upper_bound: bool


def trajectory_count(panels: int) -> int:
    """Distinct sequences, each then stopped, that can be made of k panels.

    n_Û = Σ_{i=0..k} i! · C(k, i)      [afape, table A.1]
    """
    return sum(factorial(i) * comb(panels, i) for i in range(panels + 1))


def _as_float(count: int) -> float:
    """A count as a float; infinite beyond the largest."""
    return float(count) if count <= sys.float_info.max else float("inf")


def data_efficiency(rows: Int[np.ndarray, " k"]) -> tuple[ViewEfficiency, ...]:
    """Table A.1 for a mask: mean n_Û and n_runs over rows, for each view.

    With k = ‖R‖₁ observed of a panels [afape, table A.1]:

        off_policy_sequence       n_Û = 1               n_runs = 1
        off_policy_set            n_Û = k!              n_runs = 1
        black_box                 n_Û = Σᵢ i! C(a, i)   n_runs = 2^a      (0 and 0 unless k = a)
        off_environment_bandit    n_Û = Σᵢ i! C(k, i)   n_runs = 2^k
        off_environment_sequence  n_Û = Σᵢ i! C(k, i)   n_runs = n_Û

    Args:
        rows: how many have k = 0, 1, … a panels that can be acquired on record. (a + 1,)

    Raises:
        DataError: there is no row.
    """
    n, a = rows.sum(), len(rows) - 1
    if n == 0:
        raise DataError("the mask has 0 rows; data efficiency is a mean over at least one")
    share = rows / n  # of rows with k = 0..a
    counts = range(a + 1)

    def mean(per_count: list[int]) -> float:
        value = np.array([_as_float(count) for count in per_count])
        return float(share @ np.where(share > 0, value, 0.0))  # 0 times what is too large is 0

    unity = mean([1 for _ in counts])
    orders = mean([factorial(k) for k in counts])
    within = mean([trajectory_count(k) for k in counts])
    subsets = mean([2**k for k in counts])
    complete = float(share[a])
    return (
        ViewEfficiency("off_policy_sequence", unity, unity, 1.0),
        ViewEfficiency("off_policy_set", orders, unity, 1.0),
        ViewEfficiency(
            "black_box",
            complete * _as_float(trajectory_count(a)) if complete else 0.0,
            complete * _as_float(2**a) if complete else 0.0,
            complete,
        ),
        ViewEfficiency("off_environment_bandit", within, subsets, 1.0),
        ViewEfficiency("off_environment_sequence", within, within, 1.0),
    )


def needed_probability(
    pattern_probability: Float[np.ndarray, "n q"],
    patterns: Bool[np.ndarray, "q a"],
    policy_sets: Bool[np.ndarray, "t a"],
) -> Float[np.ndarray, "3 n"]:
    """Probabilities of each row x that one policy requires to be positive  [afape, sec. A.10].

        off_policy_sequence, _set   min over t of p(R = t | x)      (the order: an upper bound)
        black_box                   p(R = 1 | x)
        off_environment             min over t of p(R ⊇ t | x)

    The sums over supersets are made for all 2^v sets of the v panels that some pattern lacks at
    once, panel by panel.

    Args:
        pattern_probability: p(R = pattern | x). (n, q)
        patterns: distinct; a pattern not listed has probability zero. (q, a)
        policy_sets: sets t that the policy may end with. (t, a)

    Raises:
        DataError: no row or set is given, a pattern is listed twice, or a probability is outside
            [0, 1] or sums to more than 1.
    """
    _check_patterns(pattern_probability, policy_sets)
    lacked = ~patterns.all(axis=0)
    place = 2 ** np.arange(int(lacked.sum()), dtype=np.int64)
    code = patterns[:, lacked] @ place
    if len(np.unique(code)) < len(code):
        raise DataError("a missingness pattern is listed twice; patterns must be distinct")
    by_set = np.zeros((len(pattern_probability), 2 ** len(place)))
    by_set[:, code] = pattern_probability
    codes = policy_sets[:, lacked] @ place
    possible = policy_sets[:, ~lacked].all(axis=1)  # what is never lacked belongs to every pattern
    exact = np.where(possible, by_set[:, codes], 0.0).min(axis=1)
    complete = by_set[:, -1].copy()
    for bit in place:
        halves = by_set.reshape(len(by_set), -1, 2, int(bit))
        halves[:, :, 0] += halves[:, :, 1]
    return np.stack([exact, complete, by_set[:, codes].min(axis=1)])


@dataclass(frozen=True, eq=False)
class NeededSums:
    """Probabilities that must be positive: exactly the sets, R = 1, supersets.

    Attributes:
        rows: n.
        least: over the rows. (3,)
        below: rows below the threshold. (3,)
    """

    rows: int
    least: Float[np.ndarray, " 3"]
    below: Int[np.ndarray, " 3"]

    @classmethod
    def of(cls, needed: Float[np.ndarray, "3 n"], threshold: float) -> "NeededSums":
        """Summary of `needed_probability` for some rows."""
        return cls(
            needed.shape[1], needed.min(axis=1, initial=np.inf), (needed < threshold).sum(axis=1)
        )

    def __add__(self, other: "NeededSums") -> "NeededSums":
        return NeededSums(
            self.rows + other.rows, np.minimum(self.least, other.least), self.below + other.below
        )

    def views(self) -> tuple[ViewPositivity, ...]:
        """The least and the share below the threshold, per view."""
        exact, complete, superset = range(3)
        required = (exact, exact, complete, superset, superset)
        return tuple(
            ViewPositivity(
                view,
                float(self.least[k]),
                float(self.below[k] / self.rows),
                view == "off_policy_sequence",
            )
            for view, k in zip(VIEWS, required, strict=True)
        )


def _check_patterns(
    pattern_probability: Float[np.ndarray, "n q"], policy_sets: Bool[np.ndarray, "t a"]
) -> None:
    if len(pattern_probability) == 0 or len(policy_sets) == 0:
        raise DataError(
            f"{len(pattern_probability)} rows and {len(policy_sets)} policy sets were given; "
            f"at least one of each is needed"
        )
    if not ((pattern_probability >= 0) & (pattern_probability <= 1)).all():
        raise DataError("a pattern probability is not within [0, 1]")
    largest = pattern_probability.sum(axis=1).max()
    if largest > 1 + 1e-6:  # rounding of fitted probabilities
        raise DataError(f"pattern probabilities of a row sum to {largest}; at most 1 is allowed")


MOST_SETS = 1024  # of a policy, looked through where patterns are too many to be listed

ProbabilityOfRows = Callable[[np.ndarray], np.ndarray]  # rows → p(R = pattern | x), (m, q)


@dataclass(frozen=True, eq=False)
class Seen:
    """Inputs of the views for one policy, small enough to be kept; joined from blocks and seeds.

    Attributes:
        observed: rows with 0, 1, … a panels recorded. (a + 1,)
        fitted: rows in which every fitted factor is known.
        sets: that the policy ends with where nothing is missing: on the full table, or on complete
            cases where that is unknown. (t, a)
    """

    observed: np.ndarray
    fitted: int
    sets: np.ndarray

    @classmethod
    def of(cls, case: Case) -> "Seen":
        """The part of a case that the views read."""
        ended = case.blocked[case.complete] if case.full is None else case.full
        return cls(
            np.bincount(case.observed.sum(axis=1), minlength=case.observed.shape[1] + 1),
            int(np.isfinite(case.factors).all(axis=1).sum()),
            distinct_sets(acquired_sets(ended)).sets,
        )

    def __add__(self, other: "Seen") -> "Seen":
        sets = distinct_sets(np.concatenate([self.sets, other.sets])).sets
        return Seen(self.observed + other.observed, self.fitted + other.fitted, sets)


@dataclass(frozen=True, eq=False)
class ViewRows:
    """Some rows that the views are compared on.

    Attributes:
        data: a block of the table; standardised laws are settled.
        rows: positions in it of its test rows. (n,)
        factors: fitted p(R_j = 1 | its causes) of these rows, in every seed. (m, a)
    """

    data: Table
    rows: np.ndarray
    factors: np.ndarray


def compare_views(
    blocks: Iterable[ViewRows],
    layout: Table,
    graph: Mapping[str, Any],
    policy_sets: Seen,
    identification: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> pd.DataFrame:
    """Table A.1 and the positivity comparison of A.10 for these records and this policy.

    Args:
        blocks: test rows, read only where the positivity follows from them.
        layout: the table's panels.
        graph: with `source`, as `draw_missingness` stored it, settled.
        policy_sets: of the policy, in all blocks and seeds.
        identification: as `draw_missingness` stored it.
        settings: of the stage.
    """
    threshold = settings["positivity_threshold"]
    wide = len(graph["indicators"]) > MOST_SUMMED
    reason = ""
    if wide and len(policy_sets.sets) > MOST_SETS:
        reason = (
            f"The policy ends with {len(policy_sets.sets)} sets of panels; where more than "
            f"{MOST_SUMMED} panels can be missing, at most {MOST_SETS} are looked through."
        )
    if not reason and graph["source"] != "induced":
        reason = _unknown(graph, policy_sets.fitted, identification)
    views = data_efficiency(policy_sets.observed)
    support: Sequence[Any] = [None] * len(VIEWS)
    if not reason:
        needed = (_needed(entry, layout, graph, policy_sets.sets, wide=wide) for entry in blocks)
        sums = (NeededSums.of(part, threshold) for part in needed)
        support = tree_sum(sums).views()
    return pd.DataFrame(
        {
            "view": view.view,
            "trajectories": view.trajectories,
            "runs": view.runs,
            "minimum_probability": np.nan if entry is None else entry.minimum,
            "share_below_threshold": np.nan if entry is None else entry.share_below,
            "threshold": threshold,
            "reason": reason,
        }
        for view, entry in zip(views, support, strict=True)
    )


def _needed(
    view_rows: ViewRows, layout: Table, graph: Mapping[str, Any], sets: np.ndarray, *, wide: bool
) -> np.ndarray:
    """Required probabilities: by the true law, or of every seed by the fitted one. (3, m)

    Of the latter, of the rows and seeds with a known X_adj.
    """
    model, data, rows = MissingnessGraph.from_dict(graph), view_rows.data, view_rows.rows
    if graph["source"] == "induced":
        if wide:
            return _by_events(chain_of(model, data, rows), len(rows), sets)
        patterns = missable_patterns(model, data)
        return _in_parts(
            len(rows),
            patterns,
            sets,
            lambda part: pattern_probability(model, data, patterns, rows=rows[part]),
        )
    factors = view_rows.factors[np.isfinite(view_rows.factors).all(axis=1)]
    if wide:
        missable = [j for j, p in enumerate(layout.actions) if p.name in graph["indicators"]]
        chain = IndicatorChain(missable, {}, lambda j, at, observed: factors[at, j])
        return _by_events(chain, len(factors), sets)
    patterns = missable_patterns(model, layout)
    return _in_parts(
        len(factors), patterns, sets, lambda part: factorised_patterns(factors[part], patterns)
    )


def _by_events(chain: IndicatorChain, n: int, sets: np.ndarray) -> np.ndarray:
    """Probabilities of each row that must be positive, set by set. (3, n)"""
    rows, a = np.arange(n), sets.shape[1]
    needed = np.ones((3, n))
    needed[1] = chain.exactly(rows, np.ones(a, dtype=bool))
    for subset in sets:
        needed[0] = np.minimum(needed[0], chain.exactly(rows, subset))
        required = np.broadcast_to(subset, (n, a))
        needed[2] = np.fmin(needed[2], chain.joint_probability(rows, required))
    return needed


def _unknown(graph: Mapping[str, Any], fitted: int, identification: Mapping[str, Any]) -> str:
    """Why the positivity of own records is not known; empty if it is."""
    if not identification["propensity_identified"]:
        return " ".join(r for r in identification["reasons"] if "not identified" in r)
    if any(factor["indicators"] for factor in graph["indicators"].values()):
        return (
            "One missingness indicator causes another, so that the fitted factors give no law of "
            "patterns."
        )
    return "" if fitted else "The law of some panel could not be fitted."


def _in_parts(
    rows: int, patterns: np.ndarray, sets: np.ndarray, probability_of: ProbabilityOfRows
) -> np.ndarray:
    """Required probabilities of rows, as many at a time as memory allows. (3, rows)"""
    needed = np.empty((3, rows))
    for part in rows_in_parts(np.zeros((rows, 1), dtype=bool), len(patterns) + len(sets)):
        needed[:, part] = needed_probability(probability_of(part), patterns, sets)
    return needed
