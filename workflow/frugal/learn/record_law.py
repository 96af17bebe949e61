"""Probability that a record holds a set of panels, by regressions that always exist.

A policy that requests the panels S can be followed on the records that hold S; such a record then
represents 1 / p(R_S = 1 | x) records. Each panel's probability is a logistic regression on the
columns that cause its missingness, with a ridge chosen by cross-fitted loss. The probability of a
set is the product of its panels', recalibrated by one more regression, so panels of one tube
or order need no law of their own. Where a cause is itself missing from some records, the set grows
by the panel that holds it (`RecordLaw.closure`). Of rows that were recorded by a design the
probabilities are known, and replace fitted ones. Must not know a policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit, logit, ndtri

from frugal.core.errors import GraphError
from frugal.core.scaling import fit_scaling
from frugal.learn.weighted_logistic import logistic_mode

RIDGES = (2.0, 20.0, 200.0)  # prior precisions of a slope, per standard deviation of its column
FREE = 1e-3  # prior precision of an intercept
CALIBRATION = (0.5, 4.0)  # prior precisions of intercept and slope of a set's calibration
PSEUDO_ROWS = 0.5  # by which a fitted probability is kept from 0 and 1
DONE = 1e-14  # squared Newton decrement at which a fit ends


@dataclass(frozen=True)
class Causes:
    """Causes of the missingness of one panel, those of causal indicators included.

    Attributes:
        columns: encoded columns, by index.
        label: whether the label is one.
    """

    columns: tuple[int, ...]
    label: bool = False


@dataclass(frozen=True, eq=False)
class RecordedLabels:
    """Which records have a label, and the probability of it; see `judge.recorded_labels`. n rows.

    Attributes:
        present: R. (n,)
        chance: π given known columns and recorded panels, by the other folds. (n,)
        columns: those that every record holds. (n, w)
        contradicted: columns on which R depends beyond that, by index; see `contradictions`.
    """

    present: Bool[np.ndarray, " n"]
    chance: Float[np.ndarray, " n"]
    columns: Float[np.ndarray, "n w"]
    contradicted: Sequence[int] = ()

    @property
    def weight(self) -> Float[np.ndarray, " n"]:
        """R / π. (n,)"""
        return np.where(self.present, 1 / self.chance, 0.0)


@dataclass(frozen=True, eq=False)
class KnownLaw:
    """Probabilities by which a design recorded some of n rows. c sets of panels, a panels.

    Attributes:
        designed: rows that were recorded by it. (n,)
        sets: panels that are recorded together; those that no row lacks count as recorded. (c, a)
        chance: of each set for each row, also for rows recorded otherwise; at most 1 in sum, the
            rest is that no panel is recorded. (n, c)
    """

    designed: Bool[np.ndarray, " n"]
    sets: Bool[np.ndarray, "c a"]
    chance: Float[np.ndarray, "n c"]

    def probability(self, panels: Bool[np.ndarray, " a"]) -> Float[np.ndarray, " n"]:
        """p(R_S = 1) of a set of panels; sums over the sets that hold it. (n,)"""
        holds = (panels <= self.sets).all(axis=1)
        return self.chance[:, holds].sum(axis=1) if panels.any() else np.ones(len(self.chance))


@dataclass(eq=False)
class RecordLaw:
    """p(R_S = 1 | causes) of sets of panels, cross-fitted. n rows, d columns, a panels.

    Attributes:
        observed: R. (n, a)
        values: as recorded; NaN where missing. (n, d)
        label: class index; −1 where the record lacks it. (n,)
        fold: of each row; a row's probabilities come from the other folds. (n,)
        causes: of each panel's missingness.
        provides: columns that each panel reveals. (a, d)
        labels: the law of the labels' being recorded; None where every record has one.
        protocol: probabilities of rows that a design recorded; None where there are none.
        unsupported: panels that (almost) no record like the row's holds; the law of a panel is
            that of the other rows. None: every panel has records of every kind. (n, a)
    """

    observed: Bool[np.ndarray, "n a"]
    values: Float[np.ndarray, "n d"]
    label: Int[np.ndarray, " n"]
    fold: Int[np.ndarray, " n"]
    causes: Sequence[Causes]
    provides: Bool[np.ndarray, "a d"]
    labels: RecordedLabels | None = None
    protocol: KnownLaw | None = None
    unsupported: Bool[np.ndarray, "n a"] | None = None
    _sets: dict[bytes, np.ndarray] = field(default_factory=dict)

    @cached_property
    def requires(self) -> Sequence[frozenset[int]]:
        """For each panel, the panels with a cause of its missingness, causes of causes included.

        Raises:
            GraphError: the missingness of a panel depends on values of that panel.
        """
        gappy = np.asarray(~np.isfinite(self.values).all(axis=0))
        direct = [{self._holder(c) for c in causes.columns if gappy[c]} for causes in self.causes]
        grown = [set(causes) for causes in direct]
        for _ in grown:
            for causes in grown:
                causes |= set().union(*(grown[k] for k in causes))
        for j, causes in enumerate(grown):
            if j in causes:
                raise GraphError(f"gaps of panel number {j} depend on values of that panel")
        return [frozenset(causes) for causes in grown]

    def _holder(self, column: int) -> int:
        """The panel that reveals a column, the one recorded most often."""
        able = np.flatnonzero(self.provides[:, column])
        return int(able[self.observed[:, able].mean(axis=0).argmax()])

    def closure(self, sets: Bool[np.ndarray, "m a"]) -> Bool[np.ndarray, "m a"]:
        """Sets with all panels that their probability needs. (m, a)"""
        grown = sets.copy()
        for j, needed in enumerate(self.requires):
            grown[:, sorted(needed)] |= sets[:, [j]]
        return grown

    def probability(self, panels: Bool[np.ndarray, " a"]) -> Float[np.ndarray, " n"]:
        """p(R_S = 1 | causes) of a closed set; NaN where a cause is not recorded. (n,)

        Where a design recorded a share m of the rows, of every row (1 − m) times the fitted
        probability plus m times the known one: the probability that a row of either kind holds the
        set  [balance heuristic; Veach and Guibas, SIGGRAPH 1995].
        """
        key = panels.tobytes()
        if key not in self._sets:
            gappy = panels & ~self.observed.all(axis=0)
            result = self._fitted(np.flatnonzero(gappy).tolist())
            if self.protocol is not None:
                share = float(self.protocol.designed.mean())
                by_design = share * self.protocol.probability(gappy)
                result = by_design if share == 1 else (1 - share) * result + by_design
            self._sets[key] = result
        return self._sets[key]

    def _fitted(self, chosen: Sequence[int]) -> np.ndarray:
        """p(R_S = 1 | causes) of incomplete panels among rows that no design recorded. (n,)"""
        if self.known:
            return np.ones(len(self.fold))
        later = [j for j in chosen if self.requires[j]]
        result = self._joint([j for j in chosen if not self.requires[j]])
        return np.prod([result, *(self.panel[j] for j in later)], axis=0)

    @cached_property
    def known(self) -> bool:
        """Whether a design recorded every row, so nothing is fitted."""
        return not self.habitual.any()

    @cached_property
    def habitual(self) -> Bool[np.ndarray, " n"]:
        """Rows that no design recorded; the fitted law is of these. (n,)"""
        if self.protocol is None:
            return np.ones(len(self.fold), dtype=bool)
        return ~self.protocol.designed

    @cached_property
    def panel(self) -> Mapping[int, Float[np.ndarray, " n"]]:
        """p(R_j = 1 | causes, panels that hold them recorded) of each panel. (n,) each"""
        return {j: self._of_panel(j) for j in range(len(self.causes))}

    def usable(self, j: int) -> Bool[np.ndarray, " n"]:
        """Rows with records like them, that hold every cause of panel j's missingness. (n,)"""
        usable = np.asarray(self.observed[:, sorted(self.requires[j])].all(axis=1))
        return usable if self.unsupported is None else usable & ~self.unsupported[:, j]

    def _of_panel(self, j: int) -> np.ndarray:
        recorded, causes = self.observed[:, j], self.causes[j]
        if recorded.all():
            return np.ones(len(recorded))
        inputs = [self.values[:, list(causes.columns)]]
        if causes.label:
            inputs.append((self.label[:, None] == np.arange(1, self.label.max() + 1)).astype(float))
        design = np.hstack(inputs)
        usable = self.usable(j)
        fits = [self._cross_fitted(design, recorded, usable, ridge) for ridge in RIDGES]
        rows = usable & self.habitual
        return min(fits, key=lambda p: _loss(p[rows], recorded[rows]))

    def _joint(self, chosen: Sequence[int]) -> np.ndarray:
        """The product of some panels' probabilities, recalibrated. (n,)"""
        product = np.prod([np.ones(len(self.fold)), *(self.panel[j] for j in chosen)], axis=0)
        if len(chosen) < 2:
            return product
        all_recorded = np.asarray(self.observed[:, chosen].all(axis=1))
        design = np.column_stack([np.ones(len(product)), logit(product)])
        result, able = np.full(len(product), np.nan), np.isfinite(product)
        for learn, ask in self._parts():
            of, to = learn & able, ask & able
            fitted = mode(design[of], all_recorded[of], CALIBRATION, towards=(0.0, 1.0))
            result[to] = expit(design[to] @ fitted)
        return _inside(result, int((able & self.habitual).sum()))

    def _cross_fitted(
        self, inputs: np.ndarray, target: np.ndarray, usable: np.ndarray, ridge: float
    ) -> np.ndarray:
        """Each row's probability by the other folds; NaN where not usable. (n,)"""
        result = np.full(len(target), np.nan)
        design = np.column_stack([np.ones(len(inputs)), fit_scaling(inputs).standardise(inputs)])
        precision = [FREE, *np.full(inputs.shape[1], ridge)]
        for learn, ask in self._parts():
            of, to = learn & usable, ask & usable
            result[to] = expit(design[to] @ mode(design[of], target[of], precision))
        return _inside(result, int((usable & self.habitual).sum()))

    def _parts(self) -> Sequence[tuple[np.ndarray, np.ndarray]]:
        """For each fold, rows to learn from and rows to predict."""
        folds = np.unique(self.fold)
        return [((self.fold != k) & self.habitual, self.fold == k) for k in folds]


