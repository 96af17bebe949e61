"""Whether new cases are distributed as the records of a policy: a test that may be repeated.

Cases are compared with the records in every column that is known at the start, after 25, 50, 100, …
cases in their order, so a stream may be tested as it grows; from the second look on also their
latest half alone:

    X² = Σ over samples and bins (O − E)² / E,   X² ~ χ²        [Pearson's test of homogeneity]
    p_k ≤ 6 α / (π² k² 2c) at look k for one of c columns       [Bonferroni; Σ 1/k² = π²/6]

All looks together give a false alarm in at most α of the streams. Knows no policy.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import chdtrc

from frugal.core.errors import DataError

FALSE_ALARMS = 0.01  # share of streams, over all looks and columns
FIRST = 25  # cases at the first look; twice as many at each further one
PARTS = 10  # bins of a number, even in the records
LEAST = 5.0  # expected cases of a bin; smaller ones are put together


@dataclass(frozen=True)
class Shift:
    """The first look at which a column differs.

    Attributes:
        column: its name.
        cases: number of cases at this look.
        latest: whether their latest half was compared, or all of them.
        p_value: of the test of homogeneity, not adjusted.
        bin: where the shares differ most, in words.
        share: of the cases in that bin.
        recorded: share of the records in it.
    """

    column: str
    cases: int
    latest: bool
    p_value: float
    bin: str
    share: float
    recorded: float


def edges_of(numbers: Float[np.ndarray, " n"]) -> list[float]:
    """Bounds of at most `PARTS` bins that are even in the records."""
    inner = np.arange(1, PARTS) / PARTS
    return np.unique(np.quantile(numbers, inner)).tolist() if len(numbers) else []


def bins_of(
    cells: Float[np.ndarray, "n c"], edges: list[float], *, numeric: bool
) -> Int[np.ndarray, " n"]:
    """Bin of each row of a column's encoded cells; −1 where it has no value.

    A number has the bin between its edges, from the lower one on; a code follows these bins. A text
    has the bin of its level, and one that was never seen follows the levels.
    """
    if not numeric:
        return np.where((cells == 1).any(axis=1), (cells == 1).argmax(axis=1), cells.shape[1])
    coded = (cells[:, 1:] == 1).any(axis=1)
    number = np.searchsorted(edges, cells[:, 0], side="right")
    code = len(edges) + 1 + (cells[:, 1:] == 1).argmax(axis=1) if coded.any() else number
    return np.where(coded, code, np.where(np.isnan(cells[:, 0]), -1, number))


def counts_of(
    cells: Float[np.ndarray, "n c"], edges: list[float], *, numeric: bool
) -> Int[np.ndarray, " b"]:
    """Rows in each bin. (b,)"""
    size = len(edges) + cells.shape[1] if numeric else cells.shape[1] + 1
    bins = bins_of(cells, edges, numeric=numeric)
    return np.bincount(bins[bins >= 0], minlength=size)


def first_shift(document: Mapping[str, Any], values: Float[np.ndarray, "n d"]) -> Shift | None:
    """The first look at which cases differ from the records; None where they never do.

    Args:
        document: of `case_document`.
        values: encoded cases, in the order in which they came. (n, d)

    Raises:
        DataError: no column is known at the start, or the cases are too few for one look.
    """
    if not any(entry["counts"] for entry in document["columns"]):
        raise DataError(
            "--monitor compares columns that are known at the start, and this policy has none"
        )
    if len(values) < FIRST:
        raise DataError(
            f"--monitor needs at least {FIRST} cases, in the order in which they came; the file "
            f"has {len(values)}"
        )
    monitored, start = [], 0
    for entry in document["columns"]:
        numeric = entry["levels"] is None
        width = 1 + len(entry["codes"]) if numeric else len(entry["levels"])
        if entry["counts"]:
            monitored.append((entry, values[:, start : start + width]))
        start += width
    for look, cases in enumerate(looks(len(values)), 1):
        allowed = 6 * FALSE_ALARMS / (np.pi**2 * look**2 * 2 * len(monitored))
        shifts = [
            _shift(entry, cells[first:cases], cases)
            for entry, cells in monitored
            for first in ((0, cases // 2) if look > 1 else (0,))
        ]
        smallest = min(shifts, key=lambda shift: shift.p_value)
        if smallest.p_value <= allowed:
            return smallest
    return None


def looks(cases: int) -> list[int]:
    """Numbers of cases at which a stream of this length has been tested."""
    return [FIRST * 2**k for k in range(64) if FIRST * 2**k <= cases]


def _shift(entry: Mapping[str, Any], cells: Float[np.ndarray, "n c"], look: int) -> Shift:
    """The test of one column."""
    numeric = entry["levels"] is None
    observed = np.array(
        [entry["counts"], counts_of(cells, entry["edges"], numeric=numeric)], dtype=np.float64
    )
    shares = observed / np.maximum(observed.sum(axis=1, keepdims=True), 1)
    most = int(np.abs(shares[1] - shares[0]).argmax())
    pooled = _pooled(observed)
    expected = pooled.sum(axis=1, keepdims=True) * pooled.sum(axis=0) / pooled.sum()
    statistic = float(((pooled - expected) ** 2 / np.maximum(expected, 1e-300)).sum())
    freedom = pooled.shape[1] - 1
    p_value = float(chdtrc(freedom, statistic)) if freedom else 1.0
    words = _words(entry, most)
    latest = len(cells) < look
    return Shift(entry["name"], look, latest, p_value, words, *map(float, shares[::-1, most]))


def _pooled(observed: Float[np.ndarray, "2 b"]) -> Float[np.ndarray, "2 _"]:
    """Neighbouring bins put together until each sample is expected to have `LEAST` in each."""
    total = observed.sum(axis=1)
    scale = total.min() / max(total.sum(), 1.0)
    bins: list[np.ndarray] = []
    pending = np.zeros(2)
    for column in observed.T:
        pending = pending + column
        if pending.sum() * scale >= LEAST:
            bins.append(pending)
            pending = np.zeros(2)
    if bins:
        bins[-1] = bins[-1] + pending
    return np.column_stack(bins or [pending])


def _words(entry: Mapping[str, Any], k: int) -> str:
    """A bin in words."""
    if entry["levels"] is not None:
        levels = [*entry["levels"], "a value that the records lack"]
        return levels[k] if k == len(entry["levels"]) else f"{entry['name']} {levels[k]}"
    name, edges = entry["name"], entry["edges"]
    if k > len(edges):
        return f"{name} {entry['codes'][k - len(edges) - 1]:g}"
    if k == 0:
        return f"{name} below {edges[0]:g}" if edges else f"any {name}"
    return (
        f"{name} from {edges[k - 1]:g} on"
        if k == len(edges)
        else (f"{name} from {edges[k - 1]:g} to {edges[k]:g}")
    )
