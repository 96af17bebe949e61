"""Which columns cause gaps, by the records alone: causes that are assumed, and those they add.

For each panel and each column that its law leaves out, the gaps that the law does not explain are
regressed on the column, on the records that hold it. A slope that chance explains in less than
`LEVEL` of all such tests together adds the column to the causes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from frugal.core.errors import GraphError
from frugal.judge.record_law import Causes, RecordLaw

LEVEL = 0.05  # for all tests together
LEAST_ROWS = 60  # with a gap, and without it, among the records that hold a column
ROUNDS = 3  # of adding causes and looking again
LABEL = -1  # in place of a column


@dataclass(frozen=True)
class Added:
    """A cause that the records add.

    Attributes:
        panel: whose gaps, by index.
        column: by index; `LABEL` for the label.
        z: standard errors by which its slope differs from 0.
    """

    panel: int
    column: int
    z: float


def widened(law: RecordLaw) -> tuple[RecordLaw, list[Added], list[Added]]:
    """The law with all causes that the records add, these causes, and those it cannot take.

    A cause cannot be taken where gaps would then depend on values of their own panel.
    """
    added: list[Added] = []
    refused: list[Added] = []
    for _ in range(ROUNDS):
        found = [one for one in contradictions(law) if one not in refused]
        if not found:
            break
        for one in sorted(found, key=lambda one: -abs(one.z)):
            wider = _with(law, one)
            try:
                assert wider.requires is not None
            except GraphError:
                refused.append(one)
                continue
            law, added = wider, [*added, one]
    return law, added, refused


def _with(law: RecordLaw, one: Added) -> RecordLaw:
    causes = list(law.causes)
    old = causes[one.panel]
    if one.column == LABEL:
        causes[one.panel] = replace(old, label=True)
    else:
        causes[one.panel] = Causes((*old.columns, one.column), old.label)
    return RecordLaw(law.observed, law.values, law.label, law.fold, causes, law.provides)


def contradictions(law: RecordLaw) -> Sequence[Added]:
    """Columns left out that explain gaps, the strongest of each panel only."""
    tests = list(_tests(law))
    limit = -ndtri(LEVEL / 2 / max(len(tests), 1))
    strongest: dict[int, Added] = {}
    for one in tests:
        before = strongest.get(one.panel)
        if abs(one.z) > limit and (before is None or abs(one.z) > abs(before.z)):
            strongest[one.panel] = one
    return list(strongest.values())


def untested(law: RecordLaw) -> list[int]:
    """Panels with gaps of which too few rows are recorded, or lack them, to test any cause."""
    found = []
    for j in np.flatnonzero(~law.observed.all(axis=0)):
        recorded = law.observed[law.usable(int(j)), j]
        if min(recorded.sum(), (~recorded).sum()) < LEAST_ROWS:
            found.append(int(j))
    return found


def _tests(law: RecordLaw) -> Sequence[Added]:
    known = np.isfinite(law.values)
    always = np.flatnonzero(known.all(axis=0) & (np.ptp(law.values, axis=0) > 0))
    made = []
    for j, causes in enumerate(law.causes):
        recorded = law.observed[:, j]
        if recorded.all():
            continue
        base = law.usable(j)
        residual = np.where(base, recorded - law.panel[j], 0.0)
        own = set(np.flatnonzero(law.provides[j]).tolist())
        left = [c for c in range(law.values.shape[1]) if c not in causes.columns and c not in own]
        candidates = [(c, known[:, c], law.values[:, c]) for c in left]
        if not causes.label:
            every = np.ones(len(base), dtype=bool)
            candidates.append((LABEL, every, law.label.astype(np.float64)))
        control = law.values[:, always]
        for column, there, values in candidates:
            rows = base & there
            few = min(recorded[rows].sum(), (~recorded[rows]).sum())
            if few >= LEAST_ROWS:
                z = _slope(values[rows], residual[rows], control[rows])
                made.append(Added(j, column, z))
    return made


def _slope(
    values: Float[np.ndarray, " m"],
    residual: Float[np.ndarray, " m"],
    control: Float[np.ndarray, "m w"],
) -> float:
    """Standard errors by which a regression's slope differs from 0, given control columns."""
    design = np.column_stack([np.ones(len(values)), control])
    both, *_ = np.linalg.lstsq(design, np.column_stack([values, residual]), rcond=None)
    left = values - design @ both[:, 0]
    unexplained = residual - design @ both[:, 1]
    error = np.sqrt(np.square(left * unexplained).sum())
    return float(left @ unexplained / error) if error > 0 else 0.0