def mode(
    design: Float[np.ndarray, "n p"],
    target: Bool[np.ndarray, " n"],
    precision: Sequence[float],
    *,
    towards: Sequence[float] | None = None,
) -> Float[np.ndarray, " p"]:
    """Coefficients of a logistic regression under normal priors of these precisions and means."""
    start = np.zeros(design.shape[1]) if towards is None else np.array(towards)
    return logistic_mode(
        design,
        target.astype(np.int64),
        np.ones(len(target)),
        precision=np.array(precision),
        start=start,
        decrement=DONE,
        towards=start,
    )[0]


def _inside(probability: np.ndarray, rows: int) -> np.ndarray:
    """Kept from 0 and 1 by pseudo-rows."""
    room = PSEUDO_ROWS / (rows + 2 * PSEUDO_ROWS)
    return np.clip(probability, room, 1 - room)


def _loss(probability: np.ndarray, target: np.ndarray) -> float:
    """Mean cross-entropy, in nats."""
    return float(-np.log(np.where(target, probability, 1 - probability)).mean())


LEVEL = 0.05  # for all tests together
LEAST_ROWS = 60  # with a missing value, and without, among the records that hold a column
ROUNDS = 3  # of adding causes and looking again
LABEL = -1  # in place of a column


@dataclass(frozen=True)
class Added:
    """A cause that the records add.

    Attributes:
        panel: whose missingness, by index.
        column: by index; `LABEL` for the label.
        z: standard errors by which its slope differs from 0.
    """

    panel: int
    column: int
    z: float


