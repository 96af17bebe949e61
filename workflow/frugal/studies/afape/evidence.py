"""Counts over the rows of a case that decide which estimators can be computed, by blocks.

Obstacles and warnings are derived from these alone. Knows the needs of estimators; must not know
one by its name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from frugal.core.world import distinct_sets
from frugal.judge.case import Case, acquired_sets
from frugal.judge.estimator import Estimator, Need, Terms
from frugal.judge.intervals import cluster_sums
from frugal.judge.sums import Tally
from frugal.studies.afape.positivity import PropensitySums

READ_BY_ROW = (
    Need.PROPENSITY,
    Need.TRUE_PROPENSITY,
    Need.S_PROPENSITY,
    Need.AFA_PROPENSITY,
    Need.AFA_PROPENSITY_BY_POLICY,
    Need.TRUE_AFA_PROPENSITY,
    Need.OUTCOME_MEAN,
)
DIVISORS = {Need.PROPENSITY, Need.TRUE_PROPENSITY, Need.S_PROPENSITY}
ON_S_ROWS = {Need.S_PROPENSITY, Need.OUTCOME_MEAN}  # read where R_s = 1, at any weight
RECORDED_SETS = (Need.SET_PROBABILITY, Need.SEQUENCE_PROBABILITY)
WEIGHTS = (Need.PROPENSITY, Need.TRUE_PROPENSITY, Need.PATTERN_PROPENSITY)
_PROBABILITIES = (
    "complete_probability",
    "afa_propensity_policy",
    "true_afa_propensity",
    "pattern_propensity",
    "set_probability",
    "sequence_probability",
)


@dataclass(frozen=True, eq=False)
class Among:
    """Some of the rows: how many, and their contents.

    Attributes:
        count: rows.
        out_of: rows among which they are.
        unfitted: panels whose law is not known in one of them. (a,)
        lacking: panels that one of them lacks. (a,)
        impossible: panels whose probability is 0 in one of them. (a,)
    """

    count: int
    out_of: int
    unfitted: np.ndarray
    lacking: np.ndarray
    impossible: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, of: np.ndarray, case: Case) -> "Among":
        """Those of a block."""
        factors = case.factors[rows]
        return cls(
            int(rows.sum()),
            int(of.sum()),
            np.asarray(np.isnan(factors).any(axis=0)),
            np.asarray(~case.observed[rows].all(axis=0)),
            np.asarray((factors == 0).any(axis=0)),
        )

    def __add__(self, other: "Among") -> "Among":
        return Among(
            self.count + other.count,
            self.out_of + other.out_of,
            self.unfitted | other.unfitted,
            self.lacking | other.lacking,
            self.impossible | other.impossible,
        )


@dataclass(frozen=True, eq=False)
class RecordedSets:
    """Support of the policy in the records, in the set view or in the sequence view.

    Attributes:
        unknown: rows in which its probability of the recorded set is not known.
        lost: rows in which it is above zero and p(R=r|X_adj) is not known.
        zero: likewise, but p(R=r|X_adj) is 0.
        weight: of its probability over p(R=r|X_adj), as the terms of a mean.
        clusters: sum of that weight, and rows, of each cluster; None where each row is its own
            cluster. (g, 2)
        first: recorded set → its probability in the first row with the set.
    """

    unknown: int
    lost: int
    zero: Among
    weight: Tally
    clusters: np.ndarray | None
    first: Mapping[bytes, float]


class PolicyEvidence:
    """Of one policy and seed.

    Args:
        estimators: in question.
        clusters: how many there are; 0: each row is its own.
    """

    def __init__(self, estimators: Iterable[Estimator], clusters: int = 0) -> None:
        self._estimators, self._clusters = list(estimators), clusters
        self.rows = 0
        self.complete = 0
        self.gaps_matter = False  # to the policy, in any row
        self.nan = dict.fromkeys(_PROBABILITIES, 0)  # rows without a value
        self.s_unknown = 0  # rows with R_s = 1 and no p(R_s=1|X_adj)
        self.never_fitted = np.zeros(0, dtype=bool)  # panels whose law is known in no row
        self.every: Among | None = None
        self.lost: dict[tuple[Need, bool], Among] = {}
        self.zero: dict[tuple[frozenset[Need], bool], Among] = {}
        self.recorded: dict[Need, RecordedSets] = {}
        self.propensities: dict[Need, PropensitySums] = {}
        self.sets: dict[bytes, np.ndarray] = {}  # that records hold
        self.full_sets: dict[bytes, tuple[np.ndarray, int, int]] = {}  # set, rows, in record order
        self._head: Case | None = None

    @property
    def head(self) -> Case:
        """The first block, of which only values common to all blocks may be read."""
        assert self._head is not None, "bug: evidence of no row"
        return self._head

    @property
    def identification(self) -> Mapping[str, Any]:
        """As `draw_missingness` stored it."""
        return self.head.identification

    def add(self, case: Case) -> None:
        """The next block."""
        n, a = case.observed.shape
        unknown = np.asarray(np.isnan(case.factors).all(axis=0))
        every = np.ones(n, dtype=bool)
        all_rows = Among.of(every, every, case)
        if self._head is None:
            self._head, self.never_fitted = case, np.ones(a, dtype=bool)
        self.every = all_rows if self.every is None else self.every + all_rows
        self.never_fitted = self.never_fitted & unknown
        self.rows += n
        self.complete += int(case.complete.sum())
        self.gaps_matter |= case.gaps_matter
        for name in _PROBABILITIES:
            self.nan[name] += int(np.isnan(case.fitted[name]).sum())
        self.s_unknown += int(np.isnan(case.fitted["s_propensity"][case.s_observed]).sum())
        self._add_read_by_row(case)
        self._add_sets(case)
        for need in WEIGHTS:
            if any(estimator.propensity is need for estimator in self._estimators):
                sums = PropensitySums.of(case.complete, case.fitted[need.value])
                sums_before = self.propensities.get(need)
                self.propensities[need] = sums if sums_before is None else sums_before + sums

    def _add_read_by_row(self, case: Case) -> None:
        """Values that are not known, and divisors that are zero, for the inputs of estimators."""
        kinds = {True: case.complete, False: case.s_observed}
        values = {need: value_of(need, case) for need in READ_BY_ROW}
        done: set[tuple[object, bool]] = set()
        for estimator in self._estimators:
            complete = Need.COMPLETE_CASES in estimator.needs
            read = [need for need in READ_BY_ROW if need in estimator.needs]
            divided = frozenset(DIVISORS.intersection(read))
            for need in read:
                if (need, complete) not in done:
                    rows = case.s_observed if need in ON_S_ROWS else kinds[complete]
                    lost = Among.of(rows & ~np.isfinite(values[need]), rows, case)
                    _join(self.lost, (need, complete), lost)
            if (divided, complete) not in done:
                zero = np.zeros(len(case.complete), dtype=bool)
                for need in divided:
                    rows = case.s_observed if need in ON_S_ROWS else kinds[complete]
                    zero |= rows & (values[need] == 0)
                _join(self.zero, (divided, complete), Among.of(zero, zero, case))
            done |= {(need, complete) for need in read} | {(divided, complete)}

    def _add_sets(self, case: Case) -> None:
        """Sets that records hold, and sets that the policy ends with where nothing is missing."""
        needs = [need for need in RECORDED_SETS if any(need in e.needs for e in self._estimators)]
        recorded = distinct_sets(case.observed)
        names = [row.tobytes() for row in np.ascontiguousarray(recorded.sets)]
        for need in needs:
            self._add_recorded(need, case, dict(zip(names, recorded.first.tolist(), strict=True)))
        self.sets |= dict(zip(names, recorded.sets, strict=True))
        if case.full is None:
            return
        ended = distinct_sets(acquired_sets(case.full))
        order = np.ones(len(case.full)) if case.in_record_order is None else case.in_record_order
        listed = np.bincount(ended.which, weights=order == 1, minlength=len(ended.sets))
        for row, count, in_order in zip(
            np.ascontiguousarray(ended.sets), ended.count, listed, strict=True
        ):
            before = self.full_sets.get(row.tobytes(), (row, 0, 0))
            self.full_sets[row.tobytes()] = (row, before[1] + int(count), before[2] + int(in_order))

    def _add_recorded(self, need: Need, case: Case, first: Mapping[bytes, int]) -> None:
        by_policy, pattern = case.fitted[need.value], case.fitted["pattern_propensity"]
        zero, each = (by_policy > 0) & (pattern == 0), np.ones(len(by_policy))
        usable = (by_policy > 0) & (pattern > 0)
        weight = np.divide(by_policy, pattern, out=np.zeros(len(by_policy)), where=usable)
        before = self.recorded.get(need)
        tally = Tally.of(
            Terms(weight[:, None], each, each), 0, None if before is None else before.weight.centre
        )
        first_of_set = {name: float(by_policy[at]) for name, at in first.items()}
        summed = None
        if case.cluster is not None:
            summed = cluster_sums(np.column_stack([weight, each]), case.cluster, self._clusters)
        new = RecordedSets(
            int(np.isnan(by_policy).sum()),
            int(((by_policy > 0) & np.isnan(pattern)).sum()),
            Among.of(zero, zero, case),
            tally,
            summed,
            first_of_set,
        )
        self.recorded[need] = (
            new
            if before is None
            else RecordedSets(
                before.unknown + new.unknown,
                before.lost + new.lost,
                before.zero + new.zero,
                before.weight + new.weight,
                None if before.clusters is None or summed is None else before.clusters + summed,
                {**first_of_set, **before.first},
            )
        )


def value_of(need: Need, case: Case) -> np.ndarray:
    """Values read row by row, NaN where unknown. (n,)"""
    if need is Need.OUTCOME_MEAN:
        return case.outcome_mean.sum(axis=1)
    return case.fitted[need.value]


def _join(sums: dict[Any, Among], key: Any, rows: Among) -> None:
    sums[key] = sums[key] + rows if key in sums else rows