def widened(missingness: RecordLaw) -> tuple[RecordLaw, list[Added], list[Added]]:
    """The law with all causes that the records add, these causes, and those it cannot take.

    A cause cannot be taken where missingness would then depend on values of their own panel, nor
    the label where some records lack it.
    """
    added: list[Added] = []
    refused: list[Added] = []
    for _ in range(ROUNDS):
        candidates = [cause for cause in contradictions(missingness) if cause not in refused]
        if not candidates:
            break
        for cause in sorted(candidates, key=lambda cause: -abs(cause.z)):
            try:
                wider = _with(missingness, cause)
                assert wider.requires is not None
            except GraphError:
                refused.append(cause)
                continue
            missingness, added = wider, [*added, cause]
    return missingness, added, refused


def _with(missingness: RecordLaw, cause: Added) -> RecordLaw:
    causes = list(missingness.causes)
    old = causes[cause.panel]
    if cause.column == LABEL:
        if (missingness.label < 0).any():
            raise GraphError("labels that some records lack cannot cause missingness")
        causes[cause.panel] = replace(old, label=True)
    else:
        causes[cause.panel] = Causes((*old.columns, cause.column), old.label)
    return replace(missingness, causes=causes, _sets={})


def contradictions(missingness: RecordLaw) -> Sequence[Added]:
    """Columns left out that explain missingness, the strongest of each panel only."""
    tests = list(_tests(missingness))
    limit = -ndtri(LEVEL / 2 / max(len(tests), 1))
    strongest: dict[int, Added] = {}
    for test in tests:
        before = strongest.get(test.panel)
        if abs(test.z) > limit and (before is None or abs(test.z) > abs(before.z)):
            strongest[test.panel] = test
    return list(strongest.values())


def untested(missingness: RecordLaw) -> list[int]:
    """Incomplete panels of which too few rows are recorded, or lack them, to test any cause.

    None where a design recorded all rows, as there is nothing to test.
    """
    panels = []
    if missingness.known:
        return panels
    for j in np.flatnonzero(~missingness.observed.all(axis=0)):
        recorded = missingness.observed[missingness.usable(int(j)) & missingness.habitual, j]
        if min(recorded.sum(), (~recorded).sum()) < LEAST_ROWS:
            panels.append(int(j))
    return panels


def _tests(missingness: RecordLaw) -> Sequence[Added]:
    finite = np.isfinite(missingness.values)
    always = np.flatnonzero(finite.all(axis=0) & (np.ptp(missingness.values, axis=0) > 0))
    tests = []
    if missingness.known:
        return tests
    for j, causes in enumerate(missingness.causes):
        recorded = missingness.observed[:, j]
        if recorded.all():
            continue
        base = missingness.usable(j) & missingness.habitual
        residual = np.where(base, recorded - missingness.panel[j], 0.0)
        revealed = set(np.flatnonzero(missingness.provides[j]).tolist())
        left = [
            c
            for c in range(missingness.values.shape[1])
            if c not in causes.columns and c not in revealed
        ]
        candidates = [(c, finite[:, c], missingness.values[:, c]) for c in left]
        if not causes.label:
            labelled = missingness.label >= 0
            candidates.append((LABEL, labelled, missingness.label.astype(np.float64)))
        control = missingness.values[:, always]
        for column, present, values in candidates:
            rows = base & present
            few = min(recorded[rows].sum(), (~recorded[rows]).sum())
            if few >= LEAST_ROWS:
                z = _slope(values[rows], residual[rows], control[rows])
                tests.append(Added(j, column, z))
    return tests


def _slope(
    values: Float[np.ndarray, " m"],
    residual: Float[np.ndarray, " m"],
    control: Float[np.ndarray, "m w"],
) -> float:
    """Standard errors by which a regression's slope differs from 0, given control columns."""
    design = np.column_stack([np.ones(len(values)), control])
    slopes, *_ = np.linalg.lstsq(design, np.column_stack([values, residual]), rcond=None)
    left = values - design @ slopes[:, 0]
    unexplained = residual - design @ slopes[:, 1]
    error = np.sqrt(np.square(left * unexplained).sum())
    return float(left @ unexplained / error) if error > 0 else 0.0
